//! From what was collected to what is recorded.

use crate::bill::{Bill, bill};
use crate::clock::{CoreClock, Nanos, Scale, Ticks};
use crate::dissection::Term;
use crate::probe::{Claim, Meta};
use crate::sampler::{Batch, Collected, Epoch, Outcome};
use crate::stats::{self, FEWEST_GROUPS, median_interval, quantile, sorted};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use tollgate_record::{EpochFigure, Estimate, Measurement, Single, Status, Warning, warning};

/// Which quantile of an epoch's samples the headline is made of.
///
/// Batches on a shared machine are the crossing's own cost plus, in some of them, what others did to
/// it: the distribution has a sharp lower flank and a ragged upper one. The lowest fiftieth lies on the
/// flank, does not hang on the single luckiest batch as a minimum does, and stays there until nearly
/// all batches are disturbed. METHOD.md has its repeatability beside other choices.
pub const HEADLINE_QUANTILE: f64 = 0.02;

/// How ticks become time, and time becomes core cycles.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    /// The clock's rate.
    pub scale: Scale,
    /// Whether ticks are those of a counter, so that they are worth recording.
    pub ticks: bool,
    /// The core's rate, where it could be measured.
    pub core: Option<CoreClock>,
    /// By how much that rate varied, as a share of it: 1.96 standard deviations of its readings, the half
    /// width of what 95 % of normally distributed ones lie in. Zero where it is not known.
    pub core_spread: f64,
}

impl Units {
    fn nanos(&self, ticks: f64) -> f64 {
        let Nanos(nanos) = self.scale.nanos(Ticks(ticks));
        nanos
    }
}

/// A figure in ticks for each crossing, and how it came about.
#[derive(Clone, Copy, Debug)]
struct Figure {
    median: f64,
    interval: [f64; 2],
}

impl Figure {
    /// The figure with the interval that holds when the core runs at another of the rates it was seen to
    /// run at. Epochs of one run meet much the same rate; the next run may meet another.
    fn at_other_rates(&self, spread: f64) -> Self {
        let [low, high] = self.interval;
        Self { median: self.median, interval: [low - spread * low.abs(), high + spread * high.abs()] }
    }

    /// The figure at another place, with an interval that holds it too.
    fn at(&self, median: f64) -> Self {
        let [low, high] = self.interval;
        Self { median, interval: [low.min(median), high.max(median)] }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.interval[0] <= other.interval[1] && other.interval[0] <= self.interval[1]
    }
}

/// Half the width of the headline's interval as a share of the headline, from what was collected so
/// far; the sampler stops by it.
pub fn relative_half_width(meta: &Meta, collected: &Collected) -> Option<f64> {
    let figure = headline(collected, f64::from(meta.crossings_per_pass))?;
    Some((figure.interval[1] - figure.interval[0]) / 2.0 / figure.median.abs())
}

