//! Runs for the tests: one by hand, and arbitrary ones.
#![allow(dead_code, reason = "each test file uses its own part")]

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use tollgate_record::family::{RingAsked, RingFound};
use tollgate_record::{Asked, Found, warning};
use tollgate_record::{
    EpochFigure, Estimate, Evidence, Host, Measurement, Outliers, PairedFigure, Per, Phase, Regression,
    RelativeFigure, Run, SCHEMA, Series, Single, StageDiagram, StageRow, StageSpan, StageSquash, Status,
    Tool, TypicalFigure, Warning, Yardstick,
};

/// An estimate around `x`.
pub(crate) fn estimate(x: f64) -> Estimate {
    Estimate {
        estimate: x,
        ci: [x * 0.99, x * 1.01],
        min: x * 0.9,
        p10: x * 0.95,
        p50: x,
        p90: x * 1.1,
        p99: x * 1.5,
        mean: x * 1.02,
    }
}

/// A run with one result of each status and everything filled in.
pub(crate) fn sample() -> Run {
    let mut futex = Measurement::empty("thread/futex", "host", Per::Switch, Status::Measured);
    futex.ns = Some(estimate(528.0));
    futex.cycles = Some(estimate(1583.0));
    futex.ticks = Some(estimate(1214.0));
    futex.samples = 300;
    futex.crossings = 120_000;
    futex.asked =
        Asked::Ring(RingAsked { procs: 2, size: 4096, cpus: Some(vec![0, 1]), ..RingAsked::default() });
    futex.found = Found::Ring(RingFound { huge_kib: Some(2048) });
    futex.proof.insert("switches-per-crossing".into(), 1.0);
    futex.counters.insert("cache-misses".into(), 0.25);
    futex.phases.push(Phase {
        ns: Some(estimate(-22.0)),
        instructions: Some(45.0),
        causes: [("issue".to_owned(), 45.0)].into(),
        ..Phase::new("entry", Evidence::KernelTimestamp)
    });
    futex.series.push(Series {
        name: "growth".into(),
        x_unit: "tasks".into(),
        y_unit: "ns".into(),
        points: vec![[2.0, 528.0], [4.0, 530.5]],
    });
    futex.stages = Some(StageDiagram {
        rows: vec![StageRow {
            address: "0x80000000".into(),
            mode: "U".into(),
            text: "ecall".into(),
            place: "main+4".into(),
            stages: vec![StageSpan { name: "IF".into(), first: 10, last: 11 }],
            waits: vec![StageSpan { name: "i-miss".into(), first: 10, last: 10 }],
            squash: Some(StageSquash { at: 12, by: "trap".into() }),
            traps: true,
            stores: false,
        }],
        event: Some(0),
        first_fetch: 7,
    });
    futex.single = Some(Single {
        count: 1000,
        pair_overhead_ns: 15.0,
        pair_overhead_error_ns: 0.5,
        min: 480.0,
        p10: 500.0,
        p50: 525.0,
        p90: 600.0,
        p99: 1020.0,
        max: 9000.0,
        mean: 540.0,
    });
    futex.histogram = Some("HISTFAAAAB".into());
    let mut skipped = Measurement::empty("vm/cpuid", "host", Per::Exit, Status::Skipped);
    skipped.reason = Some("no hypervisor".into());
    skipped.enable = Some("run it in a virtual machine".into());
    let mut failed = Measurement::empty("thread/pipe", "host", Per::Switch, Status::Failed);
    failed.reason = Some("pipe: too many open files".into());
    failed.warnings.push(Warning::new(warning::OTHER_TASK, "another task ran"));
    let mut host = Host { name: "testbed".into(), arch: "x86_64".into(), ..Host::default() };
    host.cpu.model = "Xeon".into();
    host.cpu.core_hz_before = Some(3.0e9);
    host.clock.hz = 2.3e9;
    Run {
        schema: SCHEMA.into(),
        checksum: None,
        id: "20261120T152800Z-7f3a1c".into(),
        started: "2026-11-20T15:28:00Z".into(),
        seed: u64::MAX,
        tool: Tool { version: "0.1.0".into(), commit: "unknown".into() },
        command: vec!["run".into(), "--quick".into()],
        complete: true,
        interleaved_with: None,
        label: None,
        same_addresses: false,
        until: None,
        host,
        warnings: vec![Warning::new(warning::STEAL, "the hypervisor took 1 % of the time")],
        yardsticks: Vec::new(),
        results: vec![futex, skipped, failed],
    }
}

