//! The method: clock, sampler, statistics, placement, host facts.
//!
//! This crate does not name any boundary and prints nothing.

pub mod arch;
pub mod bench;
pub mod bpf;
pub mod clock;
pub mod counters;
pub mod dissection;
pub mod doctor;
pub mod host;
pub mod knees;
pub mod local;
pub mod noise;
pub mod other;
mod perf;
pub mod placement;
pub mod probe;
mod refusal;
pub mod remote;
mod room;
pub mod sampler;
pub mod samples;
pub mod self_check;
pub mod stamps;
pub mod stats;
pub mod summary;
pub mod worker;
pub mod yardstick;

pub use probe::{Claim, CounterReading, Crossing, Facts, Meta, Placement, Probe, Site};
pub use refusal::Refusal;
pub use room::leave_room;
