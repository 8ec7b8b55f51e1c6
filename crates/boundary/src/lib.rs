//! What is crossed on this host: one file per mechanism, one static list.

#[macro_use]
mod unrolled;

mod null;
mod select;

pub use select::{UnknownProbe, select};

use tollgate_measure::Probe;

/// Every probe, in the order of the ladder's families.
pub static PROBES: &[&dyn Probe] = &[&null::Null];
