//! Readings: where they come from, and whether they can be believed.

use super::{Counter, Event};
use std::io;

/// A reading of one task's group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Nanoseconds since the group was enabled.
    pub enabled: u64,
    /// Nanoseconds of these in which it was on the processor's counters.
    pub running: u64,
    /// One value for each counter of the group.
    pub values: Vec<u64>,
}

/// Why a group was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The index of the counter in its group.
    pub counter: usize,
    /// The system's error number.
    pub errno: i32,
}

/// A source of counters.
pub trait Counters {
    /// Opens these counters as one group that counts one task (0 for the caller), and starts it. The number
    /// names the group afterwards.
    ///
    /// # Errors
    /// Which counter was refused, and how.
    fn open(&mut self, group: &[Counter], task: i32) -> Result<usize, Refused>;

    /// Reads a group.
    ///
    /// # Errors
    /// The system's error.
    fn read(&mut self, group: usize) -> io::Result<Reading>;

    /// Closes all groups.
    fn close(&mut self);
}

/// A counter and its figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// The counter.
    pub counter: Counter,
    /// Events for each crossing, or why there is no figure.
    pub per_crossing: Result<f64, CounterError>,
}

/// Why there is no figure.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CounterError {
    /// It was not opened.
    #[error("{}", refusal(.0.errno))]
    Refused(Refused),
    /// It was opened and could not be read.
    #[error("cannot be read (error number {0})")]
    Unreadable(i32),
    /// It was never on the processor's counters.
    #[error("was never scheduled: another user, or the NMI watchdog, holds the counters")]
    NeverRan,
    /// It counted for this share of the time only; the figure would be an extrapolation.
    #[error("was multiplexed: it counted for {:.0} % of the time only", .0 * 100.0)]
    Multiplexed(f64),
    /// It fell.
    #[error("ran backwards")]
    Backwards,
    /// It stayed at zero where that is impossible.
    #[error("opens but stays at zero: the event is not implemented here")]
    Zero,
    /// More of a part than of the whole.
    #[error("counts more misses than accesses")]
    MoreThanWhole,
    /// A constant number of cycles for each instruction is a simulator's, not a processor's.
    #[error("shows exactly {0} cycles for each instruction: a simulation, not a processor")]
    Constant(u64),
}

fn refusal(errno: i32) -> &'static str {
    match errno {
        libc::ENOENT => {
            "there is no such event: no counters are exposed here, or the processor does not have it"
        }
        libc::EOPNOTSUPP | libc::ENODEV | libc::ENXIO => "no counters are exposed here",
        libc::EACCES | libc::EPERM => {
            "is refused: kernel.perf_event_paranoid, a seccomp filter or a security module forbids it"
        }
        libc::EINVAL => "the processor cannot count this event in this mode, or not together with the others",
        libc::ENOSYS => "this kernel has no perf events, or a seccomp filter hides them",
        libc::EMFILE | libc::ENFILE => "too many files are open to open a counter for each task",
        libc::EBUSY => "another user has reserved the counters",
        libc::ESRCH => "the task to be counted is gone",
        _ => "the system refused to open it",
    }
}

/// Fewest counts for which an exact ratio is not chance.
const MANY: u64 = 10_000;

/// Events for each crossing of one group, summed over all tasks; one entry for each counter.
///
/// # Errors
/// The fault of the group as a whole.
pub fn judge(
    group: &[Counter],
    before: &[Reading],
    after: &[Reading],
    crossings: u64,
) -> Result<Vec<Result<f64, CounterError>>, CounterError> {
    let mut sums = vec![0_u64; group.len()];
    for (before, after) in before.iter().zip(after) {
        let (Some(enabled), Some(running)) =
            (after.enabled.checked_sub(before.enabled), after.running.checked_sub(before.running))
        else {
            return Err(CounterError::Backwards);
        };
        // A task that never ran enabled nothing: its counters are not on while it sleeps.
        if enabled > 0 && running == 0 {
            return Err(CounterError::NeverRan);
        }
        if running < enabled {
            return Err(CounterError::Multiplexed(running as f64 / enabled as f64));
        }
        for (at, sum) in sums.iter_mut().enumerate() {
            let value = |reading: &Reading| reading.values.get(at).copied().unwrap_or(0);
            *sum += value(after).checked_sub(value(before)).ok_or(CounterError::Backwards)?;
        }
    }
    let of = |event: Event| group.iter().position(|counter| counter.event == event).map(|at| sums[at]);
    for (counter, &sum) in group.iter().zip(&sums) {
        if sum == 0 && counter.event.never_zero() {
            return Err(CounterError::Zero);
        }
        if counter.event.part_of().and_then(of).is_some_and(|whole| sum > whole) {
            return Err(CounterError::MoreThanWhole);
        }
    }
    // A simulator executes the instructions that it counts; only its cycles are made up.
    let constant = match (of(Event::Instructions), of(Event::Cycles)) {
        (Some(instructions), Some(cycles)) if instructions > MANY && cycles.is_multiple_of(instructions) => {
            Some(cycles / instructions)
        }
        _ => None,
    };
    let figure = |(counter, &sum): (&Counter, &u64)| match constant {
        Some(ratio) if counter.event == Event::Cycles => Err(CounterError::Constant(ratio)),
        _ => Ok(sum as f64 / crossings.max(1) as f64),
    };
    Ok(group.iter().zip(&sums).map(figure).collect())
}
