//! The statistics of comparisons: pure functions of logarithms of figures.
//!
//! Sources: Hodges and Lehmann 1963 (the shift), Moses 1965 and Hollander, Wolfe and Chicken 2014, section 4.3
//! (its interval), Policello and Hettmansperger 1976 (signed ranks with Winsorized scores), Westfall and Young 1993 (permutation and correction in one), Tusher, Tibshirani and Chu
//! 2001 (the constant in the denominator).

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Level of every interval of a comparison, two-sided.
pub(crate) const LEVEL: f64 = 0.99;
/// The quantile of the normal distribution that belongs to [`LEVEL`].
pub(crate) const Z: f64 = 2.575_829_303_548_901;
/// The quantile that a change exceeds with 80 % of the chances.
pub(crate) const POWER: f64 = 0.841_621_233_572_914_3;
/// From this number of permutations on, they are drawn at random and not enumerated.
const MOST_LISTED: f64 = 20_000.0;
const DRAWN: u32 = 4_999;
/// The largest corrected chance of a difference.
pub(crate) const CHANCE: f64 = 0.05;
/// More values on either side than this are not counted exactly.
const MOST_COUNTED: usize = 60;
/// Added to the standard error in the denominator of the statistic, in logarithms, so that a difference of a thousandth is
/// not significant in a probe that hardly varies.
pub(crate) const FUDGE: f64 = 0.001;
/// From more epochs on, the signs of pairs are drawn and not listed.
const MOST_EPOCHS_LISTED: usize = 14;

/// How much larger `b` is than `a`, with the distribution-free interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shift {
    pub(crate) estimate: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The difference of the medians, which is that of the figures that are printed, and the interval of Moses at [`LEVEL`]; with too
/// few values for the level it is the whole range of differences. `None` without values.
pub(crate) fn shift(a: &[f64], b: &[f64]) -> Option<Shift> {
    let [a, b] = [a, b].map(sorted);
    let most = a.len() * b.len();
    let outside = outside(a.len(), b.len());
    (most > 0).then(|| {
        let estimate = median_of_sorted(&b) - median_of_sorted(&a);
        // The interval is that of the median of all differences, of which values at two levels can have another than their medians.
        let low = difference(&a, &b, outside).min(estimate);
        Shift { estimate, low, high: difference(&a, &b, most - 1 - outside).max(estimate) }
    })
}

/// The difference of a value of `b` and one of `a` above which `place` others are not, both sides in ascending order: by halving, because
/// there can be too many differences to list.
fn difference(a: &[f64], b: &[f64], place: usize) -> f64 {
    // Numbers are in the order of these integers, and back.
    let key = |value: f64| value.to_bits() as i64 ^ ((value.to_bits() as i64 >> 63) as u64 >> 1) as i64;
    let value = |key: i64| f64::from_bits((key ^ ((key >> 63) as u64 >> 1) as i64) as u64);
    let at_most = |limit: f64| {
        let mut first = 0;
        let of = |y: &f64| {
            first += a[first..].iter().take_while(|x| y - **x > limit).count();
            a.len() - first
        };
        b.iter().map(of).sum::<usize>()
    };
    let (mut low, mut high) = (key(b[0] - a[a.len() - 1]), key(b[b.len() - 1] - a[0]));
    while low < high {
        let middle = (low & high) + ((low ^ high) >> 1);
        if at_most(value(middle)) > place { high = middle } else { low = middle + 1 }
    }
    value(low)
}

/// The factor by which the interval of [`shift`] is widened if few values cannot reach the level: Student's quantile at the
/// level over that at the level of the whole range of differences.
pub(crate) fn short_of_level(n: usize, m: usize) -> f64 {
    let least = smallest_chance(n, m);
    let freedom = (n + m).saturating_sub(2).max(1) as f64;
    let Ok(student) = StudentsT::new(0.0, 1.0, freedom) else { return 1.0 };
    let quantile = |outside: f64| student.inverse_cdf(1.0 - outside / 2.0);
    if least <= 1.0 - LEVEL || least >= 1.0 { 1.0 } else { quantile(1.0 - LEVEL) / quantile(least) }
}

