//! For each runtime its version, its clock, and what the clock pair costs.

use crate::style::{Paint, Style};
use crate::text::{clean, wrap};
use tollgate_record::number::figure;
use tollgate_record::{Measurement, Status};

/// One entry for each runtime that was measured, in the order of the results, then one for each clock.
pub(super) fn block(results: &[Measurement], style: &Style) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    let mut clocks: Vec<(String, Vec<String>)> = Vec::new();
    let mut lines = Vec::new();
    for result in results.iter().filter(|result| result.status == Status::Measured) {
        let asked = result.asked.runtime();
        let name = clean(asked.map_or(&result.probe, |asked| &asked.runtime), style);
        if seen.contains(&name) {
            continue;
        }
        let found = result.found.runtime();
        let mut parts = vec![found.map_or("version unknown".into(), |found| clean(&found.version, style))];
        parts.extend(found.iter().flat_map(|found| &found.notes).map(|note| clean(note, style)));
        lines.extend(wrap(&parts.join("; "), style.prose(), &format!("  {name}: ")));
        let clock = clock(result, style);
        match clocks.iter_mut().find(|(there, _)| *there == clock) {
            Some((_, names)) => names.push(name.clone()),
            None => clocks.push((clock, vec![name.clone()])),
        }
        seen.push(name);
    }
    if lines.is_empty() {
        return lines;
    }
    lines.insert(0, style.paint(Paint::Bold, "Versions"));
    lines.insert(0, String::new());
    lines.push(style.paint(Paint::Bold, "Clocks"));
    for (clock, names) in clocks {
        lines.extend(wrap(&format!("{clock}: {}", names.join(", ")), style.prose(), "  "));
    }
    lines
}

/// The clock that the program used, its step, and what a pair of readings takes.
fn clock(result: &Measurement, style: &Style) -> String {
    let found = result.found.runtime();
    let name = found.map_or("unknown".into(), |found| clean(&found.clock, style));
    let step =
        found.map_or(String::new(), |found| format!(", steps of {} ns", figure(found.clock_resolution_ns)));
    let pair = result.single.map_or(String::new(), |single| {
        let error = figure(single.pair_overhead_error_ns);
        format!(", a pair takes {} {} {error} ns", figure(single.pair_overhead_ns), style.plus_minus())
    });
    format!("{name}{step}{pair}")
}
