//! Stores that wait for a free cycle of the data array, and loads that come too early for them.

/// Stores on their way into the data array, two at most: each is written in a cycle in which no load is in EX, the oldest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingStores {
    /// How many they are.
    count: usize,
    /// From when each can be written, the oldest first.
    from: [i64; 2],
    /// Whether the latest one also reads.
    reads: bool,
    /// The first cycle that may be free.
    free: i64,
}

/// The instructions in EX in the two cycles behind a load that is replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Behind {
    /// Reads memory.
    pub(super) reads: [bool; 2],
    /// Whether the last of it is a store.
    pub(super) stores: bool,
    /// Whether the load itself also writes.
    pub(super) again: bool,
}

impl WaitingStores {
    pub(super) const NONE: WaitingStores = WaitingStores { count: 0, from: [0; 2], reads: false, free: 0 };

    pub(super) fn any(&self) -> bool {
        self.count > 0
    }

    fn remove_oldest(&mut self) {
        self.from[0] = self.from[1];
        self.count -= 1;
    }

    /// Writes what can be written before a cycle.
    #[inline(always)]
    fn settle(&mut self, before: i64) {
        while self.count > 0 {
            self.free = self.free.max(self.from[0]);
            if self.free >= before {
                return;
            }
            self.free += 1;
            self.remove_oldest();
        }
        self.free = 0;
        self.reads = false;
    }

    /// Whether a load that is in EX then overlaps with a store that waits: `overlap` has a bit for each of the latest stores, the
    /// lowest for the latest. If not, no store is written in this cycle.
    #[inline(always)]
    pub(super) fn load(&mut self, execute: i64, overlap: u8) -> bool {
        let overlaps = self.overlaps(execute, overlap);
        if !overlaps {
            self.keep_out(execute);
        }
        overlaps
    }

    /// True if such a load would overlap.
    #[inline(always)]
    pub(super) fn overlaps(&mut self, execute: i64, overlap: u8) -> bool {
        self.settle(execute);
        usize::from(overlap) & ((1 << self.count) - 1) != 0
    }

    /// A load takes a cycle of the data array.
    #[inline(always)]
    pub(super) fn keep_out(&mut self, execute: i64) {
        self.free = self.free.max(execute + 1);
    }

    /// Such a load is replayed. Yields in how many cycles of its way back the data array is still written.
    pub(super) fn replay(&mut self, execute: i64, behind: Behind) -> i64 {
        let mut busy = behind.reads;
        // The next one takes the only place, and would have to read before it writes.
        busy[1] &= !(behind.again && self.reads);
        for (cycle, busy) in (execute + 1..).zip(busy) {
            if !busy && self.count > 0 && self.from[0] <= cycle {
                self.remove_oldest();
            }
        }
        // Until it comes again all are written.
        let left = std::mem::replace(self, WaitingStores::NONE).count as i64;
        if behind.stores { 0 } else { left }
    }

    /// A store is in EX; one that also reads is written a cycle later.
    #[inline(always)]
    pub(super) fn store(&mut self, execute: i64, reads: bool) {
        self.settle(execute + i64::from(!reads));
        if self.count == self.from.len() {
            self.remove_oldest();
        }
        self.from[self.count % 2] = execute + 2 + i64::from(reads);
        self.count += 1;
        self.reads = reads;
    }
}

#[cfg(test)]
mod tests {
    use super::{Behind, WaitingStores};

    fn replayed(waiting: &mut WaitingStores, execute: i64, overlap: u8, behind: Behind) -> Option<i64> {
        waiting.load(execute, overlap).then(|| waiting.replay(execute, behind))
    }

    #[test]
    fn a_store_is_written_in_the_first_cycle_without_a_load_after_its_tags_are_known() {
        // sd in EX in 10, ld in 11: the store comes to its third stage in 12.
        let comes_again = |loads: &[i64], at: i64| {
            let mut waiting = WaitingStores::NONE;
            waiting.store(10, false);
            for &load in loads {
                assert!(!waiting.load(load, 0));
            }
            waiting.load(at, 1)
        };
        assert!(comes_again(&[], 11));
        // In 12 that load is in EX itself.
        assert!(comes_again(&[], 12));
        assert!(!comes_again(&[], 13));
        assert!(comes_again(&[11, 12, 13], 14));
        assert!(!comes_again(&[11, 12], 14));
    }

    #[test]
    fn the_oldest_goes_first() {
        let mut waiting = WaitingStores::NONE;
        waiting.store(10, false);
        waiting.store(11, false);
        // 12 is free for the first, 13 is not for the second.
        assert!(![14].map(|at| { waiting }.load(at, 0b01))[0]);
        assert!(!{ waiting }.load(13, 0b10));
        assert_eq!(replayed(&mut waiting, 13, 0b01, Behind::default()), Some(0));
    }

    #[test]
    fn a_load_that_is_replayed_waits_for_stores_that_are_still_to_be_written() {
        // The replay begins two cycles behind EX, and the cache takes nothing in the cycle behind that if it writes then.
        let more = |stores: &[(i64, bool)], at, reads, again, stores_behind| {
            let mut waiting = WaitingStores::NONE;
            for &(execute, reads) in stores {
                waiting.store(execute, reads);
            }
            // Loads without an overlap in all cycles between.
            for execute in stores[stores.len() - 1].0 + 1..at {
                waiting.load(execute, 0);
            }
            replayed(&mut waiting, at, 0b11, Behind { reads, stores: stores_behind, again })
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
