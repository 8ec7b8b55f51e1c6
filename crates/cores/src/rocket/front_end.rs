//! The front end: a queue of fetched words before ID, and a line on its way into the instruction cache.

use crate::ledger::Cause;
use crate::parts::delays::Redirect;
use crate::passage::Flush;

/// Words that wait for decoding at most.
pub(super) const QUEUE: usize = 5;

/// Bytes of one fetch.
const WORD: u64 = 4;

/// More bytes than the fetch can be ahead.
pub(super) const FAR: u64 = WORD * (QUEUE as u64 + 2);

/// Further cycles of an instruction that is replayed. rtl: store.load_same.
pub(super) const REPLAY: i64 = 5;

/// Cycles from EX of an instruction that is replayed to its being in IF again.
pub(super) const REFETCH: i64 = 3;

/// Earlier and later than anything that matters.
pub(super) const LONG_AGO: i64 = i64::MIN / 2;
pub(super) const NEVER: i64 = i64::MAX / 2;

/// Places for words, a power of two that is at least [`QUEUE`].
const PLACES: usize = 8;

/// The words that were fetched last.
#[derive(Clone, Debug)]
pub(super) struct Words {
    /// When each of the latest words was in IF, around a ring.
    fetched: [i64; PLACES],
    /// When the first instruction in each of them came to EX, so that its place was free.
    taken: [i64; PLACES],
    /// The place of the last one.
    last: usize,
}

impl Words {
    pub(super) fn new() -> Self {
        let mut fetched = [LONG_AGO; PLACES];
        fetched[0] = -1;
        Words { fetched, taken: [LONG_AGO; PLACES], last: 0 }
    }

    /// When the last one was in IF.
    #[inline(always)]
    pub(super) fn last(&self) -> i64 {
        self.fetched[self.last % PLACES]
    }

    /// Whether the next word finds no space when it is first requested: the fifth word before it is still there.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.taken(QUEUE - 1) > self.last()
    }

    /// When the first instruction of a word came to EX, so many words before the last one.
    #[inline(always)]
    fn taken(&self, before: usize) -> i64 {
        self.taken[(self.last + PLACES - before) % PLACES]
    }

    /// When the first of so many further words can be in IF; without any, when the last one was there. A word that finds no
    /// space is requested again when it would have been in ID.
    #[inline(always)]
    pub(super) fn next(&self, words: u32) -> i64 {
        match words {
            0 => self.last(),
            _ if !self.is_full() => self.last() + 1,
            _ => self.next_space(),
        }
    }

    /// The same if the next word finds no space when it is first requested, in the cycle of the last one. The word that is requested
    /// in the cycle behind that is dropped, or has been requested in vain, if the first place is free by then.
    #[inline(always)]
    fn next_space(&self) -> i64 {
        let last = self.last();
        let wasted = self.taken(QUEUE - 1) <= last + 1;
        let needed = if wasted { self.taken(QUEUE - 3) } else { self.taken(QUEUE - 2) };
        if needed <= last + 2 { last + 3 } else { self.taken(QUEUE - 1).max(last + 3) + 1 }
    }

    /// A further word comes that was in IF then; its place is free from a cycle on.
    #[inline(always)]
    pub(super) fn push(&mut self, fetch: i64, taken: i64) {
        self.last = (self.last + 1) % PLACES;
        (self.fetched[self.last], self.taken[self.last]) = (fetch, taken);
    }

    /// The same of so many, of which that was the last one.
    pub(super) fn push_all(&mut self, words: u32, fetch: i64, taken: i64) {
        for before in (0..i64::from(words)).rev() {
            self.push(fetch - before, taken);
        }
    }
}

/// The words that were fetched before the last replay, which dropped them.
#[derive(Clone, Debug)]
pub(super) struct Dropped {
    /// As if nothing of them had come to EX.
    words: Words,
    /// The last cycle in which a word was in IF.
    last: i64,
}

impl Dropped {
    /// An instruction brought so many words, the last of which was in IF then. It was in EX in `first` and is replayed.
    fn by_replay(mut words: Words, brought: u32, fetch: i64, first: i64) -> Self {
        words.push_all(brought, fetch, first);
        Dropped { words, last: first + REFETCH - 2 }
    }

    /// So many of them are fetched again.
    fn refetch(&mut self, words: u32) {
        // All of them were in the queue.
        for _ in 0..words.min(2 * QUEUE as u32) {
            self.words.push(self.words.next(1), NEVER);
        }
    }

    fn is_any(&self) -> bool {
        self.words.next(1) <= self.last
    }
}

