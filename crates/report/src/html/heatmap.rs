//! Instruction caches: misses over the whole space of shapes as heat maps, and over the size as a curve.

use super::runs::Runs;
use crate::chart::mark::{self, Look};
use crate::chart::plot::{Axis, Plot, Point};
use crate::chart::scale::extent;
use crate::chart::{Scale, Unit};
use crate::figure::Figure;
use crate::markup::{clean, percent as width, px};
use crate::sheet::{Cell, Table};
use maud::{Markup, html};
use std::collections::BTreeMap;
use tollgate_record::number::{count, percent, plural};
use tollgate_record::{Measurement, Series, Status, counter};

/// The family of results of caches.
const FAMILY: &str = "riscv-icache";
/// Shares of the accesses that miss, at which the next shade begins; the style sheet has a color for each.
const STEPS: [f64; 7] = [0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5];
/// Height of a map's row in pixels.
const ROW: f64 = 22.0;
/// Room below for the columns' names and the axis' title.
const BELOW: f64 = 36.0;
/// More maps make the page heavy.
const MAPS: usize = 6;
/// The most curves that readers can distinguish.
const CURVES: usize = 16;

/// Misses by line and ways, each over the number of sets.
type Sweep = BTreeMap<(u32, u32), Vec<(u32, f64)>>;

/// The sweep of a result; empty without one.
fn sweep(result: &Measurement) -> Sweep {
    let curves = result.found.icache().into_iter().flat_map(|found| &found.sweep);
    let points = |misses: &[(u32, u64)]| misses.iter().map(|&(sets, misses)| (sets, misses as f64)).collect();
    curves.map(|curve| ((curve.line, curve.ways), points(&curve.misses))).collect()
}

pub(super) fn section(runs: &Runs) -> Markup {
    let rows = runs.rows(|result| result.status == Status::Measured && result.family() == FAMILY);
    let all: Vec<(String, &Measurement)> = rows
        .iter()
        .flat_map(|row| row.results.iter().map(|&(n, it)| (format!("{}{}", runs.before(n), name(it)), it)))
        .collect();
    let mut figures: Vec<Figure> = curves(&all).into_iter().collect();
    let swept: Vec<(&str, Sweep, &Measurement)> = all
        .iter()
        .map(|(name, it)| (name.as_str(), sweep(it), *it))
        .filter(|(_, sweep, _)| !sweep.is_empty())
        .collect();
    figures.extend(swept.iter().take(MAPS).map(|(name, sweep, it)| map(name, sweep, it)));
    if let Some(last) = figures.last_mut().filter(|_| swept.len() > MAPS) {
        last.notes.push(format!("{} more heat maps are in the records.", swept.len() - MAPS));
    }
    html! { @for figure in &figures { (figure.element()) } }
}

/// The program, and its instruction set where the name does not contain it.
fn name(result: &Measurement) -> String {
    let asked = result.asked.icache();
    let (program, isa) = asked.map(|of| (clean(&of.program), clean(&of.isa))).unwrap_or_default();
    match (program.as_str(), isa.as_str()) {
        ("", "") => "a program".into(),
        (program, isa) if isa.is_empty() || program.contains(isa) || isa.starts_with(program) => {
            program.into()
        }
        (program, isa) => format!("{program} ({isa})"),
    }
}

/// The share of accesses that miss, for each size of a fully associative cache.
fn curves(all: &[(String, &Measurement)]) -> Option<Figure> {
    let series = |it: &'_ Measurement| -> Option<Series> {
        let found = it.series.iter().find(|series| series.name == "miss-ratio")?;
        (!found.points.is_empty()).then(|| found.clone())
    };
    // Caches of one line share their curve.
    let mut found: Vec<(&str, Series)> = Vec::new();
    for (name, it) in all {
        if let Some(series) = series(it)
            && !found.iter().any(|(known, other)| known == name && other.points == series.points)
        {
            found.push((name, series));
        }
    }
    let sizes: Vec<f64> = found.iter().flat_map(|(_, it)| &it.points).map(|point| point[0]).collect();
    if sizes.iter().filter(|size| **size > 0.0).count() < 2 {
        return None;
    }
    let (least, most) = extent(sizes);
    let most = 2f64.powf(most.log2().floor() + 1.0);
    let x =
        Axis { scale: Scale::log_between(least, most), unit: Unit::Bytes, title: "size of the cache".into() };
    let y = Axis {
        scale: Scale::linear(found.iter().flat_map(|(_, it)| &it.points).map(|point| point[1] * 100.0)),
        unit: Unit::Other("%".into()),
        title: "accesses that miss, %".into(),
    };
    let mut table = Table::data(
        "Misses over the size of a fully associative cache",
        &[("program", false), ("size", true), ("accesses that miss", true)],
    );
    let mut plot = Plot::new(x, y);
    for (n, (name, series)) in found.iter().take(CURVES).enumerate() {
        let point = |&[bytes, ratio]: &[f64; 2]| Point {
            x: bytes,
            y: ratio * 100.0,
            words: Some(format!(
                "{name}, {}: {} of the accesses miss",
                Unit::Bytes.show(bytes),
                percent(ratio)
            )),
        };
        // It is a step: a size between two points is as good as the smaller one.
        let ends = series.points.iter().skip(1).map(|next| Some(next[0])).chain([Some(most)]);
        let step = |(this, end): (&[f64; 2], Option<f64>)| {
            [Some(point(this)), end.map(|x| Point { x, y: this[1] * 100.0, words: None })]
        };
        let points: Vec<Point> = series.points.iter().zip(ends).flat_map(step).flatten().collect();
        plot.line(Look::nth(n), (*name).to_owned(), &points);
        for &[bytes, ratio] in &series.points {
            table.row([
                Cell::text(name),
                Cell::shown(Unit::Bytes.show(bytes), bytes),
                Cell::shown(percent(ratio), ratio),
            ]);
        }
    }
    let lead = "The share of fetches that miss in a fully associative cache of each size that evicts what was used \
                longest ago, found in one pass. Where a curve falls, what the program runs in a loop begins to fit.";
    let mut figure = Figure::new("How large must the cache be?", lead, table);
    figure.picture.extend(plot.finish("Share of fetches that miss over the size of the cache").0);
    Some(figure)
}

