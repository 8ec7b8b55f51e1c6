//! Every export read back by the foreign reader itself.
//!
//! The readers come from their registries through the ordinary clients, at the versions that the files of
//! `tests/readers` pin, into a cache under the build's `target`. Without network, or without the client, a case
//! skips with the reason.

use crate::fixture;
use crate::foreign::{self, Foreign, read, run};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tollgate_record::{EpochFigure, Evidence, Measurement, Per, Phase, Run, Series, Status, counter};
use tollgate_report::export::{Exported, Format};

/// What the epochs of `thread/futex` gave; their median is the headline, 528.
const EPOCHS: [f64; 6] = [526.0, 560.0, 520.0, 530.0, 500.0, 540.0];

/// The run with everything twice as slow.
fn slower(run: &Run) -> Run {
    let mut slower = run.clone();
    for row in &mut slower.results {
        row.ns = row.ns.map(|ns| ns.scaled(2.0));
        row.epochs.iter_mut().for_each(|epoch| epoch.ns *= 2.0);
    }
    slower
}

/// Rows of every kind: measured, skipped and failed ones, bills, rings, simulated counts, curves, distributions.
fn full() -> Run {
    let mut run = fixture::ladder();
    run.results.extend(fixture::crossing().results);
    run.results.extend(fixture::ring().results);
    let mut trap = Measurement::empty("riscv-trap/full", "embedded", Per::Trap, Status::Measured);
    trap.count(counter::INSTRUCTIONS, 61.0);
    trap.cycles = Some(fixture::estimate(97.0, 0.0));
    let mut entry = Phase::new("entry", Evidence::Simulated);
    entry.cycles = Some(fixture::estimate(40.0, 0.0));
    trap.phases = vec![entry];
    run.results.push(trap);
    let mut counted = Measurement::empty("riscv-trap/lean", "spike", Per::Trap, Status::Measured);
    counted.count(counter::INSTRUCTIONS, 23.0);
    run.results.push(counted);
    for row in run.results.iter_mut().filter(|row| row.probe == "syscall/getppid") {
        row.histogram = Some(histogram(&[(100, 90), (200, 9), (5000, 1)]));
    }
    for row in run.results.iter_mut().filter(|row| row.probe == "thread/futex") {
        row.epochs = EPOCHS.map(|ns| EpochFigure { ns, core_hz: Some(2e9), ..EpochFigure::default() }).into();
        row.crossings = 6000;
    }
    let points = vec![[0.0, 0.0], [0.5, 12.0], [1.0, 30.0]];
    run.results[1].series.push(Series {
        name: "calls".into(),
        x_unit: "s".into(),
        y_unit: "calls".into(),
        points,
    });
    run
}

