//! A queue of fetched words before ID: the fetch runs ahead while an instruction waits.

use super::shape::Costs;

/// The most words that a queue may have.
pub(super) const MOST: u32 = 8;

/// The words that were fetched last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Words {
    /// How many words wait at most.
    most: usize,
    /// When the last one was in IF.
    fetch: i64,
    /// When the first instruction in each of the latest words came to EX, so that its place was free; the oldest first.
    taken: [i64; MOST as usize],
}

/// Longer ago than anything that matters, and later.
const LONG_AGO: i64 = i64::MIN / 2;
const NEVER: i64 = i64::MAX / 2;

impl Words {
    /// When the first of so many further words can be in IF; without any, when the last one was there.
    fn next(&self, words: u32) -> i64 {
        match words {
            0 => self.fetch,
            _ => (self.fetch + 1).max(self.taken[0] + 1),
        }
    }

    /// So many further words come, the last of which was in IF then, and their places are free from a cycle on.
    fn pass(&mut self, words: u32, fetch: i64, taken: i64) {
        for _ in 0..words {
            self.taken[..self.most].rotate_left(1);
            self.taken[self.most - 1] = taken;
        }
        self.fetch = fetch;
    }

    /// The same with all cycles moved; what no longer matters is the same for all.
    fn moved(&self, by: i64) -> Self {
        let mut words = *self;
        words.fetch += by;
        for (at, taken) in words.taken[..self.most].iter_mut().enumerate() {
            let fetch = self.fetch + at as i64;
            *taken = if *taken == NEVER { NEVER } else { (*taken).max(fetch) + by };
        }
        words
    }
}

/// A queue of words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Queue {
    words: Words,
    /// What was fetched before the last replay, which dropped it, as if nothing of that had come to EX, and the last cycle
    /// in which a word was in IF.
    dropped: Option<(Words, i64)>,
}

/// Cycles from EX of an instruction that is replayed to its being in IF again.
const REFETCH: i64 = 3;

impl Queue {
    /// An empty queue.
    pub(super) fn new(words: u32) -> Option<Self> {
        let words = Words { most: words as usize, fetch: -1, taken: [LONG_AGO; MOST as usize] };
        (words.most > 0).then_some(Queue { words, dropped: None })
    }

    /// When the last word was in IF.
    pub(super) fn fetch(&self) -> i64 {
        self.words.fetch
    }

    /// When the first of so many further words can be in IF; without any, when the last one was there.
    pub(super) fn next(&self, words: u32) -> i64 {
        self.words.next(words)
    }

    /// If the next word was fetched before a replay that has dropped it: when.
    pub(super) fn before_replay(&self) -> Option<i64> {
        self.dropped.as_ref().map(|(words, _)| words.next(1))
    }

    /// An instruction brought so many further words, the last of which was in IF then; it came to EX in this cycle, and if
    /// it was replayed in that one first.
    pub(super) fn pass(&mut self, words: u32, fetch: i64, execute: i64, first: i64) {
        let before = if first < execute {
            let mut dropped = self.words;
            dropped.pass(words, fetch, first);
            self.words.pass(words, fetch.max(first + REFETCH), execute);
            Some((dropped, first + REFETCH - 2))
        } else {
            self.words.pass(words, fetch, execute);
            self.dropped.take().map(|(mut dropped, last)| {
                for _ in 0..words {
                    dropped.pass(1, dropped.next(1), NEVER);
                }
                (dropped, last)
            })
        };
        self.dropped = before.filter(|(words, last)| words.next(1) <= *last);
    }

    /// What was fetched behind the last word is dropped.
    pub(super) fn forget(&mut self) {
        self.dropped = None;
    }

    /// The same with all cycles moved; what no longer matters is the same for all.
    pub(super) fn moved(&self, by: i64) -> Self {
        let dropped = self.dropped.as_ref().map(|(words, last)| (words.moved(by), last + by));
        Queue { words: self.words.moved(by), dropped }
    }
}

/// A line on its way into the instruction cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fill {
    /// Its number.
    pub(super) line: u64,
    /// When an instruction of it can be in ID.
    pub(super) there: i64,
    /// For how many cycles the cache takes it, and cannot be read.
    pub(super) takes: i64,
}

impl Fill {
    /// When words can be in ID that would be in IF from a cycle on.
    pub(super) fn delays(&self, fetch: i64, words: u32, costs: &Costs) -> i64 {
        let last = fetch + i64::from(words) - 1;
        // The cache is read in the cycle before IF. Its last word comes two cycles before it can be read.
        let taken = self.there - 1 - self.takes..self.there - 1;
        let decode = fetch + 1;
        if costs.fetch_miss > 0 {
            decode.max(self.there - 1)
        } else if costs.filling {
            decode.max(self.there)
        } else if last >= taken.start && fetch < taken.end {
            self.there
        } else {
            decode
        }
    }
}
