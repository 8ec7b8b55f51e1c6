//! What stands behind the figures: for each runtime its version, its clock, and what the clock pair costs.

use crate::style::{Paint, Style};
use crate::text::{clean, wrap};
use serde_json::Value;
use tollgate_record::number::figure;
use tollgate_record::{Measurement, Status};

/// One entry for each runtime that was measured, in the order of the results, then one for each clock.
pub(super) fn block(results: &[Measurement], style: &Style) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    let mut clocks: Vec<(String, Vec<String>)> = Vec::new();
    let mut lines = Vec::new();
    for result in results.iter().filter(|result| result.status == Status::Measured) {
        let text = |key: &str| result.params.get(key).and_then(Value::as_str).map(|it| clean(it, style));
        let name = text("runtime").unwrap_or_else(|| clean(&result.probe, style));
        if seen.contains(&name) {
            continue;
        }
        let mut parts = vec![text("version").unwrap_or_else(|| "version unknown".into())];
        if let Some(notes) = result.params.get("notes").and_then(Value::as_array) {
            parts.extend(notes.iter().filter_map(Value::as_str).map(|note| clean(note, style)));
        }
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
    let name =
        result.params.get("clock").and_then(Value::as_str).map_or("unknown".into(), |it| clean(it, style));
    let step = result.params.get("clock_resolution_ns").and_then(Value::as_f64);
    let step = step.map_or(String::new(), |step| format!(", steps of {} ns", figure(step)));
    let pair = result.single.map_or(String::new(), |single| {
        let error = figure(single.pair_overhead_error_ns);
        format!(", a pair takes {} {} {error} ns", figure(single.pair_overhead_ns), style.plus_minus())
    });
    format!("{name}{step}{pair}")
}
