//! Installs Debian packages, if that is allowed.

use anyhow::{Context, Result, bail};
use std::process::{Command, Output};
use tollgate_testkit::program;

/// Whether packages may be installed.
pub(super) enum Permission {
    Granted { sudo: bool },
    Refused(String),
}

/// Whether the environment forbids installing anything.
pub(super) fn forbidden() -> bool {
    std::env::var_os("TOLLGATE_NO_INSTALL").is_some_and(|value| value == "1")
}

/// Checks the environment, the system and the user id, in this order.
pub(super) fn permission() -> Permission {
    if forbidden() {
        return Permission::Refused("TOLLGATE_NO_INSTALL=1 forbids installing them".to_owned());
    }
    if program("apt-get").is_none() {
        return Permission::Refused("apt-get is missing".to_owned());
    }
    if output("id", &["-u"]).is_some_and(|id| id.trim() == "0") {
        return Permission::Granted { sudo: false };
    }
    if output("sudo", &["-n", "true"]).is_some() {
        return Permission::Granted { sudo: true };
    }
    Permission::Refused("not root, and sudo asks for a password".to_owned())
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

fn apt_get(sudo: bool, args: &[&str]) -> Result<Output> {
    let mut command = if sudo { Command::new("sudo") } else { Command::new("env") };
    if sudo {
        command.args(["-n", "env"]);
    }
    let output = command
        .args(["DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get", "-q"])
        .args([
            "-o",
            "DPkg::Lock::Timeout=120",
            "-o",
            "Acquire::Retries=2",
            "-o",
            "Acquire::http::Timeout=30",
        ])
        .args(args)
        .output()
        .context("apt-get could not be started")?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
        bail!("apt-get {} failed: {}", args[0], last.trim());
    }
    Ok(output)
}

/// Whether a package source has this package. A virtual package has no candidate.
fn offered(package: &str) -> bool {
    output("apt-cache", &["policy", package]).is_some_and(|policy| has_candidate(&policy))
}

fn has_candidate(policy: &str) -> bool {
    policy
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Candidate:"))
        .any(|version| version.trim() != "(none)")
}

/// What a program prints when it succeeds.
fn output(name: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(name).args(args).env("LC_ALL", "C").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
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
