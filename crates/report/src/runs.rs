//! The view of `tollgate runs`: what the store holds.

use crate::style::{Paint, Style};
use crate::text::{clean, cut, lines, wrap};
use crate::words::plural;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use tollgate_record::store::{Entry, Summary};

/// What the id, the start, the results and the host may take: at 80 columns, and from 110 on.
const MOST: [[usize; 4]; 2] = [[26, 16, 12, 12], [44, 16, 12, 20]];

/// The runs of a store in the order given, and below them the files that cannot be read and why.
pub fn runs(list: &[Entry], style: &Style) -> String {
    if list.is_empty() {
        return lines(wrap("No run is saved yet: `tollgate` measures one.", style.prose(), ""));
    }
    let mut text = Vec::new();
    let readable: Vec<(&str, &Summary)> =
        list.iter().filter_map(|entry| Some((entry.id.as_str(), entry.content.as_ref().ok()?))).collect();
    if !readable.is_empty() {
        let table = table(&readable, style);
        // The table fills its lines with spaces.
        text.extend(table.lines().map(|line| line.trim_end().to_owned()));
        if let Some(header) = text.first_mut() {
            *header = style.paint(Paint::Dim, header);
        }
        text.push(String::new());
    }
    let broken: Vec<(&str, &str)> = list
        .iter()
        .filter_map(|entry| Some((entry.id.as_str(), entry.content.as_ref().err()?.as_str())))
        .collect();
    let mut counts = plural(readable.len(), "run", "runs");
    if !readable.is_empty() {
        counts.push_str(" (results: measured/skipped/failed)");
    }
    if !broken.is_empty() {
        let cannot = plural(broken.len(), "file that cannot be read", "files that cannot be read");
        counts = format!("{counts}, {cannot}:");
    }
    text.extend(wrap(&counts, style.prose(), ""));
    for (id, reason) in broken {
        let line = format!("{}: {}", clean(id, style), clean(reason, style));
        text.extend(wrap(&line, style.prose(), "  - "));
    }
    lines(text)
}

fn table(rows: &[(&str, &Summary)], style: &Style) -> String {
    let most = MOST[usize::from(style.columns() >= 110)];
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(style.columns()).unwrap_or(u16::MAX))
        .set_header(["run", "started (UTC)", "results", "host", "command"]);
    for (id, run) in rows {
        let results = format!("{}/{}/{}", run.measured, run.skipped, run.failed);
        let fixed = [(*id).to_owned(), started(&run.started), results, run.host.clone()];
        let mut cells: Vec<String> =
            fixed.iter().zip(most).map(|(cell, most)| cut(&clean(cell, style), most, style)).collect();
        cells.push(command(run, style));
        table.add_row(cells);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
        if column.index < most.len() && style.columns() >= 80 {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    if let Some(command) = table.column_mut(most.len()) {
        command.set_padding((0, 0)).set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(8)));
    }
    if let Some(results) = table.column_mut(2) {
        results.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

/// To the minute: the seconds are in the id.
fn started(text: &str) -> String {
    match (text.get(..10), text.get(10..11), text.get(11..16)) {
        (Some(day), Some("T"), Some(minute)) => format!("{day} {minute}"),
        _ => text.into(),
    }
}

fn command(run: &Summary, style: &Style) -> String {
    let words: Vec<String> = run.command.iter().map(|word| clean(word, style)).collect();
    let command = if words.is_empty() { "(ladder)".to_owned() } else { words.join(" ") };
    let command = cut(&command, 100, style);
    if run.complete { command } else { format!("{command} (interrupted)") }
}