prop_compose! {
    fn arbitrary_estimate(float: BoxedStrategy<f64>)(f in vec(float, 9)) -> Estimate {
        Estimate {
            estimate: f[0], ci: [f[1], f[2]], min: f[3], p10: f[4], p50: f[5], p90: f[6], p99: f[7], mean: f[8],
        }
    }
}

prop_compose! {
    fn arbitrary_yardstick(float: BoxedStrategy<f64>)(name in any::<String>(), epochs in vec(option::of(float), 0..3)) -> Yardstick {
        Yardstick { name, epochs }
    }
}

prop_compose! {
    fn arbitrary_single(float: BoxedStrategy<f64>)(f in vec(float, 9), count in any::<u64>()) -> Single {
        Single {
            count, pair_overhead_ns: f[0], pair_overhead_error_ns: f[1], min: f[2], p10: f[3], p50: f[4],
            p90: f[5], p99: f[6], max: f[7], mean: f[8],
        }
    }
}

fn arbitrary_phase(float: BoxedStrategy<f64>) -> impl Strategy<Value = Phase> {
    let figure = || option::of(arbitrary_estimate(float.clone()));
    let causes = btree_map(any::<String>(), float.clone(), 0..3);
    (any::<String>(), figure(), figure(), option::of(float.clone()), causes).prop_map(
        |(name, ns, cycles, instructions, causes)| Phase {
            ns,
            cycles,
            instructions,
            causes,
            ..Phase::new(name, Evidence::Difference)
        },
    )
}

fn arbitrary_series(float: BoxedStrategy<f64>) -> impl Strategy<Value = Series> {
    (any::<[String; 3]>(), vec([float.clone(), float], 0..4))
        .prop_map(|([name, x_unit, y_unit], points)| Series { name, x_unit, y_unit, points })
}

fn arbitrary_epoch(float: BoxedStrategy<f64>) -> impl Strategy<Value = EpochFigure> {
    let paired = (float.clone(), any::<u64>(), float.clone())
        .prop_map(|(ratio, pairs, spread)| PairedFigure { ratio, pairs, spread });
    let typical = (float.clone(), vec(float.clone(), 0..3))
        .prop_map(|(ns, yardsticks)| TypicalFigure { ns, yardsticks });
    (float.clone(), option::of(float), option::of(typical), option::of(paired))
        .prop_map(|(ns, core_hz, typical, paired)| EpochFigure { ns, core_hz, typical, paired })
}

fn arbitrary_warning() -> impl Strategy<Value = Warning> {
    any::<(String, String)>().prop_map(|(code, text)| Warning { code, text })
}

/// A diagram whose every string is the given one.
fn arbitrary_stages(text: String) -> StageDiagram {
    let row = StageRow {
        address: text.clone(),
        mode: text.clone(),
        text: text.clone(),
        place: text.clone(),
        stages: vec![StageSpan { name: text.clone(), first: u64::MAX, last: 0 }],
        waits: Vec::new(),
        squash: None,
        traps: false,
        stores: true,
    };
    StageDiagram { rows: vec![row], event: None, first_fetch: u64::MAX }
}

fn arbitrary_asked() -> impl Strategy<Value = Asked> {
    prop_oneof![
        Just(Asked::Nothing),
        (any::<u32>(), any::<u64>(), any::<Option<String>>()).prop_map(|(procs, size, pages)| {
            Asked::Ring(RingAsked { procs, size, pages, ..RingAsked::default() })
        }),
    ]
}

fn arbitrary_found() -> impl Strategy<Value = Found> {
    let ring = |huge_kib| Found::Ring(RingFound { huge_kib });
    prop_oneof![Just(Found::Nothing), any::<Option<u64>>().prop_map(ring)]
}