/// The difference of the medians of a few values, with Student's interval at [`LEVEL`] from what both sides vary by together, and its
/// degrees of freedom. It is for values that are too few for [`shift`], whose whole range says little. `None` without two on each
/// side, or if they do not vary: then nothing says how sure they are.
pub(crate) fn few(a: &[f64], b: &[f64]) -> Option<(Shift, f64)> {
    let (n, m) = (a.len() as f64, b.len() as f64);
    if n < 2.0 || m < 2.0 {
        return None;
    }
    let squares = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let (freedom, squares) = (n + m - 2.0, squares(a) + squares(b));
    if squares <= 0.0 {
        return None;
    }
    let error = (squares / freedom * (1.0 / n + 1.0 / m)).sqrt();
    let half = quantile_of(freedom) * error;
    let estimate = median(b) - median(a);
    Some((Shift { estimate, low: estimate - half, high: estimate + half }, freedom))
}

/// Student's quantile at [`LEVEL`].
pub(crate) fn quantile_of(freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom)
        .map_or(f64::INFINITY, |student| student.inverse_cdf(1.0 - (1.0 - LEVEL) / 2.0))
}

/// The chance of a difference of `times` standard errors with few degrees of freedom, if there is none.
pub(crate) fn chance_of(times: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |student| 2.0 * (1.0 - student.cdf(times.abs())))
}

/// How many of the ordered differences lie outside the interval on either side: the largest `k` for which
/// `P(U < k)` is at most half of what the level leaves, `U` being the statistic of Mann and Whitney.
fn outside(n: usize, m: usize) -> usize {
    if n == 0 || m == 0 {
        return 0;
    }
    let tail = (1.0 - LEVEL) / 2.0;
    let k = if n.max(m) > MOST_COUNTED {
        let (n, m) = (n as f64, m as f64);
        (n * m / 2.0 - Z * (n * m * (n + m + 1.0) / 12.0).sqrt()).floor().max(0.0) as usize
    } else {
        let ways = ways(n, m);
        let all: f64 = ways.iter().sum();
        let mut below = 0.0;
        ways.iter()
            .take_while(|ways| {
                below += **ways / all;
                below <= tail
            })
            .count()
    };
    k.min((n * m - 1) / 2)
}

/// In how many orders of `n` and `m` values the statistic of Mann and Whitney is 0, 1, 2, ...: the
/// coefficients of the Gaussian binomial, the product of `(1 - q^(m+i)) / (1 - q^i)` for `i` up to `n`.
fn ways(n: usize, m: usize) -> Vec<f64> {
    let mut ways = vec![0.0; n * m + 1];
    ways[0] = 1.0;
    for i in 1..=n {
        for u in (m + i..ways.len()).rev() {
            ways[u] -= ways[u - m - i];
        }
        for u in i..ways.len() {
            ways[u] += ways[u - i];
        }
    }
    ways
}

/// The center of values that are symmetric around it: the median of the means of all pairs of them, each with itself
/// too (Hodges and Lehmann 1963), and Tukey's interval from Wilcoxon's signed ranks at [`LEVEL`] (Hollander, Wolfe and
/// Chicken 2014, 3.3); with too few values for the level it is their whole range. `None` without values.
pub(crate) fn center(values: &[f64]) -> Option<Shift> {
    let means = means_of_pairs(values);
    let outside = outside_signed(values.len());
    (!means.is_empty()).then(|| Shift {
        estimate: median_of_sorted(&means),
        low: means[outside],
        high: means[means.len() - 1 - outside],
    })
}

/// The means of all pairs of values, each with itself too, in ascending order.
fn means_of_pairs(values: &[f64]) -> Vec<f64> {
    let mut means: Vec<f64> = (0..values.len())
        .flat_map(|i| values[i..].iter().map(move |other| f64::midpoint(values[i], *other)))
        .collect();
    means.sort_by(f64::total_cmp);
    means
}

