//! Memoized runs of instructions on a core with a scoreboard.
//!
//! What a run of instructions without a jump inside does behind the front end depends on the state at its entry, on what
//! it misses, and on what the stores before its accesses answer. State and misses are looked up. The stores are not part
//! of the state: they answer each question anew, in the cycle in which it was asked when the run was learned, and as long
//! as they answer the same, the run takes the same cycles. With the first other answer another run is looked up, which
//! is known by the one before and this answer. Predictions and what is fetched on wrong paths are not memoized either:
//! the jump that ends a run is predicted as in the plain scoreboard.

use std::ops::Range;
use std::slice;

use super::access::Data;
use super::backend::BackKey;
use super::core::Core;
use super::frontend::{self, FrontKey, Frontend, Place};
use super::ledger::{Cause, Causes};
use super::lines::Lines;
use super::memory::Waits;
use super::operands::Dependence;
use super::scoreboard::Scoreboard;
use super::step::{Step, physical};
use super::stores::{Behind, Question};
use super::timed::Model;
use super::work::{Unit, Work};
use tollgate_riscv::Map;
use tollgate_riscv::boxed;
use tollgate_riscv::{BlockInsn, Pass, Several, Touch};
use tollgate_riscv::{Class, Insn};

/// Entries of the table of runs; a power of two.
const RUNS: usize = 1 << 14;
/// States, segments and questions that are kept before all are dropped.
const MOST: usize = 1 << 20;
const NOTHING: u32 = u32::MAX;
/// Misses that are looked up; with more a run is not memoized.
const MISSES: usize = 2;

/// Instructions of a block up to a jump, or its end.
struct Segment {
    /// Places in the block.
    insns: Range<u16>,
    works: Vec<Work>,
    lines: Lines,
    /// Those that access memory, in order.
    memory: Vec<Accessing>,
    /// Those whose operands are reported, in order, and what those change.
    operated: Vec<(u8, Option<Dependence>)>,
    first_word: u64,
    last: Place,
    insn: Insn,
    jumps: bool,
    /// Where the last one goes, unless it is an indirect jump, and whether it is a branch that is taken.
    next: Option<u64>,
    taken: bool,
    /// Which line decides whether following the jump wastes a cycle.
    behind: Option<u64>,
    /// Whether runs of it are memoized.
    memoized: bool,
    /// At which [`Frontend::replaced`] its jump was noted.
    noted: u64,
    phase: u8,
}

/// An instruction that accesses memory.
struct Accessing {
    at: u8,
    size: u8,
    store: bool,
}

/// What a run did, in one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Run {
    /// Segment, flags and state with misses; or the first question of an earlier run, the number of the one that was
    /// answered in another way, and that answer.
    key: [u64; 1 + MISSES],
    /// How often it was used since it was last charged.
    count: u64,
    /// Its questions.
    first: u32,
    questions: u16,
    phase: u8,
    /// Relative to the last commit before: the last commit and issue, the next request, the last arrival.
    cycles: i32,
    issue: i32,
    request: i32,
    valid: i32,
    /// The state behind it; when a jump at its end is predicted right, and when it is not.
    next: [u32; 2],
}

const UNKNOWN: Run = Run {
    key: [u64::MAX; 1 + MISSES],
    count: 0,
    first: 0,
    questions: 0,
    phase: 0,
    cycles: 0,
    issue: 0,
    request: 0,
    valid: 0,
    next: [NOTHING; 2],
};

impl Run {
    fn asked(&self) -> Range<usize> {
        self.first as usize..self.first as usize + usize::from(self.questions)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    front: FrontKey,
    back: BackKey,
}

/// The runs of a core.
pub(super) struct Memo {
    /// Whether operations depend on their operands.
    dependent: bool,
    segments: Vec<Segment>,
    /// Those of each block.
    blocks: Vec<Range<u32>>,
    states: Vec<Key>,
    state_numbers: Map<Key, u32>,
    runs: Box<[Run; RUNS]>,
    /// What each charges, and to whom.
    charges: Box<[(Option<u32>, Causes); RUNS]>,
    /// Relative to the last commit before the run.
    questions: Vec<Question>,
    /// The state and the last commit. While it is `NOTHING` the model's scoreboard is what counts.
    state: u32,
    base: i64,
    /// The segment that was executed last, behind which the scoreboard is in that state.
    last: u32,
    /// Of the segment that is being executed.
    accesses: Vec<Data>,
    misses: Vec<(u8, Waits)>,
    /// Questions of the run before, and their answers, where it took another course.
    given: Vec<Question>,
    record: Vec<Question>,
    pub(super) hits: u64,
    pub(super) replays: u64,
}

/// One segment as it was executed.
#[derive(Clone, Copy)]
struct Executed<'a> {
    several: &'a Several<'a>,
    pass: &'a Pass,
    segment: usize,
    /// Whether its first word was fetched before.
    at_hand: bool,
}

