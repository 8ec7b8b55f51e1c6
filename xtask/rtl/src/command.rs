//! Running a program for what it prints.

use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

/// What a program does when it succeeds.
///
/// # Errors
/// When it cannot be started or fails: its name, and the end of its standard error.
pub(crate) fn output(command: &mut Command) -> Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.env("LC_ALL", "C").output().with_context(|| format!("cannot run {name}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    ensure!(output.status.success(), "{name} failed: {}", lines[lines.len().saturating_sub(20)..].join("\n"));
    Ok(output)
}
