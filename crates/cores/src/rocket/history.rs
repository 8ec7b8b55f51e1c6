//! Prediction from the outcomes of the latest branches (rtl: branch.inner_loop, branch.correlated), and a target buffer that
//! compares all its entries (rtl: branch.in_8_lines).

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

    /// Whether the branch with this [`entry`](Self::entry) was predicted right; it is learned. If it is `unseen` it becomes one
    /// of the latest only if it was predicted wrong.
    #[inline(always)]
    pub(super) fn branch(&mut self, pc: u64, entry: u32, next: u64, taken: bool, unseen: bool) -> bool {
        let seen = if self.next == pc { self.before } else { self.latest };
        let at = (entry ^ u32::from(self.hashes[usize::from(seen)])) as usize;
        // A jump of the host's, which predicts it: the next branch need not wait for this outcome.
        if self.taken.get(at) != Some(&taken) {
            self.wrong(at, taken, seen);
            return false;
        }
        if !unseen {
            self.note(taken, self.latest);
            self.next = next;
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn wrong(&mut self, at: usize, taken: bool, seen: u8) {
        if let Some(outcome) = self.taken.get_mut(at) {
            *outcome = taken;
        }
        self.note(taken, seen);
        // An instruction that is fetched again sees everything.
        self.next = 1;
    }

    /// The outcomes of the latest branches.
    pub(super) fn latest(&self) -> u8 {
        self.latest
    }

    /// The same as the fetch has seen it that goes on behind the last branch, which was mispredicted.
    pub(super) fn mispredicted(&self) -> u8 {
        self.latest ^ 1 << (LENGTH - 1)
    }

    /// These are the outcomes of the latest branches, as all that follows sees them.
    pub(super) fn keep(&mut self, latest: u8) {
        (self.latest, self.before, self.next) = (latest, latest, 1);
    }

    /// Whether the branch with this [`entry`](Self::entry) would be predicted taken behind these outcomes, which the
    /// prediction joins.
    pub(super) fn guess(&self, entry: u32, latest: &mut u8) -> bool {
        let at = (entry ^ u32::from(self.hashes[usize::from(*latest)])) as usize;
        let taken = self.taken.get(at) == Some(&true);
        *latest = u8::from(taken) << (LENGTH - 1) | *latest >> 1;
        taken
    }

    #[inline(always)]
    fn note(&mut self, taken: bool, old: u8) {
        self.before = self.latest;
        self.latest = u8::from(taken) << (LENGTH - 1) | old >> 1;
    }
}

/// Targets by address, one for each fetched word: the last one in it. The least recently used one is replaced.
#[derive(Clone, Debug)]
pub(super) struct Targets {
    entries: Vec<Target>,
    /// Where the address was found last, by its lowest bits.
    hints: [u16; HINTS],
    /// How many of the targets are of words with each number's lowest bits.
    words: Words,
    clock: u64,
}

#[derive(Clone, Copy, Debug)]
struct Target {
    pc: u64,
    target: u64,
    used: u64,
}

const HINTS: usize = 256;

/// How many things there are of words with each number's lowest bits: mostly none.
#[derive(Clone, Debug)]
struct Words([u16; Words::NUMBERS]);

impl Words {
    const NUMBERS: usize = 1024;

    #[inline(always)]
    fn of(&mut self, pc: u64) -> &mut u16 {
        &mut self.0[(pc >> 2) as usize % Self::NUMBERS]
    }

    #[inline(always)]
    fn has(&self, pc: u64) -> bool {
        self.0[(pc >> 2) as usize % Self::NUMBERS] > 0
    }
}

/// No instruction is there.
const NOWHERE: u64 = u64::MAX;

/// The lowest bits of a word's address.
fn hint(pc: u64) -> usize {
    (pc >> 2) as usize % HINTS
}

impl Targets {
    pub(super) fn new(entries: u32) -> Self {
        let none = Target { pc: NOWHERE, target: 0, used: 0 };
        Targets {
            entries: vec![none; entries as usize],
            hints: [0; HINTS],
            words: Words([0; Words::NUMBERS]),
            clock: 0,
        }
    }

    /// The target of a jump, if it is known; it is not replaced before others.
    #[inline(always)]
    pub(super) fn know(&mut self, pc: u64) -> Option<u64> {
        self.clock += 1;
        let hint = hint(pc);
        match self.entries.get_mut(usize::from(self.hints[hint])) {
            Some(entry) if entry.pc == pc => {
                entry.used = self.clock;
                Some(entry.target)
            }
            _ => self.search(hint, pc),
        }
    }

    #[inline(never)]
    fn search(&mut self, hint: usize, pc: u64) -> Option<u64> {
        let at = self.place(|entry| entry == pc, pc)?;
        self.hints[hint] = at as u16;
        self.entries[at].used = self.clock;
        Some(self.entries[at].target)
    }

    /// The target of a jump is learned.
    pub(super) fn learn(&mut self, pc: u64, target: u64) {
        self.clock += 1;
        let at = self.place(|entry| entry & !3 == pc & !3, pc);
        let oldest = || self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.used).map(|(at, _)| at);
        if let Some(at) = at.or_else(oldest) {
            let before = self.entries[at].pc;
            if before != NOWHERE {
                *self.words.of(before) -= 1;
            }
            *self.words.of(pc) += 1;
            self.entries[at] = Target { pc, target, used: self.clock };
            self.hints[hint(pc)] = at as u16;
        }
    }

    /// In which half of a word the jump ends whose target is known, if there is one.
    pub(super) fn half(&self, word: u64) -> Option<bool> {
        self.place(|entry| entry & !3 == word, word).map(|at| self.entries[at].pc & 2 != 0)
    }

    /// Which entry it is, of the word of an address, whose jump has such an address.
    #[inline(always)]
    fn place(&self, is: impl Fn(u64) -> bool, pc: u64) -> Option<usize> {
        if self.words.has(pc) { self.entries.iter().position(|entry| is(entry.pc)) } else { None }
    }

    /// Forgets all targets.
    pub(super) fn flush(&mut self) {
        self.entries.fill(Target { pc: NOWHERE, target: 0, used: 0 });
        self.words.0.fill(0);
    }

    /// The target of a jump, if it is known.
    #[inline(always)]
    pub(super) fn find(&self, pc: u64) -> Option<u64> {
        self.place(|entry| entry == pc, pc).map(|at| self.entries[at].target)
    }
}

