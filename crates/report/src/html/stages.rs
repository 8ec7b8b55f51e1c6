//! RISC-V stage diagrams: what was in which stage of the pipeline in which cycle, and what a hazard threw away. A row for
//! each instruction, a column for each cycle, or for many cycles in which nothing moves.

use super::runs::Runs;
use crate::chart::mark::{self, Look};
use crate::figure::Figure;
use crate::markup::clean;
use crate::sheet::{Cell, Table};
use crate::stages::{STAGES, kind, letter, note, sentence, waits};
use maud::{Markup, html};
use std::fmt::Write as _;
use tollgate_record::stages::{Scale, StageDiagram, StageRow, StageSpan};
use tollgate_record::{Measurement, Status};

/// The color of an unknown stage.
const OTHER: usize = 7;
/// The shape of what is thrown away.
const CROSS: Look = Look { color: OTHER, shape: 5 };
/// Height of a row in pixels.
const ROW: f64 = 20.0;
/// With more columns than this a letter has no room.
const LETTERS: usize = 72;
/// How to read a diagram.
const HOW: &str = "A letter is in the cycle in which an instruction enters a stage (F fetch, D decode, X execute, M \
                   memory, W write back); where the color is pale it is still there; a cross is where it is thrown \
                   away. A grey column stands for many cycles in which nothing moves; the axis says how many.";
/// More rows make the picture unreadable; the table has them all.
const ROWS: usize = 100;
/// More diagrams make the page heavy.
const DIAGRAMS: usize = 12;
/// The distance between two numbers on the axis, in columns.
const TICK: usize = 10;

pub(super) fn section(runs: &Runs) -> Markup {
    let rows = runs.rows(|result| result.status == Status::Measured && result.stages.is_some());
    let all: Vec<(usize, &Measurement, &StageDiagram)> = rows
        .iter()
        .flat_map(|row| &row.results)
        .filter_map(|&(n, result)| Some((n, result, result.stages.as_ref()?)))
        .collect();
    let mut figures: Vec<Figure> = all
        .iter()
        .take(DIAGRAMS)
        .map(|&(n, result, diagram)| figure(&format!("{}{}", runs.before(n), title(result)), result, diagram))
        .collect();
    if let Some(last) = figures.last_mut().filter(|_| all.len() > DIAGRAMS) {
        last.notes.push(format!("{} more diagrams are in the records.", all.len() - DIAGRAMS));
    }
    if let Some(first) = figures.first_mut() {
        first.lead = format!("{} {HOW}", first.lead).trim().to_owned();
    }
    html! { @for figure in &figures { (figure.element()) } }
}

