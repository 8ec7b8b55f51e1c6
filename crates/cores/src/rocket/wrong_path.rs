//! Fetches of the front end behind an instruction that sends it elsewhere, until it is redirected: lines that it misses are filled,
//! and calls and returns stay in the return stack.

use tollgate_riscv::{Cause as Exception, Class, Insn, Privilege, Trap};

use super::front_end::{Arrival, FAR, Fill, FrontEnd, REFETCH};
use super::op::Op;
use super::pipe::{Costs, Pipe};
use super::predictor::{Guess, Jump, Sight, Turn, behind_unknown, misread};
use super::waiting_stores::Behind;
use super::{Rocket, WORD};
use crate::microarchitecture::Step;
use crate::parts::fetchable::FetchableCode;

/// A word that is in IF a cycle before the redirected fetch's request is looked up, one behind it is dropped.
const LOOKED_UP: i64 = 2;

/// The most jumps that the fetch goes through before it is redirected.
const MOST_JUMPS: u32 = 8;

/// Where the fetch runs on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pc: u64,
    pa: u64,
    privilege: Privilege,
    from: Origin,
}

/// The place from which the fetch runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
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

impl Rocket {
    /// The fetch goes on along a path until it is redirected in a cycle. The `back` end takes what it fetches, if any of that may come
    /// to EX in time to make room in the queue. Yields whether there was a branch or jump.
    fn run_on(
        &mut self,
        mut path: Path,
        front: &mut FrontEnd,
        mut back: Option<&mut Pipe>,
        redirect: i64,
        sight: &mut Sight,
    ) -> bool {
        let last = redirect - LOOKED_UP;
        let wrong = path.from.is_wrong();
        // Behind a replay the pipe itself misses the lines. In another page the fetch may be not allowed, and then nothing is filled.
        let mut fills = path.from != Origin::Replay;
        let (mut jumps, mut turns, mut found_line) = (MOST_JUMPS, false, u64::MAX);
        while let Some(insn) = self.code.find(path.pa) {
            let arrival = Arrival::of(path.pc, insn.len, front.fresh);
            let (words, end) = (arrival.words, u64::from(insn.len) - 1);
            // In sequence; where nothing is fetched in the end, the front end finds out in ID.
            if words > 0 && !front.fresh && front.is_full().is_some_and(|at| at < redirect) {
                let (word, partial, long) = word_behind(&mut self.code, path.pa);
                let word = word.wrapping_sub(path.pa).wrapping_add(path.pc);
                self.predictor.misreads(word, misread(partial, long), sight);
            }
            for word in 0..words {
                // The last word has the last byte.
                let behind = if word + 1 == words { end } else { 0 };
                let at = front.fetches(words, word);
                if at > last {
                    return turns;
                }
                let (pc, pa) = (path.pc + behind, path.pa + behind);
                let line = self.memory.instruction_line(pa);
                if line != found_line && !self.memory.has_instructions(pa) {
                    if fills && let Some(from) = self.pipe.front.can_fill(at, last) {
                        let waits = self.memory.fetch(pc, pa, 1, path.privilege);
                        let there = from + i64::from(waits.miss);
                        self.pipe.front.fill = Some(Fill { line, there, takes: self.takes });
                        self.pipe.unusual = true;
                    }
                    return turns;
                }
                found_line = line;
                if self.pipe.front.fills(line, at) {
                    return turns;
                }
            }
            match &mut back {
                Some(pipe) => {
                    std::mem::swap(&mut pipe.front, front);
                    pipe.look_ahead(&self.describe_ahead(&insn), &Costs::of(arrival));
                    std::mem::swap(&mut pipe.front, front);
                }
                None => front.run_on(&arrival),
            }
            let sequential = path.pc.wrapping_add(u64::from(insn.len));
            let mut next = sequential;
            let turn = Turn::new(Jump::of(&insn), path.pc, insn.len);
            if turn.jump != Jump::None {
                turns = true;
                let target = path.pc.wrapping_add_signed(insn.imm);
                match self.predictor.guess(&turn, target, sight) {
                    Guess::Sequential => {}
                    _ if jumps == 0 => return turns,
                    // The RTL goes on where a second branch is predicted to go, which no program of the corpus shows.
                    Guess::To { .. } if wrong && turn.jump == Jump::Branch => return turns,
                    Guess::Unknown => {
                        jumps -= 1;
                        next = behind_unknown(sequential);
                        front.redirect_from_fetch(1);
                    }
                    Guess::To { target, known } => {
                        jumps -= 1;
                        // The target buffer does not find a word that is entered in the middle.
                        let entered = known && target.is_multiple_of(WORD) && !wrong;
                        if entered && front.is_full().is_some_and(|at| at < redirect) {
                            let pa = (path.pa + end) & !(WORD - 1);
                            let long = [pa, pa + 2].map(|pa| self.code.len(pa) == 4);
                            self.predictor.misreads(target, misread(false, long), sight);
                        }
                        next = target;
                        front.fresh = true;
                        if !known {
                            front.redirect_from_fetch(1);
                        }
                    }
                }
            }
            if self.stays_in_page(path.pc, next, path.privilege) {
                path.pa = path.pa.wrapping_add(next.wrapping_sub(path.pc));
            } else if !wrong
                && path.from != Origin::Replay
                && let Some(pa) = self.memory.translated_fetch(next, path.privilege)
            {
                // Even where the fetch is not allowed the front end looks at the instructions.
                (path.pa, fills) = (pa, false);
            } else {
                return turns;
            }
            path.pc = next;
        }
        turns
    }

