//! Unit tests on another architecture, under qemu-user.

use super::build::{COUNTERS, TestProgram};
use super::trial::Runner;
use anyhow::{Result, ensure};

/// The modules whose code differs between architectures, by part of a test's name. The others are the same everywhere,
/// and under an emulator their properties take minutes.
const MODULES: &[&str] = &["arch::", "clock::", "host::", "call::", "fiber::", "syscall::"];

/// Runs them.
///
/// # Errors
/// With the tests that failed.
pub(super) fn run(runner: &Runner, tests: &TestProgram) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let mut command = runner.command(&tests.program, scratch.path());
    let output = command.args(MODULES).current_dir(&tests.folder).env("TOLLGATE_FAST", "1").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let result = text.lines().find(|line| line.starts_with("test result")).unwrap_or("it did not end");
    println!("  {:<8} {:<22} {result}", runner.target.arch, tests.name);
    let failed: Vec<&str> =
        text.lines().filter(|line| line.starts_with("test ") && line.ends_with("FAILED")).collect();
    ensure!(failed.is_empty() && output.status.success(), "{}; {}", output.status, failed.join("; "));
    Ok(())
}

/// Whether a test program has unit tests.
pub(super) fn are_in(tests: &TestProgram) -> bool {
    tests.name != COUNTERS
}
