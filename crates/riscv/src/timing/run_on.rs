//! What a front end fetches behind an instruction that sends it elsewhere, until it knows: the lines that it misses.

use super::Cause;
use super::passage::Flush;
use super::predict::{Guess, Seen, Turn, behind_unknown, misread};
use super::replay::Behind;
use super::shape::Costs;
use super::step::Step;
use super::timed::Model;
use super::ways::{Reach, Ways, walk, word_behind};
use crate::exception::{self, Trap};
use crate::insn::{Class, Insn};
use crate::privilege::Privilege;

/// The most jumps that the fetch goes through before it is redirected.
const MOST_JUMPS: u32 = 8;

/// Where the fetch runs on.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunOn {
    pub(super) pc: u64,
    pub(super) pa: u64,
    pub(super) privilege: Privilege,
    /// How many jumps it goes through at most.
    pub(super) jumps: u32,
    /// Whether it begins behind a jump that was mispredicted, and whether nothing was known of its target.
    pub(super) wrong: bool,
    pub(super) lost: bool,
    pub(super) interrupt: bool,
}

impl Model {
    /// What comes to EX behind a load that overlaps with stores, if it is in sequence and waits only for results of loads.
    pub(super) fn behind_load(&mut self, overlap: u8, pa: u64, insn: &Insn) -> Behind {
        if overlap == 0 || self.pipe.replay.is_none() {
            return Behind::default();
        }
        let shape = self.works.of(insn, &self.core).shape;
        let mut behind = Behind { again: shape.memory[1], ..Behind::default() };
        let Some(ahead) = &mut self.ahead else { return behind };
        let mut pa = pa + u64::from(insn.len);
        let mut given = shape.gives;
        for reads in &mut behind.reads {
            let Some(insn) = ahead.find(pa) else { break };
            let shape = self.works.of(&insn, &self.core).shape;
            if shape.needs.iter().any(|&register| register > 0 && register == given) {
                break;
            }
            *reads = shape.memory[0];
            behind.stores = shape.memory == [false, true];
            given = if *reads { shape.gives } else { 0 };
            pa += u64::from(insn.len);
        }
        behind
    }

    /// The fetch runs on until it is redirected, as the pipe knows it.
    fn run_on(&mut self, path: RunOn) {
        let mut seen = self.predict.seen(path.wrong);
        if !path.wrong {
            self.predict.redirect();
        }
        if !self.runs_on {
            return;
        }
        self.fetch_on(path, &mut seen);
        // A misprediction takes back what the branches behind it did, and what calls and returns did is not known here.
        if !path.wrong && !path.interrupt {
            self.predict.keep(seen);
        }
    }

