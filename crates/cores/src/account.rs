//! Whose the cycles are: by phase, by owner, and the words that hardware stacks.

use super::ledger::{Cause, Causes, Ledger};
use super::parts::memory::MemoryCounts;
use super::slot::Slot;
use tollgate_riscv::EventCounts;

/// Counts beside the cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimingCounts {
    /// Instructions that retired.
    pub instructions: u64,
    /// Branches and indirect jumps that were mispredicted.
    pub mispredicts: u64,
    /// Exceptions and interrupts.
    pub traps: u64,
    /// Caches and translation buffers.
    pub memory: MemoryCounts,
}

impl TimingCounts {
    /// The events that a guest's counters count.
    pub fn events(&self) -> EventCounts {
        let of = &self.memory;
        let misses = [of.l1i_misses, of.l1d_misses, of.l2_misses, of.itlb_misses, of.dtlb_misses];
        let [l1i, l1d, l2, itlb, dtlb] = misses;
        [l1i, l1d, l2, itlb, dtlb, self.mispredicts, self.traps]
    }
}

/// The cycles charged to a core, and its counts of instructions and traps.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) ledger: Ledger,
    /// Whose instructions are executed, if that is known, and the cycles of each owner's instructions.
    pub(crate) owner: Option<u32>,
    pub(crate) owners: Ledger,
    pub(crate) instructions: u64,
    pub(crate) traps: u64,
    /// Cycles, also in the ledger, of words that traps and returns stack in hardware.
    pub(crate) stacking: Causes,
    /// The phase that the next refill is charged to.
    pub(crate) refill_phase: u8,
    started: bool,
}

impl Account {
    pub(crate) fn new() -> Self {
        Account {
            ledger: Ledger::default(),
            owner: None,
            owners: Ledger::default(),
            instructions: 0,
            traps: 0,
            stacking: [0; Cause::COUNT],
            refill_phase: u8::MAX,
            started: false,
        }
    }

    /// Whether the first instruction or trap was charged.
    pub(crate) fn started(&self) -> bool {
        self.started
    }

    /// The first instruction pays for filling the pipe.
    #[inline]
    pub(crate) fn start(&mut self, phase: u8, filling: u64) {
        if !self.started {
            self.started = true;
            self.charge(phase, Cause::Issue, filling);
        }
    }

    /// Charges cycles by cause of instructions in one phase.
    pub(crate) fn charge_all(&mut self, phase: u8, causes: &Causes) {
        self.ledger.charge_all(phase, causes);
        if let Some(owner) = self.owner {
            self.owners.add_to(owner, causes);
        }
    }

    /// Charges what the instruction in a slot waited for the one before it, which was in the phase `before`.
    #[inline(always)]
    pub(crate) fn refill(&mut self, before: u8, phase: u8, slot: &mut Slot) {
        if let Some((cause, cycles)) = slot.refill {
            if before == phase {
                slot.charges[cause as usize] += cycles;
            } else {
                self.charge(before, cause, cycles);
            }
        }
    }

    /// Charges an instruction's slot in which cycles were lost.
    #[inline(never)]
    pub(crate) fn charge_slot(&mut self, phase: u8, slot: &Slot) {
        self.ledger.charge_all(phase, &slot.charges);
        if let Some((cause, cycles)) = slot.refill {
            self.ledger.charge(self.refill_phase, cause, cycles);
        }
        if let Some(owner) = self.owner {
            self.owners.add_to(owner, &slot.causes());
        }
        self.refill_phase = phase;
    }

    /// Charges instructions that took one cycle each, up to the last one.
    #[inline]
    pub(crate) fn issue(&mut self, phase: u8, instructions: u64) {
        if instructions > 0 {
            self.charge(phase, Cause::Issue, instructions);
            self.refill_phase = phase;
        }
    }

    /// The next refill belongs to this phase: that of a trap, or of the last instruction.
    #[inline]
    pub(crate) fn refill_to(&mut self, phase: u8) {
        self.refill_phase = phase;
    }

    /// Charges cycles of one cause.
    pub(crate) fn charge(&mut self, phase: u8, cause: Cause, cycles: u64) {
        self.ledger.charge(phase, cause, cycles);
        if let Some(owner) = self.owner {
            self.owners.row(owner as usize)[cause as usize] += cycles;
        }
    }
}
