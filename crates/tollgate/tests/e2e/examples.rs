//! Every example of every help text is run.
//!
//! The examples come from the command line's own description (`tollgate examples`), so a new command without one
//! fails here. Each runs once, by a shell, in a directory that holds the files that examples name, with a store
//! that holds one run. So that they take seconds and not minutes, a fixed rule shortens them:
//!
//! - a command that has `--budget-ms` gets `--budget-ms 60`, and `--quick` when it chose no effort itself, and of each
//!   list of options (`--procs 2,8,32`) the first;
//! - a program that `exec` runs is an empty script; the process that it counts is this test, for a moment;
//! - simulated traps of all kernels are repeated 20 times;
//! - where memory is limited (`--memory-limit`), sizes are a sixteenth: `1G` is run as `64M`;
//! - the path holds what examples call and no compiler of other runtimes, whose rows are then skipped;
//! - simulations that take long here are left out in `--fast` tests.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use tollgate_record::{Host, Measurement, Per, Run, Status, Store, Tool, document};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");

/// What examples call, beside the program itself.
const CALLED: [&str; 10] = [
    "sh",
    "ln",
    "ls",
    "cat",
    "env",
    "true",
    "setarch",
    "python3",
    "riscv64-unknown-elf-gcc",
    "riscv64-linux-gnu-gcc",
];

/// An example that has this in it needs that program.
const NEEDS: [(&str, &str, &str); 4] = [
    ("--probe futex.c", "riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu"),
    ("setarch", "setarch", "util-linux"),
    ("program.c", "riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf"),
    ("--program ./mine", "python3", "python3"),
];

