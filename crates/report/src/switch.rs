//! The runtimes: one row for each mechanism and number of tasks, versions and clocks, and the curves.

mod behind;
mod growth;
mod row;

use crate::head::head;
use crate::notes::notes;
use crate::style::{Paint, Style};
use crate::text::{clean, lines, wrap};
use crate::words::reason;
use indexmap::{IndexMap, IndexSet};
use row::{Layout, short, tasks};
use std::collections::BTreeSet;
use tollgate_record::{Measurement, Run, Status};

/// The view of a `switch` run: tables by kind of task, versions and clocks, curves where several numbers of tasks
/// were measured, and the notes. What failed is a row with its reason.
pub(crate) fn switch(run: &Run, style: &Style) -> String {
    let mut text = head(run, style);
    text.push(String::new());
    let numbers: BTreeSet<u64> = run.results.iter().map(tasks).collect();
    // A few numbers of tasks compare runtimes; many are a curve of each.
    let layout = if numbers.len() > 3 { Layout::Curves } else { Layout::Ranks };
    let mut rows: Vec<&Measurement> = run.results.iter().collect();
    rows.sort_by(|a, b| row::order(a, b, layout, style));
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
    let mut said: IndexMap<String, IndexSet<String>> = IndexMap::new();
    for result in results.iter().filter(|result| result.status == Status::Skipped) {
        let (mut why, name) = (reason(result, style), short(result, style));
        // A limit of this row, which says itself what to do; the larger numbers of tasks meet it too.
        if why.starts_with(&name) {
            if said.keys().any(|known| known.starts_with(&name)) {
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
