//! Page faults: the kinds beside each other with the bill of a major one, and the scan of a file with what
//! explains its totals.

mod explain;
mod kinds;
mod scan;

pub(crate) use kinds::fault_kinds;
pub(crate) use scan::fault_scan;

use tollgate_record::Measurement;

/// A number among the counters, the proof, what was asked for and what was found.
fn number(result: &Measurement, key: &str) -> Option<f64> {
    let counted = result.counters.get(key).or_else(|| result.proof.get(key)).copied();
    let fact = || [result.asked.fields(), result.found.fields()].iter().find_map(|it| it.get(key)?.as_f64());
    counted.or_else(fact).filter(|number| number.is_finite())
}
