//! A queue of fetched words before ID: the fetch runs ahead while an instruction waits.

use super::keys::FETCH_QUEUE;
use super::shape::Costs;

/// The words that were fetched last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Words {
    /// How many words wait at most.
    most: usize,
    /// When each of the latest words was in IF; the oldest first.
    fetched: [i64; FETCH_QUEUE as usize],
    /// When the first instruction in each of them came to EX, so that its place was free.
    taken: [i64; FETCH_QUEUE as usize],
}

/// Longer ago than anything that matters, and later.
const LONG_AGO: i64 = i64::MIN / 2;
const NEVER: i64 = i64::MAX / 2;

impl Words {
    /// When the last one was in IF.
    fn fetch(&self) -> i64 {
        self.fetched[self.most - 1]
    }

    /// Words that are in the queue in a cycle.
    fn waiting(&self, cycle: i64) -> usize {
        let all = self.fetched.iter().zip(&self.taken).take(self.most);
        all.filter(|&(&fetched, &taken)| fetched + 2 <= cycle && taken > cycle).count()
    }

    /// Whether a word can be requested in a cycle in which so many are on their way to the queue.
    fn has_space(&self, cycle: i64, on_their_way: usize) -> bool {
        self.waiting(cycle) + on_their_way < self.most
    }

    /// Whether the next word finds no space when it is first requested.
    fn is_full(&self) -> bool {
        let last = self.fetch();
        let two = self.most > 1 && self.fetched[self.most - 2] == last - 1;
        !self.has_space(last, 1 + usize::from(two))
    }

    /// When the first of so many further words can be in IF; without any, when the last one was there. A word that finds no
    /// space is requested again when it would have been in ID.
    fn next(&self, words: u32) -> i64 {
        let last = self.fetch();
        if words == 0 {
            return last;
        }
        if !self.is_full() {
            return last + 1;
        }
        let wasted = self.has_space(last + 1, 1);
        if self.has_space(last + 2, 1 + usize::from(wasted)) {
            return last + 3;
        }
        let mut cycle = last + 3;
        while !self.has_space(cycle, 0) {
            let next = self.taken[..self.most].iter().filter(|&&taken| taken > cycle).min();
            match next {
                Some(&next) if next < NEVER => cycle = next,
                _ => return NEVER,
            }
        }
        cycle + 1
    }

    /// So many further words come, the last of which was in IF then, and their places are free from a cycle on.
    fn pass(&mut self, words: u32, fetch: i64, taken: i64) {
        for word in (0..i64::from(words)).rev() {
            for next in 1..self.most {
                self.fetched[next - 1] = self.fetched[next];
                self.taken[next - 1] = self.taken[next];
            }
            self.fetched[self.most - 1] = fetch - word;
            self.taken[self.most - 1] = taken;
        }
    }

    /// Whether nothing that waits now can keep a later word out: one more comes in each cycle, and two are on their way.
    fn is_free(&self, last: i64) -> bool {
        let waits =
            |cycles: i64| self.taken[..self.most].iter().filter(|&&taken| taken > last + cycles).count();
        (0..self.most as i64)
            .all(|cycles| waits(cycles) + 2 + (cycles - 2).max(0) as usize <= self.most.saturating_sub(1))
    }

