//! The headline of a probe: from the batches of its epochs to one figure with its interval.

use super::units::Units;
use crate::probe::Meta;
use crate::samples::{Batch, EpochSamples, ProbeSamples};
use crate::stats::{FEWEST_GROUPS, median, median_interval, quantile, sorted};
use std::collections::BTreeMap;
use std::iter::repeat;
use std::slice;
use tollgate_record::Estimate;

/// Which quantile of an epoch's samples the headline is made of.
///
/// Batches on a shared machine are the crossing's own cost plus, in some of them, what others did to
/// it: the distribution has a sharp lower flank and a ragged upper one. The lowest fiftieth is on the
/// flank, does not depend on the single luckiest batch as a minimum does, and stays there until nearly
/// all batches are disturbed. METHOD.md has its repeatability beside other choices.
pub const HEADLINE_QUANTILE: f64 = 0.02;

/// Half the width of the headline's interval as a share of the headline, from the samples so far.
pub fn relative_half_width(meta: &Meta, probe: &ProbeSamples) -> Option<f64> {
    headline(probe, f64::from(meta.crossings_per_pass)).map(|figure| figure.relative_half_width())
}

/// The headline in ticks for each crossing, when a pass makes `per_pass` crossings; without a distribution.
pub fn headline(probe: &ProbeSamples, per_pass: f64) -> Option<Estimate> {
    let headline = median_interval(&levels(probe, per_pass))?;
    // The empty batch that was subtracted from each level is itself uncertain.
    let error = empty_error(probe) / (probe.passes.max(1) as f64 * per_pass);
    Some(headline.minus(&Estimate::within(0.0, [-error, error])))
}

/// The second estimator: the time that each pass adds when the batch is twice as long, in ticks for each crossing. What a
/// batch costs besides its passes drops out of it.
///
/// A batch of `2N` passes takes a share of what its neighbors of `N` take together. That is 1 if passes are all there is, and 1/2 if they
/// are nothing. A quantile of the few long batches would be higher than that of the many short ones wherever others disturb both.
pub(super) fn slope(probe: &ProbeSamples, per_pass: f64) -> Option<Estimate> {
    let of = |epoch: &EpochSamples| {
        let share = |(at, double): &(usize, Batch)| {
            let before = epoch.batches.get(at.checked_sub(1)?)?;
            Some(double.ticks as f64 / (before.ticks + epoch.batches.get(*at)?.ticks) as f64)
        };
        let shares: Vec<f64> = epoch.doubles.iter().filter_map(share).collect();
        (shares.len() >= 2).then(|| (2.0 * median(&shares) - 1.0) * level(&epoch.batches, 0.0, per_pass))
    };
    median_interval(&probe.epochs.iter().filter_map(of).collect::<Vec<_>>())
}

/// The headline's quantile of each epoch, in ticks for each crossing: the values whose median the headline
/// is. Epochs that several probes shared can be compared one by one. With too few epochs for an interval the
/// values are those of runs of consecutive batches.
pub fn levels(probe: &ProbeSamples, per_pass: f64) -> Vec<f64> {
    let empty = empty_ticks(probe);
    groups(probe).iter().map(|group| level(group.batches, empty, per_pass)).collect()
}

/// As [`levels`] of `whole`, for a probe that was sampled in the same rounds: what it takes beside `whole`. A machine may
/// change its speed by a fifth for seconds, so each level is that of `whole`, multiplied by the middle ratio of two
/// neighboring batches. `per_pass` are the crossings of a pass of each. Not a number where there are none.
pub fn levels_beside(probe: &ProbeSamples, whole: &ProbeSamples, per_pass: [f64; 2]) -> Vec<f64> {
    let [own, other] =
        [(probe, per_pass[0]), (whole, per_pass[1])].map(|(probe, per_pass)| (empty_ticks(probe), per_pass));
    let one = |batch: &Batch, (empty, per_pass)| per_crossing(slice::from_ref(batch), empty, per_pass).next();
    let of = |group: &Group<'_>| {
        let beside = probe.epochs.get(group.epoch).into_iter().flat_map(|epoch| {
            let rounds: BTreeMap<u64, &Batch> = epoch.rounds.iter().copied().zip(&epoch.batches).collect();
            let pairs = group.rounds.iter().zip(group.batches);
            let ratio =
                |(round, batch): (&u64, &Batch)| Some(one(rounds.get(round)?, own)? / one(batch, other)?);
            pairs.filter_map(ratio).filter(|ratio| ratio.is_finite()).collect::<Vec<_>>()
        });
        let ratios: Vec<f64> = beside.collect();
        let middle = if ratios.is_empty() { f64::NAN } else { median(&ratios) };
        middle * level(group.batches, other.0, other.1)
    };
    groups(whole).iter().map(of).collect()
}

/// The headline's quantile of each epoch; not a number for an epoch without batches.
pub(super) fn epoch_levels(probe: &ProbeSamples, per_pass: f64) -> Vec<f64> {
    let empty = empty_ticks(probe);
    probe.epochs.iter().map(|epoch| level(&epoch.batches, empty, per_pass)).collect()
}

fn level(batches: &[Batch], empty: f64, per_pass: f64) -> f64 {
    let values: Vec<f64> = per_crossing(batches, empty, per_pass).collect();
    quantile(&sorted(&values), HEADLINE_QUANTILE)
}

