//! Each boundary's distribution: crossings that were timed one at a time, or the samples where they were not. On one
//! logarithmic axis, for each row an area per run, whose height goes with the square root of the share of crossings, so
//! that one slow crossing in a thousand still shows.

use super::runs::{PageRow, Runs};
use crate::chart::rungs::{APART as OVERLAID, TOLD};
use crate::chart::scale::extent;
use crate::chart::{Scale, Unit, mark, rungs};
use crate::figure::Figure;
use crate::histogram;
use crate::markup::{clean, px};
use crate::sheet::{Cell, Table};
use indexmap::IndexMap;
use maud::{Markup, html};
use tollgate_record::number::plural;
use tollgate_record::{Estimate, Measurement};

/// Height of a row's track in pixels.
const TRACK: f64 = 46.0;
/// Below the area: room for the marks of the quantiles.
const BELOW: f64 = 10.0;

/// What is known of one result's distribution.
#[derive(Default)]
struct Known {
    /// Value and how often it occurred; empty when only quantiles are known.
    counts: Vec<(f64, u64)>,
    /// p10, p50, p90, p99.
    quantiles: [f64; 4],
    /// Smallest and largest, as far as recorded.
    ends: [Option<f64>; 2],
    /// Whether single crossings are behind it, and not batches.
    single: bool,
    /// Whether a histogram is there but cannot be read.
    unreadable: bool,
    /// Whether a pair of clock reads takes longer than what was timed.
    below_clock: bool,
}

/// A row, and what is known of it in each run.
type Spread<'a> = (PageRow<'a>, Vec<(usize, Known)>);

fn known(result: &Measurement) -> Option<Known> {
    // What a program paid in all is one sum.
    if result.asked.exec().is_some() {
        return None;
    }
    let counts = result.histogram.as_deref().map(histogram::counts);
    let unreadable = matches!(counts, Some(None));
    let counts = counts.flatten().unwrap_or_default();
    let of_batches = |ns: Estimate| Known {
        quantiles: [ns.p10, ns.p50, ns.p90, ns.p99],
        ends: [Some(ns.min), None],
        unreadable,
        ..Known::default()
    };
    if let Some(it) = &result.single {
        // Crossings shorter than a pair of clock reads are noise one at a time; their batches are not.
        let short = |ns: f64| ns < it.pair_overhead_ns;
        if let Some(ns) = result.ns.filter(|ns| short(ns.estimate) && short(it.p50)) {
            return Some(Known { below_clock: true, ..of_batches(ns) });
        }
        let quantiles = [it.p10, it.p50, it.p90, it.p99];
        let ends = [Some(it.min), Some(it.max)];
        return Some(Known { counts, quantiles, ends, single: true, unreadable, below_clock: short(it.p50) });
    }
    if !counts.is_empty() {
        let quantiles = [0.1, 0.5, 0.9, 0.99].map(|q| histogram::quantile(&counts, q));
        let ends = [counts.first(), counts.last()].map(|end| end.map(|(value, _)| *value));
        return Some(Known { counts, quantiles, ends, single: true, ..Known::default() });
    }
    result.ns.map(of_batches)
}

/// By how much a crossing timed alone must differ from the ladder's figure for the row to say why.
const APART: f64 = 1.5;

/// The rows whose median is far from the ladder's figure, with both.
fn apart(rows: &[Spread]) -> Option<String> {
    let show = |ns| Unit::Nanoseconds.show(ns);
    let of = |(row, all): &Spread| {
        let (n, known) = all.iter().find(|(_, it)| it.single)?;
        let ns = row.results.iter().find(|(of, _)| of == n)?.1.ns?.estimate;
        let alone = known.quantiles[1];
        let far = ns > 0.0 && alone > 0.0 && !(1.0 / APART..=APART).contains(&(alone / ns));
        far.then(|| format!("{} {} here, {} there", row.short(), show(alone), show(ns)))
    };
    let rows: Vec<String> = rows.iter().filter_map(of).collect();
    (!rows.is_empty()).then(|| {
        format!(
            "A crossing timed alone is not the ladder's figure, which is the cost of one among many in a batch: alone it \
             also pays what a batch shares among its crossings, and meets colder caches. {}.",
            rows.join("; ")
        )
    })
}

pub(super) fn section(runs: &Runs) -> Markup {
    let mut families: IndexMap<String, Vec<Spread>> = IndexMap::new();
    for row in runs.rows(|it| it.histogram.is_some() || it.single.is_some() || it.ns.is_some()) {
        let known = row.results.iter().filter_map(|(n, it)| Some((*n, known(it)?)));
        let all: Vec<(usize, Known)> = known.collect();
        if !all.is_empty() {
            families.entry(super::runs::title(row.results[0].1)).or_default().push((row, all));
        }
    }
    html! {
        @if !families.is_empty() {
            p.lead {
                "Crossings timed one at a time. The height of an area goes with the square root of the share of crossings, so \
                 that one in a thousand still shows; the mark is the median, the tick the 99th percentile. The figure to quote is \
                 the bold one of the rows above."
            }
        }
        @for (title, rows) in &families { (figure(runs, title, rows)) }
    }
}