impl Memo {
    pub(super) fn new(core: &Core) -> Self {
        Memo {
            dependent: Dependence::any(core),
            segments: Vec::new(),
            blocks: Vec::new(),
            states: Vec::new(),
            state_numbers: Map::default(),
            runs: boxed(UNKNOWN),
            charges: boxed((None, [0; Cause::COUNT])),
            questions: Vec::new(),
            state: NOTHING,
            base: 0,
            last: NOTHING,
            accesses: Vec::new(),
            misses: Vec::new(),
            given: Vec::new(),
            record: Vec::new(),
            hits: 0,
            replays: 0,
        }
    }

    /// Cycles so far.
    pub(super) fn cycles(&self, model: &Model) -> u64 {
        if self.state == NOTHING { model.cycles() } else { (self.base + 1) as u64 }
    }

    /// Makes the model's scoreboard the one that counts.
    pub(super) fn materialise(&mut self, model: &mut Model) {
        if self.state != NOTHING
            && let Some(board) = &mut model.board
        {
            restore(board, &self.states[self.state as usize], self.base);
            board.last = self.segments.get(self.last as usize).map(|segment| segment.last);
            model.pipe.set_write(self.base, board.redirected());
            self.state = NOTHING;
        }
    }

    /// The number of the scoreboard's state; from now on that counts.
    #[inline(never)]
    fn number(&mut self, board: &Scoreboard) -> u32 {
        let base = board.commit();
        let key = Key { front: board.front.key(base), back: board.back.key() };
        self.base = base;
        self.state = match self.state_numbers.get(&key) {
            Some(&number) => number,
            None => {
                let number = self.states.len() as u32;
                self.states.push(key.clone());
                self.state_numbers.insert(key, number);
                number
            }
        };
        self.state
    }

    /// Charges what runs were used for.
    pub(super) fn settle(&mut self, model: &mut Model) {
        for at in 0..RUNS {
            self.charge(model, at);
        }
    }

    fn charge(&mut self, model: &mut Model, at: usize) {
        let run = &mut self.runs[at];
        let count = std::mem::take(&mut run.count);
        if count > 0 {
            let (owner, charges) = &self.charges[at];
            model.charge_run(run.phase, *owner, &charges.map(|cycles| cycles * count));
        }
    }

    /// Forgets all runs, which were charged.
    pub(super) fn forget(&mut self) {
        self.runs.fill(UNKNOWN);
        self.segments.clear();
        self.blocks.clear();
        self.states.clear();
        self.state_numbers.clear();
        self.questions.clear();
    }

    /// Whether it has grown so large that all should be forgotten.
    #[inline(always)]
    pub(super) fn is_large(&self) -> bool {
        self.questions.len() > MOST || self.states.len() > MOST / 16 || self.segments.len() > MOST / 16
    }

    /// A run of instructions, which is the block with that number.
    pub(super) fn block(
        &mut self,
        model: &mut Model,
        number: usize,
        (several, pass): (&Several, &Pass),
        accesses: &mut slice::Iter<Touch>,
        operands: &mut slice::Iter<[u64; 2]>,
        walks: bool,
    ) {
        let known = self.blocks.get(number).filter(|range| !range.is_empty()).cloned();
        let segments = known.unwrap_or_else(|| self.describe(model, number, several, pass));
        for segment in segments {
            let executed = Executed { several, pass, segment: segment as usize, at_hand: false };
            self.segment(model, executed, accesses, operands, walks);
        }
    }

    #[cold]
    fn describe(&mut self, model: &Model, number: usize, several: &Several, pass: &Pass) -> Range<u32> {
        let first = self.segments.len() as u32;
        let mut start = pass.start();
        let mut works = Vec::new();
        for (op, place) in several.insns(pass).iter().zip(pass.start()..) {
            let work = Work::new(&op.insn, &model.core);
            works.push(work);
            if work.unit == Unit::Branch || place + 1 == pass.end() {
                let works = std::mem::take(&mut works);
                self.segments.push(Segment::new(model, (several, pass), start..place + 1, op, works));
                start = place + 1;
            }
        }
        let range = first..self.segments.len() as u32;
        if self.blocks.len() <= number {
            self.blocks.resize(number + 1, 0..0);
        }
        self.blocks[number] = range.clone();
        range
    }

