//! Installs Debian packages, if that is allowed.

use anyhow::{Result, bail};
use std::process::Command;
use tollgate_testkit::{printed, program};

/// Whether the environment forbids installing anything.
pub(super) fn forbidden() -> bool {
    std::env::var_os("TOLLGATE_NO_INSTALL").is_some_and(|value| value == "1")
}

/// Whether packages may be installed, and with `sudo`; or why not. Checks the environment, the system and the user id.
pub(super) fn permission() -> Result<bool, String> {
    if forbidden() {
        return Err("TOLLGATE_NO_INSTALL=1 forbids installing them".to_owned());
    }
    if program("apt-get").is_none() {
        return Err("apt-get is missing".to_owned());
    }
    if printed(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0") {
        return Ok(false);
    }
    let sudo = printed(Command::new("sudo").args(["-n", "true"]));
    sudo.map(|_| true).map_err(|_| "not root, and sudo asks for a password".to_owned())
}

/// Installs packages: of each list the first that this release has.
///
/// # Errors
/// When apt-get fails: the last line of its output.
pub(super) fn install(wanted: impl Iterator<Item = &'static [&'static str]>, sudo: bool) -> Result<()> {
    println!("  apt-get update (TOLLGATE_NO_INSTALL=1 forbids installing)");
    // A package source that fails must not stop the others: the next command reports missing packages.
    let update = apt_get(sudo, &["update"]);
    let packages: Vec<&str> =
        wanted.filter_map(|names| names.iter().copied().find(|name| offered(name))).collect();
    if packages.is_empty() {
        update?;
        bail!("no package source of this system has them");
    }
    println!("  apt-get install {}", packages.join(" "));
    let mut args = vec!["install", "--yes", "--no-install-recommends"];
    args.extend(&packages);
    apt_get(sudo, &args).map(drop)
}

fn apt_get(sudo: bool, args: &[&str]) -> Result<String> {
    let mut command = Command::new(if sudo { "sudo" } else { "apt-get" });
    if sudo {
        command.args(["-n", "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get"]);
    }
    command.args(["-q", "-oDPkg::Lock::Timeout=120", "-oAcquire::Retries=2", "-oAcquire::http::Timeout=30"]);
    printed(command.args(args).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Whether a package source has this package. A virtual package has no candidate.
fn offered(package: &str) -> bool {
    let policy = printed(Command::new("apt-cache").args(["policy", package]));
    policy.is_ok_and(|policy| has_candidate(&policy))
}

fn has_candidate(policy: &str) -> bool {
    policy
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Candidate:"))
        .any(|version| version.trim() != "(none)")
}

#[cfg(test)]
mod tests {
    use super::has_candidate;

    #[test]
    fn a_package_is_offered_when_it_has_a_candidate() {
        assert!(has_candidate("qemu-user:\n  Installed: (none)\n  Candidate: 1:7.2\n"));
        assert!(!has_candidate("qemu-system-riscv:\n  Installed: (none)\n  Candidate: (none)\n"));
        assert!(!has_candidate(""));
    }
}