/// A line on its way into the instruction cache, after a fetch missed it that is not waited for.
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
    fn delays(&self, fetch: i64, arrival: &Arrival) -> i64 {
        let last = fetch + i64::from(arrival.words) - 1;
        // The cache is read in the cycle before IF. Its last word comes two cycles before it can be read.
        let taken = self.there - 1 - self.takes..self.there - 1;
        let decode = fetch + 1;
        match arrival.line {
            LineState::Missed => decode.max(self.there - 1),
            LineState::Filling => decode.max(self.there),
            LineState::There if last >= taken.start && fetch < taken.end => self.there,
            LineState::There => decode,
        }
    }
}

/// Whether the instruction cache has the line of a fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LineState {
    #[default]
    There,
    /// Another fetch missed it before.
    Filling,
    Missed,
}

/// An instruction as the front end sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrival {
    /// Words that no earlier instruction brought.
    pub(super) words: u32,
    pub(super) line: LineState,
}

impl Arrival {
    /// Of an instruction whose fetch is `fresh`, not in sequence: it does not find in the queue what the word before had left.
    #[inline(always)]
    pub(super) fn of(pc: u64, len: u8, fresh: bool) -> Self {
        let half = pc & 2 != 0;
        let words = u32::from(!half || len == 4) + u32::from(half && fresh);
        Arrival { words, line: LineState::There }
    }

    /// Fetches behind the first.
    pub(super) fn second(&self) -> i64 {
        i64::from(self.words.saturating_sub(1))
    }
}

/// When words are in IF.
#[derive(Clone, Debug)]
pub(super) struct FrontEnd {
    pub(super) words: Words,
    /// Whether the next fetch is not in sequence.
    pub(super) fresh: bool,
    pub(super) redirect: Redirect,
    pub(super) fill: Option<Fill>,
    dropped: Option<Dropped>,
    /// Words that came since that was brought up to date.
    since: u32,
}

/// When the first word of an instruction is in IF.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetch {
    /// In sequence.
    pub(super) next: i64,
    /// As it was redirected.
    pub(super) at: i64,
    /// When the instruction can be in ID, if its line is there.
    pub(super) decode: i64,
    /// When it was fetched before a replay dropped it, if so.
    pub(super) before_replay: Option<i64>,
}

impl FrontEnd {
    pub(super) fn new() -> Self {
        FrontEnd {
            words: Words::new(),
            fresh: true,
            redirect: Redirect::NONE,
            fill: None,
            dropped: None,
            since: 0,
        }
    }

    /// An instruction is fetched. The redirection is done.
    pub(super) fn fetch(&mut self, arrival: &Arrival) -> Fetch {
        let next = self.words.next(arrival.words);
        let at = next.max(self.redirect.at);
        self.redirect.at = Redirect::NONE.at;
        if at > next {
            self.dropped = None;
        }
        let before_replay = self.before_replay().filter(|_| arrival.words > 0);
        let mut decode = at + 1;
        if let Some(fill) = self.fill.filter(|_| arrival.words > 0) {
            decode = decode.max(fill.delays(at, arrival));
        }
        Fetch { next, at, decode, before_replay }
    }

    /// When the next word of an instruction that needs so many is in IF: in sequence, and as it was redirected.
    #[inline(always)]
    pub(super) fn next(&self, words: u32) -> [i64; 2] {
        let next = self.words.next(words);
        [next, next.max(self.redirect.at)]
    }

    /// It brings so many words, at most two, and does not wait for anything else: it is in EX in a cycle.
    #[inline(always)]
    pub(super) fn advance(&mut self, words: u32, [next, fetch]: [i64; 2], execute: i64) {
        self.redirect.at = Redirect::NONE.at;
        self.fresh = false;
        if words > 0 {
            self.words.push(fetch, execute);
            if words > 1 {
                self.words.push(fetch + 1, execute);
            }
            self.since += words;
        }
        if fetch > next {
            self.dropped = None;
        }
    }

    /// If the next word was fetched before a replay that has dropped it: when.
    pub(super) fn before_replay(&mut self) -> Option<i64> {
        let since = std::mem::take(&mut self.since);
        let dropped = self.dropped.as_mut()?;
        dropped.refetch(since);
        self.dropped.take_if(|dropped| !dropped.is_any());
        self.dropped.as_ref().map(|dropped| dropped.words.next(1))
    }

    /// It brings so many words and can be in ID in this cycle; it comes to EX, and if it is replayed that is not the `first` time.
    pub(super) fn bring(&mut self, words: u32, decode: i64, execute: i64, first: i64) {
        let fetch = decode - 1;
        if first < execute {
            let dropped = Dropped::by_replay(self.words.clone(), words, fetch, first);
            self.dropped = Some(dropped).filter(Dropped::is_any);
            self.since = 0;
            // It comes once more, with its last word if that was there before.
            self.words.push_all(words.max(1), fetch.max(first + REFETCH), execute);
        } else {
            self.words.push_all(words, fetch, execute);
            self.since += words;
        }
        self.fill.take_if(|fill| fill.there < decode);
        self.fresh = false;
    }

