//! The front end: it requests a word in each cycle, predicts branches and jumps behind the fetch, and keeps instructions in a
//! queue until they are decoded.

use tollgate_riscv::{Insn, Privilege};

use crate::core::Core;
use crate::parts::fetchable::FetchableCode;
use crate::parts::memory::{Memory, Waits};
use crate::parts::recent::Recent;

use super::op::{Jump, PAST};

/// No word has this address.
pub(super) const NO_WORD: u64 = 1;

/// The bytes of one fetch.
pub(super) const WORD: u64 = 4;

/// Cycles from a word's request to the earliest decode of what is in it: it comes in the next cycle, is inspected in the
/// one after that, and is in the queue then.
pub(super) const DECODE: i64 = 3;

/// When an instruction is there, and why not earlier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetched {
    /// When its first word was requested.
    pub(super) request: i64,
    /// When its last word came from the cache.
    pub(super) arrival: i64,
    /// Cycles of page-table walks.
    pub(super) walk: u32,
    /// Cycles of cache misses.
    pub(super) miss: u32,
}

/// Where an instruction is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) pc: u64,
    pub(super) pa: u64,
    pub(super) len: u8,
    pub(super) privilege: Privilege,
}

impl Place {
    /// The physical address of another one in the same page.
    pub(super) fn physical(&self, address: u64) -> Option<u64> {
        ((address ^ self.pc) >> 12 == 0).then(|| self.pa.wrapping_add(address.wrapping_sub(self.pc)))
    }
}

#[inline(always)]
fn first_word(pc: u64) -> u64 {
    pc & !(WORD - 1)
}

#[inline(always)]
fn last_word(pc: u64, len: u8) -> u64 {
    first_word(pc.wrapping_add(u64::from(len) - 1))
}

/// A branch history table: a two-bit counter for each branch that was resolved.
#[derive(Clone, Debug)]
struct History(Vec<u8>);

impl History {
    /// No branch was resolved: then its direction predicts.
    const UNKNOWN: u8 = 0;
    /// A counter of 0; the others follow.
    const COUNTER: u8 = 1;

    fn predict(&self, pc: u64, insn: &Insn) -> bool {
        match self.0.get(entry(pc, self.0.len())) {
            None | Some(&History::UNKNOWN) => insn.imm < 0,
            Some(&counter) => counter >= History::COUNTER + 2,
        }
    }

    fn learn(&mut self, entry: usize, taken: bool) {
        let counter = self.0[entry].max(History::COUNTER);
        self.0[entry] = match taken {
            true => (counter + 1).min(History::COUNTER + 3),
            false => (counter - 1).max(History::COUNTER),
        };
    }
}

fn entry(pc: u64, entries: usize) -> usize {
    (pc >> 1) as usize & entries.wrapping_sub(1)
}

/// The stack of return addresses. A call to a full stack loses the oldest one.
#[derive(Clone, Debug)]
struct ReturnStack {
    addresses: Vec<Option<u64>>,
    top: usize,
}

impl ReturnStack {
    fn push(&mut self, address: u64) {
        self.top = self.top.checked_sub(1).unwrap_or(self.addresses.len().saturating_sub(1));
        if let Some(top) = self.addresses.get_mut(self.top) {
            *top = Some(address);
        }
    }

    fn pop(&mut self) -> Option<u64> {
        let top = self.addresses.get_mut(self.top)?.take()?;
        self.top = if self.top + 1 == self.addresses.len() { 0 } else { self.top + 1 };
        Some(top)
    }
}

/// Outcomes that are resolved and not in the tables yet.
#[derive(Clone, Copy, Debug)]
struct Resolved {
    at: i64,
    entry: usize,
    outcome: Outcome,
}

/// More than are resolved while an instruction is in the queue, and executes.
const RESOLVED: usize = 1024;

#[derive(Clone, Copy, Debug)]
enum Outcome {
    Taken(bool),
    Target(u64),
}

