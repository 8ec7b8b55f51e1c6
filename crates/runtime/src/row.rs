//! One row: a runtime, a mechanism, a number of tasks, and what was measured of it.

use crate::room::Room;
use crate::table::{Mechanism, Runtime};
use crate::transcript::{Sample, Transcript};
use std::path::PathBuf;
use tollgate_measure::samples::{Batch, EpochSamples, ProbeSamples};
use tollgate_measure::stats::median;
use tollgate_measure::summary;

/// The state of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// It has samples, or will be measured.
    Active,
    /// It cannot be measured here: the reason, and the remedy.
    Skipped(String, String),
    /// It failed: the reason.
    Failed(String),
}

/// One runtime, one mechanism, one number of tasks.
#[derive(Clone, Debug)]
pub struct Row {
    /// The runtime.
    pub runtime: Runtime,
    /// How its tasks switch.
    pub mechanism: Mechanism,
    /// How many tasks.
    pub tasks: u64,
    /// The working directory of a program that is not built.
    pub folder: Option<PathBuf>,
    /// Its state.
    pub state: State,
    /// Switches in a batch.
    pub batch: u64,
    /// Batches in an epoch.
    pub batches: u64,
    /// The transcript of each process.
    pub epochs: Vec<Transcript>,
    /// Nanoseconds for a switch, estimated before measuring.
    pub(crate) guess: f64,
}

/// A mechanism of a runtime, and the folder to run a program in that is in no table.
pub type Chosen = (Runtime, Mechanism, Option<PathBuf>);

impl Row {
    /// A row for each mechanism and number of tasks.
    ///
    /// # Errors
    /// Unless the numbers are those of a growth: the first number that no mechanism can have, and why.
    pub fn all(chosen: &[Chosen], tasks: &[u64], is_growth: bool, room: Room) -> Result<Vec<Self>, String> {
        let mut rows = Vec::new();
        for &tasks in tasks {
            let refusals = chosen.iter().map(|(runtime, mechanism, _)| {
                Self::refusal(runtime, mechanism, tasks, room).map(|(why, _)| why)
            });
            if let Some(whys) = refusals.collect::<Option<Vec<_>>>()
                && let Some(first) = whys.first()
                && !is_growth
            {
                let more = whys.len() - 1;
                let others = if more > 0 { format!(" (and {more} more like it)") } else { String::new() };
                return Err(format!("{tasks}: {first}{others}"));
            }
            rows.extend(chosen.iter().map(|(runtime, mechanism, folder)| {
                let row = Self::new(runtime, mechanism, tasks, room);
                Self { folder: folder.clone(), ..row }
            }));
        }
        Ok(rows)
    }

    /// A row that has not been measured. It is skipped if the runtime or the memory does not allow its number of tasks.
    pub fn new(runtime: &Runtime, mechanism: &Mechanism, tasks: u64, room: Room) -> Self {
        let state = Self::refusal(runtime, mechanism, tasks, room);
        Self {
            runtime: runtime.clone(),
            mechanism: mechanism.clone(),
            tasks,
            folder: None,
            state: state.map_or(State::Active, |(why, enable)| State::Skipped(why, enable)),
            batch: 0,
            batches: 0,
            epochs: Vec::new(),
            guess: 0.0,
        }
    }

    /// The reason why a mechanism cannot have this many tasks, and the remedy.
    pub fn refusal(
        runtime: &Runtime,
        mechanism: &Mechanism,
        tasks: u64,
        room: Room,
    ) -> Option<(String, String)> {
        let name = format!("{}/{}", runtime.id, mechanism.id);
        if tasks < mechanism.min_tasks {
            let least = mechanism.min_tasks;
            return Some((format!("{name} needs at least {least} tasks"), format!("--tasks {least}")));
        }
        if tasks > mechanism.max_tasks {
            let most = mechanism.max_tasks;
            return Some((format!("{name} goes up to {most} tasks, not {tasks}"), format!("--tasks {most}")));
        }
        let why = room.refuse(runtime, mechanism, tasks)?;
        Some((why, "more --memory, or fewer --tasks".into()))
    }

    /// The time of the run is over. What was measured stays.
    pub(crate) fn out_of_time(&mut self) {
        if self.epochs.is_empty() {
            let why = "the time of the run was over before its turn".into();
            let fewer =
                if self.runtime.is_border() { "name fewer rows" } else { "name fewer rows with --runtime" };
            self.state = State::Skipped(why, format!("{fewer}, or leave out --quick"));
        }
    }

    /// Half the width of its interval as a share of its figure, if it has one.
    pub(crate) fn half_width(&self) -> Option<f64> {
        Some(summary::headline(&samples(self), 1.0)?.relative_half_width())
    }

    /// Keeps the run that found the length of a batch as the only one of an epoch.
    pub(crate) fn keep(&mut self, said: Transcript) {
        (self.batch, self.batches) =
            (said.samples.first().map_or(0, |it| it.switches), said.samples.len() as u64);
        self.epochs.push(said);
    }

    /// `boost-fiber/yield`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.runtime.id, self.mechanism.id)
    }
}

/// The input of the statistics.
pub(crate) fn samples(row: &Row) -> ProbeSamples {
    let ticks = |ns: f64| (ns * 1e3).round() as u64;
    let epochs = row.epochs.iter().map(|said| {
        let pair = if said.pairs.is_empty() { 0.0 } else { median(&said.pairs) };
        EpochSamples {
            batches: said
                .samples
                .iter()
                .map(|sample| Batch { passes: sample.switches, ticks: ticks(sample.ns) })
                .collect(),
            counts: vec![Some(said.resumes)],
            passes: said.switches,
            visits: said.samples.len() as u64,
            singles: said.singles.iter().map(|single| ticks(alone(single, pair))).collect(),
            singles_empty: said.pairs.iter().map(|pair| ticks(*pair)).collect(),
            steady: said.steady,
            ..EpochSamples::default()
        }
    });
    ProbeSamples { passes: row.batch, epochs: epochs.collect(), ..ProbeSamples::default() }
}

/// One switch of several that were timed as one event, including the whole cost of the pair.
fn alone(single: &Sample, pair: f64) -> f64 {
    (single.ns - pair) / single.switches as f64 + pair
}
