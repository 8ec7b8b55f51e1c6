//! The runtimes: one row for each mechanism and number of tasks, versions and clocks, and the curves.

mod behind;
mod growth;
mod row;

use crate::head::head;
use crate::notes::notes;
use crate::style::{Paint, Style};
use crate::text::{clean, lines, wrap};
use row::{Layout, SwitchRow, short};
use tollgate_record::{Measurement, Run, Status};

/// The view of a `switch` run: tables by kind of task, versions and clocks, curves where several numbers of tasks
/// were measured, and the notes. What failed is a row with its reason.
pub(crate) fn switch(run: &Run, style: &Style) -> String {
    let mut text = head(run, style);
    text.push(String::new());
    let mut rows: Vec<SwitchRow> = run.results.iter().map(|result| SwitchRow::of(result, style)).collect();
    let mut numbers: Vec<u64> = rows.iter().map(|row| row.tasks).collect();
    numbers.sort_unstable();
    numbers.dedup();
    // A few numbers of tasks compare runtimes; many are a curve of each.
    let layout = if numbers.len() > 3 { Layout::Curves } else { Layout::Ranks };
    rows.sort_by(|a, b| a.order(b, layout));
    if rows.is_empty() {
        text.push("Nothing was measured.".into());
    } else {
        text.extend(row::table(&rows, layout, style));
    }
    text.extend(growth::plots(&run.results, style));
    text.extend(behind::block(&run.results, style));
    text.push(String::new());
    text.extend(absent(&run.results, style));
    text.extend(notes(&named(run), style));
    lines(text)
}

/// What was skipped, each with its reason and what would change that.
fn absent(results: &[Measurement], style: &Style) -> Vec<String> {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for result in results.iter().filter(|result| result.status == Status::Skipped) {
        let reason = clean(result.reason.as_deref().unwrap_or("no reason given"), style);
        let name = short(result, style);
        // A limit of this row, which says itself what to do; the larger numbers of tasks meet it too.
        if reason.starts_with(&name) {
            if !said.iter().any(|(why, _)| why.starts_with(&name)) {
                said.push((reason, vec![name]));
            }
            continue;
        }
        let enable = result.enable.as_deref().map(|enable| format!(": {}", clean(enable, style)));
        let why = format!("{reason}{}", enable.unwrap_or_default());
        match said.iter_mut().find(|(there, _)| *there == why) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => said.push((why, vec![name])),
        }
    }
    let line = |(why, names): (String, Vec<String>)| {
        // A reason that begins with the name needs no other.
        let text = if why.starts_with(&names[0]) { why } else { format!("{}: {why}", names.join(", ")) };
        wrap(&text, style.prose(), "  skipped ")
    };
    said.into_iter().flat_map(line).map(|line| style.paint(Paint::Dim, &line)).collect()
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
