//! A turn: one process of a runtime, in which one row or several are measured.

use super::plan::{Plan, fit, long, long_warm, short, short_warm};
use crate::cache::{self, Cache};
use crate::process::{self, Fate, Limits};
use crate::room::Room;
use crate::row::{Row, State};
use crate::sources::Sources;
use crate::transcript::{self, Asked, Refused, Transcript};
use std::slice;
use std::sync::atomic::AtomicBool;
use tollgate_measure::clock::Source;

/// Where to measure, and with which means.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The measured CPU.
    pub cpu: usize,
    /// The clock with which the core's rate is found.
    pub source: Source,
    /// Milliseconds that a program may be silent beyond the time of its work.
    pub patience_ms: u64,
    /// The memory that may be used.
    pub room: Room,
    /// Where runtimes are built.
    pub cache: Cache,
    /// Where they come from.
    pub sources: Sources,
}

/// Why a turn gave nothing.
pub(super) enum Halt {
    Stopped,
    State(State),
}

impl Halt {
    fn state(self) -> State {
        match self {
            Self::Stopped => State::Failed("stopped".into()),
            Self::State(state) => state,
        }
    }
}

/// A short run that finds how long a batch must be.
pub(super) fn calibrate(
    row: &mut Row,
    plan: &Plan,
    setting: &Setting,
    stop: &AtomicBool,
) -> Result<Transcript, Halt> {
    let said = run_one(row, &short(row), short_warm(row.tasks, plan), setting, stop)?;
    fit(row, plan, &said);
    Ok(said)
}

/// One epoch of a row.
pub(super) fn visit(row: &mut Row, plan: &Plan, setting: &Setting, stop: &AtomicBool) -> Result<(), Halt> {
    let said = run_one(row, &long(row, plan), long_warm(row, plan), setting, stop)?;
    row.epochs.push(said);
    Ok(())
}

/// One epoch of several rows, in one process.
pub(super) fn visit_together(
    all: &mut [Row],
    group: &[usize],
    is_first: bool,
    plan: &Plan,
    setting: &Setting,
    stop: &AtomicBool,
) -> Result<(), Halt> {
    let run = |rows: &[Row], ask: &dyn Fn(&Row) -> Asked, warm| {
        let rows: Vec<&Row> = group.iter().map(|&at| &rows[at]).collect();
        let asked: Vec<Asked> = rows.iter().map(|row| ask(row)).collect();
        run(&rows, &asked, warm, setting, stop)
    };
    if is_first {
        let said = run(all, &short, short_warm(1, plan))?;
        group.iter().zip(&said).for_each(|(&at, said)| fit(&mut all[at], plan, said));
    }
    let said = run(all, &|row| long(row, plan), long_warm(&all[group[0]], plan))?;
    group.iter().zip(said).for_each(|(&at, said)| all[at].epochs.push(said));
    Ok(())
}

fn run_one(
    row: &Row,
    asked: &Asked,
    warm: (u64, u64),
    setting: &Setting,
    stop: &AtomicBool,
) -> Result<Transcript, Halt> {
    let said = run(&[row], slice::from_ref(asked), warm, setting, stop)?;
    said.into_iter().next().ok_or_else(|| Halt::State(State::Failed(Refused::Silent.to_string())))
}

/// Runs rows of one runtime in one process, one after the other.
fn run(
    rows: &[&Row],
    asked: &[Asked],
    (least, most): (u64, u64),
    setting: &Setting,
    stop: &AtomicBool,
) -> Result<Vec<Transcript>, Halt> {
    let failed = |why: String| Halt::State(State::Failed(why));
    let Some(row) = rows.first() else { return Ok(Vec::new()) };
    let list = |of: &dyn Fn(usize) -> String| (0..rows.len()).map(of).collect::<Vec<_>>().join(",");
    let arguments = [
        format!("runtime={}", row.runtime.id),
        format!("mechanism={}", list(&|at| rows[at].mechanism.id.clone())),
        format!("tasks={}", row.tasks),
        format!("batches={}", list(&|at| asked[at].batches.to_string())),
        format!("batch={}", list(&|at| asked[at].batch.to_string())),
        format!("warm_min_ms={least}"),
        format!("warm_max_ms={most}"),
        format!("singles={}", list(&|at| asked[at].singles.to_string())),
        format!("memory={}", setting.room.bytes),
        "seed=1".into(),
    ];
    let command = || {
        let mut command = cache::command(&row.runtime.run, &row.runtime, row.folder.as_deref());
        command.args(&arguments);
        command
    };
    // Ten times the expected time, and an allowance for making each task.
    let work =
        rows.iter().zip(asked).map(|(row, asked)| (asked.batches * asked.batch) as f64 * row.guess / 1e6);
    let work = (10.0 * work.sum::<f64>()) as u64;
    let lines = asked.iter().map(Asked::lines).sum();
    let limits = Limits {
        patience_ms: setting.patience_ms + most * rows.len() as u64 + work + row.tasks / 10,
        lines,
        bytes: lines * 64 + 4_096,
        memory: Some(setting.room.bytes.max(row.runtime.base_bytes)),
        cpu: Some(setting.cpu),
    };
    let done = process::run(command, &limits, stop)
        .map_err(|error| failed(format!("'{}' cannot be started: {error}", row.runtime.run.join(" "))))?;
    match done.fate {
        Some(Fate::Stopped) => return Err(Halt::Stopped),
        Some(fate) => return Err(failed(format!("{fate}{}", cache::last_words(&done.stderr)))),
        None => {}
    }
    transcript::read_each(&done.stdout, asked).map_err(|refused| match refused {
        Refused::Skip(why) => {
            let (reason, enable) = why.split_once(": ").unwrap_or((&why, "what it asks for"));
            Halt::State(State::Skipped(reason.into(), enable.into()))
        }
        other => failed(format!("{other}{}", cache::last_words(&done.stderr))),
    })
}

/// Runs a mechanism once and checks its answer, for the conformance test.
///
/// # Errors
/// The state of the row: skipped or failed, with the reason.
pub fn once(row: &Row, asked: &Asked, setting: &Setting) -> Result<Transcript, State> {
    run_one(row, asked, (1, 200), setting, &AtomicBool::new(false)).map_err(Halt::state)
}

/// The same for several rows of one runtime, in one process.
///
/// # Errors
/// The state of the first row that was skipped or failed.
pub fn once_together(rows: &[&Row], asked: &[Asked], setting: &Setting) -> Result<Vec<Transcript>, State> {
    run(rows, asked, (1, 200), setting, &AtomicBool::new(false)).map_err(Halt::state)
}
