//! Counters: one that software sets and stops, and Zihpm's counters of events. Only the model of a core has events, so an
//! observer says how often they happened.

use serde::{Deserialize, Serialize};

/// How often each event happened, in the order of the numbers that `mhpmevent` takes, from 1: misses of the first-level
/// instruction cache, of the first-level data cache, of the second level, of the translation buffers for instructions and for data,
/// mispredictions of branches and indirect jumps, traps.
pub type EventCounts = [u64; EVENTS];

const EVENTS: usize = 7;
/// `mhpmcounter3` to `mhpmcounter31`.
const COUNTERS: usize = 29;
const FIRST: u16 = 3;

/// A counter that software sets and stops: its value follows from a sum that always runs on.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Count {
    /// The offset from the sum; of a stopped counter the value.
    offset: u64,
    stopped: bool,
}

impl Count {
    pub(crate) fn value(self, sum: u64) -> u64 {
        if self.stopped { self.offset } else { sum.wrapping_add(self.offset) }
    }

    pub(crate) fn set(&mut self, sum: u64, value: u64) {
        self.offset = if self.stopped { value } else { value.wrapping_sub(sum) };
    }

    /// Stops it, or lets it run, as `mcountinhibit` says; its value stays (3.1.12).
    pub(crate) fn stop(&mut self, sum: u64, stopped: bool) {
        let value = self.value(sum);
        self.stopped = stopped;
        self.set(sum, value);
    }

    pub(crate) fn is_stopped(self) -> bool {
        self.stopped
    }

    /// Runs ahead of the sum, unless it is stopped.
    pub(crate) fn add(&mut self, more: i64) {
        if !self.stopped {
            self.offset = self.offset.wrapping_add_signed(more);
        }
    }
}

/// All counters of events of a hart.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counters {
    happened: EventCounts,
    counters: [Counter; COUNTERS],
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Counter {
    /// 0 counts nothing.
    event: u8,
    count: Count,
}

/// Whether a register is one of these counters, chooses its event or stops it.
pub(crate) fn is_counter(number: u16) -> bool {
    // (The register that stops them is the first of those that choose events.)
    number == 0x320
        || number == 0xda0
        || matches!(number & !0x1f, 0xb00 | 0xb80 | 0xc00 | 0xc80 | 0x320 | 0x720) && number & 0x1f >= FIRST
}

/// Where the count of an event is; `None` for 0, which counts nothing.
fn place_of(event: u8) -> Option<usize> {
    usize::from(event).checked_sub(1).filter(|n| *n < EVENTS)
}

/// The place of the counter to which a register belongs.
pub(crate) fn place(number: u16) -> usize {
    usize::from((number & 0x1f).saturating_sub(FIRST)) % COUNTERS
}

impl Counters {
    /// So often events happened since the last time.
    pub(crate) fn add(&mut self, more: &EventCounts) {
        self.happened.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
    }

    /// The same where some counters do not count; yields those that overflow.
    pub(crate) fn add_unless(&mut self, more: &EventCounts, inhibited: [bool; COUNTERS]) -> Vec<usize> {
        let before = self.counters.map(|counter| counter.count.value(self.happened(counter.event)));
        let by = self.counters.map(|counter| place_of(counter.event).map_or(0, |n| more[n]));
        self.add(more);
        let mut overflowed = Vec::new();
        for n in 0..COUNTERS {
            let count = &mut self.counters[n].count;
            if inhibited[n] {
                count.add((by[n] as i64).wrapping_neg());
            } else if !count.is_stopped() && before[n].checked_add(by[n]).is_none() {
                overflowed.push(n);
            }
        }
        overflowed
    }

    fn happened(&self, event: u8) -> u64 {
        place_of(event).map_or(0, |n| self.happened[n])
    }

    pub(crate) fn value(&self, number: u16) -> u64 {
        let counter = self.counters[place(number)];
        counter.count.value(self.happened(counter.event))
    }

    pub(crate) fn set(&mut self, number: u16, value: u64) {
        let happened = self.happened(self.counters[place(number)].event);
        self.counters[place(number)].count.set(happened, value);
    }

    /// Which of them are stopped: bit 3 for the first one.
    pub(crate) fn stopped(&self) -> u64 {
        let bits = self.counters.iter().rev();
        bits.fold(0, |bits, counter| bits << 1 | u64::from(counter.count.is_stopped())) << FIRST
    }

    /// Stops those whose bits are set, and lets the others run.
    pub(crate) fn stop(&mut self, bits: u64) {
        for n in 0..COUNTERS {
            let happened = self.happened(self.counters[n].event);
            self.counters[n].count.stop(happened, bits >> FIRST >> n & 1 != 0);
        }
    }

    pub(crate) fn event(&self, number: u16) -> u64 {
        u64::from(self.counters[place(number)].event)
    }

    /// Chooses the event of a counter from now on; its value stays. An event that does not exist is not accepted.
    pub(crate) fn select(&mut self, number: u16, event: u64) {
        if event <= EVENTS as u64 {
            let value = self.value(number);
            self.counters[place(number)].event = event as u8;
            self.set(number, value);
        }
    }
}
