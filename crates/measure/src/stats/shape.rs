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

/// Whether the values are around two separate levels: the cut that minimizes the variance within both
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Standard normal values by the Box-Muller transform.
    fn normal(rng: &mut ChaCha8Rng) -> f64 {
        let (radius, angle): (f64, f64) = (rng.random(), rng.random());
        (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    #[test]
    fn fences_class_outliers_by_side_and_distance() {
        // With the five added, the 12th and 34th of 45 are Q1 = 101 and Q3 = 106: fences at 93.5 and
        // 113.5, and at 86 and 121.
        let mut values: Vec<f64> = (0..40).map(|i| 100.0 + f64::from(i % 9)).collect();
        let clean = outliers(&values);
        assert_eq!(clean, Outliers::default());
        values.extend([93.0, 80.0, 114.0, 130.0, 140.0]);
        assert_eq!(outliers(&values), Outliers { low_severe: 1, low_mild: 1, high_mild: 1, high_severe: 2 });
    }

    #[test]
    fn two_levels_are_seen_and_one_is_not_split() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut split = 0;
        for _ in 0..200 {
            let one: Vec<f64> = (0..300).map(|_| 100.0 + 5.0 * normal(&mut rng)).collect();
            split += usize::from(two_levels(&one).is_some());
            let skewed: Vec<f64> = one.iter().map(|_| 100.0 + 20.0 * normal(&mut rng).exp()).collect();
            split += usize::from(two_levels(&skewed).is_some());
        }
        assert!(split <= 4, "{split} of 400 single-level samples were split");
        let both: Vec<f64> =
            (0..300).map(|i| if i % 3 == 0 { 150.0 } else { 100.0 } + 3.0 * normal(&mut rng)).collect();
        let levels = two_levels(&both).unwrap();
        assert!((levels.low - 100.0).abs() < 1.0 && (levels.high - 150.0).abs() < 1.0, "{levels:?}");
        assert!((levels.high_share - 1.0 / 3.0).abs() < 0.02);
    }

    #[test]
    fn drift_needs_a_trend_and_a_size() {
        let rising: Vec<f64> = (0..12).map(|i| 100.0 + f64::from(i)).collect();
        assert!(drift(&rising).unwrap() > 0.06);
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        assert!(drift(&falling).unwrap() < -0.06);
        assert_eq!(drift(&[100.0; 12]), None);
        let tiny: Vec<f64> = (0..12).map(|i| 100.0 + f64::from(i) / 100.0).collect();
        assert_eq!(drift(&tiny), None);
        let restless = [100.0, 110.0, 100.0, 110.0, 100.0, 110.0, 100.0, 110.0, 100.0, 110.0, 100.0, 110.0];
        assert_eq!(drift(&restless), None);
    }

    #[test]
    fn trends_by_chance_are_rare() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let alarms = (0..1_000)
            .filter(|_| {
                drift(&(0..12).map(|_| 100.0 + 10.0 * normal(&mut rng)).collect::<Vec<_>>()).is_some()
            })
            .count();
        assert!(alarms <= 20, "{alarms} false alarms in 1,000 at a level of 1 %");
    }

    proptest! {
        #[test]
        fn nothing_panics(values in prop::collection::vec(any::<f64>(), 0..80)) {
            let _ = (outliers(&values), two_levels(&values), drift(&values));
        }
    }
}
