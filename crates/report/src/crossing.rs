//! The user/kernel crossing taken apart: system calls in three states, a bill for each crossing, what the
//! hardware alone takes, and what others have found.

pub(crate) mod bills;
mod calls;
mod hardware;
mod literature;
mod parts;

use crate::head::head;
use crate::notes::notes;
use crate::style::Style;
use crate::text::{clean, lines, wrap};
use tollgate_record::{Measurement, Run, Status};

/// The tables of a `crossing` run, and the notes. What was skipped or failed is listed with its reason.
pub(crate) fn crossing(run: &Run, style: &Style) -> String {
    let (ours, guests): (Vec<&Measurement>, Vec<&Measurement>) =
        run.results.iter().partition(|result| result.engine == "host");
    let mut text = head(run, style);
    text.extend(calls::table(&ours, style));
    text.extend(bills::table(&ours, style));
    text.extend(hardware::table(&guests, style));
    text.extend(parts::table(&guests, style));
    text.extend(literature::table(style));
    text.push(String::new());
    text.extend(notes(run, style));
    text.extend(absent(&run.results, style));
    lines(text)
}

/// Why rows are missing, and what would enable them.
fn absent(results: &[Measurement], style: &Style) -> Vec<String> {
    let mut text = Vec::new();
    // One reason stands for all rows that share it.
    let mut told: Vec<&str> = Vec::new();
    for result in results.iter().filter(|result| result.status != Status::Measured) {
        let reason = result.reason.as_deref().unwrap_or("no reason given");
        if told.contains(&reason) {
            continue;
        }
        told.push(reason);
        let same = results.iter().filter(|it| it.reason.as_deref() == Some(reason));
        let names: Vec<String> = same.map(|it| name(it, style)).collect();
        let what = if result.status == Status::Skipped { "skipped" } else { "failed" };
        let enable = result.enable.as_deref().map(|it| format!("; {}", clean(it, style))).unwrap_or_default();
        let line = format!("{what}: {}: {}{enable}", crate::text::list(&names, 3), clean(reason, style));
        text.extend(wrap(&line, style.prose(), "  - "));
    }
    text
}

/// The probe, and what ran it where that was not the host.
fn name(result: &Measurement, style: &Style) -> String {
    let probe = clean(&result.probe, style);
    if result.engine == "host" { probe } else { format!("{probe} ({})", clean(&result.engine, style)) }
}
