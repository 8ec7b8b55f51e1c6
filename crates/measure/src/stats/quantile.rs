//! Order statistics.

/// The values in ascending order; values that are not numbers are left out.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The `q` quantile of ascending values by linear interpolation between order statistics (Hyndman and
/// Fan 1996, type 7). Not a number for an empty slice.
///
/// ```
/// use tollgate_measure::stats::quantile;
/// assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
/// assert_eq!(quantile(&[7.0], 0.99), 7.0);
/// assert!(quantile(&[], 0.5).is_nan());
/// ```
pub fn quantile(ascending: &[f64], q: f64) -> f64 {
    let Some(last) = ascending.len().checked_sub(1) else { return f64::NAN };
    let place = q.clamp(0.0, 1.0) * last as f64;
    let low = ascending[place.floor() as usize];
    let high = ascending[place.ceil() as usize];
    // Equal neighbors first: infinities of one sign would otherwise give NaN.
    if low == high { low } else { low + (high - low) * place.fract() }
}

/// The median of values in any order. Not a number for an empty slice.
pub fn median(values: &[f64]) -> f64 {
    quantile(&sorted(values), 0.5)
}

/// An interrupted crossing takes at least this many times the median.
pub const INTERRUPTED: f64 = 4.0;

/// The mean of single crossings without interrupted ones, like that of an uninterrupted batch. `None`
/// without values.
///
/// ```
/// use tollgate_measure::stats::mean_of_crossings;
/// // Of ten crossings one takes twice as long, as it always does, and one was interrupted.
/// let ticks = [10.0, 10.0, 10.0, 10.0, 10.0, 20.0, 10.0, 10.0, 10.0, 900.0];
/// assert_eq!(mean_of_crossings(&ticks), Some(100.0 / 9.0));
/// assert_eq!(mean_of_crossings(&[]), None);
/// ```
pub fn mean_of_crossings(ticks: &[f64]) -> Option<f64> {
    let middle = median(ticks);
    let whole = || ticks.iter().filter(|&&ticks| middle <= 0.0 || ticks < INTERRUPTED * middle);
    let count = whole().count();
    (count > 0).then(|| whole().sum::<f64>() / count as f64)
}
