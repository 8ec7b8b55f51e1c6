//! What the pairs of an epoch say: the ratio of a batch to the one beside it.

use super::headline::empty_ticks;
use crate::samples::{EpochSamples, Pair, ProbeSamples};
use crate::stats::median;
use tollgate_record::PairedFigure;

/// The standard deviation of a normal distribution over the median of its distances from the middle.
const DEVIATION: f64 = 1.482_602_218_505_602;

/// The ratio of each epoch that has batches; `None` for one without pairs.
pub fn paired(probe: &ProbeSamples) -> Vec<Option<PairedFigure>> {
    let empty = empty_ticks(probe);
    let with_batches = probe.epochs.iter().filter(|epoch| !epoch.batches.is_empty());
    with_batches.map(|epoch| ratio(epoch, empty)).collect()
}

/// The median over all pairs of the logarithm of the ratio. Each side is first in every other pair, so what the first
/// batch leaves in the caches for the second moves half of the pairs up and half of them down.
fn ratio(epoch: &EpochSamples, empty: f64) -> Option<PairedFigure> {
    let log = |pair: &Pair| {
        let [own, other] = [pair.own, pair.other].map(|batch| batch.ticks as f64 - empty);
        (own > 0.0 && other > 0.0).then(|| (own / other).ln())
    };
    let logs: Vec<f64> = epoch.pairs.iter().filter_map(log).collect();
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
}
