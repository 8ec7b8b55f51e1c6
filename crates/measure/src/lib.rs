//! How to measure: clock, sampler, statistics, placement, host facts.
//!
//! This crate knows no boundary by name and prints nothing.

pub mod doctor;
pub mod host;
pub mod noise;
pub mod placement;
pub mod probe;

pub use probe::{Claim, Crossing, Meta, Placement, Probe, Refusal, Site};
