//! How ticks become time, and time becomes core cycles.

use crate::clock::{CoreClock, Nanos, Scale, Ticks};

/// The conversion of figures in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    /// The clock's rate.
    pub scale: Scale,
    /// Whether ticks are those of a counter, so that they are worth recording.
    pub ticks: bool,
    /// The core's rate, where it could be measured.
    pub core: Option<CoreClock>,
    /// By how much that rate varied, as a share of it: 1.96 standard deviations of its readings, the half
    /// width of what 95 % of normally distributed ones are within. Zero where it is not known.
    pub core_spread: f64,
}

impl Units {
    /// Nanoseconds of one tick.
    pub fn ns_per_tick(&self) -> f64 {
        self.scale.nanos(Ticks(1.0)).0
    }

    /// Core cycles of one nanosecond, where the core's rate is known.
    pub fn cycles_per_ns(&self) -> Option<f64> {
        self.core.map(|core| core.cycles(Nanos(1.0)).0)
    }
}
