//! From what a run collected to its record.
//!
//! [`measurement`] makes the row of one probe, [`record_run`] fills in a whole run.

mod bill;
mod core_clock;
mod headline;
mod pairs;
mod singles;
mod units;
mod warnings;
mod yardsticks;

pub use headline::{HEADLINE_QUANTILE, headline, levels, levels_beside, of_levels, relative_half_width};
pub use pairs::{paired, variation_of_pairs};
pub use singles::{histogram_of, single_of};
pub use units::Units;

use crate::arch;
use crate::clock::{Scale, Source};
use crate::dissection::Term;
use crate::host::is_translated;
use crate::probe::{Claim, CounterReading, Meta};
use crate::samples::{EpochSamples, ProbeSamples, ProbeState, RunSamples};
use crate::stats::{self, FEWEST_GROUPS, median, median_interval};
use bill::{Bill, bill, stamped};
use tollgate_record::{EpochFigure, Estimate, Measurement, Run, Status, Warning, warning};

/// The units of a run's figures; `None` before the clock has been compared with the system's.
pub fn units(samples: &RunSamples, source: Source) -> Option<Units> {
    let scale = samples.scale()?;
    Some(Units {
        scale,
        ticks: source == Source::Counter,
        core: core_clock::core_clock(&samples.core, scale),
        core_spread: core_clock::core_spread(&samples.core, scale),
    })
}

/// Writes into `run` everything that was collected: one result for each probe that was asked for, clock,
/// frequencies, and what spoiled the run as a whole. Warnings of the run that others added stay.
pub fn record_run(run: &mut Run, metas: &[&Meta], samples: &RunSamples, source: Source) {
    let Some(units) = units(samples, source) else { return };
    let scale = units.scale;
    run.yardsticks = yardsticks::yardsticks(&samples.yardsticks, scale);
    let asked = metas.iter().zip(&samples.probes).filter(|(_, probe)| probe.state != ProbeState::NotAsked);
    run.results = asked
        .map(|(meta, probe)| {
            let mut result = measurement(meta, probe, &units);
            let taken = probe.epochs.len();
            core_clock::put_frequencies(&mut result.epochs, taken, &samples.core, scale);
            let per_pass = f64::from(meta.crossings_per_pass);
            // The batches around stamped crossings follow the yardsticks, and are not the figure.
            if stamped_lane(probe).is_none() {
                yardsticks::put_regression(&mut result, probe, per_pass, &run.yardsticks, scale);
            }
            result.relative = yardsticks::relative(&result, &run.yardsticks);
            result
        })
        .collect();
    if is_translated(&run.host) {
        run.results.iter_mut().for_each(skip_what_the_emulator_left_out);
    }
    run.complete = samples.complete;
    if let Some(lost) = &samples.lost {
        run.warnings.push(Warning::new(warning::WORKER_LOST, format!("the run ended early: {lost}")));
    }
    write_clock(run, samples, scale, source);
    for warning in core_clock::warnings(&samples.core, scale, run.host.clock.nominal_hz) {
        if run.warnings.iter().all(|there| there.code != warning.code) {
            run.warnings.push(warning);
        }
    }
}

fn write_clock(run: &mut Run, samples: &RunSamples, scale: Scale, source: Source) {
    let clock = &mut run.host.clock;
    clock.source = source.name().into();
    clock.hz = scale.hz;
    clock.pair_ticks = median(&samples.core.iter().map(|reading| reading.pair).collect::<Vec<_>>());
    if source == Source::Counter {
        clock.nominal_hz = arch::nominal_hz();
        clock.invariant = arch::invariant();
    }
    let hz = |reading| core_clock::hz(reading, scale);
    run.host.cpu.core_hz_before = samples.core.first().and_then(hz);
    run.host.cpu.core_hz_after = samples.core.last().and_then(hz);
}

/// An emulator of one program may take a call and do nothing. A row whose proof shows that has no figure.
fn skip_what_the_emulator_left_out(row: &mut Measurement) {
    let disagrees = |it: &&Warning| it.code == warning::PROOF_DISAGREES;
    let Some(disagreement) = row.warnings.iter().find(disagrees) else { return };
    let reason = format!("the emulator that runs this program does not do it: {}", disagreement.text);
    let (asked, found) = (std::mem::take(&mut row.asked), std::mem::take(&mut row.found));
    *row = Measurement::empty(&row.probe, &row.engine, row.per, Status::Skipped);
    (row.asked, row.found, row.reason) = (asked, found, Some(reason));
    row.enable = Some("a machine, or an emulated one, of this architecture".into());
}

