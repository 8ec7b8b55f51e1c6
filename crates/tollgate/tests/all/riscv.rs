//! `tollgate riscv` from end to end: what it prints, and what it says to bad input.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use tollgate_testkit::{program, skip};

fn image(name: &str) -> String {
    format!("{}/../../guests/riscv/images/{name}.elf", env!("CARGO_MANIFEST_DIR"))
}

fn tollgate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .arg("riscv")
        .args(arguments)
        // Runs are saved; not among the user's own.
        .env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"))
        .output()
        .expect("tollgate starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output of a command that must succeed and report nothing but where its run is.
fn good(arguments: &[&str]) -> String {
    let output = tollgate(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.lines().all(|line| line.starts_with("saved as ")), "{arguments:?}: {said}");
    text(&output.stdout)
}

/// The numbers in the row that begins with `name`.
fn row(table: &str, name: &str) -> Vec<String> {
    let line = table.lines().find_map(|line| line.strip_prefix(name)).expect(name);
    line.split_whitespace().map(str::to_owned).collect()
}

/// The first program header of our images, behind the ELF64 header; the second one follows.
const HEADER: usize = 64;
const SECOND: usize = HEADER + 56;

/// Each kind of bad input: the arguments, the exit status, and what the sentence must say.
#[test]
fn bad_input_ends_with_a_sentence() {
    let scratch = TempDir::new().expect("a temporary folder");
    let file = |name: &str, bytes: &[u8]| {
        let path = scratch.path().join(name);
        fs::write(&path, bytes).expect("written");
        path.to_string_lossy().into_owned()
    };
    let full = image("full");
    let bytes = fs::read(&full).expect("an image");
    let patched = |name: &str, at: usize, with: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        file(name, &bytes)
    };
    let empty = file("empty", b"");
    let script = file("script", &b"#!/bin/sh\nexit 0\n".repeat(20));
    let cut_header = file("cut-header", &bytes[..40]);
    let cut = file("cut", &bytes[..6000]);
    let other = patched("other", 18, &[62, 0]);
    let big_endian = patched("big-endian", 5, &[2]);
    let dynamic = patched("dynamic", 16, &[3, 0]);
    let object = patched("object", 16, &[1, 0]);
    let entry = patched("entry", 24, &0x9000_0000_u64.to_le_bytes());
    let huge = patched("huge", HEADER + 40, &(1_u64 << 63).to_le_bytes());
    let low = patched("low", HEADER + 24, &0x1000_u64.to_le_bytes());
    let overlap = patched("overlap", SECOND + 24, &0x8000_0000_u64.to_le_bytes());
    let linux = image("ctx_switch-linux");
    let forbidden = image("forbidden");
    let long = "x".repeat(70_000);
    let missing = scratch.path().join("missing").to_string_lossy().into_owned();

    #[rustfmt::skip]
    let cases: &[(&[&str], i32, &[&str])] = &[
        // Files that are not programs for this machine.
        (&["run", &empty], 126, &["the file is empty"]),
        (&["run", &script], 126, &["not an ELF file"]),
        (&["run", &cut_header], 126, &["damaged"]),
        (&["run", &cut], 126, &["ends behind the file"]),
        (&["run", &other], 126, &["another machine", "62"]),
        (&["run", &big_endian], 126, &["little-endian"]),
        (&["run", &dynamic], 126, &["-static"]),
        (&["run", &object], 126, &["link it first"]),
        (&["run", &entry], 126, &["entry point 0x90000000"]),
        (&["run", &huge], 126, &["0x80000000"]),
        (&["run", &low], 126, &["outside RAM", "--pk PK"]),
        (&["run", &overlap], 126, &["overlap"]),
        (&["run", &linux], 125, &["environment call", "--pk PK"]),
        (&["run", "--machine", "virt", &linux], 126, &["linked at 0x10000", "--machine spike"]),
        (&["run", "--l2", "64:1:64", &full], 125, &["--l2", "--ic or --dc"]),
        (&["run", "--ic", "63:1:64", &full], 125, &["--ic", "power of two"]),
        (&["run", "--signature", &missing, &full], 125, &["begin_signature"]),
        (&["run", "+signature-granularity=3", &full], 125, &["--signature-granularity 3"]),
        (&["pipeline", "--machine", "pc", &full], 2, &["--machine", "spike or virt"]),
        (&["trap", "--workload", "chase", "--core", "all"], 2, &["--core all", "one core"]),
        (&["run", &missing], 127, &["No such file"]),
        (&["run", "--isa", "rv32gc", &full], 126, &["RV64", "--isa rv64gc"]),
        (&["pipeline", "--isa", "rv32gc", &full], 2, &["RV64", "--isa rv64gc"]),
        // Options with values that cannot be.
        (&["run", "--isa", "rv64gq", &full], 125, &["--isa", "'q'"]),
        (&["run", "--isa", "x86", &full], 125, &["--isa", "rv64"]),
        (&["run", "--isa", "", &full], 125, &["--isa"]),
        (&["run", "--machine", "pc", &full], 125, &["--machine", "spike or virt"]),
        (&["run", "--memory", "0", &full], 125, &["--memory 0"]),
        (&["run", "--memory", "1", &full], 126, &["more memory"]),
        (&["run", "--memory", "18446744073709551615", &full], 125, &["--memory"]),
        (&["run", "--bootargs", &long, &full], 125, &["--bootargs", "shorten"]),
        (&["run", "--max-instructions", "0", &full], 125, &["--max-instructions", "at least 1"]),
        (&["run", "--pk", &empty, &linux], 125, &["--pk", "proxy kernel", "empty"]),
        (&["run", "--pk", &full, "--machine", "virt", &linux], 125, &["--machine spike"]),
        (&["run", &full, "argument"], 125, &["--pk"]),
        (&["run", "--allow", &missing, &full], 125, &["No such file"]),
        (&["run", "--trace", "all", &full], 125, &["commit", "disasm"]),
        (&["run", "--guest-time", "model", &full], 125, &["--guest-time", "--core CORE"]),
        (&["run", "--core", "rocket", &empty], 126, &["the file is empty"]),
        (&["run", "--core", "rockt", &full], 125, &["--core rockt", "rocket"]),
        (&["run", "--top", "-1", &full], 125, &["--top"]),
        (&["trap", "--kernel", "fast"], 2, &["--kernel fast", "full, full-m"]),
        (&["trap", "--calls", "getpidd"], 2, &["--calls", "getpidd", "getpid"]),
        (&["trap", "--calls", "93"], 2, &["--calls", "93"]),
        (&["trap", "--calls", ""], 2, &["--calls"]),
        (&["trap", "--iterations", "0"], 2, &["--iterations", "1 to"]),
        (&["trap", "--engine", "gem5"], 2, &["--engine gem5", "embedded, spike, qemu"]),
        (&["trap", "--kernel", "direct", "--calls", "172"], 2, &["--kernel direct", "--calls"]),
        (&["trap", "--kernel", "all", "--calls", "172,174"], 2, &["one call"]),
        // Programs that start and then do what they should not.
        (&["run", "--max-instructions", "1000", &full], 124, &["not ended after 1,000", "--max-instructions"]),
        (&["run", &forbidden], 13, &["/etc/hostname", "--allow", "status 13"]),
        (&["run", "--isa", "rv64i", &full], 125, &["illegal instruction at 0x80000", "no trap handler is set (mtvec is 0)"]),
    ];
    for (arguments, status, says) in cases {
        let output = tollgate(arguments);
        let said = text(&output.stderr);
        let shown: Vec<_> = arguments.iter().map(|a| &a[..a.len().min(60)]).collect();
        assert_eq!(output.status.code(), Some(*status), "{shown:?}: {said}");
        for word in *says {
            assert!(said.contains(word), "{shown:?} does not say {word:?}: {said}");
        }
        assert!(!said.contains("panicked") && said.lines().count() <= 6, "{shown:?}: {said}");
        assert_eq!(text(&output.stdout), "", "{shown:?}");
    }
}