/// All samples in ticks for each crossing, the empty batch subtracted.
pub(super) fn samples(probe: &ProbeSamples, per_pass: f64) -> Vec<f64> {
    let empty = empty_ticks(probe);
    probe.epochs.iter().flat_map(|epoch| per_crossing(&epoch.batches, empty, per_pass)).collect()
}

/// The median of each group of batches, the empty batch included.
pub(super) fn group_medians(probe: &ProbeSamples, per_pass: f64) -> Vec<f64> {
    let of = |group: &Group<'_>| median(&per_crossing(group.batches, 0.0, per_pass).collect::<Vec<_>>());
    groups(probe).iter().map(of).collect()
}

pub(super) fn per_crossing(batches: &[Batch], empty: f64, per_pass: f64) -> impl Iterator<Item = f64> {
    batches.iter().map(move |batch| (batch.ticks as f64 - empty) / (batch.passes as f64 * per_pass))
}

/// The batches of a group, whose quantile counts as independent of that of other groups.
struct Group<'a> {
    /// The place of their epoch.
    epoch: usize,
    batches: &'a [Batch],
    /// The round of each; empty if it is not known.
    rounds: &'a [u64],
}

/// The epochs, or, when there are too few for an interval, runs of consecutive batches within them.
fn groups(probe: &ProbeSamples) -> Vec<Group<'_>> {
    let epochs = probe.epochs.iter().enumerate();
    let with_batches = epochs.filter(|(_, epoch)| !epoch.batches.is_empty());
    let epochs: Vec<Group<'_>> = with_batches
        .map(|(at, epoch)| Group { epoch: at, batches: &epoch.batches, rounds: &epoch.rounds })
        .collect();
    if epochs.len() >= FEWEST_GROUPS || epochs.is_empty() {
        return epochs;
    }
    let parts = FEWEST_GROUPS.div_ceil(epochs.len());
    epochs.into_iter().flat_map(|epoch| epoch.divided(parts)).collect()
}

impl<'a> Group<'a> {
    /// Groups of consecutive batches, at most `most`.
    fn divided(self, parts: usize) -> impl Iterator<Item = Group<'a>> {
        let size = self.batches.len().div_ceil(parts);
        let rounds = self.rounds.chunks(size).chain(repeat(&[][..]));
        let groups = self.batches.chunks(size).zip(rounds);
        groups.map(move |(batches, rounds)| Group { epoch: self.epoch, batches, rounds })
    }
}

/// Median ticks of an empty batch.
pub(super) fn empty_ticks(probe: &ProbeSamples) -> f64 {
    let all: Vec<f64> = probe.epochs.iter().flat_map(empty).collect();
    if all.is_empty() { 0.0 } else { median(&all) }
}

/// Half the width of the interval of the empty batch's median, in ticks.
fn empty_error(probe: &ProbeSamples) -> f64 {
    let with_any = probe.epochs.iter().filter(|epoch| !epoch.empty.is_empty());
    let medians: Vec<f64> = with_any.map(|epoch| median(&empty(epoch).collect::<Vec<_>>())).collect();
    median_interval(&medians).map_or(0.0, |figure| figure.half_width())
}

fn empty(epoch: &EpochSamples) -> impl Iterator<Item = f64> {
    epoch.empty.iter().map(|&ticks| ticks as f64)
}

/// The estimate in nanoseconds from a level in ticks for each epoch, or from differences of such.
pub fn of_levels(levels: &[f64], units: &Units) -> Option<Estimate> {
    Some(with_distribution(&median_interval(levels)?, levels).scaled(units.ns_per_tick()))
}

/// The figure with the quantiles and the mean of its samples.
pub(super) fn with_distribution(figure: &Estimate, samples: &[f64]) -> Estimate {
    let ascending = sorted(samples);
    let at = |q| quantile(&ascending, q);
    Estimate {
        min: at(0.0),
        p10: at(0.1),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        mean: samples.iter().sum::<f64>() / samples.len() as f64,
        ..*figure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six epochs in which a pass takes 10 ticks and a batch 200 more, times what `slow` says for each batch.
    fn probe(slow: fn(usize) -> f64) -> ProbeSamples {
        let epoch = |_| {
            let mut epoch = EpochSamples::default();
            for at in 0..64 {
                let ticks = |passes: u64| ((10 * passes + 200) as f64 * slow(at)).round() as u64;
                if at % 8 == 4 {
                    epoch.doubles.push((epoch.batches.len(), Batch { passes: 200, ticks: ticks(200) }));
                } else {
                    epoch.batches.push(Batch { passes: 100, ticks: ticks(100) });
                }
            }
            epoch
        };
        ProbeSamples { passes: 100, epochs: (0..6).map(epoch).collect(), ..ProbeSamples::default() }
    }

    #[test]
    fn the_cost_of_a_batch_is_not_in_the_second_estimator() {
        let (first, second) = (headline(&probe(|_| 1.0), 1.0).unwrap(), slope(&probe(|_| 1.0), 1.0).unwrap());
        assert_eq!((first.estimate, second.estimate.round()), (12.0, 10.0));
    }

    /// Three of 56 short batches are calm, and none of the eight long ones.
    #[test]
    fn the_second_estimator_is_of_the_same_moments_as_the_first() {
        let slow = |at| if at < 3 { 1.0 } else { 1.3 };
        let second = slope(&probe(slow), 1.0).unwrap();
        assert!((second.estimate - 10.0).abs() < 0.01, "{second:?}");
    }
}
