//! What a view, a page or an export of a record costs grows with its rows and not with their square. Counted in allocations,
//! of which every comparison of two rows here has made some. A program of its own: its allocator counts.

mod fixture;

use tollgate_record::family::{ImportedAsked, RingAsked, RuntimeAsked};
use tollgate_record::{Asked, Estimate, Measurement, Per, Run, Status};
use tollgate_report::export::FORMATS;
use tollgate_report::{Style, html, view};
use tollgate_testkit::{Allocated, Counting};

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(of: impl FnOnce() -> usize) -> u64 {
    let (length, allocated) = Allocated::during(of);
    assert!(length > 0);
    allocated.count
}

/// Makes the row of a number.
type Row = fn(u64) -> Measurement;

/// A row of each kind, by its number.
static KINDS: [(&str, Row); 6] = [
    ("imported", |n| {
        let asked = Asked::Imported(ImportedAsked {
            core_a: Some(n / 99),
            core_b: Some(n % 99),
            ..Default::default()
        });
        Measurement { asked, ..row("core/core-to-core", n) }
    }),
    ("own names", |n| row(&format!("syscall/call-{n}"), n)),
    ("one name", |n| row("syscall/getppid", n)),
    ("skipped", |n| Measurement {
        status: Status::Skipped,
        ns: None,
        reason: Some(format!("reason {n}")),
        ..row("syscall/getppid", n)
    }),
    ("ring", |n| {
        let asked = Asked::Ring(RingAsked { procs: n as u32 + 2, size: 4096, ..Default::default() });
        Measurement { asked, ..row("ring/pipe", n) }
    }),
    ("switch", |n| {
        let asked = Asked::Runtime(RuntimeAsked { runtime: format!("r{n}"), tasks: n, ..Default::default() });
        Measurement { asked, ..row("switch/go/goroutine", n) }
    }),
];

fn row(probe: &str, n: u64) -> Measurement {
    Measurement {
        ns: Some(Estimate::point(100.0 + n as f64)),
        ..Measurement::empty(probe, "host", Per::Syscall, Status::Measured)
    }
}

fn run(row: fn(u64) -> Measurement, rows: u64) -> Run {
    fixture::run((0..rows).map(row).collect())
}

#[test]
fn views_pages_and_exports_grow_with_the_rows() {
    let style = Style { width: 80, unicode: true, ..Style::default() };
    for (kind, row) in KINDS {
        let [few, many] = [300, 1_200].map(|rows| run(row, rows));
        let grows = |what: &str, of: &dyn Fn(&Run) -> usize| {
            let [few, many] = [&few, &many].map(|run| allocations(|| of(run)));
            // Four times as many rows; sixteen would be their square.
            assert!(many < few * 5, "{what} of {kind}: {few} allocations of 300 rows, {many} of 1,200");
        };
        grows("view", &|run| view(run, &style).len());
        grows("page", &|run| html(std::slice::from_ref(run)).len());
        for format in FORMATS {
            if format.export(&few).is_ok() {
                grows(format.name, &|run| format.export(run).map_or(1, |exported| exported.bytes.len() + 1));
            }
        }
    }
}
