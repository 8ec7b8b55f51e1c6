//! `cargo xtask fuzz`: runs the tests that use random input for a given time. They compare random programs, those of vectors among them, on
//! the RISC-V machine with QEMU, with Spike (`--spike PATH`), with the reference interpreter and as translated code, counted too, and try random memory, random assembly, invalid files, invalid
//! results of the x86-64 guest, hostile records on the page, and random runs and files in exporters and importers. `cargo xtask test` runs
//! the same tests with fixed seeds and budgets, so that it has the same result each time.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use tollgate_testkit::workspace;

/// The tests that run for a given time: crate, and module of its tests.
const TIMED: [(&str, &str); 12] = [
    ("riscv", "qemu"),
    ("riscv", "vectors"),
    ("riscv", "engines"),
    ("riscv", "hostile"),
    ("riscv", "asm_hostile"),
    ("translate", "equal"),
    ("translate", "counting"),
    ("translate", "runs"),
    ("lab", "lockstep"),
    ("microvm", "table"),
    ("report", "html_hostile"),
    ("report", "any_run"),
];
/// The tests that do more work when a time is given.
const LARGER: [(&str, &str); 1] = [("riscv", "loader")];

/// Run the tests with random input for a while; a failure prints the seed that repeats it
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Total time in seconds
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(5..=864_000))]
    seconds: u64,
    /// Compare random programs of the privileged architecture and of vectors with this Spike, too (github.com/riscv-software-src/riscv-isa-sim)
    #[arg(long, value_name = "PATH")]
    spike: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(&self) -> Result<()> {
        let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs();
        let mut command = command(&workspace::root()?, self.seconds, seed);
        if let Some(path) = &self.spike {
            let path = path.canonicalize().with_context(|| format!("--spike {}", path.display()))?;
            command.env("TOLLGATE_SPIKE", path);
        }
        let status = command.status()?;
        ensure!(
            status.success(),
            "a test with random input failed; its seed is printed above, or is PROPTEST_RNG_SEED={seed}"
        );
        Ok(())
    }
}

/// The tests, one at a time, for about so many seconds in all.
fn command(root: &Path, seconds: u64, seed: u64) -> Command {
    let mut command = workspace::cargo(root);
    command.args(["test", "--quiet", "--test", "all"]);
    for room in ["riscv", "translate", "lab", "microvm", "report"] {
        command.args(["--package", &format!("tollgate-{room}")]);
    }
    // Modules of the same name in another crate run too: they are short.
    command.arg("--").args(TIMED.iter().chain(&LARGER).map(|(_, module)| format!("{module}::")));
    let each = (seconds / TIMED.len() as u64).max(1);
    command.env("TOLLGATE_FUZZ_SECONDS", each.to_string()).env("RUST_TEST_THREADS", "1");
    command.env("PROPTEST_RNG_SEED", seed.to_string());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_divided_among_the_timed_tests() {
        let command = command(Path::new("/"), 300, 7);
        let seconds = command.get_envs().find(|(name, _)| *name == "TOLLGATE_FUZZ_SECONDS");
        assert_eq!(seconds.and_then(|(_, value)| value), Some("25".as_ref()));
    }

    #[test]
    fn every_test_named_here_exists() {
        let root = workspace::root().expect("the tests run in the repository");
        for (room, module) in TIMED.iter().chain(&LARGER) {
            assert!(root.join(format!("crates/{room}/tests/all/{module}.rs")).is_file(), "{module}");
        }
    }
}
