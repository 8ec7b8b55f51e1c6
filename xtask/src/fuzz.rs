//! `cargo xtask fuzz`: random programs, random memory and broken files for the RISC-V machine, for a given
//! time, against QEMU and against its own reference interpreter; broken results of the x86-64 guest; hostile records
//! for the page; and any run and any file for exporters and importers.

use anyhow::{Result, bail};
use std::path::Path;
use std::process::{Command, ExitStatus};
use tollgate_testkit::workspace;

/// The tests that go on for as long as they are told to: crate and test.
const TIMED: [(&str, &str); 6] = [
    ("riscv", "qemu"),
    ("riscv", "engines"),
    ("riscv", "hostile"),
    ("microvm", "table"),
    ("report", "html_hostile"),
    ("report", "any_run"),
];
/// The tests that do a larger amount of work when they are told a time.
const LARGER: [(&str, &str); 1] = [("riscv", "loader")];

/// Run random programs on the RISC-V machine for a while; a failure prints the seed that repeats it
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long in all, in seconds
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(5..=864_000))]
    seconds: u64,
}

impl Args {
    pub(crate) fn run(&self) -> Result<()> {
        if !fuzz(&workspace::root()?, self.seconds)?.success() {
            bail!("a random program was executed differently, or broke the machine; its seed stands above");
        }
        Ok(())
    }
}

/// Fuzzes for about so many seconds, one test at a time.
pub(crate) fn fuzz(root: &Path, seconds: u64) -> Result<ExitStatus> {
    Ok(command(root, seconds).status()?)
}

fn command(root: &Path, seconds: u64) -> Command {
    let mut command = workspace::cargo(root);
    command.args(["test", "--quiet"]);
    for room in ["riscv", "microvm", "report"] {
        command.args(["--package", &format!("tollgate-{room}")]);
    }
    for (_, test) in TIMED.iter().chain(&LARGER) {
        command.args(["--test", test]);
    }
    let each = (seconds / TIMED.len() as u64).max(1);
    command.env("TOLLGATE_FUZZ_SECONDS", each.to_string()).env("RUST_TEST_THREADS", "1");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_shared_by_the_tests_that_take_it() {
        let command = command(Path::new("/"), 150);
        let seconds = command.get_envs().find(|(name, _)| *name == "TOLLGATE_FUZZ_SECONDS");
        assert_eq!(seconds.and_then(|(_, value)| value), Some("25".as_ref()));
    }

    #[test]
    fn every_test_named_here_is_there() {
        let root = workspace::root().expect("the tests run in the repository");
        for (room, test) in TIMED.iter().chain(&LARGER) {
            assert!(root.join(format!("crates/{room}/tests/{test}.rs")).is_file(), "{test}");
        }
    }
}
