//! Views in colors and in odd cases; the usual ones are in `widths.rs`. To accept a new picture, look at it, then
//! `cargo xtask bless screens`.

use crate::fixture::{self, ASCII, COLOR, UNICODE};
use insta::assert_snapshot;
use tollgate_record::{Estimate, Evidence, Measurement, Per, Phase, Run, Status, counter, phase, warning};
use tollgate_report::{Style, findings, probes, runs, view};

/// Colors as text, so that the snapshots can be read.
fn visible(text: &str) -> String {
    text.replace("\x1b[0m", "</>").replace("\x1b[", "<")
}

#[test]
fn ladders() {
    assert_snapshot!("ladder_120_color", visible(&view(&fixture::ladder(), &COLOR)));
    assert_snapshot!("ladder_50_ascii", view(&fixture::ladder(), &Style { width: 50, ..ASCII }));
}

#[test]
fn ladders_without_figures() {
    assert_snapshot!("ladder_empty", view(&fixture::run(Vec::new()), &ASCII));
    let all = ["vm/cpuid", "vm/guest", "core/pipe"].map(|probe| fixture::skipped(probe, Per::Exit));
    assert_snapshot!("ladder_all_skipped", view(&fixture::run(all.to_vec()), &ASCII));
    let mut run = fixture::run(vec![
        fixture::failed("thread/pipe", Per::Switch, "pipe: Too many open files (os error 24)"),
        fixture::failed(
            "spawn/fork",
            Per::Task,
            "the child was killed by signal 9 after it had been measured 12 times; nothing is known of the reason, so look into the kernel's log",
        ),
        fixture::skipped("vm/cpuid", Per::Exit),
    ]);
    run.complete = false;
    assert_snapshot!("ladder_failed_rows", view(&run, &ASCII));
}

#[test]
fn one_code_on_many_probes_is_one_note() {
    let results = (0..20).map(|i| {
        let mut result = Measurement { ..fixture::failed(&format!("thread/p{i}"), Per::Switch, "no") };
        let warning = |code: &str, text: String| tollgate_record::Warning { code: code.into(), text };
        result.warnings.push(warning("same", "the same for all".into()));
        result.warnings.push(warning("own", format!("{i} of 20 batches were disturbed.")));
        result
    });
    let text = view(&fixture::run(results.collect()), &Style { warnings: true, ..ASCII });
    let notes: Vec<&str> = text.lines().skip_while(|line| !line.contains("measured")).collect();
    assert_snapshot!("notes_grouped", notes.join("\n"));
}

#[test]
fn what_most_rows_share_is_said_below_and_not_marked() {
    let mut run = fixture::ladder();
    for result in run.results.iter_mut().skip(3) {
        result.warnings.push(tollgate_record::Warning::new(warning::FEW_EPOCHS, "6 epochs only"));
    }
    let text = view(&run, &Style { warnings: true, ..ASCII });
    assert!(
        text.contains("  - call/dynamic, vdso/clock_gettime, syscall/getppid and 27 others: 6"),
        "{text}"
    );
    assert!(text.contains("  own   ") && text.contains("  pipe*   "), "{text}");
}

#[test]
fn what_is_missing_comes_before_what_disturbed() {
    let mut run = fixture::ladder();
    let missing = tollgate_record::Warning::new(warning::NOT_IMPORTED, "a section was not read");
    run.warnings.push(missing);
    assert!(view(&run, &ASCII).trim_end().ends_with("  - a section was not read"));
}

#[test]
fn hostile_records() {
    assert_snapshot!("ladder_hostile_ascii", view(&fixture::hostile(), &ASCII));
    assert_snapshot!("ladder_hostile_unicode", view(&fixture::hostile(), &UNICODE));
}

#[test]
fn lists_of_runs() {
    assert_snapshot!("runs_80_ascii", runs(&fixture::entries(), &ASCII));
    assert_snapshot!("runs_120_color", visible(&runs(&fixture::entries(), &COLOR)));
    assert_snapshot!("runs_empty", runs(&[], &ASCII));
}

