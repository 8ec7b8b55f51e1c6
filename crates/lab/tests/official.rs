//! The official riscv-tests on the machine that the command line gives: `TOLLGATE_RISCV_TESTS` names the folder that holds
//! `rv64ui-p-add` and the others.

use std::path::Path;
use std::{env, fs};

use tollgate_lab::plan::{ProgramPlan, ProgramRequest, WatchRequest};
use tollgate_lab::program::{self, Ending};

#[derive(clap::Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    program: ProgramRequest,
    #[command(flatten)]
    watch: WatchRequest,
}

const SUITES: [&str; 8] = ["ui", "um", "ua", "uf", "ud", "uc", "mi", "si"];

/// As `rv64ui-p-add`: of these suites, with physical or virtual addresses.
fn is_a_test(name: &str) -> bool {
    let rest = name.strip_prefix("rv32").or_else(|| name.strip_prefix("rv64"));
    rest.and_then(|rest| rest.split_once('-')).is_some_and(|(suite, rest)| {
        SUITES.contains(&suite) && (rest.starts_with("p-") || rest.starts_with("v-")) && !rest.contains('.')
    })
}

fn ending(path: &Path, name: &str) -> String {
    let mut words = vec![path.to_str().unwrap(), "--max-instructions", "20000000"];
    if name.starts_with("rv32") {
        words.extend(["--isa", "rv32gc"]);
    }
    // One program expects misaligned accesses to work; for Spike it needs the same option.
    if name.contains("-ma_data") {
        words.push("--misaligned");
    }
    let Line { program, watch } = <Line as clap::Parser>::parse_from(words);
    let plan = ProgramPlan::new(&program, &watch).unwrap();
    let watched = program.watch(&watch).unwrap();
    let [mut console, mut trace] = [Vec::new(), Vec::new()];
    match program::run(&plan.job, watched, &mut std::io::empty(), &mut console, &mut trace) {
        Ok(outcome) if outcome.ending == Ending::Exited(0) => String::new(),
        Ok(outcome) => format!("{name}: {:?}", outcome.ending),
        Err(error) => format!("{name}: {error}"),
    }
}

#[test]
fn official_tests_pass_by_the_command_line() {
    let Some(folder) = env::var_os("TOLLGATE_RISCV_TESTS") else {
        return tollgate_testkit::skip!("TOLLGATE_RISCV_TESTS does not name a folder with built riscv-tests");
    };
    let (mut run, mut failed) = (0, Vec::new());
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if is_a_test(&name) {
            run += 1;
            failed.push(ending(&path, &name));
        }
    }
    failed.retain(|failure| !failure.is_empty());
    assert!(failed.is_empty(), "{} of {run}:\n{}", failed.len(), failed.join("\n"));
    assert!(run > 0, "no test programs in {}", folder.display());
}
