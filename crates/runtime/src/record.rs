//! From the transcripts of the programs to the run's record, with the same statistics as every other measurement.

use crate::row::{Row, State, samples};
use crate::session::Session;
use crate::table::{BORDERS, NamedPart};
use crate::transcript::Transcript;
use std::collections::BTreeMap;
use tollgate_measure::clock::{Scale, Source};
use tollgate_measure::stats::median;
use tollgate_measure::summary::{self, Units};
use tollgate_measure::{Claim, Meta, Placement};
use tollgate_record::family::{RuntimeAsked, RuntimeFound};
use tollgate_record::{
    Asked, Estimate, Evidence, Found, Measurement, Per, Phase, Run, Series, Status, Warning, phase, warning,
};

/// Programs print nanoseconds with a fraction, but the statistics count whole ticks: a tick is a picosecond here.
const PICOSECONDS: Scale = Scale { hz: 1e12 };

/// The tasks' own count, within the tolerance of the transcript's check.
static PROOF: [Claim; 1] =
    [Claim { key: "resumes-per-switch", per_crossing: 1.0, tolerance: 0.5, divides: false }];

/// The calls that the callee counted, which the transcript's check compares with those of the caller.
static ENTERED: [Claim; 1] =
    [Claim { key: "entered-per-call", per_crossing: 1.0, tolerance: 0.0, divides: false }];

/// Relative difference of the kernel's count from the switches that causes a warning.
const KERNEL_APART: f64 = 0.025;

/// Writes the session's results, clock and frequencies into `run`. Existing warnings stay.
pub fn record(run: &mut Run, session: &Session, source: Source) {
    summary::record_run(run, &[], &session.samples, source);
    let core = summary::units(&session.samples, source);
    let units = Units {
        scale: PICOSECONDS,
        ticks: false,
        core: core.and_then(|units| units.core),
        core_spread: core.map_or(0.0, |units| units.core_spread),
    };
    let begun = |row: &&Row| row.state != State::Active || !row.epochs.is_empty();
    run.results = session.rows.iter().filter(begun).map(|row| measurement(row, &units)).collect();
    run.complete = session.samples.complete;
    let named = session.rows.iter().filter(begun).map(|row| row.mechanism.part.as_ref());
    parts(&mut run.results, &named.collect::<Vec<_>>(), &units);
    curves(&mut run.results);
}

/// The record of one row.
fn measurement(row: &Row, units: &Units) -> Measurement {
    let per = if row.runtime.is_border() { Per::Call } else { Per::Switch };
    let mut result = match &row.state {
        State::Active => {
            let meta = Meta {
                // The type requires static strings, which this call does not need.
                id: "",
                what: "",
                per,
                crossings_per_pass: 1,
                least_passes: 1,
                placement: Placement::One,
                proof: if row.runtime.is_border() { &ENTERED } else { &PROOF },
            };
            summary::measurement(&meta, &samples(row), units)
        }
        State::Skipped(reason, enable) => Measurement {
            reason: Some(reason.clone()),
            enable: Some(enable.clone()),
            ..Measurement::empty("", "host", per, Status::Skipped)
        },
        State::Failed(reason) => {
            let failed = Measurement::empty("", "host", per, Status::Failed);
            Measurement { reason: Some(reason.clone()), ..failed }
        }
    };
    result.probe = row.runtime.row(&row.mechanism);
    facts(row, &mut result);
    if result.status == Status::Measured {
        proof(row, &mut result);
    }
    result
}

fn facts(row: &Row, result: &mut Measurement) {
    result.asked = Asked::Runtime(RuntimeAsked {
        tasks: row.tasks,
        runtime: row.runtime.name.clone(),
        language: row.runtime.language.clone(),
        kind: row.mechanism.kind.unwrap_or(row.runtime.kind).name().into(),
        what: row.mechanism.what.clone(),
    });
    let Some(said) = row.epochs.first() else { return };
    let memory: Vec<f64> = row.epochs.iter().filter_map(|said| said.bytes_per_task(row.tasks)).collect();
    result.found = Found::Runtime(RuntimeFound {
        version: said.version.clone(),
        clock: said.clock.1.clone(),
        clock_resolution_ns: said.clock.0,
        batch: row.batch,
        notes: said.notes.clone(),
        bytes_per_task: (!memory.is_empty()).then(|| median(&memory)),
    });
}

/// The counts besides the tasks' own.
fn proof(row: &Row, result: &mut Measurement) {
    let switches: u64 = row.epochs.iter().map(|said| said.switches).sum();
    let total = |of: fn(&Transcript) -> Option<u64>| row.epochs.iter().map(of).sum::<Option<u64>>();
    let share = |count: u64| count as f64 / switches as f64;
    if let Some(visits) = total(|said| said.dispatcher) {
        result.proof.insert("dispatches-per-switch".into(), share(visits));
    }
    if let Some(copies) = total(|said| said.copies) {
        result.proof.insert("copies-per-call".into(), share(copies));
    }
    if let Some(counted) = total(|said| said.kernel) {
        let share = share(counted);
        result.proof.insert("kernel-switches-per-switch".into(), share);
        if (share - 1.0).abs() > KERNEL_APART {
            let text = format!("the kernel counted {share:.2} context switches for each switch of the token");
            result.warnings.push(Warning::new(warning::PROOF_DISAGREES, text));
        }
    }
}

