//! The yardsticks of a run: one figure for each epoch, made like a headline; and how the batches of each probe follow them.

use super::headline::{HEADLINE_QUANTILE, empty_ticks, per_crossing};
use crate::clock::Scale;
use crate::samples::{EpochSamples, ProbeSamples};
use crate::stats::{median_interval, quantile, sorted};
use crate::yardstick::YARDSTICKS;
use tollgate_judge::{BatchBeside, Fit, regression};
use tollgate_record::{EpochFigure, Measurement, RelativeFigure, TypicalFigure, Yardstick};

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

/// The regression of a probe's batches on the yardsticks beside them, and the typical batch of each epoch, in place.
/// Frequencies must be in place: the regression is of core cycles where they are known. Nothing if not every epoch of the probe has
/// a figure.
pub(super) fn put_regression(
    result: &mut Measurement,
    probe: &ProbeSamples,
    per_pass: f64,
    yardsticks: &[Yardstick],
    scale: Scale,
) {
    if result.epochs.len() != probe.epochs.len() {
        return;
    }
    let kinds: Vec<usize> = (0..YARDSTICKS.len())
        .filter(|&kind| yardsticks.iter().any(|it| it.name == YARDSTICKS[kind]))
        .collect();
    let known = result.epochs.iter().all(|epoch| epoch.core_hz.is_some_and(|hz| hz > 0.0));
    let ghz = |epoch: &EpochFigure| epoch.core_hz.filter(|_| known).unwrap_or(1e9) / 1e9;
    let log = |ticks: f64, epoch: &EpochFigure| (ticks * 1e9 / scale.hz * ghz(epoch)).ln();
    let empty = empty_ticks(probe);
    let of_epoch = |(epoch, samples): (&EpochFigure, &EpochSamples)| -> Vec<BatchBeside> {
        let batches = per_crossing(&samples.batches, empty, per_pass).enumerate();
        let beside = batches.map(|(at, ticks)| {
            let ticks_of = kinds.iter().filter_map(|&kind| samples.yardsticks[kind].get(at));
            let yardsticks = ticks_of.map(|&ticks| log(ticks as f64, epoch)).collect();
            BatchBeside { probe: log(ticks, epoch), yardsticks }
        });
        // If the yardsticks of some batch are missing, it is not known to which batch the others belong.
        beside
            .filter(|_| kinds.iter().all(|&kind| samples.yardsticks[kind].len() == samples.batches.len()))
            .collect()
    };
    let epochs: Vec<Vec<BatchBeside>> = result.epochs.iter().zip(&probe.epochs).map(of_epoch).collect();
    let Some((sums, typical)) = regression(&epochs, kinds.len()) else { return };
    for (epoch, typical) in result.epochs.iter_mut().zip(typical) {
        let ghz = ghz(epoch);
        epoch.typical = typical.map(|it| TypicalFigure {
            ns: it.probe.exp() / ghz,
            yardsticks: it.yardsticks.iter().map(|log| log.exp() / ghz).collect(),
        });
    }
    result.regression = Some(sums);
}

/// The figure beside the yardstick that leaves least of what its batches differ by.
pub(super) fn relative(result: &Measurement, yardsticks: &[Yardstick]) -> Option<RelativeFigure> {
    let explained = |(kind, yardstick): (usize, _)| {
        let fit = Fit::of(&[result.regression.as_ref()?.with(&[kind])?])?;
        let typical = result.epochs.iter().filter_map(|epoch| epoch.typical.as_ref());
        let ratios: Vec<f64> = typical.map(|it| it.ns / it.yardsticks[kind]).collect();
        Some((yardstick, fit, median_interval(&ratios)?))
    };
    let all = yardsticks.iter().enumerate().filter_map(explained);
    let best = all.min_by(|(_, a, _): &(&Yardstick, Fit, _), (_, b, _)| a.left.total_cmp(&b.left));
    best.map(|(yardstick, fit, ratio)| RelativeFigure {
        yardstick: yardstick.name.clone(),
        ratio: ratio.estimate,
        ci: ratio.ci,
        slope: fit.powers[0],
        slope_error: fit.error(&[1.0]),
        left: fit.left,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Batch;
    use tollgate_record::{Per, Status};

    const SCALE: Scale = Scale { hz: 1e9 };

    /// Four epochs of eight batches of ten passes: the fourth part of the batches is slow, as is the second yardstick.
    fn probe() -> ProbeSamples {
        let epoch = |_| {
            let mut epoch = EpochSamples::default();
            for at in 0..8_u64 {
                let slow = if at % 4 == 3 { 13 } else { 10 };
                epoch.batches.push(Batch { ticks: 500 * slow + at / 4, passes: 10 });
                epoch.yardsticks[0].push(10_000 + at / 4);
                epoch.yardsticks[2].push(1_000 * slow);
            }
            epoch
        };
        ProbeSamples { epochs: (0..4).map(epoch).collect(), ..ProbeSamples::default() }
    }

    fn found(probe: &ProbeSamples) -> Measurement {
        let mut result = Measurement::empty("a", "host", Per::Call, Status::Measured);
        result.epochs = vec![EpochFigure { ns: 500.0, core_hz: Some(2e9), ..EpochFigure::default() }; 4];
        let yardsticks = [0, 2].map(|kind| Yardstick { name: YARDSTICKS[kind].into(), epochs: Vec::new() });
        put_regression(&mut result, probe, 1.0, &yardsticks, SCALE);
        result.relative = relative(&result, &yardsticks);
        result
    }

    #[test]
    fn a_probe_is_held_against_the_work_that_slows_down_with_it() {
        let found = found(&probe());
        let relative = found.relative.unwrap();
        assert_eq!(relative.yardstick, YARDSTICKS[2]);
        assert!((relative.ratio - 0.05).abs() < 1e-4 && (relative.slope - 1.0).abs() < 0.01, "{relative:?}");
        let typical = found.epochs[0].typical.as_ref().unwrap();
        // In nanoseconds, whatever the frequency of the core: two of eight are slow.
        assert!((typical.ns - 500.0 * 1.3_f64.powf(0.25)).abs() < 0.5, "{typical:?}");
        assert!((typical.yardsticks[1] / typical.ns - 20.0).abs() < 0.01, "{typical:?}");
        assert_eq!(found.regression.unwrap().batches, 32);
    }

    #[test]
    fn work_that_was_not_timed_beside_every_batch_is_held_against_none() {
        let mut some = probe();
        some.epochs[1].yardsticks[0].pop();
        let with = found(&some);
        assert_eq!(with.regression.unwrap().batches, 24);
        assert!(with.epochs[1].typical.is_none() && with.epochs[2].typical.is_some());
        some.epochs.iter_mut().for_each(|epoch| epoch.yardsticks = Default::default());
        let without = found(&some);
        assert_eq!((without.regression, without.relative), (None, None));
    }
}
