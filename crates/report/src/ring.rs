//! The ring: one row for each cell with its bill, the knees, and a plot over the footprint.

mod cell;
mod counters;
mod knees;
mod plot;

use crate::head::head;
use crate::notes::notes;
use crate::style::{Paint, Style};
use crate::text::{clean, lines, painted};
use tollgate_record::{Measurement, Run, Status};

/// The name under which a fit's rows are in the record.
const KNEE: &str = "ring/knee";

/// The matrix of a `ring` run: each cell's total and parts, what the fit found, the plot, and the notes.
/// Cells that failed are rows with their reason.
pub(crate) fn ring(run: &Run, style: &Style) -> String {
    let (knees, cells): (Vec<&Measurement>, Vec<_>) =
        run.results.iter().partition(|result| result.probe == KNEE);
    let mut text = head(run, style);
    text.push(String::new());
    text.extend(title(run, style));
    if cells.is_empty() {
        text.push("Nothing was measured.".into());
    } else {
        text.extend(cell::table(&cells, style));
    }
    text.extend(counters::table(&cells, style));
    text.extend(plot::plot(&cells, &run.host.caches, style));
    text.extend(knees::list(&knees, style));
    text.push(String::new());
    text.extend(notes(&without_knees(run), style));
    lines(text)
}

/// What all cells have in common.
fn title(run: &Run, style: &Style) -> Vec<String> {
    let Some(first) = run.results.iter().find(|result| result.probe != KNEE) else { return Vec::new() };
    let ring = first.asked.ring().cloned().unwrap_or_default();
    let medium = clean(first.probe.rsplit('/').next().unwrap_or_default(), style);
    let cpus = ring.cpus.as_ref().map_or(1, Vec::len);
    let place = if cpus > 1 { format!("in turn on {cpus} CPUs") } else { "all on one CPU".into() };
    let tasks = match ring.tasks.as_deref() {
        Some("thread") => "threads",
        _ => "processes",
    };
    let walk = match ring.walk.as_deref() {
        Some("random") => "lines of an array followed in random order",
        Some("write") => "an array written",
        _ => "an array added up",
    };
    let pages = ring.pages.map_or("4k".into(), |pages| clean(&pages, style));
    let text = format!(
        "A ring of {tasks}, {place}, token through {medium}; {walk} at each hop, {pages} pages. ns for each hop."
    );
    painted(Paint::Bold, &text, style)
}

/// The notes count cells, not what was concluded from them.
fn without_knees(run: &Run) -> Run {
    let mut run = run.clone();
    run.results.retain(|result| result.probe != KNEE);
    for result in &mut run.results {
        if result.status != Status::Failed
            && let Some(ring) = result.asked.ring()
        {
            result.probe = format!("{} x {}", ring.procs, tollgate_record::number::size(ring.size as f64));
        }
    }
    run
}