/// The record's form of a histogram: HdrHistogram V2 in base64.
fn histogram(values: &[(u64, u64)]) -> String {
    use base64::Engine as _;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    let mut histogram = hdrhistogram::Histogram::<u64>::new(2).unwrap();
    for (value, times) in values {
        histogram.record_n(*value, *times).unwrap();
    }
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn export(run: &Run, format: &str) -> Exported {
    Format::named(format).unwrap().export(run).unwrap()
}

/// The rows that have a figure in nanoseconds, by how they are told apart: the probe's name alone is not enough.
fn timed(run: &Run) -> usize {
    run.results.iter().filter(|row| row.status == Status::Measured && row.ns.is_some()).count()
}

fn measured(run: &Run) -> usize {
    run.results.iter().filter(|row| row.status == Status::Measured).count()
}

/// The runs that every reader must take: a plausible one, hostile strings and figures, and nothing at all.
fn runs() -> [Run; 3] {
    let mut hostile = fixture::hostile();
    for (place, row) in hostile.results.iter_mut().enumerate() {
        let key = format!("=cmd|' /C calc'!A{place}\",\\");
        row.asked = fixture::parameters(key, "@SUM(1+1)*cmd|' /C calc'!A0\r\n|`<b>");
        row.histogram = Some(histogram(&[(place as u64 + 1, 1)]));
    }
    hostile.host.cpu.model = "<script>alert(1)</script> **bold** [x](http://x) | \"q\" \\ @team =1+1".into();
    [full(), hostile, fixture::run(Vec::new())]
}

#[test]
fn python_reads_the_csv() {
    let Some(python) = Foreign::Python.ready() else { return };
    for run in runs() {
        let rows = read(&python, "csv", export(&run, "csv").text());
        let rows = rows.as_array().unwrap();
        let whole: Vec<&Value> = rows.iter().filter(|row| row["part"] == "" && row["unit"] == "ns").collect();
        let finite = |row: &&Measurement| {
            row.status == Status::Measured && row.ns.is_some_and(|e| e.ci[1].is_finite())
        };
        assert_eq!(whole.len(), run.results.iter().filter(finite).count());
        for row in rows {
            for cell in row.as_object().unwrap().values() {
                let cell = cell.as_str().expect("as many cells as columns");
                let formula = cell.trim_start().starts_with(['=', '+', '-', '@']);
                assert!(!formula || cell.parse::<f64>().is_ok(), "a spreadsheet would run {cell:?}");
            }
            if row["status"] != "measured" {
                assert_eq!(row["estimate"], "", "a missing figure is not zero");
            }
        }
        for result in &run.results {
            let own = |row: &&Value| row["reason"] == json!(result.reason.as_deref().unwrap_or_default());
            assert!(
                run.id != fixture::run(Vec::new()).id
                    || rows.iter().any(|row| own(&row) || row["reason"] != "")
            );
        }
    }
    // Figures come back as they were, to the last digit.
    let run = full();
    let rows = read(&python, "csv", export(&run, "csv").text());
    let back = |name: &str, part: &str, unit: &str, column: &str| -> f64 {
        let row = rows
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["name"] == name && row["part"] == part && row["unit"] == unit);
        row.unwrap_or_else(|| panic!("{name} {part}"))[column].as_str().unwrap().parse().unwrap()
    };
    let futex = run.results.iter().find(|row| row.probe == "thread/futex").unwrap().ns.unwrap();
    assert_eq!(back("thread/futex", "", "ns", "estimate"), futex.estimate);
    assert_eq!(back("thread/futex", "", "ns", "ci_low"), futex.ci[0]);
    assert_eq!(back("riscv-trap/full@embedded", "phase: entry", "cycles", "estimate"), 40.0);
    assert_eq!(back("riscv-trap/lean@spike", "", "instructions", "estimate"), 23.0);
}

#[test]
fn prometheus_client_reads_the_openmetrics() {
    let Some(python) = Foreign::Python.ready() else { return };
    for run in runs() {
        let samples = read(&python, "openmetrics", export(&run, "openmetrics").text());
        let samples = samples.as_array().unwrap();
        let of =
            |family: &str| samples.iter().filter(|sample| sample["family"] == family).collect::<Vec<_>>();
        assert_eq!(of("tollgate_run").len(), 1);
        assert_eq!(
            of("tollgate_run")[0]["labels"]["cpu"],
            run.host.cpu.model.replace(['\u{1b}', '\u{7}'], "?")
        );
        assert_eq!(of("tollgate_probe_measured").len(), run.results.len());
        let skipped = |sample: &&&Value| sample["value"] == 0.0;
        let count = of("tollgate_probe_measured").iter().filter(skipped).count();
        // In the hostile run two rows lose their only figure and have failed.
        assert!(count >= run.results.len() - measured(&run));
    }
    let run = full();
    let samples = read(&python, "openmetrics", export(&run, "openmetrics").text());
    let value = |family: &str, name: &str| {
        let wanted = |sample: &&Value| sample["family"] == family && sample["labels"]["name"] == name;
        samples.as_array().unwrap().iter().find(wanted).unwrap_or_else(|| panic!("{family} {name}"))["value"]
            .as_f64()
            .unwrap()
    };
    assert!((value("tollgate_crossing_seconds", "thread/futex") - 528e-9).abs() < 1e-15);
    assert_eq!(value("tollgate_crossing_cycles", "riscv-trap/full@embedded"), 97.0);
    assert_eq!(value("tollgate_crossing_instructions", "riscv-trap/lean@spike"), 23.0);
}

