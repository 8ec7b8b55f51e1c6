//! What a front end fetches behind an instruction that sends it elsewhere, until it knows: the lines that it misses.

use super::Cause;
use super::latest::LatestStores;
use super::passage::Flush;
use super::pipe::Pipe;
use super::predict::{Guess, Turn, behind_unknown, misread};
use super::refill::LOOKED_UP;
use super::replay::Behind;
use super::seen::Seen;
use super::shape::Costs;
use super::step::Step;
use super::timed::Model;
use super::trail::Trail;
use super::ways::{MOST_JUMPS, Reach, Ways, word_behind};
use tollgate_riscv::Privilege;
use tollgate_riscv::{Cause as Exception, Trap};
use tollgate_riscv::{Class, Insn};

/// Where the fetch runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunOn {
    pub(super) pc: u64,
    pub(super) pa: u64,
    pub(super) privilege: Privilege,
    pub(super) from: Origin,
}

/// What the fetch runs on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// An instruction that traps or empties the pipe.
    Flush,
    /// An interrupt.
    Interrupt,
    /// A load that is replayed because it overlaps with a store.
    Replay,
    /// A branch that was predicted not taken.
    Branch,
    /// A jump or branch, to where it was predicted to go; `late` if the front end found that out after it had gone on in sequence.
    Jump { branches: bool, late: bool },
    /// An indirect jump of whose target nothing was known.
    Unknown,
}

impl Origin {
    /// Whether that was a misprediction.
    fn is_wrong(self) -> bool {
        !matches!(self, Origin::Flush | Origin::Interrupt | Origin::Replay)
    }
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

    /// The fetch runs on behind an instruction that traps or empties the pipe, until it is redirected, as the pipe knows it.
    fn run_on(&mut self, path: RunOn) {
        if self.runs_on {
            let mut pipe = self.pipe.clone();
            (pipe.redirect, pipe.fresh) = (None, false);
            self.run_on_with(path, &mut pipe);
        }
        self.predict.redirect();
    }

    /// The same with a pipe that may still have to be redirected to where that begins.
    fn run_on_with(&mut self, path: RunOn, pipe: &mut Pipe) {
        let mut seen = self.predict.seen();
        let Some(redirect) = self.pipe.redirect else { return };
        self.fetch_on(path, pipe, redirect.at, &mut seen, &mut Trail::default());
        self.predict.keep(&mut seen);
    }

    /// What the front end has seen where it begins to run on behind a misprediction.
    pub(super) fn see(&self, path: &RunOn, seen: &mut Seen) {
        let branch = matches!(path.from, Origin::Branch | Origin::Jump { branches: true, .. });
        self.predict.see_behind(branch, seen);
        if path.from == Origin::Unknown {
            seen.lose();
        }
    }

    /// The fetch runs on behind a misprediction. What the branches there have done is taken back.
    pub(super) fn run_on_wrong(&mut self, path: RunOn, seen: &mut Seen, trail: &mut Trail) {
        self.see(&path, seen);
        if let Some(redirect) = self.pipe.redirect {
            let fresh = matches!(path.from, Origin::Jump { .. });
            let mut pipe = self.pipe.clone();
            (pipe.redirect, pipe.fresh) = (None, fresh);
            if matches!(path.from, Origin::Unknown | Origin::Jump { late: true, .. }) {
                pipe.redirect_from_fetch(1, Cause::Branch, Flush::Branch);
            }
            self.fetch_on(path, &mut pipe, redirect.at, seen, trail);
        }
        self.predict.keep_returns(seen);
    }

