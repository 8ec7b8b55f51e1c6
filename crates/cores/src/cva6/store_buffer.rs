//! Stores between commit and memory: a queue of committed stores, and a write buffer whose words are written through.

use crate::access::Data;
use crate::core::Core;
use crate::keys;
use crate::parts::memory::Memory;
use crate::parts::recent::Recent;

use super::op::PAST;

/// The part of an address that loads compare with older stores: the number of the double word in its page.
fn page_word(address: u64) -> u64 {
    address >> 3 & 0x1ff
}

/// A committed store.
#[derive(Clone, Copy, Debug)]
struct Store {
    page_word: u64,
    /// The cycle in which it enters the write buffer.
    leaves: i64,
}

/// A write to memory of a word in the write buffer.
#[derive(Clone, Copy, Debug)]
struct Write {
    /// The number of the double word, or [`REPLACED`].
    word: u64,
    sent: i64,
    /// The first cycle in which the word is free: behind the answer.
    free: i64,
}

/// The word of a write that was followed by another one before the word was free.
const REPLACED: u64 = u64::MAX;

/// The latest writes: a ring whose length is a power of two.
#[derive(Clone, Debug)]
struct Writes {
    ring: Box<[Write]>,
    next: usize,
}

impl Writes {
    fn new(most: usize) -> Self {
        let none = Write { word: REPLACED, sent: PAST, free: PAST };
        Writes { ring: vec![none; most.next_power_of_two()].into(), next: 0 }
    }

    fn place(&self, back: usize) -> usize {
        self.next.wrapping_sub(back) & (self.ring.len() - 1)
    }

    /// The last write for `back` = 1, the one before it for 2, and so on.
    fn back(&self, back: usize) -> Write {
        self.ring[self.place(back)]
    }

    fn push(&mut self, write: Write) {
        let place = self.place(0);
        self.ring[place] = write;
        self.next = self.next.wrapping_add(1);
    }
}

/// The most stores that may be in the queue, and those that loads find before they commit.
const QUEUE: usize = 512;

/// The stores of the core.
#[derive(Clone, Debug)]
pub(super) struct StoreBuffer {
    keys: keys::StoreBuffer,
    /// Cycles until memory answers a write.
    latency: i64,
    line: u64,
    queue: Recent<Store, QUEUE>,
    /// The latest writes. Memory answers them in order.
    writes: Writes,
    /// How long a write is found on its way after the word is free: loads may be executed before older stores commit.
    kept: i64,
}

impl StoreBuffer {
    pub(super) fn new(core: &Core, memory: &Memory) -> Self {
        let keys = core.stores;
        let latency = i64::from(memory.write_latency());
        let kept = 2 * latency + 64;
        let most = kept as usize + 2 * keys.words as usize + keys.writes as usize;
        StoreBuffer {
            keys,
            latency,
            line: memory.data_line_bytes(),
            queue: Recent::new(Store { page_word: 0, leaves: PAST }),
            writes: Writes::new(most),
            kept,
        }
    }

    /// A store commits in the first cycle from `at` on in which the queue has room for it.
    #[inline(always)]
    pub(super) fn commit(&mut self, at: i64, address: u64) -> i64 {
        let at = at.max(self.queue.back(self.keys.queue as usize).leaves + 1);
        // The stores enter the write buffer one after the other.
        let leaves = self.write((at + 1).max(self.queue.back(1).leaves + 1), address >> 3);
        self.queue.push(Store { page_word: page_word(address), leaves });
        at
    }

    /// A store to a word enters the write buffer in the first cycle from `at` on in which that has room for it.
    fn write(&mut self, mut at: i64, word: u64) -> i64 {
        let found = loop {
            let (mut back, mut used, mut first_free) = (1, 0, PAST);
            // From the latest write to the first one whose word is not free.
            let found = loop {
                let write = self.writes.back(back);
                if write.free <= at {
                    break None;
                }
                if write.word == word {
                    break Some((back, write));
                }
                if write.word != REPLACED {
                    (used, first_free) = (used + 1, write.free);
                }
                back += 1;
            };
            if found.is_some() || used < self.keys.words {
                break found;
            }
            at = first_free;
        };
        let mut sent = (at + 1).max(self.writes.back(1).sent + 1);
        if let Some((back, write)) = found {
            if write.sent > at {
                // That write takes the bytes with it.
                return at;
            }
            // A write on its way blocks the word until it is answered.
            sent = sent.max(write.free);
            let place = self.writes.place(back);
            self.writes.ring[place].word = REPLACED;
        }
        sent = sent.max(self.writes.back(self.keys.writes as usize).free);
        let answered = sent + i64::from(self.keys.answer) + self.latency;
        let free = (answered + 1).max(self.writes.back(1).free + 1);
        self.writes.push(Write { word, sent, free });
        at
    }

    /// The first cycle from `at` on in which a load finds no older store in the queue that may be to its word.
    #[inline(always)]
    pub(super) fn clear_of(&self, at: i64, access: &Data) -> i64 {
        if self.queue.back(1).leaves < at { at } else { self.clear_of_queue(at, access.va) }
    }

    #[inline(never)]
    fn clear_of_queue(&self, at: i64, address: u64) -> i64 {
        let stores = (1..=self.keys.queue as usize + 9).map(|back| self.queue.back(back));
        let mut waiting = stores.take_while(|store| store.leaves >= at);
        let same = |store: &Store| store.page_word == page_word(address);
        waiting.find(same).map_or(at, |store| store.leaves + 1)
    }

    /// The first cycle from `at` on in which no write to the line of a load is on its way.
    pub(super) fn line_clear(&self, at: i64, access: &Data) -> i64 {
        let oldest = self.queue.back(1).leaves - self.kept;
        let writes = (1..=self.writes.ring.len()).map(|back| self.writes.back(back));
        let mut unanswered = writes.take_while(|write| write.free > at.max(oldest));
        let here = |write: &Write| (write.word << 3 ^ access.pa) & !(self.line - 1) == 0;
        unanswered.find(|write| write.sent <= at && here(write)).map_or(at, |write| write.free)
    }

    /// The first cycle from `at` on in which all committed stores are in the write buffer.
    pub(super) fn queue_empty(&self, at: i64) -> i64 {
        at.max(self.queue.back(1).leaves + 1)
    }

    /// The first cycle from `at` on in which memory has all of them.
    pub(super) fn empty(&self, at: i64) -> i64 {
        self.queue_empty(at).max(self.writes.back(1).free)
    }
}
