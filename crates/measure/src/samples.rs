//! The samples of a run: batches by epoch and probe, and readings of the clocks.

use crate::bench::Lost;
use crate::clock::{Moment, Scale};
use crate::dissection::Dissection;
use crate::probe::{Facts, Meta, Placement, Site};
use crate::yardstick::YARDSTICKS;

/// The state of a probe.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ProbeState {
    /// It has samples, or is about to.
    #[default]
    Active,
    /// It is not part of this run.
    NotAsked,
    /// It cannot be measured here.
    Skipped {
        /// Why.
        reason: String,
        /// The remedy.
        enable: String,
    },
    /// It failed.
    Failed(String),
}

impl ProbeState {
    /// Before measuring: whether a probe is wanted and can be measured at this place.
    pub fn new(meta: &Meta, wanted: bool, site: Site) -> Self {
        if !wanted {
            return Self::NotAsked;
        }
        if meta.placement == Placement::Pair && site.peer.is_none() {
            return Self::Skipped {
                reason: "it needs two CPUs and only one may be used".into(),
                enable: "give the process a second CPU (taskset, cpuset, the size of the machine)".into(),
            };
        }
        Self::Active
    }
}

/// A timed batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batch {
    /// Passes made.
    pub passes: u64,
    /// Ticks taken, the clock's own cost included.
    pub ticks: u64,
}

/// Neighboring batches of two benches that were sampled in pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The batch of this bench.
    pub own: Batch,
    /// That of the other, with as many passes.
    pub other: Batch,
}

/// A batch, and single crossings that were stamped right after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The batch.
    pub batch: Batch,
    /// For each lane of the dissection the mean ticks of the stamped crossings; `None` for a lane without a stamp.
    pub lanes: Vec<Option<f64>>,
}

impl Split {
    /// The ticks of a lane.
    pub fn lane(&self, lane: usize) -> Option<f64> {
        self.lanes.get(lane).copied().flatten()
    }
}

/// The samples of one probe in one epoch.
#[derive(Clone, Debug, Default)]
pub struct EpochSamples {
    /// Batches of the usual length.
    pub batches: Vec<Batch>,
    /// The round of each of them: batches of several probes that have the same round are neighbors.
    pub rounds: Vec<u64>,
    /// For each yardstick the ticks beside each of them: the less that it took before the batch or after it.
    pub yardsticks: [Vec<u64>; YARDSTICKS.len()],
    /// Batches of twice that length, for the second estimator, each with how many of the usual length were before it.
    pub doubles: Vec<(usize, Batch)>,
    /// Batches beside those of another bench, if there are two.
    pub pairs: Vec<Pair>,
    /// Ticks of empty batches: the clock and the call.
    pub empty: Vec<u64>,
    /// Counts of the proof.
    pub counts: Vec<Option<u64>>,
    /// Passes that those counts cover.
    pub passes: u64,
    /// Visits in which another task took the CPU.
    pub interrupted: u64,
    /// Visits that ended on another CPU than they began on.
    pub migrated: u64,
    /// Visits in all.
    pub visits: u64,
    /// Whether visits were left out because the probe had used up its time.
    pub cut: bool,
    /// Single passes, in ticks, the clock's cost included.
    pub singles: Vec<u64>,
    /// Empty passes timed the same way.
    pub singles_empty: Vec<u64>,
    /// Whether warming up reached a steady state.
    pub steady: bool,
    /// Batches with the stamped crossings beside them.
    pub splits: Vec<Split>,
    /// How far the kernel's stamps were from the counter at the most, in ticks.
    pub doubt: f64,
}

/// All samples of one probe.
#[derive(Clone, Debug, Default)]
pub struct ProbeSamples {
    /// Its state.
    pub state: ProbeState,
    /// Its facts, for the record.
    pub facts: Facts,
    /// Passes of a batch, found by calibration; later epochs may use fewer.
    pub passes: u64,
    /// One entry for each epoch it took part in.
    pub epochs: Vec<EpochSamples>,
    /// Whether its interval is narrow enough, so that it takes no part in further epochs.
    pub precise: bool,
    /// How its crossings are taken apart, where they are.
    pub dissection: Option<Dissection>,
    /// Why they were not, after all, and what would enable it.
    pub undissected: Option<(String, String)>,
}

/// Chains of dependent arithmetic, timed at one moment; medians in ticks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoreReading {
    /// For each dependent multiply.
    pub multiply: f64,
    /// For each dependent addition.
    pub add: f64,
    /// For 1,000 dependent multiplies timed as a batch is.
    pub thousand: f64,
    /// For an empty pair of clock readings.
    pub pair: f64,
}

/// Everything that a run collected.
#[derive(Clone, Debug, Default)]
pub struct RunSamples {
    /// One entry for each probe.
    pub probes: Vec<ProbeSamples>,
    /// The clock against the system's, first and last.
    pub moments: Vec<Moment>,
    /// For each epoch the ticks of each yardstick, in the order of [`YARDSTICKS`].
    pub yardsticks: Vec<[Vec<u64>; YARDSTICKS.len()]>,
    /// The core's frequency, once at the start of each epoch and once at the end.
    pub core: Vec<CoreReading>,
    /// Whether the run ended by itself.
    pub complete: bool,
    /// Why the bench could not be started any more, if that ended the run.
    pub lost: Option<Lost>,
}

impl RunSamples {
    /// The clock's rate over the whole run so far.
    pub fn scale(&self) -> Option<Scale> {
        self.moments.first()?.scale_until(self.moments.last()?)
    }
}