    #[inline(always)]
    fn segment(
        &mut self,
        model: &mut Model,
        mut executed: Executed,
        accesses: &mut slice::Iter<Touch>,
        operands: &mut slice::Iter<[u64; 2]>,
        walks: bool,
    ) {
        let Executed { several, segment: number, .. } = executed;
        let privilege = several.privilege;
        let segment = &mut self.segments[number];
        let (Some(board), memory) = (&mut model.board, &mut model.memory) else { return };
        if !segment.memoized
            || !model.started
            || model.refill_phase != segment.phase
            || !memory.fetch_block(&mut segment.lines, walks)
        {
            self.plainly(model, &executed, accesses, operands);
            return;
        }
        model.instructions += segment.works.len() as u64;
        self.last = number as u32;
        self.accesses.clear();
        self.misses.clear();
        for place in &segment.memory {
            let Some(touch) = accesses.next() else { break };
            let va = several.outside(touch.va);
            let access = Data { va, pa: touch.pa(), size: place.size, store: place.store };
            let waits = memory.data(&access, privilege);
            self.accesses.push(access);
            if waits != Waits::default() {
                self.misses.push((place.at, waits));
            }
        }
        for &(at, dependence) in &segment.operated {
            let Some(&both) = operands.next() else { break };
            let execute = dependence.map_or(0, |dependence| dependence.more(both));
            if execute != 0 {
                self.misses.push((at, Waits { execute, ..Waits::default() }));
            }
        }
        executed.at_hand = board.front.word() == segment.first_word;
        let wasted = segment.behind.is_some_and(|pa| !memory.has_instructions(pa));
        let state = if self.state == NOTHING { self.number(board) } else { self.state };
        let flags = u64::from(executed.at_hand) | u64::from(wasted) << 1;
        let mut key = [(number as u64) << 32 | flags << 30 | u64::from(state), 0, 0];
        if !self.misses.is_empty() {
            self.misses.sort_unstable_by_key(|&(at, _)| at);
            let codes = self.misses.iter().map(|&(at, waits)| waits.code(at));
            let fit = self.misses.len() <= MISSES
                && key[1..].iter_mut().zip(codes).all(|(place, code)| code.map(|c| *place = c).is_some());
            if !fit {
                self.replays += 1;
                self.given.clear();
                self.learn(model, &executed, None);
                return;
            }
        }
        self.look_up(model, &executed, key);
    }

    /// A segment whose first run has that key.
    #[inline(always)]
    fn look_up(&mut self, model: &mut Model, executed: &Executed, mut key: [u64; 1 + MISSES]) {
        let Some(board) = &mut model.board else { return };
        let (line, latency) = (model.memory.data_line_bytes(), model.memory.write_latency().into());
        let base = self.base;
        // Questions that were answered already.
        let mut answered = 0;
        self.given.clear();
        let at = loop {
            let at = place(&key);
            let run = &self.runs[at];
            if run.key[0] != key[0] || run.key[1] != key[1] || run.key[2] != key[2] {
                self.replays += 1;
                self.learn(model, executed, Some((at, key)));
                return;
            }
            let questions = &self.questions[run.asked()];
            let mut other = None;
            for (i, question) in questions.iter().enumerate().skip(answered) {
                let access = &self.accesses[usize::from(question.access)];
                let from = board.stores.answer(question.kind, base + question.at, access, line, latency);
                if from != base + question.from {
                    other = Some((i, from - base));
                    break;
                }
            }
            let Some((i, from)) = other else { break at };
            // No two runs with questions have the same first one.
            key = [1 << 63 | u64::from(run.first) << 16 | i as u64, from as u64, 0];
            answered = i + 1;
            // In case that has to be learned.
            if self.runs[place(&key)].key != key {
                self.given.clear();
                self.given.extend_from_slice(&questions[..i]);
                self.given.push(Question { from, ..questions[i] });
            }
        };
        self.hits += 1;
        let segment = &mut self.segments[executed.segment];
        let run = &mut self.runs[at];
        run.count += 1;
        let (mut wrong, mut moved) = (false, false);
        board.front.set(&segment.last, base + i64::from(run.request), base + i64::from(run.valid));
        if segment.jumps {
            board.back.issue = base + i64::from(run.issue);
            if segment.noted != board.front.replaced {
                board.front.note(segment.last.pa, &segment.insn);
                segment.noted = board.front.replaced;
            }
            wrong = !board.turn(&segment.last, &executed.step(segment), &mut model.memory);
            moved = wrong && board.front.request() != board.back.issue + 2;
        }
        let next = run.next[usize::from(wrong)];
        if next == NOTHING || moved {
            self.end(model, executed, at, wrong, moved);
        } else {
            self.state = next;
            self.base = base + i64::from(run.cycles);
        }
    }

