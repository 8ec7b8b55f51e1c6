//! The page: what is in the record is in it, as marks and as rows, and nothing else is.

use crate::every::RUNS;
use crate::fixture::{self, estimate, ladder, measured_at, run};
use crate::page::Page;
use tollgate_record::Asked;
use tollgate_record::family::{CallSite, Found, Frame, RingAsked};
use tollgate_record::host::Cache;
use tollgate_record::{Evidence, Measurement, Per, Phase, Run, Series, Status, Warning, counter, warning};
use tollgate_report::html;

fn read(runs: &[Run]) -> Page {
    let text = html(runs);
    Page::read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn phase(name: &str, ns: f64) -> Phase {
    Phase { ns: Some(estimate(ns, 1.0)), ..Phase::new(name, Evidence::Difference) }
}

#[test]
fn every_result_has_its_row_and_every_figure_its_mark() {
    let run = ladder();
    let page = read(std::slice::from_ref(&run));
    let measured: Vec<_> = run.results.iter().filter(|it| it.ns.is_some()).collect();
    let marks = page.part("ladder", "g", "m");
    assert_eq!(marks.len(), measured.len());
    for mark in &marks {
        assert!(mark.text.contains("ns ±") || mark.text.contains("s ±"), "{mark:?}");
        assert_eq!(mark.attribute("role"), Some("img"));
    }
    for result in &run.results {
        let rows = page.named("ladder", &result.probe);
        match result.status {
            // What was skipped is below the rows, with its reason.
            Status::Skipped => {
                assert!(rows.is_empty() && page.text("ladder").contains(&result.probe), "{}", result.probe);
            }
            _ => assert_eq!(rows.len(), 1, "{}", result.probe),
        }
    }
}

/// One figure of a row is to be quoted, and no other section makes one of the same probe look as if it were.
#[test]
fn exactly_one_figure_of_a_row_is_bold() {
    let mut call = measured_at("syscall/getppid", 100.0);
    call.single = Some(fixture::single(900.0));
    call.phases = vec![phase("entry", 40.0), phase("return", 60.0)];
    let page = read(&[run(vec![call, measured_at("call/direct", 1.5)])]);
    for name in ["syscall/getppid", "call/direct"] {
        let row = page.named("ladder", name)[0];
        assert_eq!(page.within(row, "b", "").len(), 1, "{}", row.text);
    }
    assert_eq!(page.all("b", "").count(), 2, "no figure elsewhere is bold");
}

#[test]
fn the_axis_is_logarithmic() {
    let results =
        vec![measured_at("call/a", 1.0), measured_at("call/b", 100.0), measured_at("call/c", 10_000.0)];
    let page = read(&[run(results)]);
    let places: Vec<String> =
        page.part("ladder", "use", "").iter().map(|it| it.attribute("x").unwrap().to_owned()).collect();
    assert_eq!(places, ["0%", "50%", "100%"]);
}

#[test]
fn what_is_missing_says_why() {
    let page = read(&[ladder()]);
    let text = page.text("ladder");
    assert!(text.contains("io_uring is disabled here") && text.contains("sysctl kernel.io_uring_disabled=0"));
    assert!(page.named("ladder", "thread/eventfd")[0].text.contains("Too many open files"));
    assert!(text.contains("2.05 switches per crossing"));
}

#[test]
fn no_figure_is_dropped_in_silence() {
    let results =
        vec![measured_at("call/zero", 0.0), measured_at("call/below", -3.0), measured_at("call/one", 1.0)];
    let page = read(&[run(results)]);
    assert_eq!(page.part("ladder", "g", "m").len(), 1);
    for name in ["call/zero", "call/below"] {
        let row = page.named("ladder", name)[0];
        assert!(!page.within(row, "b", "")[0].text.is_empty(), "{}", row.text);
    }
    assert!(page.text("ladder").contains("no different from zero"));
}

#[test]
fn what_is_no_number_is_said() {
    let mut odd = measured_at("call/odd", f64::NAN);
    odd.count(counter::MISSES, f64::INFINITY);
    let page = read(&[run(vec![odd, measured_at("call/good", 5.0)])]);
    let text = page.text("ladder");
    assert!(text.contains("the measured figure is not a finite number"), "{text}");
    assert!(text.contains("counter misses are not finite numbers"), "{text}");
}

#[test]
fn several_runs_lie_over_each_other_each_with_its_look() {
    let runs = vec![ladder(); 3];
    let page = read(&runs);
    let rows = page.named("ladder", "thread/futex");
    let shape =
        |row: &&crate::page::Element| page.within(row, "use", "")[0].attribute("href").unwrap().to_owned();
    assert_eq!(rows.iter().map(shape).collect::<Vec<_>>(), ["#shape0", "#shape1", "#shape2"]);
    let letters: Vec<_> =
        page.all("b", "").map(|it| it.text.as_str()).filter(|text| text.len() == 1).collect();
    assert_eq!(letters, ["A", "B", "C"]);
    // Of many runs one row has all marks, and the range of the figures.
    let mut last = ladder();
    for result in &mut last.results {
        result.ns = result.ns.map(|ns| ns.scaled(2.0));
    }
    let page = read(&[vec![ladder(); 4], vec![last]].concat());
    let rows = page.named("ladder", "thread/futex");
    assert_eq!((rows.len(), page.within(rows[0], "g", "m").len()), (1, 5));
    assert!(rows[0].text.contains("5 runs") && rows[0].text.contains(" – "), "{}", rows[0].text);
}

/// Of runs with different views each row still says whose it is, in the column and in the color of its mark.
#[test]
fn a_section_of_one_run_among_several_has_its_letter() {
    let ring = run(vec![cell(2, 16_384, 1_000.0)]);
    let page = read(&[ring, run(vec![measured_at("call/direct", 1.5)])]);
    assert_eq!(page.rows("ring")[0][1], "A");
    assert_eq!(page.rows("ladder")[0][1], "B");
    let mark = page.part("ladder", "g", "m")[0];
    assert!(mark.is("g", "s1") && mark.text.starts_with("B: "), "{mark:?}");
}

/// The page of two runs begins with what was asked: what changed, on which hosts.
#[test]
fn two_runs_begin_with_hosts_change_and_verdict() {
    let at = |host: &str, ns: f64| {
        let mut call = measured_at("call/direct", ns);
        call.ns = Some(estimate(ns, 0.01));
        let mut run = run(vec![call]);
        (run.id, run.host.name) = (host.into(), host.into());
        run
    };
    let page = read(&[at("one", 10.0), at("two", 20.0)]);
    let header = page.all("header", "").next().unwrap();
    for said in
        ["What changed from A to B", "host one", "host two", "call/direct +100 %", "1 of 1 probe moved"]
    {
        assert!(header.text.contains(said), "{said}: {}", header.text);
    }
    let parts: Vec<_> = page.all("section", "part").map(|it| it.attribute("id").unwrap()).collect();
    assert_eq!(parts[..2], ["compared", "ladder"], "the rows are behind");
}

/// A note that all runs share appears once, the others with the letter of their run.
#[test]
fn what_runs_share_is_said_once() {
    let warned = |text: &str| {
        let mut call = measured_at("call/direct", 1.5);
        call.warnings = vec![
            Warning { code: "both".into(), text: "of both".into() },
            Warning { code: text.into(), text: text.into() },
        ];
        run(vec![call])
    };
    let text = read(&[warned("only the first"), warned("only the second")]).text("ladder");
    assert_eq!(text.matches("of both").count(), 1, "{text}");
    assert!(text.contains("A: ") && text.contains("B: "), "{text}");
}

#[test]
fn a_bill_has_its_parts_and_what_is_below_zero() {
    let mut fault = measured_at("fault/anonymous", 100.0);
    fault.phases = vec![phase("entry", 40.0), phase("handling", 70.0), phase("return", -20.0)];
    let page = read(&[run(vec![fault])]);
    let shares = page.part("ladder", "td", "share");
    assert_eq!(shares.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["40 %", "70 %", "-20 %"]);
    assert_eq!(shares[1].attribute("style"), Some("--share:70%"));
    let negative: Vec<_> = shares.iter().filter(|it| it.is("td", "negative")).collect();
    assert_eq!((negative.len(), negative[0].attribute("style")), (1, Some("--share:20%")));
}

#[test]
fn cycles_are_billed_by_phase_and_by_cause() {
    let mut trap = Measurement::empty("riscv-trap/getpid", "embedded", Per::Trap, Status::Measured);
    trap.cycles = Some(estimate(30.0, 0.0));
    let mut save = Phase { cycles: Some(estimate(20.0, 0.0)), ..Phase::new("save", Evidence::Simulated) };
    save.causes = [("issue".to_owned(), 15.0), ("i-miss".to_owned(), 5.0)].into();
    let entry = Phase { cycles: Some(estimate(10.0, 0.0)), ..Phase::new("entry", Evidence::Simulated) };
    trap.phases = vec![entry, save];
    let page = read(&[run(vec![trap])]);
    let tables = page.part("riscv", "table", "");
    let bill = page.rows_of(tables[1]);
    assert_eq!(bill[1], ["save", "-", "20", "15", "5"]);
    assert_eq!(bill[2][2..], ["30", "15", "5"]);
}

#[test]
fn distributions_come_from_the_histogram_or_from_quantiles() {
    let mut with = measured_at("syscall/getppid", 100.0);
    // Five values of 100 and one of 900, as HdrHistogram's own writer has them.
    with.histogram = Some(fixture::histogram(&[100, 100, 100, 100, 100, 900]));
    with.single = Some(fixture::single(900.0));
    let without = measured_at("syscall/read", 200.0);
    let mut broken = measured_at("syscall/broken", 200.0);
    broken.histogram = Some("HISTFAAAA".into());
    let page = read(&[run(vec![with, without, broken])]);
    assert_eq!(page.part("distributions", "path", "area").len(), 1);
    assert_eq!(page.part("distributions", "li", "rung").len(), 3);
    assert_eq!(page.rows("distributions").len(), 3);
    let notes: String = page.part("distributions", "ul", "notes").iter().map(|it| it.text.as_str()).collect();
    assert!(notes.contains("1 histogram of the record cannot be read"), "{notes}");
    assert!(notes.contains("2 rows show batches"), "{notes}");
}

fn cell(procs: u32, size: u64, ns: f64) -> Measurement {
    let mut cell = measured_at("ring/pipe", ns);
    cell.asked = Asked::Ring(RingAsked { procs, size, ..RingAsked::default() });
    cell.phases = vec![phase("hot-work", 0.0)];
    cell
}

#[test]
fn a_ring_has_a_line_for_each_number_of_tasks_and_the_caches_marked() {
    let mut ring = run(vec![
        cell(2, 0, 900.0),
        cell(2, 16_384, 1_000.0),
        cell(2, 65_536, 3_000.0),
        cell(8, 16_384, 2_000.0),
        cell(8, 65_536, 9_000.0),
    ]);
    let cache = |level, bytes| Cache { level, kind: "Data".into(), bytes, ..Cache::default() };
    ring.host.caches = vec![cache(1, 32 << 10), cache(2, 1 << 30)];
    let page = read(&[ring]);
    assert_eq!(page.part("ring", "svg", "curve").len(), 2);
    assert_eq!(page.part("ring", "g", "m").len(), 4, "an empty array has no footprint");
    assert!(page.part("ring", "g", "cache").iter().any(|it| it.text.contains("32 KiB")));
    assert_eq!(page.rows("ring").len(), 5);
    assert!(page.part("ladder", "tr", "").is_empty(), "cells are not rungs");
}

/// Crossings shorter than a pair of clock reads cannot be timed one at a time: zeros and a bar of noise are not shown as
/// their distribution. Of several runs the 99th percentile is shown as well.
#[test]
fn crossings_below_the_clock_show_their_batches() {
    let mut call = measured_at("call/direct", 1.5);
    call.histogram = Some(fixture::histogram(&[10, 10, 10, 10]));
    call.single = Some(fixture::single(0.0));
    let page = read(&[run(vec![call.clone()])]);
    let row = &page.part("distributions", "li", "rung")[0].text;
    assert!(row.contains("1.50 ns") && !row.contains("0 ns p99 0 ns"), "{row}");
    assert_eq!(page.part("distributions", "path", "area").len(), 0);
    assert_eq!(page.part("distributions", "g", "m").len(), 1, "the median has a mark");
    let notes: String = page.part("distributions", "ul", "notes").iter().map(|it| it.text.as_str()).collect();
    assert!(notes.contains("cannot be timed one at a time"), "{notes}");
    // The record's figures stay in the table.
    assert_eq!(page.rows("distributions")[0][1], "single crossings");
    let several = read(&[run(vec![call.clone()]), run(vec![call])]);
    assert!(several.part("distributions", "li", "rung")[0].text.contains("p99"));
}

#[test]
fn a_figure_that_two_sections_give_differently_says_why() {
    let mut populate = measured_at("fault/populate-read", 264.0);
    populate.single = Some(tollgate_record::Single { p50: 4350.0, ..fixture::single(9000.0) });
    let page = read(&[run(vec![populate])]);
    let notes: String = page.part("distributions", "ul", "notes").iter().map(|it| it.text.as_str()).collect();
    assert!(notes.contains("populate-read 4.35 µs here, 264 ns there"), "{notes}");
}

#[test]
fn the_color_of_a_line_is_that_of_its_run() {
    let ring = || {
        let cells = [2, 8].map(|procs| [cell(procs, 16_384, 1_000.0), cell(procs, 65_536, 3_000.0)]);
        run(cells.into_iter().flatten().collect())
    };
    let page = read(&[ring(), ring()]);
    let lines: Vec<&str> =
        page.part("ring", "svg", "curve").iter().map(|it| it.attribute("class").unwrap()).collect();
    assert_eq!(lines, ["curve s0", "curve s0", "curve s1", "curve s1"]);
    let shapes: std::collections::BTreeSet<_> =
        page.part("ring", "use", "").iter().map(|it| it.attribute("href").unwrap().to_owned()).collect();
    assert_eq!(shapes.len(), 3, "the lines of a run differ in shape: {shapes:?}");
}

#[test]
fn wide_intervals_are_drawn() {
    let mut wide = measured_at("syscall/a", 100.0);
    wide.ns = Some(estimate(100.0, 60.0));
    let page = read(&[run(vec![wide, measured_at("syscall/b", 120.0)])]);
    assert_eq!(page.part("ladder", "rect", "interval").len(), 1);
}

#[test]
fn a_line_that_others_dwarf_has_a_plot_of_its_own() {
    let mut scan = measured_at("fault/scan", 100.0);
    let series = |name: &str, most: f64| Series {
        name: name.into(),
        x_unit: "ms".into(),
        y_unit: "faults".into(),
        points: vec![[0.0, 0.0], [1.0, most / 2.0], [2.0, most]],
    };
    scan.series = vec![series("minor faults", 9e4), series("major faults", 12.0), series("touches", 8e4)];
    let page = read(&[run(vec![scan])]);
    assert_eq!(page.part("curves", "figure", "chart").len(), 2);
}

#[test]
fn curves_of_one_unit_share_a_plot() {
    let mut scan = measured_at("fault/scan", 100.0);
    let series = |name: &str, y: &str, points: Vec<[f64; 2]>| Series {
        name: name.into(),
        x_unit: "ms".into(),
        y_unit: y.into(),
        points,
    };
    scan.series = vec![
        series("minor faults", "faults", vec![[0.0, 0.0], [1.0, 5.0], [2.0, 9.0]]),
        series("major faults", "faults", vec![[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]),
        series("bytes read", "bytes", vec![[0.0, 0.0], [2.0, 65_536.0]]),
        series("nothing", "bytes", vec![]),
    ];
    let page = read(&[run(vec![scan])]);
    assert_eq!(page.part("curves", "svg", "field").len(), 2);
    assert_eq!(page.part("curves", "svg", "curve").len(), 3);
    assert_eq!(page.part("curves", "g", "m").len(), 8);
    assert_eq!(page.rows("curves").len(), 6);
}

#[test]
fn markup_in_a_record_stays_text() {
    let evil = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>&lt;b&gt;";
    let mut result = measured_at(&format!("thread/{evil}"), 10.0);
    result.engine = evil.into();
    result.warnings.push(Warning { code: evil.into(), text: evil.into() });
    result.proof.insert(evil.into(), 1.0);
    result.counters.insert(evil.into(), 1.0);
    result.phases = vec![phase(evil, 3.0)];
    result.phases[0].causes.insert(evil.into(), 1.0);
    let points = vec![[1.0, 2.0], [2.0, 3.0]];
    result.series = vec![Series { name: evil.into(), x_unit: evil.into(), y_unit: evil.into(), points }];
    let mut failed = fixture::failed(evil, Per::Call, evil);
    failed.enable = Some(evil.into());
    let mut bad = run(vec![result, failed]);
    bad.command = vec![evil.into()];
    bad.id = evil.into();
    bad.started = evil.into();
    bad.warnings.push(Warning { code: evil.into(), text: evil.into() });
    bad.host.cpu.model = evil.into();
    bad.host.kernel.command_line = vec![evil.into()];
    bad.host.kernel.mitigations.insert(evil.into(), evil.into());
    // The reader knows which elements and attributes are ours, and that there is one script.
    let page = read(&[bad.clone(), ladder()]);
    assert!(page.elements.iter().any(|it| it.text.contains("<img src=x onerror=alert(2)>")));
    let text = html(&[bad]);
    assert!(!text.contains("<img") && !text.contains("<script>alert"));
}

#[test]
fn the_page_loads_nothing() {
    let text = html(&[ladder()]);
    let page = Page::read(&text).unwrap();
    let policy = page.all("meta", "").find(|it| it.attribute("http-equiv").is_some()).unwrap();
    assert!(policy.attribute("content").unwrap().starts_with("default-src 'none'"));
    let outside = text.replace("http://www.w3.org/1999/xhtml", "");
    for word in ["http:", "https:", "src=", "@import"] {
        assert!(!outside.contains(word), "{word}");
    }
}

#[test]
fn nothing_at_all_is_still_a_page() {
    let page = read(&[run(Vec::new())]);
    assert!(page.all("p", "").any(|it| it.text.contains("Nothing was measured")));
    assert!(page.part("ladder", "table", "").is_empty());
    let mut bare = run(Vec::new());
    bare.host = tollgate_record::Host::default();
    read(&[bare]);
}

#[test]
fn a_range_beyond_what_a_number_holds_is_not_told() {
    let page = read(&[run(vec![measured_at("call/a", 5e-324), measured_at("call/b", 1e299)])]);
    let told: Vec<&str> = page.all("p", "summary").map(|it| it.text.as_str()).collect();
    assert!(told.is_empty(), "{told:?}");
    let page = read(&[run(vec![measured_at("call/a", 2.0), measured_at("call/b", 240.0)])]);
    assert!(page.all("p", "summary").any(|it| it.text.ends_with("for call/b: 120 times as much.")));
}

#[test]
fn headings_go_down_one_step_at_a_time() {
    let page = read(&[ladder()]);
    let levels = page.elements.iter().filter_map(|it| it.tag.strip_prefix('h')?.parse::<u32>().ok());
    let mut before = 0;
    for level in levels {
        assert!(level <= before + 1, "h{level} after h{before}");
        before = level;
    }
}

#[test]
fn twenty_runs_are_under_a_megabyte() {
    let mut runs = vec![ladder(); 20];
    for (n, run) in runs.iter_mut().enumerate() {
        for result in run.results.iter_mut().filter(|it| it.ns.is_some()) {
            // Tails as wide as real ones.
            let values: Vec<u64> =
                (0..400).map(|i| 100 + (i * i * (n as u64 + 3)) % 5_000 * (1 + i % 7)).collect();
            result.histogram = Some(fixture::histogram(&values));
        }
    }
    let bytes = html(&runs).len();
    assert!(bytes < 1_000_000, "{bytes}");
}

/// Real runs of every kind, one measurement each spoilt in its own way.
fn spoilt(spoil: impl Fn(usize, &mut Measurement)) -> Vec<Run> {
    let mut runs: Vec<Run> =
        RUNS.iter().map(|text| tollgate_record::document::from_json(text.as_bytes()).unwrap()).collect();
    for (n, result) in runs.iter_mut().flat_map(|run| &mut run.results).enumerate() {
        spoil(n, result);
    }
    runs
}

#[test]
fn every_warning_stands_on_the_page() {
    let runs = spoilt(|n, it| {
        it.warnings = vec![Warning { code: format!("w{n}"), text: format!("warned of {n}.") }]
    });
    for run in &runs {
        let page = html(std::slice::from_ref(run));
        for result in &run.results {
            let text = result.warnings[0].text.trim_end_matches('.');
            assert!(page.contains(text), "{} of {:?}", result.probe, run.command);
        }
    }
    let page = html(&runs);
    let absent = runs
        .iter()
        .flat_map(|run| &run.results)
        .find(|it| !page.contains(it.warnings[0].text.trim_end_matches('.')));
    assert!(absent.is_none(), "together: {absent:?}");
}

#[test]
fn every_reason_stands_on_the_page() {
    let skip = |n: usize, it: &mut Measurement| {
        let mut gone = Measurement::empty(&it.probe, &it.engine, it.per, Status::Skipped);
        (gone.asked, gone.found) = (it.asked.clone(), it.found.clone());
        gone.reason = Some(format!("reason {n}"));
        gone.enable = Some(format!("enabled by {n}."));
        *it = gone;
    };
    // All of them, and every other one among figures that are there.
    for every in [1, 2] {
        let runs = spoilt(|n, it| {
            if n % every == 0 {
                skip(n, it)
            }
        });
        for run in &runs {
            let page = html(std::slice::from_ref(run));
            for result in
                run.results.iter().filter(|it| it.enable.as_deref().is_some_and(|it| it.ends_with('.')))
            {
                for said in [&result.reason, &result.enable] {
                    let said = said.as_deref().unwrap();
                    assert!(
                        page.contains(said.trim_end_matches('.')),
                        "{said}: {} of {:?}",
                        result.probe,
                        run.command
                    );
                }
            }
        }
    }
}

#[test]
fn what_an_emulator_made_is_below_the_ladder() {
    let mut emulated = measured_at("hardware/cr3", 730.0);
    emulated.engine = "kvm-intel".into();
    emulated.warnings = vec![Warning::new(warning::EMULATED, "ring 0 of the guest is emulated")];
    let mut real = measured_at("hardware/iretq", 40.0);
    real.engine = "kvm-intel".into();
    let page = read(&[run(vec![measured_at("call/direct", 1.2), emulated, real])]);
    let heads: Vec<&str> = page.part("ladder", "tr", "group").iter().map(|it| it.text.as_str()).collect();
    assert_eq!(heads.len(), 3);
    assert!(heads[2].starts_with("Emulated by kvm-intel, not this machine's hardware"), "{heads:?}");
    assert!(page.rows("ladder")[2][0].starts_with("cr3 [kvm-intel]"), "{:?}", page.rows("ladder"));
    assert!(page.text("ladder").contains("ring 0 of the guest is emulated"));
    for heading in page.part("distributions", "h3", "") {
        assert!(
            !heading.text.starts_with("the hardware alone") || heading.text.ends_with("guest"),
            "{heading:?}"
        );
    }
}

#[test]
fn the_toll_of_a_program_has_its_parts_and_its_boundaries() {
    let text = RUNS.iter().find(|text| text.contains("exec/total")).unwrap();
    let run = tollgate_record::document::from_json(text.as_bytes()).unwrap();
    let page = read(std::slice::from_ref(&run));
    // Sums have no distribution, and the first sentence is about the program.
    assert!(page.part("distributions", "h3", "").is_empty());
    let summary: Vec<_> = page.all("p", "summary").map(|it| it.text.clone()).collect();
    assert!(
        summary.iter().any(|it| it.contains(" of tolls, ") && it.ends_with(" of CPU time.")),
        "{summary:?}"
    );
    // The parts of the CPU time are not those of the time off the CPU.
    let whole = &run.results[0];
    let beside = [tollgate_record::phase::WAITING, tollgate_record::phase::COUNTING];
    let parts = whole.phases.iter().filter(|part| !beside.iter().any(|name| part.name == *name)).count();
    let bill = page.rows("toll");
    assert_eq!(bill.len(), parts);
    assert!(page.part("toll", "td", "share").len() > parts, "each part and each boundary has its length");
    let getdents = run.results.iter().find(|row| row.probe == "exec/system-call/getdents64").unwrap();
    let tables = page.part("toll", "table", "");
    let crossed = page.rows_of(tables[1]);
    let row = crossed.iter().find(|row| row[0] == "getdents64").unwrap();
    assert_eq!(row[1], tollgate_record::number::count(getdents.crossings));
}

/// A call site in the library function `read`, whose caller has no name.
fn with_site(text: &str) -> Run {
    let mut run = tollgate_record::document::from_json(text.as_bytes()).unwrap();
    let Found::Exec(found) = &mut run.results[0].found else { panic!("the first row is the whole") };
    let frame = |function: Option<&str>, file: &str, source: Option<&str>| Frame {
        function: function.map(str::to_owned),
        file: file.into(),
        offset: 0x1234,
        source: source.map(str::to_owned),
    };
    found.sites = vec![CallSite {
        kind: "system call".into(),
        name: "read".into(),
        crossings: 4_321,
        ns: Some([1e6, 9e5, 1.1e6]),
        frames: vec![
            frame(Some("fill<u8>"), "/usr/bin/a", Some("fill.c:12")),
            frame(None, "/usr/bin/a", None),
        ],
        complete: false,
    }];
    run
}

#[test]
fn the_call_sites_of_a_program_are_lines_of_the_bill() {
    let text = RUNS.iter().find(|text| text.contains("exec/total")).unwrap();
    let run = with_site(text);
    let page = read(std::slice::from_ref(&run));
    let text = page.text("toll");
    assert!(text.contains("read x 4,321"), "{text}");
    assert!(text.contains("fill<u8> (fill.c:12) < a+0x1234 < callers unknown"), "{text}");
    let view = tollgate_report::view(&run, &fixture::ASCII);
    assert!(view.contains("read x 4,321\n    fill<u8> (fill.c:12) < a+0x1234 < callers unknown\n"), "{view}");
    assert!(view.contains("  1.00 ms, "), "{view}");
}

#[test]
fn a_warning_about_the_whole_program_has_no_name_before_it() {
    let text = RUNS.iter().find(|text| text.contains("exec/total")).unwrap();
    let mut run = tollgate_record::document::from_json(text.as_bytes()).unwrap();
    run.results[0].warnings = vec![Warning::new(warning::UNATTRIBUTED, "too much is left")];
    run.results[1].warnings = vec![Warning::new(warning::UNPRICED, "too little is known")];
    let view = tollgate_report::view(&run, &fixture::ASCII);
    assert!(view.contains("\n  - too much is left\n"), "{view}");
    assert!(view.contains(&format!("\n  - {}: too little is known\n", run.results[1].probe)), "{view}");
}

#[test]
fn a_long_reason_is_said_once() {
    let why = "this host has no /dev/kvm and the kernel gives no other way to run a guest here";
    let skipped = |probe: &str| Measurement {
        reason: Some(why.into()),
        ..Measurement::empty(probe, "host", Per::Exit, Status::Skipped)
    };
    let call = measured_at("call/direct", 1.5);
    let page = read(&[run(vec![call, skipped("vm/cpuid"), skipped("vm/hypercall"), skipped("vm/io")])]);
    assert_eq!(page.text("ladder").matches(why).count(), 1);
}
