//! Page faults: the kinds beside each other with the bill of a major one, and the scan of a file with what
//! explains its totals.

mod explain;
mod kinds;
mod scan;

pub use kinds::fault_kinds;
pub use scan::fault_scan;

use tollgate_record::Measurement;

/// A number among the counters, the proof, what was asked for and what was found.
fn number(result: &Measurement, key: &str) -> Option<f64> {
    let counted = result.counters.get(key).or_else(|| result.proof.get(key)).copied();
    let fact = || [result.asked.fields(), result.found.fields()].iter().find_map(|it| it.get(key)?.as_f64());
    counted.or_else(fact).filter(|number| number.is_finite())
}

/// Bytes as people say them: `64 KiB`, `1 GiB`, `1.5 GiB`.
fn bytes(bytes: f64) -> String {
    if !(0.0..1e15).contains(&bytes) {
        return "-".into();
    }
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let (size, unit) = units
        .into_iter()
        .map(|(power, unit)| (f64::from(1_u32 << power), unit))
        .find(|(size, _)| bytes >= *size)
        .unwrap_or((1.0, "bytes"));
    let number = bytes / size;
    if number == number.round() { format!("{number:.0} {unit}") } else { format!("{number:.1} {unit}") }
}

/// Whole numbers with their thousands apart.
fn whole(number: f64) -> String {
    if number.is_finite() && (0.0..1e15).contains(&number) {
        crate::number::count(number.round() as usize)
    } else {
        "-".into()
    }
}

/// A time as people say it: `840 ns`, `83.9 us`, `1.2 ms`, `3.4 s`.
fn time(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    let (size, unit) = units.into_iter().find(|(size, _)| ns.abs() >= *size).unwrap_or((1.0, "ns"));
    format!("{} {unit}", crate::number::figure(ns / size))
}
