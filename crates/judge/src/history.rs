//! The runs of a host over time: a probe's figures, and where they changed.

mod points;

use crate::compare::without_machine;
use crate::stats::median;
use indexmap::IndexMap;
use points::Division;
use serde::Serialize;
use std::collections::BTreeMap;
use tollgate_record::{Measurement, Run, Status};

const SCHEMA: &str = "tollgate-history/1";
/// The newest runs of a series that are looked at; the search for changes takes the square of it.
const MOST_RUNS: usize = 200;

/// The runs of a store over time, hosts and efforts apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct History {
    /// Always `tollgate-history/1`.
    pub schema: &'static str,
    /// One for each host, effort and clock that has runs.
    pub groups: Vec<Group>,
}

/// Runs that can be held against each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Node name of the host.
    pub host: String,
    /// Its processor.
    pub processor: String,
    /// `quick`, `usual`, `thorough`.
    pub effort: String,
    /// `tsc` or `os`.
    pub clock: String,
    /// Architecture, and the kind of machine where it is known.
    pub machine: String,
    /// How many runs there are.
    pub runs: usize,
    /// One for each probe that has a figure.
    pub series: Vec<Series>,
}

/// One probe over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The probe.
    pub probe: String,
    /// The engine that ran it.
    pub engine: String,
    /// Unit of the points: `cycles` of the core where its frequency was measured in every run, else `ns`.
    pub unit: &'static str,
    /// Whether the yardsticks of the runs adjusted the points: they are then of typical batches, and not headlines.
    pub relative: bool,
    /// Oldest first.
    pub points: Vec<Point>,
    /// Where the figure changed, oldest first.
    pub changes: Vec<Change>,
}

/// One run of a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The run's id.
    pub run: String,
    /// Its start.
    pub started: String,
    /// The figure.
    pub value: f64,
}

/// A change that lasted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The first run after it.
    pub run: String,
    /// Its start.
    pub started: String,
    /// Place of that run in the points.
    pub at: usize,
    /// The median after it over the median before it.
    pub ratio: f64,
    /// The chance of such a change in runs that come in any order.
    pub chance: f64,
    /// Other changes in that run: kernel, microcode, the tool.
    pub with: Vec<String>,
}

/// Runs whose host, effort and clock are the same, and the probes that `wanted` names, oldest run first.
/// Incomplete runs are left out. `by_time` keeps nanoseconds where core cycles are known.
pub fn history(runs: &[Run], wanted: &dyn Fn(&str) -> bool, by_time: bool) -> History {
    let mut groups: BTreeMap<[String; 5], Vec<&Run>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.complete) {
        let host = &run.host;
        let machine = host.machine.clone().unwrap_or_default();
        let key = [
            host.name.clone(),
            host.cpu.model.clone(),
            crate::compare::effort(run),
            host.clock.source.clone(),
            format!("{} {machine}", host.arch),
        ];
        groups.entry(key).or_default().push(run);
    }
    let group = |([host, processor, effort, clock, machine], mut runs): ([String; 5], Vec<&Run>)| {
        runs.sort_by(|a, b| (&a.started, &a.id).cmp(&(&b.started, &b.id)));
        let skipped = runs.len().saturating_sub(MOST_RUNS);
        let series = series(&runs[skipped..], wanted, by_time);
        let machine = machine.trim().to_owned();
        Group { host, processor, effort, clock, machine, runs: runs.len(), series }
    };
    let groups = groups.into_iter().map(group).filter(|group| !group.series.is_empty()).collect();
    History { schema: SCHEMA, groups }
}

fn series(runs: &[&Run], wanted: &dyn Fn(&str) -> bool, by_time: bool) -> Vec<Series> {
    let mut found: IndexMap<(&str, &str), Vec<(usize, &Measurement)>> = IndexMap::new();
    for (place, run) in runs.iter().enumerate() {
        for result in run.results.iter().filter(|it| it.status == Status::Measured && wanted(&it.probe)) {
            let all = found.entry((&result.probe, &result.engine)).or_default();
            // Rows of one probe that differ only in parameters are not a series in time.
            if all.last().is_none_or(|(last, _)| *last != place) {
                all.push((place, result));
            }
        }
    }
    found.into_iter().filter_map(|(name, results)| one(name, &results, runs, by_time)).collect()
}

fn one(
    (probe, engine): (&str, &str),
    results: &[(usize, &Measurement)],
    runs: &[&Run],
    by_time: bool,
) -> Option<Series> {
    let usable = |of: fn(&Measurement) -> Option<f64>, result: &Measurement| {
        of(result).filter(|value| value.is_finite() && *value > 0.0)
    };
    let in_cycles = !by_time
        && !probe.starts_with("core/")
        && results.iter().all(|(_, result)| usable(cycles, result).is_some());
    let value = if in_cycles { cycles } else { |result: &Measurement| result.ns.map(|ns| ns.estimate) };
    let known = results.iter().filter_map(|(place, result)| Some((runs[*place], usable(value, result)?)));
    let (runs, mut values): (Vec<&Run>, Vec<f64>) = known.unzip();
    let measured: Vec<&Measurement> = results.iter().map(|(_, result)| *result).collect();
    let machine =
        (in_cycles && measured.len() == runs.len()).then(|| without_machine(&runs, &measured)).flatten();
    let relative = machine.is_some();
    if let Some(without) = machine {
        values = without;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let found = points::changes(&logs);
    let bounds: Vec<usize> =
        std::iter::once(0).chain(found.iter().map(|change| change.at)).chain([logs.len()]).collect();
    let change = |(change, bounds): (&Division, &[usize])| Change {
        run: runs[change.at].id.clone(),
        started: runs[change.at].started.clone(),
        at: change.at,
        ratio: (median(&logs[bounds[1]..bounds[2]]) - median(&logs[bounds[0]..bounds[1]])).exp(),
        chance: change.chance,
        with: crate::compare::changed(runs[change.at - 1], runs[change.at]),
    };
    let point =
        |(run, value): (&&Run, f64)| Point { run: run.id.clone(), started: run.started.clone(), value };
    (!values.is_empty()).then(|| Series {
        probe: probe.into(),
        engine: engine.into(),
        unit: if in_cycles { "cycles" } else { "ns" },
        relative,
        points: runs.iter().zip(values).map(point).collect(),
        changes: found.iter().zip(bounds.windows(3)).map(change).collect(),
    })
}

/// Core cycles at the frequency of each process; of records that keep none, at that of the run.
fn cycles(result: &Measurement) -> Option<f64> {
    let by_process: Option<Vec<f64>> =
        result.epochs.iter().map(|epoch| epoch.core_hz.map(|hz| epoch.ns * hz / 1e9)).collect();
    match by_process {
        Some(all) if !all.is_empty() => Some(median(&all)),
        _ => result.cycles.map(|cycles| cycles.estimate),
    }
}
