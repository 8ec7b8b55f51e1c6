//! `cargo xtask test`: set-up, all checks and tests, and a summary.

pub(crate) mod setup;
mod steps;
mod summary;

use anyhow::Result;
use std::time::Instant;
use summary::{Report, Session, Tally};
use tollgate_testkit::{Missing, workspace};

/// Do all set-up that the tests need, then run every check and every test
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Install nothing, leave out the checks that a small change rarely breaks, and use small budgets in tests
    #[arg(long)]
    fast: bool,
}

/// One step: its name, what it does, whether `--fast` leaves it out, and the function: [`Missing`] is a reason to skip it, any
/// other error is a failure.
type Step = (&'static str, &'static str, bool, fn(&mut Session) -> Result<()>);

const SLOW: bool = true;
const FAST: bool = false;

/// The steps in their order. A step that fails does not stop the next one.
static STEPS: &[Step] = &[
    ("set-up", "programs that the tests need", FAST, setup::run),
    ("fmt", "cargo fmt --all --check", FAST, steps::fmt),
    ("clippy", "cargo clippy --workspace --all-targets -- -D warnings", FAST, steps::clippy),
    ("test", "cargo test --workspace: unit, property, snapshot, end-to-end and doc tests", FAST, steps::test),
    ("guests", "cargo xtask guests --check", SLOW, steps::guests),
    ("cross", "cargo xtask cross: the program for aarch64 and riscv64, under qemu-user", SLOW, steps::cross),
    ("vm", "cargo xtask vm: Debian kernels under software emulation", SLOW, steps::vm),
    ("python", "cargo xtask python: the Python package, its tests, its wheel", SLOW, steps::python),
    ("minimum", "cargo check with the minimum Rust version", SLOW, steps::minimum),
    ("doc", "cargo doc --no-deps --workspace, warnings denied", SLOW, steps::doc),
    ("book", "cargo xtask book: the HTML of docs", SLOW, steps::book),
    ("deny", "cargo deny check", SLOW, steps::deny),
    ("typos", "typos", SLOW, steps::typos),
    ("tidy", "cargo xtask tidy", FAST, steps::tidy),
];

impl Args {
    /// Runs the steps.
    ///
    /// # Errors
    /// When any step failed; the message names each.
    pub(crate) fn run(&self) -> Result<()> {
        let start = Instant::now();
        let mut session =
            Session { root: workspace::root()?, fast: self.fast, tally: Tally::default(), skips: Vec::new() };
        let mut reports = Vec::new();
        for &(name, what, slow, run) in STEPS {
            let begun = Instant::now();
            let outcome = if slow && self.fast {
                Err(Missing("left out by --fast".to_owned()).into())
            } else {
                println!("[{:6.1} s] {name}: {what}", start.elapsed().as_secs_f64());
                run(&mut session)
            };
            reports.push(Report { name, outcome, seconds: begun.elapsed().as_secs_f64() });
        }
        summary::print(&reports, &session.tally, &session.skips, start.elapsed().as_secs_f64())
    }
}
