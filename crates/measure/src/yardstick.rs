//! Yardsticks: work that is the same in every run, timed among the batches of the probes.
//!
//! The machine affects a run (by its frequency, a neighbor on the same core, a neighbor in the caches) and the yardsticks
//! alike; a change of the program or of a probe does not move them. Each of them depends on another part of the machine.

use crate::arch;
use crate::clock::Clock;
use std::hint::black_box;
use tollgate_record::KERNEL_YARDSTICK;

/// The kinds of work, as the record names them. Work that changes gets another name.
pub const YARDSTICKS: [&str; 5] = ["multiply", "add", "l1-walk", "l2-walk", KERNEL_YARDSTICK];

/// Bytes of a cache line, or a multiple.
const LINE: usize = 64;
/// Fits into the first-level cache of every processor of the last fifteen years.
const L1_BYTES: usize = 16 << 10;
/// Does not fit into the first-level cache, and fits into the second.
const L2_BYTES: usize = 128 << 10;

/// The memory of the yardsticks.
pub(crate) struct Yardsticks {
    l1: Walk,
    l2: Walk,
}

/// A closed way through all lines of a piece of memory, in an order that no prefetcher follows.
struct Walk {
    lines: Vec<[u32; LINE / 4]>,
    at: u32,
}

impl Walk {
    fn new(bytes: usize) -> Self {
        let count = bytes / LINE;
        let mut lines = vec![[0; LINE / 4]; count];
        // A multiplier of the form 8 k + 5 and an odd increment visit each of 2^n places once (Hull and Dobell 1962).
        let next = |at: usize| at.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) % count;
        for (at, line) in lines.iter_mut().enumerate() {
            line[0] = next(at) as u32;
        }
        Self { lines, at: 0 }
    }

    /// Makes a number of steps, each to an address that the one before it loaded.
    fn steps(&mut self, count: usize) {
        let mut at = self.at;
        for _ in 0..count {
            at = self.lines[at as usize][0];
        }
        self.at = black_box(at);
    }

    fn around(&mut self, times: usize) {
        self.steps(times * self.lines.len());
    }
}

impl Yardsticks {
    pub(crate) fn new() -> Self {
        Self { l1: Walk::new(L1_BYTES), l2: Walk::new(L2_BYTES) }
    }

    /// Ticks of each kind of work, in the order of [`YARDSTICKS`]; `None` if the clock ran backwards.
    pub(crate) fn time(&mut self, clock: &impl Clock) -> Vec<Option<u64>> {
        // Some 10 us each, after what makes caches and predictors those of this work.
        (0..YARDSTICKS.len())
            .map(|kind| {
                self.work(kind, true);
                let start = clock.now();
                self.work(kind, false);
                clock.now().checked_sub(start)
            })
            .collect()
    }

    fn work(&mut self, kind: usize, warm: bool) {
        let less = if warm { 8 } else { 1 };
        match kind {
            0 => _ = arch::multiply_chain(10_000 / less),
            1 => _ = arch::additions(100_000 / less),
            2 => self.l1.around(if warm { 4 } else { 20 }),
            3 => self.l2.around(1),
            _ => kernel(64 / less),
        }
    }
}

/// The shortest way into the kernel and back.
fn kernel(calls: u64) {
    for _ in 0..calls {
        // SAFETY: this call has no argument and no effect.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Scripted;

    #[test]
    fn a_walk_visits_each_line_once() {
        for bytes in [L1_BYTES, L2_BYTES] {
            let mut walk = Walk::new(bytes);
            let mut seen = vec![false; bytes / LINE];
            for _ in 0..seen.len() {
                walk.steps(1);
                assert!(!std::mem::replace(&mut seen[walk.at as usize], true));
            }
            assert_eq!(walk.at, 0);
        }
    }

    #[test]
    fn each_work_is_timed_and_a_clock_that_runs_backwards_is_not() {
        let readings: Vec<u64> = (0..YARDSTICKS.len() as u64).flat_map(|kind| [100, 110 + kind]).collect();
        let found = Yardsticks::new().time(&Scripted::reading(&readings));
        assert_eq!(found, [Some(10), Some(11), Some(12), Some(13), Some(14)]);
        let found = Yardsticks::new().time(&Scripted::reading(&[100, 50].repeat(YARDSTICKS.len())));
        assert_eq!(found, [None; YARDSTICKS.len()]);
    }
}
