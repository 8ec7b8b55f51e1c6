//! `cargo xtask test`: set-up, all checks and tests, and a summary.

pub(crate) mod beside;
mod groups;
pub(crate) mod setup;
mod steps;
mod summary;

use anyhow::Result;
use beside::Priority;
use groups::{Choice, Group};
use std::sync::mpsc;
use std::time::Instant;
use summary::{Report, Session};
use tollgate_testkit::Missing;

/// Do all set-up that the tests need, then run every check and every test
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Install nothing, leave out the checks that a small change rarely breaks, and use small budgets in tests
    #[arg(long)]
    fast: bool,
    /// Run every group of steps, not only those whose rooms changed since the last merge into main
    #[arg(long, conflicts_with = "fast")]
    all: bool,
}

/// One step.
struct Step {
    name: &'static str,
    what: &'static str,
    /// Whether `--fast` leaves it out.
    slow: bool,
    /// The group that it belongs to; without one it always runs.
    group: Option<&'static Group>,
    run: Run,
}

impl Step {
    const fn of(self, group: &'static Group) -> Self {
        Step { group: Some(group), ..self }
    }
}

/// How a step runs. [`Missing`] is a reason to skip it, any other error is a failure.
enum Run {
    /// In this process; its output appears at once.
    Here(fn(&mut Session) -> Result<()>),
    /// As a process of its own, beside the steps that follow it in its stage: the words behind `cargo xtask`. Its output
    /// appears when it has ended.
    Beside(&'static [&'static str], Priority),
}

const SLOW: bool = true;
const FAST: bool = false;

const fn here(
    name: &'static str,
    what: &'static str,
    slow: bool,
    run: fn(&mut Session) -> Result<()>,
) -> Step {
    Step { name, what, slow, group: None, run: Run::Here(run) }
}

/// The steps in their order, in stages: a stage begins when everything of the one before it has ended. A step that fails does
/// not stop the next one.
static STAGES: &[&[Step]] = &[
    &[
        here("set-up", "programs that the tests need", FAST, setup::run),
        here("fmt", "cargo fmt --all --check", FAST, steps::fmt),
    ],
    // Many tests wait or use one processor: the builds of the other architectures take what they leave.
    &[
        Step {
            name: "programs",
            what: "cargo xtask cross --prebuilt --build-only, beside the next steps",
            slow: SLOW,
            group: Some(&groups::CROSS),
            run: Run::Beside(&["cross", "--prebuilt", "--build-only"], Priority::Lowest),
        },
        here("clippy", "cargo clippy --workspace --all-targets -- -D warnings", FAST, steps::clippy),
        here(
            "test",
            "cargo test --workspace: unit, property, snapshot, end-to-end and doc tests",
            FAST,
            steps::test,
        ),
    ],
    // The tests in Python mostly wait, and an emulator uses one processor.
    &[
        Step {
            name: "python",
            what: "cargo xtask python: the Python package, its tests, its wheel; beside the next steps",
            slow: SLOW,
            group: Some(&groups::PYTHON),
            run: Run::Beside(&["python"], Priority::Equal),
        },
        here(
            "cross",
            "cargo xtask cross --prebuilt: the static programs for x86_64 and aarch64, the other's under qemu-user",
            SLOW,
            steps::cross,
        )
        .of(&groups::CROSS),
        here("guests", "cargo xtask guests --check", SLOW, steps::guests).of(&groups::GUESTS),
        here("minimum", "cargo check with the minimum Rust version", SLOW, steps::minimum),
        here("doc", "cargo doc --no-deps --workspace, warnings denied", SLOW, steps::doc),
        here("book", "cargo xtask book: the HTML of docs", SLOW, steps::book),
        here("deny", "cargo deny check", SLOW, steps::deny),
        here("typos", "typos", SLOW, steps::typos),
        here("tidy", "cargo xtask tidy", FAST, steps::tidy),
    ],
    // Its guests keep all processors busy, and each has a time limit.
    &[here("vm", "cargo xtask vm: Debian kernels under software emulation", SLOW, steps::vm).of(&groups::VM)],
];

