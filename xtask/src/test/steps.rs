//! The steps: each runs one program and returns how it ended.

use super::process::finish;
use super::setup;
use super::summary::Session;
use anyhow::{Context, Result, bail, ensure};
use std::process::Command;
use tollgate_testkit::{Missing, Skip, need, printed, program, workspace};

const MINIMUM: &str = env!("CARGO_PKG_RUST_VERSION");

pub(super) fn fmt(session: &mut Session) -> Result<()> {
    component(session, "rustfmt", &["fmt", "--all", "--check"])
}

pub(super) fn clippy(session: &mut Session) -> Result<()> {
    component(session, "clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// A check by a component of the toolchain, which a minimal toolchain does not have.
fn component(session: &Session, name: &str, args: &[&str]) -> Result<()> {
    let missing = || Missing(format!("{name} is missing: rustup component add {name}"));
    ensure!(setup::has_component(session, args[0]), missing());
    finish(workspace::cargo(&session.root).args(args))
}

/// Compares the images in the tree with what their sources give. Another compiler gives other images.
pub(super) fn guests(_: &mut Session) -> Result<()> {
    crate::guests::guests(true)
}

/// Cases that cannot run here are listed with the other skips.
pub(super) fn vm(session: &mut Session) -> Result<()> {
    let skipped = machines::vm::Args::all().rows()?;
    let skip = |(case, reason): (&str, String)| Skip { test: "vm".into(), case: Some(case.into()), reason };
    skipped.into_iter().try_for_each(|case| session.skip(&skip(case)))
}

/// Tries the program for other architectures. Those that cannot be tried here, or take too long, are listed with the skipped tests.
pub(super) fn cross(session: &mut Session) -> Result<()> {
    let report = machines::cross::try_prebuilt(&session.root)?;
    for (arch, reason) in &report.skipped {
        let (test, case) = ("xtask::cross".to_owned(), Some((*arch).to_owned()));
        session.skip(&Skip { test, case, reason: reason.clone() })?;
    }
    report.result()
}

/// The workspace compiles with the minimum Rust version that Cargo.toml states.
///
/// Passes if the toolchain in use has that version, because all tests run with it. Otherwise checks the workspace with
/// another toolchain of rustup, which is installed if that is allowed.
pub(super) fn minimum(session: &mut Session) -> Result<()> {
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
    if !is_installed() && program("rustup").is_some() && !setup::forbidden() {
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

pub(super) fn doc(session: &mut Session) -> Result<()> {
    finish(
        workspace::cargo(&session.root)
            .args(["doc", "--quiet", "--no-deps", "--workspace"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}

/// Bans, licenses and sources are checked offline. Advisories need the network and are skipped without it.
pub(super) fn deny(session: &mut Session) -> Result<()> {
    need("cargo-deny", "cargo install --locked cargo-deny")?;
    let deny = |what: &[&str]| {
        let mut command = workspace::cargo(&session.root);
        command.args(["deny", "check", "--hide-inclusion-graph"]).args(what);
        command
    };
    finish(&mut deny(&["bans", "licenses", "sources"]))?;
    let advisories = deny(&["advisories"]).output().context("cargo deny could not be started")?;
    let text = String::from_utf8_lossy(&advisories.stderr);
    if text.contains("failed to fetch advisory database") {
        bail!(Missing("advisories only: their database could not be fetched".to_owned()));
    }
    print!("{text}");
    ensure!(advisories.status.success(), "{}", advisories.status);
    Ok(())
}

pub(super) fn book(session: &mut Session) -> Result<()> {
    crate::book::build(&session.root, "target/book".as_ref())
}

pub(super) fn typos(session: &mut Session) -> Result<()> {
    need("typos", "cargo install --locked typos-cli")?;
    finish(Command::new("typos").current_dir(&session.root))
}

pub(super) fn tidy(session: &mut Session) -> Result<()> {
    crate::tidy::check(&session.root)
}

/// The examples in the documentation of libraries.
pub(super) fn doctest(session: &mut Session) -> Result<()> {
    finish(
        workspace::cargo(&session.root)
            .args(["test", "--workspace", "--no-fail-fast", "--doc"])
            .env("CARGO_TERM_COLOR", "never"),
    )
}

/// Builds the static programs, which `cross` tries.
pub(super) fn programs(session: &mut Session) -> Result<()> {
    machines::cross::build_prebuilt(&session.root)?.result()
}

/// The page of the lab: its tests in Node and in Chromium, and its module beside the native program.
pub(super) fn page(session: &mut Session) -> Result<()> {
    let site = session.root.join("target/page/site");
    let module = crate::page::built(&session.root, &site, None)?;
    crate::page::tests(&session.root, &site)?;
    crate::page::check(&session.root, &module, 100)
}

/// The Python package: its style, its tests, its wheels.
pub(super) fn python(session: &mut Session) -> Result<()> {
    crate::python::Package::ready(&session.root)?.check()
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
