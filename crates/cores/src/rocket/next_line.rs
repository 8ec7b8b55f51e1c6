//! Lines that the front end misses ahead of an access, and the cost for both: lines of both caches come over one port.

use tollgate_riscv::Insn;

use super::Rocket;
use super::front_end::{Arrival, FAR, REPLAY};
use super::line_port::Ahead;
use super::op::Op;
use super::pipe::{Costs, Pipe};
use super::predictor::{Jump, Turn, behind_unknown};
use super::wrong_path::goes_on;
use crate::microarchitecture::Step;

/// Cycles from EX of an access to the request of its miss, which is in WB.
const WRITE: i64 = 2;

/// Cycles from a miss of the front end to when the hub asks the data cache for the line: an access that is in EX then is replayed,
/// and one that was in EX a cycle or two before is waited for. (`metaArb` of the RTL's DCache prefers the probe to a request, and
/// `auto_out_b_ready` needs `s1_valid` and `s2_valid` to be off.)
const PROBE: i64 = 3;

impl Rocket {
    /// Whether the line behind an instruction is known to be there, or out of reach.
    #[inline(always)]
    pub(super) fn has_next_line(&mut self, end: u64) -> bool {
        let next = (end + self.line_bytes - 1) & !(self.line_bytes - 1);
        self.next_line == (next, self.memory.fills) || next - end > FAR || self.finds_next_line(next)
    }

    #[inline(never)]
    fn finds_next_line(&mut self, next: u64) -> bool {
        let there = self.line_port.is_none() || self.memory.has_instructions(next);
        if there {
            self.next_line = (next, self.memory.fills);
        }
        there
    }

    /// The address of the next line, if a front end whose next instruction is at an address may come to it: in the same page.
    fn line_within_reach(&self, pa: u64) -> Option<u64> {
        let next = pa.next_multiple_of(self.line_bytes);
        (self.runs_on && !next.is_multiple_of(4096) && next - pa <= FAR).then_some(next)
    }

    /// Whether the front end misses the line behind an instruction: it goes on there in sequence, also behind calls without a known
    /// target.
    fn misses_next_line(&mut self, step: &Step<Op>) -> Option<u64> {
        let offset = step.pa.wrapping_sub(step.pc);
        let mut pa = step.pa.wrapping_add(step.insn.len.into());
        let next = self.line_within_reach(pa).filter(|&next| !self.memory.has_instructions(next))?;
        let mut calls = Vec::new();
        loop {
            let insn = self.code.find(pa)?;
            if sees(&insn, pa, next) {
                return self.predictor.knows_none(&calls).then_some(next);
            }
            let turn = Turn::new(Jump::of(&insn), pa.wrapping_sub(offset), insn.len);
            if turn.jump != Jump::None {
                if !goes_on(&insn) {
                    return None;
                }
                calls.push(turn);
            }
            pa = behind(&insn, pa);
        }
    }

    /// Lets an access, and the line that it misses, wait for one that the front end misses, and that one for it.
    pub(super) fn share_port(&mut self, step: &Step<Op>, costs: &mut Costs) {
        let before = self.pipe.line_ahead;
        let Some(port) = self.line_port.filter(|_| before.is_none_or(|ahead| !ahead.met)) else { return };
        let Some(next) = self.misses_next_line(step) else { return };
        let mut pipe = self.pipe.clone();
        let misses = costs.data_miss > 0;
        pipe.look_ahead(step.op, &Costs { data_miss: 0, ..*costs });
        let mut execute = pipe.execute;
        let last = execute + if misses { WRITE } else { -1 };
        let Some(fetch) = self.misses_ahead(step, pipe, next, last) else { return };
        let mut held = before.map_or(0, |ahead| ahead.later.into());
        match execute - fetch {
            passed @ 1..PROBE => held = passed,
            passed if (PROBE..=PROBE + held).contains(&passed) => {
                costs.refused = REPLAY;
                execute += REPLAY;
            }
            _ => {}
        }
        let mut later = held;
        if misses {
            let meeting = port.meet(execute + WRITE - fetch, held, costs.crosses);
            costs.data_miss += meeting.data;
            later = meeting.fetch;
        }
        self.pipe.line_ahead = Some(Ahead { missed: fetch, later: later as u32, met: misses });
    }

    /// When the front end missed an instruction's line, if that is known; its miss takes longer if the line is later.
    pub(super) fn line_missed(&mut self, step: &Step<Op>, miss: &mut i64) -> Option<i64> {
        self.pipe.line_ahead?;
        if !self.memory.enters_line(step.pa, step.insn.len) {
            return None;
        }
        let Ahead { later, missed, .. } = self.pipe.line_ahead.take().filter(|_| *miss > 0)?;
        *miss += i64::from(later);
        Some(missed)
    }

    /// When the front end, whose pipe is behind an instruction, misses the line at an address, if not behind a cycle.
    fn misses_ahead(&mut self, step: &Step<Op>, mut pipe: Pipe, next: u64, last: i64) -> Option<i64> {
        let offset = step.pa.wrapping_sub(step.pc);
        let mut pa = step.pa.wrapping_add(step.insn.len.into());
        loop {
            let insn = self.code.find(pa)?;
            let arrival = Arrival::of(pa.wrapping_sub(offset), insn.len, pipe.front.fresh);
            let sees = sees(&insn, pa, next);
            if arrival.words > 0 {
                let number = if sees && pa < next { arrival.words - 1 } else { 0 };
                // An earlier access that was replayed has dropped the word, and the line has been on its way since.
                let before = pipe.front.before_replay().filter(|_| number == 0);
                // A cycle behind IF it turns out to be missed.
                let at = before.unwrap_or_else(|| pipe.front.fetches(arrival.words, number)) + 1;
                if at > last || sees {
                    return (at <= last).then_some(at);
                }
            }
            pipe.look_ahead(&self.describe_ahead(&insn), &Costs::of(arrival));
            if goes_on(&insn) {
                pipe.redirect_from_fetch(1);
            }
            pa = behind(&insn, pa);
        }
    }
}

/// Whether an instruction at an address ends in the line at another one.
fn sees(insn: &Insn, pa: u64, next: u64) -> bool {
    pa.wrapping_add(u64::from(insn.len) - 1) >= next
}

/// Where the front end goes on behind an instruction in sequence.
fn behind(insn: &Insn, pa: u64) -> u64 {
    let end = pa.wrapping_add(insn.len.into());
    if goes_on(insn) { behind_unknown(end) } else { end }
}
