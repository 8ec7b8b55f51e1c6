//! Files of other tools, written as these write them, and what becomes of each figure.

use std::collections::BTreeMap;
use std::process::Command;
use tollgate_record::{Measurement, Per, Status, warning};
use tollgate_report::import::{IMPORTERS, ImportError, Imported, Importer, Told, import};

const RAW: &str = include_str!("../imports/lmbench-raw.txt");
const SUMMARY: &str = include_str!("../imports/lmbench-summary.txt");
const MATRIX: &str = include_str!("../imports/core-to-core.csv");
const PERF: &str = include_str!("../imports/perf-bench.txt");
const PERF_SIMPLE: &str = include_str!("../imports/perf-bench-simple.txt");
const HYPERFINE: &str = include_str!("../imports/hyperfine.json");

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
    assert!(all.left_out.contains("UDP latency using localhost"), "{:?}", all.left_out);
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
        all.left_out.iter().any(|title| title.starts_with("Basic integer operations")),
        "{:?}",
        all.left_out
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

/// What `perf bench` 6.1 printed under each locale.
const PERF_BY_LOCALE: [(&str, &str); 5] = [
    ("C", include_str!("../imports/perf-bench.C.txt")),
    ("de_DE", include_str!("../imports/perf-bench.de_DE.txt")),
    ("fr_FR", include_str!("../imports/perf-bench.fr_FR.txt")),
    ("en_IN", include_str!("../imports/perf-bench.en_IN.txt")),
    ("tr_TR", include_str!("../imports/perf-bench.tr_TR.txt")),
];

/// The operations a second that perf itself prints for each benchmark with operations, without their marks.
fn operations_a_second(text: &str) -> Vec<f64> {
    let lines = text.lines().filter_map(|line| line.strip_suffix("ops/sec"));
    let digits = |line: &str| line.chars().filter(char::is_ascii_digit).collect::<String>();
    lines.map(|line| digits(line).parse().unwrap()).collect()
}

/// That the time of an operation is what the operations a second say, and a total what it is.
fn agrees_with_operations_a_second(text: &str, locale: &str) {
    let (_, all) =
        import(text.as_bytes(), None, &Told::new()).unwrap_or_else(|why| panic!("{locale}: {why}"));
    let times = all.results.iter().filter(|row| !row.probe.contains("messaging"));
    let seconds = times.map(|row| ns(row) / 1e9 * if row.has_warning(warning::HALVED) { 2.0 } else { 1.0 });
    let (seconds, rates) = (Vec::from_iter(seconds), operations_a_second(text));
    assert_eq!(seconds.len(), rates.len(), "{locale}");
    for (seconds, rate) in seconds.iter().zip(rates) {
        // Both are printed to more than five digits.
        assert!((seconds * rate - 1.0).abs() < 1e-4, "{locale}: {seconds} s each, {rate} a second");
    }
}

#[test]
fn perf_bench_of_five_locales() {
    for (locale, text) in PERF_BY_LOCALE {
        agrees_with_operations_a_second(text, locale);
        let all = read(text, "perf-bench");
        row(&all, "process/perf-pipe", &[]);
        row(&all, "thread/perf-pipe", &[]);
        let messaging = ns(row(&all, "process/perf-messaging", &[]));
        assert!((1e7..2e8).contains(&messaging), "{locale}: {messaging}");
        assert_eq!(Vec::from_iter(&all.left_out), ["mem/memcpy", "futex/wake", "internals/kallsyms-parse"]);
        // Without the time of an operation, the total and the number of operations give it.
        let shorter: Vec<&str> = text.lines().filter(|line| !line.contains("usecs/op")).collect();
        let basic = ns(row(&read(&shorter.join("\n"), "perf-bench"), "syscall/perf-basic", &[]));
        assert!((basic / ns(row(&all, "syscall/perf-basic", &[])) - 1.0).abs() < 0.01, "{locale}: {basic}");
    }
}