    /// Computes the state behind a run whose jump has been predicted.
    #[cold]
    fn end(&mut self, model: &mut Model, executed: &Executed, at: usize, wrong: bool, moved: bool) {
        let Some(board) = &model.board else { return };
        let (word, request, redirect) = (board.front.word(), board.front.request(), board.back.redirect);
        self.given.clear();
        self.given.extend_from_slice(&self.questions[self.runs[at].asked()]);
        self.pass(model, executed);
        let Some(board) = &mut model.board else { return };
        board.front.resume(word, request, wrong);
        if wrong {
            board.back.redirect = redirect;
        }
        let next = self.number(board);
        if !moved {
            self.runs[at].next[usize::from(wrong)] = next;
        }
    }

    /// A segment through the scoreboard with the answers that were given; the result is kept in a place, if there is one.
    #[cold]
    fn learn(&mut self, model: &mut Model, executed: &Executed, place: Option<(usize, [u64; 1 + MISSES])>) {
        let base = self.base;
        let charges = self.pass(model, executed);
        let segment = &self.segments[executed.segment];
        let Some(board) = &mut model.board else { return };
        let relative = |at: i64| (at - base) as i32;
        let mut run = Run {
            phase: segment.phase,
            cycles: relative(board.commit()),
            issue: relative(board.back.issue),
            request: relative(board.front.request()),
            valid: relative(board.front.valid()),
            count: 1,
            ..UNKNOWN
        };
        let mut wrong = false;
        if segment.jumps {
            board.front.note(segment.last.pa, &segment.insn);
            wrong = !board.turn(&segment.last, &executed.step(segment), &mut model.memory);
        }
        let moved = wrong && board.front.request() != board.back.issue + 2;
        let phase = segment.phase;
        let next = self.number(board);
        let Some((at, key)) = place else {
            model.charge_run(phase, model.owner, &charges);
            return;
        };
        if !moved {
            run.next[usize::from(wrong)] = next;
        }
        self.charge(model, at);
        (run.first, run.questions) = (self.questions.len() as u32, self.record.len() as u16);
        let asked = self.record.iter();
        self.questions.extend(asked.map(|q| Question { at: q.at - base, from: q.from - base, ..*q }));
        self.runs[at] = Run { key, ..run };
        self.charges[at] = (model.owner, charges);
    }

    /// The instructions of a segment through the scoreboard. The first of their questions were answered; the stores answer
    /// the others. All are recorded.
    fn pass(&mut self, model: &mut Model, executed: &Executed) -> Causes {
        let mut charges = [0; Cause::COUNT];
        let segment = &self.segments[executed.segment];
        let Some(board) = &mut model.board else { return charges };
        let base = self.base;
        restore(board, &self.states[self.state as usize], base);
        let word = if executed.at_hand { segment.first_word } else { frontend::NONE };
        board.front.resume(word, board.front.request(), false);
        for question in &mut self.given {
            (question.at, question.from) = (question.at + base, question.from + base);
        }
        self.record.clear();
        let mut behind = Behind {
            stores: &mut board.stores,
            access: Data::default(),
            number: 0,
            line: model.memory.data_line_bytes(),
            write_latency: model.memory.write_latency().into(),
            given: &self.given,
            record: Some(&mut self.record),
        };
        let (mut access, mut miss) = (0, 0);
        for (i, (work, op)) in segment.works.iter().zip(executed.insns(segment)).enumerate() {
            let fetched = board.front.fetch_words(&executed.place(op), |_| Waits::default());
            board.front.leave(board.back.decode(fetched.valid));
            let mut waits = Waits::default();
            if let Some(&(at, found)) = self.misses.get(miss)
                && usize::from(at) == i
            {
                waits = found;
                miss += 1;
            }
            if work.unit.memory() {
                behind.access = self.accesses.get(access).copied().unwrap_or_default();
                behind.number = access as u8;
                access += 1;
            }
            let cycles = work.cycles + i64::from(waits.execute);
            let passed = board.back.pass(work, cycles, &fetched, waits, &mut behind, |_, at| at);
            for (sum, cycles) in charges.iter_mut().zip(passed.causes()) {
                *sum += cycles;
            }
        }
        charges
    }

