//! The result of the pairs of an epoch: the ratio of a batch to the one beside it.

use super::headline::empty_ticks;
use crate::samples::{EpochSamples, Pair, ProbeSamples};
use crate::stats::median;
use tollgate_record::PairedFigure;

/// The standard deviation of a normal distribution over the median of its distances from the middle.
const DEVIATION: f64 = 1.482_602_218_505_602;
/// The quantile of the normal distribution that encloses 95 %.
const NORMAL_95: f64 = 1.959_963_984_540_054;
/// The standard error of the median of a normal distribution, in standard errors of its mean: the root of half of pi.
const MEDIAN: f64 = 1.253_314_137_315_5;

/// The ratio of each epoch that has batches; `None` for one without pairs.
pub fn paired(probe: &ProbeSamples) -> Vec<Option<PairedFigure>> {
    let empty = empty_ticks(probe);
    let with_batches = probe.epochs.iter().filter(|epoch| !epoch.batches.is_empty());
    with_batches.map(|epoch| ratio(epoch, empty)).collect()
}

/// The deviation of a normal distribution with the same uncertainty of the median as the pairs of an epoch. It comes from
/// the distance between two order statistics of the pairs (McKean and Schrader 1984), so that
/// two levels far apart do not matter if most pairs are of one level. `None` with fewer than 6 pairs.
pub fn variation_of_pairs(probe: &ProbeSamples) -> Option<f64> {
    let mut logs = logs(probe.epochs.last()?, empty_ticks(probe));
    logs.sort_by(f64::total_cmp);
    let n = logs.len() as f64;
    let outside = ((n + 1.0) / 2.0 - NORMAL_95 * (n / 4.0).sqrt()).round() as usize;
    let low = logs.get(outside.checked_sub(1)?).filter(|_| logs.len() >= 6)?;
    let error = (logs[logs.len() - outside] - low) / (2.0 * NORMAL_95);
    Some(error * n.sqrt() / MEDIAN)
}

/// The median over all pairs of the logarithm of the ratio. Each side is first in every other pair, so what the first
/// batch leaves in the caches for the second moves half of the pairs up and half of them down.
fn ratio(epoch: &EpochSamples, empty: f64) -> Option<PairedFigure> {
    let logs = logs(epoch, empty);
    if logs.is_empty() {
        return None;
    }
    let middle = median(&logs);
    let distances: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
    Some(PairedFigure {
        ratio: middle.exp(),
        pairs: logs.len() as u64,
        spread: DEVIATION * median(&distances),
    })
}

fn logs(epoch: &EpochSamples, empty: f64) -> Vec<f64> {
    let log = |pair: &Pair| {
        let [own, other] = [pair.own, pair.other].map(|batch| batch.ticks as f64 - empty);
        (own > 0.0 && other > 0.0).then(|| (own / other).ln())
    };
    epoch.pairs.iter().filter_map(log).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Batch;

    fn epoch(pairs: &[(u64, u64)]) -> EpochSamples {
        let batch = |ticks| Batch { passes: 10, ticks };
        let pair = |&(own, other): &(u64, u64)| Pair { own: batch(own), other: batch(other) };
        let batches = pairs.iter().map(|(own, _)| batch(*own)).collect();
        EpochSamples {
            pairs: pairs.iter().map(pair).collect(),
            batches,
            empty: vec![100],
            ..Default::default()
        }
    }

    #[test]
    fn a_ratio_is_the_middle_one_without_the_empty_batch() {
        // Without 100: 2, 4, 8, and one pair that a jump separates.
        let jump = epoch(&[(300, 200), (500, 200), (900, 200), (100_000, 200), (110, 200)]);
        let alone = EpochSamples { batches: vec![Batch { passes: 10, ticks: 300 }], ..Default::default() };
        let (nothing, zero) = (EpochSamples::default(), epoch(&[(100, 100), (90, 300)]));
        let probe = ProbeSamples { epochs: vec![jump, alone, nothing, zero], ..Default::default() };
        let found = paired(&probe);
        // The third epoch has no batches; in the last no batch took longer than an empty one.
        assert_eq!(found.len(), 3);
        let first = found[0].unwrap();
        assert!((first.ratio - 4.0).abs() < 1e-12);
        assert_eq!(first.pairs, 5);
        // The distances from ln 4 are ln 2 twice, 0, and two that are larger: the middle one is ln 2.
        assert!((first.spread / DEVIATION - 2.0_f64.ln()).abs() < 1e-12);
        assert_eq!(found[1..], [None, None]);
    }

    #[test]
    fn levels_far_apart_vary_nothing_if_most_pairs_are_of_one() {
        // 100 pairs of which the middle ones are 1 % apart from one to the next.
        let even: Vec<(u64, u64)> =
            (0..100).map(|at| (100 + (1e6 * 1.01_f64.powi(at)) as u64, 1_000_100)).collect();
        let probe = |pairs: &[(u64, u64)]| ProbeSamples { epochs: vec![epoch(pairs)], ..Default::default() };
        // The order statistics are the 41st and the 60th: 50.5 -+ 9.8 rounded.
        let found = variation_of_pairs(&probe(&even)).unwrap();
        let expected = 19.0 * 1.01_f64.ln() / (2.0 * NORMAL_95) * 10.0 / MEDIAN;
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
        // A fifth is twice as slow and a fifth twice as fast; the rest is alike.
        let levels: Vec<(u64, u64)> =
            (0..100).map(|at| ([100, 200, 200, 200, 400][at % 5] + 100, 300)).collect();
        assert_eq!(variation_of_pairs(&probe(&levels)), Some(0.0));
        assert_eq!(variation_of_pairs(&probe(&even[..5])), None);
        assert_eq!(variation_of_pairs(&ProbeSamples::default()), None);
    }
}
