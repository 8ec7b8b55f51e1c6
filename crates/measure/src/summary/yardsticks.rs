//! The yardsticks of a run: one figure for each epoch, made like a headline; and each probe beside the one that explains
//! it best.

use super::headline::HEADLINE_QUANTILE;
use crate::clock::Scale;
use crate::samples::ProbeSamples;
use crate::stats::{median_interval, quantile, sorted};
use crate::yardstick::YARDSTICKS;
use tollgate_record::{EpochFigure, RelativeFigure, Slope, Yardstick, slope};

/// Ticks of each yardstick in an epoch.
type Ticks = [Vec<u64>; YARDSTICKS.len()];

/// The yardsticks that were timed in any epoch.
pub(super) fn yardsticks(epochs: &[Ticks], scale: Scale) -> Vec<Yardstick> {
    let one = |(kind, name): (usize, &&str)| {
        let level = |epoch: &Ticks| level(&epoch[kind], scale);
        Yardstick { name: (*name).into(), epochs: epochs.iter().map(level).collect() }
    };
    let all = YARDSTICKS.iter().enumerate().map(one);
    all.filter(|yardstick| yardstick.epochs.iter().any(Option::is_some)).collect()
}

/// The headline of one kind of work in nanoseconds, to a tenth.
fn level(ticks: &[u64], scale: Scale) -> Option<f64> {
    let ticks: Vec<f64> = ticks.iter().map(|&ticks| ticks as f64).collect();
    let ns = quantile(&sorted(&ticks), HEADLINE_QUANTILE) * 1e9 / scale.hz;
    ns.is_finite().then(|| (ns * 10.0).round() / 10.0)
}

/// Writes into each epoch what the yardsticks of the run took beside its batches, if every epoch of the probe has a figure.
pub(super) fn put_beside(
    epochs: &mut [EpochFigure],
    probe: &ProbeSamples,
    yardsticks: &[Yardstick],
    scale: Scale,
) {
    if epochs.len() != probe.epochs.len() {
        return;
    }
    let kinds: Vec<usize> = (0..YARDSTICKS.len())
        .filter(|&kind| yardsticks.iter().any(|it| it.name == YARDSTICKS[kind]))
        .collect();
    for (epoch, samples) in epochs.iter_mut().zip(&probe.epochs) {
        epoch.yardsticks = kinds.iter().map(|&kind| level(&samples.yardsticks[kind], scale)).collect();
    }
}

/// The figure beside the yardstick that leaves least of what its epochs differ by.
pub(super) fn relative(epochs: &[EpochFigure], yardsticks: &[Yardstick]) -> Option<RelativeFigure> {
    let pairs = |kind: usize| -> Vec<[f64; 2]> {
        let both = epochs.iter().filter_map(|epoch| Some([(*epoch.yardsticks.get(kind)?)?, epoch.ns]));
        both.filter(|both| both.iter().all(|ns| *ns > 0.0)).collect()
    };
    let explained = |(kind, yardstick): (usize, _)| {
        let pairs = pairs(kind);
        let slope = slope(&[pairs.iter().map(|both| both.map(f64::ln)).collect()])?;
        let ratios: Vec<f64> = pairs.iter().map(|[work, ns]| ns / work).collect();
        Some((yardstick, slope, median_interval(&ratios)?))
    };
    let all = yardsticks.iter().enumerate().filter_map(explained);
    let best = all.min_by(|(_, a, _), (_, b, _)| a.left.total_cmp(&b.left));
    best.map(|(yardstick, Slope { slope, error, left }, ratio)| RelativeFigure {
        yardstick: yardstick.name.clone(),
        ratio: ratio.estimate,
        ci: ratio.ci,
        slope,
        slope_error: error,
        left,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_held_against_the_work_that_slows_down_with_it() {
        let work = [100.0, 100.0, 130.0, 100.0, 130.0, 100.0, 100.0, 130.0];
        let yardstick = |name: &str| Yardstick { name: name.into(), epochs: vec![None; 8] };
        let yardsticks = [yardstick("multiply"), yardstick("l1-walk")];
        let epoch = |(at, work): (usize, &f64)| EpochFigure {
            ns: work / 20.0 + [0.0, 0.001][at % 2],
            yardsticks: vec![Some([100.0, 100.1][at % 2]), Some(*work)],
            ..EpochFigure::default()
        };
        let mut epochs: Vec<EpochFigure> = work.iter().enumerate().map(epoch).collect();
        let found = relative(&epochs, &yardsticks).unwrap();
        assert_eq!(found.yardstick, "l1-walk");
        assert!((found.ratio - 0.05).abs() < 1e-4 && (found.slope - 1.0).abs() < 0.01, "{found:?}");
        assert!(found.ci[0] >= 0.05 && found.ci[1] < 0.0501, "{found:?}");
        assert_eq!(relative(&epochs, &yardsticks[..1]), None, "nothing explains it");
        epochs.iter_mut().for_each(|epoch| epoch.yardsticks.clear());
        assert_eq!(relative(&epochs, &yardsticks), None, "it was not timed beside the probe");
    }
}
