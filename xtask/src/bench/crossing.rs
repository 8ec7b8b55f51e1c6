//! `tollgate crossing`: how well the phases repeat, how large the unattributed rest is, how long it takes.

use super::effort::Effort;
use super::figures::Figure;
use crate::tool::Tool;
use anyhow::Result;
use serde_json::Value;

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
    let options: &[&str] = if effort.quick { &["--quick"] } else { &[] };
    let (mut runs, mut longest) = (Vec::new(), 0.0_f64);
    for _ in 0..effort.runs {
        let (run, seconds) = tool.json(&[&["crossing", "--no-save"], options].concat())?;
        longest = longest.max(seconds);
        runs.push(run);
    }
    let mut figures = vec![Figure::at_most("tollgate crossing, longest, seconds", longest, 30.0)];
    for (probe, part, bound) in REPEAT {
        let values: Vec<f64> = runs.iter().filter_map(|run| phase(run, probe, part)).collect();
        let what = format!("{probe}, {part}: farthest run from the mean, %");
        if values.len() < runs.len() {
            figures.push(Figure::skipped(&what, "not every run has this phase"));
            continue;
        }
        println!("  {probe}, {part}: {}", words(&values));
        figures.push(Figure::at_most(&what, farthest(&values), bound));
    }
    for probe in BILLS {
        let rest: Vec<f64> = runs
            .iter()
            .filter_map(|run| Some(phase(run, probe, "unattributed")? / total(run, probe)?))
            .collect();
        if rest.is_empty() {
            figures.push(Figure::skipped(&format!("{probe}: unattributed"), "no run has phases"));
            continue;
        }
        let mean = 100.0 * rest.iter().sum::<f64>() / rest.len() as f64;
        figures.push(Figure::at_most(
            &format!("{probe}: unattributed, mean, % of the total"),
            mean.abs(),
            2.0,
        ));
    }
    Ok(figures)
}

fn result<'a>(run: &'a Value, probe: &str) -> Option<&'a Value> {
    run["results"].as_array()?.iter().find(|result| result["probe"] == probe && result["engine"] == "host")
}

fn total(run: &Value, probe: &str) -> Option<f64> {
    result(run, probe)?["ns"]["estimate"].as_f64()
}

/// A phase in nanoseconds. It is the sum of two where a bare guest has measured the share of the hardware.
fn phase(run: &Value, probe: &str, part: &str) -> Option<f64> {
    let names: [&str; 3] = match part {
        "entry" => ["entry", "hardware entry", "entry code"],
        "return" => ["return", "hardware return", "exit code"],
        other => [other; 3],
    };
    let phases = result(run, probe)?["phases"].as_array()?;
    let found = phases.iter().filter(|phase| names.iter().any(|name| phase["name"] == *name));
    found
        .map(|phase| phase["ns"]["estimate"].as_f64())
        .collect::<Option<Vec<f64>>>()
        .filter(|it| !it.is_empty())
        .map(|it| it.iter().sum())
}

fn farthest(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| 100.0 * (value / mean - 1.0).abs()).fold(0.0, f64::max)
}

fn words(values: &[f64]) -> String {
    values.iter().map(|ns| format!("{ns:.1}")).collect::<Vec<_>>().join(" ") + " ns"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_phase_is_found_also_when_it_is_split_in_two() {
        let run = json!({"results": [
            {"probe": "fault/anonymous", "engine": "kvm-intel", "ns": {"estimate": 1.0}},
            {"probe": "fault/anonymous", "engine": "host", "ns": {"estimate": 100.0}, "phases": [
                {"name": "hardware entry", "ns": {"estimate": 30.0}},
                {"name": "entry code", "ns": {"estimate": 20.0}},
                {"name": "return", "ns": {"estimate": 49.0}}]}]});
        assert_eq!(phase(&run, "fault/anonymous", "entry"), Some(50.0));
        assert_eq!(phase(&run, "fault/anonymous", "return"), Some(49.0));
        assert_eq!(phase(&run, "fault/anonymous", "unattributed"), None);
        assert_eq!(total(&run, "fault/anonymous"), Some(100.0));
        assert_eq!(total(&run, "signal/self"), None);
    }

    #[test]
    fn the_farthest_run_decides() {
        assert!((farthest(&[98.0, 100.0, 102.0]) - 2.0).abs() < 1e-9);
    }
}
