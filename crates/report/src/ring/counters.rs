//! Size by counters: events for each hop.

use super::cell::{Cell, size};
use crate::number::fit;
use crate::style::{Paint, Style};
use crate::text::{cut, right};
use std::collections::BTreeSet;

/// Columns of one counter.
const COLUMN: usize = 17;

/// One block for as many counters as fit side by side; nothing when none was read.
pub(crate) fn table(cells: &[Cell], style: &Style) -> Vec<String> {
    let names: BTreeSet<&str> =
        cells.iter().flat_map(|cell| &cell.counters).map(|(name, _)| name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let mut lines = Vec::new();
    for block in names.chunks(((style.columns() - 12) / COLUMN).max(1)) {
        lines.push(String::new());
        lines.push(style.paint(Paint::Bold, "Events for each hop"));
        let heads = |half: fn(&str) -> (&str, &str)| -> String {
            block
                .iter()
                .map(|name| half(name))
                .map(|(_, text)| right(&cut(text, COLUMN - 1, style), COLUMN))
                .collect()
        };
        // `cache-misses:u` is headed by its event and, below it, by where it was counted.
        lines.push(
            format!("{:12}{}", "", heads(|name| ("", name.split(':').next().unwrap_or(name))))
                .trim_end()
                .into(),
        );
        let place = |name: &str| match name.rsplit(':').next() {
            Some("u") => "user",
            Some("k") => "kernel",
            _ => "",
        };
        let below: String = block.iter().map(|name| right(place(name), COLUMN)).collect();
        lines.push(format!(" procs  size{below}").trim_end().into());
        for cell in cells.iter().filter(|cell| !cell.counters.is_empty()) {
            let value =
                |name: &&str| cell.counters.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
            let values: String = block
                .iter()
                .map(|name| right(&value(name).map_or("-".into(), |it| fit(it, COLUMN - 2)), COLUMN))
                .collect();
            let place = |text: &str| right(&cut(text, 5, style), 6);
            lines.push(format!("{}{}{values}", place(&size(cell.procs)), place(&size(cell.bytes))));
        }
    }
    lines
}