fn arbitrary_measurement(float: BoxedStrategy<f64>) -> impl Strategy<Value = Measurement> {
    let figure = || option::of(arbitrary_estimate(float.clone()));
    let words = (any::<String>(), any::<String>(), any::<Option<String>>(), any::<Option<String>>());
    let kinds = (
        prop_oneof![Just(Status::Measured), Just(Status::Skipped), Just(Status::Failed)],
        prop_oneof![Just(Per::Pass), Just(Per::Switch), Just(Per::Trap)],
    );
    let counts = (any::<u64>(), any::<u64>(), any::<[u64; 4]>());
    let more = (
        btree_map(any::<String>(), float.clone(), 0..3),
        btree_map(any::<String>(), float.clone(), 0..3),
        (arbitrary_asked(), arbitrary_found()),
        vec(arbitrary_warning(), 0..3),
        vec(arbitrary_phase(float.clone()), 0..3),
        vec(arbitrary_series(float.clone()), 0..3),
        vec(arbitrary_epoch(float.clone()), 0..3),
    );
    let single = option::of(arbitrary_single(float.clone()));
    (words, kinds, counts, figure(), figure(), figure(), single, more).prop_map(
        |(words, kinds, counts, ns, cycles, ticks, single, more)| Measurement {
            probe: words.0.clone(),
            asked: more.2.0,
            found: more.2.1,
            engine: words.1,
            status: kinds.0,
            reason: words.2.clone(),
            enable: words.3.clone(),
            per: kinds.1,
            ns,
            cycles,
            ticks,
            samples: counts.0,
            crossings: counts.1,
            proof: more.0.clone(),
            per_counted: words.2.clone(),
            instrumented_ns: more.0,
            epochs: more.6,
            relative: single.map(|it| RelativeFigure {
                yardstick: words.0.clone(),
                ratio: it.p50,
                ci: [it.p10, it.p90],
                slope: it.mean,
                slope_error: it.pair_overhead_error_ns,
                left: it.min,
            }),
            regression: single.map(|it| Regression {
                batches: counts.0,
                deviation: it.p50,
                squares: vec![vec![it.p10, it.p90], vec![it.p90]],
                products: vec![it.mean],
                square: it.min,
            }),
            phases: more.4,
            counters: more.1,
            series: more.5,
            stages: words.2.clone().map(arbitrary_stages),
            warnings: more.3,
            outliers: Outliers {
                low_severe: counts.2[0],
                low_mild: counts.2[1],
                high_mild: counts.2[2],
                high_severe: counts.2[3],
            },
            single,
            histogram: words.3,
        },
    )
}

fn arbitrary_host(float: BoxedStrategy<f64>) -> impl Strategy<Value = Host> {
    (any::<[String; 3]>(), any::<Option<String>>(), vec(float, 5), any::<Vec<u16>>()).prop_map(
        |(words, hypervisor, f, cpus)| {
            let mut host = Host { name: words[0].clone(), hypervisor, ..Host::default() };
            host.cpu.model = words[1].clone();
            host.kernel.mitigations.insert(words[2].clone(), words[0].clone());
            host.cpu.allowed = cpus.into_iter().map(usize::from).collect();
            host.cpu.core_hz_before = Some(f[0]);
            host.cpu.core_hz_after = Some(f[1]);
            host.clock.hz = f[2];
            host.clock.pair_ticks = f[3];
            host.cgroup.cpu_max = Some(f[4]);
            host
        },
    )
}

/// Any run whose figures are drawn from `float`, with an id that can be stored.
pub(crate) fn arbitrary_run(float: BoxedStrategy<f64>) -> impl Strategy<Value = Run> {
    (
        "[a-zA-Z0-9_-]{1,30}",
        any::<[String; 3]>(),
        any::<u64>(),
        any::<Vec<String>>(),
        any::<bool>(),
        arbitrary_host(float.clone()),
        vec(arbitrary_warning(), 0..3),
        vec(arbitrary_yardstick(float.clone()), 0..3),
        vec(arbitrary_measurement(float), 0..3),
    )
        .prop_map(|(id, words, seed, command, complete, host, warnings, yardsticks, results)| {
            let [started, version, commit] = words;
            let tool = Tool { version, commit };
            let interleaved_with = command.first().cloned();
            Run {
                schema: SCHEMA.into(),
                checksum: None,
                id,
                started,
                seed,
                tool,
                command,
                complete,
                until: interleaved_with.as_ref().map(|_| 0.03),
                interleaved_with,
                label: None,
                same_addresses: false,
                host,
                warnings,
                yardsticks,
                results,
            }
        })
}

/// Finite figures of any size, subnormal ones and negative zero among them.
pub(crate) fn finite() -> BoxedStrategy<f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    (NORMAL | SUBNORMAL | ZERO | POSITIVE | NEGATIVE).boxed()
}
