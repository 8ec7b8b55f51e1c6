//! Fetches behind an instruction that redirects the fetch, until it does: they may fill lines of the instruction cache, move
//! the return stack, and hold the redirected fetch up by a miss.

use tollgate_riscv::Insn;

use crate::memory::Memory;

use super::frontend::{Frontend, NO_WORD, Place, WORD};
use super::scoreboard::Speculation;
use super::{Jump, NEVER, Op, PAST};

/// The instruction queue while instructions are fetched that do not retire.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// When each instruction came into the queue, and leaves it; both in ascending order.
    entries: Vec<(i64, i64)>,
    /// The first entry that has not left it long ago.
    first: usize,
    places: usize,
    /// When the last instruction issues.
    issue: i64,
}

impl Queue {
    pub(super) fn new(places: usize) -> Self {
        Queue { entries: Vec::new(), first: 0, places, issue: 0 }
    }

    /// Empties it; the last instruction issues in a cycle.
    fn restart(&mut self, issue: i64) {
        self.entries.clear();
        (self.first, self.issue) = (0, issue);
    }

    /// How many places are taken in a cycle.
    fn used(&self, at: i64) -> usize {
        self.entries[self.first..].iter().filter(|&&(came, leaves)| came < at && leaves >= at).count()
    }

    /// From when on another word is requested: the queue has two halves, and none of them may be full.
    fn room(&self, from: i64) -> i64 {
        let mut at = from;
        while self.used(at) + 2 > self.places {
            let here = self.entries[self.first..].iter().find(|&&(came, leaves)| came < at && leaves >= at);
            at = here.map_or(NEVER, |&(_, leaves)| leaves + 1);
        }
        at
    }

    /// When an instruction is decoded that comes behind `of` others of its word; none if there is no room for it.
    fn take(&mut self, at: i64, of: usize) -> Option<i64> {
        if self.used(at) + of >= self.places {
            return None;
        }
        while self.entries.get(self.first).is_some_and(|&(_, leaves)| leaves < at - 2) {
            self.first += 1;
        }
        let decode = (at + 1).max(self.issue);
        self.entries.push((at, decode));
        Some(decode)
    }
}

/// Where a fetch goes on.
enum Next {
    /// At an address, behind the word.
    At(u64),
    /// At an instruction of the word for which there was no room.
    Again(u64),
    /// Where a jump is predicted to go, and whether that ends in the next word.
    Jump { target: u64, later: bool },
}

/// What is known about the instructions of a wrong path.
pub(super) struct WrongPath<'a> {
    /// The instruction that redirects the fetch.
    pub(super) place: Place,
    /// Where the fetch went behind it, if not on in sequence.
    pub(super) target: Option<u64>,
    /// When it issued.
    pub(super) issue: i64,
    /// When it left the queue, if that was not noted.
    pub(super) left: Option<i64>,
    /// What issues behind it: nothing behind a branch that is not resolved.
    pub(super) speculation: Option<Speculation<'a>>,
}

impl WrongPath<'_> {
    /// Lets an instruction issue that is decoded in a cycle.
    fn issue(&mut self, decode: i64, op: impl FnOnce() -> Op) -> i64 {
        self.speculation.as_mut().map_or(NEVER, |speculation| speculation.issue(&op(), decode))
    }

    /// Whether a word in the page is not in the instruction cache. Another page counts as cached.
    fn misses(&self, word: u64, memory: &Memory) -> bool {
        self.place.physical(word).is_some_and(|pa| !memory.has_instructions(pa))
    }
}

