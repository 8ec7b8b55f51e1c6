//! Runs that leave in other tools' formats and come in from them: what is refused, and where they go.

use crate::case::{ANY, CASE, Case, go_through};
use crate::scene::{Outcome, Scene, records};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use tollgate_record::{Estimate, Host, Measurement, Per, Run, Status, Tool, document};

#[test]
fn exchange() {
    go_through("e2e::exchange::exchange", CASES);
}

/// Refused before anything is written.
const REFUSED: Case = Case { exit: 2, then: nothing_written, ..CASE };

const LMBENCH: &str = include_str!("../../../report/tests/imports/lmbench-raw.txt");

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "an export to standard output",
        args: "export latest --format csv --store {dir}/store",
        prints: &["run,started,host", "syscall/getppid", ",101.25,"],
        scene: |scene| one(scene, &record()),
        then: |outcome| assert!(outcome.stderr.is_empty()),
        ..CASE
    },
    Case {
        name: "an export to a file",
        args: "export 20261120T152800Z --format bencher --store {dir}/store --out {dir}/bmf.json",
        scene: |scene| one(scene, &record()),
        then: |outcome| assert!(fs::read_to_string(outcome.path("bmf.json")).unwrap().contains("101.25")),
        ..CASE
    },
    Case {
        name: "an export of nothing",
        args: "export latest --format csv --store {dir}/store",
        says: &["there is no run in {dir}/store yet"],
        ..REFUSED
    },
    Case {
        name: "an export of an unknown run",
        args: "export 20261120T152800Z-7f3a1d --format csv --store {dir}/store",
        says: &["no run is called", "the nearest is '20261120T152800Z-7f3a1c'"],
        scene: |scene| one(scene, &record()),
        ..REFUSED
    },
    Case {
        name: "an export in an unknown format",
        args: "export latest --format cvs --store {dir}/store",
        says: &["'cvs'", "csv"],
        ..REFUSED
    },
    Case {
        name: "an export without a format",
        args: "export latest --store {dir}/store",
        says: &["--format"],
        ..REFUSED
    },
    Case {
        name: "an export of a newer record",
        args: "export {dir}/newer.json --format csv",
        says: &["its schema is \"tollgate/3\"", "use a newer tollgate"],
        scene: |scene| {
            scene.file("newer.json", json(&record()).replace(tollgate_record::SCHEMA, "tollgate/3"));
            Ok(())
        },
        ..REFUSED
    },
    Case {
        name: "an export of half a record",
        args: "export {dir}/half.json --format markdown --out {dir}/table.md",
        says: &["it is cut short"],
        scene: |scene| {
            let text = json(&record());
            scene.file("half.json", &text[..text.len() / 2]);
            Ok(())
        },
        then: |outcome| assert!(!outcome.path("table.md").exists()),
        ..REFUSED
    },
    Case {
        name: "an export of figures that are not numbers",
        args: "export {dir}/odd.json --format csv",
        says: &["cannot use {dir}/odd.json"],
        scene: |scene| {
            scene.file("odd.json", json(&record()).replace("101.25", "NaN"));
            Ok(())
        },
        ..REFUSED
    },
    Case {
        name: "an export without any row",
        args: "export {dir}/empty.json --format openmetrics",
        prints: &["tollgate_run_info{", "# EOF"],
        scene: |scene| {
            scene.file("empty.json", json(&Run { results: Vec::new(), ..record() }));
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "an export that has nothing for its format",
        args: "export {dir}/run.json --format hdr --out {dir}/log.hlog",
        exit: 1,
        says: &["nothing for the format hdr", "csv has what there is"],
        scene: |scene| {
            scene.file("run.json", json(&record()));
            Ok(())
        },
        then: |outcome| assert!(!outcome.path("log.hlog").exists()),
        ..CASE
    },
    Case {
        name: "an export that cannot hold a row",
        args: "export {dir}/run.json --format google-benchmark",
        says: &["riscv-trap/full@embedded is not in it: it has no time"],
        prints: &["\"rows_without_a_time\"", "skipped: no second CPU"],
        scene: |scene| {
            scene.file("run.json", json(&record()));
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "an export onto a full device",
        args: "export {dir}/run.json --format csv",
        exit: 1,
        says: &["standard output cannot be written", "No space left on device"],
        scene: |scene| {
            scene.file("run.json", json(&record()));
            let full = File::options().write(true).open("/dev/full").map_err(|error| error.to_string())?;
            scene.stdout(full);
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "an export to a file on a full device",
        args: "export {dir}/run.json --format csv --out {dir}/full",
        exit: 1,
        says: &["--out {dir}/full cannot be written", "No space left on device"],
        scene: |scene| {
            scene.file("run.json", json(&record()));
            let _ = scene.as_nobody();
            symlink("/dev/full", scene.path("full")).map_err(|error| error.to_string())
        },
        ..CASE
    },
    Case {
        name: "an export into a directory that is not there",
        args: "export {dir}/run.json --format csv --out {dir}/no/where.csv",
        says: &["--out {dir}/no/where.csv cannot be written", "choose a file in a directory"],
        scene: |scene| {
            scene.file("run.json", json(&record()));
            Ok(())
        },
        ..REFUSED
    },
    Case {
        name: "an export in place of a directory",
        args: "export {dir}/run.json --format csv -o {dir}",
        says: &["--out {dir} is a directory; add a file name: --out {dir}/run.csv"],
        scene: |scene| {
            scene.file("run.json", json(&record()));
            Ok(())
        },
        ..REFUSED
    },
    Case {
        name: "an export in place of its record",
        args: "export {dir}/run.json --format csv --out {dir}/run.json",
        says: &["--out {dir}/run.json is the record itself, which would be lost"],
        scene: |scene| {
            scene.file("run.json", json(&record()));
            Ok(())
        },
        then: |outcome| assert_eq!(fs::read_to_string(outcome.path("run.json")).unwrap(), json(&record())),
        ..REFUSED
    },
    Case {
        name: "an export into a directory that may not be written",
        args: "export {dir}/run.json --format csv --out {dir}/table.csv",
        says: &["--out {dir}/table.csv cannot be written", "Permission denied"],
        scene: |scene| {
            scene.file("run.json", json(&record()));
            scene.as_nobody()
        },
        ..REFUSED
    },
    Case {
        name: "an import that is saved and shown",
        args: "import {dir}/lmbench.txt --store {dir}/store --warnings",
        says: &["saved as"],
        prints: &["lmbench-null", "lmbench-ctx", "its interval and its spread are not known"],
        scene: lmbench,
        exit: ANY,
        then: |outcome| {
            assert_eq!(outcome.exit, Some(0));
            assert!(!outcome.stdout.contains("bare metal"), "nobody told of that");
            let run = outcome.saved();
            assert_eq!(run["host"]["name"], "oldbox");
            assert_eq!(run["host"]["cpu"]["model"], "", "what is not told is absent");
            assert!(run["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "imported"));
            let row = &run["results"][0];
            assert_eq!(
                (&row["probe"], &row["engine"]),
                (&"syscall/lmbench-null".into(), &"imported-lmbench".into())
            );
            assert!(row.get("cycles").is_none() && row.get("single").is_none());
        },
        ..CASE
    },
    Case {
        name: "an import to a file",
        args: "import {dir}/lmbench.txt --json --out {dir}/run.json --no-save --host elsewhere",
        scene: lmbench,
        then: |outcome| {
            let text = fs::read_to_string(outcome.path("run.json")).unwrap();
            assert_eq!(document::from_json(text.as_bytes()).unwrap().host.name, "elsewhere");
            assert!(records(&outcome.path("home")).is_empty());
        },
        ..CASE
    },
    Case {
        name: "an import of one of our own records",
        args: "import {dir}/run.json --no-save",
        says: &["{dir}/run.json is a tollgate run already", "tollgate show {dir}/run.json"],
        scene: |scene| {
            scene.file("run.json", json(&record()));
            Ok(())
        },
        ..REFUSED
    },
    Case {
        name: "an import of nothing",
        args: "import {dir}/empty.txt --no-save",
        says: &["cannot import {dir}/empty.txt: it is empty"],
        scene: |scene| {
            scene.file("empty.txt", "");
            Ok(())
        },
        ..REFUSED
    },
    Case {
        name: "an import of what is not there",
        args: "import {dir}/gone.txt --no-save",
        says: &["cannot read {dir}/gone.txt: No such file"],
        ..REFUSED
    },
    Case {
        name: "an import of a directory",
        args: "import {dir} --no-save",
        says: &["cannot read {dir}: Is a directory"],
        ..REFUSED
    },
    Case {
        name: "an import of a pipe that nobody writes to",
        args: "import {dir}/pipe --no-save",
        says: &["cannot read {dir}/pipe: is a device or a pipe; copy its contents to a file"],
        scene: fifo,
        ..REFUSED
    },
    Case {
        name: "an import without an end",
        args: "import /dev/zero --no-save",
        says: &["cannot read /dev/zero: is a device or a pipe"],
        ..REFUSED
    },
    Case {
        name: "an import of too much",
        args: "import {dir}/large --no-save",
        says: &["cannot read {dir}/large: has more than the 64 MiB that are read"],
        scene: |scene| {
            scene.file("large", "");
            let large = fs::File::options().write(true).open(scene.path("large"));
            large.and_then(|file| file.set_len(1 << 40)).map_err(|error| error.to_string())
        },
        ..REFUSED
    },
    Case {
        name: "a record that is a pipe",
        args: "show {dir}/pipe",
        says: &["{dir}/pipe: is a device or a pipe"],
        scene: fifo,
        ..REFUSED
    },
    Case {
        name: "a comparison with a pipe",
        args: "compare {dir}/pipe {dir}/pipe",
        says: &["{dir}/pipe: is a device or a pipe"],
        scene: fifo,
        ..REFUSED
    },
    Case {
        name: "a page of a pipe",
        args: "report {dir}/pipe --out {dir}/page.html",
        says: &["{dir}/pipe: is a device or a pipe"],
        scene: fifo,
        ..REFUSED
    },
    Case {
        name: "a core that is a pipe",
        args: "riscv trap --core {dir}/pipe.toml --no-save",
        says: &["{dir}/pipe.toml: is a device or a pipe"],
        scene: |scene| {
            fifo(scene)?;
            fs::rename(scene.path("pipe"), scene.path("pipe.toml")).map_err(|error| error.to_string())
        },
        ..REFUSED
    },
    Case {
        name: "a guest that is a pipe",
        args: "riscv run {dir}/pipe",
        exit: 126,
        says: &["{dir}/pipe: is a device or a pipe"],
        scene: fifo,
        ..REFUSED
    },
    Case {
        name: "an import of something else",
        args: "import {dir}/poem.txt --no-save",
        says: &["its format is not known", "hyperfine, lmbench, perf-bench, core-to-core", "--format"],
        scene: |scene| {
            scene.file("poem.txt", "roses are red\n");
            Ok(())
        },
        ..REFUSED
    },
    Case {
        name: "an import of bytes",
        args: "import {dir}/bytes --no-save",
        says: &["invalid UTF-8 at byte 2"],
        scene: |scene| {
            scene.file("bytes", [b'a', b'b', 0xff, 0xfe]);
            Ok(())
        },
        ..REFUSED
    },
    Case {
        name: "an import of a bare number",
        args: "import {dir}/pipe.txt --no-save",
        says: &["--tell bench=sched/pipe", "--tell loops=N"],
        scene: |scene| {
            scene.file("pipe.txt", "2.740\n");
            Ok(())
        },
        ..REFUSED
    },
    Case {
        name: "an import with invalid facts",
        args: "import {dir}/pipe.txt --no-save --tell speed=9",
        says: &["loops=N, bench=NAME or cpus=LIST"],
        ..REFUSED
    },
    Case {
        name: "an import of figures that are not numbers",
        args: "import {dir}/lmbench.txt --no-save",
        exit: 1,
        says: &["syscall/lmbench-null failed: the imported figure is not a finite number"],
        prints: &["not a finite number"],
        scene: |scene| {
            scene.file("lmbench.txt", "Simple syscall: inf microseconds\n");
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "an import into a store that is a file",
        args: "import {dir}/lmbench.txt --store {dir}/lmbench.txt",
        says: &["is not a directory", "--store DIR"],
        scene: lmbench,
        ..REFUSED
    },
    Case {
        name: "pages into a directory that cannot be made",
        args: "generate man {dir}/file/man",
        says: &["cannot make the directory '{dir}/file/man'"],
        scene: |scene| {
            scene.file("file", "");
            Ok(())
        },
        ..REFUSED
    },
    Case {
        name: "pages of every command",
        args: "generate man {dir}/man",
        then: |outcome| {
            for page in [
                "tollgate",
                "tollgate-run",
                "tollgate-fault-scan",
                "tollgate-riscv-icache",
                "tollgate-export",
            ] {
                let text = fs::read_to_string(outcome.path(&format!("man/{page}.1"))).unwrap();
                assert!(text.contains(".TH ") && text.contains(".SH NAME"), "{page}");
                assert!(text.contains("Example"), "{page}");
            }
            assert!(!outcome.path("man/tollgate-worker.1").exists(), "what nobody calls has no page");
        },
        ..CASE
    },
    Case {
        name: "completions for bash",
        args: "generate completions bash",
        prints: &["_tollgate()", "export", "--format"],
        ..CASE
    },
    Case {
        name: "completions for zsh",
        args: "generate completions zsh",
        prints: &["#compdef tollgate"],
        ..CASE
    },
    Case {
        name: "completions for no shell",
        args: "generate completions tcsh",
        says: &["'tcsh'", "bash", "zsh", "fish"],
        ..REFUSED
    },
];

fn nothing_written(outcome: &Outcome) {
    assert!(outcome.stdout.is_empty(), "{}", outcome.stdout);
}

/// A pipe in the file system, with nobody at its other end.
fn fifo(scene: &mut Scene) -> Result<(), String> {
    let made = std::process::Command::new("mkfifo").arg(scene.path("pipe")).status();
    made.is_ok_and(|made| made.success()).then_some(()).ok_or_else(|| "mkfifo failed".into())
}

fn lmbench(scene: &mut Scene) -> Result<(), String> {
    scene.file("lmbench.txt", LMBENCH);
    Ok(())
}

fn one(scene: &mut Scene, run: &Run) -> Result<(), String> {
    scene.file(&format!("store/{}.json", run.id), json(run));
    Ok(())
}

fn json(run: &Run) -> String {
    document::to_json(run).unwrap()
}

/// A row with a time, one with cycles only, one that was skipped.
fn record() -> Run {
    let e = Estimate {
        estimate: 101.25,
        ci: [100.5, 102.0],
        min: 100.0,
        p10: 100.5,
        p50: 101.25,
        p90: 103.0,
        p99: 110.0,
        mean: 102.0,
    };
    let mut call = Measurement::empty("syscall/getppid", "host", Per::Syscall, Status::Measured);
    call.ns = Some(e);
    let mut trap = Measurement::empty("riscv-trap/full", "embedded", Per::Trap, Status::Measured);
    trap.cycles = Some(e);
    let mut skipped = Measurement::empty("core/futex", "host", Per::Message, Status::Skipped);
    skipped.reason = Some("no second CPU".into());
    Run {
        complete: true,
        results: vec![call, trap, skipped],
        ..Run::begin(
            "20261120T152800Z-7f3a1c".into(),
            "2026-11-20T15:28:00Z".into(),
            Tool { version: "0.1.0".into(), commit: "unknown".into() },
            vec!["--quick".into()],
            Host { name: "testbed".into(), ..Host::default() },
            42,
        )
    }
}