/// The shade of a share of misses.
fn shade(share: f64) -> usize {
    STEPS.iter().filter(|step| share >= **step).count()
}

fn map(name: &str, sweep: &Sweep, result: &Measurement) -> Figure {
    let (sets, beyond) = sets(sweep);
    let mut lines: Vec<u32> = sweep.keys().map(|(line, _)| *line).collect();
    lines.dedup();
    let lead = "The share of fetches that miss, in per cent, for each number of sets (across), of ways (down) and \
                length of a line. Down and to the right a cache is larger. Ways that are not a power of two are in \
                the table.";
    let mut figure = Figure::new(&format!("Every shape of cache: {name}"), lead, table(name, sweep, &sets));
    if let (Some(beyond), Some(last)) = (beyond, sets.last()) {
        figure.notes.push(format!("Up to {beyond} sets were tried; beyond {last} none changes anything."));
    }
    let of = result.counter(counter::ACCESSES).filter(|accesses| *accesses > 0.0);
    figure.picture.push(html! {
        div.heats { @for line in lines { (field(name, sweep, line, &sets, of)) } }
    });
    figure
}

/// The misses with lines of one length `of` so many accesses: a field of cells whose color says how much, for each number
/// of sets (across) and of ways (down).
fn field(name: &str, sweep: &Sweep, line: u32, sets: &[u32], of: Option<f64>) -> Markup {
    let ways = |((own, ways), _): &(&(u32, u32), _)| *own == line && ways.is_power_of_two();
    let rows: Vec<(u32, &Vec<(u32, f64)>)> =
        sweep.iter().filter(ways).map(|(&(_, ways), points)| (ways, points)).collect();
    let (width, height) = (1.0 / sets.len().max(1) as f64, ROW * rows.len() as f64);
    let across = |column: usize| column as f64 * width;
    let name = clean(&format!("{name}: misses with lines of {line} bytes"));
    html! {
        div class="plot heat" {
            p.y-title { "lines of " (line) " bytes: ways" }
            svg.field width="100%" height=(px(height + BELOW)) role="group" aria-label=(name) {
                g.axes aria-hidden="true" {
                    @for (i, (ways, _)) in rows.iter().enumerate() {
                        (mark::left_label("tick", ROW * (i as f64 + 0.7), &ways.to_string()))
                    }
                    @for (i, sets) in sets.iter().enumerate() {
                        // On a phone every other one has room.
                        @let class = if i % 2 == 0 { "tick" } else { "tick minor" };
                        (mark::label(class, "middle", across(i) + width / 2.0, height + 15.0, &sets.to_string()))
                    }
                    (mark::label("axis", "end", 1.0, height + 32.0, "sets"))
                }
                @for (i, (ways, points)) in rows.iter().enumerate() {
                    @for (j, sets) in sets.iter().enumerate() {
                        @if let Some((_, misses)) = points.iter().find(|point| point.0 == *sets) {
                            @let (down, place) = (ROW * i as f64, [across(j), across(j) + width]);
                            (cell(line, *ways, *sets, *misses, of, place, down))
                        }
                    }
                }
            }
        }
    }
}

