//! What the front end misses ahead of an access, and what that costs both.
//!
//! It depends on the pipe and on the code between the access and the next line, which does not change. So the fast path can
//! memoize it: the only further part of its key is one bit for each access, whether the front end comes to a line that is missing
//! ([`Waits::beside`](super::memory::Waits)).

use super::Cause;
use super::line_port::Ahead;
use super::passage::Flush;
use super::pipe::Pipe;
use super::predict::{Guess, Turn, behind_unknown};
use super::shape::{Costs, Shape};
use super::step::Step;
use super::timed::{Model, second_fetches};
use super::words::Queue;
use tollgate_riscv::{Class, Insn};

/// Cycles from EX of an access to the request of its miss, which is in WB.
const WRITE: i64 = 2;

/// Cycles from a miss of the front end to when the hub asks the data cache for the line: an access that is in EX then is replayed,
/// and one that was in EX a cycle or two before is waited for. (`metaArb` of the RTL's DCache prefers the probe to a request, and
/// `auto_out_b_ready` needs `s1_valid` and `s2_valid` to be off.)
const PROBE: i64 = 3;

/// The next line, to which the front end may come while an access is under way.
#[derive(Clone, Debug)]
pub(super) struct Beside {
    /// The number of the access's instruction.
    pub(super) at: u8,
    /// The line's address.
    pub(super) next: u64,
    /// The jumps before it: the front end comes to the line only if all their targets are unknown.
    calls: Box<[Turn]>,
}

impl Model {
    /// Whether an access waits for lines that the front end misses, and these for it.
    #[inline(always)]
    pub(super) fn shares_port(&self, shape: &Shape, costs: &Costs) -> bool {
        self.line_port.is_some() && shape.memory != [false; 2] && costs.data_walk == 0 && !costs.device
    }

    /// The next line behind an instruction, if the front end may miss it.
    pub(super) fn beside(&mut self, at: u8, pc: u64, pa: u64, len: u8) -> Option<Beside> {
        self.line_port?;
        let offset = pa.wrapping_sub(pc);
        let mut pa = pa.wrapping_add(len.into());
        let next = self.line_within_reach(pa)?;
        let mut calls = Vec::new();
        loop {
            let insn = self.ahead.as_mut()?.find(pa)?;
            if sees(&insn, pa, next) {
                return Some(Beside { at, next, calls: calls.into() });
            }
            if let Some(turn) = self.predict.turn(pa.wrapping_sub(offset), &insn) {
                if !goes_on(&insn) {
                    return None;
                }
                calls.push(turn);
            }
            pa = behind(&insn, pa);
        }
    }

    /// Whether the front end misses that line.
    #[inline(always)]
    pub(super) fn misses_beside(&self, beside: &Beside) -> bool {
        !self.memory.has_instructions(beside.next) && self.goes_on_behind(&beside.calls)
    }

    /// Whether the targets of all these are unknown to the front end.
    fn goes_on_behind(&self, calls: &[Turn]) -> bool {
        if calls.is_empty() {
            return true;
        }
        let mut seen = self.predict.seen();
        // Only what a branch or `jal` guesses depends on its target.
        calls.iter().all(|turn| self.predict.guess(turn, 0, &mut seen) == Guess::Unknown)
    }

    /// Whether the front end misses the line behind an instruction.
    pub(super) fn misses_behind(&mut self, step: &Step) -> bool {
        let next = self.line_within_reach(step.pa.wrapping_add(step.insn.len.into()));
        next.is_some_and(|next| !self.memory.has_instructions(next))
            && self
                .beside(0, step.pc, step.pa, step.insn.len)
                .is_some_and(|beside| self.misses_beside(&beside))
    }

