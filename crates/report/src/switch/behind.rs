//! What stands behind the figures: for each runtime its version, its clock, and what the clock pair costs.

use crate::number::figure;
use crate::style::{Paint, Style};
use crate::text::{clean, wrap};
use serde_json::Value;
use tollgate_record::{Measurement, Status};

/// One entry for each runtime that was measured, in the order of the results.
pub(super) fn block(results: &[Measurement], style: &Style) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    let mut lines = Vec::new();
    for result in results.iter().filter(|result| result.status == Status::Measured) {
        let text = |key: &str| result.params.get(key).and_then(Value::as_str).map(|it| clean(it, style));
        let name = text("runtime").unwrap_or_else(|| clean(&result.probe, style));
        if seen.contains(&name) {
            continue;
        }
        let mut parts = vec![text("version").unwrap_or_else(|| "version unknown".into())];
        if let Some(clock) = text("clock") {
            let step = result.params.get("clock_resolution_ns").and_then(Value::as_f64);
            let step = step.map_or(String::new(), |step| format!(", steps of {} ns", figure(step)));
            let pair = result.single.map_or(String::new(), |single| {
                let error = figure(single.pair_overhead_error_ns);
                format!(", a pair takes {} +- {error} ns", figure(single.pair_overhead_ns))
            });
            parts.push(format!("clock: {clock}{step}{pair}"));
        }
        if let Some(notes) = result.params.get("notes").and_then(Value::as_array) {
            parts.extend(notes.iter().filter_map(Value::as_str).map(|note| clean(note, style)));
        }
        if lines.is_empty() {
            lines.push(String::new());
            lines.push(style.paint(Paint::Bold, "Versions and clocks"));
        }
        lines.extend(wrap(&parts.join("; "), style.prose(), &format!("  {name}: ")));
        seen.push(name);
    }
    lines
}
