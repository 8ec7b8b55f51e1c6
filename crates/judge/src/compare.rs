//! Two sets of runs against each other: which probes became faster or slower, by how much, and how sure that is.
//!
//! Everything here is a pure function of records. METHOD.md says how a verdict comes about; in short: figures of
//! one host are compared in core cycles, because its core's frequency moves all probes of a run alike;
//! the test is a permutation of processes that corrects for the number of probes; and the usual difference between two runs
//! is estimated from the probes of this comparison themselves.

mod draft;
mod explain;
mod facts;
mod machine;
mod pairs;
mod price;
mod result;
mod spread;
mod summary;
mod verdict;

pub use explain::{Counter, Part};
pub use facts::{Difference, Weight};
pub(crate) use facts::{changed, effort, facts_of};
pub use machine::Explained;
pub(crate) use machine::without_machine;
pub(crate) use pairs::{gather, short};
pub use result::{
    Adjustment, ComparedProbe, Comparison, Largest, MARGIN, Options, OtherWay, Sees, Side, Summary, Verdict,
};
pub(crate) use spread::Class;
pub use spread::{CONTROLS_ACROSS, FROM_THE_KERNEL};

use crate::stats;
use std::borrow::Cow;
use std::collections::BTreeSet;
use tollgate_record::text::list;
use tollgate_record::{Run, Status};

const SCHEMA: &str = "tollgate-compare/1";

/// Why there is nothing to compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// One side has no run.
    #[error("there is no run on side {0}; give at least one")]
    NoRun(char),
    /// The same run on both sides.
    #[error("the run `{0}` is on both sides; a run does not differ from itself")]
    Twice(String),
    /// No probe has a figure on both sides.
    #[error("no probe was measured on both sides: A has {a}, B has {b}; `tollgate show ID` lists them")]
    NothingInCommon {
        /// A's figures.
        a: String,
        /// B's figures.
        b: String,
    },
    /// Simulated and measured units under one name.
    #[error("{0} stands for one {1} in A and one {2} in B; these cannot be compared")]
    OtherUnit(String, &'static str, &'static str),
}

/// Compares B with A.
///
/// # Errors
/// [`CompareError`] when there is nothing to compare.
pub fn compare(a: &[Run], b: &[Run], options: &Options) -> Result<Comparison, CompareError> {
    if let Some((side, _)) = [('A', a), ('B', b)].iter().find(|(_, runs)| runs.is_empty()) {
        return Err(CompareError::NoRun(*side));
    }
    if let Some(twice) = a.iter().find(|of_a| b.iter().any(|of_b| of_a.id == of_b.id)) {
        return Err(CompareError::Twice(short(&twice.id)));
    }
    let [a, b] = price::at_one([finite(a), finite(b)]);
    let interleaved = facts::interleaved(&a, &b);
    let until = b.iter().find_map(|run| run.until).filter(|_| interleaved);
    let margin = until.filter(|_| options.fail_above.is_none()).unwrap_or(options.margin);
    let by_runs = a.len().min(b.len()) >= verdict::ENOUGH_RUNS;
    let pairs = pairs::pairs(&a, &b);
    if let Some(pair) = pairs.iter().find(|pair| pair.per_a != pair.per_b) {
        return Err(CompareError::OtherUnit(short(pair.probe), pair.per_a.word(), pair.per_b.word()));
    }
    if pairs.is_empty() {
        return Err(CompareError::NothingInCommon { a: measured(&a), b: measured(&b) });
    }
    let most_epochs =
        pairs.iter().flat_map(|pair| pair.a.iter().chain(&pair.b)).map(|(_, it)| it.epochs.len()).max();
    let machine = machine::Machine::new(&a, &b);
    let judge = draft::Judge {
        margin,
        machine: &machine,
        sides: [&a, &b],
        interleaved,
        until,
        by_runs,
        at_one_frequency: false,
        at_one_price: price::is_one(&a, &b),
        most_epochs: most_epochs.unwrap_or(0),
    };
    let (rows, machine) = both_ways(&judge, &pairs, facts::one_host(&a, &b), options.by_time);
    let exceeds = |row: &&ComparedProbe| {
        let low = row.interval.map(|interval| interval[0] - 1.0);
        row.verdict == Verdict::Worse && low.zip(options.fail_above).is_some_and(|(low, most)| low > most)
    };
    let [side_a, side_b] = [(&a, 0), (&b, 1)].map(|(runs, at)| side(runs, &options.names[at]));
    let frequency_ratio = side_a.core_hz.zip(side_b.core_hz).map(|(a, b)| b / a);
    Ok(Comparison {
        schema: SCHEMA,
        summary: summary::summary(&rows),
        interleaved,
        same_addresses: interleaved && a.iter().chain(b.iter()).all(|run| run.same_addresses),
        until,
        by_runs,
        margin,
        frequency_ratio: frequency_ratio.filter(|ratio| ratio.is_finite()),
        machine_ratio: machine.ratio,
        entry_ratio: machine.entry,
        exceeded: rows.iter().filter(exceeds).map(ComparedProbe::name).collect(),
        only_a: pairs::missing(&a, &b),
        only_b: pairs::missing(&b, &a),
        differences: facts::differences(&a, &b, rows.iter().any(|row| row.spoiled)),
        rows,
        a: side_a,
        b: side_b,
        fail_above: options.fail_above,
    })
}

