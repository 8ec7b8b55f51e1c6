//! Figures with their promised bounds, and the spread of several runs.

use crate::tool::Tool;
use anyhow::Result;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};
use statrs::statistics::{Data, OrderStatistics, Statistics};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use tollgate_record::{Estimate, Measurement, Run};

/// A figure with its bound, as it is printed.
pub(super) type Figure = String;

pub(super) fn at_most(what: &str, value: f64, bound: f64) -> Figure {
    promise(what, value, "at most", bound, value <= bound)
}

pub(super) fn at_least(what: &str, value: f64, bound: f64) -> Figure {
    promise(what, value, "at least", bound, value >= bound)
}

pub(super) fn skipped(what: &str, why: &str) -> Figure {
    format!("{what}: skipped: {why}")
}

fn promise(what: &str, value: f64, word: &str, bound: f64, met: bool) -> Figure {
    let verdict = if met { "met" } else { "FALLS SHORT" };
    format!("{what}: {value:.3} ({word} {bound}) {verdict}")
}

/// How much a benchmark measures: the options that all share.
#[derive(clap::Args)]
pub(super) struct Effort {
    /// Number of runs for a figure of repeatability
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub(super) runs: u32,
    /// Use quick runs instead of default ones for repeatability
    #[arg(long)]
    quick: bool,
    /// Of `power`, only cells whose name begins so: quick, default, pairs-30, pairs-60, pairs-120, each with /quiet,
    /// /spinner, /cache-flood, /fork-loop; --runs is the number of rounds
    #[arg(long)]
    pub(super) cell: Option<String>,
    /// Of `riscv-cores`, another tollgate, which takes turns with this one
    #[arg(long, value_name = "PROGRAM")]
    pub(super) against: Option<PathBuf>,
}

impl Effort {
    /// Repeated runs with these arguments, and how many seconds each took.
    pub(super) fn repeat(&self, tool: &Tool, args: &[&str]) -> Result<Vec<(Run, f64)>> {
        let quick: &[&str] = if self.quick { &["--quick"] } else { &[] };
        (0..self.runs).map(|_| tool.run(&[args, quick].concat())).collect()
    }
}

pub(super) fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// Both measurements, the first of which is drawn.
pub(super) fn in_turns<T>(
    ours: impl FnOnce() -> Result<T>,
    theirs: impl FnOnce() -> Result<T>,
) -> Result<(T, T)> {
    if random().is_multiple_of(2) {
        let ours = ours()?;
        Ok((ours, theirs()?))
    } else {
        let theirs = theirs()?;
        Ok((ours()?, theirs))
    }
}

/// The geometric mean of ratios, given as logarithms, within Student's 95 % interval.
pub(super) fn ratio(logs: &[f64]) -> [f64; 3] {
    let rounds = logs.len() as f64;
    let quantile = StudentsT::new(0.0, 1.0, rounds - 1.0).map_or(f64::NAN, |it| it.inverse_cdf(0.975));
    let half = quantile * logs.std_dev() / rounds.sqrt();
    let mean = logs.mean();
    [mean - half, mean, mean + half].map(f64::exp)
}

/// Whether most differences are positive; `None` if they could as well be negative (two-sided sign test at 5 %).
pub(super) fn sign(differences: &[f64]) -> Option<bool> {
    let [above, below] =
        [1.0, -1.0].map(|side| differences.iter().filter(|it| *it * side > 0.0).count() as u64);
    let chance = 2.0 * Binomial::new(0.5, above + below).ok()?.cdf(above.min(below));
    (chance <= 0.05).then_some(above > below)
}

/// The host's row of a probe.
pub(super) fn row<'a>(run: &'a Run, probe: &str) -> Option<&'a Measurement> {
    run.results.iter().find(|row| row.probe == probe && row.engine == "host")
}

/// The nanoseconds of a probe.
pub(super) fn ns(run: &Run, probe: &str) -> Option<Estimate> {
    row(run, probe)?.ns
}

/// The first number after the last of `words`, in the first line that contains them all in this order.
pub(super) fn number_after(text: &str, words: &[&str]) -> Option<f64> {
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
pub(super) struct Spread {
    probe: String,
    median: f64,
    /// Standard deviation over mean.
    pub(super) variation: f64,
    /// Median of half the interval's width over the estimate.
    claimed: f64,
}

impl Spread {
    /// Whether the probe needs a second CPU.
    pub(super) fn two_cpus(&self) -> bool {
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
pub(super) fn spread(runs: &[Run]) -> Vec<Spread> {
    let of_probe = |probe: &String| {
        let all = runs.iter().map(|run| ns(run, probe)).collect::<Option<Vec<Estimate>>>()?;
        let values: Vec<f64> = all.iter().map(|ns| ns.estimate).collect();
        Some(Spread {
            probe: probe.clone(),
            median: median(values.clone()),
            variation: (&values).std_dev() / (&values).mean().abs(),
            claimed: median(all.iter().map(Estimate::relative_half_width).collect()),
        })
    };
    runs.iter().take(1).flat_map(|run| &run.results).filter_map(|row| of_probe(&row.probe)).collect()
}

pub(super) fn median(values: Vec<f64>) -> f64 {
    Data::new(values).median()
}

/// The number of pairs of intervals of one probe in successive runs, and how many of them do not overlap.
pub(super) fn non_overlapping(runs: &[Run]) -> (usize, usize) {
    let pairs = runs.windows(2).flat_map(|two| {
        two[0].results.iter().filter_map(|row| Some((row.ns?.ci, ns(&two[1], &row.probe)?.ci)))
    });
    pairs.fold((0, 0), |(pairs, apart), (one, other)| {
        (pairs + 1, apart + usize::from(one[0] > other[1] || other[0] > one[1]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::{Host, Per, Status, Tool};

    fn ladder(ns: f64, ci: [f64; 2]) -> Run {
        let tool = Tool { version: String::new(), commit: String::new() };
        let mut run = Run::begin(String::new(), String::new(), tool, Vec::new(), Host::default(), 0);
        let mut row = Measurement::empty("a", "host", Per::Call, Status::Measured);
        row.ns = Some(Estimate::within(ns, ci));
        run.results = vec![row, Measurement::empty("b", "host", Per::Call, Status::Skipped)];
        run
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

    /// Of 11 pairs 10 must agree, of 21 pairs 16; those without a difference do not count.
    #[test]
    fn the_sign_test_decides_as_its_table_says() {
        let sign = |above, below| sign(&[vec![0.1; above], vec![-0.1; below], vec![0.0; 5]].concat());
        assert_eq!([sign(10, 1), sign(9, 2), sign(1, 10)], [Some(true), None, Some(false)]);
        assert_eq!([sign(16, 5), sign(15, 6), sign(5, 0), sign(0, 0)], [Some(true), None, None, None]);
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