/// The record of one probe.
pub fn measurement(meta: &Meta, collected: &Collected, units: &Units) -> Measurement {
    let mut result = Measurement::empty(meta.id, "host", meta.per, Status::Measured);
    result.asked = collected.facts.asked.clone();
    result.found = collected.facts.found.clone();
    match &collected.outcome {
        Outcome::Skipped { reason, enable } => {
            result.status = Status::Skipped;
            result.reason = Some(reason.clone());
            result.enable = Some(enable.clone());
            return result;
        }
        Outcome::Failed(reason) => {
            result.status = Status::Failed;
            result.reason = Some(reason.clone());
            return result;
        }
        Outcome::Active => {}
    }
    let passes: u64 = collected.epochs.iter().map(|epoch| epoch.passes).sum();
    let claimed = passes as f64 * f64::from(meta.crossings_per_pass);
    let mut per_pass = f64::from(meta.crossings_per_pass);
    for (place, claim) in meta.proof.iter().enumerate() {
        let Some(counted) = total(&collected.epochs, place) else {
            result.warnings.push(Warning::new(
                warning::UNPROVEN,
                format!("{} could not be counted here", words(claim.key)),
            ));
            continue;
        };
        let ratio = counted as f64 / claimed;
        result.proof.insert(claim.key.into(), ratio);
        if let Some(warning) = disagreement(claim, ratio) {
            if claim.divides && ratio > 0.0 {
                per_pass *= ratio / claim.per_crossing;
                result.per_counted = Some(claim.key.into());
            }
            result.warnings.push(warning);
        }
    }
    let Some(figure) = headline(collected, per_pass) else {
        result.status = Status::Failed;
        result.reason = Some("the run ended before it gave a sample".into());
        return result;
    };
    let bill = bill(collected, per_pass, units).unwrap_or_default();
    // With too few epochs for an interval the figure is of runs of batches within them, and the parts are of whole
    // epochs: then it is what they add up to.
    let figure = match bill.total {
        Some(total) if collected.epochs.len() < FEWEST_GROUPS => figure.at(total),
        _ => figure,
    };
    let stamped = stamped_total(collected, &bill);
    if stamped.is_none() && collected.dissection.as_ref().is_some_and(|it| it.total != Term::Batches) {
        let why = bill.warnings.first().map_or("no crossing was stamped", |warning| &warning.text);
        result.status = if collected.undissected.is_some() { Status::Skipped } else { Status::Failed };
        result.reason = Some(why.into());
        result.enable = collected.undissected.as_ref().map(|(_, enable)| enable.clone());
        return result;
    }
    let by_batches = stamped.is_none();
    let of_epochs = if by_batches { epoch_levels(collected, per_pass) } else { bill.stamped_total.clone() };
    let (figure, samples) = stamped.unwrap_or_else(|| (figure, samples(collected, per_pass)));
    let ticks = estimate(&figure.at_other_rates(units.core_spread), &samples);
    let to_ns = units.nanos(1.0);
    let ns = ticks.scaled(to_ns);
    result.cycles = units.core.map(|core| ns.scaled(core.cycles(Nanos(1.0)).0));
    result.ns = Some(ns);
    result.ticks = units.ticks.then_some(ticks);
    result.epochs = of_epochs.iter().map(|&level| EpochFigure { ns: level * to_ns, core_hz: None }).collect();
    result.samples = samples.len() as u64;
    result.crossings = collected
        .epochs
        .iter()
        .flat_map(|epoch| epoch.batches.iter().chain(&epoch.doubles))
        .map(|batch| batch.passes * u64::from(meta.crossings_per_pass))
        .sum();
    result.outliers = stats::outliers(&samples);
    if by_batches {
        result.warnings.extend(shape_warnings(collected, &figure, &samples, per_pass));
    }
    result.warnings.extend(disturbance_warnings(meta, collected));
    result.instrumented_ns = bill.instrumented.iter().cloned().collect();
    result.phases = bill.phases;
    result.warnings.extend(bill.warnings);
    // What is prepared anew for each crossing cannot be timed by single passes of the harness.
    if !by_batches {
        return result;
    }
    if let Some((single, histogram)) = singles(collected, per_pass, to_ns) {
        result.single = Some(single);
        result.histogram = histogram;
    }
    result
}

/// The total where stamps and not batches give it, and its samples.
fn stamped_total(collected: &Collected, bill: &Bill) -> Option<(Figure, Vec<f64>)> {
    let Term::Lane(lane) = collected.dissection.as_ref()?.total else { return None };
    let (median, interval) = median_interval(&bill.stamped_total)?;
    let groups = collected.epochs.iter().filter_map(|epoch| epoch.lanes.get(lane)).flatten().copied();
    Some((Figure { median, interval }, groups.collect()))
}

/// The headline's quantile of one epoch's batches, in ticks for each crossing; not a number without any.
pub(crate) fn level(collected: &Collected, epoch: &Epoch, per_pass: f64) -> f64 {
    let values: Vec<f64> = of_batches(&epoch.batches, empty_ticks(collected), per_pass).collect();
    quantile(&sorted(&values), HEADLINE_QUANTILE)
}