fn figure(runs: &Runs, title: &str, rows: &[Spread]) -> Markup {
    let all = || rows.iter().flat_map(|(_, known)| known).map(|(_, known)| known);
    let places = all().flat_map(|it| {
        let ends = it.counts.iter().map(|(value, _)| *value).filter(|value| *value > 0.0);
        ends.chain(it.quantiles).chain(it.ends[1])
    });
    let scale = Scale::log(places);
    let mut figure = Figure::new(title, "", table(runs, rows));
    figure.picture.push(rungs::axis(&scale, &Unit::Nanoseconds, &runs.key()));
    figure.picture.push(html! {
        ol class="rungs spread" {
            @for (row, all) in rows {
                li.rung data-name=(row.name) {
                    span.name { (clean(row.short())) }
                    (track(runs, &scale, row, all))
                    (numbers(all))
                }
            }
        }
    });
    let says = |count: usize, one: &str, several: &str, rest: &str| -> Option<String> {
        (count > 0).then(|| format!("{} {rest}", plural(count, one, several)))
    };
    let count =
        |of: fn(&Known) -> bool| rows.iter().filter(|(_, all)| all.iter().any(|(_, it)| of(it))).count();
    figure.notes.extend(
        [
            says(
                count(|it| it.below_clock),
                "row is",
                "rows are",
                "of crossings shorter than a pair of clock reads, which cannot be timed one at a time: their batches \
                 are shown.",
            ),
            says(count(|it| !it.single), "row shows", "rows show", "batches: the box is from the 10th to the 90th percentile of their means."),
            says(
                count(|it| it.single && it.counts.is_empty()),
                "row has",
                "rows have",
                "quantiles only: the box is from the 10th to the 90th percentile.",
            ),
            says(count(|it| it.unreadable), "histogram", "histograms", "of the record cannot be read and is not shown."),
            says(
                count(|it| it.quantiles[1] <= 0.0),
                "row has its median",
                "rows have their median",
                "at or below zero, where a logarithmic axis has no place; the numbers are in the table.",
            ),
        ]
        .into_iter()
        .flatten(),
    );
    figure.notes.extend(apart(rows));
    figure.element()
}

fn words_of(runs: &Runs, n: usize, row: &PageRow, it: &Known) -> String {
    let show = |ns| Unit::Nanoseconds.show(ns);
    let [p10, p50, p90, p99] = it.quantiles.map(show);
    let max = it.ends[1].map(|max| format!(", longest {}", show(max))).unwrap_or_default();
    let of = if it.single { "" } else { ", of batches" };
    format!("{}{}: median {p50}, p10 {p10}, p90 {p90}, p99 {p99}{max}{of}", runs.before(n), row.name)
}

/// How the areas of this many runs are placed, over each other where they are few enough to be seen through, otherwise
/// each on a ground of its own: pixels from one ground to the next, of an area's height, and of half the tick of the 99th
/// percentile; the size of the marks.
fn lanes(runs: usize) -> (f64, f64, f64, &'static str) {
    match runs {
        n if n <= OVERLAID => (0.0, TRACK - BELOW, 5.0, "shape"),
        n if n <= TOLD => (20.0, 15.0, 4.0, "middle"),
        _ => (9.0, 6.0, 2.5, "small"),
    }
}

/// A row's track: areas where there are counts, boxes from p10 to p90 where there are none, and marks at the medians.
fn track(runs: &Runs, scale: &Scale, row: &PageRow, all: &[(usize, Known)]) -> Markup {
    let (pitch, high, tick, size) = lanes(all.len());
    // Many runs: fewer and wider bins, which is as much as can be seen of low areas.
    let bins = if all.len() > OVERLAID { 60 } else { 120 };
    let last = high + pitch * all.len().saturating_sub(1) as f64;
    let ground = |n: usize| high + pitch * n as f64;
    let (grounds, base) = if pitch > 0.0 { (all.len(), "grid") } else { (1, "base") };
    let look = |n: usize| runs.one(n).look;
    mark::track(
        last + BELOW,
        html! {
            (rungs::grid(scale, &Unit::Nanoseconds, last))
            // All areas are in one drawing that is stretched to the width there is: bins across and pixels down.
            svg viewBox={ "0 0 " (bins) " " (px(last)) } preserveAspectRatio="none" width="100%" height=(px(last))
                aria-hidden="true" {
                @for (lane, (n, it)) in all.iter().enumerate().filter(|(_, (_, it))| !it.counts.is_empty()) {
                    path class={ "area " (look(*n).class()) } d=(area(scale, &it.counts, bins, ground(lane), high)) {}
                }
            }
            @for n in 0..grounds { (mark::line(base, (0.0, ground(n)), (1.0, ground(n)))) }
            @for (lane, (n, it)) in all.iter().enumerate() {
                @let [p10, p50, p90, p99] = it.quantiles;
                @if let Some(at) = scale.at(p50) {
                    @let ground = ground(lane);
                    (mark::mark(&look(*n).class(), &words_of(runs, *n, row, it), html! {
                        @if it.counts.is_empty() {
                            @let box_high = 6.0_f64.min(high / 2.0);
                            @let top = ground - box_high - tick.min(2.0);
                            (mark::rect("interval", [p10, p90].map(|end| scale.near(end)), top, box_high))
                        }
                        @if let Some(at) = scale.at(p99) { (mark::line("p99", (at, ground - tick), (at, ground + tick))) }
                        (mark::shape(look(*n), size, at, ground))
                    }))
                }
            }
        },
    )
}