    /// An instruction on a wrong path is fetched, which does not come to EX in time to matter.
    pub(super) fn run_on(&mut self, arrival: &Arrival) {
        let decode = self.fetch(arrival).decode + arrival.second();
        self.bring(arrival.words, decode, NEVER, NEVER);
    }

    /// When the next words would be in IF, the one with this number of them.
    pub(super) fn fetches(&self, words: u32, number: u32) -> i64 {
        self.words.next(words).max(self.redirect.at) + i64::from(number)
    }

    /// When the word behind the last one is seen in ID although there was no space to request it, if so.
    pub(super) fn is_full(&self) -> Option<i64> {
        (!self.redirect.is_some() && self.words.is_full()).then(|| self.words.last() + 2)
    }

    /// The next instruction is fetched `bubbles` late, counted from the last one's IF.
    pub(super) fn redirect_from_fetch(&mut self, bubbles: i64) {
        let at = self.words.last() + 1 + bubbles;
        self.redirect(at, Cause::Branch, Flush::Branch);
    }

    /// The next instruction is fetched in this cycle, or later.
    pub(super) fn redirect(&mut self, at: i64, cause: Cause, flush: Flush) {
        self.fresh = true;
        self.redirect.set(at, cause, flush);
    }

    /// Whether a fetch then has to wait for a line that is being filled.
    pub(super) fn fills(&self, line: u64, fetch: i64) -> bool {
        self.fill.is_some_and(|fill| fill.line == line && fetch + 1 < fill.there)
    }

    /// When a miss of a word that is in IF then can be sent, if that is before the fetch is redirected behind its `last`
    /// word: the cache fills one line at a time.
    pub(super) fn can_fill(&self, fetch: i64, last: i64) -> Option<i64> {
        let from = self.fill.map_or(fetch + 1, |fill| (fetch + 1).max(fill.there - 1));
        (from <= last + 1).then_some(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of one instruction each, the first in IF in cycle 0 and stalled in ID until it comes to EX in `execute`.
    fn stalled(execute: i64) -> FrontEnd {
        let mut front = FrontEnd::new();
        front.bring(1, 1, execute, execute);
        front
    }

    #[test]
    fn five_words_are_fetched_while_the_first_one_waits() {
        // rtl: Rocket, fp-eager: the words 1a to 28 are in IF one behind the other, 2c when the first has gone to EX.
        let mut words = stalled(30).words;
        let fetched: Vec<i64> = (1..6)
            .map(|word| {
                let fetch = words.next(1);
                words.push(fetch, 30 + word);
                fetch
            })
            .collect();
        assert_eq!(fetched, [1, 2, 3, 4, 31]);
        assert_eq!(words.next(0), 31);
    }

    #[test]
    fn a_word_that_finds_no_space_is_requested_again() {
        // rtl: Rocket, full: 1b4 is in IF in 2271 with four words waiting, of which the first goes to EX in 2272 and the second
        // in 2274: 1b8 comes in 2275.
        let mut words = Words::new();
        for (fetched, taken) in [(61, 72), (62, 74), (63, 76), (64, 78), (71, 80)] {
            words.push(fetched, taken);
        }
        assert_eq!(words.next(1), 75);
    }

    #[test]
    fn words_before_a_replay_were_fetched_before_it() {
        // In IF in 0, in EX in 2 and, again, in 40: what was in IF until 3 has been looked up, the rest comes behind 5.
        let mut front = FrontEnd::new();
        front.bring(1, 1, 40, 2);
        let mut fetched = Vec::new();
        for word in 1..5 {
            let fetch = front.words.next(1);
            fetched.push((front.before_replay(), fetch));
            front.bring(1, fetch + 1, 40 + word, 40 + word);
        }
        assert_eq!(fetched, [(Some(1), 6), (Some(2), 7), (Some(3), 8), (None, 9)]);
        front.bring(1, 42, 60, 43);
        assert!(front.before_replay().is_some());
        front.redirect(70, Cause::Branch, Flush::Branch);
        front.fetch(&Arrival { words: 1, line: LineState::There });
        assert_eq!(front.before_replay(), None);
    }

    #[test]
    fn a_line_that_is_filled_delays_what_needs_the_cache() {
        // rtl: Rocket, full: missed in 2185, the last word is taken in 2220 and the line read in 2222 for ID in 2223.
        let fill = Fill { line: 1, there: 2223, takes: 8 };
        let delays = |fetch, line| fill.delays(fetch, &Arrival { words: 1, line });
        let others = [2200, 2213, 2214, 2221, 2222].map(|fetch| delays(fetch, LineState::There));
        assert_eq!(others, [2201, 2214, 2223, 2223, 2223]);
        assert_eq!([2200, 2300].map(|fetch| delays(fetch, LineState::Filling)), [2223, 2301]);
        // The next line is requested when the first one is there.
        assert_eq!(delays(2200, LineState::Missed), 2222);
    }
}