fn commands() -> Vec<Value> {
    let output = Command::new(PROGRAM).arg("examples").output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_command_has_an_example_of_itself() {
    let commands = commands();
    assert!(commands.len() >= 20, "{} commands", commands.len());
    for command in &commands {
        let (path, examples) = (command["command"].as_str().unwrap(), strings(&command["examples"]));
        assert!(!examples.is_empty(), "tollgate {path} has no example");
        let own =
            examples.iter().any(|line| line.contains(&format!("tollgate {path}").trim_end().to_owned()));
        assert!(own, "no example of tollgate {path} calls it: {examples:?}");
    }
}

/// Two at a time, each in a directory of its own. Those of one command run one after the other, because they may use each
/// other's files.
#[test]
fn every_example_runs() {
    let commands = commands();
    let mut done = BTreeSet::new();
    let mut examples = |command: &Value| {
        let all = strings(&command["examples"]).into_iter();
        all.filter(|example| done.insert(example.clone())).collect::<Vec<_>>()
    };
    let mut halves = [Vec::new(), Vec::new()];
    for (number, command) in commands.iter().enumerate() {
        halves[number % 2].extend(examples(command));
    }
    let run_all = |examples: Vec<String>| {
        let dir = tempfile::tempdir().unwrap();
        furnish(dir.path());
        let mut failed = Vec::new();
        for example in examples {
            let called = called(&example, &commands);
            let (path, options) = (called["command"].as_str().unwrap(), strings(&called["options"]));
            if let Some((_, program, package)) = NEEDS.iter().find(|(word, program, _)| {
                example.contains(word) && tollgate_testkit::program(program).is_none()
            }) {
                tollgate_testkit::skip_case!(&example, "{program} is missing: apt-get install {package}");
                continue;
            }
            if tollgate_testkit::fast() && example.contains("--kernel all") {
                continue;
            }
            let line = shortened(&example, path, &options);
            if let Err(why) = run(dir.path(), &line) {
                let needs_processes = line.contains("--pid") && why.contains("cannot count a process");
                // Only a real kernel has symbols; the one here is a few instructions.
                let needs_kernel = (line.contains("riscv bill") || line.contains("riscv exec"))
                    && ["no symbols in the image", "image.snap", "ready.snap", "debian/: No such"]
                        .iter()
                        .any(|missing| why.contains(missing));
                if needs_processes || needs_kernel {
                    tollgate_testkit::skip_case!(&example, "{why}");
                    continue;
                }
                failed.push(format!("{example}\n  run as {line}\n  {why}"));
            }
        }
        failed
    };
    let failed: Vec<String> = std::thread::scope(|scope| {
        let halves = halves.map(|half| scope.spawn(|| run_all(half)));
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    assert!(failed.is_empty(), "{} examples failed:\n{}", failed.len(), failed.join("\n"));
}

/// The command that an example calls, which may be another one than that whose help it is in: the one with the
/// longest name that the line has.
fn called<'a>(example: &str, commands: &'a [Value]) -> &'a Value {
    let line = format!("{example} ");
    let is_called = |command: &&Value| {
        let path = command["command"].as_str().unwrap();
        path.is_empty() || line.contains(&format!("tollgate {path} "))
    };
    commands
        .iter()
        .filter(is_called)
        .max_by_key(|command| command["command"].as_str().unwrap().len())
        .unwrap()
}

/// The example with the least effort that still runs all of it.
fn shortened(example: &str, path: &str, options: &[String]) -> String {
    let has = |option: &str| options.iter().any(|one| one == option);
    let ends = [" > ", " >> ", " 2> ", " | ", " && "].iter().filter_map(|end| example.find(end)).min();
    // A line that begins with another program runs unchanged.
    let own = example.split(' ').find(|word| !word.contains('=')) == Some("tollgate");
    if !own {
        return example.to_owned();
    }
    if example.starts_with("tollgate lab serve") {
        // It serves until it is ended, and says where as soon as it does.
        let folder = if example.ends_with("page") { "" } else { " page" };
        let ends = "while ! read -r line < served; do :; done; kill -TERM $server; wait $server";
        return format!(": > served; {example}{folder} > served & server=$!; {ends}");
    }
    let (call, rest) = example.split_at(ends.unwrap_or(example.len()));
    let mut call = call.replace("--pid 1234 --for 10s", &format!("--pid {} --for 100ms", std::process::id()));
    call = call.replace("'./old' --fail-above 3% -- ./new", "true --at-most 1s --fail-above 1000% -- true");
    if call.contains("--kernel all") {
        call.push_str(" --iterations 20");
    }
    if has("memory-limit") {
        call = call.split(' ').map(smaller).collect::<Vec<_>>().join(" ");
    }
    if has("budget-ms") {
        let first = |word: &str| word.split(',').next().unwrap_or(word).to_owned();
        call = call.split(' ').map(first).collect::<Vec<_>>().join(" ");
        let mut effort = " --budget-ms 60".to_owned();
        if has("quick") && !call.contains("--quick") && !call.contains("--thorough") {
            effort.push_str(" --quick");
        }
        // Right behind the command: what comes after its arguments may be taken for one of them.
        let path = format!("tollgate {path}");
        let place = call.find(path.trim_end()).map_or(0, |place| place + path.trim_end().len());
        call.insert_str(place, &effort);
    }
    call + rest
}

/// A word of sizes, each a sixteenth: `256M,1G` becomes `16M,64M`. Other words stay.
fn smaller(word: &str) -> String {
    let size = |part: &str| -> Option<String> {
        let (digits, factor) = match (part.strip_suffix('G'), part.strip_suffix('M')) {
            (Some(digits), _) => (digits, 64),
            (_, Some(digits)) => (digits, 1),
            _ => return None,
        };
        let number: u64 = digits.parse().ok()?;
        Some(format!("{}M", if factor == 64 { number * 64 } else { number / 16 }))
    };
    let sizes: Option<Vec<String>> = word.split(',').map(size).collect();
    sizes.map_or_else(|| word.to_owned(), |sizes| sizes.join(","))
}

fn run(dir: &Path, line: &str) -> Result<(), String> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).current_dir(dir).stdin(Stdio::null()).env_clear();
    command.env("PATH", dir.join("bin")).env("HOME", dir).env("LANG", "C.UTF-8").env("TMPDIR", "/var/tmp");
    // Where the programs of other runtimes are built, when any is.
    command.env("XDG_DATA_HOME", dir.join("data")).env("XDG_CACHE_HOME", dir.join("cache"));
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
}