    /// Lets an access, and the line that it misses, wait for one that the front end misses, and that one for it.
    pub(super) fn share_port(&mut self, step: &Step, shape: &Shape, costs: &mut Costs) {
        let end = step.pa.wrapping_add(step.insn.len.into());
        let (Some(port), Some(next)) = (self.line_port, self.line_within_reach(end)) else { return };
        let before = self.pipe.line_ahead;
        if before.is_some_and(|ahead| ahead.met) {
            return;
        }
        let mut pipe = self.pipe.clone();
        let mut execute = pipe.pass(shape, &Costs { data_miss: 0, ..*costs }).starts[2];
        pipe.fresh = false;
        let misses = costs.data_miss > 0;
        let last = execute + if misses { WRITE } else { -1 };
        let Some(fetch) = self.misses_ahead(step, pipe, next, last) else { return };
        let mut held = before.map_or(0, |ahead| ahead.later.into());
        match execute - fetch {
            passed @ 1..PROBE => held = passed,
            passed if (PROBE..=PROBE + held).contains(&passed) => {
                costs.refused = self.core.pipeline.replay;
                execute += i64::from(self.core.pipeline.replay);
            }
            _ => {}
        }
        let mut later = held;
        if misses {
            let meeting = port.meet(execute + WRITE - fetch, held, costs.crosses);
            costs.data_miss += meeting.data as u32;
            later = meeting.fetch;
        }
        self.pipe.line_ahead = Some(Ahead { missed: fetch, later: later as u32, met: misses });
    }

    /// When the front end missed an instruction's line, if that is known; its miss takes longer if the line is later.
    #[inline(always)]
    pub(super) fn line_missed(&mut self, step: &Step, miss: &mut u32) -> Option<i64> {
        self.pipe.line_ahead?;
        if !self.memory.enters_line(step.pa, step.insn.len) {
            return None;
        }
        let Ahead { later, missed, .. } = self.pipe.line_ahead.take().filter(|_| *miss > 0)?;
        *miss += later;
        Some(missed)
    }

    /// The address of the next line, if a front end whose next instruction is at an address may come to it: in the same page.
    fn line_within_reach(&self, pa: u64) -> Option<u64> {
        let next = pa.next_multiple_of(self.memory.instruction_line_bytes());
        (self.runs_on && !next.is_multiple_of(4096) && next - pa <= self.far()).then_some(next)
    }

    /// When the front end, whose pipe is behind an instruction, misses the line at an address, if not behind a cycle: it goes
    /// on in sequence, also behind a jump whose target it does not know.
    fn misses_ahead(&mut self, step: &Step, mut pipe: Pipe, next: u64, last: i64) -> Option<i64> {
        let offset = step.pa.wrapping_sub(step.pc);
        let mut pa = step.pa.wrapping_add(step.insn.len.into());
        let width = self.core.pipeline.fetch_width;
        loop {
            let insn = self.ahead.as_mut()?.find(pa)?;
            let (second, at_hand) = second_fetches(width, pipe.fresh, pa.wrapping_sub(offset), insn.len);
            let words = if at_hand { 0 } else { 1 + second };
            let sees = sees(&insn, pa, next);
            if words > 0 {
                let number = if sees && pa < next { words - 1 } else { 0 };
                // An earlier access that was replayed has dropped the word, and the line has been on its way since.
                let before = pipe.queue.as_ref().filter(|_| number == 0).and_then(Queue::before_replay);
                // A cycle behind IF it turns out to be missed.
                let at = before.unwrap_or_else(|| pipe.fetches(words, number)) + 1;
                if at > last || sees {
                    return (at <= last).then_some(at);
                }
            }
            let costs = Costs { second, at_hand, ..Costs::default() };
            pipe.pass(&self.works.of(&insn, &self.core).shape, &costs);
            if goes_on(&insn) {
                pipe.redirect_from_fetch(1, Cause::Branch, Flush::Branch);
            }
            pa = behind(&insn, pa);
        }
    }
}

/// Whether an instruction at an address ends in the line at another one.
fn sees(insn: &Insn, pa: u64, next: u64) -> bool {
    pa.wrapping_add(u64::from(insn.len) - 1) >= next
}

/// Whether the front end goes on behind a jump in sequence if it does not know the target: a call through a register, which comes
/// back there.
fn goes_on(jump: &Insn) -> bool {
    jump.row().class == Class::JumpReg && jump.rd != 0
}

/// Where it goes on behind an instruction in sequence.
fn behind(insn: &Insn, pa: u64) -> u64 {
    let end = pa.wrapping_add(insn.len.into());
    if goes_on(insn) { behind_unknown(end) } else { end }
}
