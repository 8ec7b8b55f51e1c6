//! The usual difference between two runs of the same thing.
//!
//! The processes of one run follow one another within seconds; another run, minutes later, meets other
//! neighbors, other page frames, another placement. That part of the noise does not show within a run. It is
//! taken from the comparison itself, in which most probes have not changed (the empirical null of Efron 2004),
//! with a measured floor and a cap, so that a change of all probes is not mistaken for noise. The cap is
//! lifted where probes that never enter the kernel moved as well: nothing that two runs of one program on one host
//! can differ in moves those, but the machine itself (a neighbor on the same core, say).

use crate::stats::{Shift, Z, median};
use tollgate_record::Measurement;

/// Probes that vary alike from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// One task on one CPU.
    Alone,
    /// Several tasks: the scheduler and the other tasks that it serves take part.
    Tasks,
    /// The kernel hands out memory: which frames and buffers, and what of them the caches still hold, is the same throughout
    /// a run and differs from run to run.
    Fresh,
    /// Two CPUs: wake-ups, idle states and the path between caches take part.
    Across,
}

/// Probes whose crossing takes memory from the kernel without a fault: a message in a socket is a buffer of the kernel, and
/// a filter is code that the kernel has put somewhere.
pub const FROM_THE_KERNEL: [&str; 3] =
    ["thread/socketpair", "process/socketpair", "syscall/getppid-filter-run"];

impl Class {
    /// In the order of their numbers.
    pub(super) const ALL: [Self; 4] = [Self::Alone, Self::Tasks, Self::Fresh, Self::Across];

    pub(crate) fn of(result: &Measurement) -> Self {
        let proves = |what: &str| result.proof.keys().any(|key| key.starts_with(what));
        let switches = proves("switches");
        match result.family() {
            "core" => Self::Across,
            "spawn" => Self::Fresh,
            _ if FROM_THE_KERNEL.contains(&result.probe.as_str()) => Self::Fresh,
            "thread" | "process" | "switch" | "ring" => Self::Tasks,
            _ if proves("minor") || proves("major") => Self::Fresh,
            _ if switches && result.family() != "fiber" => Self::Tasks,
            _ => Self::Alone,
        }
    }

    /// Standard deviation of a run's figure around the mean of many, in logarithms, in core cycles: the least
    /// that is taken for granted. METHOD.md has the measurements behind it.
    pub(crate) fn floor(self) -> f64 {
        match self {
            Self::Alone => 0.004,
            Self::Tasks => 0.005,
            Self::Fresh => 0.030,
            Self::Across => 0.030,
        }
    }
}

/// Probes of a class from which its spread can be taken.
const ENOUGH: usize = 8;
/// The largest noise, as a standard deviation of a difference.
pub(super) const CAP: f64 = 0.05;
/// Probes that never enter the kernel from which the machine's own part can be taken.
pub(super) const ENOUGH_CONTROLS: usize = 4;
/// The median of the absolute value of a standard normal variable.
const HALF: f64 = 0.674_489_750_196_081_7;

/// Standard deviation of the difference of two runs that comes on top of what their processes show, from the
/// shifts of all probes of a class; `machine` is what [`machine_wide`] found.
pub(super) fn between_runs(class: Class, shifts: &[Shift], machine: Option<f64>) -> f64 {
    let floor = (class.floor() * std::f64::consts::SQRT_2).max(machine.unwrap_or(0.0));
    if shifts.len() < ENOUGH {
        return floor;
    }
    on_top(shifts).clamp(floor, CAP.max(floor))
}

/// The same for probes that never enter the kernel, if it exceeds the largest noise of others.
pub(super) fn machine_wide(controls: &[Shift]) -> Option<f64> {
    let seen = if controls.len() < ENOUGH_CONTROLS { 0.0 } else { on_top(controls) };
    (seen > CAP).then_some(seen)
}

/// The largest significant movement above `least`, in logarithms, of work that no change of a program or of the kernel can
/// move.
pub(super) fn most_moved(fixed: &[Shift], least: f64) -> Option<f64> {
    let certainly = fixed.iter().filter(|shift| shift.low.max(-shift.high) > least);
    certainly.map(|shift| shift.estimate).max_by(|a, b| a.abs().total_cmp(&b.abs()))
}

/// Standard deviation of shifts beyond what their own intervals explain.
fn on_top(shifts: &[Shift]) -> f64 {
    let sizes: Vec<f64> = shifts.iter().map(|shift| shift.estimate.abs()).collect();
    let own: Vec<f64> = shifts.iter().map(|shift| ((shift.high - shift.low) / 2.0 / Z).powi(2)).collect();
    let seen = (median(&sizes) / HALF).powi(2) - median(&own);
    seen.max(0.0).sqrt()
}

