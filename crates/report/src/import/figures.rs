//! What an importer is, and another tool's figure as a measurement.

use indexmap::IndexSet;
use std::collections::BTreeMap;
use tollgate_record::family::ImportedAsked;
use tollgate_record::text::printable;
use tollgate_record::{Asked, Estimate, Host, Measurement, Per, Status, Warning, warning};

/// What the user says where the file is silent: `loops` to `1000000`.
pub type Told = BTreeMap<String, String>;

/// Another tool whose results can be read.
pub struct Importer {
    /// What it is called on the command line, and in the engine of each row (`imported-lmbench`).
    pub name: &'static str,
    /// What it reads.
    pub what: &'static str,
    /// Whether a text looks like this.
    pub(super) detect: fn(&str) -> bool,
    /// An error says what does not hold to the format, and where.
    pub(super) read: fn(&str, &Told) -> Result<Imported, String>,
}

/// What a file held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// One for each figure.
    pub results: Vec<Measurement>,
    /// What the file tells of its host; everything else is absent.
    pub host: Host,
    /// Results of the file that have no place here (bandwidths, arithmetic) or no figure, each once by the tool's own name.
    pub left_out: IndexSet<String>,
    /// What concerns all of it.
    pub warnings: Vec<Warning>,
}

impl Imported {
    /// What a reader of a run made of this must know.
    pub fn warnings(&self, importer: &Importer) -> Vec<Warning> {
        const SHOWN: usize = 20;
        let text = format!(
            "imported from a file of {}: the time is that of the import, the seed means nothing, and what the file \
             does not tell of its host is absent",
            importer.name
        );
        let mut warnings = vec![Warning::new(warning::IMPORTED, text)];
        if !self.left_out.is_empty() {
            let shown: Vec<&str> = self.left_out.iter().take(SHOWN).map(String::as_str).collect();
            let mut text = format!("these of its results have no place here: {}", shown.join(", "));
            if self.left_out.len() > SHOWN {
                text.push_str(&format!(" and {} more", self.left_out.len() - SHOWN));
            }
            warnings.push(Warning::new(warning::NOT_IMPORTED, text));
        }
        warnings.extend(self.warnings.iter().cloned());
        warnings
    }

    /// Notes a result that makes no row.
    pub(super) fn leave_out(&mut self, name: &str) {
        self.left_out.insert(printable(name).into_owned());
    }
}

/// Why a file gives no run. Each reads as a clause after the file's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Nothing in it.
    #[error("it is empty")]
    Empty,
    /// Not UTF-8.
    #[error("it is not text: invalid UTF-8 at byte {0}")]
    NotText(usize),
    /// No importer knows it.
    #[error("its format is not known; the formats that can be read are {0}; name one with --format")]
    Unknown(String),
    /// Of a known format, but without a result that can be used.
    #[error("it holds no result of {0}: no line is a latency that tollgate imports")]
    Nothing(&'static str),
    /// A place that does not hold to the format, and what is wrong with it.
    #[error("it does not hold to the format {0}: {1}")]
    Wrong(&'static str, String),
}

/// Nanoseconds in a unit that tools print.
pub(super) const MICROSECOND: f64 = 1e3;
pub(super) const SECOND: f64 = 1e9;

/// What is wrong with a line, which is counted from one.
pub(super) fn in_line(number: usize, line: &str, why: &str) -> String {
    let line: String = printable(line).chars().take(80).collect();
    format!("line {number}, `{line}`: {why}")
}

/// A row for one figure without an interval, in nanoseconds. A number that is not finite makes a row that failed: the
/// file said something there, and it is not lost.
pub(super) fn alone(probe: &str, engine: &str, per: Per, ns: f64) -> Measurement {
    let mut row = Measurement::empty(probe, engine, per, Status::Measured);
    if !ns.is_finite() {
        row.status = Status::Failed;
        row.reason = Some("the imported figure is not a finite number".into());
        return row;
    }
    row.ns = Some(Estimate::unmeasured(ns));
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
        ci: interval.unwrap_or(Estimate::unmeasured(at(0.5)).ci),
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
    fn results_without_a_place_are_named_as_far_as_they_fit() {
        let importer = &super::super::IMPORTERS[0];
        let left_out = |count| (1..=count).map(|n| format!("r{n}")).collect();
        let texts = |count| {
            let warnings = Imported { left_out: left_out(count), ..Imported::default() }.warnings(importer);
            Vec::from_iter(warnings.into_iter().skip(1).map(|warning| warning.text))
        };
        assert!(texts(0).is_empty());
        assert!(texts(3)[0].ends_with("here: r1, r2, r3"));
        assert!(texts(20)[0].ends_with("r19, r20"));
        assert!(texts(22)[0].ends_with("r19, r20 and 2 more"));
    }

    #[test]
    fn what_is_not_finite_is_a_row_that_failed() {
        assert_eq!(alone("a/b", "x", Per::Call, f64::NAN).status, Status::Failed);
        assert!(sampled("a/b", "x", Per::Call, &[1.0, f64::INFINITY]).is_none());
        assert!(sampled("a/b", "x", Per::Call, &[f64::MAX, f64::MAX]).is_none());
        assert!(sampled("a/b", "x", Per::Call, &[]).is_none());
    }
}
