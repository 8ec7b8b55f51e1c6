//! Clocks, and the three units of time that must not be mixed.
//!
//! [`Ticks`] are periods of whatever counter timed, [`Nanos`] are time, [`CoreCycles`] are periods of
//! the core's own clock. They convert through [`Scale`] and [`CoreClock`] only.

mod counter;
mod os;
mod scripted;

pub use counter::Counter;
pub use os::{Os, monotonic_ns, monotonic_raw_ns};
pub use scripted::Scripted;

use crate::arch;
use crate::stamps::Now;
use serde::{Deserialize, Serialize};

/// Periods of the counter that timed. Signed and fractional: a difference of two is never clamped, and
/// an average is not a whole number.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Ticks(pub f64);

/// Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Nanos(pub f64);

/// Periods of the core's own clock.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct CoreCycles(pub f64);

/// How fast a clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Ticks per second.
    pub hz: f64,
}

impl Scale {
    /// Ticks as time.
    pub fn nanos(self, ticks: Ticks) -> Nanos {
        Nanos(ticks.0 * 1e9 / self.hz)
    }

    /// Time as ticks.
    pub fn ticks(self, nanos: Nanos) -> Ticks {
        Ticks(nanos.0 * self.hz / 1e9)
    }
}

/// How fast the core runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoreClock {
    /// Core cycles per second.
    pub hz: f64,
}

impl CoreClock {
    /// Time as core cycles.
    pub fn cycles(self, nanos: Nanos) -> CoreCycles {
        CoreCycles(nanos.0 * self.hz / 1e9)
    }
}

/// Something that counts up at a constant rate.
pub trait Clock {
    /// The count now. Everything before the call in program order has completed, nothing after it has
    /// begun, as far as the clock can ensure that.
    fn now(&self) -> u64;

    /// The same as a plain function, for stamps inside a crossing; `None` for a clock that is not of this
    /// machine.
    fn stamper(&self) -> Option<Now> {
        None
    }
}

/// The clocks that a run can be timed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The processor's counter of constant rate (x86-64: the time-stamp counter).
    Counter,
    /// CLOCK_MONOTONIC_RAW, read through the vDSO: works on any Linux.
    Os,
}

impl Source {
    /// The best clock of this machine: the counter when there is one and the processor does not say
    /// that its rate varies, else the system's.
    pub fn best() -> Self {
        if arch::HAS_COUNTER && arch::invariant() != Some(false) { Self::Counter } else { Self::Os }
    }

    /// As the record names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "tsc",
            Self::Os => "os",
        }
    }
}

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
    /// The tightest of `tries` brackets counter / system clock / counter, so that an interrupt in one of
    /// them does no harm.
    pub fn read(clock: &impl Clock, ns: impl Fn() -> u64, tries: usize) -> Self {
        let mut best: Option<Self> = None;
        for _ in 0..tries.max(1) {
            let before = clock.now();
            let ns = ns();
            let after = clock.now();
            // A bracket that ran backwards has no width, and must not pass for the tightest.
            let Some(width) = after.checked_sub(before) else { continue };
            if best.is_none_or(|best| width < best.width) {
                best = Some(Self { ticks: before + width / 2, ns, width });
            }
        }
        best.unwrap_or(Self { ticks: 0, ns: 0, width: u64::MAX })
    }

    /// The clock's rate between two moments; `None` when they do not lie apart.
    pub fn scale_until(&self, later: &Self) -> Option<Scale> {
        let ticks = later.ticks.checked_sub(self.ticks).filter(|&ticks| ticks > 0)?;
        let ns = later.ns.checked_sub(self.ns).filter(|&ns| ns > 0)?;
        Some(Scale { hz: ticks as f64 * 1e9 / ns as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_convert_through_the_rates() {
        let scale = Scale { hz: 2.5e9 };
        assert_eq!(scale.nanos(Ticks(250.0)), Nanos(100.0));
        assert_eq!(scale.ticks(Nanos(100.0)), Ticks(250.0));
        assert_eq!(CoreClock { hz: 4.0e9 }.cycles(Nanos(100.0)), CoreCycles(400.0));
    }

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
    fn a_bracket_that_ran_backwards_is_none() {
        // Widths -50 and 20: the first is no width at all, and not the tightest.
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
