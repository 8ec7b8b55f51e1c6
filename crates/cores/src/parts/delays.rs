//! Cycles that one instruction waits, by reason.

use crate::ledger::Cause;
use crate::passage::Flush;
use crate::slot::Slot;

/// Cycles of one instruction beyond one in each stage.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delays {
    /// Page-table walks of its fetch.
    pub(crate) fetch_walk: i64,
    /// Instruction cache misses.
    pub(crate) fetch_miss: i64,
    /// Further fetches.
    pub(crate) second: i64,
    /// Cycles in EX that its operands add or remove.
    pub(crate) operands: i32,
    /// Further cycles in EX of a mispredicted branch.
    pub(crate) settle: i64,
    /// Page-table walks of its data.
    pub(crate) data_walk: i64,
    /// Data cache misses.
    pub(crate) data_miss: i64,
    /// Further cycles on the data port.
    pub(crate) port: i64,
}

/// The next fetch waits for an instruction that redirects it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Redirect {
    /// The earliest IF; in a core without a pipeline the earliest begin.
    pub(crate) at: i64,
    pub(crate) cause: Cause,
    pub(crate) flush: Flush,
}

impl Redirect {
    /// The fetch goes on in sequence. (An `Option` would be written in bytes and read in words, for which the host waits.)
    pub(crate) const NONE: Redirect =
        Redirect { at: i64::MIN / 2, cause: Cause::Branch, flush: Flush::Branch };

    pub(crate) fn is_some(&self) -> bool {
        self.at > Redirect::NONE.at
    }

    /// Of two redirects (an interrupt after a branch, for example) the later one applies.
    #[inline(always)]
    pub(crate) fn set(&mut self, at: i64, cause: Cause, flush: Flush) {
        if self.at < at {
            *self = Redirect { at, cause, flush };
        }
    }

    /// The redirected fetch is as much later.
    pub(crate) fn delay(&mut self, cycles: i64) {
        if self.is_some() {
            self.at += cycles;
        }
    }
}

impl Slot {
    /// The slot of an instruction whose charges are added one by one.
    pub(crate) fn charged(&mut self, own: Cause, delays: &Delays) {
        self.begin(own);
        (self.fetch_walk, self.second) = (delays.fetch_walk as u32, delays.second as u32);
    }
}

/// Further fetches of an instruction: a fetch brings `width` aligned bytes, and what the fetch before left over is available
/// unless this one is not in sequence. A `width` of 0 fetches every instruction at once.
#[inline(always)]
pub(crate) fn second_fetches(width: u64, in_sequence: bool, pc: u64, len: u8) -> i64 {
    if width == 0 {
        return 0;
    }
    let (first, last) = (pc & !(width - 1), (pc + u64::from(len) - 1) & !(width - 1));
    i64::from(first != last && !(in_sequence && pc != first))
}
