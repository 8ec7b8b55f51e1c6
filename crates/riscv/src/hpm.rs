//! Zihpm: the counters of events. Only the model of a core has events, so an observer says how often they happened.

use serde::{Deserialize, Serialize};

/// How often each event happened, in the order of the numbers that `mhpmevent` takes, from 1: misses of the first-level
/// instruction cache, of the first-level data cache, of the second level, of the translation buffers for instructions and for data,
/// mispredictions of branches and indirect jumps, traps.
pub type EventCounts = [u64; EVENTS];

const EVENTS: usize = 7;
/// `mhpmcounter3` to `mhpmcounter31`.
const COUNTERS: usize = 29;
const FIRST: u16 = 3;

/// All counters of a hart.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counters {
    happened: EventCounts,
    counters: [Counter; COUNTERS],
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Counter {
    /// 0 counts nothing.
    event: u8,
    /// What to add to how often it happened, because software sets the counter and selects the event.
    offset: u64,
}

/// Whether a register is one of these counters or chooses its event.
pub(crate) fn is_counter(number: u16) -> bool {
    matches!(number & !0x1f, 0xb00 | 0xb80 | 0xc00 | 0xc80 | 0x320) && number & 0x1f >= FIRST
}

/// The place of the counter to which a register belongs.
fn place(number: u16) -> usize {
    usize::from((number & 0x1f).saturating_sub(FIRST)) % COUNTERS
}

impl Counters {
    /// So often events happened since the last time.
    pub(crate) fn add(&mut self, more: &EventCounts) {
        self.happened.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
    }

    fn happened(&self, event: u8) -> u64 {
        usize::from(event).checked_sub(1).and_then(|n| self.happened.get(n)).copied().unwrap_or(0)
    }

    pub(crate) fn value(&self, number: u16) -> u64 {
        let counter = self.counters[place(number)];
        self.happened(counter.event).wrapping_add(counter.offset)
    }

    pub(crate) fn set(&mut self, number: u16, value: u64) {
        let event = self.counters[place(number)].event;
        self.counters[place(number)].offset = value.wrapping_sub(self.happened(event));
    }

    pub(crate) fn event(&self, number: u16) -> u64 {
        u64::from(self.counters[place(number)].event)
    }

    /// Chooses what a counter counts from now on; its value stays. An event that does not exist is not accepted.
    pub(crate) fn select(&mut self, number: u16, event: u64) {
        if event <= EVENTS as u64 {
            let value = self.value(number);
            self.counters[place(number)].event = event as u8;
            self.set(number, value);
        }
    }
}
