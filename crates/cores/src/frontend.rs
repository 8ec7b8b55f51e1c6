//! A front end that runs ahead of the pipe: it fetches a word in each cycle, predicts behind the fetch, and keeps
//! instructions in a queue.

use std::collections::VecDeque;

use super::beyond::Beyond;
use super::keys::{Branches, Front};
use super::memory::{Memory, Waits};
use super::queue::{Issues, Queue};
use super::step::Step;
use tollgate_riscv::Privilege;
use tollgate_riscv::{Class, Insn};

/// No word has this address.
pub(super) const NONE: u64 = 1;

/// The bytes of one fetch.
const WORD: u64 = 4;

/// When an instruction is there, and why not earlier.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fetched {
    /// When its first word was requested.
    pub(super) request: i64,
    /// When its last word came from the cache.
    pub(super) valid: i64,
    /// Cycles of page-table walks.
    pub(super) walk: u32,
    /// Cycles of cache misses.
    pub(super) miss: u32,
}

/// An instruction on its way through the front end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) pc: u64,
    pub(super) pa: u64,
    pub(super) len: u8,
    pub(super) privilege: Privilege,
}

/// A counter of the branch history; without history a branch is predicted by its direction.
#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    seen: bool,
    value: u8,
}

/// Where a fetch goes on that does not wait for what is executed.
#[derive(Clone, Copy, Debug)]
enum Ahead {
    /// At the next instruction.
    At(u64),
    /// At the same, for which there was no room.
    Again(u64),
    /// Where a jump is predicted to go, and whether it ends in another word.
    Jump { target: u64, later: bool },
}

/// A branch that was resolved, and is not in the history yet.
#[derive(Clone, Copy, Debug)]
struct Resolved {
    at: i64,
    entry: usize,
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    Taken(bool),
    Target(u64),
}

/// The front end.
#[derive(Clone, Debug)]
pub(super) struct Frontend {
    /// The earliest request of another word.
    request: i64,
    /// The word that was fetched last, and when it came.
    word: u64,
    valid: i64,
    /// When the latest instructions left the queue; the oldest first.
    left: VecDeque<i64>,
    queue: usize,
    history: Vec<Counter>,
    targets: Vec<Option<u64>>,
    returns: Vec<Option<u64>>,
    resolved: VecDeque<Resolved>,
    /// The words that were fetched last and dropped, and when each was requested.
    pub(super) dropped: Vec<(u64, i64)>,
    /// What a fetch on a wrong path may come to.
    pub(super) beyond: Beyond,
    /// How often a jump of it was replaced by another one that was executed.
    pub(super) replaced: u64,
}

/// Everything about the past that fetches depend on besides predictions and the last word, relative to a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FrontKey {
    request: i32,
    valid: i32,
    left: Vec<i32>,
}

impl Frontend {
    pub(super) fn new(front: &Front, branch: &Branches) -> Self {
        Frontend {
            request: 0,
            word: NONE,
            valid: 0,
            left: VecDeque::new(),
            queue: front.queue as usize,
            history: vec![Counter::default(); branch.counters as usize],
            targets: vec![None; branch.btb as usize],
            returns: vec![None; branch.return_stack as usize],
            resolved: VecDeque::new(),
            dropped: Vec::new(),
            beyond: Beyond::new(),
            replaced: 0,
        }
    }

    /// Forgets all predictions.
    pub(super) fn forget(&mut self) {
        self.history.fill(Counter::default());
        self.targets.fill(None);
        self.returns.fill(None);
        self.resolved.clear();
    }

    /// Fetches an instruction.
    pub(super) fn fetch(&mut self, place: &Place, memory: &mut Memory) -> Fetched {
        self.fetch_words(place, |word| {
            let away = word.wrapping_sub(place.pc);
            let pa = if (word ^ place.pc) >> 12 == 0 {
                place.pa.wrapping_add(away)
            } else {
                memory.physical(word, place.privilege).unwrap_or(place.pa.wrapping_add(away))
            };
            memory.fetch(word, pa, WORD as u8, place.privilege)
        })
    }