    /// The same with all cycles moved; what no longer matters is the same for all.
    fn moved(&self, by: i64) -> Self {
        let mut words = *self;
        let last = self.fetch();
        let free = self.is_free(last);
        for fetched in &mut words.fetched[..self.most] {
            *fetched = (*fetched).max(last - 2) + by;
        }
        for taken in &mut words.taken[..self.most] {
            *taken = match *taken {
                _ if free => last + by,
                NEVER => NEVER,
                taken => taken.max(last) + by,
            };
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
pub(super) const REFETCH: i64 = 3;

impl Queue {
    /// An empty queue.
    pub(super) fn new(words: u32) -> Option<Self> {
        let mut fetched = [LONG_AGO; FETCH_QUEUE as usize];
        fetched[(words as usize).saturating_sub(1)] = -1;
        let words = Words { most: words as usize, fetched, taken: [LONG_AGO; FETCH_QUEUE as usize] };
        (words.most > 0).then_some(Queue { words, dropped: None })
    }

    /// When the last word was in IF.
    pub(super) fn fetch(&self) -> i64 {
        self.words.fetch()
    }

    /// Whether the next word finds no space when it is first requested.
    pub(super) fn is_full(&self) -> bool {
        self.words.is_full()
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
            // It comes once more, with its last word if that was there before.
            self.words.pass(words.max(1), fetch.max(first + REFETCH), execute);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of one instruction each, the first in IF in cycle 0 and stalled in ID until it comes to EX in `execute`.
    fn stalled(execute: i64) -> Queue {
        let mut queue = Queue::new(5).unwrap();
        queue.pass(1, 0, execute, execute);
        queue
    }

    #[test]
    fn five_words_are_fetched_while_the_first_one_waits() {
        // rtl: Rocket, fp-eager: the words 1a to 28 are in IF one behind the other, 2c when the first has gone to EX.
        let mut queue = stalled(30);
        let fetched: Vec<i64> = (1..6)
            .map(|word| {
                let fetch = queue.next(1);
                queue.pass(1, fetch, 30 + word, 30 + word);
                fetch
            })
            .collect();
        assert_eq!(fetched, [1, 2, 3, 4, 31]);
        assert_eq!(queue.next(0), 31);
    }

    #[test]
    fn a_word_that_finds_no_space_is_requested_again() {
        // rtl: Rocket, full: 1b4 is in IF in 2271 with four words waiting, of which the first goes to EX in 2272 and the second
        // in 2274: 1b8 comes in 2275.
        let mut queue = Queue::new(5).unwrap();
        for (fetched, taken) in [(61, 72), (62, 74), (63, 76), (64, 78), (71, 80)] {
            queue.pass(1, fetched, taken, taken);
        }
        assert_eq!(queue.next(1), 75);
    }

    #[test]
    fn words_before_a_replay_were_fetched_before_it() {
        // In IF in 0, in EX in 2 and, again, in 40: what was in IF until 3 has been looked up, the rest comes behind 5.
        let mut queue = Queue::new(5).unwrap();
        queue.pass(1, 0, 40, 2);
        let mut fetched = Vec::new();
        for word in 1..5 {
            let fetch = queue.next(1);
            fetched.push((queue.before_replay(), fetch));
            queue.pass(1, fetch, 40 + word, 40 + word);
        }
        assert_eq!(fetched, [(Some(1), 6), (Some(2), 7), (Some(3), 8), (None, 9)]);
        queue.pass(1, 41, 60, 43);
        assert!(queue.before_replay().is_some());
        queue.forget();
        assert_eq!(queue.before_replay(), None);
    }

    #[test]
    fn what_no_longer_matters_is_the_same_for_all() {
        let queues = [1, 7].map(|taken| {
            let mut queue = Queue::new(3).unwrap();
            queue.pass(1, 10, taken, taken);
            for fetch in 11..14 {
                queue.pass(1, fetch, fetch + 2, fetch + 2);
            }
            queue.moved(-13)
        });
        assert_eq!(queues[0], queues[1]);
        assert_eq!(queues[0].moved(13).next(1), 14);
    }

    #[test]
    fn a_line_that_is_filled_delays_what_needs_the_cache() {
        // rtl: Rocket, full: missed in 2185, the last word is taken in 2220 and the line read in 2222 for ID in 2223.
        let fill = Fill { line: 1, there: 2223, takes: 8 };
        let delays = |fetch, costs: &Costs| fill.delays(fetch, 1, costs);
        let other = Costs::default();
        assert_eq!(
            [2200, 2213, 2214, 2221, 2222].map(|fetch| delays(fetch, &other)),
            [2201, 2214, 2223, 2223, 2223]
        );
        let same = Costs { filling: true, ..Costs::default() };
        assert_eq!([2200, 2300].map(|fetch| delays(fetch, &same)), [2223, 2301]);
        // The next line is requested when the first one is there.
        let missed = Costs { fetch_miss: 38, ..Costs::default() };
        assert_eq!(delays(2200, &missed), 2222);
    }
}
