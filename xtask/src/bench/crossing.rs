//! `tollgate crossing`: how well the phases repeat, how large the unattributed rest is, how long it takes.

use super::figures::{Effort, Figure, at_most, ns, row, skipped};
use crate::tool::Tool;
use anyhow::Result;
use statrs::statistics::Statistics;
use tollgate_record::Run;

/// Phases with the largest distance of a run from the mean of all runs, in percent.
const REPEAT: [(&str, &str, f64); 4] = [
    ("syscall/clock_gettime", "entry", 2.0),
    ("syscall/clock_gettime", "return", 2.0),
    ("fault/anonymous", "entry", 3.0),
    ("fault/protection", "entry", 3.0),
];
/// Bills whose phases must sum to the total.
const BILLS: [&str; 6] = [
    "syscall/clock_gettime",
    "fault/anonymous",
    "fault/zero-page",
    "fault/cached-file",
    "fault/protection",
    "signal/self",
];

pub(super) fn crossing(tool: &Tool, effort: &Effort) -> Result<Vec<Figure>> {
    let runs = effort.repeat(tool, &["crossing"])?;
    let longest = runs.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let mut figures = vec![at_most("tollgate crossing, longest, seconds", longest, 30.0)];
    for (probe, part, bound) in REPEAT {
        let values: Vec<f64> = runs.iter().filter_map(|(run, _)| phase(run, probe, part)).collect();
        let what = format!("{probe}, {part}: farthest run from the mean, %");
        if values.len() < runs.len() {
            figures.push(skipped(&what, "not every run has this phase"));
            continue;
        }
        println!("  {probe}, {part}: {values:.1?} ns");
        figures.push(at_most(&what, farthest(&values), bound));
    }
    for probe in BILLS {
        let share = |run| Some(phase(run, probe, "unattributed")? / ns(run, probe)?.estimate);
        let rest: Vec<f64> = runs.iter().filter_map(|(run, _)| share(run)).collect();
        figures.push(if rest.is_empty() {
            skipped(&format!("{probe}: unattributed"), "no run has phases")
        } else {
            at_most(&format!("{probe}: unattributed, mean, % of the total"), (100.0 * rest.mean()).abs(), 2.0)
        });
    }
    Ok(figures)
}

/// A phase in nanoseconds. It is the sum of two where a bare guest has measured the share of the hardware.
fn phase(run: &Run, probe: &str, part: &str) -> Option<f64> {
    let names: [&str; 3] = match part {
        "entry" => ["entry", "hardware entry", "entry code"],
        "return" => ["return", "hardware return", "exit code"],
        other => [other; 3],
    };
    let found = row(run, probe)?.phases.iter().filter(|phase| names.contains(&phase.name.as_str()));
    let parts = found.map(|phase| Some(phase.ns?.estimate)).collect::<Option<Vec<f64>>>()?;
    (!parts.is_empty()).then(|| parts.iter().sum())
}

fn farthest(values: &[f64]) -> f64 {
    let mean = values.mean();
    values.iter().map(|value| 100.0 * (value / mean - 1.0).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::{Estimate, Evidence, Host, Measurement, Per, Phase, Status, Tool};

    #[test]
    fn a_phase_is_found_also_when_it_is_split_in_two() {
        let tool = Tool { version: String::new(), commit: String::new() };
        let mut run = Run::begin(String::new(), String::new(), tool, Vec::new(), Host::default(), 0);
        for (engine, total) in [("kvm-intel", 1.0), ("host", 100.0)] {
            let mut row = Measurement::empty("fault/anonymous", engine, Per::Touch, Status::Measured);
            row.ns = Some(Estimate::point(total));
            run.results.push(row);
        }
        for (name, ns) in [("hardware entry", 30.0), ("entry code", 20.0), ("return", 49.0)] {
            let ns = Some(Estimate::point(ns));
            run.results[1].phases.push(Phase { ns, ..Phase::new(name, Evidence::Guest) });
        }
        assert_eq!(phase(&run, "fault/anonymous", "entry"), Some(50.0));
        assert_eq!(phase(&run, "fault/anonymous", "return"), Some(49.0));
        assert_eq!(phase(&run, "fault/anonymous", "unattributed"), None);
        assert_eq!(ns(&run, "fault/anonymous").map(|it| it.estimate), Some(100.0));
        assert_eq!(ns(&run, "signal/self"), None);
    }

    #[test]
    fn the_farthest_run_decides() {
        assert!((farthest(&[98.0, 100.0, 102.0]) - 2.0).abs() < 1e-9);
    }
}
