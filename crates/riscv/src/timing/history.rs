//! Prediction from the outcomes of the latest branches, and a target buffer that compares all its entries.

/// Bits of the history, and of its hash.
const LENGTH: u32 = 8;
const HASHED: u32 = 3;

/// Outcomes of one bit, found by a branch's address and a hash of the outcomes of the branches before, as in Rocket's BHT.
#[derive(Clone, Debug)]
pub(super) struct History {
    taken: Vec<bool>,
    /// For each sequence of outcomes what it changes in the number of an entry.
    hashes: [u16; 1 << LENGTH],
    /// The outcomes of the latest branches, the last one in the highest bit.
    latest: u8,
    /// The same without the last one, which the fetch directly behind it does not see yet.
    before: u8,
    /// Where the last branch went.
    next: u64,
}

impl History {
    /// For a number of outcomes that is a power of two and at least 8.
    pub(super) fn new(outcomes: u32) -> Self {
        let bits = outcomes.trailing_zeros();
        let hashes = std::array::from_fn(|seen| {
            // 221 is half the square root of 3, in 256ths.
            let hash = ((221 * seen) >> (LENGTH - HASHED)) & ((1 << HASHED) - 1);
            (hash << (bits - HASHED)) as u16
        });
        History { taken: vec![false; outcomes as usize], hashes, latest: 0, before: 0, next: 1 }
    }

    /// The entry of a branch after outcomes whose hash is zero, from the address behind it.
    pub(super) fn entry(outcomes: u32, sequential: u64) -> u32 {
        // The fetch of its last half decides.
        let word = sequential.wrapping_sub(2) >> 2;
        (word as u32 ^ ((word >> outcomes.trailing_zeros()) as u32 & 3)) & outcomes.wrapping_sub(1)
    }

    /// Whether the branch with this [`entry`](Self::entry) was predicted right; it is learned.
    #[inline(always)]
    pub(super) fn branch(&mut self, pc: u64, entry: u32, next: u64, taken: bool) -> bool {
        let seen = if self.next == pc { self.before } else { self.latest };
        let at = (entry ^ u32::from(self.hashes[usize::from(seen)])) as usize;
        // A jump of the host's, which predicts it: the next branch need not wait for this outcome.
        if self.taken.get(at) != Some(&taken) {
            self.wrong(at, taken, seen);
            return false;
        }
        self.note(taken, self.latest);
        self.next = next;
        true
    }

    #[cold]
    #[inline(never)]
    fn wrong(&mut self, at: usize, taken: bool, seen: u8) {
        if let Some(outcome) = self.taken.get_mut(at) {
            *outcome = taken;
        }
        self.note(taken, seen);
        // What is fetched again sees everything.
        self.next = 1;
    }

    #[inline(always)]
    fn note(&mut self, taken: bool, old: u8) {
        self.before = self.latest;
        self.latest = u8::from(taken) << (LENGTH - 1) | old >> 1;
    }
}

/// Targets by address, the least recently used one replaced.
#[derive(Clone, Debug)]
pub(super) struct Targets {
    entries: Vec<Target>,
    /// Where the address was found last, by its lowest bits.
    hints: [u16; HINTS],
    clock: u64,
}

#[derive(Clone, Copy, Debug)]
struct Target {
    pc: u64,
    target: u64,
    used: u64,
}

const HINTS: usize = 256;

impl Targets {
    pub(super) fn new(entries: u32) -> Self {
        let none = Target { pc: 1, target: 0, used: 0 };
        Targets { entries: vec![none; entries as usize], hints: [0; HINTS], clock: 0 }
    }

    /// The target of a jump, which is learned.
    #[inline(always)]
    pub(super) fn jump(&mut self, pc: u64, target: u64) -> Option<u64> {
        self.clock += 1;
        let hint = (pc >> 1) as usize % HINTS;
        match self.entries.get_mut(usize::from(self.hints[hint])) {
            Some(entry) if entry.pc == pc => {
                entry.used = self.clock;
                Some(std::mem::replace(&mut entry.target, target))
            }
            _ => self.search(hint, pc, target),
        }
    }

    #[inline(never)]
    fn search(&mut self, hint: usize, pc: u64, target: u64) -> Option<u64> {
        let at = self.entries.iter().position(|entry| entry.pc == pc);
        let found = at.map(|at| self.entries[at].target);
        let oldest = || self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.used).map(|(at, _)| at);
        if let Some(at) = at.or_else(oldest) {
            self.entries[at] = Target { pc, target, used: self.clock };
            self.hints[hint] = at as u16;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{History, Targets};

    #[test]
    fn a_loop_of_four_is_learned_by_its_history() {
        let mut history = History::new(512);
        // Three times back, then through; between two passes the branch of an outer loop.
        let mut branch = |pc, next, taken| history.branch(pc, History::entry(512, pc + 4), next, taken);
        let mut pass = || {
            let inner =
                [true, true, true, false].map(|taken| branch(0x100, if taken { 0xf0 } else { 0x104 }, taken));
            let outer = branch(0x200, 0, true);
            inner.into_iter().chain([outer]).filter(|right| !right).count()
        };
        let wrong: Vec<usize> = (0..8).map(|_| pass()).collect();
        assert!(wrong[7] < wrong[0], "{wrong:?}");
    }

    #[test]
    fn the_least_recently_used_target_is_replaced() {
        let mut targets = Targets::new(2);
        for (pc, found) in
            [(2, None), (4, None), (2, Some(12)), (6, None), (4, None), (6, Some(16)), (2, None)]
        {
            assert_eq!(targets.jump(pc, pc + 10), found, "{pc}");
        }
    }
}
