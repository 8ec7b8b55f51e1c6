//! When an instruction is in each stage, and what its cycles are charged to.

use super::ledger::{Cause, Causes};
use super::passage::{Stall, stalls};

/// When an instruction was in each stage, and what its cycles are charged to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// Set if somebody draws stages: then the next two fields are filled in.
    pub(crate) traces: bool,
    /// When it entered each stage.
    pub(crate) starts: [i64; 5],
    /// The first cycle in which it is no longer in the pipe.
    pub(crate) end: i64,
    /// Set if `charges` is filled in. Otherwise it took one cycle, which the driver charges to [`Cause::Issue`].
    pub(crate) lost: bool,
    /// Its cycles, with its own, in addition to those of the instructions before that are charged together with it.
    pub(crate) charges: Causes,
    /// The charge of the instruction before, which redirected the fetch.
    pub(crate) refill: Option<(Cause, u64)>,
    /// Cycles of walks for its fetch, and further fetches: which of the charges belong to IF.
    pub(crate) fetch_walk: u32,
    pub(crate) second: u32,
}

impl Slot {
    /// Charges nothing.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.lost = false;
        self.charges = [0; Cause::COUNT];
    }

    /// Begins to charge: its own cycle first.
    #[inline]
    pub(crate) fn begin(&mut self, own: Cause) {
        self.lost = true;
        self.charges[own as usize] += 1;
        self.refill = None;
        (self.fetch_walk, self.second) = (0, 0);
    }

    /// The stalls that it was charged for.
    pub(crate) fn stalls(&self) -> Vec<Stall> {
        if self.lost { stalls(&self.charges, self.fetch_walk, self.second) } else { Vec::new() }
    }

    /// All its cycles by cause.
    pub(crate) fn causes(&self) -> Causes {
        let mut causes = self.charges;
        if let Some((cause, cycles)) = self.refill {
            causes[cause as usize] += cycles;
        }
        causes
    }
}
