use super::*;
use crate::style::Style;
use tollgate_judge::{BatchBeside, history, regression};
use tollgate_record::{EpochFigure, Estimate, Host, Measurement, Per, Run, Status, Tool, TypicalFigure};

const ASCII: Style = Style { width: 80, color: false, unicode: false, ..Style::PLAIN };

fn run(day: usize, host: &str, kernel: &str, cycles: f64, hz: f64) -> Run {
    let mut result = Measurement::empty("syscall/x", "host", Per::Syscall, Status::Measured);
    let ns = cycles / hz * 1e9;
    let ci = [ns, ns];
    result.ns = Some(Estimate { estimate: ns, ci, min: ns, p10: ns, p50: ns, p90: ns, p99: ns, mean: ns });
    result.epochs = vec![EpochFigure { ns, core_hz: Some(hz), ..EpochFigure::default() }; 6];
    let mut host = Host { name: host.into(), ..Host::default() };
    host.kernel.release = kernel.into();
    Run {
        complete: true,
        results: vec![result],
        ..Run::begin(
            format!("run-{day:02}"),
            format!("2026-11-{day:02}T00:00:00Z"),
            Tool { version: "0.1.0".into(), commit: "unknown".into() },
            Vec::new(),
            host,
            1,
        )
    }
}

/// Twenty days: on the thirteenth a new kernel, and 5 % more. The core's frequency wanders by 10 %.
fn twenty(host: &str) -> Vec<Run> {
    let own = [0.0, 0.002, -0.002, 0.001, -0.001, 0.003, -0.003];
    let days = (1..=20).map(|day| {
        let level = if day < 13 { 300.0 } else { 315.0 };
        let kernel = if day < 13 { "6.18" } else { "6.19" };
        run(day, host, kernel, level * (1.0 + own[day % 7]), 3e9 * (1.0 + 0.1 * (day % 3) as f64))
    });
    // The store may hand them over in any order.
    days.rev().collect()
}

#[test]
fn a_change_is_found_where_it_was_with_what_changed_besides() {
    let found = history(&twenty("here"), &|_| true, false);
    let series = &found.groups[0].series[0];
    assert_eq!((series.unit, series.points.len(), series.changes.len()), ("cycles", 20, 1));
    let change = &series.changes[0];
    assert_eq!((change.at, change.run.as_str()), (12, "run-13"));
    assert!((change.ratio - 1.05).abs() < 0.003, "{}", change.ratio);
    assert_eq!(change.with, ["kernel 6.18 -> 6.19"]);
    insta::assert_snapshot!("history_80", history_table(&found, &ASCII));
}

/// The machine is slower by a sixth in a third of all batches, and in most of those of every fourth run: relative to work
/// that slows down alike, the change of 3 % is the only one.
#[test]
fn a_change_is_found_on_a_machine_that_changes_its_level() {
    let slow = |day: usize, batch: usize| {
        let share = if day.is_multiple_of(4) { 2 } else { 1 };
        if (batch + day) % 3 < share { 0.16 } else { 0.0 }
    };
    let own = |day: usize, batch: usize| 0.002 * ((day * 7 + batch * 5) % 11) as f64;
    let days = (1..=20).map(|day| {
        let mut run = run(day, "here", "6.18", if day < 13 { 300.0 } else { 309.0 }, 3e9);
        let row = &mut run.results[0];
        let ns = row.epochs[0].ns;
        let batch = |at: usize| BatchBeside {
            probe: (ns * 3.0).ln() + 0.5 * slow(day, at) + own(day, at),
            yardsticks: vec![9e4_f64.ln() + slow(day, at)],
        };
        let epochs: Vec<Vec<BatchBeside>> =
            (0..12).map(|epoch| (epoch * 5..epoch * 5 + 5).map(batch).collect()).collect();
        let (regression, typical) = regression(&epochs, 1).unwrap();
        row.regression = Some(regression);
        let epoch = |it: Option<BatchBeside>| {
            let [ns, work] = it.map(|it| [it.probe, it.yardsticks[0]]).unwrap().map(|log| log.exp() / 3.0);
            let typical = Some(TypicalFigure { ns, yardsticks: vec![work] });
            EpochFigure { ns, core_hz: Some(3e9), typical, paired: None }
        };
        row.epochs = typical.into_iter().map(epoch).collect();
        let epochs = row.epochs.iter().map(|epoch| Some(epoch.typical.as_ref()?.yardsticks[0])).collect();
        run.yardsticks = vec![tollgate_record::Yardstick { name: "l1-walk".into(), epochs }];
        run
    });
    let mut runs: Vec<Run> = days.collect();
    let series = &history(&runs, &|_| true, false).groups[0].series[0];
    assert!(series.relative);
    assert_eq!(series.changes.iter().map(|it| it.at).collect::<Vec<_>>(), [12]);
    assert!((series.changes[0].ratio - 1.03).abs() < 0.004, "{}", series.changes[0].ratio);
    // One run without the work: no series of two kinds of figure.
    runs[7].yardsticks.clear();
    let series = &history(&runs, &|_| true, false).groups[0].series[0];
    assert!(!series.relative);
    assert!(series.changes.iter().all(|it| it.at != 12) || series.changes.len() != 1);
}

#[test]
fn hosts_and_efforts_are_told_apart() {
    let mut runs = twenty("here");
    runs.extend(twenty("there"));
    runs[0].command = vec!["--quick".into()];
    runs[1].complete = false;
    let found = history(&runs, &|_| true, false);
    let told: Vec<_> =
        found.groups.iter().map(|it| (it.host.as_str(), it.effort.as_str(), it.runs)).collect();
    assert_eq!(told, [("here", "quick", 1), ("here", "usual", 18), ("there", "usual", 20)]);
}

#[test]
fn groups_that_differ_in_clock_or_machine_only_have_headings_that_differ() {
    let mut runs = twenty("here");
    runs[0].host.clock.source = "os".into();
    runs[1].host.clock.source = "tsc".into();
    runs[2].host.machine = Some("board".into());
    let text = history_table(&history(&runs, &|_| true, false), &ASCII);
    let headings: std::collections::BTreeSet<&str> =
        text.lines().filter(|line| line.starts_with("host ")).collect();
    assert_eq!(headings.len(), 4, "{text}");
    assert!(text.contains("clock tsc") && text.contains("board"), "{text}");
}

#[test]
fn nothing_wanted_and_nothing_there_is_no_group() {
    assert!(history(&twenty("here"), &|_| false, false).groups.is_empty());
    assert!(history(&[], &|_| true, false).groups.is_empty());
}
