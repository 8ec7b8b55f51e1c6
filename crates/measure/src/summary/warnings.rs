//! Warnings about a probe's samples.

use super::headline::{group_medians, slope};
use crate::probe::Meta;
use crate::samples::{EpochSamples, ProbeSamples};
use crate::stats::{self, FEWEST_GROUPS};
use tollgate_record::number::plural;
use tollgate_record::{Estimate, Warning, warning};

/// Relative difference of the two estimators that is worth a warning.
const ESTIMATORS_APART: f64 = 0.03;
/// Difference in ticks that may be the clock's resolution.
const RESOLUTION: f64 = 0.5;
/// Share of visits disturbed by another task that is worth a warning.
const DISTURBED: f64 = 0.1;

/// About the shape of the samples that the headline is made of.
pub(super) fn shape(
    probe: &ProbeSamples,
    headline: &Estimate,
    samples: &[f64],
    per_pass: f64,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |kind, text| warnings.push(Warning::new(kind, text));
    let (figure, epochs) = (headline.estimate, probe.epochs.len());
    if let Some(slope) = slope(probe, per_pass) {
        let apart = slope.estimate - figure;
        let overlap = slope.ci[0] <= headline.ci[1] && headline.ci[0] <= slope.ci[1];
        if !overlap && apart.abs() > (ESTIMATORS_APART * figure.abs()).max(RESOLUTION) {
            let text = format!("batches of 2N differ from batches of N by {:+.1} %", 100.0 * apart / figure);
            warn(warning::ESTIMATORS_DISAGREE, text);
        }
    }
    let unsteady = probe.epochs.iter().filter(|epoch| !epoch.steady).count();
    if unsteady * 2 > epochs {
        let of = plural(epochs, "epoch", "epochs");
        let text = format!("still warming up when sampling began, in {unsteady} of {of}");
        warn(warning::NOT_STEADY, text);
    }
    if epochs < FEWEST_GROUPS {
        let epochs = plural(epochs, "epoch", "epochs");
        let text = format!("{epochs} only: the interval does not show how processes differ");
        warn(warning::FEW_EPOCHS, text);
    }
    if let Some(levels) = stats::two_levels(samples).filter(|levels| levels.high - levels.low > RESOLUTION) {
        let text = format!(
            "two levels: {:.0} % of the batches take {:.2} times as long as the others",
            100.0 * levels.high_share,
            levels.high / levels.low
        );
        warn(warning::TWO_LEVELS, text);
    }
    let drift = stats::drift(&group_medians(probe, per_pass));
    if let Some(change) = drift.filter(|change| (change * figure).abs() > RESOLUTION) {
        warn(warning::DRIFT, format!("drifted by {:+.1} % during the run", 100.0 * change));
    }
    warnings
}

/// About what other tasks did to the probe.
pub(super) fn disturbance(meta: &Meta, probe: &ProbeSamples) -> Vec<Warning> {
    let sum = |of: fn(&EpochSamples) -> u64| probe.epochs.iter().map(of).sum::<u64>();
    let visits = sum(|epoch| epoch.visits);
    let mut warnings = Vec::new();
    let mut warn = |kind, text| warnings.push(Warning::new(kind, text));
    let migrated = sum(|epoch| epoch.migrated);
    if migrated > 0 {
        let text = format!("moved to another CPU in {migrated} of {visits} visits, in spite of the pin");
        warn(warning::MIGRATED, text);
    }
    // The peer of a probe that switches tasks preempts it all the time, so the count says nothing about others.
    let switches = meta.proof.iter().any(|claim| claim.key.starts_with("switches"));
    let share = sum(|epoch| epoch.interrupted) as f64 / visits.max(1) as f64;
    if !switches && share > DISTURBED {
        let text = format!("another task took the CPU in {:.0} % of the visits", share * 100.0);
        warn(warning::PREEMPTED, text);
    }
    let cut = probe.epochs.iter().filter(|epoch| epoch.cut).count();
    if cut > 0 {
        let text = format!(
            "sampled less than planned in {cut} of {} epochs: its batches took many times their planned time",
            probe.epochs.len()
        );
        warn(warning::CUT_SHORT, text);
    }
    warnings
}
