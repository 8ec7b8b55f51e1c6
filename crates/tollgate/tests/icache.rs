//! `tollgate riscv icache` from end to end: what it prints, what it saves, and what it says to bad input.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use tollgate_testkit::{program, skip};

/// Runs the command with a home of its own.
fn icache(home: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["riscv", "icache"])
        .args(arguments)
        .current_dir(home.path())
        .env("XDG_DATA_HOME", home.path().join("data"))
        .env("TMPDIR", home.path())
        .output()
        .expect("tollgate starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn good(home: &TempDir, arguments: &[&str]) -> String {
    let output = icache(home, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn home() -> TempDir {
    TempDir::new().expect("a temporary folder")
}

/// The course note's rates, from the cache that gives them and from the one that it states.
#[test]
fn the_notes_rates_come_out() {
    let home = home();
    let arguments = ["--opt-level", "1", "--icache", "4:1:8,8:1:8", "--count", "cycle", "--no-save"];
    let shown = good(&home, &arguments);
    let rates: Vec<&str> = shown.lines().filter(|line| line.contains("hit rate per fetch")).collect();
    assert!(rates[0].contains("0.4999") && rates[0].contains("0.7498"), "{shown}");
    assert!(rates[1].contains("0.9992") && rates[1].contains("0.9995"), "{shown}");
    assert!(shown.contains("0.4999       0.7498"), "{shown}");
    // Wherever the paragraph is broken.
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("from 0.4999 to 0.7498"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80 && !line.ends_with(' ')), "{shown}");
    assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 0, "--no-save leaves nothing");
}

/// What is printed as JSON is saved as well, with its curves, and is the same every time.
#[test]
fn the_record_is_saved_and_repeats() {
    let home = home();
    let arguments = ["--sweep", "--icache", "8:1:8,2:4:8", "--policy", "random", "--seed", "7", "--json"];
    let results = |text: String| serde_json::from_str::<Value>(&text).expect("JSON")["results"].clone();
    let first = results(good(&home, &arguments));
    assert_eq!(first, results(good(&home, &arguments)));
    assert_eq!(first.as_array().map(Vec::len), Some(4));
    let one = &first[0];
    assert_eq!(one["counters"]["text-bytes"], 156.0);
    assert_eq!(one["counters"]["object-text-bytes"], 160.0);
    let causes = ["compulsory", "capacity", "conflict"];
    let sum: f64 = causes.iter().filter_map(|c| one["counters"][format!("misses-{c}")].as_f64()).sum();
    assert_eq!(one["counters"]["misses"], sum);
    let series: Vec<&str> =
        one["series"].as_array().expect("series").iter().filter_map(|s| s["name"].as_str()).collect();
    assert!(series.contains(&"miss-ratio"), "{series:?}");
    let swept = one["found"]["sweep"].as_array().expect("a sweep");
    assert!(swept.iter().any(|curve| curve["ways"] == 16 && curve["line"] == 128), "{swept:?}");
    let show = |arguments: &[&str]| {
        let shown = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["show", "latest"])
            .args(arguments)
            .env("XDG_DATA_HOME", home.path().join("data"))
            .output()
            .expect("tollgate starts");
        text(&shown.stdout)
    };
    assert_eq!(results(show(&["--json"])), first);
    let printed = good(&home, &arguments[..arguments.len() - 1]);
    assert_eq!(show(&[]), printed);
    assert!(printed.contains("2:4:8 (64 bytes, random)"), "{printed}");
    assert!(printed.lines().all(|line| line.chars().count() <= 80 && !line.ends_with(' ')), "{printed}");
}

/// A source is built for each ISA that is asked for.
#[test]
fn a_source_is_built_for_each_isa() {
    if program("riscv64-unknown-elf-gcc").is_none() {
        return skip!("no riscv64-unknown-elf-gcc: apt-get install gcc-riscv64-unknown-elf");
    }
    let home = home();
    let source = "int main(void) { volatile int n = 0; for (int i = 0; i < 100; i++) n += i; return n; }";
    fs::write(home.path().join("-loop.c"), source).expect("written");
    let arguments = ["--isa", "rv32im,rv64imc,rv64gc", "--opt-level", "s", "--no-save", "--", "-loop.c"];
    let shown = good(&home, &arguments);
    assert!(
        shown.lines().next().is_some_and(|line| line.ends_with("rv32im      rv64imc       rv64gc")),
        "{shown}"
    );
    assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 1, "nothing but the source is left");
    // A program that is built already has no object, and is itself enough.
    let elf = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/icache-rv32imc-O1.elf");
    let shown = good(&home, &[elf, "--no-save"]);
    let object = shown.lines().find(|line| line.starts_with("code, object")).expect("a row");
    assert!(object.ends_with(" -"), "{object}");
}

/// A C program whose `main` the C library's start-up would call cannot run bare; what can run it is named.
#[test]
fn a_program_for_linux_is_told_what_runs_it() {
    if program("riscv64-unknown-elf-gcc").is_none() {
        return skip!("no riscv64-unknown-elf-gcc: apt-get install gcc-riscv64-unknown-elf");
    }
    let home = home();
    let source = "int main(void) { volatile int n = 3; return n + *(volatile int *)16; }\nint __libc_start_main(void) { return main(); }";
    fs::write(home.path().join("linux.c"), source).expect("written");
    let said = text(&icache(&home, &["linux.c", "--isa", "rv64gc", "--no-save"]).stderr);
    assert!(
        said.contains("load access fault")
            && said.ends_with("a static Linux program needs a proxy kernel: --pk PK\n"),
        "{said}"
    );
}