#[cfg(test)]
mod tests {
    use super::{History, Targets};

    #[test]
    fn a_loop_of_four_is_learned_by_its_history() {
        let mut history = History::new(512);
        // Three times back, then through; between two passes the branch of an outer loop.
        let mut branch =
            |pc, next, taken| history.branch(pc, History::entry(512, pc + 4), next, taken, false);
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
    fn jumps_in_one_word_replace_one_another() {
        // rtl: Rocket, caller: the jump in the upper half of 1f8 and the call in its lower half are never known.
        let mut targets = Targets::new(4);
        for (pc, found) in [(0x1f8, None), (0x1fa, None), (0x1f8, None), (0x1f8, Some(0x202)), (0x1fa, None)]
        {
            assert_eq!(targets.know(pc), found, "{pc:#x}");
            targets.learn(pc, pc + 10);
        }
        assert_eq!([0x1f8, 0x1fa].map(|pc| targets.find(pc)), [None, Some(0x204)]);
    }

    #[test]
    fn the_least_recently_used_target_is_replaced() {
        let mut targets = Targets::new(2);
        for (pc, found) in
            [(4, None), (8, None), (4, Some(14)), (12, None), (8, None), (12, Some(22)), (4, None)]
        {
            assert_eq!(targets.know(pc), found, "{pc}");
            targets.learn(pc, pc + 10);
        }
    }
}
