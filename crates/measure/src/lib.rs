//! How to measure: clock, sampler, statistics, placement, host facts.
//!
//! This crate knows no boundary by name and prints nothing.

pub mod arch;
pub mod bench;
pub mod bill;
pub mod clock;
pub mod counters;
pub mod doctor;
pub mod host;
pub mod knees;
pub mod local;
pub mod noise;
pub mod other;
pub mod placement;
pub mod probe;
pub mod remote;
pub mod sampler;
pub mod session;
pub mod stamps;
pub mod stats;
pub mod summary;
pub mod turns;
pub mod worker;

pub use probe::{Claim, CounterReading, Crossing, Facts, Meta, Placement, Probe, Refusal, Site};
