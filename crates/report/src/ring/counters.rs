//! Size by counters: events for each hop.

use super::cell::RingCell;
use crate::style::{Paint, Style};
use crate::table::{Column, TextTable};
use std::collections::BTreeSet;
use tollgate_record::number::{fit, size};

/// The width of one counter's column, with the gap before it.
const COLUMN: usize = 17;

/// One block for as many counters as fit side by side; nothing when none was read.
pub(crate) fn table(cells: &[RingCell], style: &Style) -> Vec<String> {
    let names: BTreeSet<&str> =
        cells.iter().flat_map(|cell| &cell.counters).map(|(name, _)| name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let mut lines = Vec::new();
    for block in names.chunks(((style.columns() - 12) / COLUMN).max(1)) {
        lines.push(String::new());
        lines.push(style.paint(Paint::Bold, "Events for each hop"));
        let columns = block.iter().map(|name| Column::right(title(name)).most(24).least(COLUMN - 2));
        let mut table =
            TextTable::new([Column::right("procs"), Column::right("size")].into_iter().chain(columns))
                .indent(1);
        for cell in cells.iter().filter(|cell| !cell.counters.is_empty()) {
            let value =
                |name: &&str| cell.counters.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
            let values = block.iter().map(|name| value(name).map_or("-".into(), |it| fit(it, COLUMN - 2)));
            table.row([size(cell.procs), size(cell.bytes)].into_iter().chain(values));
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
