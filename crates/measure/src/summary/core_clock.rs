//! The core's frequency, from chains of dependent arithmetic.

use crate::arch;
use crate::clock::{CoreClock, Scale};
use crate::samples::CoreReading;
use crate::stats::median;
use tollgate_record::{EpochFigure, Warning, warning};

/// Change of the core's frequency within a run that is worth a warning.
const FREQUENCY_DRIFT: f64 = 0.02;
/// Difference between the clock's stated and measured rate that is worth a warning.
const RATE_ERROR: f64 = 0.001;
/// Difference from 3 in the ratio of a multiply to an addition that makes the core's frequency doubtful.
const RATIO_ERROR: f64 = 0.02;

/// Core cycles per second: a dependent multiply takes a documented number of them, or else a dependent addition one.
pub(super) fn hz(reading: &CoreReading, scale: Scale) -> Option<f64> {
    let (cycles, ticks) = match arch::MULTIPLY_CYCLES {
        Some(cycles) => (cycles, reading.multiply),
        None if arch::HAS_COUNTER => (1.0, reading.add),
        None => return None,
    };
    (ticks > 0.0).then(|| cycles / ticks * scale.hz)
}

fn rates(readings: &[CoreReading], scale: Scale) -> Vec<f64> {
    readings.iter().filter_map(|reading| hz(reading, scale)).collect()
}

/// The core's rate over the run: the median of all times that it was measured.
pub(super) fn core_clock(readings: &[CoreReading], scale: Scale) -> Option<CoreClock> {
    let rates = rates(readings, scale);
    (!rates.is_empty()).then(|| CoreClock { hz: median(&rates) })
}

/// 1.96 standard deviations of the readings of the core's rate, as a share of their mean.
pub(super) fn core_spread(readings: &[CoreReading], scale: Scale) -> f64 {
    let rates = rates(readings, scale);
    if rates.len() < 2 {
        return 0.0;
    }
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let variance = rates.iter().map(|hz| (hz - mean).powi(2)).sum::<f64>() / (rates.len() - 1) as f64;
    1.96 * variance.sqrt() / mean
}

/// Writes into the first `taken` epochs of the run the core's rate in each: the mean of the readings at its two ends. A
/// probe takes part in all epochs from the first on until it is precise; if its epochs and the readings do not match
/// (an epoch without batches, a missing reading), nothing is written.
pub(super) fn put_frequencies(
    epochs: &mut [EpochFigure],
    taken: usize,
    readings: &[CoreReading],
    scale: Scale,
) {
    let (pairs, rest) = readings.as_chunks::<2>();
    if epochs.len() != taken || pairs.len() + rest.len() < taken {
        return;
    }
    for (epoch, [start, end]) in epochs.iter_mut().zip(pairs) {
        epoch.core_hz = hz(start, scale).zip(hz(end, scale)).map(|(start, end)| f64::midpoint(start, end));
    }
}

/// The warnings about the rates of core and clock.
pub(super) fn warnings(readings: &[CoreReading], scale: Scale, nominal: Option<f64>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let rates = rates(readings, scale);
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
    let ratios: Vec<f64> = readings.iter().filter(|it| it.add > 0.0).map(|it| it.multiply / it.add).collect();
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
