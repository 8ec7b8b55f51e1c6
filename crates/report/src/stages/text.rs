//! The diagram for a terminal.
//!
//! One line for each instruction, one column for each cycle. The letter of a stage is in the cycle in which the
//! instruction enters it; a dot means that it is still there. A diagram that is wider than the line goes on in
//! another window below.

use super::words::{letter, modes, note};
use crate::style::Style;
use crate::text::{clean, cut, flow, left, width};
use indexmap::IndexSet;
use tollgate_record::stages::{Scale, StageRow};

/// Wider windows are hard to read.
const WIDEST: usize = 200;
/// Narrower lines have no room for addresses.
const ADDRESSES: usize = 60;

/// The columns before the first cycle: mode, address where there is room, and instruction, with a blank after each.
#[derive(Clone, Copy)]
struct Label {
    /// Digits of an address, 0 where there is no room.
    digits: usize,
}

impl Label {
    /// Columns of the instruction in assembly.
    fn text(self) -> usize {
        if self.digits > 0 { 22 } else { 17 }
    }

    fn width(self) -> usize {
        2 + if self.digits > 0 { self.digits + 1 } else { 0 } + self.text() + 1
    }

    fn of(self, row: &StageRow, style: &Style) -> String {
        let mode = row.mode.chars().next().filter(char::is_ascii_alphabetic).unwrap_or('?');
        let digits = self.digits;
        let address = if digits > 0 { format!("{:0digits$x} ", row.pc()) } else { String::new() };
        let text: String = clean(&row.text, style).chars().take(self.text()).collect();
        left(&format!("{mode} {address}{text}"), self.width())
    }
}

/// Draws rows, in windows, with a key below. Nothing for no rows.
pub(crate) fn draw(rows: &[StageRow], style: &Style) -> Vec<String> {
    let columns = style.columns().min(WIDEST);
    let digits = if rows.iter().all(|row| row.pc() <= u64::from(u32::MAX)) { 8 } else { 16 };
    let label = Label { digits: if columns >= ADDRESSES + digits - 8 { digits } else { 0 } };
    let cells = columns - label.width();
    let mut out = Vec::new();
    let mut rest = rows;
    let mut folds = false;
    while !rest.is_empty() {
        let (window, scale) = fit(rest, cells);
        if !out.is_empty() {
            out.push(String::new());
        }
        out.push(ruler(&scale, &label, cells));
        let mut place = "";
        for row in window {
            if !row.place.is_empty() && row.place != place {
                out.push(format!("  {}:", cut(&clean(&row.place, style), label.width() - 4, style)));
                place = &row.place;
            }
            out.push(line(row, &scale, &label, cells, style));
        }
        folds |= !scale.folds().is_empty();
        rest = &rest[window.len()..];
    }
    if !rows.is_empty() {
        out.extend(key(rows, folds, columns, style));
    }
    out
}

/// As many of the first rows as fit, at least one.
fn fit(rows: &[StageRow], cells: usize) -> (&[StageRow], Scale) {
    let mut fitting = 1;
    while fitting < rows.len() && Scale::of(&rows[..=fitting]).width() <= cells {
        fitting += 1;
    }
    (&rows[..fitting], Scale::of(&rows[..fitting]))
}

/// The numbers of some cycles above their columns.
fn ruler(scale: &Scale, label: &Label, cells: usize) -> String {
    let mut line = left("cycle", label.width());
    let width = scale.width().min(cells);
    let mut column = 0;
    while column < width {
        let Some(cycle) = scale.cycle(column) else {
            column += 1;
            continue;
        };
        let number = cycle.to_string();
        if column + number.len() > cells {
            break;
        }
        line = left(&line, label.width() + column) + &number;
        // The next one at a round distance, and behind the next fold.
        let step = (number.len() / 10 + 1) * 10;
        let fold = scale.folds().iter().map(|fold| fold.1 + 1).find(|&c| c > column + number.len());
        column = fold.map_or(column + step, |fold| fold.min(column + step));
    }
    line.trim_end().to_owned()
}

fn line(row: &StageRow, scale: &Scale, label: &Label, cells: usize, style: &Style) -> String {
    let mut drawn = vec![' '; scale.width().min(cells)];
    let (waiting, gone, folded) = signs(style);
    for span in &row.stages {
        let (first, last) = (scale.column(span.first), scale.column(span.last.max(span.first)));
        for (column, cell) in drawn.iter_mut().enumerate().take(last.saturating_add(1)).skip(first) {
            *cell = match column == first {
                true => letter(&span.name),
                false if scale.is_fold(column) => folded,
                false => waiting,
            };
        }
    }
    if let Some(squash) = &row.squash {
        // The cross is in the cycle after the last one of its stages.
        if let Some(cell) = drawn.get_mut(scale.column(squash.at)) {
            *cell = gone;
        }
    }
    let drawn: String = drawn.into_iter().collect();
    let line = format!("{}{}", label.of(row, style), drawn.trim_end());
    let note = clean(&note(row), style);
    let room = label.width() + cells;
    if !note.is_empty() && width(&line) + 2 + width(&note) <= room {
        return format!("{line}  {note}");
    }
    line.trim_end().to_owned()
}

/// Waiting, gone, folded.
fn signs(style: &Style) -> (char, char, char) {
    if style.unicode { ('·', '×', '…') } else { ('.', 'x', '~') }
}

fn key(rows: &[StageRow], folds: bool, columns: usize, style: &Style) -> Vec<String> {
    let (waiting, gone, folded) = signs(style);
    let names = rows.iter().flat_map(|row| &row.stages).map(|span| span.name.as_str());
    let names: IndexSet<&str> = names.map(|name| if letter(name) == '?' { "?" } else { name }).collect();
    let mut parts: Vec<String> = names.iter().map(|name| format!("{} {name}", letter(name))).collect();
    if rows.iter().flat_map(|row| &row.stages).any(|span| span.cycles() > 1) {
        parts.push(format!("{waiting} still there"));
    }
    if rows.iter().any(|row| row.squash.is_some()) {
        parts.push(format!("{gone} thrown away"));
    }
    if folds {
        parts.push(format!("{folded} nothing moves"));
    }
    let mut lines = flow(parts, columns);
    lines.extend(flow(modes(rows), columns));
    lines
}
