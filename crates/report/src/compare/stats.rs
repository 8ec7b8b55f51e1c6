//! The statistics of a comparison: pure functions of logarithms of figures.
//!
//! Sources: Hodges and Lehmann 1963 (the shift), Moses 1965 and Hollander, Wolfe and Chicken 2014, section 4.3
//! (its interval), Westfall and Young 1993 (permutation and correction in one), Tusher, Tibshirani and Chu
//! 2001 (the constant in the denominator).

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Level of every interval of a comparison, two-sided.
pub(super) const LEVEL: f64 = 0.99;
/// The quantile of the normal distribution that belongs to [`LEVEL`].
pub(super) const Z: f64 = 2.575_829_303_548_901;
/// The quantile that a change exceeds with 80 % of the chances.
pub(super) const POWER: f64 = 0.841_621_233_572_914_3;
/// From so many ways to deal the units out on they are drawn and not listed.
const MOST_LISTED: f64 = 20_000.0;
const DRAWN: u32 = 4_999;
/// The largest corrected chance that is still taken for a difference.
pub(super) const CHANCE: f64 = 0.05;
/// More values on either side than this are not counted exactly.
const MOST_COUNTED: usize = 60;
/// What is added to the standard error in the denominator of the statistic, in logarithms: a probe whose
/// values hardly vary is not made important by a difference of a thousandth.
const FUDGE: f64 = 0.001;

/// How much larger `b` is than `a`, with the distribution-free interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shift {
    pub(super) estimate: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The Hodges-Lehmann shift, the median of all differences, and the interval of Moses at [`LEVEL`]; with too
/// few values for the level it is the whole range of differences. `None` without values.
pub(super) fn shift(a: &[f64], b: &[f64]) -> Option<Shift> {
    let mut differences: Vec<f64> = b.iter().flat_map(|y| a.iter().map(move |x| y - x)).collect();
    differences.sort_by(f64::total_cmp);
    let most = differences.len();
    let outside = outside(a.len(), b.len());
    (most > 0).then(|| Shift {
        estimate: median_of_sorted(&differences),
        low: differences[outside],
        high: differences[most - 1 - outside],
    })
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

/// What the test looks at: the values of one probe by unit, first those of A, then those of B. A unit is a process or
/// a run; a unit in which the probe has no figure has none.
pub(super) type Column = Vec<Option<f64>>;

/// For each probe the chance that, if nothing differed, some probe's means would lie as far apart as this
/// one's do: units are dealt out anew to A and B, all probes of a unit together, and the largest of the
/// studentised differences is what each is held against (Westfall and Young's single-step maxT). That
/// corrects for the number of probes, and heeds that they move together. `count_a` units are A's.
///
/// A probe with a figure in so few units that no deal of them could pass for a difference is no rival of the others
/// (Tarone 1990): two figures that are dealt to different sides have no variance, and lie apart in half of all deals.
pub(super) fn chances(columns: &[Column], count_a: usize) -> Vec<f64> {
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

/// Whether the figures of a probe, dealt out evenly, could show a difference: that depends on their number alone, which is
/// the same in every deal.
fn is_testable(column: &Column) -> bool {
    let figures = column.iter().flatten().count();
    smallest_chance(figures / 2, figures - figures / 2) <= CHANCE
}

/// The absolute difference of the means over its standard error (Welch), with [`FUDGE`].
fn studentised(column: &Column, dealt: &[bool]) -> f64 {
    let of = |side: bool| {
        let values = column.iter().zip(dealt).filter(|(_, dealt)| **dealt == side);
        let (mut n, mut sum, mut squares) = (0.0_f64, 0.0, 0.0);
        for value in values.filter_map(|(value, _)| *value) {
            n += 1.0;
            sum += value;
            squares += value * value;
        }
        let mean = sum / n;
        (n, mean, (squares / n - mean * mean).max(0.0) * n / (n - 1.0).max(1.0))
    };
    let ((n, mean_a, var_a), (m, mean_b, var_b)) = (of(false), of(true));
    if n < 1.0 || m < 1.0 {
        return 0.0;
    }
    (mean_b - mean_a).abs() / ((var_a / n + var_b / m).sqrt() + FUDGE)
}

/// The smallest chance that so many units can show: two of all ways to deal them out.
pub(super) fn smallest_chance(units_a: usize, units_b: usize) -> f64 {
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
    // What follows is descending: the last of B's units is the one to exchange.
    let last = dealt.iter().rposition(|&of_b| of_b).unwrap_or(place);
    dealt.swap(place - 1, last);
    dealt[place..].reverse();
    true
}

/// Cliff's delta, the effect size: how much more often a value of `b` exceeds one of `a` than the other way
/// round, from -1 to 1.
pub(super) fn cliff(a: &[f64], b: &[f64]) -> f64 {
    let sign = |x: &f64, y: &f64| f64::from(y.total_cmp(x) as i8);
    let sum: f64 = b.iter().flat_map(|y| a.iter().map(move |x| sign(x, y))).sum();
    sum / (a.len() * b.len()).max(1) as f64
}

/// The median; not a number for no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut ascending = values.to_vec();
    ascending.sort_by(f64::total_cmp);
    median_of_sorted(&ascending)
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
    fn a_shift_by_hand() {
        let shift = shift(&[1.0, 2.0, 3.0], &[11.0, 12.0, 13.0]).unwrap();
        assert_eq!((shift.estimate, shift.low, shift.high), (10.0, 8.0, 12.0));
        assert!(super::shift(&[], &[1.0]).is_none());
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
        use rand::RngExt;
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
