//! The headline and its confidence interval.

use super::quantile::{quantile, sorted};
use statrs::distribution::{Binomial, DiscreteCDF};

/// Fewest groups from which a 95 % interval for a median can be had: the smallest and the largest of
/// five values enclose the median with 93.75 % only, of six with 96.9 %.
pub const FEWEST_GROUPS: usize = 6;

/// Nominal coverage of every interval in the record.
pub const COVERAGE: f64 = 0.95;

/// The median of independent values and its 95 % confidence interval.
///
/// The interval is the distribution-free one of the order statistics `x(k)` and `x(n+1-k)`, which
/// enclose the median with probability `1 - 2 P(B <= k-1)`, `B ~ Binomial(n, 1/2)`, interpolated between
/// two neighbouring `k` to come to 95 % (Hettmansperger and Sheather 1986, "Confidence intervals based on
/// interpolated order statistics"). With fewer than [`FEWEST_GROUPS`] values it is the whole range, whose
/// coverage is lower than nominal. `None` for no values.
///
/// ```
/// use tollgate_measure::stats::median_interval;
/// let (median, [low, high]) = median_interval(&[3.0, 1.0, 2.0, 5.0, 4.0, 6.0, 7.0]).unwrap();
/// assert_eq!(median, 4.0);
/// assert!(low > 1.0 && low < 2.0 && high > 6.0 && high < 7.0);
/// ```
pub fn median_interval(values: &[f64]) -> Option<(f64, [f64; 2])> {
    let ascending = sorted(values);
    let n = ascending.len();
    let (first, last) = (*ascending.first()?, *ascending.last()?);
    let median = quantile(&ascending, 0.5);
    if n < FEWEST_GROUPS {
        return Some((median, [first, last]));
    }
    let Ok(binomial) = Binomial::new(0.5, n as u64) else { return Some((median, [first, last])) };
    let coverage = |k: usize| 1.0 - 2.0 * binomial.cdf(k as u64 - 1);
    // The largest k whose interval still covers enough; k = 1 does, for n is at least FEWEST_GROUPS.
    let k = (1..=n / 2).take_while(|&k| coverage(k) >= COVERAGE).last().unwrap_or(1);
    let inner = (k + 1).min(n.div_ceil(2));
    let (wide, narrow) = (coverage(k), coverage(inner));
    let share = if wide > narrow { (wide - COVERAGE) / (wide - narrow) } else { 0.0 };
    let (n_real, k_real) = (n as f64, k as f64);
    let weight = (n_real - k_real) * share / (k_real + (n_real - 2.0 * k_real) * share);
    let between = |outer: f64, inner: f64| outer + (inner - outer) * weight;
    let low = between(ascending[k - 1], ascending[inner - 1]);
    let high = between(ascending[n - k], ascending[n - inner]);
    Some((median, [low, high]))
}