#[test]
fn hdrhistogram_reads_the_log() {
    let Some(python) = Foreign::Python.ready() else { return };
    let [full, hostile, empty] = runs();
    let exported = export(&full, "hdr");
    let seen = read(&python, "hdr", exported.text());
    // Two rows are called so, from the ladder and from the crossings.
    for (place, tag) in ["syscall/getppid", "syscall/getppid#2"].iter().enumerate() {
        let expected = json!({ "tag": tag, "count": 100, "p50": 100, "p99": 200, "max": 5000 });
        let row = &seen[place];
        assert_eq!(
            (&row["tag"], &row["count"], &row["p50"]),
            (&expected["tag"], &expected["count"], &expected["p50"])
        );
        // Two digits are kept: values come back within a hundredth.
        for key in ["p99", "max"] {
            let (a, b) = (row[key].as_f64().unwrap(), expected[key].as_f64().unwrap());
            assert!((a / b - 1.0).abs() < 0.01, "{key}: {a} for {b}");
        }
    }
    assert_eq!(seen.as_array().unwrap().len(), 2);
    assert_eq!(exported.left_out.len(), measured(&full) - 2);
    let seen = read(&python, "hdr", export(&hostile, "hdr").text());
    assert!(seen.as_array().unwrap().len() >= 2, "{seen}");
    assert!(Format::named("hdr").unwrap().export(&empty).is_err(), "an empty log is refused");
}

#[test]
fn a_markdown_parser_sees_one_table_and_no_markup() {
    let Some(python) = Foreign::Python.ready() else { return };
    for run in runs() {
        let seen = read(&python, "markdown", export(&run, "markdown").text());
        let rows = seen["rows"].as_array().unwrap();
        for row in rows {
            assert_eq!(row.as_array().unwrap().len(), 8, "{row}");
        }
        for kind in seen["kinds"].as_array().unwrap() {
            let kind = kind.as_str().unwrap();
            for markup in ["html", "link", "image", "code", "heading", "em_", "fence"] {
                assert!(!kind.starts_with(markup), "{kind} came out of a name");
            }
        }
    }
    let rows = read(&python, "markdown", export(&full(), "markdown").text());
    let rows = rows["rows"].as_array().unwrap();
    assert_eq!(rows.len() - 1, measured(&full()));
    assert!(rows.iter().any(|row| row[0] == "thread/futex" && row[2] == "528" && row[5] == "1.1 %"));
    assert!(
        rows.iter().any(|row| row[0].as_str().unwrap().contains("embedded") && row[4] == "exact"),
        "{rows:?}"
    );
}

#[test]
fn benchstat_reads_the_benchmark_text() {
    let Some(benchstat) = Foreign::Go.ready() else { return };
    let of = |text: &str| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("run"), text).unwrap();
        let (out, err) = run(std::process::Command::new(&benchstat)
            .current_dir(dir.path())
            .args(["-format", "csv", "run"]));
        // The comparison of one run with nothing complains of too few samples; of syntax it must not.
        for bad in ["missing", "parsing", "expected", "already set"] {
            assert!(!err.contains(bad), "{err}");
        }
        out
    };
    let run = full();
    let exported = export(&run, "benchstat");
    let csv = of(exported.text());
    // Each unit has a table, which begins with `,sec/op,CI`; each line is a name, a figure and its interval.
    let mut table = "";
    let mut figures: BTreeMap<(&str, &str), (f64, &str)> = BTreeMap::new();
    for line in csv.lines() {
        // From the end: a name with a comma is in quotes.
        match line.rsplitn(3, ',').collect::<Vec<_>>()[..] {
            ["CI", unit, ""] => table = unit,
            [interval, figure, name] if name != "geomean" => {
                let figure: Option<f64> = figure.parse().ok();
                figures.extend(figure.map(|figure| ((table, name), (figure, interval))));
            }
            _ => {}
        }
    }
    // benchstat turns ns/op into sec/op.
    assert!((figures[&("sec/op", "Thread/futex")].0 - 528e-9).abs() < 1e-15);
    // One line for each epoch, so that benchstat has an interval of its own: of six samples it is all of them, and 30 ns
    // of 528 are 6 %.
    assert_eq!(
        exported.text().lines().filter(|line| line.starts_with("BenchmarkThread/futex 1000 ")).count(),
        6
    );
    assert_eq!(figures[&("sec/op", "Thread/futex")].1, "6%");
    assert_eq!(figures[&("sec/op", "Thread/pipe")].1, "∞", "one sample has no interval");
    // Two cycles a nanosecond in each epoch.
    assert!((figures[&("cycles/op", "Thread/futex")].0 - 1056.0).abs() < 1e-9);
    // Two samples of six that do not overlap: of the C(12, 6) = 924 ways to split twelve, two are as far apart.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("old"), exported.text()).unwrap();
    std::fs::write(dir.path().join("new"), export(&slower(&run), "benchstat").text()).unwrap();
    let (out, _) = self::run(
        std::process::Command::new(&benchstat).current_dir(dir.path()).args(["-format", "csv", "old", "new"]),
    );
    let compared = out.lines().find(|line| line.starts_with("Thread/futex,")).unwrap();
    assert!(compared.contains("+100.00%") && compared.contains("p=0.002 n=6"), "{compared}");
    // Exact figures need no second sample: their interval has no width.
    assert_eq!(figures[&("sim-cycles/op", "Riscv-trap/full@embedded")], (97.0, "0%"));
    assert_eq!(figures[&("sim-instructions/op", "Riscv-trap/lean@spike")], (23.0, "0%"));
    assert_eq!(figures.keys().filter(|(unit, _)| *unit == "sec/op").count(), timed(&run), "{csv}");
    for run in &runs()[1..] {
        of(export(run, "benchstat").text());
    }
}

