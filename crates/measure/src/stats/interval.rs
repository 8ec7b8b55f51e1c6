//! The headline and its confidence interval.

use super::quantile::{quantile, sorted};
use statrs::distribution::{Binomial, DiscreteCDF};
use tollgate_record::Estimate;

/// Fewest groups that give a 95 % interval for a median: the smallest and the largest of
/// five values enclose the median with 93.75 % only, of six with 96.9 %.
pub const FEWEST_GROUPS: usize = 6;

/// Nominal coverage of every interval in the record.
pub const COVERAGE: f64 = 0.95;

/// The median of independent values and its 95 % confidence interval.
///
/// The interval is the distribution-free one of the order statistics `x(k)` and `x(n+1-k)`, which
/// enclose the median with probability `1 - 2 P(B <= k-1)`, `B ~ Binomial(n, 1/2)`, interpolated between
/// two neighboring `k` to reach 95 % (Hettmansperger and Sheather 1986, "Confidence intervals based on
/// interpolated order statistics"). With fewer than [`FEWEST_GROUPS`] values it is the whole range, whose
/// coverage is lower than nominal; one value has none. `None` for no values.
///
/// ```
/// use tollgate_measure::stats::median_interval;
/// let figure = median_interval(&[3.0, 1.0, 2.0, 5.0, 4.0, 6.0, 7.0]).unwrap();
/// assert_eq!(figure.estimate, 4.0);
/// let [low, high] = figure.ci;
/// assert!(low > 1.0 && low < 2.0 && high > 6.0 && high < 7.0);
/// ```
pub fn median_interval(values: &[f64]) -> Option<Estimate> {
    let ascending = sorted(values);
    let n = ascending.len();
    let (first, last) = (*ascending.first()?, *ascending.last()?);
    let median = quantile(&ascending, 0.5);
    if n == 1 {
        return Some(Estimate::unmeasured(median));
    }
    if n < FEWEST_GROUPS {
        return Some(Estimate::within(median, [first, last]));
    }
    let Ok(binomial) = Binomial::new(0.5, n as u64) else {
        return Some(Estimate::within(median, [first, last]));
    };
    let coverage = |k: usize| 1.0 - 2.0 * binomial.cdf(k as u64 - 1);
    // The largest k whose interval still covers enough; k = 1 does, for n is at least FEWEST_GROUPS.
    let k = largest_covering(n / 2, coverage).max(1);
    let inner = (k + 1).min(n.div_ceil(2));
    let (wide, narrow) = (coverage(k), coverage(inner));
    let share = if wide > narrow { (wide - COVERAGE) / (wide - narrow) } else { 0.0 };
    let (n_real, k_real) = (n as f64, k as f64);
    let weight = (n_real - k_real) * share / (k_real + (n_real - 2.0 * k_real) * share);
    let between = |outer: f64, inner: f64| outer + (inner - outer) * weight;
    let low = between(ascending[k - 1], ascending[inner - 1]);
    let high = between(ascending[n - k], ascending[n - inner]);
    Some(Estimate::within(median, [low, high]))
}

/// The largest `k` of 1 to `most` whose coverage, which falls with `k`, is still enough; 0 for none.
fn largest_covering(most: usize, coverage: impl Fn(usize) -> f64) -> usize {
    let (mut enough, mut too_many) = (0, most + 1);
    while too_many - enough > 1 {
        let middle = (enough + too_many) / 2;
        if coverage(middle) >= COVERAGE { enough = middle } else { too_many = middle }
    }
    enough
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn six_values_by_hand() {
        // k = 1 covers 1 - 2/64 = 31/32, k = 2 covers 1 - 14/64 = 25/32, so the share of the way from the
        // one to the other is (31/32 - 0.95) / (6/32) = 0.1, and the weight (5 x 0.1) / (1 + 4 x 0.1).
        let figure = median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let [low, high] = figure.ci;
        assert_eq!(figure.estimate, 3.5);
        assert!((low - (1.0 + 5.0 / 14.0)).abs() < 1e-9, "{low}");
        assert!((high - (6.0 - 5.0 / 14.0)).abs() < 1e-9, "{high}");
    }

    #[test]
    fn nothing_one_and_few_values() {
        assert_eq!(median_interval(&[]), None);
        assert_eq!(median_interval(&[7.0]), Some(Estimate::unmeasured(7.0)));
        assert_eq!(median_interval(&[3.0, 1.0, 2.0]), Some(Estimate::within(2.0, [1.0, 3.0])));
    }

    #[test]
    fn the_search_finds_what_counting_finds() {
        for most in 0..40 {
            for limit in 0..40_usize {
                let coverage = |k: usize| if k <= limit { 1.0 } else { 0.0 };
                assert_eq!(largest_covering(most, coverage), limit.min(most));
            }
        }
    }

    proptest! {
        #[test]
        fn it_moves_and_stretches_with_the_values(values in prop::collection::vec(-1e3..1e3_f64, 2..60), shift in -1e3..1e3_f64, factor in 0.1..10.0_f64) {
            let figure = |values: &[f64]| {
                let Estimate { estimate, ci: [low, high], .. } = median_interval(values).unwrap();
                [low, estimate, high]
            };
            let plain = figure(&values);
            prop_assert!(plain.is_sorted());
            let moved: Vec<f64> = values.iter().map(|value| value * factor + shift).collect();
            for (plain, moved) in plain.into_iter().zip(figure(&moved)) {
                prop_assert!((plain * factor + shift - moved).abs() < 1e-6);
            }
        }

        #[test]
        fn order_does_not_matter(mut values in prop::collection::vec(-1e3..1e3_f64, 1..60)) {
            let before = median_interval(&values);
            values.reverse();
            prop_assert_eq!(before, median_interval(&values));
        }
    }
}
