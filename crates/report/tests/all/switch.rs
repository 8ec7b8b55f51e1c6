//! The table of runtimes, from a record that was made by hand.

use tollgate_record::family::{RuntimeAsked, RuntimeFound};
use tollgate_record::{Asked, Found};
use tollgate_record::{Estimate, Measurement, Per, Run, Series, Status, Warning};
use tollgate_report::{Style, view};

fn estimate(ns: f64) -> Estimate {
    Estimate {
        estimate: ns,
        ci: [0.99 * ns, 1.01 * ns],
        min: ns,
        p10: ns,
        p50: ns,
        p90: ns,
        p99: ns,
        mean: ns,
    }
}

fn row(name: &str, kind: &str, tasks: u64, ns: f64) -> Measurement {
    let mut row = Measurement::empty(&format!("switch/{name}"), "host", Per::Switch, Status::Measured);
    row.ns = Some(estimate(ns));
    row.cycles = Some(estimate(3.0 * ns));
    row.asked = Asked::Runtime(RuntimeAsked {
        kind: kind.into(),
        tasks,
        runtime: "Thing".into(),
        ..RuntimeAsked::default()
    });
    row.found = Found::Runtime(RuntimeFound {
        version: "Thing 1.0".into(),
        clock: "a clock".into(),
        clock_resolution_ns: 1.0,
        bytes_per_task: Some(4096.0),
        ..RuntimeFound::default()
    });
    row.proof.insert("resumes-per-switch".into(), 1.0);
    row
}

fn run(results: Vec<Measurement>) -> Run {
    Run {
        complete: true,
        warnings: vec![Warning { code: "a".into(), text: "\u{1b}[31mred".into() }],
        results,
        ..Run::begin(
            "x".into(),
            "2026-01-01T00:00:00Z".into(),
            tollgate_record::Tool { version: "0".into(), commit: "0".into() },
            vec!["switch".into()],
            tollgate_record::Host::default(),
            1,
        )
    }
}

#[test]
fn rows_stand_by_kind_and_cost_and_a_failure_has_its_reason() {
    let mut failed = row("broken/yield", "stackful", 2, 1.0);
    failed.status = Status::Failed;
    failed.reason = Some("it printed nothing".into());
    let mut absent = row("absent/yield", "thread", 2, 1.0);
    absent.status = Status::Skipped;
    absent.reason = Some("g++ is missing".into());
    absent.enable = Some("apt-get install g++".into());
    let text = view(
        &run(vec![
            row("slow/yield", "stackful", 2, 66.0),
            failed,
            row("park/park", "thread", 2, 2_300.0),
            row("quick/yield", "stackful", 2, 4.0),
            absent,
        ]),
        &Style::default(),
    );
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    assert!(
        at("quick/yield") < at("slow/yield")
            && at("slow/yield") < at("broken/yield  failed: it printed nothing")
    );
    assert!(at("broken/yield") < at("Threads of the system: 2 tasks") && at("2,300") > at("Threads"));
    assert!(text.contains("skipped absent/yield: g++ is missing: apt-get install g++"), "{text}");
    assert!(!text.contains('\u{1b}'));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_curve_is_drawn_and_its_knee_named() {
    let points = [(2, 4.0), (100, 4.2), (10_000, 20.0), (1_000_000, 146.0)];
    let mut rows: Vec<Measurement> =
        points.iter().map(|&(tasks, ns)| row("own/jmp", "stackful", tasks, ns)).collect();
    rows[0].series = vec![Series {
        name: "cost".into(),
        x_unit: "tasks".into(),
        y_unit: "ns".into(),
        points: points.iter().map(|&(tasks, ns)| [tasks as f64, ns]).collect(),
    }];
    let text = view(&run(rows), &Style::default());
    assert!(text.contains("own/jmp: at 10,000 tasks 20.0 ns, more than twice the 4.0 ns of fewer"), "{text}");
    let dots =
        text.lines().filter_map(|line| line.split_once('|')).map(|(_, field)| field.matches('o').count());
    assert_eq!(dots.sum::<usize>(), 4, "{text}");
    assert!(text.contains("1,000,000 tasks"));
}

#[test]
fn hostile_numbers_break_nothing() {
    for ns in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
        for width in [1, 40, 80, 200] {
            let mut hostile = row("a/b", "stackful", u64::MAX, ns);
            let points = vec![[1.0, ns], [ns, 1.0], [2.0, 2.0], [1e6, 3.0]];
            hostile.series =
                vec![Series { name: "cost".into(), x_unit: String::new(), y_unit: String::new(), points }];
            view(&run(vec![hostile]), &Style { width, color: false, unicode: true, ..Style::PLAIN });
        }
    }
}
