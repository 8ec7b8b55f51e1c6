//! Clocks, and the three units of time that must not be mixed.
//!
//! [`Ticks`] are periods of whatever counter timed, [`Nanos`] are time, [`CoreCycles`] are periods of
//! the core's own clock. They convert through [`Scale`] and [`CoreClock`] only.

mod moment;
mod scripted;
mod source;
mod units;

pub use moment::Moment;
pub use scripted::Scripted;
pub use source::{Counter, Os, Source, monotonic_ns, monotonic_raw_ns, thread_cpu_ns};
pub use units::{CoreClock, CoreCycles, Nanos, Scale, Ticks};

/// Reads a clock from plain code, without a [`Clock`] at hand.
pub type Now = fn() -> u64;

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
