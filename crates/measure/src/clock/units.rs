//! The units of time, and how they convert.

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
}
