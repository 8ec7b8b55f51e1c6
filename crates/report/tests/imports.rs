//! Files of other tools, written as these write them, and what becomes of each figure.

use std::collections::BTreeMap;
use tollgate_record::{Measurement, Per, Status, warning};
use tollgate_report::import::{IMPORTERS, ImportError, Imported, Importer, Told, import};

const RAW: &str = include_str!("imports/lmbench-raw.txt");
const SUMMARY: &str = include_str!("imports/lmbench-summary.txt");
const MATRIX: &str = include_str!("imports/core-to-core.csv");
const PERF: &str = include_str!("imports/perf-bench.txt");
const PERF_SIMPLE: &str = include_str!("imports/perf-bench-simple.txt");
const HYPERFINE: &str = include_str!("imports/hyperfine.json");

fn told(words: &[(&str, &str)]) -> Told {
    words.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

/// Reads a text that must be known by itself.
fn read(text: &str, importer: &str) -> Imported {
    let (found, imported) = import(text.as_bytes(), None, &Told::new()).unwrap();
    assert_eq!(found.name, importer);
    for row in &imported.results {
        assert_eq!(row.engine, format!("imported-{importer}"));
        assert_eq!(row.status, Status::Measured, "{}", row.probe);
    }
    imported
}

/// What was asked for and what was found.
fn facts(row: &Measurement) -> serde_json::Map<String, serde_json::Value> {
    row.asked.fields().into_iter().chain(row.found.fields()).collect()
}

/// The only row of a probe with these parameters.
fn row<'a>(imported: &'a Imported, probe: &str, params: &[(&str, serde_json::Value)]) -> &'a Measurement {
    let suits = |row: &&Measurement| {
        row.probe == probe && params.iter().all(|(key, value)| facts(row).get(*key) == Some(value))
    };
    let found: Vec<_> = imported.results.iter().filter(suits).collect();
    assert_eq!(
        found.len(),
        1,
        "{probe} {params:?}: {:?}",
        imported.results.iter().map(|r| &r.probe).collect::<Vec<_>>()
    );
    found[0]
}

fn ns(row: &Measurement) -> f64 {
    row.ns.unwrap().estimate
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= b.abs() * 1e-12, "{a} is not {b}");
}

#[test]
fn raw_results_of_lmbench() {
    let all = read(RAW, "lmbench");
    for (probe, per, microseconds) in [
        ("syscall/lmbench-null", Per::Syscall, 0.1040),
        ("syscall/lmbench-read", Per::Syscall, 0.1801),
        ("syscall/lmbench-write", Per::Syscall, 0.1532),
        ("syscall/lmbench-stat", Per::Syscall, 0.9013),
        ("syscall/lmbench-fstat", Per::Syscall, 0.2117),
        ("syscall/lmbench-open-close", Per::Operation, 1.6520),
        ("syscall/lmbench-sigaction", Per::Syscall, 0.2301),
        ("signal/lmbench-handler", Per::Signal, 1.3040),
        ("fault/lmbench-protection", Per::Touch, 0.4175),
        ("fault/lmbench-pagefault", Per::Touch, 1.1747),
        ("spawn/lmbench-fork", Per::Task, 130.5758),
        ("spawn/lmbench-execve", Per::Task, 491.8182),
        ("spawn/lmbench-shell", Per::Task, 2088.5),
        // Round trips: each half is one switch.
        ("process/lmbench-pipe", Per::Switch, 5.65 / 2.0),
        ("process/lmbench-unix", Per::Switch, 8.65 / 2.0),
    ] {
        let row = row(&all, probe, &[]);
        assert_eq!(row.per, per);
        close(ns(row), microseconds * 1e3);
        assert!(row.has_warning(warning::NO_INTERVAL));
        assert_eq!(
            row.has_warning(warning::HALVED),
            probe.contains("pipe") || probe.contains("unix"),
            "{probe}"
        );
    }
    close(ns(row(&all, "syscall/lmbench-select", &[("descriptors", 100.into())])), 2977.2);
    let tcp = [("descriptors", 10.into()), ("of", "tcp".into())];
    close(ns(row(&all, "syscall/lmbench-select", &tcp)), 545.9);
    for (procs, kib, microseconds) in
        [(2, 0, 0.94), (8, 0, 2.23), (96, 0, 2.30), (2, 16, 1.02), (16, 16, 2.51)]
    {
        let cell =
            row(&all, "process/lmbench-ctx", &[("procs", procs.into()), ("size", (kib * 1024).into())]);
        close(ns(cell), microseconds * 1e3);
        assert_eq!(cell.per, Per::Switch);
    }
    // The size of a mapping and its latency look like a ring's line, but are not.
    assert_eq!(all.results.len(), 15 + 3 + 5);
    assert_eq!(all.host.name, "oldbox");
    assert_eq!(all.host.kernel.release, "2.6.32-5");
    assert_eq!(all.host.arch, "x86_64");
    assert_eq!(all.host.cpu.model, "", "what is not told is absent");
    assert!(all.ignored.contains(&"UDP latency using localhost".into()), "{:?}", all.ignored);
}