    /// Fetches an instruction whose words are waited for as `wait` says.
    #[inline(always)]
    pub(super) fn fetch_words(&mut self, place: &Place, mut wait: impl FnMut(u64) -> Waits) -> Fetched {
        let mut fetched = Fetched { request: self.request, valid: self.valid, ..Fetched::default() };
        let (first, last) = (first_word(place.pc), last_word(place.pc, place.len));
        for word in [first, last] {
            if word == self.word {
                continue;
            }
            if self.left.len() == self.queue
                && let Some(&oldest) = self.left.front()
            {
                self.request = self.request.max(oldest);
            }
            let waits = wait(word);
            self.valid = self.request + 1 + i64::from(waits.walk);
            fetched.walk += waits.walk;
            self.request = self.valid;
            if waits.miss > 0 {
                let miss = waits.miss;
                fetched.miss += miss;
                self.valid += i64::from(miss);
                self.request = self.valid + 1;
            }
            self.word = word;
        }
        fetched.valid = self.valid;
        fetched
    }

    /// Fetches an instruction that cannot be read.
    pub(super) fn fetch_nothing(&mut self) -> Fetched {
        let request = self.request;
        (self.valid, self.request, self.word) = (request + 1, request + 1, NONE);
        Fetched { request, valid: self.valid, ..Fetched::default() }
    }

    /// An instruction leaves the queue.
    pub(super) fn leave(&mut self, at: i64) {
        if self.left.len() == self.queue {
            self.left.pop_front();
        }
        self.left.push_back(at);
    }

    /// Whether it is predicted as a return. A compressed `jalr` is never: it links.
    fn returns(insn: &Insn) -> bool {
        link(insn.rs1) && insn.rs1 != insn.rd && !(insn.len == 2 && insn.rd != 0)
    }

    /// A branch or a jump is executed: from now on fetches on wrong paths know it.
    pub(super) fn note(&mut self, pa: u64, insn: &Insn) {
        self.replaced += u64::from(self.beyond.note(pa, insn));
    }

    /// Where an instruction that was fetched is predicted to go; `None` if nowhere but on.
    pub(super) fn predict(&mut self, place: &Place, insn: &Insn) -> Option<u64> {
        // Its word is inspected in the cycle after it came.
        self.learn(self.valid + 1);
        self.foresee(place.pc, insn)
    }

    /// The same with the history as it is.
    fn foresee(&mut self, pc: u64, insn: &Insn) -> Option<u64> {
        let sequential = pc.wrapping_add(u64::from(insn.len));
        let target = pc.wrapping_add(insn.imm as u64);
        match insn.row().class {
            Class::Branch => {
                let counter = self.history.get(self.entry(pc, self.history.len())).copied();
                let taken = match counter {
                    Some(counter) if counter.seen => counter.value >= 2,
                    _ => insn.imm < 0,
                };
                taken.then_some(target)
            }
            Class::Jump => {
                if link(insn.rd) {
                    self.push(sequential);
                }
                Some(target)
            }
            Class::JumpReg => {
                let predicted = if Self::returns(insn) {
                    let top = self.returns.first().copied().flatten();
                    if top.is_some() {
                        self.returns.rotate_left(1);
                        if let Some(last) = self.returns.last_mut() {
                            *last = None;
                        }
                    }
                    top
                } else {
                    self.targets.get(self.entry(pc, self.targets.len())).copied().flatten()
                };
                if link(insn.rd) {
                    self.push(sequential);
                }
                predicted
            }
            _ => None,
        }
    }

    fn entry(&self, pc: u64, entries: usize) -> usize {
        (pc >> 1) as usize & entries.wrapping_sub(1)
    }

    fn push(&mut self, address: u64) {
        if !self.returns.is_empty() {
            self.returns.rotate_right(1);
            self.returns[0] = Some(address);
        }
    }

    /// A branch or an indirect jump is resolved in a cycle; its prediction is better afterwards.
    pub(super) fn resolve(&mut self, at: i64, step: &Step, right: bool) {
        let insn = step.insn;
        let (entries, outcome) = match insn.row().class {
            Class::Branch => (self.history.len(), Outcome::Taken(step.taken)),
            Class::JumpReg if !right && !Self::returns(insn) => {
                (self.targets.len(), Outcome::Target(step.next_pc))
            }
            _ => return,
        };
        if entries > 0 {
            self.resolved.push_back(Resolved { at, entry: self.entry(step.pc, entries), outcome });
        }
    }

