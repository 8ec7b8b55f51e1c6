//! For each runtime its version, its clock, and what the clock pair costs.

use crate::style::{Paint, Style};
use crate::text::{clean, wrap};
use indexmap::{IndexMap, IndexSet};
use tollgate_record::number::figure;
use tollgate_record::{Measurement, Status};

/// One entry for each runtime that was measured, in the order of the results, then one for each clock.
pub(super) fn block(results: &[Measurement], style: &Style) -> Vec<String> {
    let mut seen: IndexSet<String> = IndexSet::new();
    let mut clocks: IndexMap<String, Vec<String>> = IndexMap::new();
    let mut lines = vec![String::new(), style.paint(Paint::Bold, "Versions")];
    for result in results.iter().filter(|result| result.status == Status::Measured) {
        let asked = result.asked.runtime();
        let name = clean(asked.map_or(&result.probe, |asked| &asked.runtime), style);
        if !seen.insert(name.clone()) {
            continue;
        }
        let found = result.found.runtime();
        let mut parts = vec![found.map_or("version unknown".into(), |found| clean(&found.version, style))];
        parts.extend(found.iter().flat_map(|found| &found.notes).map(|note| clean(note, style)));
        lines.extend(wrap(&parts.join("; "), style.prose(), &format!("  {name}: ")));
        clocks.entry(clock(result, style)).or_default().push(name);
    }
    if clocks.is_empty() {
        return Vec::new();
    }
    lines.push(style.paint(Paint::Bold, "Clocks"));
    for (clock, names) in clocks {
        lines.extend(wrap(&format!("{clock}: {}", names.join(", ")), style.prose(), "  "));
    }
    lines
}

/// The clock that the program used, its step, and what a pair of readings takes.
fn clock(result: &Measurement, style: &Style) -> String {
    let mut text = "unknown".to_owned();
    if let Some(found) = result.found.runtime() {
        let step = figure(found.clock_resolution_ns);
        text = format!("{}, steps of {step} ns", clean(&found.clock, style));
    }
    if let Some(single) = result.single {
        let (pair, error) = (figure(single.pair_overhead_ns), figure(single.pair_overhead_error_ns));
        text += &format!(", a pair takes {pair} {} {error} ns", style.plus_minus());
    }
    text
}
