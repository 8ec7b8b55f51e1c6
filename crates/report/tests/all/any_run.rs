//! Whatever a record or a file holds: no exporter and no importer panics, what comes out of a JSON format parses,
//! and no figure that is not finite gets out.
//!
//! The seed is fixed; `TOLLGATE_FUZZ_SECONDS` goes on with others for that long.

use crate::fixture;
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::{Duration, Instant};
use tollgate_record::{Evidence, Measurement, Per, Phase, Run, Series, Status, Warning, document};
use tollgate_report::Style;
use tollgate_report::export::FORMATS;
use tollgate_report::import::{IMPORTERS, Told, import};

const FILES: [&str; 6] = [
    include_str!("../imports/lmbench-raw.txt"),
    include_str!("../imports/lmbench-summary.txt"),
    include_str!("../imports/core-to-core.csv"),
    include_str!("../imports/perf-bench.txt"),
    include_str!("../imports/perf-bench-simple.txt"),
    include_str!("../imports/hyperfine.json"),
];

fn figure(random: &mut impl Rng) -> f64 {
    const ODD: [f64; 9] =
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -1.5, f64::MAX, f64::MIN_POSITIVE, 5e-324];
    if random.random_bool(0.3) { *ODD.choose(random).unwrap() } else { random.random_range(-1e3..1e7) }
}

fn text(random: &mut impl Rng) -> String {
    const PARTS: [&str; 24] = [
        "thread",
        "/",
        "=cmd|'x'!A1",
        "+1",
        "-2",
        "@sum",
        "\"",
        "\\",
        "\n",
        "\r\n",
        "\t",
        ",",
        ";",
        "|",
        "<b>",
        "`",
        "\u{1b}[31m",
        "\u{202e}",
        "日本",
        "é",
        " ",
        "#",
        "{}",
        "-12",
    ];
    (0..random.random_range(0..8)).map(|_| *PARTS.choose(random).unwrap()).collect()
}

fn measurement(random: &mut impl Rng) -> Measurement {
    let status =
        *[Status::Measured, Status::Measured, Status::Skipped, Status::Failed].choose(random).unwrap();
    let engine = match random.random_range(0..4) {
        0 => "host".to_owned(),
        1 => "embedded".to_owned(),
        2 => "spike".to_owned(),
        _ => text(random),
    };
    let mut row = Measurement::empty(&text(random), &engine, Per::Switch, status);
    row.reason = random.random_bool(0.5).then(|| text(random));
    let mut estimate =
        |p: f64| random.random_bool(p).then(|| fixture::estimate(figure(random), figure(random)));
    (row.ns, row.cycles, row.ticks) = (estimate(0.7), estimate(0.4), estimate(0.3));
    row.single = random.random_bool(0.3).then(|| fixture::single(figure(random)));
    for _ in 0..random.random_range(0..3) {
        row.asked = fixture::parameters(text(random), text(random));
        row.counters
            .insert(if random.random() { "instructions".into() } else { text(random) }, figure(random));
        row.proof.insert(text(random), figure(random));
        row.warnings.push(Warning { code: text(random), text: text(random) });
        let mut phase = Phase::new(text(random), Evidence::Difference);
        phase.ns = Some(fixture::estimate(figure(random), figure(random)));
        phase.cycles = Some(fixture::estimate(figure(random), figure(random)));
        phase.instructions = Some(figure(random));
        row.phases.push(phase);
        let points = (0..3).map(|_| [figure(random), figure(random)]).collect();
        let x_unit = if random.random() { "s".into() } else { text(random) };
        row.series.push(Series { name: text(random), x_unit, y_unit: text(random), points });
    }
    row.histogram = match random.random_range(0..4) {
        0 => Some(text(random)),
        // A V2 header with whatever follows it.
        1 => Some(format!("HISTE{}", "A".repeat(random.random_range(0..80)))),
        2 => Some(format!(
            "HISTEwAAAA{}AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            ["AA", "//", "gA"].choose(random).unwrap()
        )),
        _ => None,
    };
    row
}

