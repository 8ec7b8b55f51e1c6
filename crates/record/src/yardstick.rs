//! How much of what happened to a yardstick happened to a probe as well.

/// So much of what epochs differ by must be left at the most for a yardstick to explain a probe.
const MOST_LEFT: f64 = 0.7;
/// The slope must be so many times its standard error.
const SURE: f64 = 4.0;
/// Nothing slows a probe down by a larger power of what it does to the work of a yardstick.
const MOST_SLOPE: f64 = 2.0;
/// A slope needs so many epochs.
const FEWEST: usize = 8;
/// The root mean square of a normal distribution over the mean distance of two of its values.
const NORMAL: f64 = 0.886_226_925_452_758;
/// By how much ranks are less efficient than means if errors are normal: the root of pi / 3.
const RANKS: f64 = 1.023_326_707_946_488_5;

/// The power of the yardstick that a probe follows, from the epochs of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Change of the logarithm of the probe for each change of that of the yardstick.
    pub slope: f64,
    /// Its standard error.
    pub error: f64,
    /// What is left of the mean distance of two epochs of one run when the yardstick is taken out, as a share.
    pub left: f64,
}

/// The slope of each run's logarithms `[yardstick, probe]`, common to all runs. Only differences within a run count, so
/// that what differs between the runs cannot be mistaken for what the machine did. It is the slope that makes the sum of
/// distances of all pairs of residuals smallest (Jaeckel 1972, with Wilcoxon's scores): one far epoch weighs no more than
/// its distance. `None` if the yardstick does not explain the probe, in the runs together or in one of them.
pub fn slope(runs: &[Vec<[f64; 2]>]) -> Option<Slope> {
    let pairs: Vec<Vec<[f64; 2]>> = runs.iter().map(|run| differences(run)).collect();
    let epochs: usize = runs.iter().map(Vec::len).sum();
    let mut slopes: Vec<(f64, f64)> = pairs
        .iter()
        .flatten()
        .map(|[x, y]| (y / x, x.abs()))
        .filter(|(slope, weight)| slope.is_finite() && *weight > 0.0)
        .collect();
    slopes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = slopes.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let (slope, _) = *slopes.iter().find(|(_, weight)| {
        below += weight;
        below >= half
    })?;
    let distance =
        |pairs: &[[f64; 2]], slope: f64| pairs.iter().map(|[x, y]| (y - slope * x).abs()).sum::<f64>();
    let all: Vec<[f64; 2]> = pairs.concat();
    let left = distance(&all, slope) / distance(&all, 0.0);
    // One degree of freedom for the center of each run, one for the slope.
    let free = epochs.checked_sub(runs.len() + 1).filter(|free| *free > 0 && epochs >= FEWEST)? as f64;
    let deviation = NORMAL * distance(&all, slope) / all.len() as f64 * (epochs as f64 / free).sqrt();
    let squares: f64 = runs.iter().map(|run| squares(run)).sum();
    let error = RANKS * deviation / squares.sqrt();
    let helps = |pairs: &Vec<[f64; 2]>| distance(pairs, slope) <= distance(pairs, 0.0) * 1.1;
    let explains =
        left <= MOST_LEFT && slope > SURE * error && slope <= MOST_SLOPE && pairs.iter().all(helps);
    (error.is_finite() && explains).then_some(Slope { slope, error, left })
}

/// The differences of all pairs of epochs.
fn differences(run: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let of =
        |(place, a): (usize, &[f64; 2])| run[..place].iter().map(|b| [a[0] - b[0], a[1] - b[1]]).collect();
    run.iter().enumerate().flat_map::<Vec<_>, _>(of).collect()
}

/// The sum of the squares of the yardstick's distances from its mean.
fn squares(run: &[[f64; 2]]) -> f64 {
    let mean = run.iter().map(|point| point[0]).sum::<f64>() / run.len().max(1) as f64;
    run.iter().map(|point| (point[0] - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise of the same size on both sides of a line.
    fn line(x: &[f64], slope: f64) -> Vec<[f64; 2]> {
        x.iter().enumerate().map(|(at, x)| [*x, 7.0 + slope * x + [0.001, -0.001][at % 2]]).collect()
    }

    const X: [f64; 8] = [0.0, 0.0, 0.2, 0.2, 0.1, 0.1, 0.0, 0.0];

    #[test]
    fn a_slope_is_found_within_runs_and_not_between_them() {
        let a = line(&X, 0.5);
        // Another level of the probe does not count.
        let b: Vec<[f64; 2]> = line(&X, 0.5).into_iter().map(|[x, y]| [x + 1.0, y + 3.0]).collect();
        let found = slope(&[a.clone(), b]).unwrap();
        assert!((found.slope - 0.5).abs() < 0.02 && found.error < 0.01 && found.left < 0.1, "{found:?}");
        assert!(slope(&[a]).is_some());
    }

    #[test]
    fn what_does_not_explain_is_not_used() {
        let still = vec![[1.0, 2.0]; 8];
        assert_eq!(slope(&[]), None);
        assert_eq!(slope(&[still]), None, "nothing moved");
        assert_eq!(slope(&[line(&X, 0.0)]), None, "the probe does not follow");
        assert_eq!(slope(&[line(&X, -0.5)]), None, "a slow machine makes nothing faster");
        assert_eq!(slope(&[line(&X, 3.0)]), None, "nothing follows by the third power");
        assert_eq!(slope(&[line(&X[..7], 0.5)]), None, "seven epochs");
        // In the second run the probe goes the other way.
        assert_eq!(slope(&[line(&X, 0.5), line(&[0.0, 0.1, 0.0, 0.1], -0.5)]), None);
    }
}
