//! RISC-V stage diagrams: what was in which stage of the pipeline in which cycle, and what a hazard threw away.

use super::runs::Runs;
use crate::chart::stages::{Lane, Span, Stages, Tick};
use crate::chart::{Cell, Figure, Table};
use crate::markup::{Node, clean};
use crate::stages::{FAMILY, STAGES, kind, letter, note, sentence, waits};
use std::fmt::Write as _;
use tollgate_record::stages::{Scale, StageDiagram, StageRow, StageSpan};
use tollgate_record::{Measurement, Status};

/// The color of an unknown stage.
const OTHER: usize = 7;
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

pub(super) fn section(runs: &Runs) -> Vec<Node> {
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
    let mut nodes: Vec<Node> = figures.iter().map(|figure| figure.element().into()).collect();
    nodes.extend(super::absent::list(runs, |it| it.family() == FAMILY || it.stages.is_some()));
    nodes
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
    let width = scale.width();
    let mut figure = Figure::new(title, table(title, diagram));
    figure.lead = clean(&sentence(result));
    if diagram.rows.len() > ROWS {
        figure.notes.push(format!("{} more instructions are in the table.", diagram.rows.len() - ROWS));
    }
    let event = diagram.event.and_then(|event| usize::try_from(event).ok());
    let lanes = shown.iter().enumerate().map(|(i, row)| lane(row, &scale, event == Some(i))).collect();
    let folds = scale.folds().iter().map(|fold| fold.1).collect();
    figure.draw(Stages { width, ticks: ticks(&scale), folds, lanes }.element())
}

/// The cycle above every tenth column and behind each fold, and above a fold how many cycles it stands for.
fn ticks(scale: &Scale) -> Vec<Tick> {
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
        let fold =
            scale.folds().iter().map(|fold| fold.1).find(|next| *next > column && *next < column + TICK);
        free = fold.map_or(column + TICK, |fold| fold.max(after));
        let is_fold = label.starts_with('+');
        let major = !is_fold && column >= free_of_major;
        if major {
            free_of_major = column + (scale.width() / 5).max(TICK);
        }
        ticks.push(Tick { column, label, major });
    }
    ticks
}

fn lane(row: &StageRow, scale: &Scale, event: bool) -> Lane {
    let spans = row.stages.iter().map(|span| {
        let known = STAGES.iter().position(|(name, _)| *name == span.name);
        Span {
            letter: letter(&span.name),
            color: known.unwrap_or(OTHER),
            first: scale.column(span.first),
            last: scale.column(span.last.max(span.first)),
        }
    });
    let text = if row.text.is_empty() { "?" } else { &row.text };
    Lane {
        name: format!("{} {text}", row.mode),
        note: note(row),
        words: words(row),
        spans: spans.collect(),
        gone: row.squash.as_ref().map(|squash| scale.column(squash.at)),
        event,
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
    let mut table = Table::new(format!("{title}: cycles in each stage"), &columns);
    for row in &diagram.rows {
        let mut cells = vec![
            Cell::text(format!("{} {}", row.mode, row.text)),
            Cell::text(&row.address),
            Cell::text(&row.place),
        ];
        for (name, _) in STAGES {
            let span = row.stages.iter().find(|span| span.name == name);
            cells.push(span.map_or(Cell::None, |span| Cell::text(extent(span))));
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
