//! Stores on their way to memory: a queue of committed ones, and a buffer of words that are written through.

use std::collections::VecDeque;

use super::access::Data;
use super::keys::StoreBuffer;

/// The part of an address that loads compare with the stores before them: a word's number in its page.
fn offset(address: u64) -> u64 {
    address >> 3 & 0x1ff
}

/// A word of the write buffer.
#[derive(Clone, Copy, Debug)]
struct Word {
    /// Its address, over 8.
    number: u64,
    /// The first cycle in which it is gone.
    gone: i64,
    /// When its last write was sent.
    sent: i64,
}

/// A store that is not in the write buffer yet.
#[derive(Clone, Copy, Debug)]
struct Queued {
    offset: u64,
    /// The cycle in which it enters the write buffer.
    leaves: i64,
}

/// The stores of a core.
#[derive(Clone, Debug)]
pub(super) struct Stores {
    shape: StoreBuffer,
    queued: VecDeque<Queued>,
    /// Those that were in the write buffer when the last store entered it, that one's too.
    words: Vec<Word>,
    /// Those that were gone before, as long as a load may find one on its way; and when the first of them was gone.
    past: Vec<Word>,
    first_gone: i64,
    /// When the latest writes were answered, the oldest first: as many as may be on their way.
    answered: VecDeque<i64>,
    /// When the last write was sent.
    sent: i64,
}

impl Stores {
    pub(super) fn new(shape: StoreBuffer) -> Self {
        Stores {
            shape,
            queued: VecDeque::new(),
            words: Vec::new(),
            past: Vec::new(),
            first_gone: i64::MAX,
            answered: VecDeque::new(),
            sent: 0,
        }
    }

    /// Answers what an access asks; a store commits.
    #[inline(always)]
    pub(super) fn answer(&mut self, kind: Asks, at: i64, access: &Data, line: u64, latency: i64) -> i64 {
        match kind {
            // They enter the write buffer one after the other.
            Asks::Load if self.queued.back().is_none_or(|last| last.leaves < at) => at,
            Asks::Load => self.clear_of(at, access.va),
            Asks::Line => self.line_clear(at, access.pa, line),
            Asks::Store => {
                let at = self.accept(at);
                self.commit(at, access.pa, latency);
                at
            }
        }
    }

    /// The earliest cycle from `at` on in which a store can commit.
    fn accept(&self, at: i64) -> i64 {
        match self.queued.len().checked_sub(self.shape.queue as usize) {
            Some(first) => at.max(self.queued[first].leaves + 1),
            None => at,
        }
    }

    /// A store commits; memory answers after `latency`.
    fn commit(&mut self, at: i64, address: u64, latency: i64) {
        let last = self.queued.back().map_or(at, |last| last.leaves);
        let mut leaves = (at + 1).max(last + 1);
        let number = address >> 3;
        let at = loop {
            self.drop_gone(leaves, latency);
            if let Some(at) = self.words.iter().position(|word| word.number == number) {
                break at;
            }
            if self.words.len() < self.shape.words as usize {
                self.words.push(Word { number, gone: 0, sent: i64::MIN });
                break self.words.len() - 1;
            }
            leaves = self.words.iter().map(|word| word.gone).min().unwrap_or(leaves);
        };
        let word = self.words[at];
        // A write that is not sent yet takes the bytes with it; one on its way blocks the word until it is answered.
        if word.sent <= leaves {
            let mut sent = (leaves + 1).max(self.sent + 1);
            if word.sent > i64::MIN {
                sent = sent.max(word.gone);
            }
            if self.answered.len() == self.shape.writes as usize
                && let Some(first) = self.answered.pop_front()
            {
                sent = sent.max(first + 1);
            }
            let last = self.answered.back().copied().unwrap_or(0);
            let answered = (sent + i64::from(self.shape.answer) + latency).max(last + 1);
            self.answered.push_back(answered);
            self.sent = sent;
            self.words[at].sent = sent;
            self.words[at].gone = answered + 1;
        }
        if self.queued.len() > self.shape.queue as usize + 8 {
            self.queued.pop_front();
        }
        self.queued.push_back(Queued { offset: offset(address), leaves });
    }

    /// A store enters the write buffer then.
    fn drop_gone(&mut self, leaves: i64, latency: i64) {
        let kept = 2 * latency + 64;
        let (past, first_gone) = (&mut self.past, &mut self.first_gone);
        self.words.retain(|word| {
            if word.gone <= leaves {
                past.push(*word);
                *first_gone = word.gone.min(*first_gone);
            }
            word.gone > leaves
        });
        if first_gone.saturating_add(kept) <= leaves {
            past.retain(|word| word.gone + kept > leaves);
            *first_gone = past.iter().map(|word| word.gone).min().unwrap_or(i64::MAX);
        }
    }

    /// Those in the write buffer, and those that were in it lately.
    fn all(&self) -> impl Iterator<Item = &Word> {
        self.words.iter().chain(&self.past)
    }

    /// The first cycle from `at` on in which no older store is before the write buffer that may be the same word.
    fn clear_of(&self, at: i64, address: u64) -> i64 {
        let same = |store: &&Queued| store.offset == offset(address) && store.leaves >= at;
        self.queued.iter().filter(same).map(|store| store.leaves + 1).max().unwrap_or(at)
    }

    /// The first cycle from `at` on in which no write to a line is on its way.
    fn line_clear(&self, at: i64, address: u64, line: u64) -> i64 {
        let here = |word: &Word| (word.number << 3 ^ address) & !(line - 1) == 0;
        let mine = |word: &&Word| word.sent <= at && word.gone > at && here(word);
        self.all().filter(mine).map(|word| word.gone).max().unwrap_or(at)
    }

    /// The first cycle from `at` on in which all committed stores are in the write buffer.
    pub(super) fn queue_empty(&self, at: i64) -> i64 {
        self.queued.back().map_or(at, |last| at.max(last.leaves + 1))
    }

    /// The first cycle from `at` on in which memory has all of them.
    pub(super) fn empty(&self, at: i64) -> i64 {
        self.all().map(|word| word.gone).max().unwrap_or(at).max(self.queue_empty(at))
    }
}

/// A question to the stores before an access, and their answer, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) kind: Asks,
    /// Which access of a run of instructions.
    pub(super) access: u8,
    pub(super) at: i64,
    pub(super) from: i64,
}

/// What an access asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// When a load finds no older store to its word before the write buffer, from then on.
    Load,
    /// When a load that misses can request its line.
    Line,
    /// When a store commits.
    Store,
}

/// The stores before an access.
pub(super) struct Behind<'a> {
    pub(super) stores: &'a mut Stores,
    /// The access that is being executed, and its number.
    pub(super) access: Data,
    pub(super) number: u8,
    pub(super) line: u64,
    pub(super) write_latency: i64,
    /// What they answered already; they are as they were behind that.
    pub(super) given: &'a [Question],
    /// Whether questions are recorded, and where.
    pub(super) record: Option<&'a mut Vec<Question>>,
}

impl Behind<'_> {
    /// Asks, or repeats what was answered.
    pub(super) fn ask(&mut self, kind: Asks, at: i64) -> i64 {
        let from = match self.given.split_first() {
            Some((answered, others)) => {
                self.given = others;
                answered.from
            }
            None => self.stores.answer(kind, at, &self.access, self.line, self.write_latency),
        };
        if let Some(record) = &mut self.record {
            record.push(Question { kind, access: self.number, at, from });
        }
        from
    }
}