/// The front end.
#[derive(Clone, Debug)]
pub(super) struct Frontend {
    /// The earliest request of another word.
    pub(super) request: i64,
    /// The word that was fetched last, and when it came.
    pub(super) word: u64,
    pub(super) arrival: i64,
    /// When the latest instructions left the queue.
    pub(super) left: Recent<i64, 256>,
    /// Places of the queue.
    pub(super) places: usize,
    history: History,
    targets: Vec<Option<u64>>,
    returns: ReturnStack,
    resolved: Recent<Resolved, RESOLVED>,
    /// How many of them are not in the tables yet.
    unlearned: usize,
    /// Code that a fetch on a wrong path may come to.
    pub(super) code: FetchableCode,
    /// The words that were fetched on the last wrong path, and when each was requested.
    pub(super) dropped: Vec<(u64, i64)>,
    /// Memory for the queue on wrong paths.
    pub(super) queue: Vec<(i64, i64)>,
}

impl Frontend {
    pub(super) fn new(core: &Core) -> Self {
        let (branch, places) = (&core.branch, core.front.queue as usize);
        Frontend {
            request: 0,
            word: NO_WORD,
            arrival: 0,
            left: Recent::new(PAST),
            places,
            history: History(vec![History::UNKNOWN; branch.counters as usize]),
            targets: vec![None; branch.btb as usize],
            returns: ReturnStack { addresses: vec![None; branch.return_stack as usize], top: 0 },
            resolved: Recent::new(Resolved { at: PAST, entry: 0, outcome: Outcome::Taken(false) }),
            unlearned: 0,
            code: FetchableCode::new(),
            dropped: Vec::new(),
            queue: Vec::new(),
        }
    }

    /// Forgets all predictions.
    pub(super) fn forget(&mut self) {
        self.history.0.fill(History::UNKNOWN);
        self.targets.fill(None);
        self.returns.addresses.fill(None);
        self.unlearned = 0;
    }

    /// Fetches an instruction. (What is known of its place comes one by one: from a [`Place`] the host would read in words what was
    /// just written in bytes, for which it waits.)
    #[inline(always)]
    pub(super) fn fetch(
        &mut self,
        (pc, pa): (u64, u64),
        len: u8,
        privilege: Privilege,
        memory: &mut Memory,
    ) -> Fetched {
        let (first, last) = (first_word(pc), last_word(pc, len));
        let request = self.request;
        let mut waits = Waits::default();
        if first != self.word && first != last {
            waits = self.request_both_words((pc, pa), len, privilege, memory);
        } else if last != self.word {
            waits = self.request_word((pc, pa), last, privilege, memory);
        }
        Fetched { request, arrival: self.arrival, walk: waits.walk, miss: waits.miss }
    }

    #[inline(never)]
    fn request_both_words(
        &mut self,
        at: (u64, u64),
        len: u8,
        privilege: Privilege,
        memory: &mut Memory,
    ) -> Waits {
        let first = self.request_word(at, first_word(at.0), privilege, memory);
        let last = self.request_word(at, last_word(at.0, len), privilege, memory);
        Waits { walk: first.walk + last.walk, miss: first.miss + last.miss, ..first }
    }

    /// Requests a word of an instruction as soon as the queue has room for it.
    #[inline(always)]
    fn request_word(
        &mut self,
        at: (u64, u64),
        word: u64,
        privilege: Privilege,
        memory: &mut Memory,
    ) -> Waits {
        let request = self.request.max(self.left.back(self.places));
        self.word = word;
        (self.arrival, self.request) = (request + 1, request + 1);
        match memory.fetches_latest_word(word, privilege) {
            true => Waits::default(),
            false => self.request_outside_line(at, word, privilege, memory),
        }
    }

    /// The word is not in the line of the last one.
    #[inline(never)]
    fn request_outside_line(
        &mut self,
        (pc, pa): (u64, u64),
        word: u64,
        privilege: Privilege,
        memory: &mut Memory,
    ) -> Waits {
        let away = pa.wrapping_add(word.wrapping_sub(pc));
        let pa = match (pc ^ word) >> 12 {
            0 => away,
            _ => memory.physical(word, privilege).unwrap_or(away),
        };
        let waits = memory.fetch_word(word, pa, privilege);
        self.arrival += i64::from(waits.walk);
        self.request = self.arrival;
        if waits.miss > 0 {
            self.arrival += i64::from(waits.miss);
            self.request = self.arrival + 1;
        }
        waits
    }

