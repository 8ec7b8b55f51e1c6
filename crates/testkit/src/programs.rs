//! Installed programs, what they print, and the budget of tests.

use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

/// The absolute path of a program on `PATH`, or of a file that is given by its absolute path.
#[must_use]
pub fn program(name: &str) -> Option<PathBuf> {
    program_in(&std::env::var_os("PATH").unwrap_or_default(), name)
}

/// What this machine does not have: the reason for a skip, with what would enable it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct Missing(pub String);

/// [`program`], or the sentence with the command that installs it.
///
/// # Errors
/// When it is missing.
pub fn need(name: &str, install: &str) -> Result<PathBuf, Missing> {
    program(name).ok_or_else(|| Missing(format!("{name} is missing: {install}")))
}

/// [`program`] with this search path.
#[must_use]
pub fn program_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    // Joining an absolute path gives that path, so such a file is found on any search path.
    std::env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_absolute() && (name.starts_with('/') && file.exists() || is_executable(file)))
}

fn is_executable(file: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

/// What a program prints when it succeeds.
///
/// # Errors
/// When it cannot be started or fails: its name, and the last line of its standard error.
pub fn printed(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.env("LC_ALL", "C").output().with_context(|| format!("cannot run {name}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
    ensure!(output.status.success(), "{name} failed: {}", last.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether tests must use smaller budgets (random streams, simulations), as in `cargo xtask test --fast`.
#[must_use]
pub fn fast() -> bool {
    std::env::var_os("TOLLGATE_FAST").is_some_and(|value| value == "1")
}

/// Whether tests that take minutes run as well, as in `cargo xtask test --all`.
#[must_use]
pub fn all() -> bool {
    std::env::var_os("TOLLGATE_ALL").is_some_and(|value| value == "1")
}

#[cfg(test)]
mod tests {
    use super::{printed, program_in};
    use std::process::Command;

    #[test]
    fn finds_programs_on_the_path_only() {
        let path = "/nowhere:/usr/bin:/bin".as_ref();
        assert!(program_in(path, "sh").is_some_and(|file| file.ends_with("sh")));
        assert_eq!(program_in("/nowhere".as_ref(), "sh"), None);
        assert_eq!(program_in(path, "no-such-program-anywhere"), None);
    }

    #[test]
    fn a_relative_folder_and_a_plain_file_are_not_programs() {
        assert_eq!(program_in(".".as_ref(), "Cargo.toml"), None);
        assert_eq!(program_in("/etc".as_ref(), "passwd"), None);
    }

    #[test]
    fn a_file_is_found_by_its_absolute_path() {
        assert!(program_in("/bin".as_ref(), "/etc/passwd").is_some());
        assert_eq!(program_in("/bin".as_ref(), "/etc/no-such-file"), None);
    }

    #[test]
    fn a_program_that_fails_says_why_in_one_line() {
        let error =
            printed(Command::new("sh").args(["-c", "echo first >&2; echo why >&2; exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "sh failed: why");
        let error = printed(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert!(error.to_string().contains("no-such-program-anywhere"), "{error}");
    }
}