#[test]
fn the_summary_of_lmbench() {
    let all = read(SUMMARY, "lmbench");
    let of = |probe: &str, host: &str| ns(row(&all, probe, &[("host", host.into())]));
    close(of("syscall/lmbench-null", "oldbox"), 100.0);
    close(of("syscall/lmbench-null", "newbox"), 50.0);
    close(of("spawn/lmbench-shell", "oldbox"), 2_100_000.0);
    close(of("spawn/lmbench-fork", "oldbox"), 131_000.0);
    close(of("signal/lmbench-handler", "oldbox"), 1300.0);
    close(of("process/lmbench-pipe", "oldbox"), 2825.0);
    close(of("process/lmbench-unix", "oldbox"), 4325.0);
    close(of("fault/lmbench-protection", "oldbox"), 418.0);
    close(of("fault/lmbench-pagefault", "oldbox"), 1174.7);
    close(of("syscall/lmbench-select-100", "oldbox"), 2977.0);
    let ring = |procs: u64, kib: u64, host: &str| {
        let params = [("procs", procs.into()), ("size", (kib * 1024).into()), ("host", host.into())];
        all.results.iter().find(|row| {
            row.probe == "process/lmbench-ctx"
                && params.iter().all(|(key, value)| facts(row).get(*key) == Some(value))
        })
    };
    close(ns(ring(16, 64, "oldbox").unwrap()), 32_600.0);
    close(ns(ring(2, 16, "newbox").unwrap()), 31_400.0);
    // Blanks are absent, not zero and not the next column.
    assert!(ring(2, 0, "newbox").is_none());
    let newbox =
        |probe: &str| all.results.iter().any(|row| row.probe == probe && facts(row)["host"] == "newbox");
    assert!(
        !newbox("syscall/lmbench-stat") && !newbox("signal/lmbench-handler") && newbox("spawn/lmbench-fork")
    );
    assert_eq!(all.results.len(), 10 + 8 + 7 + 6 + 2 + 3);
    assert_eq!(all.host.name, "", "there are two hosts");
    assert!(
        all.ignored.iter().any(|title| title.starts_with("Basic integer operations")),
        "{:?}",
        all.ignored
    );
}

#[test]
fn one_host_of_a_summary_is_the_host() {
    let one: String =
        SUMMARY.lines().filter(|line| !line.starts_with("newbox")).map(|line| format!("{line}\n")).collect();
    let all = read(&one, "lmbench");
    assert_eq!((all.host.name.as_str(), all.host.kernel.release.as_str()), ("oldbox", "2.6.32-"));
    assert!(all.results.iter().all(|row| !facts(row).contains_key("host")));
}

#[test]
fn a_matrix_of_cores() {
    let all = read(MATRIX, "core-to-core");
    let pairs: BTreeMap<(u64, u64), f64> = all
        .results
        .iter()
        .map(|row| {
            ((facts(row)["core_a"].as_u64().unwrap(), facts(row)["core_b"].as_u64().unwrap()), ns(row))
        })
        .collect();
    // One way already: nothing is halved.
    let expected = [((1, 0), 27.1), ((2, 0), 57.25), ((2, 1), 60.5), ((3, 0), 58.0), ((3, 1), 59.125)];
    assert_eq!(pairs, expected.into());
    assert!(all.results.iter().all(|row| row.per == Per::Message && row.has_warning(warning::NO_INTERVAL)));
}