    /// Fetches an instruction that cannot be read.
    pub(super) fn fetch_nothing(&mut self) -> Fetched {
        let request = self.request;
        (self.arrival, self.request, self.word) = (request + 1, request + 1, NO_WORD);
        Fetched { request, arrival: self.arrival, walk: 0, miss: 0 }
    }

    /// Where an instruction that was fetched is predicted to go; `None` if nowhere but on.
    #[inline(always)]
    pub(super) fn predict(&mut self, pc: u64, jump: Jump, insn: &Insn) -> Option<u64> {
        // Its word is inspected in the cycle after it came.
        self.learn(self.arrival + 1);
        self.foresee(pc, jump, insn)
    }

    /// The same with the tables as they are.
    #[inline]
    pub(super) fn foresee(&mut self, pc: u64, jump: Jump, insn: &Insn) -> Option<u64> {
        let target = pc.wrapping_add_signed(insn.imm);
        let (links, predicted) = match jump {
            Jump::None => return None,
            Jump::Branch => return self.history.predict(pc, insn).then_some(target),
            Jump::Direct { links } => (links, Some(target)),
            Jump::Return { links } => (links, self.returns.pop()),
            Jump::Indirect { links } => {
                (links, self.targets.get(entry(pc, self.targets.len())).copied().flatten())
            }
        };
        if links {
            self.returns.push(pc.wrapping_add(u64::from(insn.len)));
        }
        predicted
    }

    /// A branch is resolved in a cycle; its prediction is better afterwards.
    #[inline(always)]
    pub(super) fn resolve_branch(&mut self, at: i64, pc: u64, taken: bool) {
        let entries = self.history.0.len();
        if entries > 0 {
            self.resolved.push(Resolved { at, entry: entry(pc, entries), outcome: Outcome::Taken(taken) });
            self.unlearned += 1;
        }
    }

    /// The same of an indirect jump whose target was not predicted.
    pub(super) fn resolve_target(&mut self, at: i64, pc: u64, target: u64) {
        let entries = self.targets.len();
        if entries > 0 {
            let outcome = Outcome::Target(target);
            self.resolved.push(Resolved { at, entry: entry(pc, entries), outcome });
            self.unlearned += 1;
        }
    }

    /// Whether the prediction of a branch depends on what is not in the tables yet.
    pub(super) fn is_uncertain(&self, pc: u64) -> bool {
        let entry = entry(pc, self.history.0.len());
        (1..=self.unlearned).any(|back| self.resolved.back(back).entry == entry)
    }

    /// Puts into the tables what was resolved before a cycle.
    #[inline(always)]
    pub(super) fn learn(&mut self, now: i64) {
        while self.unlearned > 0 {
            let Resolved { at, entry, outcome } = self.resolved.back(self.unlearned);
            if at >= now {
                break;
            }
            self.unlearned -= 1;
            match outcome {
                Outcome::Taken(taken) => self.history.learn(entry, taken),
                Outcome::Target(target) => self.targets[entry] = Some(target),
            }
        }
    }

    /// The fetch goes on at the predicted target of the last instruction.
    #[inline(always)]
    pub(super) fn follow(&mut self, (pc, pa): (u64, u64), len: u8, memory: &Memory) {
        // The word behind was requested in the meantime; if it is not cached, that takes the cycle of the target.
        let behind = last_word(pc, len).wrapping_add(WORD);
        let hit = self.request == self.arrival;
        let in_page = (behind ^ pc) >> 12 == 0;
        let wasted = hit
            && in_page
            && behind & (memory.instruction_line_bytes() - 1) == 0
            && !memory.has_instructions(pa.wrapping_add(behind.wrapping_sub(pc)));
        self.request = self.arrival + 1 + i64::from(wasted);
        self.word = NO_WORD;
    }

    /// When the word comes from which the next instruction is.
    pub(super) fn next_arrival(&self) -> i64 {
        if self.word == NO_WORD { self.request + 1 } else { self.arrival }
    }

    /// No word is requested before this cycle.
    pub(super) fn hold(&mut self, until: i64) {
        self.request = self.request.max(until);
    }
}
