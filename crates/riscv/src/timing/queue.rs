//! A queue of fetched words before ID: the fetch runs ahead while an instruction waits.

/// The most words that a queue may have.
pub(super) const MOST: u32 = 8;

/// The words that were fetched last.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Queue {
    /// How many words it has.
    words: usize,
    /// When the last one was in IF.
    fetch: i64,
    /// When the first instruction in each of the latest words came to EX, so that its place was free; the oldest first.
    taken: [i64; MOST as usize],
    /// Before the last replay: when the last word was in IF then, and the last cycle in which one was.
    dropped: Option<[i64; 2]>,
}

/// Cycles from EX of an instruction that is replayed to its being in IF again.
const REFETCH: i64 = 3;

impl Queue {
    /// An empty queue.
    pub(super) fn new(words: u32) -> Option<Self> {
        let taken = [i64::MIN / 2; MOST as usize];
        (words > 0).then_some(Queue { words: words as usize, fetch: -1, taken, dropped: None })
    }

    /// When the last word was in IF.
    pub(super) fn fetch(&self) -> i64 {
        self.fetch
    }

    /// When the first of so many further words can be in IF; without any, when the last one was there.
    pub(super) fn next(&self, words: u32) -> i64 {
        match words {
            0 => self.fetch,
            _ => (self.fetch + 1).max(self.taken[0] + 1),
        }
    }

    /// If the next word was fetched before a replay that has dropped it: when.
    pub(super) fn before_replay(&self) -> Option<i64> {
        self.dropped.filter(|[fetch, last]| fetch < last).map(|[fetch, _]| fetch + 1)
    }

    /// An instruction brought so many further words, the last of which was in IF then; it came to EX in this cycle, and if
    /// it was replayed in that one first.
    pub(super) fn pass(&mut self, words: u32, fetch: i64, execute: i64, first: i64) {
        for _ in 0..words {
            self.taken[..self.words].rotate_left(1);
            self.taken[self.words - 1] = execute;
        }
        if first < execute {
            self.dropped = Some([fetch, first + REFETCH - 2]);
            self.fetch = fetch.max(first + REFETCH);
        } else {
            let further = i64::from(words);
            self.dropped = self.dropped.map(|[fetch, last]| [fetch + further, last]).filter(|[at, last]| at < last);
            self.fetch = fetch;
        }
    }

    /// What was fetched behind the last word is dropped.
    pub(super) fn forget(&mut self) {
        self.dropped = None;
    }

    /// The same with all cycles moved; what no longer matters is the same for all.
    pub(super) fn moved(&self, by: i64) -> Self {
        let mut queue = self.clone();
        queue.fetch += by;
        for (at, taken) in queue.taken[..self.words].iter_mut().enumerate() {
            *taken = (*taken).max(self.fetch + at as i64) + by;
        }
        queue.dropped = self.dropped.map(|cycles| cycles.map(|cycle| cycle + by));
        queue
    }
}
