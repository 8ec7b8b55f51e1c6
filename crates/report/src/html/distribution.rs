//! Each boundary's distribution: crossings that were timed one at a time, or the samples where they were not.

mod histogram;

use super::runs::{PageRow, Runs};
use crate::chart::distribution::{self, Spread};
use crate::chart::{Cell, Figure, Scale, Table, Unit, rungs};
use crate::markup::{Element, Node, el};
use tollgate_record::number::plural;
use tollgate_record::{Estimate, Measurement};

/// What is known of one result's distribution.
struct Known {
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

fn known(result: &Measurement) -> Option<Known> {
    let counts = result.histogram.as_deref().map(histogram::counts);
    let unreadable = matches!(counts, Some(None));
    let counts = counts.flatten().unwrap_or_default();
    if let Some(it) = &result.single {
        // Crossings shorter than a pair of clock reads are noise one at a time; their batches are not.
        let short = |ns: f64| ns < it.pair_overhead_ns;
        if let Some(ns) = result.ns.filter(|ns| short(ns.estimate) && short(it.p50)) {
            return Some(Known { unreadable, below_clock: true, ..of_batches(&ns) });
        }
        let below_clock = it.p50 < it.pair_overhead_ns;
        let quantiles = [it.p10, it.p50, it.p90, it.p99];
        let ends = [Some(it.min), Some(it.max)];
        return Some(Known { counts, quantiles, ends, single: true, unreadable, below_clock });
    }
    if !counts.is_empty() {
        let quantiles = [0.1, 0.5, 0.9, 0.99].map(|q| histogram::quantile(&counts, q));
        let ends = [counts.first(), counts.last()].map(|end| end.map(|(value, _)| *value));
        return Some(Known { counts, quantiles, ends, single: true, unreadable, below_clock: false });
    }
    Some(Known { unreadable, ..of_batches(&result.ns?) })
}

/// The means of batches.
fn of_batches(ns: &Estimate) -> Known {
    Known {
        counts: Vec::new(),
        quantiles: [ns.p10, ns.p50, ns.p90, ns.p99],
        ends: [Some(ns.min), None],
        single: false,
        unreadable: false,
        below_clock: false,
    }
}

/// By how much a crossing timed alone must differ from the ladder's figure for the row to say why.
const APART: f64 = 1.5;

/// The rows whose median is far from the ladder's figure, with both.
fn apart(family: &Family) -> Option<String> {
    let show = |ns| Unit::Nanoseconds.show(ns);
    let of = |(row, all): &(PageRow, Vec<(usize, Known)>)| {
        let (n, known) = all.iter().find(|(_, it)| it.single)?;
        let ns = row.results.iter().find(|(of, _)| of == n)?.1.ns?.estimate;
        let alone = known.quantiles[1];
        let far = ns > 0.0 && alone > 0.0 && !(1.0 / APART..=APART).contains(&(alone / ns));
        far.then(|| format!("{} {} here, {} there", row.short(), show(alone), show(ns)))
    };
    let rows: Vec<String> = family.rows.iter().filter_map(of).collect();
    (!rows.is_empty()).then(|| {
        format!(
            "A crossing timed alone is not the ladder's figure, which is the cost of one among many in a batch: alone it \
             also pays what a batch shares among its crossings, and meets colder caches. {}.",
            rows.join("; ")
        )
    })
}

/// The rows of one family.
struct Family<'a> {
    title: String,
    rows: Vec<(PageRow<'a>, Vec<(usize, Known)>)>,
}

pub(super) fn section(runs: &Runs) -> Vec<Node> {
    let mut families: Vec<Family> = Vec::new();
    for row in
        runs.rows(|result| result.histogram.is_some() || result.single.is_some() || result.ns.is_some())
    {
        let all: Vec<(usize, Known)> =
            row.results.iter().filter_map(|(n, it)| Some((*n, known(it)?))).collect();
        let title = super::emulated::title(row.results[0].1);
        match families.iter_mut().find(|family| family.title == title) {
            _ if all.is_empty() => {}
            Some(family) => family.rows.push((row, all)),
            None => families.push(Family { title, rows: vec![(row, all)] }),
        }
    }
    if families.is_empty() {
        return Vec::new();
    }
    let lead = "Crossings timed one at a time. The height of an area goes with the square root of the share of \
                crossings, so that one in a thousand still shows; the mark is the median, the tick the 99th percentile.";
    let mut nodes = vec![el("p").class("lead").words(lead).into()];
    nodes.extend(families.iter().map(|family| Node::from(figure(runs, family))));
    nodes
}

fn figure(runs: &Runs, family: &Family) -> Element {
    let all = || family.rows.iter().flat_map(|(_, known)| known).map(|(_, known)| known);
    let places = all().flat_map(|it| {
        let ends = it.counts.iter().map(|(value, _)| *value).filter(|value| *value > 0.0);
        ends.chain(it.quantiles).chain(it.ends[1])
    });
    let scale = Scale::log(places);
    let mut figure = Figure::new(&family.title, table(runs, family));
    figure = figure.draw(rungs::axis_with(&scale, &Unit::Nanoseconds, runs.key()));
    let rows = family.rows.iter().map(|(row, all)| {
        let spreads: Vec<Spread> = all
            .iter()
            .map(|(n, it)| Spread {
                look: runs.one(*n).look,
                counts: it.counts.clone(),
                quantiles: it.quantiles,
                words: words_of(runs, *n, row, it),
            })
            .collect();
        let name = row.short();
        let mut item = el("li")
            .class("rung")
            .set("data-name", row.name.as_str())
            .with(el("span").class("name").text(name));
        item = item.with(distribution::track(&scale, &Unit::Nanoseconds, &spreads));
        item.with(numbers(all))
    });
    figure = figure.draw(el("ol").class("rungs spread").all(rows));
    let says = |count: usize, one: &str, several: &str, rest: &str| -> Option<String> {
        (count > 0).then(|| format!("{} {rest}", plural(count, one, several)))
    };
    let rows = |of: fn(&Known) -> bool| {
        family.rows.iter().filter(|(_, all)| all.iter().any(|(_, it)| of(it))).count()
    };
    figure.notes.extend(
        [
            says(
                rows(|it| it.below_clock),
                "row is",
                "rows are",
                "of crossings shorter than a pair of clock reads, which cannot be timed one at a time: their batches \
                 are shown.",
            ),
            says(rows(|it| !it.single), "row shows", "rows show", "batches: the box is from the 10th to the 90th percentile of their means."),
            says(
                rows(|it| it.single && it.counts.is_empty()),
                "row has",
                "rows have",
                "quantiles only: the box is from the 10th to the 90th percentile.",
            ),
            says(rows(|it| it.unreadable), "histogram", "histograms", "of the record cannot be read and is not shown."),
            says(
                rows(|it| it.quantiles[1] <= 0.0),
                "row has its median",
                "rows have their median",
                "at or below zero, where a logarithmic axis has no place; the numbers are in the table.",
            ),
        ]
        .into_iter()
        .flatten(),
    );
    figure.notes.extend(apart(family));
    figure.element()
}

fn words_of(runs: &Runs, n: usize, row: &PageRow, it: &Known) -> String {
    let show = |ns| Unit::Nanoseconds.show(ns);
    let [p10, p50, p90, p99] = it.quantiles.map(show);
    let max = it.ends[1].map(|max| format!(", longest {}", show(max))).unwrap_or_default();
    let of = if it.single { "" } else { ", of batches" };
    format!("{}{}: median {p50}, p10 {p10}, p90 {p90}, p99 {p99}{max}{of}", runs.before(n), row.name)
}

/// Median and p99 of one run; of several the range of each.
fn numbers(all: &[(usize, Known)]) -> Element {
    let show = |ns: f64| Unit::Nanoseconds.show(ns);
    let figures = el("span").class("figures");
    if let [(_, it)] = all {
        return figures.with(
            el("span")
                .class("one")
                .with(el("b").text(show(it.quantiles[1])))
                .words(" ")
                .with(el("i").text(format!("p99 {}", show(it.quantiles[3])))),
        );
    }
    let range = |of: usize| {
        let ends = all.iter().map(|(_, it)| it.quantiles[of]);
        let (low, high) =
            ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        super::ladder::range(&show(low), &show(high))
    };
    figures.with(el("b").text(range(1))).words(" ").with(el("i").text(format!("p99 {}", range(3))))
}

fn table(runs: &Runs, family: &Family) -> Table {
    let mut columns = vec![
        ("probe", false),
        ("of", false),
        ("count", true),
        ("min ns", true),
        ("p10", true),
        ("p50", true),
        ("p90", true),
        ("p99", true),
        ("max", true),
    ];
    if runs.are_several() {
        columns.insert(1, ("run", false));
    }
    let mut table = Table::new("Quantiles in nanoseconds", &columns);
    for (row, all) in &family.rows {
        for (n, it) in all {
            let result = row.results.iter().find(|(of, _)| of == n).map(|(_, result)| *result);
            let single = result.and_then(|result| result.single);
            let count = result.map(|result| single.map_or(result.samples, |single| single.count));
            let quantiles = single.map_or(it.quantiles, |it| [it.p10, it.p50, it.p90, it.p99]);
            let ends = single.map_or(it.ends, |it| [Some(it.min), Some(it.max)]);
            let mut cells = vec![
                Cell::text(&row.name),
                Cell::text(if it.single || single.is_some() { "single crossings" } else { "batches" }),
                count.map_or(Cell::None, Cell::count),
                Cell::maybe(ends[0]),
            ];
            cells.extend(quantiles.map(Cell::number));
            cells.push(Cell::maybe(ends[1]));
            if runs.are_several() {
                cells.insert(1, Cell::text(&runs.one(*n).letter));
            }
            table.row(cells);
        }
    }
    table
}
