//! `tollgate riscv pipeline`, `trap --core` and `trap --workload` from end to end.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use tollgate_testkit::{program, skip};

fn tollgate(store: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(arguments)
        .env("XDG_DATA_HOME", store.path())
        .env("LC_ALL", "C")
        .output()
        .expect("tollgate starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output of a command that must succeed and report nothing but where its run is.
fn good(store: &TempDir, arguments: &[&str]) -> String {
    let output = tollgate(store, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.lines().all(|line| line.starts_with("saved as ")), "{arguments:?}: {said}");
    text(&output.stdout)
}

fn image(name: &str) -> String {
    format!("{}/../../guests/riscv/images/{name}.elf", env!("CARGO_MANIFEST_DIR"))
}

/// Each kind of bad input: the arguments and what the sentence must say. All end with status 2, write nothing
/// and leave nothing behind.
#[test]
fn bad_input_ends_with_a_sentence() {
    let store = TempDir::new().expect("a temporary folder");
    let scratch = TempDir::new().expect("a temporary folder");
    let file = |name: &str, bytes: &str| {
        let path = scratch.path().join(name);
        fs::write(&path, bytes).expect("written");
        path.to_string_lossy().into_owned()
    };
    let unknown_key = file("key.toml", "[pipeline]\nforwardin = true\n");
    let no_toml = file("no.toml", "five stages, please");
    let latency_zero = file("zero.toml", "[operation]\ndivide = { cycles = 0 }\n");
    let odd_cache = file("odd.toml", "[l1d]\ngeometry = '3:1:16'\n");
    let script = file("script", "#!/bin/sh\n");
    let unwritable = scratch.path().join("no-such-folder/out.svg").to_string_lossy().into_owned();
    let folder = scratch.path().to_string_lossy().into_owned();
    let out = scratch.path().join("out.txt").to_string_lossy().into_owned();
    let missing = scratch.path().join("missing").to_string_lossy().into_owned();
    let latency = image("latency");
    let full = image("full");
    let nowhere = "/proc/version";

    #[rustfmt::skip]
    let cases: &[(&[&str], &[&str])] = &[
        (&["pipeline", "--from", "trap_vectr"], &["--from", "trap_vectr", "nearest", "'trap_vector'"]),
        (&["pipeline", "--from", ""], &["--from"]),
        (&["pipeline", &latency, "--around", "trap"], &["after", "instructions", "0 of the 1", "trap"]),
        (&["pipeline", &full, "--around", "interrupt"], &["0 of the 1", "interrupt", "--from SYMBOL"]),
        (&["pipeline", &latency, "--around", "interrupt", "--nth", "3"], &["2 of the 3", "--nth 1 to 2"]),
        (&["pipeline", &full, "--max-instructions", "100"], &["was stopped", "100 instructions"]),
        (&["pipeline", &full, "--max-instructions", "0"], &["--max-instructions 0", "at least 1"]),
        (&["pipeline", "--core", "cva7"], &["--core cva7", "nearest", "'cva6'", "rocket"]),
        (&["pipeline", "--core", &unknown_key], &["forwardin", "forwarding"]),
        (&["pipeline", "--core", &no_toml], &["--core", "no.toml"]),
        (&["pipeline", "--core", &latency_zero], &["divide", "1 to 10000"]),
        (&["pipeline", "--core", &odd_cache], &["3:1:16", "power of two"]),
        (&["pipeline", "--core", "missing.toml"], &["missing.toml", "No such file"]),
        (&["pipeline", "--count", "1"], &["--count 1", "2 to 10000"]),
        (&["pipeline", "--count", "100000"], &["--count 100000"]),
        (&["pipeline", "--nth", "0"], &["--nth 0", "from 1"]),
        (&["pipeline", "--isa", "x86"], &["--isa", "rv64"]),
        (&["pipeline", "--format", "png"], &["--format", "kanata"]),
        (&["pipeline", "--around", "fence"], &["--around", "interrupt"]),
        (&["pipeline", "--around", "trap", "--from", "main"], &["--around", "--from"]),
        (&["pipeline", &script], &["not an ELF file"]),
        (&["pipeline", &missing], &["No such file"]),
        (&["pipeline", "--json", "--format", "svg"], &["--json", "--format"]),
        (&["pipeline", "--store", nowhere], &[nowhere]),
        (&["pipeline", "--out", &unwritable], &["--out", "cannot be written", "mkdir -p"]),
        (&["pipeline", "--out", &folder], &["is a directory"]),
        (&["pipeline", "--from", "nowhere_at_all", "--out", &out], &["--from"]),
        (&["trap", "--core", "cva"], &["--core cva", "nearest"]),
        (&["trap", "--core", "rocket+fault"], &["--core rocket+fault", "no known fault", "cva6"]),
        (&["trap", "--core", "ideal", "--engine", "spike"], &["--engine", "embedded"]),
        (&["trap", "--core", "ideal", "--iterations", "0"], &["--iterations 0"]),
        (&["trap", "--core", "ideal", "--store", nowhere], &[nowhere]),
        (&["trap", "--workload", "chas"], &["--workload chas", "'chase'", "walk, compute", "ends in .c"]),
        (&["trap", "--workload", "no-such.c"], &["--workload no-such.c"]),
        (&["trap", "--workload", "chase", "--every", "1"], &["--every 1", "from 10"]),
        (&["trap", "--workload", "chase", "--set", "0"], &["--set 0", "1 to 1024"]),
        (&["trap", "--workload", "chase", "--kernel-touch", "2000"], &["--kernel-touch 2000", "0 to 1024"]),
        (&["trap", "--workload", "chase", "--traps", "0"], &["--traps 0"]),
        (&["trap", "--workload", "chase", "--kernel", "bank"], &["--kernel", "--workload"]),
        (&["trap", "--every", "1000"], &["--every", "--workload chase"]),
    ];
    for (arguments, words) in cases {
        let output = tollgate(&store, &[&["riscv"], *arguments].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
        for word in *words {
            assert!(said.contains(word), "{arguments:?} should say {word:?}: {said}");
        }
    }
    assert!(!fs::exists(&out).expect("it can be looked for"), "nothing is half-written");
    let saved = tollgate(&store, &["show", "--json"]);
    assert_eq!(text(&saved.stdout).trim(), "[]", "nothing is saved");
}

#[test]
fn the_diagram_of_a_trap_shows_what_is_thrown_away() {
    let store = TempDir::new().expect("a temporary folder");
    let shown = good(&store, &["riscv", "pipeline"]);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let ecall = shown.lines().find(|line| line.contains(" ecall ")).expect("the trap");
    assert!(ecall.ends_with("traps"), "{ecall}");
    // Four stages are behind it when it is in WB: the classic pipeline.
    assert_eq!(shown.lines().filter(|line| line.ends_with("squashed: trap")).count(), 4, "{shown}");
    assert!(shown.contains("trap_vector:"), "{shown}");
    assert!(shown.contains("costs 5 cycles") && shown.contains("4 fetched"), "{shown}");
}

#[test]
fn every_format_is_written() {
    let store = TempDir::new().expect("a temporary folder");
    for (format, begins) in
        [("svg", "<svg "), ("kanata", "Kanata\t0004\n"), ("o3pipeview", "O3PipeView:fetch:1000:")]
    {
        let path = store.path().join(format);
        let to = path.to_string_lossy().into_owned();
        let printed = good(&store, &["riscv", "pipeline", "--format", format]);
        assert!(printed.starts_with(begins), "{format}");
        assert_eq!(good(&store, &["riscv", "pipeline", "--format", format, "--out", &to]), "");
        assert_eq!(fs::read_to_string(path).expect("written"), printed, "two runs are the same");
    }
    let branch = good(&store, &["riscv", "pipeline", "--around", "branch", "--core", "cva6"]);
    assert!(branch.contains("The jump at"), "{branch}");
    let interrupt = good(&store, &["riscv", "pipeline", "--around", "interrupt"]);
    assert!(interrupt.contains("Interrupt latency over all"), "{interrupt}");
    let from = good(&store, &["riscv", "pipeline", &image("full"), "--from", "trap_vector", "--count", "4"]);
    assert!(from.contains("csrrw sp,sscratch,sp"), "{from}");
}

/// The bill in cycles is saved, and `show` prints the same.
#[test]
fn a_bill_in_cycles_is_saved_and_shown() {
    let store = TempDir::new().expect("a temporary folder");
    let arguments = ["riscv", "trap", "--core", "cva6", "--iterations", "50"];
    let shown = good(&store, &arguments);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_eq!(good(&store, &["show", "latest"]), shown);
    for words in ["caches warm", "caches cold", "hardware trap", "After the return"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let json: Value =
        serde_json::from_str(&good(&store, &[&arguments[..], &["--json"]].concat())).expect("JSON");
    for result in json["results"].as_array().expect("results") {
        let total = result["cycles"]["estimate"].as_f64().expect("cycles");
        let mut sum = 0.0;
        for phase in result["phases"].as_array().expect("phases") {
            assert_eq!(phase["evidence"], "simulated");
            let cycles = phase["cycles"]["estimate"].as_f64().unwrap_or(0.0);
            let causes =
                phase["causes"].as_object().map_or(0.0, |c| c.values().filter_map(Value::as_f64).sum());
            assert!((cycles - causes).abs() < 1e-6, "{phase}");
            sum += cycles;
        }
        assert!((sum - total).abs() < 1e-6);
    }
    let store = TempDir::new().expect("a temporary folder");
    good(&store, &["riscv", "trap", "--iterations", "5"]);
    let instructions = good(&store, &["show", "latest"]);
    let row = instructions.lines().find(|line| line.contains("getpid")).expect("getpid");
    assert!(row.contains("98"), "its instructions: {row}");
}

/// A diagram is saved whatever it is written as, `show` prints the same, and the rows agree with the figure.
#[test]
fn a_diagram_is_saved_and_shown() {
    for around in ["trap", "interrupt", "branch"] {
        let store = TempDir::new().expect("a temporary folder");
        let arguments = ["riscv", "pipeline", "--around", around, "--core", "cva6"];
        let shown = good(&store, &arguments);
        assert_eq!(good(&store, &["show", "latest"]), shown, "{around}");
        let json: Value =
            serde_json::from_str(&good(&store, &[&arguments[..], &["--json", "--no-save"]].concat()))
                .expect("JSON");
        let result = &json["results"][0];
        assert_eq!(result["probe"], format!("riscv-pipeline/{around}"));
        let rows = result["stages"]["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 24);
        // Between the last cycles of what was before and what comes after the hazard nothing retires.
        let at = result["stages"]["event"].as_u64().expect("an event") as usize;
        let last = |row: &Value| {
            let stages = row["stages"].as_array().expect("stages");
            stages.last().and_then(|span| span["last"].as_u64()).expect("a cycle")
        };
        let next = rows[at + 1..].iter().find(|row| row["squash"].is_null()).expect("the next to retire");
        let own = u64::from(rows[at]["traps"] == true);
        let lost = last(next) - last(&rows[at]) - 1 + own;
        assert_eq!(result["cycles"]["estimate"].as_f64(), Some(lost as f64), "{around}");
        let squashed = rows[at + 1..].iter().take_while(|row| !row["squash"].is_null()).count();
        assert_eq!(result["counters"]["squashed"].as_f64(), Some(squashed as f64), "{around}");
        assert_eq!(json["results"].get(1).is_some(), around == "interrupt", "the latencies");
    }
    let store = TempDir::new().expect("a temporary folder");
    good(&store, &["riscv", "pipeline", "--from", "trap_vector", "--format", "kanata"]);
    assert!(good(&store, &["show", "latest"]).contains("instructions from trap_vector on."));
}

#[test]
fn the_design_space_and_the_sweep_are_tables() {
    let store = TempDir::new().expect("a temporary folder");
    let designs = good(&store, &["riscv", "trap", "--kernel", "all", "--core", "cva6", "--iterations", "20"]);
    assert!(designs.lines().all(|line| line.chars().count() <= 80), "{designs}");
    for design in ["full ", "caller ", "bank ", "timer-asid "] {
        assert!(designs.lines().any(|line| line.starts_with(design)), "{design}: {designs}");
    }
    // Two runs of one second have no order.
    let store = TempDir::new().expect("a temporary folder");
    let arguments =
        ["--workload", "chase", "--set", "4", "--kernel-touch", "0,64", "--every", "2000", "--traps", "4"];
    let sweep = good(&store, &[&["riscv", "trap"], &arguments[..]].concat());
    assert!(sweep.lines().all(|line| line.chars().count() <= 80), "{sweep}");
    assert_eq!(sweep.lines().filter(|line| line.contains("KiB") && line.contains('%')).count(), 2, "{sweep}");
    assert_eq!(good(&store, &["show", "latest"]), sweep);
}

/// One's own program is trapped into like a bundled one: this one is `walk` in C.
#[test]
fn a_program_of_ones_own_is_built_and_trapped_into() {
    if program("riscv64-unknown-elf-gcc").is_none() {
        return skip!("no riscv64-unknown-elf-gcc: apt-get install gcc-riscv64-unknown-elf");
    }
    let folder = tempfile::tempdir().unwrap();
    let source = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let walk = source(
        "walk.c",
        "unsigned long sum;\nvoid work(char *set, unsigned long bytes) {\n  \
         for (unsigned long i = 0; i < bytes; i += 64) sum += *(volatile unsigned long *)(set + i);\n}\n",
    );
    let trap = ["riscv", "trap", "--workload"];
    let options =
        ["--core", "rocket", "--set", "16", "--kernel-touch", "0,64", "--traps", "4", "--json", "--no-save"];
    let found = good(&folder, &[&trap[..], &[walk.as_str()], &options].concat());
    let run: Value = serde_json::from_str(&found).unwrap();
    let [none, all] = [&run["results"][0], &run["results"][1]];
    assert_eq!(
        (&none["probe"], &all["probe"]),
        (&"riscv-workload/walk.c".into(), &"riscv-workload/walk.c".into())
    );
    // A kernel that touches more than the data cache holds costs the program lines that it fetches again.
    let refill = |of: &Value| {
        let phases = of["phases"].as_array().unwrap();
        phases.iter().find(|it| it["name"] == "refill").unwrap()["cycles"]["estimate"].as_f64().unwrap()
    };
    assert!(refill(all) > refill(none) + 1_000.0, "{} {}", refill(none), refill(all));
    for (name, text_of, why) in [
        ("none.c", "int f;", "no function work"),
        ("bad.c", "int f", "riscv64-unknown-elf-gcc refused"),
        (
            "wild.c",
            "void work(char *set, unsigned long bytes) { *(volatile char *)0 = bytes; }",
            "does not come back",
        ),
    ] {
        let output = tollgate(&folder, &[&trap[..], &[source(name, text_of).as_str()]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains(why), "{name}: {said}");
    }
}
