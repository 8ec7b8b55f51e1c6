//! The mean of consecutive windows of one process, whose neighbors are alike.

use statrs::distribution::{ContinuousCDF, StudentsT};
use tollgate_record::Estimate;

/// Batches that the windows are joined into. Few and long batches are nearly independent; beyond ten or so, more
/// batches narrow the interval little and lose coverage where neighbors are alike (Schmeiser 1982, "Batch size
/// effects in the analysis of simulation output").
const BATCHES: usize = 8;

/// One window: what was summed up in it, and over how many events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The sum, in any unit.
    pub total: f64,
    /// The number of events.
    pub count: f64,
}

/// The mean for each event over all windows, with its 95 % interval by the method of batch means.
///
/// Windows that follow one another are correlated, so the standard error of their means as if they were
/// independent is too small: with a correlation of 0.8 between neighbors its interval covers the mean in 49 % of
/// runs. The windows are joined into eight batches in their order; the batches' deviations from the common
/// mean give the variance of the ratio of two sums (Cochran 1977, "Sampling Techniques", 6.3), and the interval
/// is Student's with one degree of freedom less than batches. `None` without events; no width for one window.
pub fn mean_of_windows(windows: &[Window]) -> Option<Estimate> {
    let sum = |windows: &[Window]| {
        windows.iter().fold((0.0, 0.0), |(total, count), it| (total + it.total, count + it.count))
    };
    let (total, count) = sum(windows);
    if count <= 0.0 {
        return None;
    }
    let mean = total / count;
    let batches = windows.len().min(BATCHES);
    let Ok(student) = StudentsT::new(0.0, 1.0, batches as f64 - 1.0) else {
        return Some(Estimate::point(mean));
    };
    let n = windows.len();
    let squares: f64 = (0..batches)
        .map(|at| sum(&windows[at * n / batches..(at + 1) * n / batches]))
        .map(|(total, count)| (total - mean * count).powi(2))
        .sum();
    let error = (squares * batches as f64 / (batches as f64 - 1.0)).sqrt() / count;
    let half = student.inverse_cdf(0.975) * error;
    Some(Estimate::within(mean, [mean - half, mean + half]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(values: &[(f64, f64)]) -> Vec<Window> {
        values.iter().map(|&(total, count)| Window { total, count }).collect()
    }

    #[test]
    fn four_equal_windows_by_hand() {
        // Means 1, 2, 3, 6 of mean 3: squares 4 + 1 + 0 + 9 = 14, standard error sqrt(14 / 3 / 4); the quantile
        // of Student's distribution with 3 degrees of freedom is 3.182.
        let found =
            mean_of_windows(&windows(&[(10.0, 10.0), (20.0, 10.0), (30.0, 10.0), (60.0, 10.0)])).unwrap();
        assert!((found.estimate - 3.0).abs() < 1e-12);
        assert!((found.half_width() - 3.182 * (14.0_f64 / 12.0).sqrt()).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn a_window_of_twice_the_events_weighs_twice() {
        let found = mean_of_windows(&windows(&[(10.0, 10.0), (80.0, 20.0)])).unwrap();
        assert!((found.estimate - 3.0).abs() < 1e-12);
        // Deviations of the sums are -20 and 20: sqrt(800 x 2 / 1) / 30, times 12.706 for 1 degree of freedom.
        assert!((found.half_width() - 12.706 * 40.0 / 30.0).abs() < 1e-2, "{found:?}");
    }

    #[test]
    fn few_windows() {
        assert_eq!(mean_of_windows(&[]), None);
        assert_eq!(mean_of_windows(&windows(&[(0.0, 0.0)])), None);
        assert_eq!(mean_of_windows(&windows(&[(6.0, 2.0)])), Some(Estimate::point(3.0)));
    }
}