/// The record of one probe.
pub fn measurement(meta: &Meta, probe: &ProbeSamples, units: &Units) -> Measurement {
    let mut result = Measurement::empty(meta.id, "host", meta.per, Status::Measured);
    result.asked = probe.facts.asked.clone();
    result.found = probe.facts.found.clone();
    if probe.state == ProbeState::Active {
        counters(&mut result, probe);
    }
    match &probe.state {
        ProbeState::Active => measured(result, meta, probe, units),
        ProbeState::NotAsked => skipped(result, "it was not asked for", None),
        ProbeState::Skipped { reason, enable } => skipped(result, reason, Some(enable)),
        ProbeState::Failed(reason) => failed(result, reason),
    }
}

/// The events that the probe counted when it was opened.
fn counters(result: &mut Measurement, probe: &ProbeSamples) {
    for CounterReading { name, per_crossing } in &probe.facts.counted {
        match per_crossing {
            Ok(events) => {
                result.counters.insert(name.clone(), *events);
            }
            Err(reason) => {
                let text = format!("{name} could not be counted: {reason}");
                result.warnings.push(Warning::new(warning::COUNTERS_ABSENT, text));
            }
        }
    }
}

fn skipped(result: Measurement, reason: &str, enable: Option<&String>) -> Measurement {
    let reason = Some(reason.into());
    Measurement { status: Status::Skipped, reason, enable: enable.cloned(), ..result }
}

fn failed(result: Measurement, reason: &str) -> Measurement {
    Measurement { status: Status::Failed, reason: Some(reason.into()), ..result }
}

/// The lane whose stamps give the figure of a row; `None` if its batches do.
fn stamped_lane(probe: &ProbeSamples) -> Option<usize> {
    match probe.dissection.as_ref()?.total {
        Term::Lane(lane) => Some(lane),
        Term::Batches => None,
    }
}

/// The statistics behind the figures of a row, in ticks for each crossing.
struct Figures {
    headline: Estimate,
    samples: Vec<f64>,
    epochs: Vec<f64>,
}

fn measured(mut result: Measurement, meta: &Meta, probe: &ProbeSamples, units: &Units) -> Measurement {
    let per_pass = prove(&mut result, meta, probe);
    let Some(headline) = headline(probe, per_pass) else {
        return failed(result, "the run ended before it gave a sample");
    };
    let bill = bill(probe, per_pass, units).unwrap_or_default();
    let stamped_lane = stamped_lane(probe);
    let figures = if let Some(lane) = stamped_lane {
        let Some(figures) = by_stamps(probe, lane, &bill) else { return not_stamped(result, probe, &bill) };
        figures
    } else {
        by_batches(probe, per_pass, headline, &bill)
    };
    let to_ns = units.ns_per_tick();
    write_figures(&mut result, meta, probe, &figures, units);
    if stamped_lane.is_none() {
        let shape = warnings::shape(probe, &figures.headline, &figures.samples, per_pass);
        result.warnings.extend(shape);
        // A crossing that needs preparation each time cannot be timed by single passes of the harness.
        if let Some((single, histogram)) = singles::singles(probe, per_pass, to_ns) {
            (result.single, result.histogram) = (Some(single), histogram);
        }
    }
    result.warnings.extend(warnings::disturbance(meta, probe));
    result.instrumented_ns = bill.instrumented.into_iter().collect();
    result.phases = bill.phases;
    result.warnings.extend(bill.warnings);
    result
}

