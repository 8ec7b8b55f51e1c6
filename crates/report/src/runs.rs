//! The view of `tollgate runs`: what the store holds.

use crate::sheet::{Column, Sheet, Table, prose};
use crate::style::{Paint, Style};
use crate::text::{clean, cut};
use tollgate_record::number::plural;
use tollgate_record::store::{Entry, Summary};

/// Room for the command: less is hard to read.
const COMMAND: usize = 16;

/// The runs of a store in the order given, and below them the files that cannot be read and why.
pub fn runs(list: &[Entry], style: &Style) -> String {
    if list.is_empty() {
        return prose("No run is saved yet: `tollgate` measures one.", "").text(style);
    }
    let mut text = Sheet::new();
    let readable: Vec<(&str, &Summary)> =
        list.iter().filter_map(|entry| Some((entry.id.as_str(), entry.content.as_ref().ok()?))).collect();
    if !readable.is_empty() {
        text.extend(table(&readable, style));
        text.blank();
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
    text.extend(prose(&counts, ""));
    for (id, reason) in broken {
        let line = format!("{}: {}", clean(id, style), clean(reason, style));
        text.extend(prose(&line, "  - "));
    }
    text.text(style)
}

/// The id is never shortened, so that it can be copied.
fn table(rows: &[(&str, &Summary)], style: &Style) -> Sheet {
    let mut table = Table::new([
        Column::left("run").most(style.columns().saturating_sub(COMMAND + 2)).least(44),
        Column::left("started (UTC)").rank(1),
        Column::right("results").rank(2),
        Column::left("label").most(20).least(8).rank(3),
        Column::left("host").most(20).least(12).rank(4),
        Column::left("command").reserved(COMMAND),
    ]);
    for (id, run) in rows {
        let results = format!("{}/{}/{}", run.measured, run.skipped, run.failed);
        let cells = [id.to_owned(), &started(&run.started), &results, &run.label, &run.host]
            .map(|cell| clean(cell, style));
        table.prose(cells, command(run, style), Paint::Plain);
    }
    table.into()
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