/// One cell: its color, the misses in words, and as a number.
fn cell(line: u32, ways: u32, sets: u32, misses: f64, of: Option<f64>, place: [f64; 2], down: f64) -> Markup {
    let size = Unit::Bytes.show(f64::from(sets) * f64::from(ways) * f64::from(line));
    let shape = plural(sets as usize, "set", "sets");
    let said = format!("{shape}, {ways}-way, lines of {line} B ({size})");
    let share = of.map(|of| misses / of);
    let words = match share {
        Some(share) => {
            format!("{said}: {} misses, {} of the fetches", count(misses as usize), percent(share))
        }
        None => format!("{said}: {misses} misses"),
    };
    mark::mark(
        &format!("h{}", share.map_or(0, shade)),
        &words,
        html! {
            rect x=(width(place[0])) y=(px(down + 1.0)) width=(width(place[1] - place[0])) height=(px(ROW - 2.0)) {}
            @if let Some(share) = share {
                (mark::label("inside", "middle", (place[0] + place[1]) / 2.0, down + ROW * 0.68, &short(share)))
            }
        },
    )
}

/// The numbers of sets as far as one of them changes anything, and the largest where there are more.
fn sets(sweep: &Sweep) -> (Vec<u32>, Option<u32>) {
    let mut sets: Vec<u32> = sweep.values().flatten().map(|(sets, _)| *sets).collect();
    sets.sort_unstable();
    sets.dedup();
    let most = sets.last().copied();
    let same = |a: u32, b: u32| {
        let at =
            |points: &[(u32, f64)], sets| points.iter().find(|point| point.0 == sets).map(|point| point.1);
        sweep.values().all(|points| at(points, a) == at(points, b))
    };
    while let [.., before, last] = sets[..]
        && same(before, last)
    {
        sets.pop();
    }
    let beyond = most.filter(|most| sets.last() != Some(most));
    (sets, beyond)
}

/// A share as a number of per cent that fits into a cell.
fn short(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p <= 0.0 => "0".into(),
        p if p < 0.01 => "<.01".into(),
        p if p < 1.0 => format!("{p:.2}").trim_start_matches('0').into(),
        p if p < 9.95 => format!("{p:.1}"),
        p => format!("{p:.0}"),
    }
}

/// Misses, a row for each line and number of ways, a column for each number of sets.
fn table(name: &str, sweep: &Sweep, sets: &[u32]) -> Table {
    let heads: Vec<String> = sets.iter().map(|sets| format!("{sets} sets")).collect();
    let mut columns = vec![("shape", false)];
    columns.extend(heads.iter().map(|head| (head.as_str(), true)));
    let mut table = Table::data(format!("{name}: misses of every shape"), &columns);
    for (&(line, ways), points) in sweep {
        let mut cells = vec![Cell::text(format!("{ways}-way, lines of {line} B"))];
        cells.extend(
            sets.iter()
                .map(|sets| Cell::maybe(points.iter().find(|point| point.0 == *sets).map(|point| point.1))),
        );
        table.row(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::finish;

    #[test]
    fn sets_end_where_they_change_nothing() {
        let curve = |misses: [f64; 4]| -> Vec<(u32, f64)> { [1, 2, 4, 8].into_iter().zip(misses).collect() };
        let two = |a, b| Sweep::from([((4, 1), curve(a)), ((8, 1), curve(b))]);
        let flat = two([9.0, 5.0, 5.0, 5.0], [4.0, 4.0, 4.0, 4.0]);
        assert_eq!(sets(&flat), (vec![1, 2], Some(8)));
        let falling = two([9.0, 5.0, 5.0, 5.0], [4.0, 4.0, 4.0, 3.0]);
        assert_eq!(sets(&falling), (vec![1, 2, 4, 8], None));
        assert_eq!(sets(&Sweep::new()), (Vec::new(), None));
    }

    #[test]
    fn a_cell_stands_in_its_row_and_column_and_a_missing_one_is_left_out() {
        let sweep = Sweep::from([((8, 1), vec![(1, 0.0)]), ((8, 2), vec![(2, 9.0)])]);
        let out = finish(field("a & b", &sweep, 8, &[1, 2], Some(9.0)));
        assert_eq!(out.matches("<rect").count(), 2, "{out}");
        assert!(out.contains("class=\"m h0\"") && out.contains("x=\"0%\" y=\"1\" width=\"50%\""), "{out}");
        assert!(out.contains("class=\"m h7\"") && out.contains("x=\"50%\" y=\"23\" width=\"50%\""), "{out}");
        assert!(out.contains("aria-label=\"a &amp; b: misses"), "{out}");
    }

    #[test]
    fn cells_without_a_column_are_left_out() {
        let out = finish(field("", &Sweep::from([((8, 1), vec![(4, 9.0)])]), 8, &[], Some(9.0)));
        assert!(!out.contains("<rect") && !out.contains("NaN"), "{out}");
    }

    #[test]
    fn shades_begin_at_their_steps() {
        assert_eq!([0.0, 0.00005, 0.0001, 0.05, 0.5, 1.0].map(shade), [0, 0, 1, 4, 7, 7]);
        assert_eq!(
            [0.0, 0.00001, 0.004, 0.0125, 0.25, 1.0].map(short),
            ["0", "<.01", ".40", "1.2", "25", "100"]
        );
    }
}
