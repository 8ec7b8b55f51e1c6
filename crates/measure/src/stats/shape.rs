//! The shape of a set of samples: outliers, two levels, drift.

use super::quantile::{median, quantile, sorted};
use statrs::distribution::{ContinuousCDF, Normal};
use tollgate_record::Outliers;

/// Counts the values outside Tukey's fences (Q1 and Q3 -+ 1.5 and 3 interquartile ranges). They are
/// counted, not dropped.
pub fn outliers(values: &[f64]) -> Outliers {
    let ascending = sorted(values);
    let (q1, q3) = (quantile(&ascending, 0.25), quantile(&ascending, 0.75));
    let range = q3 - q1;
    let mut found = Outliers::default();
    for &value in &ascending {
        if value < q1 - 3.0 * range {
            found.low_severe += 1;
        } else if value < q1 - 1.5 * range {
            found.low_mild += 1;
        } else if value > q3 + 3.0 * range {
            found.high_severe += 1;
        } else if value > q3 + 1.5 * range {
            found.high_mild += 1;
        }
    }
    found
}

/// Two levels among the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoLevels {
    /// Mean of the lower group.
    pub low: f64,
    /// Mean of the upper group.
    pub high: f64,
    /// Share of the samples in the upper group.
    pub high_share: f64,
}

/// Least share of the smaller group for two levels to be reported.
const LEAST_SHARE: f64 = 0.1;
/// Least distance of the two levels as a share of the lower one.
const LEAST_DISTANCE: f64 = 0.05;
/// Least separation: Ashman's D, the distance of the means over the root mean square of the deviations.
/// Cutting one normal distribution in two gives 2.65, a uniform one 3.46.
const LEAST_SEPARATION: f64 = 4.5;

/// Whether the values lie around two separate levels: the cut that minimises the variance within both
/// groups (Otsu 1979), reported when the groups are well apart (Ashman, Bird and Zepf 1994).
pub fn two_levels(values: &[f64]) -> Option<TwoLevels> {
    let ascending = sorted(values);
    let n = ascending.len();
    if n < 20 {
        return None;
    }
    // The extreme hundredths would otherwise form a group of their own.
    let kept = &ascending[n / 100..n - n / 100];
    let n = kept.len() as f64;
    // Deviations from the middle, so that the sums of squares keep their digits.
    let middle = kept[kept.len() / 2];
    let (mut sum, mut squares) = (0.0, 0.0);
    let total: f64 = kept.iter().map(|value| value - middle).sum();
    let total_squares: f64 = kept.iter().map(|value| (value - middle).powi(2)).sum();
    let mut best: Option<(f64, TwoLevels, f64)> = None;
    for (i, value) in kept.iter().enumerate().take(kept.len() - 1) {
        sum += value - middle;
        squares += (value - middle).powi(2);
        let (left, right) = ((i + 1) as f64, n - (i + 1) as f64);
        let (low, high) = (sum / left, (total - sum) / right);
        let low_variance = (squares / left - low * low).max(0.0);
        let high_variance = ((total_squares - squares) / right - high * high).max(0.0);
        let within = left * low_variance + right * high_variance;
        if best.is_none_or(|(least, ..)| within < least) {
            let levels = TwoLevels { low: low + middle, high: high + middle, high_share: right / n };
            best = Some((within, levels, ((low_variance + high_variance) / 2.0).sqrt()));
        }
    }
    let (_, levels, deviation) = best?;
    let distance = levels.high - levels.low;
    let clear = distance >= LEAST_SEPARATION * deviation
        && distance >= LEAST_DISTANCE * levels.low.abs()
        && distance > 0.0
        && (LEAST_SHARE..=1.0 - LEAST_SHARE).contains(&levels.high_share);
    clear.then_some(levels)
}

/// A drift: the relative change from the first third of a series to its last third, when the series
/// rises or falls beyond chance (Mann-Kendall test at 1 %) and by 3 % or more.
pub fn drift(series: &[f64]) -> Option<f64> {
    let n = series.len();
    if n < 6 {
        return None;
    }
    let mut score = 0_i64;
    for (i, early) in series.iter().enumerate() {
        for late in &series[i + 1..] {
            score += late.partial_cmp(early).map_or(0, |order| order as i64);
        }
    }
    let n_real = n as f64;
    let deviation = (n_real * (n_real - 1.0) * (2.0 * n_real + 5.0) / 18.0).sqrt();
    // Continuity correction: the score moves in steps of two.
    let z = (score.abs() as f64 - 1.0).max(0.0) / deviation;
    let chance = Normal::new(0.0, 1.0).map_or(1.0, |normal| 2.0 * (1.0 - normal.cdf(z)));
    let (first, last) = (median(&series[..n / 3]), median(&series[n - n / 3..]));
    let change = (last - first) / first.abs();
    (chance < 0.01 && change.abs() >= 0.03).then_some(change)
}
