//! Around one batch: two calls of well under a microsecond.

use crate::placement;
use serde::{Deserialize, Serialize};
use std::mem;

/// The state of the calling thread before a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchMark {
    /// Involuntary switches of the thread since its start.
    pub involuntary: Option<u64>,
    /// The CPU it ran on.
    pub cpu: Option<usize>,
}

/// The disturbances of the calling thread during a batch.
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
        Self {
            involuntary: (got == 0).then(|| u64::try_from(usage.ru_nivcsw).ok()).flatten(),
            cpu: placement::current(),
        }
    }

    /// The disturbances between this mark and a later one of the same thread.
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

impl BatchNoise {
    /// The disturbances of both batches; a fact that only one has is kept.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        fn either<T>(a: Option<T>, b: Option<T>, both: impl FnOnce(T, T) -> T) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(both(a, b)),
                (a, b) => a.or(b),
            }
        }
        Self {
            involuntary: either(self.involuntary, other.involuntary, u64::saturating_add),
            migrated: either(self.migrated, other.migrated, |a, b| a || b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_a_visit_are_taken_together() {
        let noise = |involuntary, migrated| BatchNoise { involuntary, migrated };
        assert_eq!(BatchNoise::default().and(&noise(Some(1), Some(false))), noise(Some(1), Some(false)));
        assert_eq!(noise(Some(1), Some(true)).and(&noise(Some(2), Some(false))), noise(Some(3), Some(true)));
    }

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
