//! The diagram as a picture for any page: self-contained, no script, no font of its own, with a title and a description
//! for screen readers.

use super::words::{letter, modes, note};
use crate::markup::{Element, Node, clean, el};
use tollgate_record::stages::{Scale, StageRow};

const CELL: usize = 16;
const ROW: usize = 20;
const LABEL: usize = 300;
const TOP: usize = 56;
const NOTE: usize = 200;
/// Letters of an instruction that have room before the first cycle.
const TEXT: usize = 26;

/// Dark letters on light stages: 4.5 to 1 or better.
const STYLE: &str = "text{font:12px ui-monospace,monospace;fill:#1b1f24}.head{font-weight:bold;font-size:14px}\
.note{fill:#57606a}.tick{font-size:10px;fill:#57606a}.paper{fill:#fff}.grid{stroke:#eaeef2;fill:none}\
.fold{fill:#f0f0f0}.stage{font-weight:bold}.f{fill:#b6d7f2}.d{fill:#c9e7c4}.x{fill:#f7dc9b}.m{fill:#e5c7ee}\
.w{fill:#cfd6dd}.dead{opacity:.55}.gone{fill:#d1242f}.cross{stroke:#d1242f;stroke-width:2;fill:none}";

/// Draws rows. `title` is shown above, `description` is what a screen reader says.
pub(crate) fn picture(rows: &[StageRow], title: &str, description: &str) -> String {
    let scale = Scale::of(rows);
    let width = LABEL + (scale.width() + 1) * CELL + NOTE;
    let bottom = TOP + rows.len() * ROW;
    let height = bottom + 40;
    let mut svg = el("svg")
        .set("xmlns", "http://www.w3.org/2000/svg")
        .set("width", width)
        .set("height", height)
        .set("viewBox", format!("0 0 {width} {height}"))
        .set("role", "img")
        .set("aria-labelledby", "title description")
        .with(el("title").set("id", "title").text(title))
        .with(el("desc").set("id", "description").text(description))
        .with(el("style").with(Node::Own(STYLE)))
        .with(rect("paper", (0, 0), (width, height)))
        .with(text("head", (12, 22), title))
        .all(ruler(&scale, bottom));
    for (index, row) in rows.iter().enumerate() {
        svg = svg.all(lane(row, &scale, TOP + index * ROW));
    }
    let mut x = 12;
    for (name, class) in
        [("IF", "f"), ("ID", "d"), ("EX", "x"), ("MEM", "m"), ("WB", "w"), ("squashed", "gone")]
    {
        svg =
            svg.with(rect(class, (x, bottom + 16), (12, 12))).with(text("note", (x + 17, bottom + 26), name));
        x += 36 + name.len() * 8;
    }
    let modes = modes(rows).join("   ");
    let mut out = String::new();
    svg.with(text("note", (x + 12, bottom + 26), &modes)).write(&mut out);
    out.push('\n');
    out
}

fn rect(class: &str, (x, y): (usize, usize), (width, height): (usize, usize)) -> Element {
    el("rect").class(class).set("x", x).set("y", y).set("width", width).set("height", height)
}

fn text(class: &str, (x, y): (usize, usize), words: &str) -> Element {
    el("text").class(class).set("x", x).set("y", y).text(words)
}

fn ruler(scale: &Scale, bottom: usize) -> Vec<Element> {
    let mut all = Vec::new();
    for column in 0..scale.width() {
        let x = LABEL + column * CELL;
        if scale.is_fold(column) {
            all.push(rect("fold", (x, TOP), (CELL, bottom - TOP)));
        } else if let Some(cycle) = scale.cycle(column)
            && (column == 0 || column % 5 == 0 || scale.is_fold(column - 1))
        {
            all.push(text("tick", (x + 1, TOP - 6), &cycle.to_string()));
            all.push(el("path").class("grid").set("d", format!("M{x} {TOP}V{bottom}")));
        }
    }
    all.push(text("tick", (LABEL - 40, TOP - 6), "cycle"));
    for &(cycles, column) in scale.folds() {
        let x = LABEL + column * CELL + CELL / 2;
        all.push(text("tick", (x, TOP - 18), &format!("+{cycles}")).set("text-anchor", "middle"));
    }
    all
}

fn lane(row: &StageRow, scale: &Scale, y: usize) -> Vec<Element> {
    let baseline = y + 14;
    let (class, dead) = if row.squash.is_some() { ("insn dead", " dead") } else { ("insn", "") };
    let words: String = clean(&row.text).chars().take(TEXT).collect();
    let mut all =
        vec![text(class, (12, baseline), &format!("{} {:08x} {words}", clean(&row.mode), row.pc() as u32))];
    for span in &row.stages {
        let from = scale.column(span.first).min(scale.width());
        let to = scale.column(span.last.max(span.first)).min(scale.width()) + 1;
        let letter = letter(&span.name);
        let x = LABEL + from * CELL;
        let title = format!("{} cycle {} to {}", span.name, span.first, span.last);
        all.push(
            rect(
                &format!("{}{dead}", letter.to_ascii_lowercase()),
                (x, y + 2),
                ((to - from) * CELL - 1, ROW - 4),
            )
            .with(el("title").text(title)),
        );
        all.push(text("stage", (x + 3, baseline), &letter.to_string()));
    }
    let x = LABEL + (scale.column(row.end().saturating_sub(1)).min(scale.width()) + 1) * CELL;
    if row.squash.is_some() {
        all.push(el("path").class("cross").set("d", format!("M{} {}l8 8m0 -8l-8 8", x + 3, y + 6)));
    }
    let note = note(row);
    if !note.is_empty() {
        let x = if row.squash.is_some() { x + CELL } else { x };
        all.push(text("note", (x + 4, baseline), &note));
    }
    all
}
