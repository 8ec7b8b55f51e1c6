//! The front end: it requests a word in each cycle, predicts branches and jumps behind the fetch, and keeps instructions in a
//! queue until they are decoded.

use std::collections::VecDeque;

use tollgate_riscv::{Insn, Privilege};

use crate::beyond::Beyond;
use crate::core::Core;
use crate::memory::{Memory, Waits};
use crate::parts::recent::Recent;

use super::wrong_path::Queue;
use super::{Jump, PAST};

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

    /// Its last word.
    #[inline(always)]
    fn last_word(&self) -> u64 {
        self.pc.wrapping_add(u64::from(self.len) - 1) & !(WORD - 1)
    }
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

/// What was resolved, and is not in the tables yet.
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
    pub(super) request: i64,
    /// The word that was fetched last, and when it came.
    pub(super) word: u64,
    pub(super) arrival: i64,
    /// When the latest instructions left the queue.
    pub(super) left: Recent<i64>,
    /// Places of the queue.
    pub(super) places: usize,
    history: History,
    targets: Vec<Option<u64>>,
    returns: ReturnStack,
    resolved: VecDeque<Resolved>,
    /// Code that a fetch on a wrong path may come to.
    pub(super) code: Beyond,
    /// The words that were fetched on the last wrong path, and when each was requested.
    pub(super) dropped: Vec<(u64, i64)>,
    /// The queue on wrong paths, of which only the memory is kept.
    pub(super) queue: Queue,
}

impl Frontend {
    pub(super) fn new(core: &Core) -> Self {
        let (branch, places) = (&core.branch, core.front.queue as usize);
        Frontend {
            request: 0,
            word: NO_WORD,
            arrival: 0,
            left: Recent::new(places, PAST),
            places,
            history: History(vec![History::UNKNOWN; branch.counters as usize]),
            targets: vec![None; branch.btb as usize],
            returns: ReturnStack { addresses: vec![None; branch.return_stack as usize], top: 0 },
            resolved: VecDeque::new(),
            code: Beyond::new(),
            dropped: Vec::new(),
            queue: Queue::new(places),
        }
    }

    /// Forgets all predictions.
    pub(super) fn forget(&mut self) {
        self.history.0.fill(History::UNKNOWN);
        self.targets.fill(None);
        self.returns.addresses.fill(None);
        self.resolved.clear();
    }

    /// Fetches an instruction.
    #[inline(always)]
    pub(super) fn fetch(&mut self, place: &Place, memory: &mut Memory) -> Fetched {
        let mut fetched = Fetched { request: self.request, arrival: self.arrival, walk: 0, miss: 0 };
        for word in [place.pc & !(WORD - 1), place.last_word()] {
            if word != self.word {
                let waits = self.request_word(place, word, memory);
                fetched.walk += waits.walk;
                fetched.miss += waits.miss;
            }
        }
        fetched.arrival = self.arrival;
        fetched
    }

    /// Requests a word as soon as the queue has room for it.
    #[inline(always)]
    fn request_word(&mut self, place: &Place, word: u64, memory: &mut Memory) -> Waits {
        self.request = self.request.max(self.left.back(self.places));
        self.word = word;
        let here = place.physical(word);
        if let Some(pa) = here
            && memory.fetches_latest_line(word, pa, WORD as u8, place.privilege)
        {
            self.arrival = self.request + 1;
            self.request = self.arrival;
            return Waits::default();
        }
        let away = word.wrapping_sub(place.pc);
        let pa = here.or_else(|| memory.physical(word, place.privilege));
        self.wait_for_word(memory.fetch(word, pa.unwrap_or(place.pa.wrapping_add(away)), 4, place.privilege))
    }

    fn wait_for_word(&mut self, waits: Waits) -> Waits {
        self.arrival = self.request + 1 + i64::from(waits.walk);
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
    pub(super) fn foresee(&mut self, pc: u64, jump: Jump, insn: &Insn) -> Option<u64> {
        let target = pc.wrapping_add_signed(insn.imm);
        let links = match jump {
            Jump::None => return None,
            Jump::Branch => return self.history.predict(pc, insn).then_some(target),
            Jump::Direct { links } | Jump::Return { links } | Jump::Indirect { links } => links,
        };
        let predicted = match jump {
            Jump::Return { .. } => self.returns.pop(),
            Jump::Indirect { .. } => self.targets.get(entry(pc, self.targets.len())).copied().flatten(),
            _ => Some(target),
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
            self.resolved.push_back(Resolved {
                at,
                entry: entry(pc, entries),
                outcome: Outcome::Taken(taken),
            });
        }
    }

    /// The same of an indirect jump whose target was not predicted.
    pub(super) fn resolve_target(&mut self, at: i64, pc: u64, target: u64) {
        let entries = self.targets.len();
        if entries > 0 {
            let outcome = Outcome::Target(target);
            self.resolved.push_back(Resolved { at, entry: entry(pc, entries), outcome });
        }
    }

    /// Puts into the tables what was resolved before a cycle.
    #[inline(always)]
    pub(super) fn learn(&mut self, now: i64) {
        while let Some(&Resolved { at, entry, outcome }) = self.resolved.front()
            && at < now
        {
            self.resolved.pop_front();
            match outcome {
                Outcome::Taken(taken) => self.history.learn(entry, taken),
                Outcome::Target(target) => self.targets[entry] = Some(target),
            }
        }
    }

    /// The fetch goes on at the predicted target of the last instruction.
    #[inline(always)]
    pub(super) fn follow(&mut self, place: &Place, memory: &Memory) {
        // The word behind was requested in the meantime; if it is not cached, that takes the cycle of the target.
        let behind = place.physical(place.last_word().wrapping_add(WORD));
        let line = memory.instruction_line_bytes();
        let wasted = self.request == self.arrival
            && behind.is_some_and(|pa| pa & (line - 1) == 0 && !memory.has_instructions(pa));
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