    /// Puts into the history what was resolved before a cycle.
    fn learn(&mut self, now: i64) {
        while let Some(&Resolved { at, entry, outcome }) = self.resolved.front()
            && at < now
        {
            self.resolved.pop_front();
            match outcome {
                Outcome::Taken(taken) => {
                    let counter = &mut self.history[entry];
                    counter.seen = true;
                    counter.value =
                        if taken { (counter.value + 1).min(3) } else { counter.value.saturating_sub(1) };
                }
                Outcome::Target(target) => self.targets[entry] = Some(target),
            }
        }
    }

    /// The fetch goes on at the predicted target of the last instruction.
    pub(super) fn follow(&mut self, place: &Place, memory: &Memory) {
        // The word behind was requested in the meantime; if it is not cached, that takes the cycle of the target.
        let hit = self.request == self.valid;
        let next = Self::behind(place, memory.instruction_line_bytes());
        let wasted = hit && next.is_some_and(|pa| !memory.has_instructions(pa));
        self.request = self.valid + 1 + i64::from(wasted);
        self.word = NONE;
    }

    /// When the word comes from which the next instruction is.
    pub(super) fn arrival(&self) -> i64 {
        if self.word == NONE { self.request + 1 } else { self.valid }
    }

    /// Everything behind the last instruction is dropped in a cycle, and another address fetched from the next one on.
    /// Until then the fetch went on, at `wrong` or in sequence, as long as there was room in the queue.
    /// Yields whether the queue was full by then.
    pub(super) fn redirect(
        &mut self,
        at: i64,
        place: &Place,
        wrong: Option<u64>,
        behind: &mut Queue,
        memory: &mut Memory,
    ) -> bool {
        // The word behind a jump was requested in the meantime; if it is not cached, that takes a cycle.
        let next = self.word.wrapping_add(WORD);
        let target =
            self.valid + 1 + i64::from(self.request == self.valid && self.misses(place, next, memory));
        let (mut pc, mut request) = match wrong {
            Some(wrong) => (wrong, target),
            None => (next, self.request),
        };
        self.request = at + 1;
        // Instructions that are in the word that was fetched last.
        if wrong.is_none() {
            let from = place.pc.wrapping_add(u64::from(place.len));
            match self.jump_in(place, from, pc, self.valid + 1, behind, memory) {
                Ahead::At(next) => pc = next,
                Ahead::Again(next) => (pc, request) = (next, self.valid + 2),
                Ahead::Jump { target: to, .. } => (pc, request) = (to, target),
            }
        }
        self.dropped.clear();
        // The line that was looked for last is there.
        let (line, mut there) = (memory.instruction_line_bytes(), NONE);
        // A miss is not requested in the cycle in which it is dropped, nor in that before.
        let mut full;
        loop {
            let room = behind.room(request);
            full = room > request && room > at - 2;
            request = room;
            if request > at - 2 {
                break;
            }
            if self.dropped.len() < self.queue {
                self.dropped.push((pc, request));
            }
            let looked = std::mem::replace(&mut there, pc & !(line - 1));
            if there != looked && self.misses(place, pc & !(WORD - 1), memory) {
                let back = request + 1 + i64::from(memory.fetch_miss());
                if back >= at {
                    // Dropped, but waited for.
                    self.request = self.request.max(back + 1);
                    break;
                }
                let word = pc & !(WORD - 1);
                memory.fetch(word, place.pa.wrapping_add(word.wrapping_sub(place.pc)), 4, place.privilege);
                request = back;
            }
            let next = (pc & !(WORD - 1)).wrapping_add(WORD);
            self.learn(request + 2);
            match self.jump_in(place, pc, next, request + 2, behind, memory) {
                // Where it goes is known a cycle after the word has come.
                Ahead::Jump { target, later } => {
                    let word = if later { next.wrapping_add(WORD) } else { next };
                    let wasted = self.misses(place, word, memory);
                    (pc, request) = (target, request + 2 + i64::from(later) + i64::from(wasted));
                }
                Ahead::At(next) => (pc, request) = (next, request + 1),
                Ahead::Again(next) => (pc, request) = (next, request + 3),
            }
        }
        self.word = NONE;
        self.left.clear();
        full
    }

