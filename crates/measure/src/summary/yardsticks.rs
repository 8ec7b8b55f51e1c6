//! The yardsticks of a run: one figure for each epoch, made like a headline; and each probe beside the one that explains
//! it best.

use super::headline::HEADLINE_QUANTILE;
use crate::clock::Scale;
use crate::stats::{median_interval, quantile, sorted};
use crate::yardstick::YARDSTICKS;
use tollgate_record::{EpochFigure, RelativeFigure, Slope, Yardstick, slope};

/// Ticks of each yardstick in an epoch.
type Ticks = [Vec<u64>; YARDSTICKS.len()];

/// The yardsticks that were timed in any epoch.
pub(super) fn yardsticks(epochs: &[Ticks], scale: Scale) -> Vec<Yardstick> {
    let one = |(kind, name): (usize, &&str)| {
        let level = |epoch: &Ticks| {
            let ticks: Vec<f64> = epoch[kind].iter().map(|&ticks| ticks as f64).collect();
            let level = quantile(&sorted(&ticks), HEADLINE_QUANTILE) * 1e9 / scale.hz;
            level.is_finite().then_some(level)
        };
        Yardstick { name: (*name).into(), epochs: epochs.iter().map(level).collect() }
    };
    let all = YARDSTICKS.iter().enumerate().map(one);
    all.filter(|yardstick| yardstick.epochs.iter().any(Option::is_some)).collect()
}

/// The figure beside the yardstick that leaves least of what its epochs differ by. The probe took part in the first
/// `taken` epochs of the run; if an epoch has no figure, it is unknown which yardstick belongs to which.
pub(super) fn relative(
    epochs: &[EpochFigure],
    taken: usize,
    yardsticks: &[Yardstick],
) -> Option<RelativeFigure> {
    let pairs = |yardstick: &Yardstick| -> Vec<[f64; 2]> {
        let both = yardstick.epochs.iter().zip(epochs).filter_map(|(work, epoch)| Some([(*work)?, epoch.ns]));
        both.filter(|both| both.iter().all(|ns| *ns > 0.0)).collect()
    };
    let explained = |yardstick| {
        let pairs = pairs(yardstick);
        let slope = slope(&[pairs.iter().map(|both| both.map(f64::ln)).collect()])?;
        let ratios: Vec<f64> = pairs.iter().map(|[work, ns]| ns / work).collect();
        Some((yardstick, slope, median_interval(&ratios)?))
    };
    let all = yardsticks.iter().filter(|_| epochs.len() == taken).filter_map(explained);
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
        let yardstick = |name: &str, epochs: &[f64]| Yardstick {
            name: name.into(),
            epochs: epochs.iter().copied().map(Some).collect(),
        };
        let still: Vec<f64> = (0..8).map(|at| [100.0, 100.1][at % 2]).collect();
        let yardsticks = [yardstick("chain", &still), yardstick("l1", &work)];
        let epoch = |(at, work): (usize, &f64)| EpochFigure {
            ns: work / 20.0 + [0.0, 0.001][at % 2],
            core_hz: None,
            paired: None,
        };
        let epochs: Vec<EpochFigure> = work.iter().enumerate().map(epoch).collect();
        let found = relative(&epochs, 8, &yardsticks).unwrap();
        assert_eq!(found.yardstick, "l1");
        assert!((found.ratio - 0.05).abs() < 1e-4 && (found.slope - 1.0).abs() < 0.01, "{found:?}");
        assert!(found.ci[0] >= 0.05 && found.ci[1] < 0.0501, "{found:?}");
        assert_eq!(relative(&epochs, 9, &yardsticks), None, "an epoch is missing");
        assert_eq!(relative(&epochs, 8, &yardsticks[..1]), None, "nothing explains it");
    }
}