/// The headline's quantile of each epoch that has batches, in ticks for each crossing.
fn epoch_levels(collected: &Collected, per_pass: f64) -> Vec<f64> {
    let epochs = collected.epochs.iter().filter(|epoch| !epoch.batches.is_empty());
    epochs.map(|epoch| level(collected, epoch, per_pass)).collect()
}

/// A count of the proof over all epochs; `None` when any part of it is missing.
fn total(epochs: &[Epoch], place: usize) -> Option<u64> {
    let counts = epochs
        .iter()
        .filter(|epoch| epoch.visits > 0)
        .map(|epoch| epoch.counts.get(place).copied().flatten());
    counts.sum::<Option<u64>>()
}

fn words(key: &str) -> String {
    key.replace('_', " ")
}

fn disagreement(claim: &Claim, ratio: f64) -> Option<Warning> {
    if (ratio - claim.per_crossing).abs() <= claim.tolerance * claim.per_crossing {
        return None;
    }
    let found = format!("{}: {ratio:.3} counted where {} was claimed", words(claim.key), claim.per_crossing);
    Some(if claim.divides && ratio > 0.0 {
        Warning::new(warning::PER_COUNTED, format!("{found}; the figure is for each that was counted"))
    } else {
        Warning::new(warning::PROOF_DISAGREES, found)
    })
}

/// Samples in ticks for each crossing, the empty batch taken off.
fn samples(collected: &Collected, per_pass: f64) -> Vec<f64> {
    let empty = empty_ticks(collected);
    collected.epochs.iter().flat_map(|epoch| of_batches(&epoch.batches, empty, per_pass)).collect()
}

fn of_batches(batches: &[Batch], empty: f64, per_pass: f64) -> impl Iterator<Item = f64> {
    batches.iter().map(move |batch| (batch.ticks as f64 - empty) / (batch.passes as f64 * per_pass))
}

/// Median ticks of an empty batch.
fn empty_ticks(collected: &Collected) -> f64 {
    let all: Vec<f64> =
        collected.epochs.iter().flat_map(|epoch| &epoch.empty).map(|&ticks| ticks as f64).collect();
    if all.is_empty() { 0.0 } else { stats::median(&all) }
}

/// The groups whose quantiles are taken for independent: the epochs, or, when there are too few for an
/// interval, runs of consecutive batches within them.
fn groups(collected: &Collected) -> Vec<&[Batch]> {
    let epochs: Vec<&[Batch]> = collected
        .epochs
        .iter()
        .map(|epoch| &epoch.batches[..])
        .filter(|batches| !batches.is_empty())
        .collect();
    if epochs.len() >= FEWEST_GROUPS || epochs.is_empty() {
        return epochs;
    }
    let parts = FEWEST_GROUPS.div_ceil(epochs.len());
    epochs.iter().flat_map(|batches| batches.chunks(batches.len().div_ceil(parts))).collect()
}

/// The headline in ticks for each crossing, and its interval, when a pass makes `per_pass` crossings.
pub fn headline_ticks(collected: &Collected, per_pass: f64) -> Option<(f64, [f64; 2])> {
    headline(collected, per_pass).map(|figure| (figure.median, figure.interval))
}

/// The headline's quantile of each epoch, in ticks for each crossing: the values whose median the headline
/// is. Epochs that several probes shared can be compared one by one.
pub fn levels(collected: &Collected, per_pass: f64) -> Vec<f64> {
    let empty = empty_ticks(collected);
    let of_group = |batches: &&[Batch]| {
        let values: Vec<f64> = of_batches(batches, empty, per_pass).collect();
        quantile(&sorted(&values), HEADLINE_QUANTILE)
    };
    groups(collected).iter().map(of_group).collect()
}

/// The estimate in nanoseconds from a level in ticks for each epoch, or from differences of such.
pub fn of_levels(levels: &[f64], units: &Units) -> Option<Estimate> {
    let (median, interval) = median_interval(levels)?;
    Some(estimate(&Figure { median, interval }, levels).scaled(units.nanos(1.0)))
}

