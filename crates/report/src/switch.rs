//! The runtimes: one row for each mechanism and number of tasks, versions and clocks, and the curves.

mod growth;
mod row;

use crate::head::head;
use crate::notes::notes;
use crate::sheet::{Sheet, painted, prose, title};
use crate::style::{Paint, Style};
use crate::text::clean;
use crate::words::reason;
use indexmap::{IndexMap, IndexSet};
use row::{Layout, short, tasks};
use std::collections::BTreeSet;
use tollgate_record::number::figure;
use tollgate_record::{Measurement, Run, Status};

/// The view of a `switch` run: tables by kind of task, versions and clocks, curves where several numbers of tasks
/// were measured, and the notes. What failed is a row with its reason.
pub(crate) fn switch(run: &Run, style: &Style) -> Sheet {
    let mut text = head(run, style);
    text.blank();
    let numbers: BTreeSet<u64> = run.results.iter().map(tasks).collect();
    // A few numbers of tasks compare runtimes; many are a curve of each.
    let layout = if numbers.len() > 3 { Layout::Curves } else { Layout::Ranks };
    let mut rows: Vec<&Measurement> = run.results.iter().collect();
    rows.sort_by(|a, b| row::order(a, b, layout, style));
    if rows.is_empty() {
        text.extend(prose("Nothing was measured.", ""));
    } else {
        text.extend(row::table(&rows, layout, style));
    }
    text.extend(growth::plots(&run.results, style));
    text.extend(versions(&run.results, style));
    text.blank();
    text.extend(absent(&run.results, style));
    text.extend(notes(&named(run), style));
    text
}

/// What was skipped, each with its reason and what would change that.
fn absent(results: &[Measurement], style: &Style) -> Sheet {
    let mut said: IndexMap<String, IndexSet<String>> = IndexMap::new();
    let mut limited: IndexSet<String> = IndexSet::new();
    for result in results.iter().filter(|result| result.status == Status::Skipped) {
        let (mut why, name) = (reason(result, style), short(result, style));
        // A limit of this row, which says itself what to do; the larger numbers of tasks meet it too.
        if why.starts_with(&name) {
            if !limited.insert(name.clone()) {
                continue;
            }
        } else if let Some(enable) = &result.enable {
            why += &format!(": {}", clean(enable, style));
        }
        said.entry(why).or_default().insert(name);
    }
    let line = |(why, names): (String, IndexSet<String>)| {
        // A reason that begins with the name needs no other.
        let names = Vec::from_iter(names);
        let text = if why.starts_with(&names[0]) { why } else { format!("{}: {why}", names.join(", ")) };
        prose(&text, "  skipped ")
    };
    said.into_iter().flat_map(line).collect::<Sheet>().paint(Paint::Dim)
}

/// The notes name rows as the table does.
fn named(run: &Run) -> Run {
    let mut run = run.clone();
    for result in &mut run.results {
        let name = result.probe.strip_prefix("switch/").unwrap_or(&result.probe).to_owned();
        result.probe = match result.asked.runtime().map(|asked| asked.tasks) {
            Some(tasks) if tasks != 2 => format!("{name} x {tasks}"),
            _ => name,
        };
    }
    run
}

/// An entry for each runtime that was measured, in the order of the results, then one for each clock.
pub(crate) fn versions(results: &[Measurement], style: &Style) -> Sheet {
    let mut seen: IndexSet<String> = IndexSet::new();
    let mut clocks: IndexMap<String, Vec<String>> = IndexMap::new();
    let mut lines = title("Versions");
    let is_runtime = |result: &&Measurement| result.asked.runtime().is_some();
    for result in results.iter().filter(|it| it.status == Status::Measured).filter(is_runtime) {
        let asked = result.asked.runtime();
        let name = clean(asked.map_or(&result.probe, |asked| &asked.runtime), style);
        if !seen.insert(name.clone()) {
            continue;
        }
        let found = result.found.runtime();
        let mut parts = vec![found.map_or("version unknown".into(), |found| clean(&found.version, style))];
        parts.extend(found.iter().flat_map(|found| &found.notes).map(|note| clean(note, style)));
        lines.extend(prose(parts.join("; "), format!("  {name}: ")));
        clocks.entry(clock(result, style)).or_default().push(name);
    }
    if clocks.is_empty() {
        return Sheet::new();
    }
    lines.extend(painted(Paint::Bold, "Clocks"));
    for (clock, names) in clocks {
        lines.extend(prose(format!("{clock}: {}", names.join(", ")), "  "));
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
