//! What a trap does to a core.

use super::access::Data;
use super::frontend::Place;
use super::ledger::Cause;
use super::passage::Flush;
use super::shape::Costs;
use super::slot::Pass;
use super::timed::Model;
use tollgate_riscv::Access;
use tollgate_riscv::Privilege;
use tollgate_riscv::{Cause as Exception, Trap};

impl Model {
    /// A trap is taken; yields the slot of the instruction that traps, if one does.
    pub(super) fn trap(&mut self, trap: &Trap, phase: u8) -> Option<(Pass, Costs)> {
        self.start(phase);
        self.traps += 1;
        if self.board.is_some() {
            return self.trap_of_board(trap, phase);
        }
        if trap.cause.is_interrupt() {
            let penalty = self.core.trap.interrupt;
            let before = self.runs_on.then(|| self.pipe.clone());
            match self.interrupted.take() {
                // It is not known when the line rose: the next instruction had just come to ID.
                None if self.core.pipeline.replay > 0 => self.pipe.interrupt(penalty + 1),
                None => self.pipe.redirect_from_write(penalty, Cause::TrapFlush, Flush::Interrupt),
                Some(write) => {
                    self.pipe.redirect_from_write(penalty, Cause::TrapFlush, Flush::Interrupt);
                    self.pipe.redirect_behind(write, penalty, Cause::TrapFlush, Flush::Interrupt);
                }
            }
            self.refill_phase = phase;
            if let Some(mut before) = before {
                self.run_on_from_interrupt(trap, &mut before);
            }
            return None;
        }
        let ecall =
            matches!(trap.cause, Exception::UserEcall | Exception::SupervisorEcall | Exception::MachineEcall);
        let cannot_fetch = matches!(
            trap.cause,
            Exception::InstructionMisaligned
                | Exception::InstructionAccessFault
                | Exception::InstructionPageFault
        );
        let mut costs = Costs::default();
        if !cannot_fetch && let Some(pa) = self.memory.physical(trap.epc, trap.from) {
            let waits = self.memory.fetch(trap.epc, pa, 1, trap.from);
            (costs.fetch_walk, costs.fetch_miss) = (waits.walk, waits.miss);
        }
        // An access that fails has gone to memory.
        let accessed = matches!(trap.cause, Exception::LoadAccessFault | Exception::StoreAccessFault);
        costs.again = if accessed { self.core.pipeline.memory_wait } else { 0 };
        // An access without a translation has looked for one.
        let looked = matches!(trap.cause, Exception::LoadPageFault | Exception::StorePageFault);
        if looked {
            costs.data_walk = self.memory.fault_walk(trap.tval);
        }
        // A CSR instruction that is illegal waits as one that is not.
        let illegal = trap.cause == Exception::IllegalInstruction;
        let csr = illegal && trap.tval & 0x7f == 0x73 && trap.tval >> 12 & 3 != 0;
        let drain = csr && self.core.system.csr_drain;
        if self.ahead.is_some() && !cannot_fetch {
            (costs.second, costs.at_hand) = self.second_fetches(trap.epc, 4);
        }
        let pass = self.pipe.trap(ecall, drain, self.core.trap.exception, &costs);
        if let Some(at) = self.emptied.take() {
            self.memory.flush_instructions();
            self.pipe.redirect_at(at, Cause::Csr, Flush::System);
        }
        self.run_on_from_trap(trap);
        if self.beyond.is_some()
            && let Some(pa) = self.memory.physical(trap.epc, trap.from)
        {
            self.stray_from_trap(trap, pa);
        }
        self.charge(phase, &pass);
        Some((pass, costs))
    }

    fn trap_of_board(&mut self, trap: &Trap, phase: u8) -> Option<(Pass, Costs)> {
        self.slot_of_board(trap, phase).filter(|_| !trap.cause.is_interrupt())
    }

    /// The slot that a trap takes in a core with a scoreboard, also an interrupt.
    pub(super) fn slot_of_board(&mut self, trap: &Trap, phase: u8) -> Option<(Pass, Costs)> {
        let cannot_fetch = matches!(
            trap.cause,
            Exception::InstructionMisaligned
                | Exception::InstructionAccessFault
                | Exception::InstructionPageFault
        );
        let place = match self.memory.physical(trap.epc, trap.from) {
            Some(pa) if !cannot_fetch => Some(Place { pc: trap.epc, pa, len: 2, privilege: trap.from }),
            _ => None,
        };
        let board = self.board.as_mut()?;
        let (pass, costs) = board.trap(place.as_ref(), trap, &mut self.memory);
        self.pipe.set_write(board.commit(), board.redirected());
        self.charge(phase, &pass);
        Some((pass, costs))
    }

    /// The words that a trap or a return has stacked in hardware ([`tollgate_riscv::custom`]) go through the data port, one
    /// after the other as loads and stores do, before the pipe is refilled.
    pub(super) fn stack(&mut self, words: &[Access], phase: u8) {
        if words.is_empty() {
            return;
        }
        // Their addresses are physical: no translation.
        let missed =
            words.iter().map(|word| self.memory.data(&Data::of(word), Privilege::Machine).miss).sum();
        let port = words.len() as u32 * (1 + self.core.pipeline.memory_wait);
        match &mut self.board {
            Some(board) => {
                board.occupy(port + missed);
                self.pipe.set_write(board.commit(), board.redirected());
            }
            None => self.pipe.occupy(port + missed),
        }
        for (cause, cycles) in [(Cause::Structural, port), (Cause::DMiss, missed)] {
            self.charge_one(phase, cause, cycles.into());
            self.stacking[cause as usize] += u64::from(cycles);
        }
    }
}