fn headline(collected: &Collected, per_pass: f64) -> Option<Figure> {
    let (median, interval) = median_interval(&levels(collected, per_pass))?;
    // What was subtracted from each level is itself uncertain.
    let doubt = empty_doubt(collected) / (collected.passes.max(1) as f64 * per_pass);
    let headline = Estimate::within(median, interval).minus(&Estimate::within(0.0, [-doubt, doubt]));
    Some(Figure { median: headline.estimate, interval: headline.ci })
}

/// Half the width of the interval of the empty batch's median, in ticks.
fn empty_doubt(collected: &Collected) -> f64 {
    let of_epoch = |epoch: &Epoch| {
        let empty: Vec<f64> = epoch.empty.iter().map(|&ticks| ticks as f64).collect();
        (!empty.is_empty()).then(|| stats::median(&empty))
    };
    let medians: Vec<f64> = collected.epochs.iter().filter_map(of_epoch).collect();
    median_interval(&medians).map_or(0.0, |(_, [low, high])| (high - low) / 2.0)
}

/// The second estimator: what one pass adds when the batch is twice as long. Whatever a batch costs
/// besides its passes drops out of it.
fn slope(collected: &Collected, per_pass: f64) -> Option<Figure> {
    let levels: Vec<f64> = collected
        .epochs
        .iter()
        .filter(|epoch| epoch.doubles.len() >= 2 && epoch.batches.len() >= 2)
        .map(|epoch| {
            let level = |batches: &[Batch]| {
                let ticks: Vec<f64> = batches.iter().map(|batch| batch.ticks as f64).collect();
                quantile(&sorted(&ticks), HEADLINE_QUANTILE)
            };
            (level(&epoch.doubles) - level(&epoch.batches)) / (collected.passes as f64 * per_pass)
        })
        .collect();
    let (median, interval) = median_interval(&levels)?;
    Some(Figure { median, interval })
}

fn estimate(figure: &Figure, samples: &[f64]) -> Estimate {
    let ascending = sorted(samples);
    Estimate {
        estimate: figure.median,
        ci: figure.interval,
        min: quantile(&ascending, 0.0),
        p10: quantile(&ascending, 0.1),
        p50: quantile(&ascending, 0.5),
        p90: quantile(&ascending, 0.9),
        p99: quantile(&ascending, 0.99),
        mean: samples.iter().sum::<f64>() / samples.len() as f64,
    }
}

/// Relative difference of the two estimators that is worth a warning.
const ESTIMATORS_APART: f64 = 0.03;
/// Difference of the two estimators in ticks below which it is the clock's own grain.
const CLOCK_GRAIN: f64 = 0.5;

fn shape_warnings(collected: &Collected, figure: &Figure, samples: &[f64], per_pass: f64) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let percent = |share: f64| share * 100.0;
    if let Some(slope) = slope(collected, per_pass) {
        let apart = slope.median - figure.median;
        if !slope.overlaps(figure) && apart.abs() > (ESTIMATORS_APART * figure.median.abs()).max(CLOCK_GRAIN)
        {
            let text = format!(
                "batches of N and of 2N give {:+.1} % another figure than batches of N alone",
                percent(apart / figure.median)
            );
            warnings.push(Warning::new(warning::ESTIMATORS_DISAGREE, text));
        }
    }
    let unsteady = collected.epochs.iter().filter(|epoch| !epoch.steady).count();
    if unsteady * 2 > collected.epochs.len() {
        let text = format!(
            "still warming up when sampling began, in {unsteady} of {} epochs",
            collected.epochs.len()
        );
        warnings.push(Warning::new(warning::NOT_STEADY, text));
    }
    if collected.epochs.len() < FEWEST_GROUPS {
        let text = format!(
            "{} epochs only: the interval does not show how processes differ",
            collected.epochs.len()
        );
        warnings.push(Warning::new(warning::FEW_EPOCHS, text));
    }
    // What is finer than the clock is the clock's.
    if let Some(levels) = stats::two_levels(samples).filter(|levels| levels.high - levels.low > CLOCK_GRAIN) {
        let text = format!(
            "two levels: {:.0} % of the batches take {:.2} times as long as the others",
            percent(levels.high_share),
            levels.high / levels.low
        );
        warnings.push(Warning::new(warning::TWO_LEVELS, text));
    }
    let levels: Vec<f64> = groups(collected)
        .iter()
        .map(|batches| stats::median(&of_batches(batches, 0.0, per_pass).collect::<Vec<_>>()))
        .collect();
    let drift = stats::drift(&levels).filter(|change| (change * figure.median).abs() > CLOCK_GRAIN);
    if let Some(change) = drift {
        warnings.push(Warning::new(
            warning::DRIFT,
            format!("drifted by {:+.1} % during the run", percent(change)),
        ));
    }
    warnings
}

