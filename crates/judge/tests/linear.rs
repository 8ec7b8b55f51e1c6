//! What a comparison of two runs costs grows with their rows and not with the square: 10,000 rows of one probe once took
//! longer than eight minutes. Counted in bytes allocated, because a search among all rows has first collected them. A
//! program of its own: its allocator counts.

use tollgate_judge::{Options, compare};
use tollgate_record::family::ImportedAsked;
use tollgate_record::{Asked, EpochFigure, Estimate, Host, Measurement, Per, Run, Status, Tool};
use tollgate_testkit::{Allocated, Counting};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Rows of one probe, each of two cores; or all of the same, with their epochs.
fn run(id: &str, rows: u64, are_same: bool) -> Run {
    let tool = Tool { version: String::new(), commit: String::new() };
    let row = |n: u64| {
        let cores = ImportedAsked { core_a: Some(n / 99), core_b: Some(n % 99), ..Default::default() };
        let epoch = EpochFigure { ns: 100.0 + (n % 7) as f64, core_hz: None, typical: None, paired: None };
        Measurement {
            ns: Some(Estimate::within(100.0, [99.0, 101.0])),
            asked: if are_same { Asked::Nothing } else { Asked::Imported(cores) },
            epochs: if are_same { vec![epoch] } else { Vec::new() },
            ..Measurement::empty("core/core-to-core", "host", Per::Message, Status::Measured)
        }
    };
    let mut run = Run::begin(id.into(), String::new(), tool, Vec::new(), Host::default(), 0);
    run.results = (0..rows).map(row).collect();
    run
}

#[test]
fn a_comparison_grows_with_the_rows() {
    grows(false, |rows| rows);
}

#[test]
fn a_comparison_grows_with_the_epochs() {
    grows(true, |_| 1);
}

fn grows(are_same: bool, expected: fn(u64) -> u64) {
    let bytes = |rows: u64| {
        let [a, b] = ["a", "b"].map(|id| [run(id, rows, are_same)]);
        let (found, allocated) = Allocated::during(|| compare(&a, &b, &Options::default()));
        assert_eq!(found.unwrap().rows.len() as u64, expected(rows));
        allocated.bytes
    };
    let [few, many] = [300, 1_200].map(bytes);
    // Four times as many rows; sixteen would be their square.
    assert!(many < few * 5, "{few} bytes of 300 rows, {many} of 1,200");
}