/// The rows, at one core frequency if that is right and wanted, each with the result of the other comparison.
fn both_ways(
    judge: &draft::Judge<'_>,
    pairs: &[pairs::Pair<'_>],
    one_host: bool,
    by_time: bool,
) -> (Vec<ComparedProbe>, verdict::Moved) {
    let by = |at_one_frequency: bool| draft::Judge { at_one_frequency, ..*judge }.rows(pairs);
    let (mut rows, machine) = by(one_host && !by_time);
    if one_host {
        let (others, _) = by(by_time);
        for (row, other) in rows.iter_mut().zip(others) {
            let differ = row.at_one_frequency != other.at_one_frequency;
            row.other_way = differ.then_some(OtherWay {
                by_time: !by_time,
                ratio: other.ratio,
                interval: other.interval,
                verdict: other.verdict,
            });
        }
    }
    for (row, pair) in rows.iter_mut().zip(pairs).filter(|(_, pair)| pair.part.is_none()) {
        let adjusted = row.b / row.b_measured;
        let scale = if adjusted.is_finite() { adjusted } else { 1.0 };
        row.parts = explain::parts(pair, scale, row.exact && row.unit != "crossings");
        row.counters = explain::counters(pair);
    }
    (rows, machine)
}

/// The first of these runs that a run can be compared with: another one that measured a probe of it.
pub fn comparable(run: &Run, others: impl IntoIterator<Item = Run>) -> Option<Run> {
    let has =
        |probe: &str| run.results.iter().any(|row| row.probe == probe && row.status == Status::Measured);
    let is_comparable = |other: &Run| {
        let measured = |row: &&tollgate_record::Measurement| row.status == Status::Measured;
        other.id != run.id && other.results.iter().filter(measured).any(|row| has(&row.probe))
    };
    others.into_iter().find(is_comparable)
}

/// The run without the parts that a comparison does not read: distributions, curves, diagrams and warnings, which are most
/// of a
/// record. A directory of thousands of runs fits into memory so.
pub fn essentials(mut run: Run) -> Run {
    run.warnings.clear();
    for result in &mut run.results {
        result.histogram = None;
        result.stages = None;
        result.series = Vec::new();
        result.warnings = Vec::new();
    }
    run
}

/// The runs without figures that are not finite, which are not compared.
fn finite(runs: &[Run]) -> Cow<'_, [Run]> {
    if runs.iter().all(|run| matches!(run.without_non_finite(), Cow::Borrowed(_))) {
        return Cow::Borrowed(runs);
    }
    runs.iter().map(|run| run.without_non_finite().into_owned()).collect()
}

fn side(runs: &[Run], name: &str) -> Side {
    let first = &runs[0];
    let epochs = || runs.iter().flat_map(|run| &run.results).map(|result| result.epochs.len());
    Side {
        runs: runs.iter().map(|run| run.id.clone()).collect(),
        name: short(name),
        command: first.results.iter().find_map(|row| Some(row.asked.exec()?.command.join(" "))),
        host: first.host.name.clone(),
        started: first.started.clone(),
        effort: facts::effort(first),
        processes: epochs().max().unwrap_or(0) * runs.len(),
        core_hz: core_hz(runs),
    }
}

/// The median over all processes; the readings at the two ends of each run where processes have none.
fn core_hz(runs: &[Run]) -> Option<f64> {
    let of_epochs = runs
        .iter()
        .filter_map(|run| run.results.iter().max_by_key(|result| result.epochs.len()))
        .flat_map(|result| &result.epochs)
        .filter_map(|epoch| epoch.core_hz);
    let mut all: Vec<f64> = of_epochs.collect();
    if all.is_empty() {
        all = runs
            .iter()
            .flat_map(|run| [run.host.cpu.core_hz_before, run.host.cpu.core_hz_after])
            .flatten()
            .collect();
    }
    all.retain(|hz| hz.is_finite() && *hz > 0.0);
    (!all.is_empty()).then(|| stats::median(&all))
}

/// Some of the probes that were measured, for a sentence.
fn measured(runs: &[Run]) -> String {
    let results = runs.iter().flat_map(|run| &run.results);
    let measured = results.filter(|result| result.status == Status::Measured);
    let names: BTreeSet<String> = measured.map(|result| short(&result.probe)).collect();
    if names.is_empty() { "no figure".into() } else { list(&Vec::from_iter(names), 3) }
}
