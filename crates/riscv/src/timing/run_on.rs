//! What a front end fetches behind an instruction that sends it elsewhere, until it knows: the lines that it misses.

use super::Cause;
use super::passage::Flush;
use super::predict::Guess;
use super::shape::{Costs, Shape};
use super::timed::Model;
use crate::exception::{self, Trap};
use crate::privilege::Privilege;

/// Where the fetch runs on.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunOn {
    pub(super) pc: u64,
    pub(super) pa: u64,
    pub(super) privilege: Privilege,
}

impl Model {
    /// The fetch runs on until it is redirected, as the pipe knows it.
    pub(super) fn run_on(&mut self, mut path: RunOn) {
        let (Some(ahead), Some(redirect)) = (&mut self.ahead, self.pipe.redirect) else { return };
        // A word that is in IF a cycle before the redirected fetch's request is looked up, one behind it is dropped.
        let last = redirect.at - 2;
        let mut pipe = self.pipe.clone();
        (pipe.redirect, pipe.fresh) = (None, false);
        let width = self.core.pipeline.fetch_width;
        let mut seen = self.predict.seen();
        while let Some(insn) = ahead.find(path.pa) {
            let (second, at_hand) = super::timed::second_fetches(width, pipe.fresh, path.pc, insn.len);
            let end = u64::from(insn.len) - 1;
            let words = if at_hand { 0 } else { 1 + second };
            for word in (0..words).rev() {
                // The last word has the last byte.
                let behind = if word == 0 { end } else { 0 };
                let at = pipe.fetches(words, words - 1 - word);
                if at > last {
                    return;
                }
                let (pc, pa) = (path.pc + behind, path.pa + behind);
                if !self.memory.has_instructions(pa) {
                    let Some(from) = self.pipe.can_fill(at, last) else { return };
                    let waits = self.memory.fetch(pc, pa, 1, path.privilege);
                    self.pipe.fill(self.memory.instruction_line(pa), from, waits.miss);
                    return;
                }
                if self.pipe.fills(self.memory.instruction_line(pa), at) {
                    return;
                }
            }
            let costs = Costs { second, at_hand, ..Costs::default() };
            pipe.pass(&Shape::new(&insn, &self.core), &costs);
            let sequential = path.pc.wrapping_add(u64::from(insn.len));
            let mut next = sequential;
            if let Some(turn) = self.predict.turn(path.pc, &insn) {
                match self.predict.guess(&turn, path.pc.wrapping_add_signed(insn.imm), &mut seen) {
                    Guess::Sequential | Guess::Unknown => {}
                    Guess::To { target, known } => {
                        next = target;
                        pipe.fresh = true;
                        if !known {
                            pipe.redirect_from_fetch(1, Cause::Branch, Flush::Branch);
                        }
                    }
                }
            }
            let same_page = (next ^ path.pc) >> 12 == 0;
            path.pa = match same_page || !self.memory.fetch_walks(path.privilege) {
                true => path.pa.wrapping_add(next.wrapping_sub(path.pc)),
                false => return,
            };
            path.pc = next;
        }
    }

    /// Behind an instruction that traps, or in its place if it is an interrupt.
    pub(super) fn run_on_from_trap(&mut self, trap: &Trap) {
        let cannot_fetch = matches!(
            trap.cause,
            exception::Cause::InstructionMisaligned
                | exception::Cause::InstructionAccessFault
                | exception::Cause::InstructionPageFault
        );
        let Some(pa) = self.memory.physical(trap.epc, trap.from).filter(|_| !cannot_fetch) else { return };
        let Some(ahead) = &mut self.ahead else { return };
        let len = if trap.cause.is_interrupt() { 0 } else { ahead.len(pa) };
        self.run_on(RunOn { pc: trap.epc + len, pa: pa + len, privilege: trap.from });
    }
}