    /// Whether two addresses are in the same page, where addresses are translated.
    fn stays_in_page(&self, from: u64, to: u64, privilege: Privilege) -> bool {
        (to ^ from) >> 12 == 0 || !self.memory.fetch_walks(privilege)
    }

    /// Behind an instruction that traps or empties the pipe, until the fetch is redirected.
    fn run_on_from_flush(&mut self, path: Path) {
        if self.runs_on {
            let mut front = self.pipe.front.clone();
            (front.redirect.at, front.fresh) = (i64::MIN / 2, false);
            let mut sight = self.predictor.sight();
            self.run_on_until_redirected(path, &mut front, &mut sight);
            self.predictor.keep_path(sight);
        }
        self.predictor.redirected();
    }

    /// The fetch goes on behind the last instruction until it is redirected.
    fn run_on_until_redirected(&mut self, path: Path, front: &mut FrontEnd, sight: &mut Sight) {
        // Nothing behind the last instruction makes room in the queue before the fetch is redirected, but what goes through the
        // pipe again is fetched again.
        let replays = self.pipe.may_replay() || self.code.divides(path.pa);
        let mut back = replays.then(|| self.pipe.clone());
        self.run_on(path, front, back.as_mut(), self.pipe.front.redirect.at, sight);
    }

    /// Behind an instruction that empties the pipe.
    pub(super) fn run_on_behind(&mut self, step: &Step<Op>) {
        let len = u64::from(step.insn.len);
        let (pc, pa) = (step.pc.wrapping_add(len), step.pa.wrapping_add(len));
        self.run_on_from_flush(Path { pc, pa, privilege: step.privilege, from: Origin::Flush });
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
        let len = self.code.len(pa);
        let path = Path { pc: trap.epc + len, pa: pa + len, privilege: trap.from, from: Origin::Flush };
        self.run_on_from_flush(path);
    }

    /// At the instruction whose place an interrupt takes, with the pipe from before that.
    pub(super) fn run_on_from_interrupt(&mut self, trap: &Trap, mut before: Pipe) {
        if let Some(pa) = self.memory.physical(trap.epc, trap.from).filter(|_| self.runs_on) {
            let path = Path { pc: trap.epc, pa, privilege: trap.from, from: Origin::Interrupt };
            let (mut front, mut sight) = (before.front.clone(), self.predictor.sight());
            let redirect = self.pipe.front.redirect.at;
            self.run_on(path, &mut front, Some(&mut before), redirect, &mut sight);
            self.predictor.keep_path(sight);
        }
        self.predictor.redirected();
    }

    /// Behind a branch or jump that was mispredicted.
    pub(super) fn run_on_from_jump(&mut self, step: &Step<Op>, turn: &Turn) {
        let Some(path) = self.mispredicted_path(step, turn).filter(|_| self.runs_on) else { return };
        let branches = matches!(path.from, Origin::Branch | Origin::Jump { branches: true, .. });
        let mut sight = self.predictor.sight_behind(branches);
        sight.wrong = path.from == Origin::Unknown;
        let mut front = self.pipe.front.clone();
        (front.redirect.at, front.fresh) = (i64::MIN / 2, matches!(path.from, Origin::Jump { .. }));
        if matches!(path.from, Origin::Unknown | Origin::Jump { late: true, .. }) {
            front.redirect_from_fetch(1);
        }
        self.run_on_until_redirected(path, &mut front, &mut sight);
        self.predictor.end_path();
    }

