//! Another tool's figure as a measurement.

use tollgate_record::family::ImportedAsked;
use tollgate_record::{Asked, Estimate, Measurement, Per, Status, Warning, warning};

/// Nanoseconds in a unit that tools print.
pub(super) const MICROSECOND: f64 = 1e3;
pub(super) const SECOND: f64 = 1e9;

/// A row for one figure without an interval, in nanoseconds. A number that is not finite makes a row that failed: the
/// file said something there, and it is not lost.
pub(super) fn alone(probe: &str, engine: &str, per: Per, ns: f64) -> Measurement {
    let mut row = Measurement::empty(probe, engine, per, Status::Measured);
    if !ns.is_finite() {
        row.status = Status::Failed;
        row.reason = Some("the imported figure is not a finite number".into());
        return row;
    }
    row.ns = Some(Estimate::point(ns));
    let text = "the file gives one figure: its interval and its spread are not known";
    row.warnings.push(Warning::new(warning::NO_INTERVAL, text));
    row
}

/// A row for a round trip, of which each half is one switch.
pub(super) fn round_trip(probe: &str, engine: &str, ns: f64) -> Measurement {
    let mut row = alone(probe, engine, Per::Switch, ns / 2.0);
    let text =
        "the file gives round trips, each of which is two switches: the figure is half of what it says";
    row.warnings.push(Warning::new(warning::HALVED, text));
    row
}

/// A row with the samples behind its figure, which is their median with its interval.
pub(super) fn sampled(probe: &str, engine: &str, per: Per, samples: &[f64]) -> Option<Measurement> {
    let mut sorted: Vec<f64> = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    // Not finite either for no samples, or for one that is not.
    if !mean.is_finite() {
        return None;
    }
    let mut row = Measurement::empty(probe, engine, per, Status::Measured);
    let at = |share: f64| quantile(&sorted, share);
    let interval = median_interval(&sorted);
    if interval.is_none() {
        let text = format!("{} samples are too few for an interval", sorted.len());
        row.warnings.push(Warning::new(warning::NO_INTERVAL, text));
    }
    row.ns = Some(Estimate {
        estimate: at(0.5),
        ci: interval.unwrap_or([at(0.5); 2]),
        min: sorted[0],
        p10: at(0.1),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        mean,
    });
    row.samples = sorted.len() as u64;
    row.crossings = row.samples;
    Some(row)
}

/// The quantile of sorted samples, between neighbors in proportion.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    let between = place - place.floor();
    sorted[below] * (1.0 - between) + sorted[above] * between
}

/// The 95 % interval of the median from order statistics: the binomial distribution tells how many samples lie
/// below the median. Six samples are the fewest that have one.
fn median_interval(sorted: &[f64]) -> Option<[f64; 2]> {
    let n = sorted.len();
    // ln C(n, k) step by step, so that thousands of samples do not overflow.
    let (mut log_choose, mut below, mut rank) = (0.0, 0.0, None);
    for k in 0..n / 2 {
        below += (log_choose - n as f64 * std::f64::consts::LN_2).exp();
        if below > 0.025 {
            break;
        }
        rank = Some(k);
        log_choose += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    rank.map(|k| [sorted[k], sorted[n - 1 - k]])
}

/// Adds what the other tool's file says was measured.
pub(super) fn ask(row: &mut Measurement, fill: impl FnOnce(&mut ImportedAsked)) {
    let mut asked = row.asked.imported().cloned().unwrap_or_default();
    fill(&mut asked);
    row.asked = Asked::Imported(asked);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_the_median_has_the_ranks_of_the_table() {
        // Ranks of 95 % intervals of medians as tables of the sign test have them (counted from 1).
        for (n, ranks) in
            [(5, None), (6, Some([1, 6])), (10, Some([2, 9])), (20, Some([6, 15])), (50, Some([18, 33]))]
        {
            let sorted: Vec<f64> = (1..=n).map(f64::from).collect();
            assert_eq!(median_interval(&sorted), ranks.map(|ranks: [i32; 2]| ranks.map(f64::from)), "{n}");
        }
    }

    #[test]
    fn what_is_not_finite_is_a_row_that_failed() {
        assert_eq!(alone("a/b", "x", Per::Call, f64::NAN).status, Status::Failed);
        assert!(sampled("a/b", "x", Per::Call, &[1.0, f64::INFINITY]).is_none());
        assert!(sampled("a/b", "x", Per::Call, &[f64::MAX, f64::MAX]).is_none());
        assert!(sampled("a/b", "x", Per::Call, &[]).is_none());
    }
}
