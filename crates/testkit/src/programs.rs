//! Installed programs, and the budget of tests.

use std::ffi::OsStr;
use std::path::PathBuf;

/// The absolute path of a program on `PATH`, or of a file that is given by its absolute path.
#[must_use]
pub fn program(name: &str) -> Option<PathBuf> {
    program_in(&std::env::var_os("PATH").unwrap_or_default(), name)
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

/// Whether tests must use smaller budgets (random streams, simulations), as in `cargo xtask test --fast`.
#[must_use]
pub fn fast() -> bool {
    std::env::var_os("TOLLGATE_FAST").is_some_and(|value| value == "1")
}

#[cfg(test)]
mod tests {
    use super::program_in;

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
}