    /// The fetch goes on with a pipe until it is redirected in a cycle.
    pub(super) fn fetch_on(
        &mut self,
        mut path: RunOn,
        pipe: &mut Pipe,
        redirect: i64,
        seen: &mut Seen,
        trail: &mut Trail,
    ) {
        let Some(ahead) = &mut self.ahead else { return };
        let last = redirect - LOOKED_UP;
        let wrong = path.from.is_wrong();
        // Behind a replay the pipe itself misses the lines. In another page the fetch may be not allowed, and then nothing is filled.
        let mut fills = path.from != Origin::Replay;
        let mut jumps = MOST_JUMPS;
        let width = self.core.pipeline.fetch_width;
        while let Some(insn) = ahead.find(path.pa) {
            let (second, at_hand) = super::timed::second_fetches(width, pipe.fresh, path.pc, insn.len);
            let end = u64::from(insn.len) - 1;
            let words = if at_hand { 0 } else { 1 + second };
            // In sequence; where nothing is fetched in the end, the front end finds out in ID.
            if words > 0 && !pipe.fresh && pipe.is_full().is_some_and(|at| at < redirect) {
                let (word, partial, long) = word_behind(ahead, path.pa);
                let word = word.wrapping_sub(path.pa).wrapping_add(path.pc);
                trail.word(&mut self.predict, word, misread(partial, long), seen);
            }
            for word in (0..words).rev() {
                // The last word has the last byte.
                let behind = if word == 0 { end } else { 0 };
                let at = pipe.fetches(words, words - 1 - word);
                if at > last {
                    return;
                }
                let (pc, pa) = (path.pc + behind, path.pa + behind);
                let there = self.memory.has_instructions(pa);
                trail.line(pa, there, fills);
                if !there && !fills {
                    return;
                }
                if !there {
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
                let target = path.pc.wrapping_add_signed(insn.imm);
                match trail.guess(&self.predict, &turn, target, seen) {
                    Guess::Sequential => {}
                    _ if jumps == 0 => return,
                    // The RTL goes on where a second branch is predicted to go, which no program of the corpus shows.
                    Guess::To { .. } if wrong && turn.is_branch() => return,
                    Guess::Unknown => {
                        jumps -= 1;
                        next = behind_unknown(sequential);
                        pipe.redirect_from_fetch(1, Cause::Branch, Flush::Branch);
                    }
                    Guess::To { target, known } => {
                        jumps -= 1;
                        // The target buffer does not find a word that is entered in the middle.
                        let entered = known && target.is_multiple_of(4) && !wrong;
                        if entered && pipe.is_full().is_some_and(|at| at < redirect) {
                            let pa = (path.pa + end) & !3;
                            let long = [pa, pa + 2].map(|pa| ahead.len(pa) == 4);
                            trail.word(&mut self.predict, target, misread(false, long), seen);
                        }
                        next = target;
                        pipe.fresh = true;
                        if !known {
                            pipe.redirect_from_fetch(1, Cause::Branch, Flush::Branch);
                        }
                    }
                }
            }
            if (next ^ path.pc) >> 12 == 0 || !self.memory.fetch_walks(path.privilege) {
                path.pa = path.pa.wrapping_add(next.wrapping_sub(path.pc));
            } else if !wrong
                && path.from != Origin::Replay
                && let Some(pa) = self.memory.translated_fetch(next, path.privilege)
            {
                // Even where the fetch is not allowed the front end looks at the instructions.
                (path.pa, fills) = (pa, false);
            } else {
                return;
            }
            path.pc = next;
        }
    }

    /// Behind an instruction that empties the pipe.
    pub(super) fn run_on_behind(&mut self, step: &Step) {
        let len = u64::from(step.insn.len);
        let (pc, pa) = (step.pc.wrapping_add(len), step.pa.wrapping_add(len));
        self.run_on(RunOn { pc, pa, privilege: step.privilege, from: Origin::Flush });
    }

    /// Whether a wrong path is fetched that begins at an address: where addresses are translated, in the same page.
    #[inline(always)]
    fn runs_to(&self, from: u64, pc: u64, privilege: Privilege) -> bool {
        (pc ^ from) >> 12 == 0 || !self.memory.fetch_walks(privilege)
    }

    /// Adds where the fetch may go behind a jump of a run of instructions that is mispredicted, and is `taken` if it is a branch. It
    /// is the last instruction, or has a number among the run's jumps.
    pub(super) fn find_ways(
        &mut self,
        (pc, pa): (u64, u64),
        insn: &Insn,
        taken: bool,
        inside: Option<usize>,
        ways: &mut Ways,
    ) {
        ways.offset = pa.wrapping_sub(pc);
        let far = self.far();
        let Some(ahead) = self.ahead.as_mut().filter(|_| insn.row().class != Class::Jump) else { return };
        let behind = pa.wrapping_add(u64::from(insn.len));
        let marks = match insn.row().class {
            Class::Branch if taken => ways.walk_all(ahead, behind, far, false, true),
            Class::Branch => ways.walk_all(ahead, pa.wrapping_add_signed(insn.imm), far, true, true),
            _ => ways.walk_all(ahead, behind_unknown(behind), far, true, false),
        };
        match inside {
            None => (ways.reach.marks, ways.indirect) = (marks, insn.row().class == Class::JumpReg),
            Some(number) => {
                ways.marks_inside |= u32::from(marks.is_some()).checked_shl(number as u32).unwrap_or(0);
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
        if let Some(path) = self.wrong_path(step) {
            self.run_on_wrong(path, &mut Seen::default(), &mut Trail::default());
        }
    }

    /// Where the fetch runs on behind a branch or jump that was mispredicted.
    pub(super) fn wrong_path(&self, step: &Step) -> Option<RunOn> {
        if !self.runs_on {
            return None;
        }
        let behind = step.pc.wrapping_add(u64::from(step.insn.len));
        let (pc, from) = if step.insn.row().class != Class::Branch {
            match self.predict.was_sent() {
                None => (behind_unknown(behind), Origin::Unknown),
                Some((pc, late)) => (pc, Origin::Jump { branches: false, late }),
            }
        } else if step.taken {
            (behind, Origin::Branch)
        } else {
            let turn = self.predict.turn(step.pc, step.insn);
            let late = turn.is_some_and(|turn| !self.predict.knows(&turn));
            (step.pc.wrapping_add_signed(step.insn.imm), Origin::Jump { branches: true, late })
        };
        let pa = step.pa.wrapping_add(pc.wrapping_sub(step.pc));
        self.runs_to(step.pc, pc, step.privilege).then_some(RunOn { pc, pa, privilege: step.privilege, from })
    }

    /// If the fetch may have changed something behind the last instruction of a run, a jump that was mispredicted: how many words it
    /// has fetched then at least.
    #[inline(always)]
    pub(super) fn strays(
        &mut self,
        jumps: &[(u8, Turn, u64)],
        ways: &mut Ways,
        predictions: u64,
        privilege: Privilege,
    ) -> Option<u8> {
        if !self.runs_on || !ways.indirect && ways.reach.marks.is_none() && self.is_settled(&ways.reach) {
            return None;
        }
        self.strays_far(jumps, ways, predictions, privilege)
    }

    /// On what it depends whether coming there changes anything: how often lines were filled
    /// ([`Memory::fills`](super::memory::Memory::fills)), and if anything may be misread how often jumps became known. Neither
    /// number ever falls, so their sum is enough.
    #[inline(always)]
    fn state_of(&self, reach: &Reach) -> Option<u64> {
        let changes = if reach.misread.is_empty() { 0 } else { self.predict.target_changes() };
        Some(self.memory.fills + changes)
    }

    /// Whether it was seen in this state that all lines are there, and no word is misread.
    #[inline(always)]
    fn is_settled(&self, reach: &Reach) -> bool {
        reach.settled && reach.seen == self.state_of(reach)
    }

    /// Whether the fetch may change something inside a run, so that what follows there finds it. `marked` says whether a load in the
    /// run may leave a mark: behind it the predictions are not known yet.
    #[inline(always)]
    pub(super) fn strays_between(
        &mut self,
        jumps: &[(u8, Turn, u64)],
        ways: &mut Ways,
        marked: impl FnOnce(Option<LatestStores>) -> bool,
    ) -> bool {
        ways.inside > 0
            && (ways.marks_inside != 0 || !self.is_settled(&ways.reach))
            && self.strays_inside(jumps, ways, marked)
    }

    #[inline(never)]
    fn strays_inside(
        &mut self,
        jumps: &[(u8, Turn, u64)],
        ways: &mut Ways,
        marked: impl FnOnce(Option<LatestStores>) -> bool,
    ) -> bool {
        let inside = jumps.get(..ways.inside).unwrap_or(jumps);
        if marked(self.memory.latest_stores) {
            return ways.marks_inside != 0 || !self.has_settled(ways);
        }
        self.predict.strays_inside(inside, u32::MAX)
            && (!self.has_settled(ways) || self.predict.strays_inside(inside, ways.marks_inside))
    }

    #[inline(never)]
    fn strays_far(
        &mut self,
        jumps: &[(u8, Turn, u64)],
        ways: &mut Ways,
        predictions: u64,
        privilege: Privilege,
    ) -> Option<u8> {
        let (_, turn, _) = jumps.last().filter(|(_, turn, _)| self.predict.strays(turn, predictions & 3))?;
        match self.predict.was_sent().filter(|_| ways.indirect) {
            Some((pc, _)) if self.runs_to(turn.pc(), pc, privilege) => self.strays_behind(pc, ways),
            Some(_) => None,
            None if self.has_settled(ways) => ways.reach.marks,
            None => Some(0),
        }
    }

    /// Whether all lines are there that the fetch may come to on these ways, and no word is misread; it is noted.
    #[inline(never)]
    pub(super) fn has_settled(&mut self, ways: &mut Ways) -> bool {
        !ways.unknown && self.has_reach(&mut ways.reach)
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

    /// The same as [`strays`](Self::strays) where an indirect jump was predicted to go.
    fn strays_behind(&mut self, pc: u64, ways: &Ways) -> Option<u8> {
        let (far, offset) = (self.far(), ways.offset);
        let mut landings = std::mem::take(&mut self.landings);
        let reach = landings.find(pc, offset, || {
            let mut ways = Ways { offset, ..Ways::default() };
            let start = pc.wrapping_add(offset);
            let marks = self.ahead.as_mut().and_then(|ahead| ways.walk_all(ahead, start, far, true, true));
            Reach { lines: self.lines_of(&ways.at), marks, ..ways.reach }
        });
        let own = |reach: &Reach| ways.own.iter().any(|own| reach.misread.contains(own));
        let marks = reach.map_or(Some(0), |reach| match !own(reach) && self.has_reach(reach) {
            true => reach.marks,
            false => Some(0),
        });
        self.landings = landings;
        marks
    }

    /// Behind an instruction that traps.
    pub(super) fn run_on_from_trap(&mut self, trap: &Trap) {
        let cannot_fetch = matches!(
            trap.cause,
            Exception::InstructionMisaligned
                | Exception::InstructionAccessFault
                | Exception::InstructionPageFault
        );
        let Some(pa) = self.memory.physical(trap.epc, trap.from).filter(|_| !cannot_fetch) else { return };
        let Some(ahead) = &mut self.ahead else { return };
        let len = ahead.len(pa);
        self.run_on(RunOn { pc: trap.epc + len, pa: pa + len, privilege: trap.from, from: Origin::Flush });
    }

    /// At the instruction whose place an interrupt takes, with the pipe from before that.
    pub(super) fn run_on_from_interrupt(&mut self, trap: &Trap, pipe: &mut Pipe) {
        if let Some(pa) = self.memory.physical(trap.epc, trap.from) {
            let path = RunOn { pc: trap.epc, pa, privilege: trap.from, from: Origin::Interrupt };
            self.run_on_with(path, pipe);
        }
        self.predict.redirect();
    }
}