fn any_run(random: &mut impl Rng) -> Run {
    let results = (0..random.random_range(0..8)).map(|_| measurement(random)).collect();
    let mut run = fixture::run(results);
    for string in [
        &mut run.id,
        &mut run.started,
        &mut run.host.name,
        &mut run.host.cpu.model,
        &mut run.host.kernel.release,
    ] {
        *string = text(random);
    }
    run.host.cpu.core_hz_before = Some(figure(random));
    run.host.clock.hz = figure(random);
    run
}

fn holds_null(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Null => true,
        serde_json::Value::Array(values) => values.iter().any(holds_null),
        serde_json::Value::Object(fields) => fields.values().any(holds_null),
        _ => false,
    }
}

fn check(run: &Run, seed: u64) {
    for format in FORMATS {
        let Ok(exported) = format.export(run) else { continue };
        let (name, text) = (format.name, exported.text());
        assert!(text.is_empty() || text.ends_with('\n'), "{name}, seed {seed}");
        for c in ['\u{1b}', '\u{7}', '\u{202e}', '\r'] {
            assert!(!text.contains(c), "{name}, seed {seed}: {c:?}");
        }
        if text.starts_with(['{', '[']) {
            let parsed = serde_json::from_str(text);
            let document = parsed.unwrap_or_else(|error| panic!("{name}, seed {seed}: {error}"));
            assert!(!holds_null(&document), "{name}, seed {seed}: a figure became null in {text}");
        }
        for word in ["NaN", "inf"] {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric());
            assert!(!words.into_iter().any(|found| found == word), "{name}, seed {seed}: {word} in {text}");
        }
    }
}

/// A file with some of its bytes changed, cut, doubled or moved.
fn damaged(random: &mut impl Rng) -> Vec<u8> {
    let mut bytes = FILES.choose(random).unwrap().as_bytes().to_vec();
    for _ in 0..random.random_range(1..12) {
        if bytes.is_empty() {
            break;
        }
        let (a, b) = (random.random_range(0..bytes.len()), random.random_range(0..bytes.len()));
        match random.random_range(0..7) {
            0 => bytes[a] = random.random(),
            1 => bytes.truncate(a),
            2 => bytes.swap(a, b),
            3 => drop(bytes.drain(a.min(b)..a.max(b).min(a.min(b) + 30))),
            4 => bytes.extend_from_within(a.min(b)..a.max(b)),
            5 => bytes.splice(a..a, *b"1e999").for_each(drop),
            _ => bytes.splice(a..a, "é\u{202e}-".bytes()).for_each(drop),
        }
        bytes.truncate(20_000);
    }
    bytes
}

fn check_import(bytes: &[u8], seed: u64) {
    let told: Told = [("loops".into(), "1000".into()), ("bench".into(), "sched/pipe".into())].into();
    for importer in std::iter::once(None).chain(IMPORTERS.iter().map(Some)) {
        let Ok((_, imported)) = import(bytes, importer, &told) else { continue };
        let mut run = fixture::run(imported.results);
        run.host = imported.host;
        // It is a record like any other: it can be kept, read back, shown and exported.
        let json = document::to_json(&run).unwrap();
        let back =
            document::from_json(json.as_bytes()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        tollgate_report::view(&back, &Style::default());
        check(&back, seed);
    }
}

#[test]
fn any_run_and_any_file() {
    let seconds = std::env::var("TOLLGATE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let rounds = if tollgate_testkit::fast() { 40 } else { 200 };
    let start = Instant::now();
    for seed in 0.. {
        let going_on = seconds.is_some_and(|seconds| start.elapsed() < Duration::from_secs(seconds));
        if seed >= rounds && !going_on {
            break;
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        check(&any_run(&mut random), seed);
        check_import(&damaged(&mut random), seed);
    }
}
