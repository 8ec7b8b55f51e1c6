//! One view for each record: whatever a command prints, `tollgate show` prints from the saved record, byte for byte.
//!
//! Two commands print something other than the view of their record: `lat_ctx` prints lmbench's lines on standard error,
//! and `run --against` prints a comparison of two records. The standard output of `exec` is its command's, so it prints to
//! a file here.

use std::path::Path;
use std::process::{Command, Output};

/// Command lines, split at blanks. `{dir}` is a directory with the files of [`prepare`].
const COMMANDS: &[&str] = &[
    "run null syscall/getppid process/pipe --quick --budget-ms 300",
    "run null --quick --budget-ms 200 --seed 1 --clock os",
    "ring --procs 2 --size 0,16K --medium futex --tasks thread --quick",
    "fault kinds --quick --budget-ms 300",
    "fault scan --size 1M,2M",
    "crossing --quick --budget-ms 300",
    "switch thread 2 1000 --quick",
    "exec --price none --count none --out {dir}/printed -- true",
    "exec --price now --count ptrace --out {dir}/printed -- true",
    "import {dir}/lmbench.txt",
    "import {dir}/hyperfine.json",
    "riscv trap --kernel all --core rocket --iterations 10",
    "riscv trap --core cva6",
    "riscv trap --workload compute --every 1000 --set 4 --kernel-touch 0,16 --traps 4",
    "riscv trap",
    "riscv trap --kernel all --iterations 10",
    "riscv trap --engine all --iterations 10",
    "riscv icache --sweep",
    "riscv icache --opt-level 1 --icache 4:1:8 --count cycle",
    "riscv run --core ibex --top 3 --out {dir}/printed {dir}/program.elf",
    "riscv run --core cva6 --out {dir}/printed {dir}/program.elf",
    "riscv validate --core picorv32",
    "riscv pipeline",
    "riscv pipeline --around interrupt",
    "riscv pipeline --around branch --count 12",
];

fn prepare(dir: &Path) {
    std::fs::write(dir.join("lmbench.txt"), "Simple syscall: 0.1234 microseconds\n").unwrap();
    let hyperfine = r#"{"results": [{"command": "true", "mean": 0.001, "stddev": 0.0001, "median": 0.001,
        "user": 0.0, "system": 0.0, "min": 0.0009, "max": 0.0011, "times": [0.0009, 0.001, 0.0011], "exit_codes": [0, 0, 0]}]}"#;
    std::fs::write(dir.join("hyperfine.json"), hyperfine).unwrap();
    let image = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/ctx_switch.elf");
    std::fs::copy(image, dir.join("program.elf")).unwrap();
}

fn tollgate(args: &str, dir: &Path) -> Output {
    let dir = dir.to_str().unwrap();
    Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(args.split_whitespace().map(|word| word.replace("{dir}", dir)))
        .env("LANG", "C.UTF-8")
        .env_remove("LC_ALL")
        .output()
        .unwrap()
}

#[test]
fn what_a_command_prints_is_what_show_prints() {
    let mut wrong = Vec::new();
    for args in COMMANDS {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path());
        // What follows `--` belongs to the command of exec.
        let (options, command) = args.find(" -- ").map_or((*args, ""), |at| args.split_at(at));
        let printed = tollgate(&format!("{options} --store {{dir}}/store{command}"), dir.path());
        let shown = tollgate("show latest --store {dir}/store", dir.path());
        let printed_text = std::fs::read(dir.path().join("printed")).unwrap_or(printed.stdout.clone());
        let same = printed_text == shown.stdout && !printed_text.is_empty() && shown.status.success();
        if !same {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (printed, shown) = ((text(&printed.stdout), text(&printed.stderr)), text(&shown.stdout));
            eprintln!("tollgate {args}\n{}\n{}\n--- show\n{shown}", printed.0, printed.1);
            wrong.push(*args);
        }
    }
    assert!(wrong.is_empty(), "{} of {} commands: {wrong:#?}", wrong.len(), COMMANDS.len());
}

#[test]
fn a_run_whose_only_row_failed_is_shown_as_it_was_printed() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("lmbench.txt"), "Simple syscall: inf microseconds\n").unwrap();
    let printed = tollgate("import {dir}/lmbench.txt --store {dir}/store", dir.path());
    assert_eq!(printed.status.code(), Some(1), "a figure that is not finite has failed");
    let shown = tollgate("show latest --store {dir}/store", dir.path());
    assert_eq!(printed.stdout, shown.stdout);
}

/// Records that published versions wrote, one of each kind (docs/reference/versions.md): they are read as long as their schema is.
#[test]
fn records_of_published_versions_are_read_without_loss() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records");
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for version in std::fs::read_dir(kept).unwrap() {
        for file in std::fs::read_dir(version.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let call = |options: &str| tollgate(&format!("show {} {options}", path.display()), dir.path());
            let document = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).ok();
            let same = document(&call("--json").stdout) == document(&std::fs::read(&path).unwrap());
            let text = call("");
            if !same || !text.status.success() || text.stdout.is_empty() {
                eprintln!("{}: same {same}: {}", path.display(), String::from_utf8_lossy(&text.stderr));
                wrong.push(path);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