#[test]
fn lists_of_probes() {
    assert_snapshot!("probes_80_ascii", probes(&fixture::probe_rows(), false, &ASCII));
    assert_snapshot!("probes_80_why", probes(&fixture::probe_rows(), true, &ASCII));
    assert_snapshot!("probes_120_color", visible(&probes(&fixture::probe_rows(), true, &COLOR)));
    assert_snapshot!("probes_empty", probes(&[], false, &ASCII));
}

#[test]
fn lists_of_findings() {
    assert_snapshot!("findings_80_ascii", findings(&fixture::findings(), &ASCII));
    assert_snapshot!("findings_120_color", visible(&findings(&fixture::findings(), &COLOR)));
    assert_snapshot!("findings_empty", findings(&[], &ASCII));
}

#[test]
fn rings() {
    assert_snapshot!("ring_120_color", visible(&view(&fixture::ring(), &COLOR)));
    let empty = Run { command: vec!["ring".into()], ..fixture::run(Vec::new()) };
    assert_snapshot!("ring_empty", view(&empty, &ASCII));
}

#[test]
fn crossings() {
    assert_snapshot!("crossing_120_color", visible(&view(&fixture::crossing(), &COLOR)));
}

#[test]
fn what_an_emulator_made_stands_below_the_ladder() {
    let mut cheap = fixture::measured_at("hardware/pair", 0.1);
    cheap.engine = "qemu-tcg".into();
    let mut real = fixture::measured_at("hardware/iretq", 40.0);
    real.engine = "kvm-intel".into();
    let text =
        view(&fixture::run(vec![cheap, real, fixture::measured_at("call/direct", 1.2)]), &fixture::ASCII);
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} in\n{text}"));
    let heading = place("Emulated by qemu-tcg, not this machine's hardware");
    assert!(heading > place("iretq") && heading > place("direct") && heading < place("pair"), "{text}");
}

#[test]
fn a_ladder_has_the_columns_that_its_rows_have() {
    let figure = |x: f64| Some(Estimate::within(x, [x - 4.0, x + 4.0]));
    let row = |probe: &str| Measurement {
        ns: figure(300.0),
        ..Measurement::empty(probe, "host", Per::Syscall, Status::Measured)
    };
    let taxed = |tax: f64| Measurement {
        phases: [(phase::PLAIN, 100.0), (phase::TAX, tax)]
            .map(|(name, ns)| Phase { ns: figure(ns), ..Phase::new(name, Evidence::Difference) })
            .into(),
        ..row("interpose/x")
    };
    let mut woken = row("wake/x");
    woken.count(counter::CPU_TIME, 1234.0);
    woken.phases =
        [(phase::SENDERS_CALL, 61.0), (phase::WAKE_UP_TO_RUNNING, 172.0), (phase::RECEIVERS_RETURN, 67.0)]
            .map(|(name, ns)| Phase { ns: figure(ns), ..Phase::new(name, Evidence::KernelTimestamp) })
            .into();
    let of = |rows: Vec<Measurement>| view(&fixture::run(rows), &ASCII);
    let plain = of(vec![row("syscall/x")]);
    assert!(!plain.contains("tax") && !plain.contains("CPU ns"), "{plain}");
    let interposed = of(vec![taxed(200.0)]);
    assert!(interposed.contains("plain") && interposed.contains("200 +-4"), "{interposed}");
    assert!(!interposed.contains("CPU ns"), "{interposed}");
    assert!(of(vec![taxed(-200.0)]).contains("-200 +-4"), "a tax has a sign");
    assert!(of(vec![taxed(1.0)]).contains("<= 5"), "a tax that may be zero is a bound");
    let woken = of(vec![woken]);
    assert!(woken.contains("CPU ns") && woken.contains("1,234") && !woken.contains("tax"), "{woken}");
    assert!(woken.contains("wake-up") && woken.contains(" 61.0") && woken.contains(" 172"), "{woken}");
}
