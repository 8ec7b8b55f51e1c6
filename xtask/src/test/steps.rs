//! The steps: each runs one program and returns how it ended.

use super::setup;
use super::summary::Session;
use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitStatus};
use tollgate_testkit::{Missing, SKIPS, Skip, need, printed, program, workspace};

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
    session.skips.extend(skipped.into_iter().map(skip));
    Ok(())
}

/// Tries the program for other architectures. Those that cannot be tried here, or take too long, are listed with the skipped tests.
pub(super) fn cross(session: &mut Session) -> Result<()> {
    let report = machines::cross::try_prebuilt(&session.root)?;
    session.skips.extend(report.skipped.into_iter().map(|(arch, reason)| Skip {
        test: "xtask::cross".to_owned(),
        case: Some(arch.to_owned()),
        reason,
    }));
    for failed in &report.failed {
        println!("  FAILED: {failed}");
    }
    ensure!(report.failed.is_empty(), "{} cases, listed above", report.failed.len());
    Ok(())
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
    outcome(advisories.status)
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

/// Runs all tests, prints their output and counts them. At most two run at the same time, unless `RUST_TEST_THREADS` is set:
/// many of them measure, and more of them on two cores would disturb each other.
pub(super) fn test(session: &mut Session) -> Result<()> {
    let mut status = ExitStatus::default();
    // In two calls, because one without a choice also builds the examples, which take a minute. Clippy checks those.
    for chosen in ["--tests", "--doc"] {
        let mut command = workspace::cargo(&session.root);
        command
            .args(["test", "--workspace", "--no-fail-fast", chosen])
            .env("CARGO_TERM_COLOR", "never")
            .env("TOLLGATE_ALL", if session.all { "1" } else { "0" })
            .env("TOLLGATE_FAST", if session.fast { "1" } else { "0" })
            .env(SKIPS, &session.list);
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            let cpus = std::thread::available_parallelism().map_or(1, usize::from);
            command.env("RUST_TEST_THREADS", cpus.min(2).to_string());
        }
        let ended = watch(&mut command, &mut std::io::stdout(), |line| session.tally.line(line))?;
        if !ended.success() {
            status = ended;
        }
    }
    session.tally.end(status.success());
    outcome(status)
}

/// Runs a command, prints its output immediately, and calls `line` for each line.
pub(super) fn watch(
    command: &mut Command,
    out: &mut impl Write,
    mut line: impl FnMut(&str),
) -> Result<ExitStatus> {
    let (reader, writer) = std::io::pipe().context("no pipe could be made: raise the limit on open files")?;
    let mut child = start(command.stdout(writer.try_clone()?).stderr(writer))?;
    // The command holds our copies of the writing end: while they are open, the output does not end.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        out.write_all(&bytes)?;
        line(String::from_utf8_lossy(&bytes).trim_end());
        bytes.clear();
    }
    Ok(child.wait()?)
}

fn finish(command: &mut Command) -> Result<()> {
    outcome(start(command)?.wait()?)
}

fn start(command: &mut Command) -> Result<std::process::Child> {
    let name = command.get_program().to_owned();
    command.spawn().with_context(|| format!("{} could not be started", name.display()))
}

pub(super) fn outcome(status: ExitStatus) -> Result<()> {
    ensure!(status.success(), "{status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Command, MINIMUM, is_minimum, watch};

    #[test]
    fn both_streams_are_read_to_their_end() {
        let (mut shown, mut lines) = (Vec::new(), Vec::new());
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; printf last; exit 3"]);
        let status = watch(&mut command, &mut shown, |line| lines.push(line.to_owned()));
        assert_eq!(status.expect("sh runs").code(), Some(3));
        assert_eq!(lines, ["out", "err", "last"]);
        assert_eq!(shown, b"out\nerr\nlast");
    }

    #[test]
    fn a_missing_program_is_named() {
        let mut command = Command::new("no-such-program-anywhere");
        let error = watch(&mut command, &mut Vec::new(), |_| {}).expect_err("it is missing");
        assert!(error.to_string().contains("no-such-program-anywhere"), "{error}");
    }

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
