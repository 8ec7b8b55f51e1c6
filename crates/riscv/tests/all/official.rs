//! The official riscv-tests, if they are installed: `TOLLGATE_RISCV_TESTS` names the folder that
//! holds `rv64ui-p-add` and the others. Every program must pass on both engines.

#![allow(clippy::print_stderr)]
use std::path::Path;

use tollgate_riscv::{Config, Elf, Machine, Stop};

const SUITES: [&str; 8] = ["ui", "um", "ua", "uf", "ud", "uc", "mi", "si"];

fn verdict(path: &Path, name: &str, reference: bool) -> Result<u64, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let elf = Elf::parse(&bytes).map_err(|e| e.to_string())?;
    let isa = if name.starts_with("rv32") { "rv32gc" } else { "rv64gc" };
    let isa = isa.parse().map_err(|e: tollgate_riscv::IsaError| e.to_string())?;
    // As the machine of `tollgate riscv run` (crates/lab/tests/all/official.rs runs that itself); one program expects misaligned accesses to work, and is run with
    // `--misaligned`, as for Spike.
    let misaligned = name.contains("-ma_data");
    let config = Config { isa, misaligned, ..Config::default() };
    let mut machine = Machine::new(config).map_err(|e| e.to_string())?;
    machine.load(&elf).map_err(|e| e.to_string())?;
    let stop =
        if reference { machine.run_reference(20_000_000, &mut ()) } else { machine.run(20_000_000, &mut ()) };
    match stop {
        Stop::Exit { code: 0 } => Ok(machine.instret()),
        other => Err(format!("{other:?} at pc {:#x}", machine.pc())),
    }
}

#[test]
fn official_tests_pass() {
    let Some(folder) = std::env::var_os("TOLLGATE_RISCV_TESTS") else {
        eprintln!("skipped: TOLLGATE_RISCV_TESTS does not name a folder with built riscv-tests");
        return;
    };
    let mut failures = Vec::new();
    let mut passed = 0;
    let mut entries: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let wanted = !name.contains('.')
            && ["rv32", "rv64"].iter().any(|w| {
                name.strip_prefix(w).is_some_and(|rest| {
                    SUITES.iter().any(|s| {
                        rest.strip_prefix(s).is_some_and(|r| r.starts_with("-p-") || r.starts_with("-v-"))
                    })
                })
            });
        if !wanted {
            continue;
        }
        let results = [true, false].map(|reference| verdict(&path, &name, reference));
        match &results {
            [Ok(a), Ok(b)] if a == b => passed += 1,
            _ => failures.push(format!("{name}: reference {:?}, blocks {:?}", results[0], results[1])),
        }
    }
    eprintln!("{passed} passed, {} failed", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(passed > 0, "no test programs in {}", folder.to_string_lossy());
}
