//! From a harvest to the run's record: results, clock, frequencies, and what spoiled the run as a whole.

use crate::arch;
use crate::bench::{Bench, Reply, Request};
use crate::clock::{CoreClock, Counter, Os, Scale, Source};
use crate::host::is_translated;
use crate::local::Local;
use crate::probe::{Meta, Site};
use crate::sampler::{Collected, Core, Harvest};
use crate::stats::median;
use crate::summary::{self, Units};
use tollgate_record::{Measurement, Run, Status, Warning, warning};

/// Change of the core's frequency within a run that is worth a warning.
const FREQUENCY_DRIFT: f64 = 0.02;
/// Difference between the clock's stated and measured rate that is worth a warning.
const RATE_ERROR: f64 = 0.001;
/// Difference from 3 in the ratio of a multiply to an addition that makes the core's frequency doubtful.
const RATIO_ERROR: f64 = 0.02;

/// The units of a harvest's figures; `None` before the clock has been compared with the system's.
pub fn units(harvest: &Harvest, source: Source) -> Option<Units> {
    let scale = harvest.scale()?;
    Some(Units {
        scale,
        ticks: source == Source::Counter,
        core: core_clock(&harvest.core, scale),
        core_spread: core_spread(&harvest.core, scale),
    })
}

/// Writes into `run` everything that the harvest tells. Warnings of the run that others added stay.
pub fn record(run: &mut Run, metas: &[&Meta], harvest: &Harvest, source: Source) {
    let Some(units) = units(harvest, source) else { return };
    let scale = units.scale;
    run.results = metas
        .iter()
        .zip(&harvest.probes)
        .map(|(meta, probe)| summary::measurement(meta, probe, &units))
        .collect();
    for (result, probe) in run.results.iter_mut().zip(&harvest.probes) {
        put_frequencies(result, probe, &harvest.core, scale);
    }
    if is_translated(&run.host) {
        run.results.iter_mut().for_each(unproven);
    }
    run.complete = harvest.complete;
    if let Some(lost) = &harvest.lost {
        run.warnings.push(Warning::new(warning::WORKER_LOST, format!("the run ended early: {lost}")));
    }
    let clock = &mut run.host.clock;
    clock.source = source.name().into();
    clock.hz = scale.hz;
    clock.pair_ticks = median(&harvest.core.iter().map(|core| core.pair).collect::<Vec<_>>());
    if source == Source::Counter {
        clock.nominal_hz = arch::nominal_hz();
        clock.invariant = arch::invariant();
    }
    run.host.cpu.core_hz_before = harvest.core.first().and_then(|core| hz(core, scale));
    run.host.cpu.core_hz_after = harvest.core.last().and_then(|core| hz(core, scale));
    for warning in clock_warnings(harvest, scale, run.host.clock.nominal_hz) {
        if run.warnings.iter().all(|there| there.code != warning.code) {
            run.warnings.push(warning);
        }
    }
}

/// An emulator of one program may take a call and do nothing. A row whose proof shows that is no figure.
fn unproven(row: &mut Measurement) {
    let Some(warning) = row.warnings.iter().find(|warning| warning.code == warning::PROOF_DISAGREES) else {
        return;
    };
    let reason = format!("the emulator that runs this program does not do it: {}", warning.text);
    let (asked, found) = (std::mem::take(&mut row.asked), std::mem::take(&mut row.found));
    *row = Measurement::empty(&row.probe, &row.engine, row.per, Status::Skipped);
    (row.asked, row.found, row.reason) = (asked, found, Some(reason));
    row.enable = Some("a machine, or an emulated one, of this architecture".into());
}

/// The harness measured by itself: things whose length is known.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct SelfCheck {
    /// Ticks of an empty pair of clock readings, median.
    pub pair_ticks: f64,
    /// Core frequency by a chain of dependent multiplies, Hz.
    pub core_hz: f64,
    /// Core cycles of 1,000 dependent multiplies timed as a batch is, where one cycle is the time of a
    /// dependent addition, which no frequency of ours went into; 1,000 times [`arch::MULTIPLY_CYCLES`].
    pub thousand_multiplies: f64,
    /// What that should have been.
    pub expected: f64,
}

/// Checks the harness on the calling thread, which should be pinned. `None` where the architecture's
/// latencies are not known.
pub fn self_check(source: Source) -> Option<SelfCheck> {
    match source {
        Source::Counter => check(&mut Local::new(Counter, &[], Site { cpu: 0, peer: None })),
        Source::Os => check(&mut Local::new(Os, &[], Site { cpu: 0, peer: None })),
    }
}

