//! Running the cases and the unit tests of one target.

use super::cases::{CASES, Case};
use crate::build::target::Target;
use crate::build::{COUNTERS, TestProgram};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use tollgate_record::Measurement;
use tollgate_testkit::Missing;

/// The limit of a case; the longest needs a third of it on a busy machine.
const SECONDS: &str = "180";

/// The modules whose code differs between architectures, as parts of the names of tests. The other modules are the same
/// everywhere, and their property tests take minutes under an emulator.
const MODULES: &[&str] = &["arch::", "clock::", "host::", "call::", "fiber::", "syscall::"];

/// Runs the programs of a target on this machine, directly or under an emulator.
pub(super) struct Runner {
    target: &'static Target,
    emulator: Option<&'static str>,
}

/// The rows of each case that has any.
pub(super) type RowsByCase = BTreeMap<&'static str, Vec<Measurement>>;

/// What the program of this machine's own architecture prints, by case.
pub(super) type Here = BTreeMap<&'static str, String>;

impl Runner {
    pub(super) fn new(target: &'static Target) -> Result<Self, Missing> {
        Ok(Self { target, emulator: target.emulator()? })
    }

    /// A call of a program, without arguments yet. It writes into `scratch` only and is ended after [`SECONDS`].
    fn command(&self, program: &Path, scratch: &Path) -> Command {
        // `timeout` puts the program into a process group of its own and ends the group.
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

    /// What the program prints when it is called with these arguments.
    fn output(&self, program: &Path, args: &[String], scratch: &Path) -> Result<String> {
        let output = self
            .command(program, scratch)
            .args(args)
            .output()
            .context("timeout (coreutils) could not be started")?;
        let error = String::from_utf8_lossy(&output.stderr);
        let last = error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message");
        match output.status.code() {
            Some(0) => {}
            // The record says which rows failed.
            Some(1) if !output.stdout.is_empty() => {}
            Some(124 | 137) => bail!("it took longer than {SECONDS} s and was ended"),
            _ => bail!("it ended with {}: {last}", output.status),
        }
        String::from_utf8(output.stdout).context("its output is not UTF-8")
    }

    /// Tries one case and returns its rows, if it has any.
    fn case(
        &self,
        program: &Path,
        case: &Case,
        scratch: &Path,
        here: &mut Here,
    ) -> Result<Option<Vec<Measurement>>> {
        let [store, out] = ["store", case.name].map(|name| scratch.join(name));
        let args = case.args(&store.to_string_lossy(), &out.to_string_lossy());
        let stdout = self.output(program, &args, scratch)?;
        let stdout = if out.is_file() { fs::read_to_string(out)? } else { stdout };
        if self.target.is_native() {
            here.insert(case.name, stdout.clone());
        }
        case.judge(&stdout, here.get(case.name).map(String::as_str))
    }

    /// Tries every case. Returns the rows of the cases that have any, and a sentence for each case that failed.
    pub(super) fn cases(&self, program: &Path, here: &mut Here) -> Result<(RowsByCase, Vec<String>)> {
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

    /// Runs the unit tests of [`MODULES`] in a test program, if it has unit tests.
    ///
    /// # Errors
    /// When a test fails (with the output of the tests), or when none has such a name.
    pub(super) fn unit_tests(&self, tests: &TestProgram) -> Result<()> {
        if tests.name == COUNTERS {
            return Ok(());
        }
        let scratch = tempfile::tempdir()?;
        let mut command = self.command(&tests.program, scratch.path());
        let command = command.args(MODULES).current_dir(&tests.folder).env("TOLLGATE_FAST", "1");
        let output = command.output().context("timeout (coreutils) could not be started")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let result = text.lines().find(|line| line.starts_with("test result")).unwrap_or("no result");
        println!("  {:<8} {:<22} {result}", self.target.arch, tests.name);
        if !output.status.success() {
            bail!("{}: {}\n{text}{}", tests.name, output.status, String::from_utf8_lossy(&output.stderr));
        }
        ensure!(!result.contains(" 0 passed"), "{}: no test has such a name", tests.name);
        Ok(())
    }
}