/// Probes that pass a cache line between two CPUs and do nothing else: only the path between them moves these.
pub const CONTROLS_ACROSS: [&str; 2] = ["core/spin", "core/cas"];

pub(super) fn is_control_across(result: &Measurement) -> bool {
    CONTROLS_ACROSS.contains(&result.probe.as_str())
}

/// Whether a probe runs no kernel code: a change of the kernel does not move it.
pub(super) fn is_control(result: &Measurement) -> bool {
    matches!(result.family(), "call" | "fiber")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::{Per, Status};

    fn shifts(estimates: &[f64]) -> Vec<Shift> {
        let half = 0.001;
        estimates
            .iter()
            .map(|&estimate| Shift { estimate, low: estimate - half, high: estimate + half })
            .collect()
    }

    #[test]
    fn one_probe_that_changed_does_not_move_it_and_many_that_vary_do() {
        let floor = Class::Alone.floor() * std::f64::consts::SQRT_2;
        assert_eq!(between_runs(Class::Alone, &shifts(&[0.3; 7]), None), floor, "too few to tell");
        let quiet = shifts(&[0.001, -0.002, 0.3, 0.001, -0.001, 0.002, -0.3, 0.001, 0.0]);
        assert_eq!(between_runs(Class::Alone, &quiet, None), floor);
        let restless = shifts(&[0.02, -0.02, 0.02, -0.02, 0.02, -0.02, 0.02, -0.02]);
        assert!((between_runs(Class::Alone, &restless, None) - 0.02 / HALF).abs() < 1e-3);
        let all_changed = shifts(&[0.3; 8]);
        assert_eq!(
            between_runs(Class::Alone, &all_changed, None),
            CAP,
            "a change of all probes is not noise"
        );
    }

    #[test]
    fn what_takes_memory_from_the_kernel_varies_more_from_run_to_run_than_what_only_switches() {
        let class = |probe: &str, proof: &str| {
            let mut result = Measurement::empty(probe, "host", Per::Switch, Status::Measured);
            result.proof.insert(proof.into(), 1.0);
            Class::of(&result)
        };
        assert_eq!(class("fault/anonymous", "minor-per-touch"), Class::Fresh);
        assert_eq!(class("fault/protection", "handler-runs-per-touch"), Class::Alone, "no page is taken");
        assert_eq!(class("spawn/fork", "exits-per-crossing"), Class::Fresh);
        assert_eq!(class("process/socketpair", "switches-per-crossing"), Class::Fresh);
        assert_eq!(class("process/pipe", "switches-per-crossing"), Class::Tasks);
        assert_eq!(class("core/pipe", "messages-per-crossing"), Class::Across);
    }

    #[test]
    fn work_that_nothing_can_change_moved_as_far_as_it_seems_once_it_is_certain_that_it_moved() {
        let shift =
            |estimate: f64, half: f64| Shift { estimate, low: estimate - half, high: estimate + half };
        let by_four_percent_at_least = [shift(0.5, 0.46), shift(0.2, 0.3)];
        assert_eq!(most_moved(&by_four_percent_at_least, 0.05), None);
        assert_eq!(most_moved(&by_four_percent_at_least, 0.0), Some(0.5));
        assert_eq!(most_moved(&[shift(0.5, 0.44), shift(-0.6, 0.5), shift(0.1, 0.01)], 0.05), Some(-0.6));
    }

    #[test]
    fn what_moves_the_controls_too_is_the_machine() {
        let moved = machine_wide(&shifts(&[0.2, 0.25, 0.18, 0.21]));
        assert!((moved.unwrap() - 0.205 / HALF).abs() < 1e-3, "{moved:?}");
        assert_eq!(machine_wide(&shifts(&[0.2, 0.25, 0.18])), None, "too few to tell");
        assert_eq!(machine_wide(&shifts(&[0.01, -0.02, 0.3, 0.01])), None, "as much as anything varies");
        let all_moved = shifts(&[0.2; 8]);
        assert_eq!(between_runs(Class::Alone, &all_moved, None), CAP, "the kernel changed");
        assert!(between_runs(Class::Alone, &all_moved, moved) > 0.29, "the machine did");
        assert!(between_runs(Class::Across, &all_moved[..2], moved) > 0.29, "for the few as well");
    }
}