#[test]
fn the_default_bill_ends_with_the_answer() {
    let shown = good(&["trap", "--iterations", "10"]);
    for call in ["getpid (172)", "getuid (174)", "write (64)", "clock_gettime (113)", "gettimeofday (169)"] {
        assert!(shown.contains(call), "{shown}");
    }
    // -ENOSYS, and a single crossing like all others.
    let numbers = row(&shown, "unimplemented (255)");
    assert_eq!(numbers[0], "-38");
    assert!(numbers[1..].iter().all(|n| *n == numbers[1]), "{shown}");
    assert!(shown.contains("the system call itself"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn the_table_of_designs_names_them_all() {
    let list = good(&["trap", "--kernel", "list"]);
    let table = good(&["trap", "--kernel", "all", "--iterations", "10"]);
    assert!(list.lines().count() > 15);
    for line in list.lines() {
        let name = line.split_whitespace().next().expect("a name");
        // Those with vectors, shadow stacks or a CLIC run on another machine, so each has a screen of its own; so have two interrupts.
        let apart = [
            ("vectors ", "rv64gcv"),
            ("shadow stacks", "zicfiss"),
            ("clic", "smclic"),
            ("another one is pending", "rv64gc"),
        ];
        if let Some((_, isa)) = apart.iter().find(|(about, _)| line.contains(about)) {
            assert!(good(&["trap", "--kernel", name, "--iterations", "10"]).contains(isa), "{name}");
        } else {
            assert!(table.contains(&format!("\n  {name} ")), "{name}: {table}");
        }
    }
}

#[test]
fn json_is_one_document_with_the_phases_of_each_call() {
    let shown = good(&["trap", "--iterations", "10", "--json"]);
    let run: Value = serde_json::from_str(&shown).expect("one JSON document");
    assert_eq!(run["schema"], "tollgate/2");
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 6);
    for result in results {
        assert_eq!(result["engine"], "embedded");
        assert_eq!(result["status"], "measured");
        assert_eq!(result["proof"]["traps-per-crossing"], 1.0);
        // There is no timing model, so there are no cycles.
        assert!(result.get("cycles").is_none() && result.get("ns").is_none());
        let counters = result["counters"].as_object().expect("counters");
        let phases = counters.iter().filter(|(name, _)| name.ends_with("/instructions"));
        let sum: f64 = phases.map(|(_, n)| n.as_f64().expect("a number")).sum();
        assert_eq!(Some(sum), counters["instructions"].as_f64());
    }
}

#[test]
fn an_engine_that_is_not_there_is_skipped_with_what_to_install() {
    let without_path = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.args(["riscv", "trap", "--calls", "getpid", "--iterations", "2"]).args(arguments);
        command.env("PATH", "/nonexistent").output().expect("tollgate starts")
    };
    // The one engine that was asked for did nothing.
    let output = without_path(&["--engine", "qemu"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("apt-get install qemu-system-misc"), "{}", text(&output.stdout));

    let output = without_path(&["--engine", "all", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let run: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let results = run["results"].as_array().expect("results");
    let status: Vec<_> = results.iter().map(|result| &result["status"]).collect();
    assert_eq!(status, ["measured", "skipped", "skipped"]);
    assert!(results[2]["enable"].as_str().expect("enable").contains("apt-get install"));
}

/// The kernel's 95 instructions for getpid, and the first rdcycle itself.
#[test]
fn programs_run_on_both_machines() {
    for machine in ["spike", "virt"] {
        let run = |name: &str| good(&["run", "--machine", machine, &image(name)]);
        assert_eq!(run("ctx_switch"), "getpid 1: 96 cycles\n");
        assert_eq!(run("ctx_switch-asm"), "96 cycles\n");
        // Options may come behind the program.
        let behind = good(&["run", &image("ctx_switch-asm"), "--isa", "rv64gc", "--machine", machine]);
        assert_eq!(behind, "96 cycles\n");
        assert_eq!(run("enhanced_ctx_switch-asm"), "96\n96\n96\n");
        let enhanced = run("enhanced_ctx_switch");
        assert!(enhanced.starts_with("getpid (172): single 96, min 96, mean 96, max 96\n"), "{enhanced}");
    }
}

#[test]
fn a_trace_has_a_line_for_each_instruction() {
    let commit = text(&tollgate(&["run", "--trace", "commit", &image("forbidden")]).stderr);
    // auipc a0, in machine mode, at the entry point: a0 is x10.
    let first = commit.lines().next().expect("a line");
    assert!(first.starts_with("core   0: 3 0x00000000800000e8 (0x00001517) x10 0x"), "{first}");
    // The store to tohost.
    assert!(commit.contains(" mem 0x"), "{commit}");
    let disasm = text(&tollgate(&["run", "--trace", "disasm", &image("forbidden")]).stderr);
    let first = disasm.lines().next().expect("a line");
    assert!(first.ends_with("auipc a0,0x1"), "{first}");
}

#[test]
fn a_profile_knows_functions_phases_and_calls() {
    let output = tollgate(&["run", "--profile", &image("enhanced_ctx_switch-asm")]);
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    for word in ["trap_vector", "sys_getpid", "register save"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    // Per call: stack 3, save 37, dispatch 16, handler 3, restore 35, return 1.
    assert_eq!(row(&shown, "getpid (172)"), ["1,000", "95", "3", "37", "16", "3", "35", "1"]);
}

/// A real proxy kernel gives what Spike gives: 135 for getpid, 131 for a call that it does not have.
#[test]
fn the_proxy_kernel_gives_spikes_counts() {
    let named = std::env::var_os("TOLLGATE_PK").map(Into::into);
    let Some(pk) = named.or_else(|| program("pk")) else {
        return skip!("pk is missing: build riscv-pk, and put pk on PATH or name it in TOLLGATE_PK");
    };
    let pk = pk.to_string_lossy().into_owned();
    assert_eq!(good(&["run", "--pk", &pk, &image("ctx_switch-linux")]), "getpid 0: 135 cycles\n");
    let note = "170: 131 cycles, result -38\n172: 135 cycles, result 0\n";
    assert_eq!(good(&["run", "--pk", &pk, &image("note-linux")]), note);
    let profile = text(&tollgate(&["run", "--pk", &pk, "--profile", &image("ctx_switch-linux")]).stdout);
    let numbers = row(&profile, "getpid (172)");
    // Of the 134: save 40, the handler 2, restore 35, sret 1.
    assert_eq!(
        [&*numbers[1], &*numbers[3], &*numbers[5], &*numbers[6], &*numbers[7]],
        ["134", "40", "2", "35", "1"]
    );
}

#[test]
fn the_answer_is_computed_from_the_figures() {
    let words = |arguments: &[&str]| good(arguments).split_whitespace().collect::<Vec<_>>().join(" ");
    // Three quarters: 37 + 35 of 3 + 37 + 16 + 3 + 35 + 1.
    let full = words(&["trap", "--calls", "getpid", "--iterations", "20"]);
    assert!(
        full.contains("Three quarters of the kernel's 95 instructions save and restore registers (72)"),
        "{full}"
    );
    assert!(full.contains("the system call itself 3"), "{full}");
    // With a second bank the registers are no longer the larger part: 7 + 1 of 27.
    let bank = words(&["trap", "--kernel", "bank", "--calls", "getpid", "--iterations", "20"]);
    assert!(!bank.contains("mostly moving"), "{bank}");
}

/// Whatever a command prints, `show` prints from the saved record, byte for byte, and it fits 80 columns.
#[test]
fn show_prints_what_the_command_printed() {
    let (profiled, listed) = (image("enhanced_ctx_switch-asm"), good(&["trap", "--kernel", "list"]));
    assert!(listed.lines().all(|line| line.chars().count() <= 80 && !line.ends_with(' ')), "{listed}");
    let mut forms: Vec<String> = [
        "trap --iterations 10",
        "trap --calls write,500 --iterations 10",
        "trap --kernel all --iterations 5",
        "trap --engine all --calls getpid --iterations 5",
        "trap --kernel all --engine all --iterations 2",
        "trap --core cva6 --iterations 20",
        "trap --kernel all --core rocket --iterations 10",
        "trap --workload chase --set 4 --kernel-touch 0,64 --every 2000 --traps 4",
        "icache",
        "icache --opt-level 1 --icache 4:1:8,8:1:8 --count cycle --sweep",
        "icache --max-instructions 1000",
        "pipeline",
        "pipeline --around interrupt --core cva6",
        "pipeline --around interrupt --count 2",
        "pipeline --around branch --core rocket",
        "pipeline --from trap_vector --count 40",
    ]
    .map(str::to_owned)
    .into();
    let designs = listed.lines().filter_map(|line| line.split_whitespace().next());
    forms.extend(designs.map(|design| format!("trap --kernel {design} --iterations 2")));
    forms.push(format!("run --profile {profiled}"));
    for form in forms {
        for locale in ["C", "C.UTF-8"] {
            let store = TempDir::new().expect("a temporary folder");
            let called = |arguments: &[&str]| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
                command.args(arguments).env("XDG_DATA_HOME", store.path()).env("LC_ALL", locale);
                let output = command.output().expect("tollgate starts");
                assert_eq!(output.status.code(), Some(0), "{form}: {}", text(&output.stderr));
                text(&output.stdout)
            };
            let arguments: Vec<&str> = ["riscv"].into_iter().chain(form.split(' ')).collect();
            let printed = called(&arguments);
            let shown = called(&["show", "latest"]);
            // A program's own output comes before its profile.
            let own =
                printed.strip_suffix(&shown).unwrap_or_else(|| panic!("{form}:\n{printed}\n---\n{shown}"));
            assert_eq!(own, if form.starts_with("run ") { "96\n96\n96\n" } else { "" }, "{form}");
            for line in shown.lines() {
                assert!(line.chars().count() <= 80 && !line.ends_with(' '), "{form}: {line:?}");
            }
            if form.starts_with("pipeline") {
                for format in ["svg", "kanata", "o3pipeview"] {
                    let exported = called(&["export", "latest", "--format", format]);
                    let again = [&arguments[..], &["--no-save", "--format", format]].concat();
                    assert_eq!(called(&again), exported, "{form}: {format}");
                }
            }
        }
    }
}

/// A profile is a record like any other: with `--json` it is all that standard output has.
#[test]
fn a_profile_is_a_record() {
    let image = image("enhanced_ctx_switch-asm");
    let output = tollgate(&["run", "--profile", "--json", "--no-save", &image]);
    let run: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert!(text(&output.stderr).starts_with("96\n96\n96\n"), "the program's own output");
    let result = &run["results"][0];
    let calls = result["found"]["calls"].as_array().expect("calls");
    let getpid = calls.iter().find(|call| call["number"] == 172).expect("getpid");
    assert_eq!((&getpid["count"], &getpid["phases"]["register-save"]), (&1000.into(), &37_000.into()));
    let functions = result["found"]["functions"].as_array().expect("functions");
    let sum: u64 = functions.iter().filter_map(|function| function["instructions"].as_u64()).sum();
    assert_eq!(result["counters"]["instructions"], sum as f64);
    // Without a profile there is no record.
    let output = tollgate(&["run", "--json", &image]);
    assert_eq!(output.status.code(), Some(125), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("add --profile"), "{}", text(&output.stderr));
}
