//! A latency of lmbench as a row.

use crate::import::figures::{MICROSECOND, alone, asked, round_trip};
use tollgate_record::{Measurement, Per};

const ENGINE: &str = "imported-lmbench";

/// A latency of lmbench.
#[derive(Clone, Copy)]
pub(super) enum Latency {
    One(&'static str, Per),
    RoundTrip(&'static str),
}

impl Latency {
    pub(super) fn row(self, microseconds: f64) -> Measurement {
        match self {
            Self::One(probe, per) => alone(probe, ENGINE, per, microseconds * MICROSECOND),
            Self::RoundTrip(probe) => round_trip(probe, ENGINE, microseconds * MICROSECOND),
        }
    }
}

/// What `lat_ctx` measures: hot work taken off, so the switch and what it costs to find the caches cold.
const CTX: Latency = Latency::One("process/lmbench-ctx", Per::Switch);

pub(super) fn of_ring(procs: u64, bytes: u64, microseconds: f64) -> Measurement {
    let mut row = CTX.row(microseconds);
    let asked = asked(&mut row);
    (asked.procs, asked.size) = (Some(procs), Some(bytes));
    row
}
