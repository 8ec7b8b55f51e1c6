//! The official tests on the machine of `tollgate riscv run`. `TOLLGATE_RISCV_TESTS` names the folder that holds
//! `rv64ui-p-add` and the others of riscv-tests. `TOLLGATE_ARCH_TESTS` names a folder with built tests of riscv-arch-test,
//! `NAME.elf`, and beside each its signature by Spike, `NAME.signature`:
//! `spike --isa=ISA +signature=NAME.signature +signature-granularity=4 NAME.elf`, with the [`ISA`] of its width.

use std::path::Path;
use std::{env, fs};

use tollgate_lab::program::{self, Ending, Job, Outcome, ProgramError, Watch};
use tollgate_riscv::{Elf, Extension, Isa, Xlen};

/// The ISA of Spike and of this machine in riscv-arch-test and the suites of small extensions, without `rv32` or `rv64` in front.
const ISA: &str = "gc_zicbom_zicboz_zicond_zimop_zabha_zacas_zfa_zfh_zcb_zcmop_zba_zbb_zbc_zbkb_zbkx_zbs";

const SUITES: [&str; 8] = ["ui", "um", "ua", "uf", "ud", "uc", "mi", "si"];
/// Of small extensions.
const SMALL: [&str; 11] =
    ["uzba", "uzbb", "uzbc", "uzbkb", "uzbkx", "uzbs", "uzfh", "uziccid", "uzicond", "mzicbo", "ssvnapot"];

/// As `rv64ui-p-add`: of these suites, with physical or virtual addresses.
fn is_a_test(name: &str) -> bool {
    let rest = name.strip_prefix("rv32").or_else(|| name.strip_prefix("rv64"));
    rest.and_then(|rest| rest.split_once('-')).is_some_and(|(suite, rest)| {
        (SUITES.contains(&suite) || SMALL.contains(&suite))
            && (rest.starts_with("p-") || rest.starts_with("v-"))
            && !rest.contains('.')
    })
}

fn ending(path: &Path, name: &str) -> String {
    let (width, rest) = name.split_at(4);
    let isa = if SMALL.iter().any(|suite| rest.starts_with(suite)) { ISA } else { "gc" };
    let isa: Isa =
        format!("{width}{isa}{}", if rest.starts_with("ssv") { "_svnapot" } else { "" }).parse().unwrap();
    // One program expects misaligned accesses to work; for Spike it needs the same option.
    let isa = if name.contains("-ma_data") { isa.with(Extension::Zicclsm) } else { isa };
    match outcome(path, isa, None) {
        Ok(outcome) if outcome.ending == Ending::Exited(0) => String::new(),
        Ok(outcome) => format!("{name}: {:?}", outcome.ending),
        Err(error) => format!("{name}: {error}"),
    }
}

/// How a program runs, and with bytes in a line its signature.
fn outcome(path: &Path, isa: Isa, signature: Option<usize>) -> Result<Outcome, ProgramError> {
    let (program, max_instructions) = (fs::read(path).unwrap(), 20_000_000);
    let job = Job {
        isa,
        ram_bytes: 128 << 20,
        program: program.into(),
        max_instructions,
        signature,
        ..Job::default()
    };
    let [mut console, mut trace] = [Vec::new(), Vec::new()];
    program::run(&job, Watch::Nothing, &mut std::io::empty(), &mut console, &mut trace, &|| false)
}

#[test]
fn official_tests_pass() {
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

/// Each test of riscv-arch-test ends by its own halt, with Spike's signature.
#[test]
fn architecture_tests_have_the_signatures_of_spike() {
    let Some(folder) = env::var_os("TOLLGATE_ARCH_TESTS") else {
        return tollgate_testkit::skip!(
            "TOLLGATE_ARCH_TESTS does not name a folder with built tests of riscv-arch-test and their signatures"
        );
    };
    let (mut run, mut failed) = (0, Vec::new());
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(expected) = fs::read_to_string(path.with_extension("signature")) else { continue };
        if path.extension().is_none_or(|end| end != "elf") {
            continue;
        }
        run += 1;
        let width = match Elf::parse(&fs::read(&path).unwrap()).unwrap().xlen {
            Xlen::Rv32 => "rv32",
            Xlen::Rv64 => "rv64",
        };
        let name = path.to_str().unwrap();
        match outcome(&path, format!("{width}{ISA}").parse().unwrap(), Some(4)) {
            Ok(outcome) if outcome.ending != Ending::Exited(0) => {
                failed.push(format!("{name}: {:?}", outcome.ending));
            }
            Ok(outcome) if outcome.signature.as_deref() == Some(&expected) => {}
            Ok(_) => failed.push(format!("{name}: another signature")),
            Err(error) => failed.push(format!("{name}: {error}")),
        }
    }
    assert!(failed.is_empty(), "{} of {run}:\n{}", failed.len(), failed.join("\n"));
    assert!(run > 0, "no test with its signature in {}", folder.display());
}
