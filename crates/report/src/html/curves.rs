//! Curves that belong to figures: the timeline of a scan's faults.

use super::runs::Runs;
use crate::chart::plot::{Axis, Plot, Point};
use crate::chart::scale::extent;
use crate::chart::{Scale, Unit};
use crate::figure::Figure;
use crate::markup::clean;
use crate::sheet::{Cell, Table};
use indexmap::IndexSet;
use maud::{Markup, html};
use tollgate_record::Series;
use tollgate_record::number::plural;

/// The most points of one line that are drawn, that have marks of their own, and that the table has.
const DRAWN: usize = 400;
const MARKED: usize = 40;
const LISTED: usize = 250;

/// An axis is logarithmic when its numbers are all above zero and go over more than this.
const RATIO: f64 = 60.0;

/// Lines with the same two units, of one family.
struct Group<'a> {
    family: &'a str,
    units: [&'a str; 2],
    /// The lowest and the highest of the lines' largest values.
    heights: [f64; 2],
    lines: Vec<Line<'a>>,
}

struct Line<'a> {
    run: usize,
    row: String,
    series: &'a Series,
}

pub(super) fn section(runs: &Runs) -> Markup {
    // Caches have a section of their own, and how runtimes grow is above their rows.
    let rows = runs.rows(|it| !it.series.is_empty() && !matches!(it.family(), "riscv-icache" | "switch"));
    let mut groups: Vec<Group> = Vec::new();
    for row in &rows {
        for (run, it) in &row.results {
            for series in it.series.iter().filter(|series| !series.points.is_empty()) {
                let units = [series.x_unit.as_str(), series.y_unit.as_str()];
                let line = Line { run: *run, row: row.short().to_owned(), series };
                // A line that others dwarf would be flat among them: it has a plot of its own.
                let most = most(series);
                let alike = |group: &Group| {
                    let [low, high] = group.heights;
                    most == 0.0
                        || high == 0.0
                        || (most / low.min(most) <= RATIO && high.max(most) / most <= RATIO)
                };
                match groups
                    .iter_mut()
                    .find(|group| group.family == row.family && group.units == units && alike(group))
                {
                    Some(group) => {
                        group.heights = [group.heights[0].min(most), group.heights[1].max(most)];
                        group.lines.push(line);
                    }
                    None => groups.push(Group {
                        family: row.family,
                        units,
                        heights: [most; 2],
                        lines: vec![line],
                    }),
                }
            }
        }
    }
    html! { @for group in &groups { (figure(runs, group).element()) } }
}

/// The largest value of a line, without its sign.
fn most(series: &Series) -> f64 {
    series.points.iter().map(|point| point[1].abs()).filter(|y| y.is_finite()).fold(0.0, f64::max)
}

fn figure(runs: &Runs, group: &Group) -> Figure {
    let [x_unit, y_unit] =
        group.units.map(|unit| if unit == "ms" { Unit::Nanoseconds } else { Unit::named(unit) });
    // Milliseconds are shown with the unit that suits.
    let factor = group.units.map(|unit| if unit == "ms" { 1e6 } else { 1.0 });
    let points = |line: &Line| -> Vec<[f64; 2]> {
        line.series.points.iter().map(|point| [point[0] * factor[0], point[1] * factor[1]]).collect()
    };
    let all: Vec<[f64; 2]> = group.lines.iter().flat_map(&points).collect();
    let scale = |axis: usize| Scale::suited(&all.iter().map(|point| point[axis]).collect::<Vec<_>>(), RATIO);
    // A timeline is linear however long it is.
    let time = x_unit == Unit::Nanoseconds;
    let (first, last) = extent(all.iter().map(|point| point[0]));
    let x = if time { Scale::between(first, last) } else { scale(0) };
    let title = |unit: &Unit, name: &str| match unit {
        Unit::Other(name) => name.clone(),
        _ => clean(name),
    };
    let names: IndexSet<String> = group.lines.iter().map(|line| clean(&line.series.name)).collect();
    let names: Vec<String> = names.into_iter().collect();
    let mut plot = Plot::new(
        Axis {
            scale: x,
            unit: x_unit.clone(),
            title: if time { "time".into() } else { title(&x_unit, group.units[0]) },
        },
        Axis { scale: scale(1), unit: y_unit.clone(), title: title(&y_unit, &names[0]) },
    );
    let rows: IndexSet<&str> = group.lines.iter().map(|line| line.row.as_str()).collect();
    let said = |line: &Line| {
        let mut parts = Vec::new();
        if rows.len() > 1 || names.len() == 1 {
            parts.push(line.row.clone());
        }
        if names.len() > 1 {
            parts.push(clean(&line.series.name));
        }
        format!("{}{}", runs.before(line.run), parts.join(", "))
    };
    let family = super::runs::family(group.family);
    let title = format!("{family}: {}", crate::text::list(&names, 3));
    let mut figure = Figure::new(&title, "", table(group, &said));
    let mut thinned = false;
    for (n, line) in group.lines.iter().enumerate() {
        let look = runs.line(line.run, group.lines[..n].iter().filter(|other| other.run == line.run).count());
        let points = points(line);
        let step = points.len().div_ceil(DRAWN).max(1);
        let marked = points.len().div_ceil(MARKED).max(1);
        thinned |= step > 1;
        let last = points.len() - 1;
        let drawn: Vec<Point> = points
            .iter()
            .enumerate()
            .filter(|(i, _)| i % step == 0 || *i == last || i % marked == 0)
            .map(|(i, [x, y])| {
                let words = (i % marked == 0 || i == last)
                    .then(|| format!("{}: {} at {}", said(line), y_unit.show(*y), x_unit.show(*x)));
                Point { x: *x, y: *y, words }
            })
            .collect();
        plot.line(look, said(line), &drawn);
    }
    let (drawn, lost) = plot.finish(&format!("{family}: {}", names.join(", ")));
    figure.picture.extend(drawn);
    if lost > 0 {
        figure.notes.push(format!(
            "{} no place on the axes (a logarithmic one begins above zero); the numbers are in the table.",
            plural(lost, "point has", "points have")
        ));
    }
    if thinned {
        figure.notes.push(format!("Lines of more than {DRAWN} points are drawn with every so many of them."));
    }
    if group.lines.iter().any(|line| line.series.points.len() > LISTED) {
        figure.notes.push(format!("The table has {LISTED} points of each line; the record has them all."));
    }
    figure
}

fn table(group: &Group, said: &dyn Fn(&Line) -> String) -> Table {
    let [x, y] = group.units.map(clean);
    let mut table =
        Table::data("Every point, as the record has it", &[("line", false), (&x, true), (&y, true)]);
    for line in &group.lines {
        let step = line.series.points.len().div_ceil(LISTED).max(1);
        for [x, y] in line.series.points.iter().step_by(step) {
            table.row([Cell::text(said(line)), Cell::number(*x), Cell::number(*y)]);
        }
    }
    table
}
