//! The workspace compiles with the minimum Rust version that Cargo.toml states.

use super::apt;
use super::tally::Session;
use anyhow::{Result, bail, ensure};
use std::process::Command;
use tollgate_testkit::{Missing, printed, program};

const MINIMUM: &str = env!("CARGO_PKG_RUST_VERSION");

/// Passes if the toolchain in use has that version, because all tests run with it. Otherwise checks the workspace with
/// another toolchain of rustup, which is installed if that is allowed.
pub(super) fn run(session: &mut Session) -> Result<()> {
    let version = printed(Command::new("rustc").arg("--version"))?;
    if is_minimum(&version) {
        return Ok(());
    }
    let cargo = || {
        let mut cargo = Command::new("rustup");
        cargo.args(["run", MINIMUM, "cargo"]).current_dir(&session.root);
        cargo
    };
    let is_installed = || printed(cargo().arg("--version")).is_ok();
    if !is_installed() && program("rustup").is_some() && !apt::forbidden() {
        println!("  rustup toolchain install {MINIMUM}");
        // If that fails, the step is skipped.
        let _ = Command::new("rustup").args(["toolchain", "install", "--profile=minimal", MINIMUM]).output();
    }
    if !is_installed() {
        bail!(Missing(format!("this is {}: rustup toolchain install {MINIMUM}", version.trim())));
    }
    let status = cargo()
        .args(["check", "--quiet", "--workspace", "--all-targets", "--target-dir=target/minimum"])
        .status()?;
    ensure!(status.success(), "Rust {MINIMUM}: {status}");
    Ok(())
}

/// Whether the output of `rustc --version` is of the minimum version.
fn is_minimum(version: &str) -> bool {
    let number = version.split_whitespace().nth(1).unwrap_or_default();
    number.strip_prefix(MINIMUM).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::{MINIMUM, is_minimum};

    #[test]
    fn only_the_same_version_is_the_minimum() {
        assert!(is_minimum(&format!("rustc {MINIMUM}.0 (59807616e 2026-04-14)")));
        assert!(
            !is_minimum(&format!("rustc {MINIMUM}1.0"))
                && !is_minimum("rustc 1.999.0-nightly")
                && !is_minimum("")
        );
    }
}
