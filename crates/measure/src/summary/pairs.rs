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
