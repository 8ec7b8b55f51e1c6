//! What the front end misses ahead of an access, and what that costs both.
//!
//! It depends on code and caches that no memo contains: the fast path computes a run that accesses memory instruction by
//! instruction if the line behind it is not cached ([`Lines`](super::memory::Lines)).

use super::Cause;
use super::line_port::Ahead;
use super::memory::{Lines, Waits};
use super::passage::Flush;
use super::pipe::Pipe;
use super::predict::{Guess, behind_unknown};
use super::shape::{Costs, Shape};
use super::step::Step;
use super::timed::{Model, second_fetches};
use super::words::Queue;
use crate::insn::{Class, Insn};

/// Cycles from EX of an access to the request of its miss, which is in WB.
const WRITE: i64 = 2;

/// Cycles from a miss of the front end to when the hub asks the data cache for the line: an access that is in EX then is replayed,
/// and one that was in EX a cycle or two before is waited for. (`metaArb` of the RTL's DCache prefers the probe to a request, and
/// `auto_out_b_ready` needs `s1_valid` and `s2_valid` to be off.)
const PROBE: i64 = 3;

impl Model {
    /// Lets an access, and the line that it misses, wait for one that the front end missed before, and that one for it.
    pub(super) fn share_port(&mut self, step: &Step, shape: &Shape, costs: &mut Costs) {
        let reaches = shape.memory != [false; 2] && costs.data_walk == 0 && !costs.device;
        let Some(port) = self.line_port.filter(|_| reaches) else { return };
        let end = step.pa.wrapping_add(step.insn.len.into());
        let Some(next) = self.line_within_reach(end).filter(|&pa| !self.memory.has_instructions(pa)) else {
            return;
        };
        let line = self.memory.instruction_line(next);
        let before = self.line_ahead.filter(|ahead| ahead.line == line);
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
        self.line_ahead = Some(Ahead { line, missed: fetch, later: later as u32, met: misses });
    }

    /// When the front end missed an instruction's line, if that is known; its miss takes longer if the line is later.
    pub(super) fn line_missed(&mut self, step: &Step, fetch: &mut Waits) -> Option<i64> {
        let last = step.pa.wrapping_add(u64::from(step.insn.len) - 1);
        let line = self.memory.instruction_line(last);
        let Ahead { later, missed, .. } = self.line_ahead.take().filter(|ahead| ahead.line == line)?;
        fetch.miss += later;
        Some(missed)
    }

    /// The address of the next line, if a front end whose next instruction is at an address may come to it: in the same page.
    pub(super) fn line_within_reach(&self, pa: u64) -> Option<u64> {
        let next = pa.next_multiple_of(self.memory.instruction_line_bytes());
        (self.runs_on && !next.is_multiple_of(4096) && next - pa <= self.far()).then_some(next)
    }

    /// The line that must be in the instruction cache, so that no access of a run meets it on the port: behind the run's last
    /// instruction.
    pub(super) fn line_behind(&self, pa: u64, last: &Insn) -> Option<u64> {
        let turns = matches!(last.row().class, Class::Branch | Class::Jump | Class::JumpReg);
        self.line_within_reach(pa).filter(|_| self.line_port.is_some() && (!turns || goes_on(last)))
    }

    /// The line that an access before an address may meet on the port.
    pub(super) fn line_beside(&self, pa: u64) -> Option<u64> {
        let next = self.line_port.and_then(|_| self.line_within_reach(pa));
        next.map(|next| self.memory.instruction_line(next))
    }

    /// Whether lines may meet on the port in a run that misses one.
    pub(super) fn lines_meet(&self, lines: &Lines) -> bool {
        self.line_port.is_some() && self.runs_on && (self.line_ahead.is_some() || self.memory.may_meet(lines))
    }

    /// When the front end, whose pipe is behind an instruction, misses the line at an address, if not behind a cycle: it goes
    /// on in sequence, also behind a jump whose target it does not know.
    fn misses_ahead(&mut self, step: &Step, mut pipe: Pipe, next: u64, last: i64) -> Option<i64> {
        let offset = step.pa.wrapping_sub(step.pc);
        let mut pa = step.pa.wrapping_add(step.insn.len.into());
        let width = self.core.pipeline.fetch_width;
        let mut seen = self.predict.seen(false);
        while let Some(insn) = self.ahead.as_mut()?.find(pa) {
            let pc = pa.wrapping_sub(offset);
            let (second, at_hand) = second_fetches(width, pipe.fresh, pc, insn.len);
            let words = if at_hand { 0 } else { 1 + second };
            let sees = pa.wrapping_add(u64::from(insn.len) - 1) >= next;
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
            pipe.pass(
                &self.works.of(&insn, &self.core).shape,
                &Costs { second, at_hand, ..Costs::default() },
            );
            pa = pa.wrapping_add(u64::from(insn.len));
            let Some(turn) = self.predict.turn(pc, &insn) else { continue };
            if !goes_on(&insn) || self.predict.guess(&turn, pc, &mut seen) != Guess::Unknown {
                return None;
            }
            pa = behind_unknown(pa);
            pipe.redirect_from_fetch(1, Cause::Branch, Flush::Branch);
        }
        None
    }
}

/// Whether the front end goes on behind a jump in sequence if it does not know the target: a call through a register, which comes
/// back there.
fn goes_on(jump: &Insn) -> bool {
    jump.row().class == Class::JumpReg && jump.rd != 0
}