/// How many of the ordered means lie outside the interval on either side: the largest `k` for which `P(T < k)` is at
/// most half of what the level leaves, `T` being Wilcoxon's sum of signed ranks.
fn outside_signed(n: usize) -> usize {
    let ranks: Vec<usize> = (1..=n).collect();
    outside_scores(&ranks).min((n * (n + 1) / 2).saturating_sub(1) / 2)
}

/// The same for any scores: how many of the least sums of the scores on one side are rarer than half of what the level leaves.
fn outside_scores(scores: &[usize]) -> usize {
    let most: usize = scores.iter().sum();
    if scores.len() > MOST_COUNTED {
        let squares: usize = scores.iter().map(|score| score * score).sum();
        return ((most as f64 - Z * (squares as f64).sqrt()) / 2.0).floor().max(0.0) as usize;
    }
    // In how many of the 2^n choices of signs the scores of one sign add up to 0, 1, 2, ...
    let mut ways = vec![0.0; most + 1];
    ways[0] = 1.0;
    for score in scores {
        for sum in (*score..=most).rev() {
            ways[sum] += ways[sum - score];
        }
    }
    let all = 2.0_f64.powi(scores.len() as i32);
    let mut below = 0.0;
    let outside = ways.iter().take_while(|ways| {
        below += **ways / all;
        below <= (1.0 - LEVEL) / 2.0
    });
    outside.count()
}

/// The score of the value with this rank among `n` distances: its rank, but no more than that of the middle one. On a machine
/// with neighbors one epoch in ten is ten times as far away as the middle one, and says no more than that one.
fn score(rank: usize, n: usize) -> usize {
    rank.min(n.div_ceil(2))
}

/// The center of values that are symmetric around it, by signed ranks with these scores, and the interval at [`LEVEL`].
/// `None` without values.
pub(crate) fn center_of_pairs(values: &[f64]) -> Option<Shift> {
    let scores: Vec<usize> = (1..=values.len()).map(|rank| score(rank, values.len())).collect();
    let most: usize = scores.iter().sum();
    let [below, above] = where_sum_is(values, 0.0)?;
    // Sums have steps of two.
    let enough = most as f64 - 2.0 * outside_scores(&scores) as f64 + 1.0;
    let [low, high] = where_sum_is(values, enough)?;
    Some(Shift { estimate: f64::midpoint(below, above), low, high })
}

/// The last place at which the sum of signed scores of the distances from it is above `sum`, and the first at which it is
/// below `-sum`: the sum falls from one end of the values to the other.
fn where_sum_is(values: &[f64], sum: f64) -> Option<[f64; 2]> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    let place = |is_before: &dyn Fn(f64) -> bool| {
        let (mut before, mut behind) = (least, most);
        for _ in 0..60 {
            let middle = f64::midpoint(before, behind);
            if is_before(middle) { before = middle } else { behind = middle }
        }
        before
    };
    let at = |place: f64| {
        let distances: Column = values.iter().map(|value| Some(value - place)).collect();
        signed_scores(&distances).iter().sum::<f64>()
    };
    Some([place(&|middle| at(middle) > sum), place(&|middle| at(middle) >= -sum)])
}

/// The result of the test of pairs for one probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Signs {
    /// The chance that, if nothing differed, some probe's epochs would lie as far to one side as this one's.
    pub(crate) chance: f64,
    /// The ends of the interval of [`center_of_pairs`] at the level of the test over all probes together.
    pub(crate) all: [f64; 2],
}