impl Args {
    /// Runs the steps.
    ///
    /// # Errors
    /// When any step failed; the message names each.
    pub(crate) fn run(&self) -> Result<()> {
        let begun = Instant::now();
        let mut session = Session::new(self.fast)?;
        session.all = self.all;
        session.groups = if self.all { Choice::all() } else { Choice::of(&session.root) };
        if !self.fast {
            println!("groups: {} ({})", session.groups.list(), session.groups.why);
        }
        let reports: Vec<Report> =
            STAGES.iter().flat_map(|steps| stage(steps, &mut session, begun)).collect();
        summary::print(&reports, &session.tally, &session.all_skips()?, begun.elapsed().as_secs_f64())
    }
}

/// Runs the steps of one stage.
fn stage(steps: &[Step], session: &mut Session, begun: Instant) -> Vec<Report> {
    let mut reports = Vec::new();
    std::thread::scope(|scope| {
        let (sender, ended) = mpsc::channel();
        for step in steps {
            let start = Instant::now();
            let report =
                move |outcome| Report { name: step.name, outcome, seconds: start.elapsed().as_secs_f64() };
            if step.slow && session.fast {
                reports.push(report(Err(Missing("left out by --fast".to_owned()).into())));
                continue;
            }
            if step.group.is_some_and(|group| !session.groups.has(group)) {
                let why = "its rooms did not change: `cargo xtask test --all` runs it";
                reports.push(report(Err(Missing(why.to_owned()).into())));
                continue;
            }
            println!("[{:6.1} s] {}: {}", begun.elapsed().as_secs_f64(), step.name, step.what);
            match step.run {
                Run::Here(run) => reports.push(report(run(session))),
                Run::Beside(words, priority) => {
                    let (sender, skips) = (sender.clone(), session.list.to_owned());
                    scope.spawn(move || {
                        let (outcome, output) = beside::run(words, priority, &skips);
                        // The receiver outlives every sender.
                        sender.send((report(outcome), output))
                    });
                }
            }
            reports.extend(ended.try_iter().map(|(report, output)| shown(session, begun, report, &output)));
        }
        drop(sender);
        reports.extend(ended.iter().map(|(report, output)| shown(session, begun, report, &output)));
    });
    reports
}

/// Prints what a process beside the others has printed, and counts its tests.
fn shown(session: &mut Session, begun: Instant, report: Report, output: &[u8]) -> Report {
    println!(
        "[{:6.1} s] {} ended after {:.1} s:",
        begun.elapsed().as_secs_f64(),
        report.name,
        report.seconds
    );
    let text = String::from_utf8_lossy(output);
    print!("{text}");
    text.lines().for_each(|line| session.tally.line(line));
    report
}

#[cfg(test)]
mod tests {
    use super::{FAST, Instant, Priority, Run, SLOW, STAGES, Session, Step, here, stage};
    use anyhow::bail;

    /// This program is the tests; `--list` is an option of theirs.
    const BESIDE: Step = Step {
        name: "beside",
        what: "",
        slow: SLOW,
        group: None,
        run: Run::Beside(&["--list", "each_step"], Priority::Equal),
    };

    #[test]
    fn a_stage_ends_with_the_outcome_of_every_step() {
        let steps = [BESIDE, here("fails", "", FAST, |_| bail!("no")), here("works", "", SLOW, |_| Ok(()))];
        let outcomes = |fast| {
            let mut session = Session::new(fast).expect("a session");
            let mut reports = stage(&steps, &mut session, Instant::now());
            reports.sort_by_key(|report| report.name);
            let outcome = reports.into_iter().map(|it| it.outcome.map_err(|error| error.to_string()));
            outcome.map(|it| it.err().unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(outcomes(false), ["", "no", ""]);
        assert_eq!(outcomes(true), ["left out by --fast", "no", "left out by --fast"]);
    }

    #[test]
    fn each_step_has_its_own_name() {
        let names: Vec<&str> = STAGES.iter().copied().flatten().map(|step| step.name).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name}");
        }
    }
}
