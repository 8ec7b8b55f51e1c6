//! Fetches behind an instruction that redirects the fetch, until it does: they may fill lines of the instruction cache, move
//! the return stack, and hold the redirected fetch up by a miss.

use tollgate_riscv::Insn;

use crate::parts::memory::Memory;

use super::frontend::{Frontend, NO_WORD, Place, WORD};
use super::op::{Jump, NEVER, Op, PAST};
use super::scoreboard::Speculation;

/// The instruction queue while instructions are fetched that do not retire.
trait Queue {
    /// From when on another word is requested: the queue has two halves, and none of them may be full.
    fn room(&self, from: i64) -> i64;

    /// Whether there is room for an instruction that comes in a cycle, behind `of` others of its word. Then it takes a place.
    fn take(&mut self, at: i64, of: usize, op: impl FnOnce() -> Op) -> bool;
}

/// The queue behind a branch, before which everything leaves the queue in time, and behind which nothing issues: one
/// instruction is decoded when the branch issues, or later.
struct Unresolved {
    places: usize,
    /// When the branch issues.
    issue: i64,
    /// When the first instruction behind it is decoded.
    decode: i64,
    /// How many have come, and with the last two words: when, and how many of them.
    came: usize,
    words: [(i64, usize); 2],
}

impl Unresolved {
    /// How many places are taken in a cycle of which those that came before it, and whether the first is left.
    fn used(&self, came: usize, at: i64) -> usize {
        came - usize::from(came > 0 && self.decode < at)
    }

    /// How many came before a cycle in which a word is requested: those of older words did.
    fn came_before(&self, at: i64) -> usize {
        let later = self.words.iter().map(|&(comes, count)| if comes >= at { count } else { 0 });
        self.came - later.sum::<usize>()
    }
}

impl Queue for Unresolved {
    fn room(&self, from: i64) -> i64 {
        [from, from.max(self.decode + 1)]
            .into_iter()
            .find(|&at| self.used(self.came_before(at), at) + 2 <= self.places)
            .unwrap_or(NEVER)
    }

    fn take(&mut self, at: i64, of: usize, _: impl FnOnce() -> Op) -> bool {
        if self.used(self.came - of, at) + of >= self.places {
            return false;
        }
        if self.came == 0 {
            self.decode = (at + 1).max(self.issue);
        }
        self.came += 1;
        match &mut self.words[0] {
            (comes, count) if *comes == at => *count += 1,
            last => self.words = [(at, 1), *last],
        }
        true
    }
}

/// The queue behind an instruction that empties the pipe when it commits, or traps then: what is in the queue may issue.
struct Issuing<'a, 'b> {
    /// When each instruction came into the queue, and leaves it; both in ascending order.
    entries: &'a mut Vec<(i64, i64)>,
    /// The first entry that has not left it long ago.
    first: usize,
    places: usize,
    /// When the last instruction issues.
    issue: i64,
    speculation: Speculation<'b>,
}

impl Issuing<'_, '_> {
    /// How many places are taken in a cycle, and when the first of them is free.
    fn used(&self, at: i64) -> (usize, i64) {
        let (mut used, mut leaves_first) = (0, NEVER);
        for &(came, leaves) in &self.entries[self.first..] {
            if came >= at {
                break;
            }
            if leaves >= at {
                leaves_first = if used == 0 { leaves } else { leaves_first };
                used += 1;
            }
        }
        (used, leaves_first)
    }
}

impl Queue for Issuing<'_, '_> {
    fn room(&self, from: i64) -> i64 {
        let mut at = from;
        while at < NEVER {
            let (used, leaves) = self.used(at);
            if used + 2 <= self.places {
                break;
            }
            at = leaves + 1;
        }
        at
    }