#[test]
fn compare_py_reads_the_google_benchmark_json() {
    const COMPARE: &str = "/usr/share/benchmark/compare.py";
    let Some(python) = Foreign::Python.ready() else { return };
    if tollgate_testkit::program(COMPARE).is_none() {
        return tollgate_testkit::skip!("{COMPARE} is missing: apt-get install libbenchmark-tools");
    }
    for run in runs() {
        let dir = tempfile::tempdir().unwrap();
        let exported = export(&run, "google-benchmark");
        let slower = slower(&run);
        std::fs::write(dir.path().join("a.json"), exported.text()).unwrap();
        std::fs::write(dir.path().join("b.json"), export(&slower, "google-benchmark").text()).unwrap();
        let mut command = foreign::python(&python);
        command.current_dir(dir.path()).args([COMPARE, "--no-color", "benchmarks", "a.json", "b.json"]);
        let document: Value = serde_json::from_str(exported.text()).unwrap();
        let rows = document["benchmarks"].as_array().unwrap();
        if rows.is_empty() {
            continue;
        }
        let (out, _) = self::run(&mut command);
        for row in rows.iter().filter(|row| row["real_time"].as_f64().unwrap().abs() < 1e300) {
            let name = row["name"].as_str().unwrap();
            let change = if row["real_time"].as_f64() < Some(0.0) { "-1.0000" } else { "+1.0000" };
            let line = out.lines().find(|line| line.split("  ").next().unwrap().trim() == name);
            assert!(line.is_some_and(|line| line.contains(change)), "{name}: {out}");
        }
        // Rows without a time are listed, and are not zeros.
        let without = document["context"]["tollgate"]["rows_without_a_time"].as_array().unwrap();
        let with: BTreeSet<&str> = rows.iter().map(|row| row["run_name"].as_str().unwrap()).collect();
        assert_eq!(with.len() + without.len(), run.results.len());
        // Repetitions are enough for its own test, which finds two samples of six that do not overlap: 2 / 924.
        let of = |name: &str| {
            out.lines().find(|line| line.starts_with(&format!("{name}_pvalue "))).map(str::to_owned)
        };
        let Some(tested) = of("thread/futex") else {
            assert!(run.results.iter().all(|row| row.epochs.is_empty()), "{out}");
            continue;
        };
        assert!(tested.contains("0.0022") && tested.contains("Repetitions: 6 vs 6"), "{tested}");
        assert_eq!(of("thread/pipe"), None, "one repetition is nothing to test");
        let all = rows.iter().filter(|row| row["run_name"] == "thread/futex").collect::<Vec<_>>();
        let times: Vec<f64> = all.iter().map(|row| row["real_time"].as_f64().unwrap()).collect();
        assert_eq!((&times[..6], times[6]), (&EPOCHS[..], 528.0));
        assert_eq!((&all[6]["aggregate_name"], &all[0]["repetitions"]), (&json!("median"), &json!(6)));
    }
}

