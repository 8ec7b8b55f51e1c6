//! Running the cases on one program, and what came of each.

use super::cases::{CASES, Case};
use super::rows::Rows;
use super::target::Target;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A case may take so long; the longest needs a third of it on a busy machine.
const SECONDS: &str = "180";

/// Runs a target's programs here, as they are or by an emulator.
pub(super) struct Runner {
    pub(super) target: &'static Target,
    emulator: Option<&'static str>,
}

/// What the program of this machine's own architecture prints, by case.
pub(super) type Here = BTreeMap<&'static str, String>;

impl Runner {
    /// `Err` is the sentence that says which emulator is missing.
    pub(super) fn new(target: &'static Target) -> Result<Self, String> {
        Ok(Self { target, emulator: target.emulator()? })
    }

    /// A call of a program, still without arguments. It has a folder for what it writes, and so much time.
    pub(super) fn command(&self, program: &Path, scratch: &Path) -> Command {
        // In a process group of its own with all that it starts, which is ended when it takes too long.
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", SECONDS]);
        if let Some(emulator) = self.emulator {
            command.arg(emulator).env("TOLLGATE_EMULATOR", emulator);
        }
        command.arg(program).env("LC_ALL", "C");
        for variable in ["XDG_DATA_HOME", "XDG_CACHE_HOME", "TMPDIR"] {
            command.env(variable, scratch);
        }
        command
    }

    /// What the program prints when it is called so.
    fn output(&self, program: &Path, args: &[String], scratch: &Path) -> Result<String> {
        let output = self
            .command(program, scratch)
            .args(args)
            .output()
            .context("timeout (coreutils) could not be started")?;
        let error = String::from_utf8_lossy(&output.stderr);
        let last = error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        match output.status.code() {
            Some(0) => {}
            // Rows that failed are found in the record.
            Some(1) if !output.stdout.is_empty() => {}
            Some(124 | 137) => bail!("it took longer than {SECONDS} s and was ended"),
            _ => bail!("it ended with {}: {last}", output.status),
        }
        String::from_utf8(output.stdout).context("it printed what is not text")
    }

    /// Tries one case; gives its rows, where it has any.
    fn case(&self, program: &Path, case: &Case, scratch: &Path, here: &mut Here) -> Result<Option<Rows>> {
        let store = scratch.join("store");
        let stdout = self.output(program, &case.args(&store.to_string_lossy()), scratch)?;
        if self.target.is_native() {
            here.insert(case.name, stdout.clone());
        }
        case.judge(&stdout, here.get(case.name).map(String::as_str))
    }

    /// Tries every case; gives the rows of those that have any, and a sentence for each that went wrong.
    pub(super) fn cases(
        &self,
        program: &Path,
        here: &mut Here,
    ) -> Result<(BTreeMap<&'static str, Rows>, Vec<String>)> {
        let scratch = tempfile::tempdir().context("a folder for runs")?;
        let (mut rows, mut wrong) = (BTreeMap::new(), Vec::new());
        for case in CASES {
            let begun = std::time::Instant::now();
            match self.case(program, case, scratch.path(), here) {
                Ok(found) => rows.extend(found.map(|found| (case.name, found))),
                Err(error) => wrong.push(format!("{} [{}]: {error:#}", case.name, self.target.arch)),
            }
            println!("  {:<8} {:<22} {:5.1} s", self.target.arch, case.name, begun.elapsed().as_secs_f64());
        }
        Ok((rows, wrong))
    }
}

/// The program needs no other file: it names no interpreter (`PT_INTERP`), as the System V ABI has it of programs
/// that are linked dynamically.
///
/// # Errors
/// When it does, or is no 64-bit ELF file.
pub(crate) fn is_static(program: &Path) -> Result<()> {
    let bytes = fs::read(program).with_context(|| program.display().to_string())?;
    ensure!(!has_interpreter(&bytes)?, "{} is linked dynamically", program.display());
    Ok(())
}

/// Whether a program header of a little-endian 64-bit ELF file is PT_INTERP.
fn has_interpreter(file: &[u8]) -> Result<bool> {
    const PT_INTERP: u64 = 3;
    let number = |at: usize, bytes: usize| {
        let part = file.get(at..at + bytes).context("it is cut off")?;
        Ok::<_, anyhow::Error>(part.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte)))
    };
    ensure!(file.starts_with(&[0x7f, b'E', b'L', b'F', 2, 1]), "it is no 64-bit ELF file");
    // e_phoff, e_phentsize, e_phnum.
    let (table, size, count) = (number(32, 8)? as usize, number(54, 2)? as usize, number(56, 2)? as usize);
    for header in 0..count {
        if number(table + header * size, 4)? == PT_INTERP {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::has_interpreter;

    #[test]
    fn a_test_is_linked_dynamically_and_a_guest_is_not() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(has_interpreter(&own).unwrap(), cfg!(not(target_feature = "crt-static")));
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/riscv/images");
        let guest = std::fs::read_dir(root)
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .find(|path| std::fs::read(path).is_ok_and(|bytes| bytes.get(4) == Some(&2)));
        assert!(!has_interpreter(&std::fs::read(guest.unwrap()).unwrap()).unwrap());
    }

    #[test]
    fn what_is_no_program_is_said() {
        assert!(has_interpreter(b"#!/bin/sh").is_err());
        assert!(has_interpreter(&[0x7f, b'E', b'L', b'F', 2, 1]).is_err());
    }
}