/// What it is around, of which program, on which core.
fn title(result: &Measurement) -> String {
    let asked = result.asked.pipeline();
    let what = match (kind(result), asked.and_then(|asked| asked.from.as_ref())) {
        ("symbol", Some(symbol)) => format!("From {symbol} on"),
        ("symbol", None) => "From a symbol on".into(),
        (kind, _) => {
            format!("Around {} {kind}", if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" })
        }
    };
    let core = asked.map(|asked| format!(", on {}", asked.core)).unwrap_or_default();
    clean(&format!("{what}{core}"))
}

fn figure(title: &str, result: &Measurement, diagram: &StageDiagram) -> Figure {
    let shown = &diagram.rows[..diagram.rows.len().min(ROWS)];
    let scale = Scale::of(shown);
    let mut figure = Figure::new(title, &sentence(result), table(title, diagram));
    if diagram.rows.len() > ROWS {
        figure.notes.push(format!("{} more instructions are in the table.", diagram.rows.len() - ROWS));
    }
    let event = diagram.event.and_then(|event| usize::try_from(event).ok());
    figure.picture.push(picture(shown, &scale, event));
    figure
}

/// The rows below an axis, where every tenth column and that behind each fold has its cycle, and a fold how many cycles it
/// stands for.
fn picture(rows: &[StageRow], scale: &Scale, event: Option<usize>) -> Markup {
    let ticks = ticks(scale);
    html! {
        div.stages {
            div class="lane lane-axis" aria-hidden="true" {
                span.name { "cycle" }
                (mark::track(16.0, html! {
                    @for (column, label, major) in &ticks {
                        @let at = at(scale, *column);
                        // The last one would cross the edge.
                        @let anchor = if at > 0.9 { "end" } else { "start" };
                        (mark::label(if *major { "tick" } else { "tick minor" }, anchor, at, 12.0, label))
                    }
                }))
            }
            ol.lanes {
                @for (i, row) in rows.iter().enumerate() { (lane(row, scale, &ticks, event == Some(i))) }
            }
        }
    }
}

/// A column's left edge.
fn at(scale: &Scale, column: usize) -> f64 {
    column.min(scale.width()) as f64 / scale.width().max(1) as f64
}

/// The columns that have labels, and whether a label stays where there is little room.
fn ticks(scale: &Scale) -> Vec<(usize, String, bool)> {
    let mut ticks = Vec::new();
    let (mut free, mut free_of_major) = (0, 0);
    for column in 0..scale.width() {
        if column < free {
            continue;
        }
        let fold = scale.folds().iter().find(|fold| fold.1 == column);
        let label = match (fold, scale.cycle(column)) {
            (Some((cycles, _)), _) => format!("+{cycles}"),
            (None, Some(cycle)) => cycle.to_string(),
            (None, None) => continue,
        };
        // The next one is not in the way of this one, and comes early where a fold is near.
        let after = column + (scale.width() / 14).max(5);
        let near =
            scale.folds().iter().map(|fold| fold.1).find(|next| *next > column && *next < column + TICK);
        free = near.map_or(column + TICK, |fold| fold.max(after));
        let major = fold.is_none() && column >= free_of_major;
        if major {
            free_of_major = column + (scale.width() / 5).max(TICK);
        }
        ticks.push((column, label, major));
    }
    ticks
}

/// One instruction. The letter of a stage is where it is entered, on full color; while the instruction stays the color is
/// pale. A cross is where it is thrown away.
fn lane(row: &StageRow, scale: &Scale, ticks: &[(usize, String, bool)], is_event: bool) -> Markup {
    let (at, after) = (|column| at(scale, column), |column: usize| at(scale, column.saturating_add(1)));
    let rect = |class, from: f64, to: f64| mark::rect(class, [from, to.max(from)], 2.0, ROW - 4.0);
    let name = clean(&format!("{} {}", row.mode, if row.text.is_empty() { "?" } else { &row.text }));
    // What traps goes all the way: it is not struck out.
    let class = if row.squash.is_some() && !is_event { "lane gone" } else { "lane" };
    let drawn = html! {
        @for span in &row.stages {
            @let (first, last) = (scale.column(span.first), scale.column(span.last.max(span.first)));
            @let (from, next) = (at(first), after(first));
            g class={ "s" (STAGES.iter().position(|(name, _)| *name == span.name).unwrap_or(OTHER)) } {
                @if last > first { (rect("stay", next, after(last))) }
                (rect("stage", from, next))
                @if scale.width() <= LETTERS {
                    (mark::label("letter", "middle", (from + next) / 2.0, 14.0, &letter(&span.name).to_string()))
                }
            }
        }
        @if let Some(column) = row.squash.as_ref().map(|squash| scale.column(squash.at)) {
            g.cross { (mark::shape(CROSS, "shape", (at(column) + after(column)) / 2.0, ROW / 2.0)) }
        }
    };
    html! {
        li class=(class) {
            span.name { @if is_event { b { (name) } } @else { (name) } }
            (mark::track(ROW, html! {
                @for (column, ..) in ticks { (mark::line("grid", (at(*column), 0.0), (at(*column), ROW))) }
                @for (_, column) in scale.folds() { (rect("fold", at(*column), after(*column))) }
                (mark::mark(&CROSS.class(), &words(row), drawn))
            }))
            span.note { (clean(&note(row))) }
        }
    }
}

fn words(row: &StageRow) -> String {
    let place = if row.place.is_empty() { &row.address } else { &row.place };
    let text = if row.text.is_empty() { "an unknown instruction" } else { &row.text };
    let mut words = format!("{text} at {place}:");
    for span in &row.stages {
        let _ = write!(words, " {} {}", span.name, extent(span));
    }
    let waits = waits(row);
    if !waits.is_empty() {
        let _ = write!(words, "; waits for {waits}");
    }
    match &row.squash {
        _ if row.traps => words.push_str("; traps"),
        Some(squash) => {
            let _ = write!(words, "; thrown away in cycle {} by {}", squash.at, squash.by);
        }
        None => {}
    }
    words
}

fn extent(span: &StageSpan) -> String {
    if span.first >= span.last { span.first.to_string() } else { format!("{} to {}", span.first, span.last) }
}

/// Every row, a column for each stage.
fn table(title: &str, diagram: &StageDiagram) -> Table {
    let mut columns = vec![("instruction", false), ("address", false), ("place", false)];
    columns.extend(STAGES.map(|(name, _)| (name, false)));
    columns.extend([("waits, cycles", false), ("outcome", false)]);
    let mut table = Table::data(format!("{title}: cycles in each stage"), &columns);
    for row in &diagram.rows {
        let mut cells = vec![
            Cell::text(format!("{} {}", row.mode, row.text)),
            Cell::text(&row.address),
            Cell::text(&row.place),
        ];
        for (name, _) in STAGES {
            let span = row.stages.iter().find(|span| span.name == name);
            cells.push(span.map_or(Cell::from(""), |span| Cell::text(extent(span))));
        }
        let outcome = match &row.squash {
            _ if row.traps => "traps".into(),
            Some(squash) => format!("thrown away in {}: {}", squash.at, squash.by),
            None => "retires".into(),
        };
        cells.extend([Cell::text(waits(row)), Cell::text(outcome)]);
        table.row(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::finish;
    use tollgate_record::StageSquash;

    fn row(text: &str, stages: &[(&str, u64, u64)]) -> StageRow {
        let span = |&(name, first, last): &(&str, u64, u64)| StageSpan { name: name.into(), first, last };
        StageRow {
            address: "0x0".into(),
            mode: "M".into(),
            text: text.into(),
            place: String::new(),
            stages: stages.iter().map(span).collect(),
            waits: Vec::new(),
            squash: None,
            traps: false,
            stores: false,
        }
    }

    fn written(rows: &[StageRow], scale: &Scale) -> String {
        finish(picture(rows, scale, None))
    }

    #[test]
    fn a_stage_begins_in_its_column_and_a_wait_is_pale() {
        let rows = [row("ld", &[("IF", 0, 0), ("ID", 1, 3)])];
        let out = written(&rows, &Scale::of(&rows));
        let stage = |x: &str, width: &str| format!("class=\"stage\" x=\"{x}\" y=\"2\" width=\"{width}\"");
        assert!(out.contains(&stage("0%", "25%")) && out.contains(&stage("25%", "25%")), "{out}");
        assert!(out.contains("class=\"stay\" x=\"50%\" y=\"2\" width=\"50%\""), "{out}");
        assert_eq!(out.matches("class=\"stay\"").count(), 1);
    }

    #[test]
    fn columns_beyond_the_end_and_none_at_all_stay_in_the_picture() {
        let squash = Some(StageSquash { at: u64::MAX - 1, by: String::new() });
        let rows = [StageRow { squash, ..row("", &[("IF", 9, 3), ("ID", 4, u64::MAX)]) }];
        for events in [vec![], vec![0, 1]] {
            let out = written(&rows, &Scale::new(events));
            assert!(
                !out.contains("NaN") && !out.contains("=\"-") && out.contains("class=\"lane gone\""),
                "{out}"
            );
        }
    }

    #[test]
    fn narrow_columns_have_no_letters() {
        let rows = [row("", &[("IF", 0, 0)])];
        for (width, letters) in [(LETTERS, 1), (LETTERS + 1, 0)] {
            let scale = Scale::new((0..width as u64).collect());
            assert_eq!(scale.width(), width);
            assert_eq!(written(&rows, &scale).matches("class=\"letter\"").count(), letters);
        }
    }
}