#[test]
fn tracerbench_reads_the_trace() {
    let Some(modules) = Foreign::Node.ready() else { return };
    let Some(node) = tollgate_testkit::program("node") else { return };
    let see = |run: &Run| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("trace.json");
        std::fs::write(&file, export(run, "chrome-trace").text()).unwrap();
        let mut command = std::process::Command::new(&node);
        command.arg(foreign::file("trace.js")).arg(&modules).arg(&file);
        serde_json::from_str::<Value>(&self::run(&mut command).0).unwrap()
    };
    for run in runs() {
        see(&run);
    }
    let run = full();
    let seen = see(&run);
    let seen = seen.as_array().unwrap();
    let slice = |track: &str, name: &str| {
        let wanted =
            |event: &&Value| event["track"] == track && event["name"] == name && event["kind"] != "M";
        seen.iter().find(wanted).unwrap_or_else(|| panic!("{track}: {name}"))
    };
    // Microseconds.
    let whole = slice("thread/futex", "thread/futex");
    assert!((whole["duration"].as_f64().unwrap() - 0.528).abs() < 1e-9, "{whole}");
    // The phases follow each other below their whole.
    let fault = "fault/anonymous#2";
    assert_eq!(slice(fault, "handling")["parent"], fault);
    assert!((slice(fault, "handling")["start"].as_f64().unwrap() - 0.447).abs() < 1e-9);
    // What is less than nothing is not drawn as a stretch.
    assert_eq!(slice(fault, "unattributed")["kind"], "i");
    assert_eq!(slice("riscv-trap/full@embedded", "entry")["duration"], 0.04);
    let curve = |event: &&Value| event["kind"] == "C" && event["name"] == "call/direct: calls";
    assert_eq!(seen.iter().filter(curve).count(), 3);
}

#[test]
fn bencher_and_github_get_what_their_pages_describe() {
    // Neither has a reader in a registry: these are the shapes that bencher.dev/docs/reference/bencher-metric-format
    // and the README of github-action-benchmark describe, and stricter.
    let number = json!({ "type": "number" });
    let metric = json!({
        "type": "object", "required": ["value"], "additionalProperties": false,
        "properties": { "value": number, "lower_value": number, "upper_value": number },
    });
    let bencher = json!({
        "type": "object", "propertyNames": { "minLength": 1, "maxLength": 1024 },
        "additionalProperties": {
            "type": "object", "minProperties": 1, "propertyNames": { "enum": ["latency", "cycles", "ticks", "instructions"] },
            "additionalProperties": metric,
        },
    });
    let string = json!({ "type": "string", "minLength": 1 });
    let github = json!({
        "type": "array",
        "items": {
            "type": "object", "required": ["name", "unit", "value"], "additionalProperties": false,
            "properties": { "name": string, "unit": string, "value": number, "range": string, "extra": string },
        },
    });
    for run in runs() {
        for (format, schema) in [("bencher", &bencher), ("github-action-benchmark", &github)] {
            let document: Value = serde_json::from_str(export(&run, format).text()).unwrap();
            let errors: Vec<String> = jsonschema::validator_for(schema)
                .unwrap()
                .iter_errors(&document)
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{format}: {errors:?}");
        }
    }
    let run = full();
    let document: Value = serde_json::from_str(export(&run, "bencher").text()).unwrap();
    let metric = &document["thread/futex"]["latency"];
    assert_eq!(metric["value"], 528.0);
    assert!(metric["lower_value"].as_f64() < metric["value"].as_f64());
    assert_eq!(document.as_object().unwrap().len(), measured(&run));
    let document: Value = serde_json::from_str(export(&run, "github-action-benchmark").text()).unwrap();
    let entry = document.as_array().unwrap().iter().find(|entry| entry["name"] == "thread/futex").unwrap();
    assert_eq!((&entry["unit"], &entry["value"]), (&json!("ns/switch"), &json!(528.0)));
    assert_eq!(document.as_array().unwrap().len(), measured(&run));
}