#[test]
fn perf_bench_as_it_is_printed() {
    let all = read(PERF, "perf-bench");
    let pipe = row(&all, "process/perf-pipe", &[]);
    close(ns(pipe), 2740.123 / 2.0);
    assert_eq!(pipe.per, Per::Switch);
    assert!(pipe.has_warning(warning::HALVED));
    close(ns(row(&all, "syscall/perf-basic", &[])), 104.914);
    close(ns(row(&all, "process/perf-messaging", &[])), 1.587e9);
    assert_eq!(all.results.len(), 3);
    let threads = PERF.replace("between two processes", "between two threads");
    row(&read(&threads, "perf-bench"), "thread/perf-pipe", &[]);
}

#[test]
fn the_simple_format_of_perf_bench_must_be_told_what_it_leaves_out() {
    let refused = |text: &str, told: &Told| import(text.as_bytes(), None, told).err().unwrap().to_string();
    assert!(refused(PERF_SIMPLE, &Told::new()).contains("--tell loops=N"));
    assert!(refused("2.740\n", &told(&[("loops", "1000000")])).contains("--tell bench="));
    assert!(refused("2.740\n", &told(&[("loops", "0"), ("bench", "sched/pipe")])).contains("above 0"));
    let (_, all) = import(PERF_SIMPLE.as_bytes(), None, &told(&[("loops", "1000000")])).unwrap();
    close(ns(row(&all, "process/perf-pipe", &[])), 1370.0);
    close(ns(row(&all, "process/perf-messaging", &[])), 1.711e9);
    let alone = told(&[("loops", "1000000"), ("bench", "sched/pipe")]);
    let (_, all) = import(b"2.740\n", None, &alone).unwrap();
    close(ns(row(&all, "process/perf-pipe", &[])), 1370.0);
}

#[test]
fn hyperfine_with_its_times_has_an_interval() {
    let all = read(HYPERFINE, "hyperfine");
    let quick = row(&all, "spawn/hyperfine", &[("command", "true".into())]);
    let e = quick.ns.unwrap();
    // The fifth of nine in order, and the second and eighth: the sign test's 95 % for nine samples.
    close(e.estimate, 1.05e6);
    close(e.ci[0], 1.02e6);
    close(e.ci[1], 1.1e6);
    assert!(!quick.has_warning(warning::NO_INTERVAL));
    assert_eq!((quick.samples, quick.per), (9, Per::Task));
    let slow = row(&all, "spawn/hyperfine", &[("command", "sleep 0.1".into())]);
    close(ns(slow), 1.012e8);
    assert!(slow.has_warning(warning::NO_INTERVAL));
    assert_eq!(facts(slow)["parameters"]["delay"], "0.1");
}

#[test]
fn what_cannot_be_read_is_said_in_a_sentence() {
    let refused = |bytes: &[u8], importer: Option<&str>| {
        let importer = importer.map(|name| Importer::named(name).unwrap());
        import(bytes, importer, &Told::new()).err().unwrap()
    };
    assert_eq!(refused(b"", None), ImportError::Empty);
    assert_eq!(refused(b" \n\t", None), ImportError::Empty);
    assert_eq!(refused(b"Simple\xff", None), ImportError::NotText(6));
    let unknown = refused(b"good morning", None);
    assert!(matches!(unknown, ImportError::Unknown(_)), "{unknown}");
    for importer in IMPORTERS {
        assert!(unknown.to_string().contains(importer.name));
        let error = refused(b"good morning\n", Some(importer.name)).to_string();
        assert!(error.contains(importer.name), "{error}");
    }
    for (text, says) in [
        ("1,2\n3\n4,5\n", "3 rows and 2 columns"),
        (",\n1e99999,x\n", "`x` in row 2 is not a number"),
        ("{\"results\":[{\"command\":\"x\",\"times\":[]}]}", "neither times nor a mean"),
        ("{\"results\":[{\"command\":\"x\"", "EOF"),
        ("{\"results\":[{\"command\":7}]}", "no command"),
    ] {
        let format = if text.starts_with('{') { "hyperfine" } else { "core-to-core" };
        let error = refused(text.as_bytes(), Some(format)).to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn what_is_not_finite_is_a_row_that_failed() {
    let (_, all) = import(b",\ninf,\n", Importer::named("core-to-core"), &Told::new()).unwrap();
    assert_eq!(all.results.len(), 1);
    assert_eq!(all.results[0].status, Status::Failed);
    let (_, all) = import(b"Simple syscall: nan microseconds\n", None, &Told::new()).unwrap();
    assert_eq!(all.results[0].status, Status::Failed);
}
