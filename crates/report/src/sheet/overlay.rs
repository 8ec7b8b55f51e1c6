//! Sheets of several runs as one: what they have in common once, and their rows beside each other.

use super::{Block, Cell, Column, Content, Prose, Role, Row, Sheet, Table};
use crate::plot::Curve;
use indexmap::IndexMap;
use tollgate_record::number::plural;

/// Rows of more runs than this are one, with the range of each figure.
const APART: usize = 3;

/// A title and what is below it.
struct Part {
    title: Option<Prose>,
    runs: Vec<usize>,
    blocks: Vec<(Vec<usize>, Shared)>,
}

enum Shared {
    Tables(Vec<(usize, Table)>),
    Other(Block),
}

/// The sheets, each with the number of its run, as one. `letters` are those of all runs.
pub(crate) fn overlay(mut sheets: Vec<(usize, Sheet)>, letters: &[&str]) -> Sheet {
    if letters.len() == 1 {
        return sheets.remove(0).1;
    }
    let runs = sheets.len();
    let mut parts: Vec<Part> = Vec::new();
    for (run, sheet) in sheets {
        let mut at = place(&mut parts, None, run);
        for block in sheet {
            match block {
                Block::Text(prose) if prose.role == Role::Title => at = place(&mut parts, Some(prose), run),
                block => parts[at].add(run, block),
            }
        }
    }
    parts.into_iter().flat_map(|part| part.blocks(runs, letters)).collect()
}

/// The part of that title to which this run has not come yet.
fn place(parts: &mut Vec<Part>, title: Option<Prose>, run: usize) -> usize {
    let same = parts.iter().position(|part| part.title == title && !part.runs.contains(&run));
    let at = same.unwrap_or_else(|| {
        parts.push(Part { title, runs: Vec::new(), blocks: Vec::new() });
        parts.len() - 1
    });
    parts[at].runs.push(run);
    at
}

impl Part {
    fn add(&mut self, run: usize, block: Block) {
        let mut block = block;
        for (runs, shared) in self.blocks.iter_mut().filter(|(runs, _)| !runs.contains(&run)) {
            block = match (shared, block) {
                (Shared::Other(Block::Text(one)), Block::Text(other)) if *one == other => {
                    return runs.push(run);
                }
                (Shared::Tables(all), Block::Table(table)) if all[0].1.is_like(&table) => {
                    all.push((run, table));
                    return runs.push(run);
                }
                (Shared::Other(Block::Plot(one)), Block::Plot(other)) if one.title == other.title => {
                    one.curves.extend(other.curves.into_iter().map(|curve| Curve { run, ..curve }));
                    return runs.push(run);
                }
                (_, block) => block,
            };
        }
        let shared = match block {
            Block::Blank | Block::Facts(..) => return,
            Block::Table(table) => Shared::Tables(vec![(run, table)]),
            Block::Plot(mut plot) => {
                plot.curves.iter_mut().for_each(|curve| curve.run = run);
                Shared::Other(Block::Plot(plot))
            }
            other => Shared::Other(other),
        };
        self.blocks.push((vec![run], shared));
    }

    fn blocks(self, runs: usize, letters: &[&str]) -> Vec<Block> {
        let mut blocks: Vec<Block> = self.title.map(Block::Text).into_iter().collect();
        for (of, shared) in self.blocks {
            let of_some = of.len() < runs;
            let names = || of.iter().map(|&run| letters[run]).collect::<Vec<_>>().join(", ");
            match shared {
                Shared::Tables(tables) => blocks.push(Block::Table(beside(tables, letters))),
                Shared::Other(Block::Text(prose)) if of_some => {
                    let item = prose.first.trim_start().starts_with("- ");
                    let (first, text) = match item {
                        true => (prose.first, format!("{}: {}", names(), prose.text)),
                        false => (format!("{}: {}", names(), prose.first.trim_start()), prose.text),
                    };
                    blocks.push(Block::Text(Prose { first, text, ..prose }));
                }
                Shared::Other(block) => blocks.push(block),
            }
        }
        blocks
    }
}

impl Table {
    /// Whether it has the same columns.
    fn is_like(&self, other: &Self) -> bool {
        let titles = |table: &Self| table.columns.iter().map(|it| it.title.words()).collect::<Vec<_>>();
        titles(self) == titles(other)
    }
}

/// A row, the run that it is of, and the probe that it shows.
type RunRow = (usize, Row, Option<String>);

