//! Size by counters: events for each hop.

use super::cell::{bytes, procs};
use crate::style::{Paint, Style};
use crate::table::{Column, TextTable};
use crate::text::clean;
use std::collections::BTreeSet;
use tollgate_record::Measurement;
use tollgate_record::number::{fit, size};

/// The width of one counter's column, with the gap before it.
const COLUMN: usize = 17;

/// One block for as many counters as fit side by side; nothing when none was read.
pub(super) fn table(cells: &[&Measurement], style: &Style) -> Vec<String> {
    let names: BTreeSet<&String> = cells.iter().flat_map(|cell| cell.counters.keys()).collect();
    let names: Vec<&String> = names.into_iter().collect();
    let mut lines = Vec::new();
    for block in names.chunks(((style.columns() - 12) / COLUMN).max(1)) {
        lines.push(String::new());
        lines.push(style.paint(Paint::Bold, "Events for each hop"));
        let events =
            block.iter().map(|name| Column::right(title(&clean(name, style))).most(24).least(COLUMN - 2));
        let columns = [Column::right("procs"), Column::right("size")].into_iter().chain(events);
        let mut table = TextTable::new(columns).indent(1);
        for cell in cells.iter().filter(|cell| !cell.counters.is_empty()) {
            let value =
                |name: &&String| cell.counters.get(*name).map_or("-".into(), |it| fit(*it, COLUMN - 2));
            table.row([size(procs(cell)), size(bytes(cell))].into_iter().chain(block.iter().map(value)));
        }
        lines.extend(table.lines(style));
    }
    lines
}

/// The event of `cache-misses:u` and, below it, where it was counted.
fn title(name: &str) -> String {
    match name.rsplit_once(':') {
        Some((event, "u")) => format!("{event}\nuser"),
        Some((event, "k")) => format!("{event}\nkernel"),
        _ => name.into(),
    }
}
