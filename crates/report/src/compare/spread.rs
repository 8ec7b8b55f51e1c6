//! What two runs of the same thing differ by anyway.
//!
//! The processes of one run follow one another within seconds; another run, minutes later, meets other
//! neighbors, other page frames, another placement. That part of the noise does not show within a run. It is
//! taken from the comparison itself, in which most probes have not changed (the empirical null of Efron 2004),
//! with a floor that was measured and a cap, so that a change which hits all probes is not taken for noise. The cap is
//! lifted where probes that never enter the kernel moved as well: nothing that two runs of one program on one host
//! can differ in moves those, but the machine itself (a neighbor on the same core, say).

use super::stats::{Shift, Z, median};
use tollgate_record::Measurement;

/// Probes that vary alike from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// One task on one CPU.
    Alone,
    /// Several tasks: the scheduler and whoever else it serves take part.
    Tasks,
    /// Two CPUs: wake-ups, idle states and the path between caches take part.
    Across,
}

impl Class {
    /// In the order of their numbers.
    pub(super) const ALL: [Self; 3] = [Self::Alone, Self::Tasks, Self::Across];

    pub(crate) fn of(result: &Measurement) -> Self {
        let switches = result.proof.keys().any(|key| key.starts_with("switches"));
        match result.family() {
            "core" => Self::Across,
            "thread" | "process" | "spawn" | "switch" | "ring" => Self::Tasks,
            _ if switches && result.family() != "fiber" => Self::Tasks,
            _ => Self::Alone,
        }
    }

    /// Standard deviation of a run's figure around the mean of many, in logarithms, in core cycles: the least
    /// that is taken for granted. METHOD.md has the measurements behind it.
    pub(crate) fn floor(self) -> f64 {
        match self {
            Self::Alone => 0.004,
            Self::Tasks => 0.010,
            Self::Across => 0.030,
        }
    }
}

/// Probes of a class from which its spread can be taken.
const ENOUGH: usize = 8;
/// The most that is taken for noise, as a standard deviation of a difference.
const CAP: f64 = 0.05;
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

/// The same of probes that never enter the kernel, where it is more than would be taken for noise in others.
pub(super) fn machine_wide(controls: &[Shift]) -> Option<f64> {
    let seen = if controls.len() < ENOUGH_CONTROLS { 0.0 } else { on_top(controls) };
    (seen > CAP).then_some(seen)
}

/// The most that any of these certainly moved, in logarithms, where that is more than would be taken for noise: work that
/// no change of a program or of the kernel can move.
pub(super) fn most_moved(fixed: &[Shift]) -> Option<f64> {
    let moved = fixed.iter().map(|shift| shift.low.max(-shift.high));
    moved.max_by(f64::total_cmp).filter(|moved| *moved > CAP)
}

/// Standard deviation of shifts beyond what their own intervals explain.
fn on_top(shifts: &[Shift]) -> f64 {
    let sizes: Vec<f64> = shifts.iter().map(|shift| shift.estimate.abs()).collect();
    let own: Vec<f64> = shifts.iter().map(|shift| ((shift.high - shift.low) / 2.0 / Z).powi(2)).collect();
    let seen = (median(&sizes) / HALF).powi(2) - median(&own);
    seen.max(0.0).sqrt()
}

/// Whether a probe passes a cache line between two CPUs and nothing else: only the path between them moves it.
pub(super) fn is_control_across(result: &Measurement) -> bool {
    matches!(result.probe.as_str(), "core/spin" | "core/cas")
}

/// Whether a probe runs no kernel code: a change of the kernel does not move it.
pub(super) fn is_control(result: &Measurement) -> bool {
    matches!(result.family(), "call" | "fiber")
}

#[cfg(test)]
mod tests {
    use super::*;

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