fn check(bench: &mut impl Bench) -> Option<SelfCheck> {
    let mut ask = |request| bench.ask(&request).ok();
    let (Reply::Moment(first), Reply::Core { multiply, add, thousand, pair }, Reply::Moment(last)) =
        (ask(Request::Moment)?, ask(Request::Core)?, ask(Request::Moment)?)
    else {
        return None;
    };
    let scale = first.scale_until(&last)?;
    let pair: Vec<f64> = pair.iter().map(|&ticks| ticks as f64).collect();
    Some(SelfCheck {
        pair_ticks: median(&pair),
        core_hz: arch::MULTIPLY_CYCLES? / median(&multiply) * scale.hz,
        thousand_multiplies: median(
            &thousand.iter().zip(&add).map(|(thousand, add)| thousand / add).collect::<Vec<_>>(),
        ),
        expected: 1_000.0 * arch::MULTIPLY_CYCLES?,
    })
}

/// Core cycles per second: a dependent multiply takes a documented number of them, or else a dependent addition one.
fn hz(core: &Core, scale: Scale) -> Option<f64> {
    let (cycles, ticks) = match arch::MULTIPLY_CYCLES {
        Some(cycles) => (cycles, core.multiply),
        None if arch::HAS_COUNTER => (1.0, core.add),
        None => return None,
    };
    (ticks > 0.0).then(|| cycles / ticks * scale.hz)
}

/// Writes into each epoch of a result the core's rate in it: the mean of the readings at its two ends. A probe
/// takes part in all epochs from the first on until it is left out; where its epochs and the readings cannot be
/// matched (an epoch without batches, a reading that is missing) nothing is written.
fn put_frequencies(result: &mut Measurement, probe: &Collected, core: &[Core], scale: Scale) {
    let (pairs, rest) = core.as_chunks::<2>();
    if result.epochs.len() != probe.epochs.len() || pairs.len() + rest.len() < result.epochs.len() {
        return;
    }
    for (epoch, [start, end]) in result.epochs.iter_mut().zip(pairs) {
        epoch.core_hz = hz(start, scale).zip(hz(end, scale)).map(|(start, end)| f64::midpoint(start, end));
    }
}

/// The core's rate over the run: the median of all times that it was measured.
fn core_clock(core: &[Core], scale: Scale) -> Option<CoreClock> {
    let all: Vec<f64> = core.iter().filter_map(|core| hz(core, scale)).collect();
    (!all.is_empty()).then(|| CoreClock { hz: median(&all) })
}

/// 1.96 standard deviations of the readings of the core's rate, as a share of their mean.
fn core_spread(core: &[Core], scale: Scale) -> f64 {
    let all: Vec<f64> = core.iter().filter_map(|core| hz(core, scale)).collect();
    if all.len() < 2 {
        return 0.0;
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let variance = all.iter().map(|hz| (hz - mean).powi(2)).sum::<f64>() / (all.len() - 1) as f64;
    1.96 * variance.sqrt() / mean
}

fn clock_warnings(harvest: &Harvest, scale: Scale, nominal: Option<f64>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let rates: Vec<f64> = harvest.core.iter().filter_map(|core| hz(core, scale)).collect();
    let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let high = rates.iter().copied().fold(0.0, f64::max);
    if high - low > FREQUENCY_DRIFT * high {
        let text = format!(
            "the core ran between {:.2} and {:.2} GHz during the run; cycles are counted at the median rate",
            low / 1e9,
            high / 1e9
        );
        warnings.push(Warning::new(warning::CORE_FREQUENCY, text));
    }
    if let Some(nominal) = nominal
        && (scale.hz - nominal).abs() > RATE_ERROR * nominal
    {
        let text = format!(
            "the processor's counter is stated to run at {:.1} MHz and was measured at {:.1} MHz; the measured rate is used",
            nominal / 1e6,
            scale.hz / 1e6
        );
        warnings.push(Warning::new(warning::TSC_RATE, text));
    }
    let ratios: Vec<f64> =
        harvest.core.iter().filter(|core| core.add > 0.0).map(|core| core.multiply / core.add).collect();
    if let Some(expected) = arch::MULTIPLY_CYCLES
        && !ratios.is_empty()
        && (median(&ratios) - expected).abs() > RATIO_ERROR * expected
    {
        let text = format!(
            "a multiply takes {:.2} times as long as an addition instead of {expected}; figures in cycles are doubtful",
            median(&ratios)
        );
        warnings.push(Warning::new(warning::CORE_CLOCK_DOUBTFUL, text));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::{Measurement, Status, Warning, unproven};
    use tollgate_record::{Per, warning};

    #[test]
    fn what_an_emulator_left_undone_is_no_figure() {
        let mut row = Measurement::empty("fault/x", "host", Per::Touch, Status::Measured);
        row.samples = 7;
        row.warnings.push(Warning::new(warning::DRIFT, "it drifted"));
        let before = row.clone();
        unproven(&mut row);
        assert_eq!(row, before);
        row.warnings.push(Warning::new(
            warning::PROOF_DISAGREES,
            "minor per touch: 0.000 counted where 1 was claimed",
        ));
        unproven(&mut row);
        assert_eq!((row.status, row.samples), (Status::Skipped, 0));
        assert!(row.reason.is_some_and(|reason| reason.contains("0.000")) && row.enable.is_some());
    }
}
