//! The diagram as a picture for any page: self-contained, no script, no font of its own, with a title and a description
//! for screen readers.

use super::words::{letter, modes, note};
use crate::markup::{clean, finish, own};
use maud::{Markup, html};
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
    let mut x = 12;
    let key = [("IF", "f"), ("ID", "d"), ("EX", "x"), ("MEM", "m"), ("WB", "w"), ("squashed", "gone")];
    let key = key.map(|(name, class)| {
        let at = x;
        x += 36 + name.len() * 8;
        (name, class, at)
    });
    finish(html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) }
            role="img" aria-labelledby="title description" {
            title #title { (clean(title)) }
            desc #description { (clean(description)) }
            style { (own(STYLE)) }
            (rect("paper", (0, 0), (width, height)))
            (text("head", (12, 22), title))
            (ruler(&scale, bottom))
            @for (index, row) in rows.iter().enumerate() { (lane(row, &scale, TOP + index * ROW)) }
            @for (name, class, x) in key {
                (rect(class, (x, bottom + 16), (12, 12)))
                (text("note", (x + 17, bottom + 26), name))
            }
            (text("note", (x + 12, bottom + 26), &modes(rows).join("   ")))
        }
    })
}

fn rect(class: &str, (x, y): (usize, usize), (width, height): (usize, usize)) -> Markup {
    html! { rect class=(class) x=(x) y=(y) width=(width) height=(height) {} }
}

fn text(class: &str, (x, y): (usize, usize), words: &str) -> Markup {
    html! { text class=(class) x=(x) y=(y) { (clean(words)) } }
}

fn ruler(scale: &Scale, bottom: usize) -> Markup {
    let place = |column: usize| LABEL + column * CELL;
    html! {
        @for column in 0..scale.width() {
            @let x = place(column);
            @if scale.is_fold(column) {
                (rect("fold", (x, TOP), (CELL, bottom - TOP)))
            } @else if let Some(cycle) = scale.cycle(column)
                && (column == 0 || column % 5 == 0 || scale.is_fold(column - 1)) {
                (text("tick", (x + 1, TOP - 6), &cycle.to_string()))
                path.grid d={ "M" (x) " " (TOP) "V" (bottom) } {}
            }
        }
        (text("tick", (LABEL - 40, TOP - 6), "cycle"))
        @for (cycles, column) in scale.folds() {
            text.tick x=(place(*column) + CELL / 2) y=(TOP - 18) text-anchor="middle" { "+" (cycles) }
        }
    }
}

fn lane(row: &StageRow, scale: &Scale, y: usize) -> Markup {
    let baseline = y + 14;
    let column = |cycle| scale.column(cycle).min(scale.width());
    let (class, dead) = if row.squash.is_some() { ("insn dead", " dead") } else { ("insn", "") };
    let address = format!("{:08x}", row.pc());
    let words: String = clean(&row.text).chars().take((TEXT + 8).saturating_sub(address.len())).collect();
    let end = LABEL + (column(row.end().saturating_sub(1)) + 1) * CELL;
    let note = note(row);
    html! {
        (text(class, (12, baseline), &format!("{} {address} {words}", clean(&row.mode))))
        @for span in &row.stages {
            @let (from, to) = (column(span.first), column(span.last.max(span.first)) + 1);
            @let (x, letter) = (LABEL + from * CELL, letter(&span.name));
            rect class={ (letter.to_ascii_lowercase()) (dead) } x=(x) y=(y + 2) width=((to - from) * CELL - 1)
                height=(ROW - 4) {
                title { (clean(&format!("{} cycle {} to {}", span.name, span.first, span.last))) }
            }
            (text("stage", (x + 3, baseline), &letter.to_string()))
        }
        @if row.squash.is_some() {
            path.cross d={ "M" (end + 3) " " (y + 6) "l8 8m0 -8l-8 8" } {}
        }
        @if !note.is_empty() {
            (text("note", (if row.squash.is_some() { end + CELL } else { end } + 4, baseline), &note))
        }
    }
}