/// The bills of rows with a named part, of those whose other row was measured as well.
fn parts(results: &mut [Measurement], named: &[Option<&NamedPart>], units: &Units) {
    let headline = |probe: &str| results.iter().find(|result| result.probe == probe)?.ns;
    let bill = |(result, part): (&Measurement, &Option<&NamedPart>)| {
        let part = (*part)?;
        let (whole, without) = (result.ns?, headline(&format!("{BORDERS}/{}", part.without))?);
        let phase = |name: &str, evidence, ns: Estimate| Phase {
            ns: Some(ns),
            cycles: units.cycles_per_ns().map(|cycles| ns.scaled(cycles)),
            ..Phase::new(name, evidence)
        };
        Some(vec![
            phase(phase::CALL.name, Evidence::Measured, without),
            phase(&part.name, Evidence::Difference, whole.minus(&without)),
        ])
    };
    let bills: Vec<_> = results.iter().zip(named).map(bill).collect();
    for (result, bill) in results.iter_mut().zip(bills) {
        result.phases.extend(bill.into_iter().flatten());
    }
}

/// Puts the curves over the number of tasks into the first row of each mechanism that has several.
fn curves(results: &mut [Measurement]) {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, result) in results.iter().enumerate().filter(|(_, result)| result.status == Status::Measured) {
        groups.entry(result.probe.clone()).or_default().push(at);
    }
    for places in groups.values().filter(|places| places.len() > 1) {
        let curve = |name: &str, y_unit: &str, of: &dyn Fn(usize) -> Option<f64>| {
            let mut points: Vec<[f64; 2]> = places
                .iter()
                .filter_map(|&at| Some([results[at].asked.runtime()?.tasks as f64, of(at)?]))
                .collect();
            points.sort_by(|a, b| a[0].total_cmp(&b[0]));
            Series { name: name.into(), x_unit: "tasks".into(), y_unit: y_unit.into(), points }
        };
        let cost = curve("cost", "ns", &|at| Some(results[at].ns?.estimate));
        let memory = curve("memory", "bytes per task", &|at| results[at].found.runtime()?.bytes_per_task);
        results[places[0]].series = vec![cost, memory];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Room, Sources, choice, transcript};

    /// The output of a program of a border in which the callee copies every second text.
    fn said(entered: u64) -> String {
        format!(
            "tollgate-runtime 1\nversion X 1\nclock 1 none\nwarm 10 steady\nsample 50 400\nsample 50 600\n\
             count switches 100\ncount resumes {entered}\ncount copies 50\nend\n"
        )
    }

    const UNITS: Units = Units { scale: PICOSECONDS, ticks: false, core: None, core_spread: 0.0 };

    #[test]
    fn a_named_part_is_the_difference_of_two_rows_and_both_are_the_whole() {
        let row = |probe: &str, ns: f64| Measurement {
            ns: Some(Estimate::within(ns, [ns - 3.0, ns + 4.0])),
            ..Measurement::empty(probe, "host", Per::Call, Status::Measured)
        };
        let part = NamedPart { name: phase::LOCK.name.into(), without: "ctypes/down-held".into() };
        let mut results = vec![row("ffi/ctypes/down", 67.0), row("ffi/ctypes/down-held", 47.0)];
        parts(&mut results, &[Some(&part), None], &UNITS);
        let ns = |name| results[0].phase(name).and_then(|phase| phase.ns).map(|ns| (ns.estimate, ns.ci));
        assert_eq!(ns(phase::CALL), Some((47.0, [44.0, 51.0])));
        // The half widths of independent figures add by their squares: 3 and 4, 4 and 3.
        assert_eq!(ns(phase::LOCK), Some((20.0, [15.0, 25.0])));
        assert!(results[1].phases.is_empty());
        // The other row was not asked for.
        let mut alone = vec![row("ffi/ctypes/down", 67.0)];
        parts(&mut alone, &[Some(&part)], &UNITS);
        assert!(alone[0].phases.is_empty());
    }

    #[test]
    fn every_named_part_is_a_phase_and_has_its_row() {
        let borders = choice::borders(&Sources::Embedded).unwrap();
        let rows: Vec<String> = borders
            .iter()
            .map(|(runtime, mechanism, _)| format!("{}/{}", runtime.id, mechanism.id))
            .collect();
        let named: Vec<&NamedPart> =
            borders.iter().filter_map(|(_, mechanism, _)| mechanism.part.as_ref()).collect();
        assert!(named.len() >= 11, "{named:?}");
        for part in named {
            assert!(phase::ALL.iter().any(|it| it.name == part.name), "{part:?} is in the vocabulary");
            assert!(rows.contains(&part.without), "{part:?}");
        }
    }

    #[test]
    fn a_border_is_a_call_with_the_counts_of_both_sides() {
        let asked = transcript::Asked { tasks: 1, batches: 2, batch: 50, singles: 0, tolerance: 0.0 };
        let refused = transcript::read(said(99).as_bytes(), &asked).unwrap_err().to_string();
        assert_eq!(refused, "resumptions of the tasks: 99 counted where 100 was claimed");

        let borders = choice::borders(&Sources::Embedded).unwrap();
        let (runtime, mechanism, _) = borders.iter().find(|(runtime, ..)| runtime.id == "cgo").unwrap();
        let mut row = Row::new(runtime, mechanism, 1, Room { bytes: 1 << 30, bound: "--memory" });
        assert_eq!(row.state, State::Active);
        row.epochs.push(transcript::read(said(100).as_bytes(), &asked).unwrap());
        let result = measurement(&row, &UNITS);
        assert_eq!((result.probe.as_str(), result.per), ("ffi/cgo/down", Per::Call));
        assert_eq!(result.ns.unwrap().mean, 10.0, "1,000 ns for 100 calls");
        assert_eq!(result.proof["entered-per-call"], 1.0);
        assert_eq!(result.proof["copies-per-call"], 0.5);
    }
}