/// Writes the proof, and returns the crossings of a pass: those claimed, or those counted if the claim says so.
fn prove(result: &mut Measurement, meta: &Meta, probe: &ProbeSamples) -> f64 {
    let mut per_pass = f64::from(meta.crossings_per_pass);
    let passes: u64 = probe.epochs.iter().map(|epoch| epoch.passes).sum();
    let claimed = passes as f64 * per_pass;
    for (place, claim) in meta.proof.iter().enumerate() {
        let Some(counted) = total(&probe.epochs, place) else {
            let text = format!("{} could not be counted here", words(claim.key));
            result.warnings.push(Warning::new(warning::UNPROVEN, text));
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
    per_pass
}

/// A count of the proof over all epochs; `None` when any part of it is missing.
fn total(epochs: &[EpochSamples], place: usize) -> Option<u64> {
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

fn by_batches(probe: &ProbeSamples, per_pass: f64, headline: Estimate, bill: &Bill) -> Figures {
    // With too few epochs for an interval the headline is of runs of batches within them, and the parts are of whole
    // epochs: then it is what they add up to.
    let headline = match bill.total {
        Some(total) if probe.epochs.len() < FEWEST_GROUPS => {
            let [low, high] = headline.ci;
            Estimate::within(total, [low.min(total), high.max(total)])
        }
        _ => headline,
    };
    let levels = headline::epoch_levels(probe, per_pass);
    let with_batches = levels.into_iter().filter(|level| !level.is_nan());
    Figures { headline, samples: headline::samples(probe, per_pass), epochs: with_batches.collect() }
}

/// The figures where stamps and not batches give the total; `None` if nothing was stamped.
fn by_stamps(probe: &ProbeSamples, lane: usize, bill: &Bill) -> Option<Figures> {
    Some(Figures {
        headline: median_interval(&bill.stamped_total)?,
        samples: probe.epochs.iter().flat_map(|epoch| stamped(epoch, lane)).collect(),
        epochs: bill.stamped_total.clone(),
    })
}

fn not_stamped(result: Measurement, probe: &ProbeSamples, bill: &Bill) -> Measurement {
    let why = bill.warnings.first().map_or("no crossing was stamped", |warning| &warning.text);
    match &probe.undissected {
        Some((_, enable)) => skipped(result, why, Some(enable)),
        None => failed(result, why),
    }
}

fn write_figures(
    result: &mut Measurement,
    meta: &Meta,
    probe: &ProbeSamples,
    figures: &Figures,
    units: &Units,
) {
    // The next run may meet another of the rates that the core was seen to run at.
    let [low, high] = figures.headline.ci;
    let ci = [low - units.core_spread * low.abs(), high + units.core_spread * high.abs()];
    // One process does not show the differences between processes: its batches vary too little.
    let headline = match figures.epochs.len() > 1 && figures.headline.is_measured() {
        true => Estimate { ci, ..figures.headline },
        false => Estimate::unmeasured(figures.headline.estimate),
    };
    let ticks = headline::with_distribution(&headline, &figures.samples);
    let to_ns = units.ns_per_tick();
    let ns = ticks.scaled(to_ns);
    result.ns = Some(ns);
    result.cycles = units.cycles_per_ns().map(|cycles| ns.scaled(cycles));
    result.ticks = units.ticks.then_some(ticks);
    result.epochs = figures
        .epochs
        .iter()
        .map(|&level| EpochFigure { ns: level * to_ns, ..EpochFigure::default() })
        .collect();
    let paired = pairs::paired(probe);
    if paired.len() == result.epochs.len() {
        result.epochs.iter_mut().zip(paired).for_each(|(epoch, paired)| epoch.paired = paired);
    }
    result.samples = figures.samples.len() as u64;
    let all = |epoch: &EpochSamples| -> u64 {
        let doubles = epoch.doubles.iter().map(|(_, batch)| batch);
        epoch.batches.iter().chain(doubles).map(|batch| batch.passes).sum()
    };
    result.crossings = probe.epochs.iter().map(all).sum::<u64>() * u64::from(meta.crossings_per_pass);
    result.outliers = stats::outliers(&figures.samples);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::Per;

    #[test]
    fn events_that_were_counted_are_in_the_record_and_others_are_a_warning() {
        let reading = |name: &str, per_crossing| CounterReading { name: name.into(), per_crossing };
        let mut probe = ProbeSamples::default();
        probe.facts.counted =
            vec![reading("cpu-time", Ok(1_500.0)), reading("cycles", Err("no counters here".into()))];
        let mut result = Measurement::empty("wake/x", "host", Per::Message, Status::Measured);
        counters(&mut result, &probe);
        assert_eq!(result.counters.into_iter().collect::<Vec<_>>(), [("cpu-time".to_owned(), 1_500.0)]);
        assert_eq!(result.warnings.len(), 1);
        assert!(result.warnings[0].text.contains("no counters here"));
    }

    #[test]
    fn what_an_emulator_left_undone_has_no_figure() {
        let mut row = Measurement::empty("fault/x", "host", Per::Touch, Status::Measured);
        row.samples = 7;
        row.warnings.push(Warning::new(warning::DRIFT, "it drifted"));
        let before = row.clone();
        skip_what_the_emulator_left_out(&mut row);
        assert_eq!(row, before);
        row.warnings.push(Warning::new(
            warning::PROOF_DISAGREES,
            "minor per touch: 0.000 counted where 1 was claimed",
        ));
        skip_what_the_emulator_left_out(&mut row);
        assert_eq!((row.status, row.samples), (Status::Skipped, 0));
        assert!(row.reason.is_some_and(|reason| reason.contains("0.000")) && row.enable.is_some());
    }
}
