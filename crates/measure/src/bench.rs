//! The bench: the place where probes are open and batches are timed.
//!
//! The sampler sends requests, the bench answers. [`Local`](crate::local::Local) does the work in this process,
//! with any clock. [`Remote`](crate::remote::Remote) passes each request to a worker process, so a probe that
//! crashes or hangs takes nothing else with it, and each epoch has a fresh address space.

use crate::dissection::Dissection;
use crate::noise::BatchNoise;
use crate::probe::Facts;
use serde::{Deserialize, Serialize};

/// Version of the protocol between sampler and worker. It changes whenever [`Request`] or [`Reply`] changes in form or
/// meaning: two programs can take turns (`tollgate run --against`) only if both speak the same version.
pub const PROTOCOL: u32 = 4;

/// A request of the sampler. A probe is named by its place in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Open a probe.
    Open {
        /// Its place in the list.
        probe: usize,
    },
    /// Close a probe.
    Close {
        /// Its place in the list.
        probe: usize,
    },
    /// Cross `warm` times outside the clock, then time one batch for each entry of `passes`, until time is up.
    Visit {
        /// Its place in the list.
        probe: usize,
        /// Passes before the clock starts, so that caches and predictors are this probe's again.
        warm: u64,
        /// Passes of each batch; 0 times the empty call.
        passes: Vec<u64>,
        /// No further batch begins after this many ticks.
        most_ticks: u64,
    },
    /// Time single passes one by one.
    Singles {
        /// Its place in the list.
        probe: usize,
        /// How many, at least and at most.
        count: (u32, u32),
        /// As many as fit into this many ticks, with the work before and after each of them.
        ticks: u64,
        /// No further pass begins after this many ticks, even if there are too few.
        most_ticks: u64,
    },
    /// Make about `count` single passes with stamps at their cuts.
    Dissect {
        /// Its place in the list.
        probe: usize,
        /// How many.
        count: u32,
    },
    /// Time each of the [yardsticks](crate::yardstick::YARDSTICKS) once.
    Yardsticks,
    /// Time chains of dependent arithmetic, for the core's frequency.
    Core,
    /// Read the clock and the system's clock together.
    Moment,
}

/// An answer of the bench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// The probe is open.
    Opened {
        /// The most passes of one batch.
        most_passes: u64,
        /// The probe's facts, for the record.
        facts: Box<Facts>,
        /// How its crossings are taken apart, where they are.
        dissection: Option<Dissection>,
    },
    /// The probe cannot be measured here.
    Skipped {
        /// Why.
        reason: String,
        /// The remedy.
        enable: String,
    },
    /// The probe failed; it is closed now.
    Failed {
        /// The reason.
        reason: String,
    },
    /// The probe is closed.
    Closed,
    /// A visit's batches.
    Visited {
        /// Ticks of each batch that was begun in time, the clock's own cost included.
        ticks: Vec<u64>,
        /// Counts of the proof.
        counts: Vec<Option<u64>>,
        /// Passes of the visit, warm-up included.
        passes: u64,
        /// The disturbances of the measuring thread.
        noise: BatchNoise,
    },
    /// Ticks of each single pass, the clock's own cost included.
    Singles {
        /// One entry for each pass.
        ticks: Vec<u64>,
        /// As many empty passes, timed the same way.
        empty: Vec<u64>,
    },
    /// Spans of single passes.
    Dissected {
        /// Ticks of the spans of each lane, the cost of the stamps removed.
        lanes: Vec<Vec<f64>>,
        /// How far the kernel's stamps may be from the counter, in ticks.
        doubt: f64,
    },
    /// Ticks of each yardstick; none if the clock ran backwards.
    Yardsticks(Vec<Option<u64>>),
    /// Chains of dependent arithmetic. The same place in the first three stands for the same moment.
    Core {
        /// Ticks for each dependent multiply, each entry from one long chain, fixed cost removed.
        multiply: Vec<f64>,
        /// Ticks for each dependent addition, also from one long chain.
        add: Vec<f64>,
        /// Ticks of a chain of 1,000 dependent multiplies timed as a batch is, fixed cost removed.
        thousand: Vec<f64>,
        /// Ticks of an empty pair of clock readings.
        pair: Vec<u64>,
    },
    /// The clock and the system's clock together.
    Moment(crate::clock::Moment),
    /// This bench cannot measure anything: the only answer of a worker that could not be set up.
    Unusable {
        /// Why, and what to do.
        reason: String,
    },
}

/// The bench is gone: the worker crashed, hung or was killed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Lost(pub String);

/// Where probes are open and batches are timed.
pub trait Bench {
    /// Answers one request.
    ///
    /// # Errors
    /// [`Lost`] when the bench answers nothing more before [`Bench::restart`].
    fn ask(&mut self, request: &Request) -> Result<Reply, Lost>;

    /// Answers these requests one after the other, without the way there and back between them.
    ///
    /// # Errors
    /// As [`Bench::ask`].
    fn ask_all(&mut self, requests: &[Request]) -> Result<Vec<Reply>, Lost> {
        requests.iter().map(|request| self.ask(request)).collect()
    }

    /// Starts again with every probe closed: the beginning of an epoch.
    ///
    /// # Errors
    /// [`Lost`] when it cannot be started.
    fn restart(&mut self) -> Result<(), Lost>;

    /// Closes all probes, so that another bench can work; [`Bench::restart`] is the next call.
    fn pause(&mut self) {}

    /// Nanoseconds since some fixed moment, for keeping to a budget and not for measuring.
    fn elapsed_ns(&self) -> u64;
}
