//! Unit tests on another architecture, under qemu-user.

use super::trial::Runner;
use crate::build::{COUNTERS, TestProgram};
use anyhow::{Context, Result, bail, ensure};

/// The modules whose code differs between architectures, as parts of the names of tests. The other modules are the same
/// everywhere, and their property tests take minutes under an emulator.
const MODULES: &[&str] = &["arch::", "clock::", "host::", "call::", "fiber::", "syscall::"];

/// Runs the tests of [`MODULES`].
///
/// # Errors
/// When a test fails (with the output of the tests), or when none has such a name.
pub(super) fn run(runner: &Runner, tests: &TestProgram) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let mut command = runner.command(&tests.program, scratch.path());
    let output = command
        .args(MODULES)
        .current_dir(&tests.folder)
        .env("TOLLGATE_FAST", "1")
        .output()
        .context("timeout (coreutils) could not be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let result = text.lines().find(|line| line.starts_with("test result")).unwrap_or("no result");
    println!("  {:<8} {:<22} {result}", runner.target.arch, tests.name);
    if !output.status.success() {
        bail!("{}: {}\n{text}{}", tests.name, output.status, String::from_utf8_lossy(&output.stderr));
    }
    ensure!(!result.contains(" 0 passed"), "{}: no test has such a name", tests.name);
    Ok(())
}

/// Whether a test program contains unit tests.
pub(super) fn are_in(tests: &TestProgram) -> bool {
    tests.name != COUNTERS
}