/// A static program for Linux runs on the proxy kernel, whose own instructions are not counted.
#[test]
fn a_program_on_the_proxy_kernel_is_counted_without_the_kernel() {
    let named = std::env::var_os("TOLLGATE_PK").map(Into::into);
    let Some(pk) = named.or_else(|| program("pk")) else {
        return skip!("pk is missing: build riscv-pk, and put pk on PATH or name it in TOLLGATE_PK");
    };
    let home = home();
    let pk = pk.to_string_lossy().into_owned();
    let elf = format!("{}/../../guests/riscv/images/note-linux.elf", env!("CARGO_MANIFEST_DIR"));
    let printed = good(&home, &["--pk", &pk, &elf, "--icache", "2:1:4,64:4:64", "--json"]);
    let results = serde_json::from_str::<Value>(&printed).expect("JSON")["results"].clone();
    // A line for each instruction in user mode; the calls to the kernel trap, and do not retire.
    let traced = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["riscv", "run", "--pk", &pk, "--trace", "commit", "--trace-mode", "u", &elf])
        .output()
        .expect("tollgate starts");
    let lines = text(&traced.stderr).lines().filter(|line| line.starts_with("core   0: 0 0x")).count();
    let count = |n: usize, name: &str| results[n]["counters"][name].as_f64().expect("a number");
    assert!(lines > 100, "{lines}");
    assert_eq!([count(0, "accesses"), count(1, "accesses")], [lines as f64; 2]);
    // Most of them are in a line of their own; the large cache has room for all of the code.
    assert!(count(0, "misses") > 0.4 * lines as f64, "{printed}");
    assert!(count(1, "misses") * 64.0 < count(1, "text-bytes") + 128.0, "{printed}");
    // It is timed as well.
    assert!(count(0, "timed-cycles") > count(1, "timed-cycles") && count(1, "timed-cycles") >= lines as f64);
}

/// Each kind of bad input: a sentence, exit status 2, and nothing half-written.
#[test]
fn bad_input_ends_with_a_sentence() {
    let home = home();
    fs::write(home.path().join("wrong.c"), "int main(void) { return missing }\n").expect("written");
    fs::write(home.path().join("fine.c"), "int main(void) { return 0; }\n").expect("written");
    fs::write(home.path().join("words.txt"), "These are words, and quite a few of them.\n".repeat(9))
        .expect("written");
    fs::write(home.path().join("empty.elf"), "").expect("written");
    let image = |name: &str| format!("{}/../../guests/riscv/images/{name}.elf", env!("CARGO_MANIFEST_DIR"));
    let (rv32, linux) = (image("icache-rv32im-O1"), image("note-linux"));
    let rows: &[(&[&str], &str)] = &[
        (&["--icache", "7:1:8"], "power of two"),
        (&["--icache", "8:1:12"], "power of two, from 4 to 4096"),
        (&["--icache", "8:1:2"], "from 4 to 4096"),
        (&["--icache", "8:1:8192"], "from 4 to 4096"),
        (&["--icache", "8:0:8"], "at least 1"),
        (&["--icache", "8:8"], "sets:ways:line"),
        (&["--icache", "8:1:8,"], "sets:ways:line"),
        (&["--icache", "4194304:1:4096"], "too large"),
        (&["--icache", "8:3:8", "--policy", "plru"], "tree-PLRU"),
        (&["--policy", "best"], "lru, plru, fifo, random, lfsr or lfsr16"),
        (&["--count", "word"], "fetch, cycle"),
        (&["--opt-level", "9"], "possible values"),
        (&["--max-instructions", "0"], "not in 1.."),
        (&["--isa", "rv32imq"], "'q'"),
        (&["--isa", ""], "rv32 or rv64"),
        (&["missing.c"], "missing.c"),
        (&["words.txt"], "not a source (.c, .s, .S) either"),
        (&["fine.c", "fine.c"], "a source comes alone"),
        (&["empty.elf"], "empty"),
        (&["--pk", "empty.elf"], "<PROG>"),
        (&["fine.c", "--arg", "1"], "--pk"),
        (&["--pk", "empty.elf", &linux], "as the proxy kernel: "),
        (&["--pk", &linux, "words.txt"], "give a source (.c, .s, .S) or a static program for Linux"),
        (&["--pk", &linux, &rv32], "RV32"),
        (&[&rv32, "--isa", "rv64gc"], "RV32"),
        (&[&rv32, "--isa", "rv32im,rv32imc"], "give one --isa"),
        (&["--out", "no/such/folder/file"], "--out"),
    ];
    let before = fs::read_dir(home.path()).expect("a folder").count();
    for (arguments, expected) in rows {
        let output = icache(&home, arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
    // It begins, and asks a system for something.
    let output = icache(&home, &[&linux, "--no-save"]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""), "{said}");
    assert!(said.contains("environment call from M-mode with 170 in a7"), "{said}");
    // Without any compiler.
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["riscv", "icache", "fine.c", "--no-save"])
        .current_dir(home.path())
        .env("PATH", home.path())
        .output()
        .expect("tollgate starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("apt-get install gcc-riscv64-unknown-elf"),
        "{}",
        text(&output.stderr)
    );
    // With one, its own words are shown.
    if program("riscv64-unknown-elf-gcc").is_some() {
        let output = icache(&home, &["wrong.c"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("wrong.c:1:") && said.contains("'missing' undeclared"), "{said}");
    }
    let store = home.path().join("data").exists();
    let after = fs::read_dir(home.path()).expect("a folder").count() - usize::from(store);
    assert_eq!(after, before, "nothing is left behind");
}
