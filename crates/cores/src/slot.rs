//! When an instruction is in each stage, and what its cycles are charged to.

use super::ledger::{Cause, Causes};
use super::passage::Flush;

/// Where the next instruction's fetch has to wait for this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Redirect {
    /// The earliest IF (the earliest WB on a core that is not pipelined).
    pub(super) at: i64,
    pub(super) cause: Cause,
    pub(super) flush: Flush,
}

/// When the instruction was in each stage, and what its cycles are charged to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pass {
    /// What is the instruction's own.
    pub(super) charges: Causes,
    /// What the one that redirected the fetch is charged.
    pub(super) refill: Option<(Cause, u64)>,
    /// When it entered each stage.
    pub(super) starts: [i64; 5],
}

impl Pass {
    /// All its cycles by cause.
    pub(super) fn causes(&self) -> Causes {
        let mut causes = self.charges;
        if let Some((cause, cycles)) = self.refill {
            causes[cause as usize] += cycles;
        }
        causes
    }

    /// All its cycles.
    pub(super) fn total(&self) -> u64 {
        self.charges.iter().sum::<u64>() + self.refill.map_or(0, |(_, n)| n)
    }
}

/// A register that is not ready yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending {
    pub(super) register: u8,
    pub(super) cause: Cause,
    pub(super) at: i64,
}
