//! `cargo xtask test`: set-up, all checks and tests, and a summary.

mod setup;
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

/// One step. `--fast` leaves out the slow ones.
struct Step {
    name: &'static str,
    what: &'static str,
    slow: bool,
    /// [`Missing`] is a reason to skip; any other error is a failure.
    run: fn(&mut Session) -> Result<()>,
}

/// The steps in their order. A step that fails does not stop the next one.
static STEPS: &[Step] = &[
    Step { name: "set-up", what: "programs that the tests need", slow: false, run: setup::run },
    Step { name: "fmt", what: "cargo fmt --all --check", slow: false, run: steps::fmt },
    Step {
        name: "clippy",
        what: "cargo clippy --workspace --all-targets -- -D warnings",
        slow: false,
        run: steps::clippy,
    },
    Step {
        name: "test",
        what: "cargo test --workspace: unit, property, snapshot, end-to-end and doc tests",
        slow: false,
        run: steps::test,
    },
    Step {
        name: "fuzz",
        what: "cargo xtask fuzz --seconds 120",
        slow: true,
        run: |session| steps::fuzz(session, 120),
    },
    Step { name: "guests", what: "cargo xtask guests --check", slow: true, run: steps::guests },
    Step {
        name: "cross",
        what: "cargo xtask cross: the program for aarch64 and riscv64, under qemu-user",
        slow: true,
        run: steps::cross,
    },
    Step {
        name: "vm",
        what: "cargo xtask vm: Debian kernels under software emulation",
        slow: true,
        run: steps::vm,
    },
    Step {
        name: "minimum",
        what: "cargo check with the minimum Rust version",
        slow: true,
        run: steps::minimum,
    },
    Step {
        name: "doc",
        what: "cargo doc --no-deps --workspace, warnings denied",
        slow: true,
        run: steps::doc,
    },
    Step { name: "book", what: "cargo xtask book: the HTML of docs", slow: true, run: steps::book },
    Step { name: "deny", what: "cargo deny check", slow: true, run: steps::deny },
    Step { name: "typos", what: "typos", slow: true, run: steps::typos },
    Step { name: "tidy", what: "cargo xtask tidy", slow: false, run: steps::tidy },
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
        for step in STEPS {
            let begun = Instant::now();
            let outcome = if step.slow && self.fast {
                Err(Missing("left out by --fast".to_owned()).into())
            } else {
                println!("[{:6.1} s] {}: {}", start.elapsed().as_secs_f64(), step.name, step.what);
                (step.run)(&mut session)
            };
            reports.push(Report { name: step.name, outcome, seconds: begun.elapsed().as_secs_f64() });
        }
        summary::print(&reports, &session.tally, &session.skips, start.elapsed().as_secs_f64())
    }
}