    fn fetch_on(&mut self, mut path: RunOn, seen: &mut Seen) {
        let (Some(ahead), Some(redirect)) = (&mut self.ahead, self.pipe.redirect) else { return };
        // A word that is in IF a cycle before the redirected fetch's request is looked up, one behind it is dropped.
        let last = redirect.at - 2;
        let mut pipe = self.pipe.clone();
        (pipe.redirect, pipe.fresh) = (None, false);
        if path.lost {
            pipe.redirect_from_fetch(1, Cause::Branch, Flush::Branch);
        }
        let width = self.core.pipeline.fetch_width;
        while let Some(insn) = ahead.find(path.pa) {
            let (second, at_hand) = super::timed::second_fetches(width, pipe.fresh, path.pc, insn.len);
            let end = u64::from(insn.len) - 1;
            let words = if at_hand { 0 } else { 1 + second };
            // In sequence; where nothing is fetched in the end, the front end finds out in ID.
            if words > 0 && !pipe.fresh && pipe.is_full().is_some_and(|at| at < redirect.at) {
                let (word, partial, long) = word_behind(ahead, path.pa);
                let word = word.wrapping_sub(path.pa).wrapping_add(path.pc);
                if self.predict.misreads(word, misread(partial, long)) {
                    seen.lose();
                }
            }
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
            pipe.pass(&self.works.of(&insn, &self.core).shape, &costs);
            let sequential = path.pc.wrapping_add(u64::from(insn.len));
            let mut next = sequential;
            if let Some(turn) = self.predict.turn(path.pc, &insn) {
                match self.predict.guess(&turn, path.pc.wrapping_add_signed(insn.imm), seen) {
                    Guess::Sequential => {}
                    _ if path.jumps == 0 => return,
                    Guess::To { .. } | Guess::Unknown if path.wrong && !self.predict.is_certain(&turn) => {
                        return;
                    }
                    Guess::Unknown => {
                        path.jumps -= 1;
                        next = behind_unknown(sequential);
                        pipe.redirect_from_fetch(1, Cause::Branch, Flush::Branch);
                    }
                    Guess::To { target, known } => {
                        path.jumps -= 1;
                        // The target buffer does not find a word that is entered in the middle.
                        let entered = known && target.is_multiple_of(4) && !path.wrong;
                        if entered && pipe.is_full().is_some_and(|at| at < redirect.at) {
                            let pa = (path.pa + end) & !3;
                            let long = [pa, pa + 2].map(|pa| ahead.len(pa) == 4);
                            if self.predict.misreads(target, misread(false, long)) {
                                seen.lose();
                            }
                        }
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

    /// Behind an instruction that empties the pipe.
    pub(super) fn run_on_behind(&mut self, step: &Step) {
        let len = u64::from(step.insn.len);
        let (pc, pa) = (step.pc.wrapping_add(len), step.pa.wrapping_add(len));
        self.run_on(RunOn {
            pc,
            pa,
            privilege: step.privilege,
            jumps: MOST_JUMPS,
            wrong: false,
            lost: false,
            interrupt: false,
        });
    }

    /// Behind a jump, at an address to which it does not go.
    fn run_on_to(&mut self, step: &Step, pc: u64, lost: bool) {
        let pa = step.pa.wrapping_add(pc.wrapping_sub(step.pc));
        if (pc ^ step.pc) >> 12 == 0 || !self.memory.fetch_walks(step.privilege) {
            self.run_on(RunOn {
                pc,
                pa,
                privilege: step.privilege,
                jumps: 1,
                wrong: true,
                lost,
                interrupt: false,
            });
        }
    }

    /// Adds where the fetch may go behind a jump of a run of instructions that is mispredicted.
    pub(super) fn find_ways(&mut self, pc: u64, pa: u64, insn: &Insn, ways: &mut Ways) {
        ways.offset = pa.wrapping_sub(pc);
        let far = self.far();
        let Some(ahead) = &mut self.ahead else { return };
        let behind = pa.wrapping_add(u64::from(insn.len));
        let mut starts = vec![behind, behind_unknown(behind)];
        if insn.row().class == Class::Branch {
            starts[1] = pa.wrapping_add_signed(insn.imm);
        }
        for start in starts {
            match ways.walk(ahead, start, far) {
                Some((pa, insn)) if insn.row().class == Class::Jump => {
                    ways.walk(ahead, pa.wrapping_add_signed(insn.imm), far);
                }
                Some(_) => ways.returns = true,
                None => {}
            }
        }
    }

    /// The ways of a run with these jumps and so many instructions are found.
    pub(super) fn found_ways(&self, jumps: &[(u8, Turn, u64)], insns: usize, ways: &mut Ways) {
        ways.inside = jumps.iter().filter(|&&(at, ..)| self.runs_on && usize::from(at) + 1 < insns).count();
        let before = jumps.split_last().map_or(&[][..], |(_, before)| before);
        ways.own = before.iter().filter_map(|(_, turn, _)| turn.jumps_at()).collect();
        // That is so whenever the run is executed.
        ways.unknown |= ways.own.iter().any(|own| ways.reach.misread.contains(own));
        ways.reach.lines = self.lines_of(&std::mem::take(&mut ways.at));
    }

    /// An address of each line from some addresses on, so many bytes to the last instruction.
    fn lines_of(&self, at: &[(u64, u64)]) -> Vec<u64> {
        let bytes = self.memory.instruction_line_bytes();
        let line = |pa: u64| pa / bytes;
        let lines = at.iter().flat_map(|&(pa, far)| line(pa)..=line(pa.saturating_add(far)));
        let mut lines: Vec<u64> = lines.map(|line| line * bytes).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// More bytes than a fetch can be ahead.
    pub(super) fn far(&self) -> u64 {
        4 * (u64::from(self.core.branch.fetch_queue) + 2)
    }

    /// Behind a branch or jump that was mispredicted.
    pub(super) fn run_on_from_jump(&mut self, step: &Step) {
        if self.ahead.is_none() {
            return;
        }
        if step.insn.row().class == Class::Branch && !step.taken {
            self.run_on_to(step, step.pc.wrapping_add_signed(step.insn.imm), false);
            return;
        }
        let behind = step.pc.wrapping_add(u64::from(step.insn.len));
        if step.insn.row().class == Class::Branch {
            self.run_on_to(step, behind, false);
        } else if self.predict.was_lost() {
            self.run_on_to(step, behind_unknown(behind), true);
        }
    }

    /// Whether the fetch may have changed something behind the last instruction of a run, a jump that was mispredicted.
    #[inline(always)]
    pub(super) fn strays(&mut self, jumps: &[(u8, Turn, u64)], ways: &mut Ways, predictions: u64) -> bool {
        self.runs_on && !self.is_settled(ways) && self.strays_far(jumps, ways, predictions)
    }

    /// On what it depends whether coming there changes anything: how often lines were filled
    /// ([`Memory::fills`](super::memory::Memory::fills)), and if anything may be misread how often jumps became known. Neither
    /// number ever falls, so their sum is enough.
    #[inline(always)]
    fn state_of(&self, reach: &Reach) -> Option<u64> {
        let changes = if reach.misread.is_empty() { 0 } else { self.predict.target_changes() };
        Some(self.memory.fills + changes)
    }

    /// Whether it was seen in this state that running on changes nothing.
    #[inline(always)]
    fn is_settled(&self, ways: &Ways) -> bool {
        let reach = &ways.reach;
        !ways.returns && reach.settled && reach.seen == self.state_of(reach)
    }

    /// Whether the fetch may change something inside a run, so that what follows there finds it.
    #[inline(always)]
    pub(super) fn strays_between(&mut self, jumps: &[(u8, Turn, u64)], ways: &mut Ways) -> bool {
        ways.inside > 0 && !self.is_settled(ways) && self.strays_inside(jumps, ways)
    }

    #[inline(never)]
    fn strays_inside(&mut self, jumps: &[(u8, Turn, u64)], ways: &mut Ways) -> bool {
        let inside = jumps.get(..ways.inside).unwrap_or(jumps);
        self.predict.strays_inside(inside) && !self.has_settled(ways)
    }

    #[inline(never)]
    fn strays_far(&mut self, jumps: &[(u8, Turn, u64)], ways: &mut Ways, predictions: u64) -> bool {
        jumps.last().is_some_and(|(_, turn, _)| self.predict.strays(turn, predictions & 3))
            && !self.has_settled(ways)
    }

    /// Whether all lines are there that the fetch may come to on these ways, and no word is misread; it is noted.
    #[inline(never)]
    pub(super) fn has_settled(&mut self, ways: &mut Ways) -> bool {
        !ways.unknown && self.has_reach(&mut ways.reach) && (!ways.returns || self.has_landing(ways))
    }

    /// Whether all lines are there, and no word is misread; it is noted.
    #[inline(always)]
    fn has_reach(&self, reach: &mut Reach) -> bool {
        let state = self.state_of(reach);
        if reach.seen != state {
            reach.settled = reach.lines.iter().all(|&pa| self.memory.has_instructions(pa))
                && !self.predict.knows_any(&reach.misread);
            reach.seen = state;
        }
        reach.settled
    }

    /// The same where the next return goes.
    fn has_landing(&mut self, ways: &Ways) -> bool {
        let Some(pc) = self.predict.returns_to() else { return true };
        let (far, offset) = (self.far(), ways.offset);
        let mut landings = std::mem::take(&mut self.landings);
        let reach = landings.find(pc, offset, || {
            let start = pc.wrapping_add(offset);
            let places = self.ahead.as_mut().map(|ahead| walk(ahead, start, far, offset).0);
            Reach {
                lines: self.lines_of(&[(start, far)]),
                misread: places.unwrap_or_default(),
                ..Reach::default()
            }
        });
        let own = |reach: &Reach| ways.own.iter().any(|own| reach.misread.contains(own));
        let settled = reach.is_none_or(|reach| !own(reach) && self.has_reach(reach));
        self.landings = landings;
        settled
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
        let (pc, pa) = (trap.epc + len, pa + len);
        self.run_on(RunOn {
            pc,
            pa,
            privilege: trap.from,
            jumps: MOST_JUMPS,
            wrong: false,
            lost: false,
            interrupt: trap.cause.is_interrupt(),
        });
    }
}
