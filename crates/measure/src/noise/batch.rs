//! Around one batch: two calls of well under a microsecond.

use serde::{Deserialize, Serialize};
use std::mem;

/// Where the calling thread stood before a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchMark {
    /// Involuntary switches of the thread since its start.
    pub involuntary: Option<u64>,
    /// The CPU it ran on.
    pub cpu: Option<usize>,
}

/// What happened to the calling thread during a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchNoise {
    /// Times that the thread was pushed off its CPU. In a ping-pong between two tasks on one CPU this
    /// is part of the crossing (a woken task may preempt); anywhere else it is noise.
    pub involuntary: Option<u64>,
    /// Whether the thread ended on another CPU than it started on.
    pub migrated: Option<bool>,
}

impl BatchMark {
    /// Reads both, of the calling thread.
    #[must_use]
    pub fn now() -> Self {
        // SAFETY: rusage is plain numbers for which all zeroes is valid.
        let mut usage: libc::rusage = unsafe { mem::zeroed() };
        // SAFETY: `usage` is valid for the call to fill.
        let got = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        // SAFETY: sched_getcpu has no arguments and touches no memory of ours.
        let cpu = unsafe { libc::sched_getcpu() };
        Self {
            involuntary: (got == 0).then(|| u64::try_from(usage.ru_nivcsw).ok()).flatten(),
            cpu: usize::try_from(cpu).ok(),
        }
    }

    /// What happened between this mark and a later one of the same thread.
    #[must_use]
    pub fn until(&self, later: &Self) -> BatchNoise {
        BatchNoise {
            involuntary: self
                .involuntary
                .zip(later.involuntary)
                .map(|(before, after)| after.saturating_sub(before)),
            migrated: self.cpu.zip(later.cpu).map(|(before, after)| before != after),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_the_difference_of_two_marks() {
        let mark = |involuntary, cpu| BatchMark { involuntary, cpu };
        let noise = mark(Some(5), Some(1)).until(&mark(Some(7), Some(0)));
        assert_eq!(noise, BatchNoise { involuntary: Some(2), migrated: Some(true) });
        let quiet = mark(Some(7), Some(1)).until(&mark(Some(7), Some(1)));
        assert_eq!(quiet, BatchNoise { involuntary: Some(0), migrated: Some(false) });
        assert_eq!(mark(None, None).until(&mark(Some(7), Some(1))), BatchNoise::default());
    }
}
