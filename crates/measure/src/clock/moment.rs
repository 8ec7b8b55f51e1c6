//! Moments known on both the counter and the system's clock, and the rate between them.

use super::{Clock, Scale};
use serde::{Deserialize, Serialize};

/// A moment read on both the counter and the system's raw monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// The counter.
    pub ticks: u64,
    /// CLOCK_MONOTONIC_RAW, in nanoseconds.
    pub ns: u64,
    /// Width of the bracket that the moment was found in, in ticks: its uncertainty.
    pub width: u64,
}

impl Moment {
    /// The tightest of `tries` brackets counter / system clock / counter, so an interrupt in one of
    /// them does no harm.
    pub fn read(clock: &impl Clock, ns: impl Fn() -> u64, tries: usize) -> Self {
        let mut best: Option<Self> = None;
        for _ in 0..tries.max(1) {
            let before = clock.now();
            let ns = ns();
            let after = clock.now();
            // Brackets that ran backwards are ignored.
            let Some(width) = after.checked_sub(before) else { continue };
            if best.is_none_or(|best| width < best.width) {
                best = Some(Self { ticks: before + width / 2, ns, width });
            }
        }
        best.unwrap_or(Self { ticks: 0, ns: 0, width: u64::MAX })
    }

    /// The clock's rate between two moments; `None` when the later one is not after the earlier one.
    pub fn scale_until(&self, later: &Self) -> Option<Scale> {
        let ticks = later.ticks.checked_sub(self.ticks).filter(|&ticks| ticks > 0)?;
        let ns = later.ns.checked_sub(self.ns).filter(|&ns| ns > 0)?;
        Some(Scale { hz: ticks as f64 * 1e9 / ns as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Scripted;

    #[test]
    fn the_tightest_bracket_wins() {
        // Three brackets of widths 90, 10 and 50; the system clock reads 1, 2, 3.
        let clock = Scripted::reading(&[0, 90, 100, 110, 200, 250]);
        let ns = std::cell::Cell::new(0);
        let moment = Moment::read(
            &clock,
            || {
                ns.set(ns.get() + 1);
                ns.get()
            },
            3,
        );
        assert_eq!(moment, Moment { ticks: 105, ns: 2, width: 10 });
    }

    #[test]
    fn a_bracket_that_ran_backwards_is_ignored() {
        // Widths -50 and 20: the first is not the tightest.
        let clock = Scripted::reading(&[100, 50, 200, 220]);
        assert_eq!(Moment::read(&clock, || 7, 2), Moment { ticks: 210, ns: 7, width: 20 });
    }

    #[test]
    fn a_rate_needs_two_moments_in_order() {
        let first = Moment { ticks: 1_000, ns: 10, width: 0 };
        let second = Moment { ticks: 3_000, ns: 1_010, width: 0 };
        assert_eq!(first.scale_until(&second), Some(Scale { hz: 2e9 }));
        assert_eq!(second.scale_until(&first), None);
        assert_eq!(first.scale_until(&first), None);
    }
}