/// A folder for `LOCPATH` with the locales of [`PERF_BY_LOCALE`].
fn locales() -> Result<tempfile::TempDir, String> {
    let localedef =
        tollgate_testkit::program("localedef").ok_or("localedef is missing: apt-get install libc-bin")?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    for (locale, _) in &PERF_BY_LOCALE[1..] {
        let made = Command::new(&localedef)
            .args(["-i", locale, "-f", "UTF-8", "--no-archive"])
            .arg(folder.path().join(format!("{locale}.UTF-8")))
            .output();
        if !made.is_ok_and(|made| made.status.success()) {
            return Err(format!("there is no source of the locale {locale}: apt-get install locales"));
        }
    }
    Ok(folder)
}

#[test]
fn the_installed_perf_in_five_locales() {
    let Some(perf) = tollgate_testkit::program("perf") else {
        return tollgate_testkit::skip!("perf is missing: apt-get install linux-perf");
    };
    let folder = match locales() {
        Ok(folder) => folder,
        Err(why) => return tollgate_testkit::skip!("{why}"),
    };
    for (locale, _) in PERF_BY_LOCALE {
        let mut text = String::new();
        for bench in [["syscall", "basic", "1100000"], ["sched", "pipe", "3000"]] {
            let mut command = Command::new(&perf);
            let [collection, name, loops] = bench;
            command.args(["bench", collection, name, "-l", loops]).env("LOCPATH", folder.path());
            let output = command.env("LC_ALL", format!("{locale}.UTF-8")).output().unwrap();
            text += std::str::from_utf8(&output.stdout).unwrap();
        }
        if !text.contains("usecs/op") {
            return tollgate_testkit::skip!("this perf does not run its benchmarks here");
        }
        agrees_with_operations_a_second(&text, locale);
    }
}

#[test]
fn the_installed_hyperfine_in_five_locales() {
    let Some(hyperfine) = tollgate_testkit::program("hyperfine") else {
        return tollgate_testkit::skip!("hyperfine is missing: apt-get install hyperfine");
    };
    let folder = match locales() {
        Ok(folder) => folder,
        Err(why) => return tollgate_testkit::skip!("{why}"),
    };
    for (locale, _) in PERF_BY_LOCALE {
        let file = folder.path().join("times.json");
        let mut command = Command::new(&hyperfine);
        command.args(["--runs", "6", "--ignore-failure", "--export-json"]).arg(&file).arg("exit 3");
        command.env("LOCPATH", folder.path()).env("LC_ALL", format!("{locale}.UTF-8"));
        assert!(command.output().unwrap().status.success());
        let written = std::fs::read_to_string(&file).unwrap();
        let all = read(&written, "hyperfine");
        let document: serde_json::Value = serde_json::from_str(&written).unwrap();
        let row = row(&all, "spawn/hyperfine", &[]);
        close(ns(row), document["results"][0]["median"].as_f64().unwrap() * 1e9);
        let failed = row.warnings.iter().find(|it| it.code == warning::RUNS_FAILED).unwrap();
        assert!(
            failed.text.starts_with("6 of 6 runs of the command failed (0 of them killed"),
            "{}",
            failed.text
        );
    }
}

#[test]
fn lmbench_with_decimal_commas() {
    // As a program that calls setlocale would print the recorded results.
    let comma = |text: &str| {
        let words = text.split_inclusive([' ', '\n']).map(|word| {
            let figure = word.trim().trim_start_matches("ovr=").trim_end_matches('K');
            if figure.parse::<f64>().is_ok() { word.replace('.', ",") } else { word.into() }
        });
        words.collect::<String>()
    };
    for text in [RAW, SUMMARY] {
        let (point, comma) = (read(text, "lmbench"), read(&comma(text), "lmbench"));
        assert_eq!(point.results, comma.results);
    }
}

