//! Running a program for what it prints.

use anyhow::{Context, Result, ensure};
use std::process::Command;

/// What a program prints when it succeeds.
///
/// # Errors
/// When it cannot be started or fails: its name, and the last line of its standard error.
pub(crate) fn printed(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.env("LC_ALL", "C").output().with_context(|| format!("cannot run {name}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
    ensure!(output.status.success(), "{name} failed: {}", last.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::printed;
    use std::process::Command;

    #[test]
    fn a_program_that_fails_says_why_in_one_line() {
        let error =
            printed(Command::new("sh").args(["-c", "echo first >&2; echo why >&2; exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "sh failed: why");
        let error = printed(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert!(error.to_string().contains("no-such-program-anywhere"), "{error}");
    }
}