    /// What is fetched behind the instructions from one address up to another, near an instruction.
    fn jump_in(
        &mut self,
        near: &Place,
        from: u64,
        to: u64,
        comes: i64,
        behind: &mut Queue,
        memory: &Memory,
    ) -> Ahead {
        let (mut pc, mut of) = (from, 0);
        while pc < to {
            let away = pc.wrapping_sub(near.pc);
            let pa = match (pc ^ near.pc) >> 12 == 0 {
                true => Some(near.pa.wrapping_add(away)),
                false => memory.physical(pc, near.privilege),
            };
            let insn = pa.filter(|_| behind.issues()).and_then(|pa| self.beyond.find(pa));
            if !behind.take(insn.as_ref(), comes, of) {
                return Ahead::Again(pc);
            }
            of += 1;
            let Some(pa) = pa else { return Ahead::At(to) };
            if let Some(insn) = self.beyond.jump(pa)
                && let Some(target) = self.foresee(pc, &insn)
            {
                return Ahead::Jump { target, later: pc + u64::from(insn.len) > to };
            }
            pc = pc.wrapping_add(self.beyond.len(pa));
        }
        Ahead::At(pc)
    }

    /// The physical address of the word behind one, if what [`follow`](Self::follow) does depends on whether it is cached.
    pub(super) fn behind(place: &Place, line: u64) -> Option<u64> {
        let word = last_word(place.pc, place.len).wrapping_add(WORD);
        let pa = place.pa.wrapping_add(word.wrapping_sub(place.pc));
        ((word ^ place.pc) >> 12 == 0 && pa.is_multiple_of(line)).then_some(pa)
    }

    /// Whether a word near an instruction is not in the cache. Another page counts as cached.
    fn misses(&self, place: &Place, word: u64, memory: &Memory) -> bool {
        (word ^ place.pc) >> 12 == 0
            && !memory.has_instructions(place.pa.wrapping_add(word.wrapping_sub(place.pc)))
    }

    /// An instruction was the last one to be fetched, when these were the next request and its last word's arrival.
    pub(super) fn set(&mut self, place: &Place, request: i64, valid: i64) {
        (self.request, self.valid) = (request, valid);
        self.word = last_word(place.pc, place.len);
    }

    /// The queue as far as it is filled.
    pub(super) fn queue<'a>(&self, issue: i64, issues: Option<Issues<'a>>) -> Queue<'a> {
        // Behind a branch everything before it leaves the queue in time.
        let known = if issues.is_some() { self.left.len() } else { 0 };
        Queue::new(self.left.iter().take(known).copied(), self.queue, issue, issues)
    }

    /// The bytes of what is at an address.
    pub(super) fn len(&mut self, pa: u64) -> u64 {
        self.beyond.len(pa)
    }

    /// The next request.
    pub(super) fn request(&self) -> i64 {
        self.request
    }

    /// When the last word came.
    pub(super) fn valid(&self) -> i64 {
        self.valid
    }

    /// The word that was fetched last.
    pub(super) fn word(&self) -> u64 {
        self.word
    }

    /// The last word was this, and another one is requested then; the queue may be empty.
    pub(super) fn resume(&mut self, word: u64, request: i64, empty: bool) {
        (self.word, self.request) = (word, request);
        if empty {
            self.left.clear();
        }
    }

    /// The state relative to a cycle.
    pub(super) fn key(&self, base: i64) -> FrontKey {
        let relative = |at: i64| (at - base) as i32;
        // Those that had left by then are in no one's way.
        let past = self.request.min(self.valid + 1) - 1;
        FrontKey {
            request: relative(self.request),
            valid: relative(self.valid),
            left: self.left.iter().map(|&at| relative(at.max(past))).collect(),
        }
    }

    /// The state of a key. The last word and all predictions stay.
    pub(super) fn restore(&mut self, key: &FrontKey, base: i64) {
        let absolute = |at: i32| i64::from(at) + base;
        (self.request, self.valid) = (absolute(key.request), absolute(key.valid));
        self.left.clear();
        self.left.extend(key.left.iter().map(|&at| absolute(at)));
    }

    /// The earliest request of another word is this.
    pub(super) fn hold(&mut self, until: i64) {
        self.request = self.request.max(until);
    }
}

/// The first word of an instruction.
pub(super) fn first_word(pc: u64) -> u64 {
    pc & !(WORD - 1)
}

/// Its last word.
pub(super) fn last_word(pc: u64, len: u8) -> u64 {
    pc.wrapping_add(u64::from(len) - 1) & !(WORD - 1)
}

fn link(register: u8) -> bool {
    register == 1 || register == 5
}
