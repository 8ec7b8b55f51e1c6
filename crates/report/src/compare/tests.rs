use super::*;
use crate::style::Style;
use tollgate_judge::*;
use tollgate_record::Per;
use tollgate_record::family::{Caches, ExecAsked, RingAsked, RingFound, TollFound, TrapAsked, TrapFound};
use tollgate_record::{Asked, Found};
use tollgate_record::{
    EpochFigure, Estimate, Evidence, Host, Measurement, PairedFigure, Phase, Run, Status, Tool, Yardstick,
};

mod programs;

const ASCII: Style = Style { width: 80, color: false, unicode: false, ..Style::PLAIN };
/// What the processes of a run differ by, as shares.
const OWN: [f64; 12] =
    [0.0, 0.001, -0.001, 0.002, -0.002, 0.003, -0.003, 0.0015, -0.0015, 0.0005, -0.0005, 0.0025];

fn estimate(value: f64, half: f64) -> Estimate {
    Estimate {
        estimate: value,
        ci: [value - half, value + half],
        min: value,
        p10: value,
        p50: value,
        p90: value,
        p99: value,
        mean: value,
    }
}

/// A probe of `cycles` core cycles on a core of `hz`, with so many processes.
fn measured(probe: &str, cycles: f64, hz: f64, epochs: usize) -> Measurement {
    let mut result = Measurement::empty(probe, "host", Per::Syscall, Status::Measured);
    let ns = cycles / hz * 1e9;
    result.ns = Some(estimate(ns, ns * 0.01));
    result.epochs = OWN
        .iter()
        .cycle()
        .take(epochs)
        .map(|own| EpochFigure { ns: ns * (1.0 + own), core_hz: Some(hz), ..EpochFigure::default() })
        .collect();
    result
}

fn simulated(probe: &str, cycles: f64) -> Measurement {
    let mut result = Measurement::empty(probe, "embedded", Per::Trap, Status::Measured);
    result.cycles = Some(estimate(cycles, 0.0));
    result
}

fn run(id: &str, results: Vec<Measurement>) -> Run {
    let mut host = Host { name: "here".into(), arch: "x86_64".into(), ..Host::default() };
    host.clock.source = "tsc".into();
    host.kernel.release = "6.18".into();
    Run {
        complete: true,
        results,
        ..Run::begin(
            id.into(),
            "2026-11-20T15:28:00Z".into(),
            Tool { version: "0.1.0".into(), commit: "unknown".into() },
            Vec::new(),
            host,
            1,
        )
    }
}

fn of_one(a: Measurement, b: Measurement) -> ComparedProbe {
    compare(&[run("a", vec![a])], &[run("b", vec![b])], &Options::default()).unwrap().rows.remove(0)
}

