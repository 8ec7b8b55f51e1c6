//! Crossings that were timed one at a time.

use crate::samples::{EpochSamples, ProbeSamples};
use crate::stats::{median_interval, quantile, sorted};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use tollgate_record::Single;

/// Most significant digits that the histogram keeps.
const HISTOGRAM_DIGITS: u8 = 3;

/// Their distribution and histogram in nanoseconds, the empty pass subtracted.
pub(super) fn singles(probe: &ProbeSamples, per_pass: f64, to_ns: f64) -> Option<(Single, Option<String>)> {
    let all = |of: fn(&EpochSamples) -> &Vec<u64>| -> Vec<f64> {
        probe.epochs.iter().flat_map(of).map(|&ticks| ticks as f64).collect()
    };
    let overhead = median_interval(&all(|epoch| &epoch.singles_empty))?;
    let net: Vec<f64> = all(|epoch| &epoch.singles)
        .iter()
        .map(|ticks| (ticks - overhead.estimate) / per_pass * to_ns)
        .collect();
    let single = single_of(&net, overhead.estimate * to_ns, overhead.half_width() * to_ns)?;
    Some((single, histogram_of(net.into_iter().map(|ns| (ns, 1)))))
}

/// The distribution of single crossings in nanoseconds, from each of which `overhead` was subtracted; `None` for none.
pub fn single_of(net: &[f64], overhead: f64, overhead_error: f64) -> Option<Single> {
    let ascending = sorted(net);
    let at = |q| quantile(&ascending, q);
    Some(Single {
        count: net.len() as u64,
        pair_overhead_ns: overhead,
        pair_overhead_error_ns: overhead_error,
        min: *ascending.first()?,
        p10: at(0.1),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max: *ascending.last()?,
        mean: net.iter().sum::<f64>() / net.len() as f64,
    })
}

/// HdrHistogram V2 of whole nanoseconds, base64, from values with how often each occurred. The format has no sign,
/// so values below zero are counted at zero; `single.min` has the true value.
pub fn histogram_of(values: impl IntoIterator<Item = (f64, u64)>) -> Option<String> {
    let mut histogram = Histogram::<u64>::new(HISTOGRAM_DIGITS).ok()?;
    for (nanos, times) in values {
        histogram.record_n(nanos.round().max(0.0) as u64, times).ok()?;
    }
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).ok()?;
    Some(STANDARD.encode(bytes))
}