/// Share of visits disturbed by another task that is worth a warning.
const DISTURBED: f64 = 0.1;

fn disturbance_warnings(meta: &Meta, collected: &Collected) -> Vec<Warning> {
    let sum = |of: fn(&Epoch) -> u64| collected.epochs.iter().map(of).sum::<u64>();
    let (visits, interrupted, migrated) =
        (sum(|epoch| epoch.visits), sum(|epoch| epoch.interrupted), sum(|epoch| epoch.migrated));
    let mut warnings = Vec::new();
    if migrated > 0 {
        let text = format!("moved to another CPU in {migrated} of {visits} visits, in spite of the pin");
        warnings.push(Warning::new(warning::MIGRATED, text));
    }
    // A probe that switches tasks is preempted by its own peer all the time: that tells nothing.
    let switches = meta.proof.iter().any(|claim| claim.key.starts_with("switches"));
    let share = interrupted as f64 / visits.max(1) as f64;
    if !switches && share > DISTURBED {
        let text = format!("another task took the CPU in {:.0} % of the visits", share * 100.0);
        warnings.push(Warning::new(warning::PREEMPTED, text));
    }
    warnings
}

/// Most significant digits that the histogram keeps.
const HISTOGRAM_DIGITS: u8 = 3;

fn singles(collected: &Collected, per_pass: f64, to_ns: f64) -> Option<(Single, Option<String>)> {
    let all = |of: fn(&Epoch) -> &Vec<u64>| -> Vec<f64> {
        collected.epochs.iter().flat_map(of).map(|&ticks| ticks as f64).collect()
    };
    let empty = all(|epoch| &epoch.singles_empty);
    let (overhead, [low, high]) = median_interval(&empty)?;
    let net: Vec<f64> =
        all(|epoch| &epoch.singles).iter().map(|ticks| (ticks - overhead) / per_pass * to_ns).collect();
    let ascending = sorted(&net);
    let at = |q| quantile(&ascending, q);
    let single = Single {
        count: net.len() as u64,
        pair_overhead_ns: overhead * to_ns,
        pair_overhead_error_ns: (high - low) / 2.0 * to_ns,
        min: *ascending.first()?,
        p10: at(0.1),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max: *ascending.last()?,
        mean: net.iter().sum::<f64>() / net.len() as f64,
    };
    Some((single, histogram(&net)))
}

/// HdrHistogram V2 of whole nanoseconds, base64. What the subtraction brought below zero stands at zero
/// there, for the format knows no sign; `single.min` has the true value.
fn histogram(nanos: &[f64]) -> Option<String> {
    histogram_of(nanos.iter().map(|&nanos| (nanos, 1)))
}

/// The same from values with how often each occurred.
pub fn histogram_of(values: impl IntoIterator<Item = (f64, u64)>) -> Option<String> {
    let mut histogram = Histogram::<u64>::new(HISTOGRAM_DIGITS).ok()?;
    for (nanos, times) in values {
        histogram.record_n(nanos.round().max(0.0) as u64, times).ok()?;
    }
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).ok()?;
    Some(STANDARD.encode(bytes))
}