/// The test of pairs: if A and B are the same, the logarithm of each epoch's ratio has either sign with the same chance,
/// because what is drawn anew in each epoch does not depend on what a side is called. The signs of all probes of an
/// epoch are changed together, and the largest of the standardized sums of signed ranks, with the scores of [`score`], is what
/// each is held against (single-step maxT).
pub(crate) fn signs(columns: &[Column], wanted: f64) -> Vec<Signs> {
    let epochs = columns.iter().map(Vec::len).max().unwrap_or(0);
    let ranks: Vec<Vec<f64>> = columns.iter().map(signed_scores).collect();
    let length = |ranks: &[f64]| ranks.iter().map(|rank| rank * rank).sum::<f64>().sqrt().max(1.0);
    let far = |ranks: &[f64], flipped: &dyn Fn(usize) -> bool| {
        let signed = ranks.iter().enumerate().map(|(at, rank)| if flipped(at) { -rank } else { *rank });
        signed.sum::<f64>().abs() / length(ranks)
    };
    let largest =
        |flipped: &dyn Fn(usize) -> bool| ranks.iter().map(|ranks| far(ranks, flipped)).fold(0.0, f64::max);
    let mut reached: Vec<f64> = if epochs <= MOST_EPOCHS_LISTED {
        // The mirror image of a choice is as far to one side: the last epoch keeps its sign.
        (0..1_u32 << epochs.saturating_sub(1)).map(|signs| largest(&|at| signs >> at & 1 == 1)).collect()
    } else {
        let mut rng = ChaCha8Rng::seed_from_u64(u64::from(DRAWN));
        let drawn = (0..DRAWN).map(|_| {
            let signs: Vec<bool> = (0..epochs).map(|_| rng.random()).collect();
            largest(&|at| signs[at])
        });
        drawn.chain([largest(&|_| false)]).collect()
    };
    reached.sort_by(f64::total_cmp);
    let beyond = ((wanted * reached.len() as f64) as usize).clamp(1, reached.len());
    let critical = reached[reached.len() - beyond];
    let sign = |(column, ranks): (&Column, &Vec<f64>)| {
        // Rounding must not decide whether the choice that was made reaches itself.
        let observed = far(ranks, &|_| false) * (1.0 - 1e-9);
        let below = reached.partition_point(|it| *it < observed);
        let values: Vec<f64> = column.iter().copied().flatten().collect();
        let all = where_sum_is(&values, critical * length(ranks) * (1.0 - 1e-9)).unwrap_or([f64::NAN; 2]);
        Signs { chance: (reached.len() - below) as f64 / reached.len() as f64, all }
    };
    columns.iter().zip(&ranks).map(sign).collect()
}

/// The score of each value by its size, with its sign; 0 for a value that is absent or 0.
fn signed_scores(column: &Column) -> Vec<f64> {
    let mut scores = vec![0.0; column.len()];
    let there = column.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)));
    let mut there: Vec<(usize, f64)> = there.collect();
    there.sort_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
    let n = there.len();
    for (rank, (at, value)) in there.into_iter().enumerate() {
        let sign = if value == 0.0 { 0.0 } else { value.signum() };
        scores[at] = score(rank + 1, n) as f64 * sign;
    }
    scores
}

/// The smallest chance that this many epochs of pairs can have: two of all choices of signs.
pub(crate) fn smallest_chance_of_signs(epochs: usize) -> f64 {
    2.0 * 0.5_f64.powi(epochs as i32)
}

/// The input of the test: the values of one probe by unit, first those of A, then those of B. A unit is a process or a run;
/// it is `None` if the probe has no figure in it.
pub(crate) type Column = Vec<Option<f64>>;

