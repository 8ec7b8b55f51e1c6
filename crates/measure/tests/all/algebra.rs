//! The rules for intervals hold what they claim, by simulation with a seeded generator: sums, differences and
//! ratios of independent estimates, and the mean of windows that are alike.

#![allow(clippy::print_stdout, reason = "the coverages are what METHOD.md quotes")]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::RangeInclusive;
use tollgate_measure::stats::{Window, mean_of_windows, median_interval};
use tollgate_record::Estimate;

const RUNS: usize = 4_000;

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (radius, angle): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// The share of runs whose interval contains the truth, in percent.
fn coverage(truth: f64, rng: &mut ChaCha8Rng, run: impl Fn(&mut ChaCha8Rng) -> Estimate) -> f64 {
    let hits = (0..RUNS)
        .filter(|_| {
            let [low, high] = run(rng).ci;
            low <= truth && truth <= high
        })
        .count();
    100.0 * hits as f64 / RUNS as f64
}

/// Prints the coverages and asserts that each is within the bounds, in percent.
fn check(found: &[(String, f64)], bounds: RangeInclusive<f64>) {
    for (name, coverage) in found {
        println!("{name:>40}: {coverage:.1} %");
    }
    let outside: Vec<_> = found.iter().filter(|(_, coverage)| !bounds.contains(coverage)).collect();
    assert!(outside.is_empty(), "{outside:?}");
}

/// A normal estimator of `truth` with the standard error `error`, and its exact interval.
fn gaussian(truth: f64, error: f64, rng: &mut ChaCha8Rng) -> Estimate {
    let value = truth + error * normal(rng);
    Estimate::within(value, [value - 1.96 * error, value + 1.96 * error])
}

/// A log-normal estimator of `truth`, whose exact interval is much longer above than below.
fn skewed(truth: f64, error: f64, rng: &mut ChaCha8Rng) -> Estimate {
    let value = truth * (error * normal(rng)).exp();
    Estimate::within(value, [-1.96_f64, 1.96].map(|z| value * (z * error).exp()))
}

#[test]
fn combinations_of_independent_estimates_cover_as_their_terms_do() {
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_122);
    let mut found = Vec::new();
    for (error_a, error_b) in [(10.0, 10.0), (10.0, 1.0), (3.0, 30.0)] {
        let name = |operation| format!("{operation}, normal, {error_a} and {error_b}");
        let pair = |rng: &mut ChaCha8Rng| (gaussian(500.0, error_a, rng), gaussian(300.0, error_b, rng));
        let minus = |(a, b): (Estimate, Estimate)| a.minus(&b);
        found.push((name("difference"), coverage(200.0, &mut rng, |rng| minus(pair(rng)))));
        let sum = |(a, b): (Estimate, Estimate)| Estimate::sum([a, b]);
        found.push((name("sum"), coverage(800.0, &mut rng, |rng| sum(pair(rng)))));
        let ratio = |(a, b): (Estimate, Estimate)| a.ratio(&b).expect("distinct from zero");
        found.push((name("ratio"), coverage(5.0 / 3.0, &mut rng, |rng| ratio(pair(rng)))));
    }
    for (error_a, error_b) in [(0.2, 0.2), (0.05, 0.2), (0.2, 0.05)] {
        let name = |operation| format!("{operation}, skewed, {error_a} and {error_b}");
        let pair = |rng: &mut ChaCha8Rng| (skewed(500.0, error_a, rng), skewed(300.0, error_b, rng));
        found.push((
            name("difference"),
            coverage(200.0, &mut rng, |rng| {
                let (a, b) = pair(rng);
                a.minus(&b)
            }),
        ));
        found.push((
            name("ratio"),
            coverage(5.0 / 3.0, &mut rng, |rng| {
                let (a, b) = pair(rng);
                a.ratio(&b).expect("distinct from zero")
            }),
        ));
    }
    check(&found, 93.0..=97.0);
}

/// The width of an interval from few epochs varies from run to run, which makes the root of the summed squares too long:
/// a difference covers a little more than its terms.
#[test]
fn differences_of_headlines_cover() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let headline = |truth: f64, spread: f64, epochs: usize, rng: &mut ChaCha8Rng| {
        let levels: Vec<f64> = (0..epochs).map(|_| truth + spread * normal(rng)).collect();
        median_interval(&levels).expect("levels")
    };
    let mut found = Vec::new();
    for epochs in [6, 12, 20] {
        for spread in [1.0, 10.0] {
            let name = format!("{epochs} epochs, spreads 10 and {spread}");
            let run = |rng: &mut ChaCha8Rng| {
                headline(500.0, 10.0, epochs, rng).minus(&headline(300.0, spread, epochs, rng))
            };
            found.push((name, coverage(200.0, &mut rng, run)));
        }
    }
    check(&found, 93.0..=98.5);
}

/// Windows whose neighbors are correlated by `alike`, as in a scan of a file: 200 of them, of mean 50.
fn windows(alike: f64, rng: &mut ChaCha8Rng) -> Vec<Window> {
    let mut state = normal(rng) / (1.0 - alike * alike).sqrt();
    (0..200)
        .map(|_| {
            state = alike * state + normal(rng);
            Window { total: 100.0 * (50.0 + state), count: 100.0 }
        })
        .collect()
}

#[test]
fn the_mean_of_windows_covers_although_neighbors_are_alike() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let found: Vec<(String, f64)> = [0.0, 0.5, 0.8]
        .map(|alike| {
            let run = |rng: &mut ChaCha8Rng| mean_of_windows(&windows(alike, rng)).expect("windows");
            (format!("windows, neighbors alike by {alike}"), coverage(50.0, &mut rng, run))
        })
        .into();
    check(&found, 92.0..=97.0);
}
