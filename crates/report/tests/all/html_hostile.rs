//! Whatever a record holds: the page is made, is well-formed, and has no element, attribute or link that is not ours.
//! `TOLLGATE_FUZZ_SECONDS` goes on for longer, each time with another seed, which a failure prints.

use crate::fixture;
use crate::page::Page;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRng, TestRunner};
use std::time::{Duration, Instant};
use tollgate_record::family::{KneeAsked, KneeFound, RingAsked};
use tollgate_record::{Asked, Found};
use tollgate_record::{Estimate, Evidence, Measurement, Per, Phase, Run, Series, Status, Warning};
use tollgate_report::html;

/// Boxed, like the others that many things are made of: strategies lie on the stack with all that is in them.
fn text() -> BoxedStrategy<String> {
    prop_oneof![
        any::<String>(),
        "[a-z/ -]{0,30}",
        "(<|>|&|\"|'|/|=|script|svg|style|onload|--|]]>|<!\\[CDATA\\[|&#x0;|&lt;|\\x00|\\x1b|\\n|\u{202e}|\u{ffff}|\u{fffe}|javascript:|url\\(|x){0,20}",
        "[x日]{0,900}",
    ]
    .boxed()
}

fn probe() -> impl Strategy<Value = String> {
    let family = prop_oneof![
        Just("ring"),
        Just("fault"),
        Just("riscv-trap"),
        Just("switch"),
        Just("hardware"),
        Just("syscall"),
        Just("")
    ];
    prop_oneof![
        text(),
        (family, text()).prop_map(|(family, name)| format!("{family}/{name}")),
        Just("ring/knee".into()),
        Just("fault/scan".into())
    ]
}

fn figure() -> BoxedStrategy<f64> {
    prop_oneof![proptest::num::f64::ANY, -10.0..1e7f64, Just(0.0), Just(1e308), Just(5e-324), 0.5..2.0f64]
        .boxed()
}

fn estimate() -> BoxedStrategy<Estimate> {
    (figure(), figure(), figure(), figure(), figure())
        .prop_map(|(a, b, c, d, e)| Estimate {
            estimate: a,
            ci: [b, c],
            min: d,
            p10: e,
            p50: a,
            p90: b,
            p99: c,
            mean: d,
        })
        .boxed()
}

prop_compose! {
    fn phase()(name in prop_oneof![text(), Just("unattributed".to_owned()), Just("refill".to_owned())],
               ns in prop::option::of(estimate()), cycles in prop::option::of(estimate()), instructions in prop::option::of(figure()),
               causes in prop::collection::btree_map(text(), figure(), 0..3)) -> Phase {
        Phase { ns, cycles, instructions, causes, ..Phase::new(name, Evidence::Guest) }
    }
}

prop_compose! {
    fn series()(name in text(), x_unit in prop_oneof![text(), Just("ms".to_owned()), Just("bytes".to_owned())], y_unit in prop_oneof![text(), Just("ns".to_owned())],
                points in prop::collection::vec((figure(), figure()).prop_map(|(x, y)| [x, y]), 0..12)) -> Series {
        Series { name, x_unit, y_unit, points }
    }
}

fn histogram() -> impl Strategy<Value = String> {
    prop_oneof![
        text(),
        prop::collection::vec(0..10_000_000u64, 0..20).prop_map(|values| fixture::histogram(&values)),
        (prop::collection::vec(0..10_000u64, 1..9), any::<prop::sample::Index>(), any::<char>()).prop_map(
            |(values, at, c)| {
                let mut text: Vec<char> = fixture::histogram(&values).chars().collect();
                let place = at.index(text.len());
                text[place] = c;
                text.into_iter().collect()
            }
        ),
    ]
}

prop_compose! {
    fn measurement()(
        probe in probe().boxed(),
        words in [text(), text(), text()],
        status in prop_oneof![Just(Status::Measured), Just(Status::Measured), Just(Status::Skipped), Just(Status::Failed)],
        ns in prop::option::of(estimate()),
        cycles in prop::option::of(estimate()),
        p99 in prop::option::of(figure()),
        phases in prop::collection::vec(phase().boxed(), 0..4),
        series in prop::collection::vec(series().boxed(), 0..3),
        histogram in prop::option::of(histogram().boxed()),
        numbers in [figure(), figure(), figure()],
        maps in [prop::collection::btree_map(text(), figure(), 0..3), prop::collection::btree_map(text(), figure(), 0..3)],
    ) -> Measurement {
        let [engine, reason, code] = words;
        let mut result = Measurement::empty(&probe, &engine, Per::Switch, status);
        (result.ns, result.cycles, result.phases, result.series, result.histogram) = (ns, cycles, phases, series, histogram);
        result.single = p99.map(fixture::single);
        let [procs, size, knee] = numbers.map(|number| number as u64);
        if probe == "ring/knee" {
            result.asked = Asked::Knee(KneeAsked { cache: Some(code.clone()) });
            result.found = Found::Knee(KneeFound { knee_bytes: Some(knee), ..KneeFound::default() });
        } else {
            result.asked = Asked::Ring(RingAsked { procs: procs as u32, size, ..RingAsked::default() });
        }
        result.enable = Some(code.clone());
        result.warnings.push(Warning { code, text: reason.clone() });
        result.reason = Some(reason);
        [result.proof, result.counters] = maps;
        result
    }
}

prop_compose! {
    fn run()(results in prop::collection::vec(measurement().boxed(), 0..6), words in [text(), text(), text(), text()], hz in figure(), bytes in any::<u64>(), complete in any::<bool>()) -> Run {
        let mut run = fixture::run(results);
        let [a, b, c, d] = words;
        run.host.caches = vec![tollgate_record::host::Cache { level: 1, kind: a.clone(), bytes, ..Default::default() }];
        run.host.memory_bytes = Some(bytes);
        run.host.clock.hz = hz;
        run.host.cpu.core_hz_before = Some(hz);
        run.host.cgroup.cpu_max = Some(hz);
        run.host.kernel.mitigations.insert(a.clone(), b.clone());
        run.host.kernel.command_line = vec![c.clone()];
        (run.host.cpu.model, run.host.name, run.host.hypervisor) = (d.clone(), c.clone(), Some(b.clone()));
        (run.started, run.id, run.command, run.complete) = (a, b.clone(), vec![c, d], complete);
        run.warnings.push(Warning { code: b.clone(), text: b });
        run
    }
}

fn check(runs: &[Run]) -> Result<(), TestCaseError> {
    let text = html(runs);
    if let Err(error) = Page::read(&text) {
        return Err(TestCaseError::fail(format!("{error}\n{text}")));
    }
    Ok(())
}

#[test]
fn any_record_gives_a_page_that_is_ours() {
    let seconds = std::env::var("TOLLGATE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    // The first seed is always the same, so that a test that fails fails again.
    for seed in 0_u64.. {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let config = Config { cases: 24, failure_persistence: None, ..Config::default() };
        let rng = TestRng::from_seed(config.rng_algorithm, &bytes);
        let mut runner = TestRunner::new_with_rng(config, rng);
        if let Err(error) = runner.run(&prop::collection::vec(run().boxed(), 1..6), |runs| check(&runs)) {
            panic!("seed {seed}: {error}");
        }
        if end.is_none_or(|end| Instant::now() >= end) {
            break;
        }
    }
}
