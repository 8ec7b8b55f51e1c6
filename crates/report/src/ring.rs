//! The ring: one row for each cell with its bill, the knees, and a plot over the footprint.

mod cell;

use crate::chart::Unit;
use crate::head::head;
use crate::notes::notes;
use crate::plot::{Curve, Plot, has_place};
use crate::remarks::sentence;
use crate::sheet::{Column, Sheet, Table, painted, plotted, prose, title};
use crate::style::{Paint, Style};
use crate::text::{clean, cut};
use crate::words::reason;
use cell::{footprint, procs, switch};
use indexmap::IndexMap;
use std::collections::BTreeSet;
use tollgate_record::host::Cache;
use tollgate_record::number::{fit, half_width, percent, size};
use tollgate_record::{Measurement, Run, Status};

/// The name under which a fit's rows are in the record.
const KNEE: &str = "ring/knee";

/// The matrix of a `ring` run: each cell's total and parts, what the fit found, the plot, and the notes.
/// Cells that failed are rows with their reason.
pub(crate) fn ring(run: &Run, style: &Style) -> Sheet {
    let (fits, cells): (Vec<&Measurement>, Vec<_>) =
        run.results.iter().partition(|result| result.probe == KNEE);
    let mut text = head(run, style);
    text.blank();
    text.extend(ring_of(run, style));
    if cells.is_empty() {
        text.extend(prose("Nothing was measured.", ""));
    } else {
        text.extend(cell::table(&cells, style));
    }
    text.extend(counters(&cells, style));
    text.extend(plot(&cells, &run.host.caches));
    text.extend(knees(&fits, style));
    text.blank();
    text.extend(notes(&without_knees(run), style));
    text
}

/// What all cells have in common.
fn ring_of(run: &Run, style: &Style) -> Sheet {
    let Some(first) = run.results.iter().find(|result| result.probe != KNEE) else { return Sheet::new() };
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
    painted(Paint::Bold, &text)
}

/// The notes count cells, not what was concluded from them.
fn without_knees(run: &Run) -> Run {
    let mut run = run.clone();
    run.results.retain(|result| result.probe != KNEE);
    for result in &mut run.results {
        if result.status != Status::Failed
            && let Some(ring) = result.asked.ring()
        {
            result.probe = format!("{} x {}", ring.procs, size(ring.size as f64));
        }
    }
    run
}

/// The width of one counter's column, with the gap before it.
const COLUMN: usize = 17;

/// One block for as many counters as fit side by side; nothing when none was read.
fn counters(cells: &[&Measurement], style: &Style) -> Sheet {
    let names: BTreeSet<&String> = cells.iter().flat_map(|cell| cell.counters.keys()).collect();
    let names: Vec<&String> = names.into_iter().collect();
    let mut lines = Sheet::new();
    for block in names.chunks(((style.columns() - 12) / COLUMN).max(1)) {
        lines.blank();
        lines.extend(painted(Paint::Bold, "Events for each hop"));
        let events =
            block.iter().map(|name| Column::right(event(&clean(name, style))).most(24).least(COLUMN - 2));
        let columns = [Column::right("procs"), Column::right("size")].into_iter().chain(events);
        let mut table = Table::new(columns).indent(1);
        for cell in cells.iter().filter(|cell| !cell.counters.is_empty()) {
            let value =
                |name: &&String| cell.counters.get(*name).map_or("-".into(), |it| fit(*it, COLUMN - 2));
            table
                .row([size(procs(cell)), size(cell::bytes(cell))].into_iter().chain(block.iter().map(value)));
        }
        lines.extend(Sheet::from(table));
    }
    lines
}

/// The event of `cache-misses:u` and, below it, where it was counted.
fn event(name: &str) -> String {
    match name.rsplit_once(':') {
        Some((event, "u")) => format!("{event}\nuser"),
        Some((event, "k")) => format!("{event}\nkernel"),
        _ => name.into(),
    }
}

/// A switch and its refill over the footprint, with the caches marked.
fn plot(cells: &[&Measurement], caches: &[Cache]) -> Sheet {
    // By their bits, because numbers of tasks are whole.
    let mut curves: IndexMap<u64, Vec<[f64; 2]>> = IndexMap::new();
    for cell in cells {
        let (x, Some(y)) = (footprint(cell), switch(cell)) else { continue };
        if has_place([x, y]) {
            curves.entry(procs(cell).to_bits()).or_default().push([x, y]);
        }
    }
    let curve = |(procs, points)| Curve { run: 0, name: size(f64::from_bits(procs)), points };
    let marks = caches.iter().filter(|cache| cache.kind != "Instruction");
    let marks = marks.map(|cache| (cache.bytes as f64, format!("L{}", cache.level.min(9))));
    plotted(Plot {
        title: "Switch and refill (total less hot work), ns, over the footprint N x S",
        of: "tasks: ",
        curves: curves.into_iter().map(curve).collect(),
        marks: Some(marks.collect()),
        units: [Unit::Bytes, Unit::Nanoseconds],
    })
}

/// What the fit found of each cache, and how well it predicts.
fn knees(rows: &[&Measurement], style: &Style) -> Sheet {
    if rows.is_empty() {
        return Sheet::new();
    }
    let mut lines = title("Knees: footprints at which refill begins");
    for row in rows {
        let cache = row.asked.knee().and_then(|knee| knee.cache.as_deref());
        let text = cache.map_or("?".into(), |it| cut(&clean(it, style), 4, style));
        lines.extend(prose(knee(row, style), format!("  {text:<3} ")));
        let warned = row.warnings.iter().map(|warning| clean(sentence(warning), style));
        lines.extend(warned.flat_map(|warning| prose(warning, "      - ")));
    }
    if let Some(left_out) = rows[0].found.knee().and_then(|knee| knee.left_out.as_ref()) {
        let text = format!(
            "Each of {} cells predicted from the others: off by {} of its total in the median, {} at worst.",
            left_out.cells,
            percent(left_out.median_error),
            percent(left_out.worst_error)
        );
        lines.extend(prose(&text, "  "));
    }
    lines
}

fn knee(row: &Measurement, style: &Style) -> String {
    let found = row.found.knee();
    let bytes = |bytes: Option<u64>| size(bytes.map_or(f64::NAN, |bytes| bytes as f64));
    let expected = bytes(found.map(|knee| knee.expected_bytes));
    if row.status != Status::Measured {
        let enable = row.enable.as_deref().map_or_else(String::new, |it| format!("; {}", clean(it, style)));
        let why = format!("{}{enable}", reason(row, style));
        return if found.is_some() { format!("expected at {expected}; {why}") } else { why };
    }
    let bound = |at: usize| bytes(found.and_then(|knee| knee.knee_interval).map(|bounds| bounds[at]));
    let ns = row.ns.map_or("?".into(), |ns| {
        format!("{} {} {}", fit(ns.estimate, 8), style.plus_minus(), half_width(&ns, 8))
    });
    format!(
        "expected at {expected}, found at {} ({} to {}); beyond it {ns} ns more for each KiB",
        bytes(found.and_then(|knee| knee.knee_bytes)),
        bound(0),
        bound(1)
    )
}