/// For each probe the chance that, if nothing differed, some probe's means would lie as far apart as this
/// one's do: units are dealt out anew to A and B, all probes of a unit together, and the largest of the
/// studentised differences is what each is held against (Westfall and Young's single-step maxT). That
/// corrects for the number of probes, and heeds that they move together. `count_a` units are A's.
///
/// A probe with a figure in so few units that no deal of them could pass for a difference is not a rival of the others
/// (Tarone 1990): two figures that are dealt to different sides have no variance, and lie apart in half of all deals.
pub(crate) fn chances(columns: &[Column], count_a: usize) -> Vec<f64> {
    let units = columns.first().map_or(0, Vec::len);
    let mut dealt: Vec<bool> = (0..units).map(|unit| unit >= count_a).collect();
    let observed: Vec<f64> = columns.iter().map(|column| studentised(column, &dealt)).collect();
    let testable: Vec<bool> = columns.iter().map(is_testable).collect();
    let (mut all, mut reached) = (0_u32, vec![0_u32; columns.len()]);
    // Rounding must not decide whether a deal that is the mirror image counts as the same distance.
    let enough: Vec<f64> = observed.iter().map(|t| t * (1.0 - 1e-9)).collect();
    let mut look = |dealt: &[bool]| {
        let found: Vec<f64> = columns.iter().map(|column| studentised(column, dealt)).collect();
        let of_testable = found.iter().zip(&testable).filter(|(_, testable)| **testable).map(|(t, _)| *t);
        let largest = found.iter().copied().fold(0.0, f64::max);
        let largest_testable = of_testable.fold(0.0, f64::max);
        all += 1;
        for ((reached, enough), testable) in reached.iter_mut().zip(&enough).zip(&testable) {
            let rival = if *testable { largest_testable } else { largest };
            *reached += u32::from(rival >= *enough);
        }
    };
    if binomial(units, count_a) <= MOST_LISTED {
        look(&dealt);
        while next_deal(&mut dealt) {
            look(&dealt);
        }
    } else {
        look(&dealt);
        let mut rng = ChaCha8Rng::seed_from_u64(u64::from(DRAWN));
        for _ in 0..DRAWN {
            dealt.shuffle(&mut rng);
            look(&dealt);
        }
    }
    reached.into_iter().map(|times| f64::from(times) / f64::from(all.max(1))).collect()
}

/// Whether the figures of a probe, split evenly, could show a difference. That depends on their number alone, which is the
/// same in every permutation.
fn is_testable(column: &Column) -> bool {
    let figures = column.iter().flatten().count();
    smallest_chance(figures / 2, figures - figures / 2) <= CHANCE
}

/// The absolute difference of the means over its standard error (Welch), with [`FUDGE`].
fn studentised(column: &Column, dealt: &[bool]) -> f64 {
    let mut sides = [[0.0_f64; 3]; 2];
    for (value, dealt) in column.iter().zip(dealt) {
        let Some(value) = value else { continue };
        let [n, sum, squares] = &mut sides[usize::from(*dealt)];
        *n += 1.0;
        *sum += value;
        *squares += value * value;
    }
    let of = |[n, sum, squares]: [f64; 3]| {
        let mean = sum / n;
        (n, mean, (squares / n - mean * mean).max(0.0) * n / (n - 1.0).max(1.0))
    };
    let ((n, mean_a, var_a), (m, mean_b, var_b)) = (of(sides[0]), of(sides[1]));
    if n < 1.0 || m < 1.0 {
        return 0.0;
    }
    (mean_b - mean_a).abs() / ((var_a / n + var_b / m).sqrt() + FUDGE)
}

/// The smallest chance that this many units can have: two of all permutations.
pub(crate) fn smallest_chance(units_a: usize, units_b: usize) -> f64 {
    2.0 / binomial(units_a + units_b, units_a)
}

