//! The diagram for a terminal, 80 columns wide.
//!
//! One line for each instruction, one column for each cycle. The letter of a stage stands where the instruction
//! enters it; a dot means that it is still there. A diagram that is wider than the line goes on in another
//! window below.

use std::fmt::Write;

use super::{Lane, Span, scale};
use tollgate_record::stages::Scale;

/// How a terminal diagram is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Columns of the line.
    pub width: usize,
    /// Whether other characters than ASCII can be shown.
    pub unicode: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self { width: 80, unicode: false }
    }
}

/// Mode, address and instruction, before the first cycle.
const LABEL: usize = 2 + 9 + 23;
/// Narrower than this there is no room for a pipeline.
const NARROWEST: usize = LABEL + 16;

/// Draws the lanes, in windows, with a key below. Nothing for no lanes.
#[must_use]
pub fn draw(lanes: &[Lane], look: Look) -> String {
    let cells = look.width.max(NARROWEST) - LABEL;
    let mut out = String::new();
    let mut rest = lanes;
    let (mut waits, mut squashes, mut folds) = (false, false, false);
    while !rest.is_empty() {
        let (window, scale) = fit(rest, cells);
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&ruler(&scale, cells));
        let mut place = "";
        for lane in window {
            if !lane.place.is_empty() && lane.place != place {
                let name: String = lane.place.chars().take(LABEL - 4).collect();
                let _ = writeln!(out, "  {name}:");
                place = &lane.place;
            }
            let _ = writeln!(out, "{}", row(lane, &scale, cells, look));
        }
        waits |= window.iter().any(|lane| lane.stages.iter().any(|span| span.end - span.start > 1));
        squashes |= window.iter().any(|lane| lane.squash.is_some());
        folds |= !scale.folds().is_empty();
        rest = &rest[window.len()..];
    }
    if !lanes.is_empty() {
        out.push_str(&key(lanes, look, waits, squashes, folds));
    }
    out
}

/// As many of the first lanes as fit, at least one.
fn fit(lanes: &[Lane], cells: usize) -> (&[Lane], Scale) {
    let mut fitting = 1;
    while fitting < lanes.len() && scale(&lanes[..=fitting]).width() <= cells {
        fitting += 1;
    }
    (&lanes[..fitting], scale(&lanes[..fitting]))
}

/// The numbers of some cycles above their columns.
fn ruler(scale: &Scale, cells: usize) -> String {
    let mut line = format!("{:<LABEL$}", "cycle");
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
        while line.len() < LABEL + column {
            line.push(' ');
        }
        line.push_str(&number);
        // The next one at a round distance, and behind the next fold.
        let step = (number.len() / 10 + 1) * 10;
        let fold = scale.folds().iter().map(|fold| fold.1 + 1).find(|&c| c > column + number.len());
        column = fold.map_or(column + step, |fold| fold.min(column + step));
    }
    line.push('\n');
    line
}

fn row(lane: &Lane, scale: &Scale, cells: usize, look: Look) -> String {
    let mut drawn = vec![' '; scale.width().min(cells)];
    let (waiting, gone, folded) = signs(look);
    for &Span { name, start, end } in &lane.stages {
        let end = end.min(lane.end());
        for cycle in start..end {
            let column = scale.column(cycle);
            if let Some(cell) = drawn.get_mut(column) {
                *cell = match cycle == start {
                    true => Lane::letter(name),
                    false if scale.is_fold(column) => folded,
                    false => waiting,
                };
            }
        }
    }
    if let Some(squash) = lane.squash {
        // It is gone in this cycle; the last one in which it was there keeps its stage.
        let column = scale.column(squash.at);
        if column >= drawn.len() && column < cells {
            drawn.resize(column + 1, ' ');
        }
        if let Some(cell) = drawn.get_mut(column) {
            *cell = gone;
        }
    }
    let cells_text: String = drawn.into_iter().collect();
    let text: String = lane.text.chars().take(22).collect();
    let mut line = format!("{} {:08x} {text:<23}{}", lane.mode, lane.pc as u32, cells_text.trim_end());
    let note = note(lane);
    if !note.is_empty() && line.chars().count() + 2 + note.len() <= LABEL + cells {
        let _ = write!(line, "  {note}");
    }
    line.trim_end().to_owned()
}

/// What the instruction waited for, or why it is gone.
fn note(lane: &Lane) -> String {
    if let Some(squash) = lane.squash {
        // What raises an exception goes all the way and does not retire.
        return if lane.traps { "traps".into() } else { format!("squashed: {}", squash.by) };
    }
    let waits: Vec<_> = lane.waits().iter().map(|(cause, cycles)| format!("{cause} {cycles}")).collect();
    waits.join(", ")
}

/// Waiting, gone, folded.
fn signs(look: Look) -> (char, char, char) {
    if look.unicode { ('·', '×', '…') } else { ('.', 'x', '~') }
}

fn key(lanes: &[Lane], look: Look, waits: bool, squashes: bool, folds: bool) -> String {
    let (waiting, gone, folded) = signs(look);
    let mut names: Vec<&str> = Vec::new();
    for span in lanes.iter().flat_map(|lane| &lane.stages) {
        if !names.contains(&span.name) {
            names.push(span.name);
        }
    }
    let mut parts: Vec<String> = names.iter().map(|name| format!("{} {name}", Lane::letter(name))).collect();
    if waits {
        parts.push(format!("{waiting} still there"));
    }
    if squashes {
        parts.push(format!("{gone} thrown away"));
    }
    if folds {
        parts.push(format!("{folded} nothing moves"));
    }
    format!("{}\n", parts.join("   "))
}