    /// Everything in order, instruction by instruction.
    #[cold]
    fn plainly(
        &mut self,
        model: &mut Model,
        executed: &Executed,
        accesses: &mut slice::Iter<Touch>,
        operands: &mut slice::Iter<[u64; 2]>,
    ) {
        self.materialise(model);
        self.replays += 1;
        let Executed { several, pass, segment, .. } = *executed;
        let segment = &self.segments[segment];
        for (op, place) in executed.insns(segment).iter().zip(segment.insns.clone()) {
            let access = op.insn.op.access().and_then(|(size, store)| {
                let touch = accesses.next()?;
                Some(Data { va: several.outside(touch.va), pa: touch.pa(), size, store })
            });
            let operands = match self.dependent && op.insn.op.by_operands() {
                true => operands.next().copied().unwrap_or_default(),
                false => [0; 2],
            };
            let step = Step::in_block(several, pass, place, op, operands);
            model.retire(&step, access.as_slice());
        }
    }
}

impl Segment {
    fn new(
        model: &Model,
        (several, pass): (&Several, &Pass),
        insns: Range<u16>,
        last: &BlockInsn,
        works: Vec<Work>,
    ) -> Self {
        let (mut lines, mut memory, mut operated) = (Vec::new(), Vec::new(), Vec::new());
        let cache = model.memory.l1i.as_ref().map(|cache| cache.geometry());
        let ops = several.insns.get(usize::from(insns.start)..usize::from(insns.end)).unwrap_or_default();
        for (at, (op, work)) in (0..).zip(ops.iter().zip(&works)) {
            let pa = physical(op);
            for byte in [pa, pa + u64::from(op.insn.len) - 1] {
                let line = cache.map(|geometry| byte >> geometry.line_shift());
                if let Some(line) = line.filter(|line| lines.last() != Some(line)) {
                    lines.push(line);
                }
            }
            if let Some((size, store)) = op.insn.op.access() {
                memory.push(Accessing { at, size, store });
            } else if op.insn.op.by_operands() && Dependence::any(&model.core) {
                operated.push((at, work.dependence));
            }
        }
        let place = Place {
            pc: several.outside(last.pc),
            pa: physical(last),
            len: last.insn.len,
            privilege: several.privilege,
        };
        let indirect = last.insn.row().class == Class::JumpReg;
        let line = cache.map_or(4096, |geometry| u64::from(geometry.line()));
        let jumps = works.last().is_some_and(|work| work.unit == Unit::Branch);
        Segment {
            lines: Lines::new(lines, place.pc),
            memory,
            operated,
            first_word: frontend::first_word(ops.first().map_or(0, |first| several.outside(first.pc))),
            insn: last.insn,
            jumps,
            next: (!indirect).then(|| several.next_pc(pass, insns.end.wrapping_sub(1))),
            taken: pass.taken() && insns.end == pass.end(),
            behind: Frontend::behind(&place, line).filter(|_| jumps),
            memoized: !works.iter().any(|work| matches!(work.unit, Unit::Csr | Unit::Atomic)),
            noted: u64::MAX,
            phase: several.privilege as u8,
            last: place,
            insns,
            works,
        }
    }
}

impl Executed<'_> {
    fn insns(&self, segment: &Segment) -> &[BlockInsn] {
        let range = usize::from(segment.insns.start)..usize::from(segment.insns.end);
        self.several.insns.get(range).unwrap_or_default()
    }

    fn place(&self, op: &BlockInsn) -> Place {
        let Several { privilege, .. } = *self.several;
        Place { pc: self.several.outside(op.pc), pa: physical(op), len: op.insn.len, privilege }
    }

    /// The last instruction.
    #[inline(always)]
    fn step<'a>(&self, segment: &'a Segment) -> Step<'a> {
        Step {
            pc: segment.last.pc,
            pa: segment.last.pa,
            next_pc: segment.next.unwrap_or_else(|| self.several.outside(self.pass.target)),
            insn: &segment.insn,
            privilege: segment.last.privilege,
            phase: segment.phase,
            operands: [0; 2],
            taken: segment.taken,
        }
    }
}

fn restore(board: &mut Scoreboard, key: &Key, commit: i64) {
    board.front.restore(&key.front, commit);
    board.back.restore(&key.back, commit);
}

#[inline(always)]
fn place(key: &[u64; 1 + MISSES]) -> usize {
    let [a, b, c] = *key;
    let mixed = a ^ (b ^ c.rotate_left(21)).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (RUNS - 1)
}