fn binomial(n: usize, k: usize) -> f64 {
    (0..k.min(n)).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

/// The next permutation in the order of the alphabet; false after the last one.
fn next_deal(dealt: &mut [bool]) -> bool {
    let Some(place) = (1..dealt.len()).rev().find(|&place| !dealt[place - 1] && dealt[place]) else {
        return false;
    };
    // The rest is descending: exchange the last of B's units.
    let last = dealt.iter().rposition(|&of_b| of_b).unwrap_or(place);
    dealt.swap(place - 1, last);
    dealt[place..].reverse();
    true
}

/// Cliff's delta, the effect size: how much more often a value of `b` exceeds one of `a` than the other way
/// round, from -1 to 1.
pub(crate) fn cliff(a: &[f64], b: &[f64]) -> f64 {
    let a = sorted(a);
    let below =
        |y: &f64| a.partition_point(|x| x < y) as f64 - (a.len() - a.partition_point(|x| x <= y)) as f64;
    b.iter().map(below).sum::<f64>() / (a.len() * b.len()).max(1) as f64
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut ascending = values.to_vec();
    ascending.sort_by(f64::total_cmp);
    ascending
}

/// The median; not a number for no values.
pub fn median(values: &[f64]) -> f64 {
    median_of_sorted(&sorted(values))
}

fn median_of_sorted(ascending: &[f64]) -> f64 {
    match ascending.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => ascending[n / 2],
        n => f64::midpoint(ascending[n / 2 - 1], ascending[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_counted_as_the_tables_have_them() {
        // Mann and Whitney 1947, table for n = m = 3: 1 1 2 3 3 3 3 2 1 1 of 20.
        assert_eq!(ways(3, 3), [1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 2.0, 1.0, 1.0]);
        assert_eq!(ways(2, 4).iter().sum::<f64>(), 15.0);
        // Critical values at 1 % two-sided, any table: 2 for 6 and 6, 105 for 20 and 20.
        assert_eq!(outside(6, 6), 3, "U = 0, 1, 2 lie outside");
        assert_eq!(outside(20, 20), 106);
        // The published critical value of 60 and 60 by the normal approximation must meet the count.
        assert!(outside(60, 60).abs_diff((1800.0 - Z * (3600.0_f64 * 121.0 / 12.0).sqrt()) as usize) <= 3);
    }

    #[test]
    fn signed_ranks_as_the_tables_have_them() {
        // Critical values of Wilcoxon's signed ranks at 1 % two-sided, any table: 0 for 8, 3 for 10, 37 for 20, 109 for 30.
        assert_eq!([7, 8, 10, 20, 30].map(outside_signed), [0, 1, 4, 38, 110]);
        assert!(
            outside_signed(61).abs_diff(((61 * 62 / 2) as f64 / 2.0 - Z * 19_369.0_f64.sqrt()) as usize) <= 4
        );
    }

    #[test]
    fn scores_are_counted_and_do_not_exceed_the_middle_one() {
        assert_eq!([1, 2, 3, 4, 5].map(|rank| score(rank, 5)), [1, 2, 3, 3, 3]);
        // 1 and 2 and 2 on one side add up to 0, 1, 2, 2, 3, 3, 4, 5: with equal scores it is the sign test, whose critical
        // value at 1 % two-sided any table has: 0 for 8, 1 for 12, 3 for 20.
        for (n, critical) in [(7, None), (8, Some(0)), (12, Some(1)), (20, Some(3))] {
            assert_eq!(outside_scores(&vec![1; n]), critical.map_or(0, |it| it + 1), "{n}");
        }
    }

    #[test]
    fn a_center_of_pairs_by_hand() {
        // Scores 1, 2, 2 by distance. At 2.2 the distances are -1.2, -0.2, 3.8: -2 - 1 + 2 = -1. At 1.6 they are -0.6, 0.4 and
        // 4.4: -2 + 1 + 2 = 1. The order of the first two turns at their mean.
        let center = center_of_pairs(&[2.0, 6.0, 1.0]).unwrap();
        assert!((center.estimate - 2.0).abs() < 1e-9, "{center:?}");
        assert!((center.low - 1.0).abs() < 1e-9 && (center.high - 6.0).abs() < 1e-9, "{center:?}");
        assert!(center_of_pairs(&[]).is_none());
        let same = center_of_pairs(&[0.5; 12]).unwrap();
        assert_eq!((same.estimate, same.low, same.high), (0.5, 0.5, 0.5));
        // Turned around it is the mirror image.
        let values: Vec<f64> = (0..20).map(|at| f64::from(at * at % 23)).collect();
        let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
        let [one, other] = [&values, &mirrored].map(|values| center_of_pairs(values).unwrap());
        assert!((one.low + other.high).abs() < 1e-9 && (one.estimate + other.estimate).abs() < 1e-9);
    }

    fn normal(rng: &mut ChaCha8Rng) -> f64 {
        let (radius, angle): (f64, f64) = (rng.random(), rng.random());
        (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// As the epochs of a restless machine: most close together, a third far away, in part by the same distance.
    fn restless(rng: &mut ChaCha8Rng) -> f64 {
        let own = 0.001 * normal(rng);
        match rng.random::<f64>() {
            it if it < 0.15 => own + 0.03,
            it if it < 0.3 => own - 0.03,
            it if it < 0.4 => 0.1 * normal(rng),
            _ => own,
        }
    }

    #[test]
    fn intervals_of_pairs_hold_and_are_narrow_where_some_epochs_are_far_away() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        type Shape = fn(&mut ChaCha8Rng) -> f64;
        let shapes: [(&str, Shape); 3] =
            [("normal", normal), ("restless", restless), ("Cauchy", |rng| normal(rng) / normal(rng))];
        for (name, shape) in shapes {
            for n in [12, 40] {
                let (mut held, mut width, mut wilcoxon) = (0, 0.0, 0.0);
                for _ in 0..300 {
                    let values: Vec<f64> = (0..n).map(|_| shape(&mut rng)).collect();
                    let (pairs, means) = (center_of_pairs(&values).unwrap(), center(&values).unwrap());
                    held += u32::from(pairs.low <= 0.0 && 0.0 <= pairs.high);
                    width += (pairs.high - pairs.low).ln() / 300.0;
                    wilcoxon += (means.high - means.low).ln() / 300.0;
                }
                // 99 % are promised, of which 300 may miss three standard deviations more.
                assert!(held >= 291, "{name}, {n}: {held} of 300");
                // For many values the ratio is the root of that of the efficiencies: of Cauchy's distribution 0.608 and 0.814.
                let ratio = (width - wilcoxon).exp();
                match name {
                    "normal" => assert!(ratio < 1.15, "{n}: {ratio}"),
                    "Cauchy" => assert!(n < 40 || ratio < 0.93, "{n}: {ratio}"),
                    _ => assert!(n < 40 || ratio < 0.8, "{n}: {ratio}"),
                }
            }
        }
    }

    #[test]
    fn a_center_by_hand() {
        // The means of 1, 2 and 6 with each other: 1, 1.5, 2, 3.5, 4, 6.
        let center = center(&[2.0, 6.0, 1.0]).unwrap();
        assert_eq!((center.estimate, center.low, center.high), (2.75, 1.0, 6.0));
        assert!(super::center(&[]).is_none());
    }

    #[test]
    fn signs_are_shares_of_all_choices() {
        let column = |values: &[f64]| values.iter().copied().map(Some).collect::<Column>();
        let one_side = column(&[0.03, 0.01, 0.02, 0.05, 0.04, 0.07, 0.06, 0.09, 0.08]);
        let both = column(&[0.03, -0.01, 0.02, -0.05, 0.04, -0.07, 0.06, -0.02, 0.01]);
        let alone = signs(std::slice::from_ref(&one_side), 0.005);
        // 2 of 2^9 choices have all values on one side.
        assert_eq!((alone[0].chance, smallest_chance_of_signs(9)), (1.0 / 256.0, 1.0 / 256.0));
        let [low, high] = alone[0].all;
        assert!(
            (low - 0.01).abs() < 1e-9 && (high - 0.09).abs() < 1e-9,
            "9 values give the level only by their whole range"
        );
        // Beside another probe, the 2 choices that have all of its values on one side count as well.
        let found = signs(&[one_side, both], 0.005);
        assert_eq!(found[0].chance, 2.0 / 256.0);
        assert!(found[1].chance > 0.5, "{found:?}");
        assert_eq!(signs(&[vec![None, None]], 0.005)[0].chance, 1.0);
    }

    /// Ten probes that all changed: each has its own two choices of signs in which its epochs are on one side, so that 12 epochs
    /// cannot show what 16 show.
    #[test]
    fn as_many_epochs_as_ten_probes_need() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut largest = |epochs: usize| {
            // The sides are called A and B by chance in each epoch, as far as the other probes know.
            let column = |rng: &mut ChaCha8Rng| -> Column {
                (0..epochs)
                    .map(|_| Some(if rng.random() { 0.1 } else { -0.1 } + rng.random::<f64>() / 100.0))
                    .collect()
            };
            let mut columns: Vec<Column> = (0..9).map(|_| column(&mut rng)).collect();
            columns.push((0..epochs).map(|at| Some(0.1 + at as f64 / 1000.0)).collect());
            signs(&columns, 0.002)[9].chance
        };
        assert!(largest(12) > 0.002 && largest(16) <= 0.002);
    }

    #[test]
    fn a_shift_by_hand() {
        let shift = shift(&[1.0, 2.0, 3.0], &[11.0, 12.0, 13.0]).unwrap();
        assert_eq!((shift.estimate, shift.low, shift.high), (10.0, 8.0, 12.0));
        assert!(super::shift(&[], &[1.0]).is_none());
    }

    #[test]
    fn differences_are_found_without_a_list_of_them() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (n, m) in [(1, 1), (3, 2), (7, 12)] {
            let mut draw =
                |n: usize| -> Vec<f64> { (0..n).map(|_| (normal(&mut rng) * 4.0).round() / 4.0).collect() };
            let [a, b] = [sorted(&draw(n)), sorted(&draw(m))];
            let all: Vec<f64> = b.iter().flat_map(|y| a.iter().map(move |x| y - x)).collect();
            for (place, expected) in sorted(&all).into_iter().enumerate() {
                assert_eq!(difference(&a, &b, place), expected, "{a:?} {b:?} {place}");
            }
        }
    }

    #[test]
    fn chances_are_shares_of_all_deals() {
        let apart = [1.0, 1.1, 0.9, 5.0, 5.1, 4.9].map(Some).to_vec();
        let same = [1.0, 1.2, 0.8, 1.1, 0.9, 1.0].map(Some).to_vec();
        let chances = chances(&[apart, same], 3);
        // Only the deal itself and its mirror image are as far apart: 2 of 20.
        assert_eq!(chances[0], 0.1);
        assert!(chances[1] > 0.5, "{}", chances[1]);
        assert_eq!(smallest_chance(3, 3), 0.1);
    }

    #[test]
    fn a_probe_with_two_figures_is_no_rival() {
        // As counted of 2,000 and 2,100 calls, eight runs each; beside it what happened in two of the runs only.
        let counted: Column = [7.6_f64; 8].into_iter().chain([7.65; 8]).map(Some).collect();
        let mut rare: Column = vec![None; 16];
        (rare[2], rare[9]) = (Some(0.0), Some(0.7));
        let alone = chances(std::slice::from_ref(&counted), 8);
        assert_eq!(alone, [2.0 / 12_870.0]);
        let found = chances(&[counted, rare], 8);
        assert_eq!(found[0], alone[0]);
        assert!(found[1] > 0.5, "{found:?}");
    }

    #[test]
    fn the_correction_keeps_its_level_over_many_probes() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let alarms = (0..300)
            .filter(|_| {
                let columns: Vec<Column> = (0..20)
                    .map(|_| (0..10).map(|_| Some((0..6).map(|_| rng.random::<f64>()).sum())).collect())
                    .collect();
                chances(&columns, 5).iter().any(|chance| *chance <= 0.05)
            })
            .count();
        assert!((3..=27).contains(&alarms), "{alarms} of 300 families of 20 probes, 15 expected");
    }

    #[test]
    fn an_effect_has_a_direction() {
        assert_eq!(cliff(&[1.0, 2.0], &[3.0, 4.0]), 1.0);
        assert_eq!(cliff(&[3.0, 4.0], &[1.0, 2.0]), -1.0);
        assert_eq!(cliff(&[1.0], &[1.0]), 0.0);
    }
}