    fn take(&mut self, at: i64, of: usize, op: impl FnOnce() -> Op) -> bool {
        if self.used(at).0 + of >= self.places {
            return false;
        }
        while self.entries.get(self.first).is_some_and(|&(_, leaves)| leaves < at - 2) {
            self.first += 1;
        }
        let decode = (at + 1).max(self.issue);
        self.entries.push((at, decode));
        self.issue = self.speculation.issue(&op(), decode);
        true
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

/// Where a wrong path begins.
pub(super) struct WrongPath {
    /// The instruction that redirects the fetch.
    pub(super) place: Place,
    /// Where the fetch went behind it, if not on in sequence.
    pub(super) target: Option<u64>,
    /// When it issued.
    pub(super) issue: i64,
    /// The cycle in which the fetch is redirected, to the next one.
    pub(super) until: i64,
}

impl WrongPath {
    /// Whether a word in the page is not in the instruction cache. Another page counts as cached.
    fn misses(&self, word: u64, memory: &Memory) -> bool {
        self.place.physical(word).is_some_and(|pa| !memory.has_instructions(pa))
    }
}

impl Frontend {
    /// A branch is resolved that was mispredicted.
    pub(super) fn redirect_branch(&mut self, path: &WrongPath, exactly: bool, memory: &mut Memory) {
        if !exactly && self.has_no_effect(path, self.places, memory) {
            self.restart(path.until + 1);
            return;
        }
        let queue = Unresolved {
            places: self.places,
            issue: path.issue,
            decode: NEVER,
            came: 0,
            words: [(PAST, 0); 2],
        };
        self.redirect(path, queue, memory, &mut |_| Op::UNKNOWN);
    }

    /// The pipe is emptied, behind an instruction that left the queue in a cycle, if that was not noted. Yields whether the
    /// queue was full by then.
    pub(super) fn redirect_emptied(
        &mut self,
        path: &WrongPath,
        left: Option<i64>,
        speculation: Speculation,
        memory: &mut Memory,
        op: &mut impl FnMut(&Insn) -> Op,
    ) -> bool {
        let mut entries = std::mem::take(&mut self.queue);
        entries.clear();
        let noted = (1..=self.places).rev().map(|back| self.left.back(back));
        entries.extend(noted.chain(left).map(|left| (i64::MIN, left)));
        let places = self.places;
        let queue = Issuing { entries: &mut entries, first: 0, places, issue: path.issue, speculation };
        let full = self.redirect(path, queue, memory, op);
        self.queue = entries;
        full
    }

    /// The next word is requested in a cycle; the queue is empty.
    pub(super) fn restart(&mut self, request: i64) {
        (self.request, self.word) = (request, NO_WORD);
        self.left.replace(self.places, PAST);
    }

    /// Whether a wrong path has no effect, however many words are requested in time: up to `instructions` of it, and one word a
    /// cycle, nothing misses and nothing moves the return stack. A quick answer, no in doubt.
    pub(super) fn has_no_effect(&mut self, path: &WrongPath, instructions: usize, memory: &Memory) -> bool {
        let line = memory.instruction_line_bytes();
        let mut words = path.until - 1 - self.request;
        let (mut pc, mut end, mut there) = match path.target {
            Some(target) => (target, target, NO_WORD),
            None => {
                let behind = path.place.pc.wrapping_add(u64::from(path.place.len));
                (behind, self.word.wrapping_add(WORD), NO_WORD)
            }
        };
        // The last word that is requested may find no room.
        for _ in 0..instructions + 2 {
            if pc >= end {
                if words <= 0 {
                    return true;
                }
                words -= 1;
                if pc & !(line - 1) != there {
                    there = pc & !(line - 1);
                    if path.misses(pc & !(WORD - 1), memory) {
                        return false;
                    }
                }
                end = (pc & !(WORD - 1)).wrapping_add(WORD);
            }
            let Some(pa) = path.place.physical(pc) else { return false };
            let (jumps, len) = self.code.jumps_and_len(pa);
            let mut next = pc.wrapping_add(len);
            if jumps && let Some(insn) = self.code.jump(pa) {
                match Jump::of(&insn) {
                    Jump::Branch if !self.is_uncertain(pc) => {}
                    Jump::Direct { links: false } => {}
                    _ => return false,
                }
                if let Some(target) = self.foresee(pc, Jump::of(&insn), &insn) {
                    (next, end) = (target, target);
                }
            }
            pc = next;
        }
        true
    }

    /// Everything behind the last instruction is dropped, and another address is fetched. Until then the fetch went on, as long
    /// as there was room in the queue. Yields whether the queue was full by then.
    fn redirect(
        &mut self,
        path: &WrongPath,
        mut queue: impl Queue,
        memory: &mut Memory,
        op: &mut impl FnMut(&Insn) -> Op,
    ) -> bool {
        let (at, queue) = (path.until, &mut queue);
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
            match self.inspect(path, queue, (from, next), self.arrival + 1, memory, op) {
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
            let room = queue.room(request);
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
            (pc, request) = match self.inspect(path, queue, (pc, next), request + 2, memory, op) {
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
        self.restart(self.request);
        full
    }

    /// The instructions from an address up to another come into the queue.
    #[inline]
    fn inspect(
        &mut self,
        path: &WrongPath,
        queue: &mut impl Queue,
        (from, to): (u64, u64),
        comes: i64,
        memory: &Memory,
        op: &mut impl FnMut(&Insn) -> Op,
    ) -> Next {
        let (mut pc, mut of) = (from, 0);
        while pc < to {
            let pa = path.place.physical(pc).or_else(|| memory.physical(pc, path.place.privilege));
            let code = &mut self.code;
            let insn = || pa.and_then(|pa| code.find(pa)).map_or(Op::UNKNOWN, |insn| op(&insn));
            if !queue.take(comes, of, insn) {
                return Next::Again(pc);
            }
            of += 1;
            let Some(pa) = pa else { return Next::At(to) };
            let (jumps, len) = self.code.jumps_and_len(pa);
            if jumps
                && let Some(insn) = self.code.jump(pa)
                && let Some(target) = self.foresee(pc, Jump::of(&insn), &insn)
            {
                return Next::Jump { target, later: pc + u64::from(insn.len) > to };
            }
            pc = pc.wrapping_add(len);
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
        let mut queue = Unresolved { places: 8, issue: 20, decode: NEVER, came: 0, words: [(PAST, 0); 2] };
        for word in 0..4 {
            assert_eq!(queue.room(word), word);
            assert!([0, 1].iter().all(|&of| queue.take(word + 2, of, || Op::UNKNOWN)));
        }
        // All eight are there at 6: nothing is requested from then on, and what was requested before has no place.
        assert_eq!((queue.room(5), queue.take(6, 0, || Op::UNKNOWN)), (5, false));
        // One leaves at 20; seven are one too many.
        assert!(queue.room(6) >= NEVER);
        assert!(queue.take(21, 0, || Op::UNKNOWN));
    }

    #[test]
    fn what_issues_makes_room() {
        // One a cycle, the first at 11. Those that were there before leave from 1 to 8: six are left at 3.
        let core = crate::Core::preset("cva6").unwrap();
        let board = super::super::scoreboard::Scoreboard::new(&core);
        let mut entries: Vec<_> = (1..=8).map(|at| (i64::MIN, at)).collect();
        let speculation = board.speculate(None);
        let mut queue = Issuing { entries: &mut entries, first: 0, places: 8, issue: 10, speculation };
        assert_eq!((queue.room(1), queue.room(3)), (3, 3));
        // The second is decoded when the first issues.
        assert!([0, 1].iter().all(|&of| queue.take(9, of, || Op::UNKNOWN)));
        assert_eq!([10, 11, 12].map(|at| queue.used(at).0), [2, 1, 0]);
    }
}
