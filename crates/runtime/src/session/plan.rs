//! How much is asked of a row: in a short run, which finds how long its batches must be, and in each epoch.

use crate::pace::Turn;
use crate::row::Row;
use crate::transcript::{Asked, Transcript};
use std::time::Duration;
use tollgate_measure::stats::median;

/// How to sample.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seed of the order.
    pub seed: u64,
    /// Processes in which each row is measured.
    pub epochs: u32,
    /// Time for further processes of the rows whose interval is wide after that, the widest first.
    pub further: Duration,
    /// Half the width of an interval that is not wide, as a share of the figure.
    pub target: f64,
    /// Length of a batch in nanoseconds, unless a round is longer.
    pub batch_ns: f64,
    /// Time for the batches of one process, in nanoseconds.
    pub epoch_ns: f64,
    /// Minimum and maximum of the warm-up in milliseconds.
    pub warm_ms: (u64, u64),
    /// Switches timed one at a time, in each process.
    pub singles: u64,
    /// All switches of a row, instead of those that `epoch_ns` allows.
    pub iterations: Option<u64>,
    /// Time for all rows once they are built, if it is limited. A row whose turn would be later is skipped.
    pub time: Option<Duration>,
}

/// Time of a rough answer, whatever the number of rows.
const QUICK: Duration = Duration::from_secs(5);

impl Plan {
    /// How much a rough, a fine or the usual answer takes; less for each row of a curve, which has many.
    pub fn usual(quick: bool, thorough: bool, is_curve: bool) -> Self {
        let (epochs, epoch_ms, warm_ms, singles) = match (quick, thorough) {
            (true, _) => (1, 20.0, (5, 40), 300),
            (_, true) => (12, 400.0, (50, 1_500), 2_000),
            _ if is_curve => (2, 60.0, (5, 300), 300),
            _ => (6, 80.0, (10, 400), 1_000),
        };
        let (epoch_ns, time) = (epoch_ms * 1e6, quick.then_some(QUICK));
        let (further, target, iterations) = (Duration::ZERO, 0.0, None);
        Self {
            seed: 0,
            epochs,
            further,
            target,
            batch_ns: 300e3,
            epoch_ns,
            warm_ms,
            singles,
            iterations,
            time,
        }
    }

    /// The same for borders: most calls are shorter than a reading of the clock, and there are many rows, so batches and
    /// warm-up are short. Of nine processes one may be slow without widening the interval; where more are, more are started.
    pub fn borders(quick: bool, thorough: bool) -> Self {
        let usual = Self { singles: 0, ..Self::usual(quick, thorough, false) };
        match (quick, thorough) {
            (true, _) => Self { batch_ns: 100e3, epoch_ns: 6e6, ..usual },
            (_, true) => usual,
            _ => {
                let further = Duration::from_secs(8);
                let plan = Self { epochs: 9, further, target: 0.015, ..usual };
                Self { batch_ns: 100e3, epoch_ns: 4e6, warm_ms: (3, 150), ..plan }
            }
        }
    }

    /// Its time for each row.
    pub(super) fn turn(&self) -> Turn {
        // A switch takes some 100 ns.
        let asked = self.iterations.map(|switches| switches as f64 * 100e-9 / f64::from(self.epochs));
        Turn {
            epochs: self.epochs,
            warm_ms: self.warm_ms.0,
            batches_s: asked.unwrap_or(self.epoch_ns / 1e9),
            further_s: self.further.as_secs_f64(),
        }
    }
}

/// From this many tasks on, a round is long enough to be a batch without calibration.
const MANY: u64 = 100_000;

/// The request of a short run.
pub(super) fn short(row: &Row) -> Asked {
    let few = if row.tasks >= MANY { 1 } else { 8 };
    asked(row, few, row.tasks * (256 / row.tasks).max(1), 0)
}

/// As long as the real warm-up may take: a batch that is calibrated on cold code is too short for warm code.
pub(super) fn short_warm(tasks: u64, plan: &Plan) -> (u64, u64) {
    if tasks >= MANY { (0, 1) } else { (1, plan.warm_ms.1) }
}

/// The calls of a batch share what the batch itself costs: a reading of the clock, or that a thread is woken that makes them.
const FEWEST_CALLS: u64 = 20;

/// The batches of a call so long that [`FEWEST_CALLS`] decides: it makes system calls, so its batches differ among themselves,
/// and the headline is nearly the quickest of each process.
const FEWEST_BATCHES: u64 = 100;

/// Chooses the batches of a row by the result of a short run.
pub(super) fn fit(row: &mut Row, plan: &Plan, said: &Transcript) {
    let times: Vec<f64> = said.samples.iter().map(|sample| sample.ns / sample.switches as f64).collect();
    let ns = median(&times).max(0.01);
    row.guess = ns;
    let rounds = |switches: f64| ((switches / row.tasks as f64).ceil() as u64).max(1) * row.tasks;
    row.batch = rounds(plan.batch_ns / ns);
    let is_long_call = row.runtime.is_border() && row.batch < FEWEST_CALLS;
    if is_long_call {
        row.batch = FEWEST_CALLS;
    }
    match plan.iterations {
        None => {
            let fewest = match row.batch as f64 * ns {
                20e6.. => 6,
                _ if is_long_call => FEWEST_BATCHES,
                _ => 20,
            };
            row.batches = ((plan.epoch_ns / (row.batch as f64 * ns)) as u64).clamp(fewest, 2_000);
        }
        Some(iterations) => {
            let each = iterations.div_ceil(u64::from(plan.epochs));
            row.batch = row.batch.min(rounds(each as f64 / 20.0));
            row.batches = each.div_ceil(row.batch);
        }
    }
    // Printing a long list of figures would take longer than the measurement.
    const MOST_BATCHES: u64 = 100_000;
    if row.batches > MOST_BATCHES {
        let total = row.batches * row.batch;
        row.batch = rounds(total as f64 / MOST_BATCHES as f64);
        row.batches = total.div_ceil(row.batch);
    }
}

/// The request of an epoch.
pub(super) fn long(row: &Row, plan: &Plan) -> Asked {
    let singles = if row.tasks >= MANY { 0 } else { plan.singles };
    asked(row, row.batches, row.batch, singles)
}

/// The warm-up of an epoch.
pub(super) fn long_warm(row: &Row, plan: &Plan) -> (u64, u64) {
    let least = row.runtime.warm_min_ms;
    (plan.warm_ms.0.max(least), plan.warm_ms.1.max(least))
}

fn asked(row: &Row, batches: u64, batch: u64, singles: u64) -> Asked {
    Asked { tasks: row.tasks, batches, batch, singles, tolerance: row.mechanism.tolerance }
}
