//! Page faults: the kinds beside each other with the bill of a major one, and the scan of a file with what
//! explains its totals.

mod explain;
mod kinds;
mod scan;

pub use kinds::fault_kinds;
pub use scan::fault_scan;

use tollgate_record::Measurement;

/// A number among the counters, the proof or the parameters.
fn number(result: &Measurement, key: &str) -> Option<f64> {
    let counted = result.counters.get(key).or_else(|| result.proof.get(key)).copied();
    counted.or_else(|| result.params.get(key)?.as_f64()).filter(|number| number.is_finite())
}
