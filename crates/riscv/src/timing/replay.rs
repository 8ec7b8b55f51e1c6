//! Stores that wait for a free cycle of the data array, and loads that come too early for them.

/// The most stores that wait.
const MOST: usize = 2;

/// Stores on their way into the data array: each is written in a cycle in which no load is in EX, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    /// From when each can be written, the oldest first.
    from: Vec<i64>,
    /// The first cycle that may be free.
    free: i64,
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
    }

    /// A load is in EX. Yields whether it has to be replayed because it overlaps with a store that waits: `overlap` has a
    /// bit for each of the latest stores, the lowest for the latest.
    pub(super) fn load(&mut self, execute: i64, overlap: u8) -> bool {
        self.settle(execute);
        if overlap & ((1 << self.from.len()) - 1) != 0 {
            // Until it comes again all are written.
            self.from.clear();
            return true;
        }
        self.free = self.free.max(execute + 1);
        false
    }

    /// A store is in EX; one that also reads is written a cycle later.
    pub(super) fn store(&mut self, execute: i64, reads: bool) {
        self.settle(execute + i64::from(!reads));
        if self.from.len() == MOST {
            self.from.remove(0);
        }
        self.from.push(execute + 2 + i64::from(reads));
    }

    /// The same with all cycles moved.
    pub(super) fn moved(&self, by: i64) -> Self {
        let free = if self.from.is_empty() { 0 } else { self.free + by };
        Waiting { from: self.from.iter().map(|from| from + by).collect(), free }
    }
}

#[cfg(test)]
mod tests {
    use super::Waiting;

    #[test]
    fn a_store_is_written_in_the_first_cycle_without_a_load_after_its_tags_are_known() {
        // sd in EX in 10, ld in 11: the store comes to its third stage in 12.
        let replayed = |loads: &[i64], at: i64| {
            let mut waiting = Waiting::default();
            waiting.store(10, false);
            for &load in loads {
                assert!(!waiting.load(load, 0));
            }
            waiting.load(at, 1)
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
        assert!(!waiting.clone().load(13, 0b10));
        assert!(waiting.clone().load(13, 0b01));
        assert!(!waiting.load(14, 0b01));
    }
}