    /// Where the fetch went behind a branch or jump that was mispredicted.
    fn mispredicted_path(&self, step: &Step<Op>, turn: &Turn) -> Option<Path> {
        let (pc, from) = match (turn.jump, self.predictor.predicted) {
            (Jump::Branch, _) if step.taken => (turn.sequential, Origin::Branch),
            (Jump::Branch, _) => {
                let late = !self.predictor.knows(turn);
                (step.pc.wrapping_add_signed(step.insn.imm), Origin::Jump { branches: true, late })
            }
            (_, None) => (behind_unknown(turn.sequential), Origin::Unknown),
            (_, Some((pc, late))) => (pc, Origin::Jump { branches: false, late }),
        };
        let pa = step.pa.wrapping_add(pc.wrapping_sub(step.pc));
        let path = Path { pc, pa, privilege: step.privilege, from };
        self.stays_in_page(step.pc, pc, step.privilege).then_some(path)
    }

    /// The pipe before a load, if that may be replayed only because it overlaps with a store, and the fetch comes to a branch or jump.
    pub(super) fn before_replay(&mut self, step: &Step<Op>, costs: &Costs) -> Option<Box<Pipe>> {
        let others = costs.data_walk + costs.data_miss + costs.refused > 0 || self.pipe.is_soiled();
        let may = costs.overlap != 0 && self.pipe.stores.any() && !others && self.runs_on;
        (may && self.jumps_behind(step.pa, step.insn)).then(|| Box::new(self.pipe.clone()))
    }

    /// Behind such a load, before that is fetched again. Calls, returns and branches leave their marks there, and a second time
    /// when they are fetched again.
    pub(super) fn run_on_from_replay(&mut self, step: &Step<Op>, costs: &Costs, mut before: Box<Pipe>) {
        before.look_ahead(step.op, &Costs { overlap: 0, ..*costs });
        if before.execute == self.pipe.execute {
            return;
        }
        let len = u64::from(step.insn.len);
        let (pc, pa) = (step.pc.wrapping_add(len), step.pa.wrapping_add(len));
        let path = Path { pc, pa, privilege: step.privilege, from: Origin::Replay };
        let (mut front, mut sight) = (before.front.clone(), self.predictor.sight());
        let redirect = before.execute + REFETCH;
        if self.run_on(path, &mut front, Some(&mut *before), redirect, &mut sight) {
            self.predictor.redirected();
            self.predictor.keep_path(sight);
        }
    }

    /// Whether there is a branch or jump to which the fetch may have come behind an access that goes through the pipe again.
    fn jumps_behind(&mut self, pa: u64, insn: &Insn) -> bool {
        let behind = pa + u64::from(insn.len);
        let mut pa = behind;
        while pa < behind + FAR {
            if self.code.jump(pa).is_some() {
                return true;
            }
            pa += self.code.len(pa);
        }
        false
    }

    /// The instructions in EX behind a load that overlaps with stores, if it is in sequence and waits only for results of loads.
    pub(super) fn behind_load(&mut self, pa: u64, insn: &Insn, op: &Op) -> Behind {
        let mut behind = Behind { again: op.stores, ..Behind::default() };
        let mut pa = pa + u64::from(insn.len);
        let mut written = op.writes;
        for reads in &mut behind.reads {
            let Some(insn) = self.code.find(pa) else { break };
            let op = self.describe_ahead(&insn);
            if op.waits.iter().any(|&register| register > 0 && register == written) {
                break;
            }
            *reads = op.reads;
            behind.stores = op.stores && !op.reads;
            written = if op.reads { op.writes } else { 0 };
            pa += u64::from(insn.len);
        }
        behind
    }
}

/// The word that the fetch of an instruction in sequence looks up, whether the instruction begins in the word before, and which
/// halves of that look like the beginning of four bytes.
fn word_behind(code: &mut FetchableCode, pa: u64) -> (u64, bool, [bool; 2]) {
    let word = pa.wrapping_add(2) & !(WORD - 1);
    (word, pa & 2 != 0, [4, 2].map(|back| code.len(word.wrapping_sub(back)) == 4))
}

/// Whether the front end goes on behind a jump in sequence if it does not know the target: a call through a register, which comes
/// back there.
pub(super) fn goes_on(jump: &Insn) -> bool {
    jump.row().class == Class::JumpReg && jump.rd != 0
}
