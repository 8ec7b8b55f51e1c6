//! Figures with their promised bounds, and the spread of several runs.

use std::collections::BTreeMap;
use std::fmt;

/// A figure with its bound.
pub(crate) struct Figure {
    what: String,
    value: f64,
    bound: Option<(&'static str, f64, bool)>,
    remark: String,
}

impl Figure {
    pub(crate) fn at_most(what: &str, value: f64, bound: f64) -> Self {
        Self {
            what: what.into(),
            value,
            bound: Some(("at most", bound, value <= bound)),
            remark: String::new(),
        }
    }

    pub(crate) fn at_least(what: &str, value: f64, bound: f64) -> Self {
        Self {
            what: what.into(),
            value,
            bound: Some(("at least", bound, value >= bound)),
            remark: String::new(),
        }
    }

    pub(crate) fn skipped(what: &str, why: &str) -> Self {
        Self { what: what.into(), value: f64::NAN, bound: None, remark: format!("skipped: {why}") }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bound {
            Some((word, bound, met)) => {
                let verdict = if met { "met" } else { "FALLS SHORT" };
                write!(f, "{}: {:.3} ({word} {bound}) {verdict}", self.what, self.value)
            }
            None => write!(f, "{}: {}", self.what, self.remark),
        }
    }
}

/// The rows of one run, by probe.
pub(crate) struct Ladder {
    rows: BTreeMap<String, LadderRow>,
}

struct LadderRow {
    ns: f64,
    ci: [f64; 2],
    ticks: Option<f64>,
    switches: Option<f64>,
}

impl Ladder {
    pub(crate) fn of(document: &serde_json::Value) -> Self {
        let results = document["results"].as_array().into_iter().flatten();
        let rows = results.filter_map(|result| {
            let ns = &result["ns"];
            let row = LadderRow {
                ns: ns["estimate"].as_f64()?,
                ci: [ns["ci"][0].as_f64()?, ns["ci"][1].as_f64()?],
                ticks: result["ticks"]["estimate"].as_f64(),
                switches: result["proof"]["switches_per_crossing"].as_f64(),
            };
            Some((result["probe"].as_str()?.to_string(), row))
        });
        Self { rows: rows.collect() }
    }

    pub(crate) fn ticks(&self, probe: &str) -> Option<f64> {
        self.rows.get(probe)?.ticks
    }

    /// Counted switches for each claimed one, by probe.
    pub(crate) fn switches(&self) -> impl Iterator<Item = (&str, f64)> {
        self.rows.iter().filter_map(|(probe, row)| Some((probe.as_str(), row.switches?)))
    }
}

/// The first number after the last of `words`, in the first line that contains them all in this order.
pub(crate) fn number_after(text: &str, words: &[&str]) -> Option<f64> {
    text.lines().find_map(|line| {
        let mut rest = line.split_whitespace();
        words
            .iter()
            .all(|word| rest.any(|found| found == *word))
            .then(|| rest.find_map(|found| found.parse().ok()))?
    })
}

/// How the estimate of one probe varied over runs.
#[derive(Debug, PartialEq)]
pub(crate) struct Spread {
    probe: String,
    median: f64,
    /// Standard deviation over mean.
    pub(crate) variation: f64,
    /// Median of half the interval's width over the estimate.
    claimed: f64,
}

impl Spread {
    /// Whether the probe needs a second CPU.
    pub(crate) fn two_cpus(&self) -> bool {
        self.probe.starts_with("core/")
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { probe, median, variation, claimed } = self;
        write!(
            f,
            "{probe:24} {median:>12.3} ns   varies {:>6.2} %   claims +- {:>6.2} %",
            variation * 100.0,
            claimed * 100.0
        )
    }
}

/// The spread of each probe that all runs measured.
pub(crate) fn spread(ladders: &[Ladder]) -> Vec<Spread> {
    let Some(first) = ladders.first() else { return Vec::new() };
    let of_probe = |probe: &String| {
        let rows = ladders.iter().map(|ladder| ladder.rows.get(probe)).collect::<Option<Vec<_>>>()?;
        let values: Vec<f64> = rows.iter().map(|row| row.ns).collect();
        let widths = rows.iter().map(|row| (row.ci[1] - row.ci[0]) / 2.0 / row.ns).collect();
        Some(Spread {
            probe: probe.clone(),
            median: median(values.clone()),
            variation: variation(&values),
            claimed: median(widths),
        })
    };
    first.rows.keys().filter_map(of_probe).collect()
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    if n == 0 { f64::NAN } else { (values[(n - 1) / 2] + values[n / 2]) / 2.0 }
}

/// The coefficient of variation.
fn variation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    variance.sqrt() / mean.abs()
}

/// The number of pairs of intervals of one probe in successive runs, and how many of them do not overlap.
pub(crate) fn non_overlapping(ladders: &[Ladder]) -> (usize, usize) {
    let (mut pairs, mut apart) = (0, 0);
    for two in ladders.windows(2) {
        for (probe, row) in &two[0].rows {
            if let Some(other) = two[1].rows.get(probe) {
                pairs += 1;
                apart += usize::from(row.ci[0] > other.ci[1] || other.ci[0] > row.ci[1]);
            }
        }
    }
    (pairs, apart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ladder(ns: f64, ci: [f64; 2]) -> Ladder {
        Ladder::of(
            &json!({"results": [{"probe": "a", "ns": {"estimate": ns, "ci": ci}}, {"probe": "b", "status": "skipped"}]}),
        )
    }

    #[test]
    fn intervals_that_do_not_overlap_are_counted() {
        let ladders = [ladder(10.0, [9.0, 11.0]), ladder(11.5, [10.5, 12.5]), ladder(14.0, [13.0, 15.0])];
        assert_eq!(non_overlapping(&ladders), (2, 1));
    }

    #[test]
    fn a_number_is_found_by_the_words_before_it() {
        let text = "start to the first 200 instructions: 875 us\nmix    blocks        658 MIPS (median of 5)";
        assert_eq!(number_after(text, &["mix", "blocks"]), Some(658.0));
        assert_eq!(number_after(text, &["start", "instructions:"]), Some(875.0));
        assert_eq!(number_after(text, &["float", "blocks"]), None);
    }

    #[test]
    fn spread_is_deviation_over_mean() {
        let all = spread(&[ladder(9.0, [8.0, 10.0]), ladder(10.0, [9.0, 11.0]), ladder(11.0, [10.0, 12.0])]);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].median, 10.0);
        assert!((all[0].variation - 0.1).abs() < 1e-12);
        assert!((all[0].claimed - 0.1).abs() < 1e-12);
    }
}