impl Frontend {
    /// Everything behind the last instruction is dropped in a cycle, and another address is fetched from the next one on.
    /// Until then the fetch went on, as long as there was room in the queue. Yields whether the queue was full by then.
    pub(super) fn redirect(
        &mut self,
        at: i64,
        mut path: WrongPath,
        memory: &mut Memory,
        op: &mut impl FnMut(&Insn) -> Op,
    ) -> bool {
        self.queue.restart(path.issue);
        if path.speculation.is_some() {
            // (Behind a branch everything before it leaves the queue in time.)
            let left = (1..=self.places).rev().map(|back| self.left.back(back));
            self.queue.entries.extend(left.chain(path.left).map(|left| (i64::MIN, left)));
        }
        // The word behind a jump was requested in the meantime; if it is not cached, that takes a cycle.
        let next = self.word.wrapping_add(WORD);
        let target = self.arrival + 1 + i64::from(self.request == self.arrival && path.misses(next, memory));
        let (mut pc, mut request) = match path.target {
            Some(wrong) => (wrong, target),
            None => (next, self.request),
        };
        self.request = at + 1;
        if path.target.is_none() {
            // Instructions that are in the word that was fetched last.
            let from = path.place.pc.wrapping_add(u64::from(path.place.len));
            match self.inspect(&mut path, (from, next), self.arrival + 1, memory, op) {
                Next::At(next) => pc = next,
                Next::Again(next) => (pc, request) = (next, self.arrival + 2),
                Next::Jump { target: to, .. } => (pc, request) = (to, target),
            }
        }
        self.dropped.clear();
        // The line that was looked for last is there.
        let (line, mut there) = (memory.instruction_line_bytes(), NO_WORD);
        // A miss is not requested in the cycle in which it is dropped, nor in that before.
        let last = at - 2;
        let full = loop {
            let room = self.queue.room(request);
            if room > last {
                break room > request;
            }
            request = room;
            if self.dropped.len() < self.places {
                self.dropped.push((pc, request));
            }
            let word = pc & !(WORD - 1);
            let looked = std::mem::replace(&mut there, pc & !(line - 1));
            if there != looked && path.misses(word, memory) {
                let back = request + 1 + i64::from(memory.fetch_miss());
                if back >= at {
                    // Dropped, but waited for.
                    self.request = self.request.max(back + 1);
                    break false;
                }
                let pa = path.place.pa.wrapping_add(word.wrapping_sub(path.place.pc));
                memory.fetch(word, pa, WORD as u8, path.place.privilege);
                request = back;
            }
            let next = word.wrapping_add(WORD);
            self.learn(request + 2);
            (pc, request) = match self.inspect(&mut path, (pc, next), request + 2, memory, op) {
                Next::At(next) => (next, request + 1),
                Next::Again(next) => (next, request + 3),
                Next::Jump { target, later } => {
                    // Where it goes is known a cycle after the word has come.
                    let behind = if later { next.wrapping_add(WORD) } else { next };
                    let wasted = path.misses(behind, memory);
                    (target, request + 2 + i64::from(later) + i64::from(wasted))
                }
            };
        };
        self.word = NO_WORD;
        self.left.fill(PAST);
        full
    }

    /// The instructions from an address up to another come into the queue.
    fn inspect(
        &mut self,
        path: &mut WrongPath,
        (from, to): (u64, u64),
        comes: i64,
        memory: &Memory,
        op: &mut impl FnMut(&Insn) -> Op,
    ) -> Next {
        let (mut pc, mut of) = (from, 0);
        while pc < to {
            let here = path.place.physical(pc);
            let pa = here.or_else(|| memory.physical(pc, path.place.privilege));
            let Some(decode) = self.queue.take(comes, of) else { return Next::Again(pc) };
            self.queue.issue = path.issue(decode, || {
                let insn = pa.and_then(|pa| self.code.find(pa));
                insn.map_or(Op::UNKNOWN, |insn| op(&insn))
            });
            of += 1;
            let Some(pa) = pa else { return Next::At(to) };
            if let Some(insn) = self.code.jump(pa)
                && let Some(target) = self.foresee(pc, Jump::of(&insn), &insn)
            {
                return Next::Jump { target, later: pc + u64::from(insn.len) > to };
            }
            pc = pc.wrapping_add(self.code.len(pa));
        }
        Next::At(pc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_requested_as_long_as_no_half_of_the_queue_is_full() {
        // Nothing issues: one instruction is decoded when the branch issues, at 20; two come with each word.
        let mut queue = Queue::new(8);
        queue.restart(20);
        for word in 0..4 {
            assert_eq!(queue.room(word), word);
            for of in 0..2 {
                assert!(queue.take(word + 2, of).is_some());
                queue.issue = NEVER;
            }
        }
        // All eight are there at 6: nothing is requested from then on, and what was requested before has no place.
        assert_eq!((queue.room(5), queue.take(6, 0)), (5, None));
        // One leaves; seven are one too many.
        assert!(queue.room(6) >= NEVER);
    }

    #[test]
    fn what_issues_makes_room() {
        // One a cycle, the first at 11. Those that were there before leave from 1 to 8: six are left at 3.
        let mut queue = Queue::new(8);
        queue.restart(10);
        queue.entries.extend((1..=8).map(|at| (i64::MIN, at)));
        assert_eq!((queue.room(1), queue.room(3)), (3, 3));
        assert_eq!(queue.take(9, 0), Some(10));
        // The next one is decoded when that issues.
        queue.issue = 11;
        assert_eq!(queue.take(9, 1), Some(11));
        assert_eq!([10, 11, 12].map(|at| queue.used(at)), [2, 1, 0]);
    }
}