/// A heading and the rows below it, by name and which of that name.
type Group = (Option<Row>, IndexMap<(String, usize), Vec<RunRow>>);

/// Tables with the same columns as one: the rows of the same name below each other.
fn beside(tables: Vec<(usize, Table)>, letters: &[&str]) -> Table {
    let mut groups: IndexMap<String, Group> = IndexMap::new();
    let mut all: Option<Table> = None;
    for (run, mut table) in tables {
        let mut group = String::new();
        let mut times: IndexMap<(String, String), usize> = IndexMap::new();
        for (n, row) in std::mem::take(&mut table.rows).into_iter().enumerate() {
            if let Row::Text(first, text, _) = &row {
                group = format!("{first}{text}");
                groups.entry(group.clone()).or_insert_with(|| (Some(row), IndexMap::new()));
                continue;
            }
            let name = row.cells().first().map_or_else(String::new, Cell::words);
            let nth = times.entry((group.clone(), name.clone())).or_default();
            *nth += 1;
            let rows = &mut groups.entry(group.clone()).or_default().1;
            rows.entry((name, *nth)).or_default().push((run, row.of(run), table.names.remove(&n)));
        }
        all.get_or_insert(table);
    }
    let Some(mut table) = all else { return Table::new([]) };
    table.names.clear();
    table.columns.insert(1.min(table.columns.len()), Column::left("run"));
    for (heading, rows) in groups.into_values() {
        table.rows.extend(heading);
        for rows in rows.into_values() {
            for (name, row) in lines(rows, letters) {
                table.rows.push(row);
                name.into_iter().for_each(|name| table.name(name));
            }
        }
    }
    table
}

/// The rows of one name: each of a few, of more the range.
fn lines(rows: Vec<RunRow>, letters: &[&str]) -> Vec<(Option<String>, Row)> {
    let (many, few): (Vec<RunRow>, Vec<RunRow>) = match rows.len() > APART {
        true => rows.into_iter().partition(|(_, row, _)| matches!(row, Row::Cells(..))),
        false => (Vec::new(), rows),
    };
    let mut lines = Vec::new();
    if let Some((_, Row::Cells(first, paint), name)) = many.first() {
        let of: Vec<&[Cell]> = many.iter().map(|(_, row, _)| row.cells()).collect();
        let mut cells: Vec<Cell> =
            (0..first.len()).map(|at| range(of.iter().filter_map(|it| it.get(at)))).collect();
        cells.insert(1.min(cells.len()), plural(many.len(), "run", "runs").into());
        lines.push((name.clone(), Row::Cells(cells, *paint)));
    }
    for (run, mut row, name) in few {
        if let Row::Cells(cells, _) | Row::Prose(cells, ..) = &mut row {
            cells.insert(1.min(cells.len()), letters[run].into());
        }
        lines.push((name, row));
    }
    lines
}

/// Cells of one column as one: what they have in common, all their marks, or from the least figure to the largest.
fn range<'a>(cells: impl Iterator<Item = &'a Cell>) -> Cell {
    let cells: Vec<&Cell> = cells.collect();
    let bars = cells.iter().filter_map(|cell| match &cell.content {
        Content::Bars(bars) => Some(bars.clone()),
        _ => None,
    });
    let bars: Vec<_> = bars.flatten().collect();
    if !bars.is_empty() {
        return Cell::of(Content::Bars(bars));
    }
    let ordered = |a: &&&Cell, b: &&&Cell| a.value.unwrap_or(0.0).total_cmp(&b.value.unwrap_or(0.0));
    let valued = || cells.iter().filter(|cell| cell.value.is_some());
    match (valued().min_by(ordered), valued().max_by(ordered)) {
        _ if cells.iter().all(|cell| cell.content == cells[0].content) => cells[0].clone(),
        (Some(low), Some(high)) if low.words() != high.words() => {
            Cell { value: low.value, ..Cell::from(format!("{} – {}", low.words(), high.words())) }
        }
        (Some(one), _) => (*one).clone(),
        _ => "".into(),
    }
}

impl Row {
    /// The same with its bars those of a run.
    fn of(mut self, run: usize) -> Self {
        if let Self::Cells(cells, _) | Self::Prose(cells, ..) = &mut self {
            for cell in cells {
                if let Content::Bars(bars) = &mut cell.content {
                    bars.iter_mut().for_each(|bar| bar.0 = run);
                }
            }
        }
        self
    }
}