/// The directory in which examples run: the program, the files that they name, a store with a run.
fn furnish(dir: &Path) {
    fs::create_dir(dir.join("bin")).unwrap();
    for name in CALLED {
        // The system's own first: a program that only chooses among versions calls others.
        let path = tollgate_testkit::program_in("/usr/bin:/bin".as_ref(), name);
        if let Some(path) = path.or_else(|| tollgate_testkit::program(name)) {
            symlink(path, dir.join("bin").join(name)).unwrap();
        }
    }
    symlink(PROGRAM, dir.join("bin/tollgate")).unwrap();
    symlink(PROGRAM, dir.join("tollgate")).unwrap();
    // What it is compared with: another build would do.
    symlink(PROGRAM, dir.join("tollgate-before")).unwrap();

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let images = root.join("guests/riscv/images");
    for (name, image) in [
        ("program.elf", "full.elf"),
        ("one.elf", "icache-rv32im-O2.elf"),
        ("other.elf", "icache-rv32imc-O2.elf"),
        ("hello", "ctx_switch-linux.elf"),
        ("hello-static", "ctx_switch-linux.elf"),
    ] {
        fs::copy(images.join(image), dir.join(name)).unwrap();
    }
    fs::write(
        dir.join("program.c"),
        "int main(void) { int sum = 0; for (int i = 0; i < 100; i++) sum += i; return sum == 0; }\n",
    )
    .unwrap();
    fs::write(dir.join("hello.s"), "_start: li a7, 93\n li a0, 0\n ecall\n").unwrap();
    fs::write(dir.join("futex.c"), "#include <crossing.h>\nint main(void) { CROSSING_BEGINS(1); }\n")
        .unwrap();
    for folder in ["xv6/kernel", "sel4"] {
        fs::create_dir_all(dir.join(folder)).unwrap();
    }
    for name in ["Image", "Image.old", "xv6/kernel/kernel", "sel4/kernel.elf"] {
        fs::write(dir.join(name), kernel_that_powers_off()).unwrap();
    }
    fs::write(dir.join("System.map"), "0000000080200000 T _start\n").unwrap();
    for name in ["initrd.cpio", "xv6/fs.img"] {
        fs::write(dir.join(name), [0; 1024]).unwrap();
    }
    let page = fs::read_to_string(root.join("docs/howto/own-runtime.md")).unwrap();
    let mine = page.split_once("```python\n").unwrap().1.split_once("```").unwrap().0;
    let nothing = "#!/bin/sh\n";
    for (name, text) in [("mine", mine), ("server", nothing), ("bin/git", nothing), ("bin/make", nothing)] {
        fs::write(dir.join(name), text).unwrap();
        fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir(dir.join("records")).unwrap();
    fs::copy(root.join("crates/report/tests/runs/ladder.json"), dir.join("records/host.json")).unwrap();
    // As large as the largest scan of it, and without blocks of its own.
    fs::File::create(dir.join("big.img")).unwrap().set_len(1280 << 20).unwrap();

    let imports = root.join("crates/report/tests/imports");
    for (name, file) in [
        ("lmbench.txt", "lmbench-raw.txt"),
        ("matrix.csv", "core-to-core.csv"),
        ("hyperfine.json", "hyperfine.json"),
    ] {
        fs::copy(imports.join(file), dir.join(name)).unwrap();
    }
    fs::write(dir.join("pipe.txt"), "2.740\n").unwrap();
    furnish_lab(dir, &root);

    // The later one is the latest whatever else the examples save.
    let (before, after) = (record("01M7WS4P00E5P6ZQ2M8RWTX9CD"), record("29991231T000000Z-5d20b7"));
    let file = |name: &str, of: &Run| fs::write(dir.join(name), document::to_json(of).unwrap()).unwrap();
    file("run.json", &before);
    for (side, place, of) in [("before", "base", &before), ("after", "new", &after)] {
        fs::create_dir(dir.join(side)).unwrap();
        for name in [format!("{side}/run.json"), format!("{place}.json"), format!("{side}.json")] {
            file(&name, of);
        }
        Store::open(dir.join("data/tollgate")).unwrap().save(of).unwrap();
    }
}

/// A solution, an exercise, a page, and a program for another computer.
fn furnish_lab(dir: &Path, root: &Path) {
    let lab = root.join("crates/lab");
    let reference = fs::read_to_string(lab.join("tests/exercises/count/reference.s")).unwrap();
    let solution = tollgate_lab::exercise::Exercise::find("count").unwrap().fill(7, &reference).unwrap();
    fs::write(dir.join("solution.s"), format!("# tollgate lab: count, seed 7\n{solution}")).unwrap();
    fs::copy(lab.join("src/exercise/files/count.toml"), dir.join("my-exercise.toml")).unwrap();
    fs::create_dir(dir.join("page")).unwrap();
    fs::write(dir.join("page/index.html"), "<!DOCTYPE html><html><head></head></html>\n").unwrap();
    fs::write(dir.join("tollgate-static"), "").unwrap();
}

/// A kernel in the format of Linux's `Image` (Documentation/arch/riscv/boot-image-header.rst) that prints a prompt and powers
/// the machine off by its test device.
fn kernel_that_powers_off() -> Vec<u8> {
    let mut image =
        [0x0400_006f, 0, 0x20_0000, 0, 0x1000, 0, 0, 0, 2, 0, 0, 0].map(u32::to_le_bytes).concat();
    image.extend(b"RISCV\0\0\0RSC\x05\0\0\0\0");
    // lui t2, 0x10000; li t3, '#'; sb t3, 0(t2); li t3, ' '; sb t3, 0(t2)
    image.extend(
        [0x1000_03b7_u32, 0x0230_0e13, 0x01c3_8023, 0x0200_0e13, 0x01c3_8023].map(u32::to_le_bytes).concat(),
    );
    // lui t0, 0x100; lui t1, 0x5; addi t1, t1, 0x555; sw t1, 0(t0); j .
    image.extend([0x0010_02b7_u32, 0x5337, 0x5553_0313, 0x0062_a023, 0x6f].map(u32::to_le_bytes).concat());
    image
}

/// A run with one figure.
fn record(id: &str) -> Run {
    let mut row = Measurement::empty("syscall/getppid", "host", Per::Syscall, Status::Measured);
    let e = tollgate_record::Estimate {
        estimate: 101.2,
        ci: [100.6, 101.8],
        min: 100.1,
        p10: 100.4,
        p50: 101.2,
        p90: 103.0,
        p99: 110.0,
        mean: 101.9,
    };
    row.ns = Some(e);
    Run {
        complete: true,
        results: vec![row],
        ..Run::begin(
            id.into(),
            "2026-11-20T15:28:00Z".into(),
            Tool { version: "0.1.0".into(), commit: "unknown".into() },
            vec!["--quick".into()],
            Host { name: "testbed".into(), ..Host::default() },
            42,
        )
    }
}

#[test]
fn the_rule_that_shortens() {
    let options = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    let sampling = options(&["quick", "budget-ms"]);
    for (example, path, options, short) in [
        ("tollgate run x > y", "run", &sampling, "tollgate run --budget-ms 60 --quick x > y"),
        ("tollgate --quick", "", &sampling, "tollgate --budget-ms 60 --quick"),
        ("tollgate ring --procs 2,8", "ring", &sampling, "tollgate ring --budget-ms 60 --quick --procs 2"),
        ("ln -s tollgate x && ./x -s 0 2", "", &sampling, "ln -s tollgate x && ./x -s 0 2"),
        ("tollgate list", "list", &options(&["why"]), "tollgate list"),
        (
            "tollgate riscv trap --kernel all",
            "riscv trap",
            &vec![],
            "tollgate riscv trap --kernel all --iterations 20",
        ),
        (
            "tollgate fault scan 256M,1G",
            "fault scan",
            &options(&["memory-limit"]),
            "tollgate fault scan 16M,64M",
        ),
    ] {
        assert_eq!(shortened(example, path, options), short);
    }
}

/// The workflow of `docs/howto`: it is YAML of the shape that GitHub takes, and the steps that call the program run,
/// one after the other, in one place.
#[test]
fn the_workflow_of_the_page_runs() {
    let workflow: Value =
        serde_saphyr::from_str(include_str!("../../../../docs/howto/tollgate.yml")).expect("YAML");
    assert!(workflow["name"].is_string() && workflow["on"].is_object());
    let steps = workflow["jobs"]["measure"]["steps"].as_array().expect("a list of steps");
    for step in steps {
        assert!(step["uses"].is_string() != step["run"].is_string(), "a step uses or runs: {step}");
    }
    let dir = tempfile::tempdir().unwrap();
    furnish(dir.path());
    let bin = dir.path().join("bin");
    for name in ["mkdir", "rm", "mv"] {
        symlink(tollgate_testkit::program(name).unwrap(), bin.join(name)).unwrap();
    }
    // The rule of the examples, as the shell sees it.
    fs::remove_file(bin.join("tollgate")).unwrap();
    let short = format!(
        "#!/bin/sh\ncase $1 in run) set -- \"$@\" --quick --budget-ms 60;; esac\nexec {PROGRAM} \"$@\"\n"
    );
    fs::write(bin.join("tollgate"), short).unwrap();
    fs::set_permissions(bin.join("tollgate"), fs::Permissions::from_mode(0o755)).unwrap();
    let compares = commands().iter().any(|command| command["command"] == "compare");
    let mut called = 0;
    // The second time there is a base line.
    for round in 1..=2 {
        for script in
            steps.iter().filter_map(|step| step["run"].as_str()).filter(|script| !script.contains("cargo "))
        {
            if script.contains("tollgate compare") && round == 2 && !compares {
                tollgate_testkit::skip_case!("tollgate compare", "this build has no such command");
                continue;
            }
            called += script.matches("tollgate ").count();
            // Two runs of a few milliseconds on a machine that does other things as well may differ by any amount: `thread/yield`
            // gives a whole time slice away where another task waits.
            let script = script.replace("--fail-above 5%", "--fail-above 5% || [ $? = 1 ]");
            let script = format!("set -e\nGITHUB_STEP_SUMMARY=summary.md\n{script}");
            run(dir.path(), &script).unwrap_or_else(|why| panic!("round {round}: {script}\n{why}"));
        }
    }
    assert!(called >= 8, "{called} calls");
    assert!(fs::read_to_string(dir.path().join("summary.md")).unwrap().contains("| probe |"));
    assert!(
        fs::read_to_string(dir.path().join("bench.txt"))
            .unwrap()
            .matches("BenchmarkSyscall/getppid ")
            .count()
            == 3
    );
}
