//! The data port of a core whose stores go to memory behind the pipe, and whose loads may come too early for them.

/// The port, and the stores on their way through it.
#[derive(Clone, Debug)]
pub(super) struct StorePort {
    /// Stores that may be on their way.
    slots: usize,
    /// Cycles of each on the port.
    cycles: i64,
    /// Bubbles of a load that overlaps with one that is being written.
    redo: i64,
    state: State,
}

/// The state on which later instructions depend, with cycles as the pipe counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// When each store is in memory, the oldest first.
    done: Vec<i64>,
    /// When the latest stores were in WB, the last one first.
    written: [i64; 2],
    /// Whether a fence is the latest.
    fenced: bool,
}

impl StorePort {
    /// A port through which a number of stores may be on their way, each as long as memory's `latency`.
    pub(super) fn of(slots: usize, latency: u32, redo: i64) -> Self {
        let state = State { written: [i64::MIN / 2; 2], ..State::default() };
        StorePort { slots, cycles: i64::from(latency) + 1, redo, state }
    }

    /// Bubbles of a load whose last cycle in EX was `execute`. `overlap` has a bit for each of the latest stores, the
    /// lowest for the latest.
    pub(super) fn redo(&self, execute: i64, overlap: u8) -> i64 {
        let [last, before] = self.state.written;
        let collides = overlap & 1 != 0 && last >= execute || overlap & 2 != 0 && before >= execute;
        if collides { self.redo } else { 0 }
    }

    /// The cycle in which an access that would be in WB in `write` is there: behind a fence when all stores are in
    /// memory, a store when there is room for it.
    pub(super) fn access(&mut self, write: i64, stores: bool) -> i64 {
        let state = &mut self.state;
        let mut at = write;
        if std::mem::take(&mut state.fenced) {
            at = state.done.last().map_or(at, |done| at.max(done + 1));
        }
        state.done.retain(|&done| done > at);
        if stores && self.slots > 0 && state.done.len() >= self.slots {
            at = at.max(state.done[state.done.len() - self.slots]);
        }
        at
    }

    /// When all stores are in memory.
    pub(super) fn free(&self) -> i64 {
        self.state.done.last().copied().unwrap_or(i64::MIN / 2)
    }

    /// A store is in WB.
    pub(super) fn store(&mut self, write: i64) {
        let state = &mut self.state;
        state.written = [write, state.written[0]];
        if self.slots > 0 {
            let free = state.done.last().copied().unwrap_or(i64::MIN / 2);
            state.done.retain(|&done| done > write);
            state.done.push(free.max(write + 1) + self.cycles);
        }
    }

    /// Accesses wait until all stores are in memory.
    pub(super) fn fence(&mut self) {
        self.state.fenced = self.slots > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port() -> StorePort {
        StorePort::of(2, 4, 5)
    }

    #[test]
    fn two_stores_are_on_their_way_and_each_takes_the_port_five_cycles() {
        let mut port = port();
        let mut last = 9;
        // rtl: VexRiscv, fence.code_after_stores: two at once, then one each five cycles.
        let stores: Vec<i64> = (0..5)
            .map(|_| {
                last = port.access(last + 1, true);
                port.store(last);
                last
            })
            .collect();
        assert_eq!(stores, [10, 11, 16, 21, 26]);
        // A load does not wait, one behind a fence does.
        assert_eq!(port.access(27, false), 27);
        port.fence();
        assert_eq!(port.access(28, false), 37);
        assert_eq!(port.access(38, false), 38);
    }

    #[test]
    fn a_load_that_reads_while_an_overlapping_store_writes_comes_again() {
        let mut port = port();
        port.store(10);
        port.store(11);
        // In EX in 10 and 11, when the latest store is in MEM and in WB, and in 12.
        assert_eq!([10, 11, 12].map(|execute| port.redo(execute, 0b01)), [5, 5, 0]);
        assert_eq!([10, 11].map(|execute| port.redo(execute, 0b10)), [5, 0]);
        assert_eq!(port.redo(10, 0), 0);
    }
}
