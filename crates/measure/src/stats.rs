//! Statistics: pure functions of samples.

mod batch_means;
mod interval;
mod quantile;
mod shape;

pub use batch_means::{Window, mean_of_windows};
pub use interval::{COVERAGE, FEWEST_GROUPS, median_interval};
pub use quantile::{INTERRUPTED, mean_of_crossings, median, quantile, sorted};
pub use shape::{TwoLevels, drift, outliers, two_levels};

/// Whether a series of times has stopped falling or rising: the minima of its last four values and of the four before them
/// differ by 3 % or less. (Minima, because a disturbance makes a batch longer.)
///
/// ```
/// use tollgate_measure::stats::is_steady;
/// assert!(!is_steady(&[9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0]));
/// assert!(is_steady(&[9.0, 5.0, 5.0, 5.1, 5.0, 5.0, 5.1, 5.0]));
/// ```
pub fn is_steady(times: &[f64]) -> bool {
    let Some(start) = times.len().checked_sub(8) else { return false };
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let (before, last) = (least(&times[start..start + 4]), least(&times[start + 4..]));
    (last - before).abs() <= 0.03 * before.abs().max(last.abs())
}
