//! `cargo xtask test`: set-up, all checks and tests, and a summary.

mod groups;
pub(crate) mod process;
mod programs;
pub(crate) mod setup;
mod steps;
mod summary;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use groups::{Choice, Group};
use process::{outcome, watch};
use std::io::{Write, stdout};
use std::process::Command;
use std::time::Instant;
use summary::{PROGRAMS, Report, Session, Tally};
use tollgate_testkit::{Missing, SKIPS};

/// Do all set-up that the tests need, then run every check and every test
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Install nothing, leave out the checks that a small change rarely breaks, and use small budgets in tests
    #[arg(long)]
    fast: bool,
    /// Run every group of steps, not only those whose rooms changed since the last merge into main
    #[arg(long, conflicts_with = "fast")]
    all: bool,
    /// Run only this step, with its output as it is
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(steps().map(|step| step.name)))]
    step: Option<String>,
}

/// One step. [`Missing`] is a reason to skip it, any other error is a failure.
struct Step {
    name: &'static str,
    what: &'static str,
    /// Whether `--fast` leaves it out.
    slow: bool,
    /// The group that it belongs to; without one it always runs.
    group: Option<&'static Group>,
    /// Whether it takes only the processor time that others leave. For builds: they have no time limit, and tests have.
    yields: bool,
    run: fn(&mut Session) -> Result<()>,
}

impl Step {
    const fn of(self, group: &'static Group) -> Self {
        Step { group: Some(group), ..self }
    }

    const fn yielding(self) -> Self {
        Step { yields: true, ..self }
    }
}

const SLOW: bool = true;
const FAST: bool = false;

const fn step(
    name: &'static str,
    what: &'static str,
    slow: bool,
    run: fn(&mut Session) -> Result<()>,
) -> Step {
    Step { name, what, slow, group: None, yields: false, run }
}

/// Steps that run one after the other.
type Lane = &'static [Step];

/// The steps in their order, in stages: a stage begins when everything of the one before it has ended, and its lanes run beside
/// each other. A step that fails does not stop the next one.
static STAGES: &[&[Lane]] = &[
    &[&[
        step("set-up", "programs that the tests need", FAST, setup::run),
        step("fmt", "cargo fmt --all --check", FAST, steps::fmt),
        step("build", "cargo test --workspace --tests --no-run", FAST, programs::build),
    ]],
    &[
        &[step("test", "the tests that do not measure, on all processors", FAST, programs::test)],
        &[
            step("tidy", "cargo xtask tidy", FAST, steps::tidy),
            step("clippy", "cargo clippy --workspace --all-targets -- -D warnings", FAST, steps::clippy).yielding(),
            step("doctest", "cargo test --workspace --doc", FAST, steps::doctest).yielding(),
            step("doc", "cargo doc --no-deps --workspace, warnings denied", SLOW, steps::doc).yielding(),
            step("minimum", "cargo check with the minimum Rust version", SLOW, steps::minimum).yielding(),
            step("book", "cargo xtask book: the HTML of docs", SLOW, steps::book),
            step("deny", "cargo deny check", SLOW, steps::deny),
            step("typos", "typos", SLOW, steps::typos),
            step("guests", "cargo xtask guests --check", SLOW, steps::guests).of(&groups::GUESTS).yielding(),
        ],
        &[step("programs", "the programs that cross tries", SLOW, steps::programs)
            .of(&groups::CROSS)
            .yielding()],
    ],
    &[&[step("measure", "the tests that measure, alone", FAST, programs::measure)]],
    // The tests in Python mostly wait, and an emulator uses one processor.
    &[
        &[step(
            "cross",
            "cargo xtask cross --prebuilt: the static programs for x86_64 and aarch64, the other's under qemu-user",
            SLOW,
            steps::cross,
        )
        .of(&groups::CROSS)],
        &[step("page", "cargo xtask page --check: the lab in a browser, its tests, equal to the native one", SLOW, steps::page)
            .of(&groups::PAGE)
            .yielding()],
        &[step("python", "cargo xtask python: the Python package, its tests, its wheel", SLOW, steps::python)
            .of(&groups::PYTHON)],
    ],
    // Its guests keep all processors busy, and each has a time limit.
    &[&[step("vm", "cargo xtask vm: Debian kernels under software emulation", SLOW, steps::vm)
        .of(&groups::VM)]],
];

fn steps() -> impl Iterator<Item = &'static Step> {
    STAGES.iter().copied().flatten().copied().flatten()
}

impl Args {
    /// Runs the steps, each as a process of its own: this command with `--step`.
    ///
    /// # Errors
    /// When any step failed; the message names each.
    pub(crate) fn run(&self) -> Result<()> {
        let begun = Instant::now();
        let mut session = Session::new(self.fast, self.all)?;
        if let Some(step) = steps().find(|step| self.step.as_deref() == Some(step.name)) {
            return (step.run)(&mut session);
        }
        let groups = if self.all { Choice::all() } else { Choice::of(&session.root) };
        if !self.fast {
            println!("groups: {} ({})", groups.list(), groups.why);
        }
        let reports = STAGES.iter().flat_map(|lanes| stage(lanes, &session, &groups, begun)).collect();
        summary::print(reports, &summary::skips(&session.skips)?, begun.elapsed().as_secs_f64())
    }
}