/// The outline of the bins that hold something, in bins across and pixels down, `high` above its ground.
fn area(scale: &Scale, counts: &[(f64, u64)], bins: usize, ground: f64, high: f64) -> String {
    let mut heights = vec![0.0_f64; bins];
    for (value, times) in counts {
        if let Some(at) = scale.at(*value) {
            heights[((at * bins as f64) as usize).min(bins - 1)] += *times as f64;
        }
    }
    let most = heights.iter().copied().fold(0.0, f64::max);
    if most == 0.0 {
        return String::new();
    }
    let mut path = String::new();
    let mut inside = false;
    for (bin, height) in heights.iter().enumerate() {
        if *height == 0.0 {
            if inside {
                path.push_str(&format!("V{}", px(ground)));
            }
            inside = false;
            continue;
        }
        if !inside {
            path.push_str(&format!("M{bin} {}", px(ground)));
        }
        inside = true;
        // A single crossing among many thousands is still a line.
        let top = ground - (height / most).sqrt().max(0.02) * 0.98 * high;
        path.push_str(&format!("V{}H{}", px(top), bin + 1));
    }
    if inside {
        path.push_str(&format!("V{}", px(ground)));
    }
    path
}

/// Median and p99 of one run; of several the range of each.
fn numbers(all: &[(usize, Known)]) -> Markup {
    let range = |of: usize| {
        let (low, high) = extent(all.iter().map(|(_, it)| it.quantiles[of]));
        let [low, high] = [low, high].map(|ns| Unit::Nanoseconds.show(ns));
        if low == high { low } else { format!("{low} – {high}") }
    };
    // Not bold: the figure to quote is the one of the rows.
    let numbers = html! { (range(1)) " " i { "p99 " (range(3)) } };
    html! { span.figures { @if all.len() == 1 { span.one { (numbers) } } @else { (numbers) } } }
}

fn table(runs: &Runs, rows: &[Spread]) -> Table {
    let columns = [
        ("probe", false),
        ("run", false),
        ("of", false),
        ("count", true),
        ("min ns", true),
        ("p10", true),
        ("p50", true),
        ("p90", true),
        ("p99", true),
        ("max", true),
    ];
    let mut table = Table::data("Quantiles in nanoseconds", &columns);
    for (row, all) in rows {
        for (n, it) in all {
            let result = row.results.iter().find(|(of, _)| of == n).map(|(_, result)| *result);
            let single = result.and_then(|result| result.single);
            let count = result.map(|result| single.map_or(result.samples, |single| single.count));
            let quantiles = single.map_or(it.quantiles, |it| [it.p10, it.p50, it.p90, it.p99]);
            let ends = single.map_or(it.ends, |it| [Some(it.min), Some(it.max)]);
            let mut cells = vec![
                Cell::text(&row.name),
                Cell::text(&runs.one(*n).letter),
                Cell::text(if it.single || single.is_some() { "single crossings" } else { "batches" }),
                count.map_or(Cell::from(""), Cell::count),
                Cell::maybe(ends[0]),
            ];
            cells.extend(quantiles.map(Cell::number));
            cells.push(Cell::maybe(ends[1]));
            table.row(cells);
        }
    }
    if runs.are_several() { table } else { table.without(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_has_a_step_for_each_bin_and_gaps_between() {
        let scale = Scale::decades([1.0, 100.0]);
        // Ten bins over two decades: 1 is in the first, 10 in the sixth, 99 in the last.
        let path = area(&scale, &[(1.0, 100), (10.0, 25), (99.0, 1)], 10, 100.0, 100.0);
        assert_eq!(path, "M0 100V2H1V100M5 100V51H6V100M9 100V90.2H10V100");
        assert_eq!(area(&scale, &[(0.0, 5)], 10, 100.0, 100.0), "");
    }
}
