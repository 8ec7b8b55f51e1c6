//! The diagram as a picture for a page: self-contained, no script, no font of its own, with a title and a
//! description for those who do not see it.

use std::fmt::Write;

use super::Lane;
use tollgate_record::stages::Scale;

const CELL: usize = 16;
const ROW: usize = 20;
const LABEL: usize = 300;
const TOP: usize = 56;
const NOTE: usize = 200;

/// Draws the lanes. `title` is shown above, `description` is what a screen reader says.
#[must_use]
pub fn draw(lanes: &[Lane], title: &str, description: &str) -> String {
    let scale = super::scale(lanes);
    let width = LABEL + (scale.width() + 1) * CELL + NOTE;
    let height = TOP + lanes.len() * ROW + 40;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
         {height}\" role=\"img\" aria-labelledby=\"title description\">\n<title id=\"title\">{}</title>\n<desc \
         id=\"description\">{}</desc>\n{STYLE}",
        escaped(title),
        escaped(description)
    );
    let _ = writeln!(out, "<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>");
    let _ = writeln!(out, "<text class=\"head\" x=\"12\" y=\"22\">{}</text>", escaped(title));
    ruler(&mut out, &scale, lanes.len());
    for (index, lane) in lanes.iter().enumerate() {
        row(&mut out, lane, &scale, TOP + index * ROW);
    }
    let mut x = 12;
    let y = TOP + lanes.len() * ROW + 26;
    for (name, class) in
        [("IF", "f"), ("ID", "d"), ("EX", "x"), ("MEM", "m"), ("WB", "w"), ("squashed", "gone")]
    {
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\"/><text class=\"note\" x=\"{}\" \
             y=\"{y}\">{name}</text>",
            y - 10,
            x + 17
        );
        x += 36 + name.len() * 8;
    }
    out.push_str("</svg>\n");
    out
}

fn ruler(out: &mut String, scale: &Scale, rows: usize) {
    let bottom = TOP + rows * ROW;
    for column in 0..scale.width() {
        let x = LABEL + column * CELL;
        if scale.is_fold(column) {
            let _ = writeln!(
                out,
                "<rect class=\"fold\" x=\"{x}\" y=\"{TOP}\" width=\"{CELL}\" height=\"{}\"/>",
                bottom - TOP
            );
        } else if let Some(cycle) = scale.cycle(column)
            && (column == 0 || column % 5 == 0 || scale.is_fold(column - 1))
        {
            let _ = writeln!(
                out,
                "<text class=\"tick\" x=\"{}\" y=\"{}\">{cycle}</text><path class=\"grid\" d=\"M{x} {TOP}V{bottom}\"/>",
                x + 1,
                TOP - 6
            );
        }
    }
    for &(cycles, column) in scale.folds() {
        let x = LABEL + column * CELL + CELL / 2;
        let _ = writeln!(
            out,
            "<text class=\"tick\" text-anchor=\"middle\" x=\"{x}\" y=\"{}\">+{cycles}</text>",
            TOP - 18
        );
    }
}

fn row(out: &mut String, lane: &Lane, scale: &Scale, y: usize) {
    let baseline = y + 14;
    let class = if lane.squash.is_some() { "insn dead" } else { "insn" };
    let text: String = lane.text.chars().take(26).collect();
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"12\" y=\"{baseline}\">{} {:08x} {}</text>",
        lane.mode,
        lane.pc as u32,
        escaped(&text)
    );
    for span in &lane.stages {
        let end = span.end.min(lane.end());
        if span.start >= end {
            continue;
        }
        let (from, to) = (scale.column(span.start), scale.column(end - 1) + 1);
        let letter = Lane::letter(span.name);
        let dead = if lane.squash.is_some() { " dead" } else { "" };
        let (x, width) = (LABEL + from * CELL, (to - from) * CELL - 1);
        let _ = writeln!(
            out,
            "<rect class=\"{}{dead}\" x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"{}\"><title>{} cycle {} to {}\
             </title></rect><text class=\"stage\" x=\"{}\" y=\"{baseline}\">{letter}</text>",
            letter.to_ascii_lowercase(),
            y + 2,
            ROW - 4,
            span.name,
            span.start,
            end - 1,
            x + 3
        );
    }
    let x = LABEL + (scale.column(lane.end().saturating_sub(1)) + 1) * CELL;
    if let Some(squash) = lane.squash {
        let _ = writeln!(
            out,
            "<path class=\"cross\" d=\"M{} {}l8 8m0 -8l-8 8\"/><text class=\"note\" x=\"{}\" y=\"{baseline}\">{}</text>",
            x + 3,
            y + 6,
            x + CELL + 4,
            escaped(squash.by)
        );
    } else {
        let waits: Vec<_> = lane.waits().iter().map(|(cause, cycles)| format!("{cause} {cycles}")).collect();
        if !waits.is_empty() {
            let note = escaped(&waits.join(", "));
            let _ = writeln!(out, "<text class=\"note\" x=\"{}\" y=\"{baseline}\">{note}</text>", x + 4);
        }
    }
}

/// Dark letters on light stages: 4.5 to 1 or better.
const STYLE: &str = "<style>text{font:12px ui-monospace,monospace;fill:#1b1f24}.head{font-weight:bold;\
font-size:14px}.note{fill:#57606a}.tick{font-size:10px;fill:#57606a}.paper{fill:#fff}.grid{stroke:#eaeef2;fill:none}\
.fold{fill:#f0f0f0}.stage{font-weight:bold}.f{fill:#b6d7f2}.d{fill:#c9e7c4}.x{fill:#f7dc9b}.m{fill:#e5c7ee}\
.w{fill:#cfd6dd}.dead{opacity:.55}.gone{fill:#d1242f}.cross{stroke:#d1242f;stroke-width:2;fill:none}</style>";

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