#[test]
fn a_figure_that_may_be_two_is_refused_with_its_line() {
    for (text, says) in [
        ("Simple read: 1,234 microseconds\n", "line 1, `Simple read: 1,234 microseconds`: `1,234` may be"),
        ("\n\"size=0k ovr=0.52\n2 1,234\n", "line 3, `2 1,234`"),
        ("\"size=0k ovr=O.52\n2 0.94\n", "line 1"),
        ("\"size=xk ovr=0.52\n2 0.94\n", "kilobytes"),
        ("Simple read: 0.10.1 microseconds\n", "`0.10.1` is not a number"),
        (
            "# Running 'syscall/basic' benchmark:\n  5,803 usecs/op\n",
            "line 2, `5,803 usecs/op`: `5,803` may be",
        ),
        ("# Running 'syscall/basic' benchmark:\n  5.803080 usecs/op\n 6.0 usecs/op\n", "line 3"),
        ("# Running 'sched/messaging' benchmark:\n Total time: 1,160 [sec]\n", "line 2"),
    ] {
        let error = import(text.as_bytes(), None, &Told::new()).err().unwrap().to_string();
        assert!(error.contains(says), "{error}");
    }
    // Two numbers of which no line says what they are.
    let told = told(&[("bench", "sched/pipe"), ("loops", "10")]);
    let error = import(b"0.100\n0.027\n", Importer::named("perf-bench"), &told).err().unwrap().to_string();
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn what_has_no_place_is_named() {
    let left_out =
        |text: &str| Vec::from_iter(import(text.as_bytes(), None, &Told::new()).unwrap().1.left_out);
    assert_eq!(left_out(PERF), ["mem/memcpy"]);
    let cut = "# Running 'sched/pipe' benchmark:\n# Executed 5 pipe operations\n# Running 'syscall/basic' benchmark:\n 0.5 usecs/op\n";
    assert_eq!(left_out(cut), ["sched/pipe (without a figure)"]);
    let raw = left_out(RAW);
    for name in ["integer bit", "integer add", "integer add", "mappings", "UDP latency using localhost"] {
        assert!(raw.iter().any(|it| it == name), "{name}: {raw:?}");
    }
    assert_eq!(raw.len(), 5);
    let summary = left_out(SUMMARY);
    for name in ["UDP", "TCP", "TCP conn", "0K File Create", "10K File Delete", "Mmap Latency"] {
        assert!(summary.iter().any(|it| it == name), "{name}: {summary:?}");
    }
}

#[test]
fn units_of_lmbench() {
    let text = "Simple syscall: 104 nanoseconds\nProcess fork+exit: 2 milliseconds\nSimple read: median=0.5 [mean=0.6] microseconds\n";
    let all = read(text, "lmbench");
    close(ns(row(&all, "syscall/lmbench-null", &[])), 104.0);
    close(ns(row(&all, "spawn/lmbench-fork", &[])), 2e6);
    close(ns(row(&all, "syscall/lmbench-read", &[])), 500.0);
}

#[test]
fn runs_that_failed_are_counted() {
    let times = r#"{"results":[{"command":"x","times":[0.1,0.2,0.3],"exit_codes":[0,1,null]}]}"#;
    let all = read(times, "hyperfine");
    let failed = all.results[0].warnings.iter().find(|it| it.code == warning::RUNS_FAILED).unwrap();
    assert!(
        failed.text.starts_with("2 of 3 runs of the command failed (1 of them killed"),
        "{}",
        failed.text
    );
    assert!(!read(HYPERFINE, "hyperfine").results.iter().any(|row| row.has_warning(warning::RUNS_FAILED)));
    let words = r#"{"results":[{"command":"x","times":[0.1,"0,2"]}]}"#;
    let error = import(words.as_bytes(), None, &Told::new()).err().unwrap().to_string();
    assert!(error.contains("result 0 has a time that is not a number"), "{error}");
}

#[test]
fn the_cores_of_a_matrix_are_places_unless_the_user_names_them() {
    let all = read(MATRIX, "core-to-core");
    assert_eq!(all.warnings.len(), 1);
    assert_eq!(all.warnings[0].code, warning::CORES_BY_PLACE);
    let named = |cpus: &str| import(MATRIX.as_bytes(), None, &told(&[("cpus", cpus)])).map(|(_, all)| all);
    let all = named("1,4-6").unwrap();
    assert!(all.warnings.is_empty());
    let cores = all.results.iter().map(|row| (facts(row)["core_a"].as_u64(), facts(row)["core_b"].as_u64()));
    assert_eq!(Vec::from_iter(cores)[..2], [(Some(4), Some(1)), (Some(5), Some(1))]);
    for (wrong, says) in [
        ("0-2", "it has 4 cores, and --tell cpus names 3 CPUs"),
        ("3-1", "0,2-5"),
        ("a", "0,2-5"),
        ("0-99999999", "0,2-5"),
    ] {
        assert!(named(wrong).unwrap_err().to_string().contains(says), "{wrong}");
    }
}
