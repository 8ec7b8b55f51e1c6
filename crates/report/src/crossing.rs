//! The user/kernel crossing taken apart: system calls in three states, a bill for each crossing, what the
//! hardware alone takes, and what others have found.

pub(crate) mod bills;
mod calls;
mod hardware;
mod literature;

use crate::head::head;
use crate::notes::notes;
use crate::style::Style;
use crate::text::{clean, lines, list, wrap};
use crate::words::reason;
use indexmap::IndexMap;
use tollgate_record::{Measurement, Run, Status};

/// The tables of a `crossing` run, and the notes. What was skipped or failed is listed with its reason.
pub(crate) fn crossing(run: &Run, style: &Style) -> String {
    let (ours, guests): (Vec<&Measurement>, Vec<&Measurement>) =
        run.results.iter().partition(|result| result.engine == "host");
    let mut text = head(run, style);
    text.extend(calls::table(&ours, style));
    text.extend(bills::table(&ours, style));
    text.extend(hardware::table(&guests, style));
    text.extend(hardware::parts(&guests, style));
    text.extend(literature::table(style));
    text.push(String::new());
    text.extend(notes(run, style));
    text.extend(absent(&run.results, style));
    lines(text)
}

/// Why rows are missing, and what would enable them. One reason stands for all rows that share it.
fn absent(results: &[Measurement], style: &Style) -> Vec<String> {
    let mut reasons: IndexMap<Option<&str>, Vec<&Measurement>> = IndexMap::new();
    for result in results.iter().filter(|result| result.status != Status::Measured) {
        reasons.entry(result.reason.as_deref()).or_default().push(result);
    }
    let line = |same: Vec<&Measurement>| {
        let first = same[0];
        let names: Vec<String> = same.iter().map(|it| name(it, style)).collect();
        let what = if first.status == Status::Skipped { "skipped" } else { "failed" };
        let enable = first.enable.as_deref().map_or_else(String::new, |it| format!("; {}", clean(it, style)));
        let line = format!("{what}: {}: {}{enable}", list(&names, 3), reason(first, style));
        wrap(&line, style.prose(), "  - ")
    };
    reasons.into_values().flat_map(line).collect()
}

/// The probe, and what ran it where that was not the host.
fn name(result: &Measurement, style: &Style) -> String {
    let probe = clean(&result.probe, style);
    if result.engine == "host" { probe } else { format!("{probe} ({})", clean(&result.engine, style)) }
}
