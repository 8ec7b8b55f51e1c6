//! Stores that wait for a free cycle of the data array, and loads that come too early for them.

/// The most stores that wait.
const MOST: usize = 2;

/// Stores on their way into the data array: each is written in a cycle in which no load is in EX, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    /// From when each can be written, the oldest first.
    from: Vec<i64>,
    /// Whether the latest one also reads.
    reads: bool,
    /// The first cycle that may be free.
    free: i64,
}

/// What comes to EX in the two cycles behind a load that is replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Behind {
    /// Whether it reads memory.
    pub(super) reads: [bool; 2],
    /// Whether the last of it is a store.
    pub(super) stores: bool,
    /// Whether the load itself also writes.
    pub(super) again: bool,
}

impl Waiting {
    /// Writes what can be written before a cycle.
    pub(super) fn settle(&mut self, before: i64) {
        while let Some(&from) = self.from.first() {
            self.free = self.free.max(from);
            if self.free >= before {
                return;
            }
            self.free += 1;
            self.from.remove(0);
        }
        self.free = 0;
        self.reads = false;
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.from.is_empty()
    }

    /// A load is in EX. Yields, if it has to be replayed because it overlaps with a store that waits, in how many cycles of its
    /// way back the data array is still written: `overlap` has a bit for each of the latest stores, the lowest for the latest.
    pub(super) fn load(&mut self, execute: i64, overlap: u8, behind: Behind) -> Option<i64> {
        self.settle(execute);
        if overlap & ((1 << self.from.len()) - 1) != 0 {
            let mut busy = behind.reads;
            // What comes next takes the only place, and would have to read before it writes.
            busy[1] &= !(behind.again && self.reads);
            for (cycle, busy) in (execute + 1..).zip(busy) {
                if !busy && self.from.first().is_some_and(|&from| from <= cycle) {
                    self.from.remove(0);
                }
            }
            // Until it comes again all are written.
            let left = std::mem::take(&mut self.from).len() as i64;
            self.reads = false;
            return Some(if behind.stores { 0 } else { left });
        }
        self.free = self.free.max(execute + 1);
        None
    }

    /// A store is in EX; one that also reads is written a cycle later.
    pub(super) fn store(&mut self, execute: i64, reads: bool) {
        self.settle(execute + i64::from(!reads));
        if self.from.len() == MOST {
            self.from.remove(0);
        }
        self.from.push(execute + 2 + i64::from(reads));
        self.reads = reads;
    }

    /// The same with all cycles moved.
    pub(super) fn moved(&self, by: i64) -> Self {
        let free = if self.from.is_empty() { 0 } else { self.free + by };
        Waiting { from: self.from.iter().map(|from| from + by).collect(), reads: self.reads, free }
    }
}

#[cfg(test)]
mod tests {
    use super::{Behind, Waiting};

    #[test]
    fn a_store_is_written_in_the_first_cycle_without_a_load_after_its_tags_are_known() {
        // sd in EX in 10, ld in 11: the store comes to its third stage in 12.
        let replayed = |loads: &[i64], at: i64| {
            let mut waiting = Waiting::default();
            waiting.store(10, false);
            for &load in loads {
                assert_eq!(waiting.load(load, 0, Behind::default()), None);
            }
            waiting.load(at, 1, Behind::default()).is_some()
        };
        assert!(replayed(&[], 11));
        // In 12 that load is in EX itself.
        assert!(replayed(&[], 12));
        assert!(!replayed(&[], 13));
        assert!(replayed(&[11, 12, 13], 14));
        assert!(!replayed(&[11, 12], 14));
    }

    #[test]
    fn the_oldest_goes_first() {
        let mut waiting = Waiting::default();
        waiting.store(10, false);
        waiting.store(11, false);
        // 12 is free for the first, 13 is not for the second.
        let mut replayed = |at, overlap| waiting.load(at, overlap, Behind::default()).is_some();
        assert!(!replayed(14, 0b01));
        let mut waiting = Waiting::default();
        waiting.store(10, false);
        waiting.store(11, false);
        assert_eq!(waiting.clone().load(13, 0b10, Behind::default()), None);
        assert_eq!(waiting.load(13, 0b01, Behind::default()), Some(0));
    }

    #[test]
    fn a_load_that_is_replayed_waits_for_stores_that_are_still_to_be_written() {
        // The replay begins two cycles behind EX, and the cache takes nothing in the cycle behind that if it writes then.
        let more = |stores: &[(i64, bool)], at, reads, again, stores_behind| {
            let mut waiting = Waiting::default();
            for &(execute, reads) in stores {
                waiting.store(execute, reads);
            }
            // Loads without an overlap in all cycles between.
            for execute in stores[stores.len() - 1].0 + 1..at {
                waiting.load(execute, 0, Behind::default());
            }
            waiting.load(at, 0b11, Behind { reads, stores: stores_behind, again })
        };
        // rtl: Rocket, caller: five loads in a row, the fifth of the word that was stored before them, and two behind it.
        assert_eq!(more(&[(10, false)], 15, [true, true], false, false), Some(1));
        assert_eq!(more(&[(10, false)], 15, [true, false], false, false), Some(0));
        // rtl: store.save_and_restore: two stores, and two loads before something else.
        assert_eq!(more(&[(10, false), (11, false)], 16, [true, false], false, false), Some(1));
        // rtl: amo.after_store: amoadd, sw, amoadd; behind it sw and amoadd, or neither.
        assert_eq!(more(&[(10, true), (11, false)], 12, [false, true], true, false), Some(1));
        assert_eq!(more(&[(10, true), (11, false)], 12, [false, false], true, false), Some(0));
        // rtl: amo.swap_independent: two of four amoswap, behind which are the others.
        assert_eq!(more(&[(10, true)], 11, [true, true], true, false), Some(0));
        // A store asks for no read.
        assert_eq!(more(&[(10, false), (11, false)], 16, [true, false], false, true), Some(0));
    }
}