/// Runs the steps of one stage. The output of its first lane appears at once, that of the others when a step has ended.
fn stage(lanes: &[&'static [Step]], session: &Session, groups: &Choice, begun: Instant) -> Vec<Report> {
    std::thread::scope(|scope| {
        let lanes: Vec<_> = lanes
            .iter()
            .enumerate()
            .map(|(lane, steps)| {
                let report = move |step| report(step, session, groups, begun, lane == 0);
                scope.spawn(move || steps.iter().map(report).collect::<Vec<_>>())
            })
            .collect();
        let ended = lanes.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.flat_map(|lane| lane.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// Runs one step, unless it is left out.
fn report(step: &Step, session: &Session, groups: &Choice, begun: Instant, at_once: bool) -> Report {
    let start = Instant::now();
    let mut report =
        Report { name: step.name, outcome: Ok(()), seconds: 0.0, cpu: 0.0, tally: Tally::default() };
    if let Some(why) = left_out(step, session, groups) {
        report.outcome = Err(Missing(why.to_owned()).into());
        return report;
    }
    println!("[{:6.1} s] {}: {}", begun.elapsed().as_secs_f64(), step.name, step.what);
    let mut output = Vec::new();
    let line = |line: &str| {
        output.extend_from_slice(line.as_bytes());
        output.push(b'\n');
        report.tally.line(line);
    };
    let mut nowhere = std::io::sink();
    let out: &mut dyn Write = if at_once { &mut stdout() } else { &mut nowhere };
    let ended = command(step, session).and_then(|mut command| watch(&mut command, out, line));
    report.seconds = start.elapsed().as_secs_f64();
    if !at_once {
        println!("[{:6.1} s] {} has printed:", begun.elapsed().as_secs_f64(), step.name);
        // A closed standard output must not end the steps.
        let _ = stdout().write_all(&output);
    }
    report.outcome = ended.and_then(|ended| {
        report.cpu = ended.cpu;
        report.tally.end(ended.status.success());
        outcome(ended.status, &output)
    });
    report
}

fn left_out(step: &Step, session: &Session, groups: &Choice) -> Option<&'static str> {
    match step.group {
        _ if step.slow && session.fast => Some("left out by --fast"),
        Some(group) if !groups.has(group) => {
            Some("its rooms did not change: `cargo xtask test --all` runs it")
        }
        _ => None,
    }
}

/// This program, to run one step.
fn command(step: &Step, session: &Session) -> Result<Command> {
    let program = std::env::current_exe().context("the path of this program")?;
    let mut command = if step.yields { Command::new("nice") } else { Command::new(&program) };
    if step.yields {
        command.args(["-n", "19"]).arg(&program);
    }
    command.args(["test", "--step", step.name]);
    command.args(session.fast.then_some("--fast")).args(session.all.then_some("--all"));
    command.env(SKIPS, &session.skips).env(PROGRAMS, &session.programs);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::{Choice, FAST, SLOW, Session, Step, command, groups, left_out, step, steps};
    use std::collections::BTreeSet;

    #[test]
    fn each_step_has_its_own_name() {
        let names: BTreeSet<&str> = steps().map(|step| step.name).collect();
        assert_eq!(names.len(), steps().count());
    }

    #[test]
    fn slow_steps_and_groups_without_a_change_are_left_out() {
        let none = Choice { names: BTreeSet::new(), why: String::new() };
        let why = |step: &Step, fast, groups| {
            left_out(step, &Session::new(fast, false).expect("a session"), groups)
        };
        let slow = step("a", "", SLOW, |_| Ok(()));
        assert_eq!(why(&slow, true, &none), Some("left out by --fast"));
        assert_eq!(why(&slow, false, &none), None);
        assert_eq!(why(&step("a", "", FAST, |_| Ok(())), true, &none), None);
        let grouped = slow.of(&groups::VM);
        assert!(why(&grouped, false, &none).is_some_and(|why| why.contains("--all")));
        assert_eq!(why(&grouped, false, &Choice::all()), None);
    }

    #[test]
    fn a_step_that_yields_has_the_lowest_priority() {
        let session = Session::new(true, false).expect("a session");
        let words = |step: &Step| {
            let command = command(step, &session).expect("the path of this program");
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        let plain = step("a", "", SLOW, |_| Ok(()));
        assert!(words(&plain).ends_with(" test --step a --fast") && !words(&plain).contains("nice"));
        assert!(words(&plain.yielding()).starts_with("nice -n 19 "));
    }
}