#[test]
fn a_faster_core_is_no_better_program() {
    let (a, b) = (measured("syscall/x", 300.0, 3.0e9, 12), measured("syscall/x", 300.0, 3.3e9, 12));
    let found =
        compare(&[run("a", vec![a.clone()])], &[run("b", vec![b.clone()])], &Options::default()).unwrap();
    assert!((found.frequency_ratio.unwrap() - 1.1).abs() < 1e-9);
    assert!((found.rows[0].ratio.unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(found.rows[0].verdict, Verdict::Same);
    assert!(comparison(&found, false, &ASCII).contains("The core ran 10 % faster in B"));
    // By time it is one.
    let by_time = Options { by_time: true, ..Options::default() };
    let found = compare(&[run("a", vec![a])], &[run("b", vec![b])], &by_time).unwrap();
    assert_eq!(found.rows[0].verdict, Verdict::Better);
    assert!((found.rows[0].ratio.unwrap() - 1.0 / 1.1).abs() < 1e-9);
}

#[test]
fn slower_faster_and_the_same_are_told_apart() {
    let row = |cycles| of_one(measured("syscall/x", 300.0, 3e9, 12), measured("syscall/x", cycles, 3e9, 12));
    let (worse, better, same) = (row(315.0), row(285.0), row(300.0));
    assert_eq!(
        (worse.verdict, better.verdict, same.verdict),
        (Verdict::Worse, Verdict::Better, Verdict::Same)
    );
    assert!((worse.ratio.unwrap() - 1.05).abs() < 1e-9);
    assert_eq!((worse.effect, better.effect), (Some(1.0), Some(-1.0)));
    let [low, high] = worse.interval.unwrap();
    assert!(low > 1.02 && low < 1.05 && high > 1.05 && high < 1.08, "{low} {high}");
    assert!(worse.smallest_seen.unwrap() < 0.04);
    // A change below what two runs differ by anyway is not told of, however exact the runs are.
    assert_eq!(row(301.5).verdict, Verdict::Same);
}

/// All probes that enter the kernel take 20 % longer. Where those that never do are as they were, the kernel changed;
/// where they moved too, the machine did, and no probe is blamed. One that moved far more is.
#[test]
fn what_moves_the_probes_outside_the_kernel_too_is_the_machine() {
    let of = |kernel: f64, user: f64, one: f64| {
        let mut results: Vec<Measurement> =
            (0..9).map(|n| measured(&format!("syscall/{n}"), 300.0 * kernel, 3e9, 12)).collect();
        results.extend((0..4).map(|n| measured(&format!("call/{n}"), 5.0 * user, 3e9, 12)));
        results.push(measured("signal/self", 3000.0 * kernel * one, 3e9, 12));
        results
    };
    let found = |b| compare(&[run("a", of(1.0, 1.0, 1.0))], &[run("b", b)], &Options::default()).unwrap();
    let kernel = found(of(1.2, 1.0, 1.0));
    assert_eq!((kernel.count(Verdict::Worse), kernel.machine_ratio), (10, None));
    let machine = found(of(1.2, 1.2, 1.0));
    assert_eq!((machine.count(Verdict::Worse), machine.count(Verdict::Better)), (0, 0));
    assert!((machine.machine_ratio.unwrap() - 1.2).abs() < 1e-9);
    let text = comparison(&machine, false, &ASCII).replace('\n', " ");
    assert!(text.contains("never enter the kernel") && text.contains("+20 %"), "{text}");
    let one = found(of(1.2, 1.2, 3.0));
    assert_eq!(one.count(Verdict::Worse), 1);
    assert_eq!(one.rows.last().unwrap().verdict, Verdict::Worse);
}

/// A probe takes 20 % longer, alike in all processes, so that no yardstick explains it. Where the work of a yardstick did as
/// well, and for `core/*` what two CPUs do to each other, the machine may have done it.
#[test]
fn what_moves_work_that_cannot_change_is_not_a_change_of_the_others() {
    let with = |id: &str, work: f64, probes: &[(&str, f64)]| {
        let results = probes.iter().map(|(name, times)| measured(name, 300.0 * times, 3e9, 12)).collect();
        let epochs = OWN.iter().rev().map(|own| Some(30_000.0 * work * (1.0 + own))).collect();
        Run { yardsticks: vec![Yardstick { name: "add".into(), epochs }], ..run(id, results) }
    };
    let verdict = |work: f64, probes: &[(&str, f64)]| {
        let before: Vec<(&str, f64)> = probes.iter().map(|(name, _)| (*name, 1.0)).collect();
        let found =
            compare(&[with("a", 1.0, &before)], &[with("b", work, probes)], &Options::default()).unwrap();
        assert_eq!(found.rows[0].relative, None);
        found.rows[0].verdict
    };
    assert_eq!(verdict(1.0, &[("syscall/x", 1.2)]), Verdict::Worse);
    assert_eq!(verdict(1.02, &[("syscall/x", 1.2)]), Verdict::Worse, "it moved as noise does");
    assert_ne!(verdict(1.2, &[("syscall/x", 1.2)]), Verdict::Worse);
    assert_eq!(verdict(1.2, &[("syscall/x", 3.0)]), Verdict::Worse, "far more");
    assert_eq!(verdict(1.0, &[("core/futex", 1.2), ("core/spin", 1.0)]), Verdict::Worse);
    assert_ne!(verdict(1.0, &[("core/futex", 1.2), ("core/spin", 1.2)]), Verdict::Worse);
    assert_eq!(verdict(1.2, &[("core/futex", 1.2), ("core/cas", 1.0)]), Verdict::Worse, "its own controls");
}

#[test]
fn the_threshold_is_held_against_the_lower_end() {
    let exceeded = |cycles: f64, most: f64| {
        let sides = [300.0, cycles].map(|cycles| measured("syscall/x", cycles, 3e9, 12));
        let [a, b] = sides.map(|result| vec![result]);
        let options = Options { margin: most, fail_above: Some(most), ..Options::default() };
        compare(&[run("a", a)], &[run("b", b)], &options).unwrap().exceeded
    };
    assert_eq!(exceeded(330.0, 0.05), ["syscall/x"], "10 % more");
    assert!(exceeded(318.0, 0.05).is_empty(), "6 % more, which may be less than 5 %");
    assert!(exceeded(250.0, 0.05).is_empty(), "less");
}

#[test]
fn a_single_process_a_side_has_no_interval_and_the_reason_is_told() {
    let row = of_one(measured("syscall/x", 300.0, 3e9, 1), measured("syscall/x", 600.0, 3e9, 1));
    assert!((row.ratio.unwrap() - 2.0).abs() < 1e-9 && row.verdict == Verdict::CannotTell);
    assert_eq!((row.interval, row.smallest_seen, row.chance), (None, None, None));
    assert_eq!(row.why.as_deref(), Some("1 and 1 processes are too few for an interval"));
}

/// Three values a side vary by 0.1 %: Student's 4.60 times the error of 0.08 %, and 2.58 times the 0.57 % of runs.
#[test]
fn few_processes_have_students_interval() {
    let row = |cycles| of_one(measured("syscall/x", 300.0, 3e9, 3), measured("syscall/x", cycles, 3e9, 3));
    let [low, high] = row(300.0).interval.unwrap();
    assert!((high - 1.015).abs() < 0.001 && (low * high - 1.0).abs() < 1e-9, "{low} {high}");
    assert_eq!((row(300.0).verdict, row(600.0).verdict), (Verdict::Same, Verdict::Worse));
    assert_eq!(row(150.0).verdict, Verdict::Better);
}

/// Of four runs a side one has another probe as well: one run says nothing of what runs differ by.
#[test]
fn a_probe_of_one_run_a_side_has_no_verdict_among_sets_of_runs() {
    let set = |name: &str, only: f64| -> Vec<Run> {
        let runs = (0..4).map(|i| {
            let level = 300.0 * (1.0 + 0.001 * f64::from(i));
            let mut results = vec![measured("syscall/x", level, 3e9, 6)];
            results.extend((i == 1).then(|| measured("syscall/only", only, 3e9, 6)));
            run(&format!("{name}{i}"), results)
        });
        runs.collect()
    };
    let found = compare(&set("a", 300.0), &set("b", 293.4), &Options::default()).unwrap();
    let only = found.rows.iter().find(|row| row.probe == "syscall/only").unwrap();
    assert_eq!((only.verdict, only.interval, only.smallest_seen), (Verdict::CannotTell, None, None));
    assert_eq!(only.why.as_deref(), Some("1 and 1 runs are too few for an interval"));
    assert_eq!(found.rows[0].verdict, Verdict::Same);
}

/// Both sides have quick runs and default ones: a row whose runs were all made alike keeps its verdict.
#[test]
fn mixed_effort_takes_the_verdict_of_the_rows_that_it_concerns_and_says_so() {
    let of = |id: &str, probe: &str, quick: bool| {
        let command = if quick { vec!["run".into(), "--quick".into()] } else { vec!["run".into()] };
        Run { command, ..run(id, vec![measured(probe, 300.0, 3e9, 12)]) }
    };
    let a = [of("a1", "syscall/x", true), of("a2", "fault/y", false)];
    let b = [of("b1", "syscall/x", true), of("b2", "fault/y", false)];
    let found = compare(&a, &b, &Options::default()).unwrap();
    assert!(found.rows.iter().all(|row| row.verdict == Verdict::Same), "{:?}", found.rows);
    assert!(!found.is_spoiled());
    let b = [of("b1", "syscall/x", false), of("b2", "fault/y", false)];
    let found = compare(&a, &b, &Options::default()).unwrap();
    let why: Vec<Option<&str>> = found.rows.iter().map(|row| row.why.as_deref()).collect();
    assert_eq!(why, [Some("the effort is quick in A and usual in B"), None]);
    assert!(comparison(&found, false, &ASCII).contains("1 probe has no verdict"));
    let found = compare(&a[..1], &b[..1], &Options::default()).unwrap();
    let text = comparison(&found, false, &ASCII);
    assert!(
        text.starts_with("No verdict on measured figures: the effort is quick in A and usual in B."),
        "{text}"
    );
}

#[test]
fn runs_are_the_units_where_there_are_enough() {
    let set = |name: &str, cycles: f64, far: f64| -> Vec<Run> {
        (0..6)
            .map(|i| {
                // Each run on its own level, which its processes do not show.
                let level = cycles * (1.0 + far * (f64::from(i) - 2.5));
                run(&format!("{name}{i}"), vec![measured("syscall/x", level, 3e9, 6)])
            })
            .collect()
    };
    let of = |far| compare(&set("a", 300.0, far), &set("b", 312.0, far), &Options::default()).unwrap();
    assert!(of(0.001).by_runs);
    assert_eq!(of(0.001).rows[0].units, [6, 6]);
    assert_eq!(of(0.001).rows[0].verdict, Verdict::Worse);
    assert_eq!(of(0.05).rows[0].verdict, Verdict::CannotTell, "the runs themselves lie 5 % apart");
}

#[test]
fn simulated_figures_are_compared_exactly() {
    let row = |a, b| of_one(simulated("riscv-trap/x", a), simulated("riscv-trap/x", b));
    assert_eq!(row(172.0, 172.0).verdict, Verdict::Same);
    let worse = row(172.0, 173.0);
    assert_eq!((worse.verdict, worse.exact, worse.ratio), (Verdict::Worse, true, Some(173.0 / 172.0)));
    assert_eq!(row(172.0, 171.0).verdict, Verdict::Better);
    assert_eq!(worse.chance, None);
}

#[test]
fn what_differs_is_told_and_spoils_what_it_must() {
    let sides = || {
        (
            run("a", vec![measured("syscall/x", 300.0, 3e9, 12), simulated("riscv-trap/x", 10.0)]),
            run("b", vec![measured("syscall/x", 600.0, 3e9, 12), simulated("riscv-trap/x", 11.0)]),
        )
    };
    type Spoiler = (&'static str, fn(&mut Run));
    let spoilers: [Spoiler; 3] = [
        ("effort", |run| run.command = vec!["run".into(), "--quick".into(), "--seed".into(), "4".into()]),
        ("clock", |run| run.host.clock.source = "os".into()),
        ("complete", |run| run.complete = false),
    ];
    for (what, spoil) in spoilers {
        let (a, mut b) = sides();
        spoil(&mut b);
        let found = compare(&[a], &[b], &Options::default()).unwrap();
        assert_eq!(found.differences[0].what, what);
        assert!(found.is_spoiled());
        assert_eq!(found.rows[0].verdict, Verdict::CannotTell, "{what}");
        assert!(found.rows[0].ratio.is_some(), "the ratio is shown all the same");
        assert_eq!(found.rows[1].verdict, Verdict::Worse, "a simulator does not care: {what}");
        assert!(comparison(&found, false, &ASCII).contains("spoils it"));
    }
    // Other facts matter and do not spoil; seeds do not even matter.
    let (a, mut b) = sides();
    b.host.kernel.release = "6.19".into();
    b.host.kernel.mitigations.insert("meltdown".into(), "Mitigation: PTI".into());
    b.seed = 99;
    let found = compare(&[a], &[b], &Options::default()).unwrap();
    let named: Vec<&str> = found.differences.iter().map(|it| it.what.as_str()).collect();
    assert_eq!(named, ["kernel", "mitigation meltdown"]);
    assert_eq!(found.rows[0].verdict, Verdict::Worse);
}

#[test]
fn another_host_is_compared_in_nanoseconds() {
    let a = run("a", vec![measured("syscall/x", 300.0, 3.0e9, 12)]);
    let mut b = run("b", vec![measured("syscall/x", 300.0, 2.0e9, 12)]);
    b.host.name = "elsewhere".into();
    let found = compare(&[a], &[b], &Options::default()).unwrap();
    assert!((found.rows[0].ratio.unwrap() - 1.5).abs() < 1e-9);
    assert_eq!(found.rows[0].verdict, Verdict::Worse);
    assert_eq!((found.differences[0].what.as_str(), found.differences[0].weight), ("host", Weight::Matters));
}

#[test]
fn figures_of_zero_and_below_have_no_ratio() {
    for (a, b) in [(0.0, 300.0), (300.0, 0.0), (-5.0, 5.0), (-300.0, -200.0)] {
        let row = of_one(measured("syscall/x", a, 3e9, 12), measured("syscall/x", b, 3e9, 12));
        assert_eq!((row.verdict, row.ratio), (Verdict::CannotTell, None), "{a} {b}");
        assert!(row.why.unwrap().contains("zero or less"));
    }
}

#[test]
fn records_without_processes_are_compared_by_their_intervals() {
    let plain = |cycles| measured("syscall/x", cycles, 3e9, 0);
    assert_eq!(of_one(plain(300.0), plain(330.0)).verdict, Verdict::Worse);
    let near = of_one(plain(300.0), plain(306.0));
    assert_eq!(near.verdict, Verdict::CannotTell);
    assert!(near.chance.is_none() && near.why.unwrap().contains("keep no processes"));
}

#[test]
fn what_cannot_be_compared_is_refused_in_a_sentence() {
    let some = || run("a", vec![measured("syscall/x", 300.0, 3e9, 6)]);
    let other = || run("b", vec![measured("fault/y", 300.0, 3e9, 6)]);
    let refused = |a: &[Run], b: &[Run]| compare(a, b, &Options::default()).unwrap_err();
    assert_eq!(refused(&[], &[some()]), CompareError::NoRun('A'));
    assert_eq!(refused(&[some()], &[]), CompareError::NoRun('B'));
    assert_eq!(refused(&[some()], &[some()]), CompareError::Twice("a".into()));
    let nothing = refused(&[some()], &[other()]).to_string();
    assert!(nothing.contains("A has syscall/x, B has fault/y"), "{nothing}");
    let mut unlike = run("b", vec![measured("syscall/x", 300.0, 3e9, 6)]);
    unlike.results[0].per = Per::Switch;
    assert!(matches!(refused(&[some()], &[unlike]), CompareError::OtherUnit(..)));
}

#[test]
fn the_phases_that_carry_a_difference_come_first() {
    let with = |total: f64, phases: &[(&str, f64)]| {
        let mut result = measured("syscall/x", total, 1e9, 12);
        for (name, ns) in phases {
            let mut phase = Phase::new(*name, Evidence::Measured);
            phase.ns = Some(estimate(*ns, 1.0));
            result.phases.push(phase);
        }
        result
    };
    let a = with(300.0, &[("entry", 100.0), ("work", 150.0), ("return", 50.0)]);
    let b = with(350.0, &[("entry", 110.0), ("work", 190.0), ("return", 50.0)]);
    let calls = |of: &Measurement, ahead: f64, behind: f64| {
        let counters = [("ahead", ahead), ("behind", behind), ("same", 7.0)];
        let counters = counters.map(|(name, count)| (name.to_owned(), count)).into();
        Measurement { counters, ..of.clone() }
    };
    let (a, b) = (calls(&a, 2.0, 10.0), calls(&b, 1.0, 30.0));
    let found = compare(&[run("a", vec![a])], &[run("b", vec![b])], &Options::default()).unwrap();
    let counters: Vec<&str> = found.rows[0].counters.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(counters, ["behind", "ahead"]);
    let parts = &found.rows[0].parts;
    let told: Vec<(&str, f64)> = parts.iter().map(|part| (part.name.as_str(), part.delta)).collect();
    assert_eq!(told, [("work", 40.0), ("entry", 10.0), ("return", 0.0)]);
    assert!((parts[0].share.unwrap() - 0.8).abs() < 1e-9);
    // Two independent intervals of 1 on either side.
    let [low, high] = parts[0].interval.unwrap();
    assert!((low - (40.0 - 2.0_f64.sqrt())).abs() < 1e-9 && (high - (40.0 + 2.0_f64.sqrt())).abs() < 1e-9);
    let text = comparison(&found, true, &ASCII);
    assert!(text.contains("work") && text.contains("+80 % of it"), "{text}");
}

#[test]
fn rows_of_one_probe_are_matched_by_what_was_asked_of_them() {
    let cell = |procs: u32, cycles: f64, found: f64| {
        let mut result = measured("ring/pipe", cycles, 3e9, 12);
        result.asked = Asked::Ring(RingAsked { procs, pages: Some("huge".into()), ..RingAsked::default() });
        // What the run found out does not keep rows apart.
        result.found = Found::Ring(RingFound { huge_kib: Some((found * 1e3) as u64) });
        result.instrumented_ns = [("events".into(), found)].into();
        result
    };
    let a = run("a", vec![cell(2, 300.0, 1.5), cell(8, 600.0, 2.5)]);
    let b = run("b", vec![cell(8, 600.0, 3.5), cell(2, 300.0, 4.5), cell(16, 900.0, 5.5)]);
    let found = compare(&[a], &[b], &Options::default()).unwrap();
    assert_eq!(found.rows.len(), 2);
    assert!(found.rows.iter().all(|row| (row.ratio.unwrap() - 1.0).abs() < 1e-9), "{:?}", found.rows);
}

/// Bills of two kernels: the release separates no rows of one side, the state of the caches does.
#[test]
fn bills_of_two_kernels_are_matched_by_the_state_of_the_caches() {
    let bill = |kernel: &str, caches: Caches, cycles: f64| {
        let mut result = measured("riscv-trap/getpid", cycles, 3e9, 12);
        result.asked =
            Asked::Trap(TrapAsked { kernel: kernel.into(), caches: Some(caches), ..TrapAsked::default() });
        result.found = Found::Trap(TrapFound::default());
        result
    };
    let a =
        run("a", vec![bill("linux-6.1", Caches::Warm, 400.0), bill("linux-6.1", Caches::Evicted, 6000.0)]);
    let b =
        run("b", vec![bill("linux-6.12", Caches::Evicted, 6000.0), bill("linux-6.12", Caches::Warm, 400.0)]);
    let found = compare(std::slice::from_ref(&a), &[b], &Options::default()).unwrap();
    assert_eq!(found.rows.len(), 2);
    assert!(found.rows.iter().all(|row| (row.ratio.unwrap() - 1.0).abs() < 1e-9), "{:?}", found.rows);
    // Without its twin the other state is not the same.
    let other = run("c", vec![bill("linux-6.12", Caches::Evicted, 6000.0)]);
    assert_eq!(compare(&[a], &[other], &Options::default()).unwrap().rows.len(), 1);
}

/// Bills without a core have instructions and no cycles; the phases of the instructions carry the difference.
#[test]
fn bills_without_a_core_are_compared_by_their_instructions() {
    let bill = |kernel: &str, phases: [f64; 2]| {
        let mut result = Measurement::empty("riscv-trap/getpid", "embedded", Per::Trap, Status::Measured);
        result.asked = Asked::Trap(TrapAsked { kernel: kernel.into(), ..TrapAsked::default() });
        result.counters.insert("instructions".into(), phases[0] + phases[1]);
        for (name, instructions) in ["register-save", "handler"].into_iter().zip(phases) {
            let mut phase = Phase::new(name, Evidence::Simulated);
            phase.instructions = Some(instructions);
            result.phases.push(phase);
        }
        result
    };
    let (a, b) = (run("a", vec![bill("xv6", [40.0, 60.0])]), run("b", vec![bill("xv6", [40.0, 90.0])]));
    let found = compare(std::slice::from_ref(&a), &[b], &Options::default()).unwrap();
    let row = &found.rows[0];
    assert_eq!((row.unit, row.a, row.b, row.ratio), ("instructions", 100.0, 130.0, Some(1.3)));
    assert_eq!((row.exact, row.verdict), (true, Verdict::Worse));
    let part = &row.parts[0];
    assert_eq!((part.name.as_str(), part.unit, part.delta), ("handler", "instructions", 30.0));
    assert_eq!(part.share, Some(1.0));
    let text = comparison(&found, true, &ASCII);
    assert!(text.contains("130i") && text.contains("Figures with an i are instructions"), "{text}");

    // A bill with cycles is not compared with one that has none.
    let mut timed = bill("xv6", [40.0, 60.0]);
    timed.cycles = Some(estimate(100.0, 0.0));
    let found = compare(&[a], &[run("c", vec![timed])], &Options::default()).unwrap();
    assert_eq!((found.rows[0].verdict, found.rows[0].ratio), (Verdict::CannotTell, None));
    assert!(found.rows[0].why.as_deref().unwrap().contains("--core"), "{:?}", found.rows[0].why);
}

/// What is dropped from a run of a large set changes no figure, verdict, phase or fact of the comparison.
#[test]
fn a_run_without_what_a_comparison_does_not_read_compares_the_same() {
    let with = |id: &str, cycles: f64| {
        let mut result = measured("syscall/x", cycles, 3e9, 12);
        let mut phase = Phase::new("entry", Evidence::Measured);
        phase.ns = Some(estimate(cycles / 6.0, 1.0));
        result.phases.push(phase);
        result.counters.insert("faults".into(), cycles);
        result.histogram = Some("A".repeat(100_000));
        result
            .warnings
            .push(tollgate_record::Warning::new(tollgate_record::warning::FEW_EPOCHS, "12 epochs only"));
        run(id, vec![result])
    };
    let (a, b) = ([with("a", 300.0)], [with("b", 330.0)]);
    let lean = |runs: &[Run]| -> Vec<Run> { runs.iter().cloned().map(essentials).collect() };
    let whole = compare(&a, &b, &Options::default()).unwrap();
    assert_eq!(compare(&lean(&a), &lean(&b), &Options::default()).unwrap(), whole);
    let json = tollgate_record::document::to_json(&lean(&a)[0]).unwrap();
    assert!(json.len() < 5_000, "{} bytes are kept", json.len());
}

/// Sides of many runs: the places of the test are as many as there are processes, not a fixed thousand for each run.
#[test]
fn many_runs_against_one_take_turns_in_as_many_places_as_they_have_processes() {
    let many: Vec<Run> =
        (0..400).map(|i| run(&format!("a{i}"), vec![measured("syscall/x", 300.0, 3e9, 6)])).collect();
    let found =
        compare(&many, &[run("b", vec![measured("syscall/x", 300.0, 3e9, 6)])], &Options::default()).unwrap();
    assert_eq!((found.rows[0].units, found.rows[0].verdict), ([2400, 6], Verdict::Same));
}

#[test]
fn a_table_fits_and_says_what_must_be_known() {
    let mut a = run("20261120T152800Z-7f3a1c", vec![]);
    let mut b = run("20261121T152800Z-aaaaaa", vec![]);
    for (i, change) in [1.0, 1.05, 0.9, 1.0, 2.0].into_iter().enumerate() {
        let probe = format!("syscall/with-a-long-name-{i}");
        a.results.push(measured(&probe, 300.0, 3.0e9, 12));
        b.results.push(measured(&probe, 300.0 * change, 3.0e9, 12));
    }
    a.results.push(measured("fault/gone", 300.0, 3e9, 12));
    let options = Options { margin: 0.05, fail_above: Some(0.05), ..Options::default() };
    let found = compare(&[a], &[b], &options).unwrap();
    insta::assert_snapshot!("comparison_80", comparison(&found, true, &ASCII));
    insta::assert_snapshot!("comparison_markdown", comparison(&found, false, &Style::MARKDOWN));
    assert!(comparison(&found, true, &ASCII).lines().all(|line| line.len() <= 80));
}

/// Two runs in pairs: in each epoch B takes `change` more than A, and a little that differs from epoch to epoch. The figures
/// of the sides, which were measured in other levels of the machine, say something else.
fn in_pairs(change: f64, epochs: usize, until: Option<f64>) -> [Run; 2] {
    let side = |id: &str, other: &str, cycles: f64, sign: f64| {
        let mut result = measured("syscall/x", cycles, 3e9, epochs);
        for (epoch, own) in result.epochs.iter_mut().zip(OWN.iter().cycle()) {
            let ratio = ((1.0 + change).ln() * sign + own * sign).exp();
            epoch.paired = Some(PairedFigure { ratio, pairs: 50, spread: 0.006 });
        }
        let mut run = run(id, vec![result]);
        (run.interleaved_with, run.until) = (Some(other.into()), until);
        run
    };
    [side("a", "b", 300.0, -1.0), side("b", "a", 330.0, 1.0)]
}

fn row_in_pairs(change: f64, epochs: usize, until: Option<f64>) -> (ComparedProbe, Comparison) {
    let [a, b] = in_pairs(change, epochs, until);
    let found = compare(&[a], &[b], &Options::default()).unwrap();
    (found.rows[0].clone(), found)
}

#[test]
fn pairs_are_compared_by_the_ratio_of_neighbors() {
    let (row, found) = row_in_pairs(0.01, 24, None);
    assert!((row.ratio.unwrap() - 1.01).abs() < 0.001, "{:?}", row.ratio);
    assert_eq!((row.verdict, row.units, row.at_one_frequency), (Verdict::Worse, [24, 24], false));
    assert_eq!((row.effect, row.pair_spread), (Some(1.0), Some(0.006)));
    // All 24 are on one side: beyond 14 epochs the choices are drawn, and none of 4,999 reaches that.
    assert_eq!(row.chance, Some(1.0 / 5_000.0));
    let [low, high] = row.interval.unwrap();
    assert!(1.0 < low && low < 1.01 && 1.01 < high && high < 1.013, "{low} {high}");
    let text = comparison(&found, false, &ASCII);
    assert!(text.contains("took turns within milliseconds") && text.contains("varies by 0.6 %"), "{text}");
    // The other way round the ratio is its inverse.
    let [a, b] = in_pairs(0.01, 24, None);
    let turned = compare(&[b], &[a], &Options::default()).unwrap().rows[0].clone();
    assert!((turned.ratio.unwrap() * row.ratio.unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(turned.verdict, Verdict::Better);
}

#[test]
fn pairs_that_do_not_differ_are_the_same() {
    let (row, _) = row_in_pairs(0.0, 24, None);
    assert_eq!(row.verdict, Verdict::Same);
    assert!(row.smallest_seen.unwrap() < 0.005, "{:?}", row.smallest_seen);
    let (row, _) = row_in_pairs(0.05, 7, None);
    assert_eq!(row.verdict, Verdict::CannotTell, "2 of 2^7 are more than one in five hundred");
    assert_eq!(row.why.as_deref(), Some("7 pairs are too few for an interval"));
}

#[test]
fn pairs_until_it_is_known_are_judged_by_the_interval_of_all_looks() {
    let (row, found) = row_in_pairs(0.0, 20, Some(0.05));
    assert_eq!((row.verdict, row.chance, found.margin), (Verdict::Same, None, 0.05));
    let [low, high] = row.interval.unwrap();
    let fixed = row_in_pairs(0.0, 20, None).0.interval.unwrap();
    assert!(low < fixed[0] && fixed[1] < high, "it holds at every look, and is wider");
    let text = comparison(&found, false, &ASCII).replace('\n', " ");
    assert!(text.contains("above, below or within 5.0 %") && !text.contains("99 % interval"), "{text}");
    let (row, _) = row_in_pairs(0.1, 10, Some(0.05));
    assert_eq!((row.verdict, row.interval), (Verdict::CannotTell, None));
    assert_eq!(row.why.as_deref(), Some("10 pairs are too few for an interval"));
}

/// The epochs of several runs in pairs are one series.
#[test]
fn several_runs_in_pairs_are_pooled() {
    let of = |at: usize| {
        in_pairs(0.01, 6, None).map(|run| {
            let other = run.interleaved_with.map(|it| format!("{it}{at}"));
            Run { id: format!("{}{at}", run.id), interleaved_with: other, ..run }
        })
    };
    let ([a, b], [c, d]) = (of(1), of(2));
    let found = compare(&[a, c], &[b, d], &Options::default()).unwrap();
    assert_eq!((found.rows[0].units, found.rows[0].verdict), ([12, 12], Verdict::Worse));
}

/// Records of an earlier version, whose epochs took turns, have no ratios.
#[test]
fn runs_that_took_turns_by_epoch_are_compared_as_before() {
    let [mut a, mut b] = in_pairs(0.0, 12, None);
    for epoch in a.results[0].epochs.iter_mut().chain(&mut b.results[0].epochs) {
        epoch.paired = None;
    }
    let found = compare(&[a], &[b], &Options::default()).unwrap();
    assert_eq!((found.rows[0].verdict, found.rows[0].pair_spread), (Verdict::Worse, None));
    assert!(comparison(&found, false, &ASCII).contains("The processes of A and B took turns."));
}
