//! Unit tests on another architecture, under qemu-user.

use super::target::Target;
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// The rooms whose code differs between architectures.
const PACKAGES: &[&str] = &["tollgate-measure", "tollgate-boundary"];
/// Their modules that differ, by part of a test's name. The others are the same everywhere, and under an emulator their
/// properties take minutes.
const MODULES: &[&str] = &["arch::", "clock::", "host::", "call::", "fiber::", "syscall::"];

/// Runs them.
///
/// # Errors
/// With the tests that failed.
pub(super) fn test(root: &Path, target: &Target) -> Result<()> {
    let mut cargo = match target.cargo(root, "test")? {
        Ok(cargo) => cargo,
        // Said before, when the program was built.
        Err(_) => return Ok(()),
    };
    cargo.args(["--lib", "--no-fail-fast"]);
    for package in PACKAGES {
        cargo.args(["--package", package]);
    }
    cargo.arg("--");
    cargo.args(MODULES);
    let output = cargo.env("TOLLGATE_FAST", "1").output().context("cargo could not be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let counts: Vec<&str> = text.lines().filter(|line| line.starts_with("test result")).collect();
    println!("  {:<8} unit tests: {}", target.arch, counts.join("; "));
    let failed: Vec<&str> =
        text.lines().filter(|line| line.starts_with("test ") && line.ends_with("FAILED")).collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    let error = errors.lines().find(|line| line.starts_with("error")).unwrap_or("cargo gave no reason");
    ensure!(
        output.status.success(),
        "{}",
        if failed.is_empty() { error.to_owned() } else { failed.join("; ") }
    );
    Ok(())
}
