//! Bills: what a crossing is made of, by phase and, where it is known, by cause.

mod item;

use super::runs::{PageRow, Runs, family};
use crate::chart::mark::COLORS;
use crate::chart::stacked::{self, Bar, Fill, Part};
use crate::chart::{Cell, Figure, Scale, Table};
use crate::markup::{Element, Node, clean, el};
use item::{Bill, Item, Measure, evidence};
use std::collections::BTreeSet;
use tollgate_record::Measurement;
use tollgate_record::number::percent;

/// Rows whose parts are listed below their bar; of more rows the legend and the table must do.
const LISTED: usize = 14;

/// Parts are shown as shares when the totals of a family differ by more than this, or the smallest would vanish.
const RATIO: f64 = 8.0;

/// Where the colors of causes begin, so that they are not those of the first phases.
const CAUSES: usize = 3;

/// The bills of one family on one engine, in one unit.
struct Group<'a> {
    title: String,
    measure: Measure,
    rows: Vec<(PageRow<'a>, Vec<(usize, Bill)>)>,
}

pub(super) fn section(runs: &Runs) -> Vec<Node> {
    let mut groups: Vec<Group> = Vec::new();
    for row in runs.rows(|result| !result.phases.is_empty()) {
        let bills: Vec<(usize, Bill)> =
            row.results.iter().filter_map(|(n, it)| Some((*n, Bill::of(it)?))).collect();
        let Some(measure) = bills.first().map(|(_, bill)| bill.measure) else { continue };
        let family = family(row.family);
        let engine = clean(&row.results[0].1.engine);
        let title = if super::emulated::is(row.results[0].1) {
            super::emulated::title(row.results[0].1)
        } else if matches!(engine.as_str(), "host" | "embedded") {
            family
        } else {
            format!("{family}, {engine}")
        };
        // A color stands for one part: rows whose parts need more colors than there are have a figure of their own.
        let fits = |group: &&mut Group| {
            let named = group
                .rows
                .iter()
                .flat_map(|(_, bills)| bills)
                .chain(&bills)
                .flat_map(|(_, bill)| &bill.items);
            let named: BTreeSet<&str> =
                named.map(|item| item.name.as_str()).filter(|name| *name != item::REST).collect();
            group.title == title && group.measure == measure && named.len() <= COLORS
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.rows.push((row, bills)),
            None => groups.push(Group { title, measure, rows: vec![(row, bills)] }),
        }
    }
    // Several figures of one family are told apart by their rows.
    let titles: Vec<String> = groups.iter().map(|group| group.title.clone()).collect();
    for group in &mut groups {
        if titles.iter().filter(|title| **title == group.title).count() > 1 {
            let names: Vec<String> = group.rows.iter().map(|(row, _)| row.short().to_owned()).collect();
            group.title = format!("{}: {}", group.title, crate::text::list(&names, 2));
        }
    }
    // What a simulator counted has no row elsewhere; its caches and pipelines have sections of their own.
    let simulated = |it: &Measurement| {
        let family = it.family();
        family.starts_with("riscv")
            && !matches!(family, "riscv-icache" | "riscv-pipeline")
            && it.stages.is_none()
    };
    let absent = super::absent::list(runs, simulated);
    if groups.is_empty() {
        return absent;
    }
    let lead = "Each bar is one crossing, its parts beside each other; the line at its end is the total as it was \
                measured by itself. A part below zero is to the left of zero: differences are never clamped. What \
                no part accounts for is hatched.";
    let mut nodes = vec![el("p").class("lead").words(lead).into()];
    nodes.extend(groups.iter().map(|group| Node::from(figure(runs, group))));
    nodes.extend(absent);
    nodes
}

fn figure(runs: &Runs, group: &Group) -> Element {
    let phases = names(group, |bill| &bill.items);
    let causes = names(group, |bill| &bill.causes);
    let bills =
        || group.rows.iter().flat_map(|(_, bills)| bills).map(|(_, bill)| bill).filter(|bill| bill.adds_up());
    let totals = || bills().map(|bill| bill.total.abs()).filter(|total| *total > 0.0);
    let (low, high) = totals().fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    let relative = high / low > RATIO;
    let bar = |runs: &Runs, n: usize, row: &PageRow, bill: &Bill| -> Bar {
        let unit = if relative { bill.total.abs() / 100.0 } else { 1.0 };
        let parts = |items: &[Item], names: &[String], first: usize| -> Vec<Part> {
            let part = |item: &Item| Part {
                fill: fill(&item.name, names, first),
                number: item.number / unit,
                words: format!("{}{}, {}", runs.before(n), row.name, bill.said(item)),
            };
            items.iter().map(part).collect()
        };
        let parts_of = parts(&bill.items, &phases, 0);
        Bar { parts: parts_of, causes: parts(&bill.causes, &causes, CAUSES), total: Some(bill.total / unit) }
    };
    let bars: Vec<Vec<(usize, &Bill, Option<Bar>)>> = group
        .rows
        .iter()
        .map(|(row, bills)| {
            bills
                .iter()
                .map(|(n, bill)| (*n, bill, bill.adds_up().then(|| bar(runs, *n, row, bill))))
                .collect()
        })
        .collect();
    let scale =
        Scale::around(bars.iter().flatten().filter_map(|(_, _, bar)| bar.as_ref()).flat_map(Bar::ends));
    let mut figure = Figure::new(&group.title, table(runs, group));
    for (names, first, says) in [(&phases, 0, ""), (&causes, CAUSES, "the thin bar, by cause:")] {
        let entries =
            names.iter().map(|name| el("li").with(stacked::swatch(fill(name, names, first))).text(name));
        let says = Some(el("li").class("says").words(says)).filter(|_| !says.is_empty());
        if !names.is_empty() {
            figure = figure.draw(el("ul").class("legend").all(says).all(entries));
        }
    }
    if relative {
        figure.lead =
            "Parts as shares of each row's own total, since the totals are too far apart for one scale."
                .into();
    }
    let unit = if relative { crate::chart::Unit::Other("%".into()) } else { group.measure.unit() };
    figure = figure.draw(crate::chart::rungs::axis(&scale, &unit));
    let listed = group.rows.len() <= LISTED && !runs.are_several();
    let rows = group.rows.iter().zip(&bars).flat_map(|((row, _), bars)| {
        bars.iter().filter_map(|(n, bill, bar)| {
            Some(self::row(runs, row, *n, bill, bar.as_ref()?, &scale, &phases, listed))
        })
    });
    figure = figure.draw(el("ol").class("rungs bills").all(rows.collect::<Vec<_>>()));
    for ((row, _), bars) in group.rows.iter().zip(&bars) {
        for (n, bill, _) in bars.iter().filter(|(_, _, bar)| bar.is_none()) {
            figure.notes.push(format!(
                "{}{}: the parts add up to {} and the total is {}, so they are not parts of it; they are in the table.",
                runs.before(*n),
                row.name,
                bill.measure.show(bill.sum()),
                bill.measure.show(bill.total),
            ));
        }
    }
    figure.element()
}

/// The names of parts in the order in which they first occur.
fn names<'a>(group: &'a Group, of: fn(&'a Bill) -> &'a Vec<Item>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, bill) in group.rows.iter().flat_map(|(_, bills)| bills) {
        for item in of(bill) {
            if !names.contains(&item.name) {
                names.push(item.name.clone());
            }
        }
    }
    names
}

fn fill(name: &str, names: &[String], first: usize) -> Fill {
    if name == item::REST {
        return Fill::Hatched;
    }
    let colored = names.iter().filter(|name| *name != item::REST);
    Fill::Color(first + colored.take_while(|there| *there != name).count())
}

#[expect(clippy::too_many_arguments, reason = "a row is drawn in one place only")]
fn row(
    runs: &Runs,
    row: &PageRow,
    n: usize,
    bill: &Bill,
    bar: &Bar,
    scale: &Scale,
    phases: &[String],
    listed: bool,
) -> Element {
    let mut name = el("span").class("name");
    if runs.are_several() {
        name =
            name.with(crate::chart::mark::swatch(runs.one(n).look)).words(format!("{} ", runs.one(n).letter));
    }
    let mut figures = el("span").class("one").with(el("b").text(bill.measure.show(bill.total)));
    if let Some(half) = bill.half {
        figures = figures.words(" ").with(el("i").text(format!("± {}", percent(half / bill.total.abs()))));
    }
    let item = el("li")
        .class("rung")
        .set("data-name", row.name.as_str())
        .with(name.text(row.short()))
        .with(bar.track(scale))
        .with(el("span").class("figures").with(figures));
    if !listed {
        return item;
    }
    let parts = bill.items.iter().map(|part| {
        let share = if bill.total > 0.0 {
            format!(" · {}", signed_percent(part.number / bill.total))
        } else {
            String::new()
        };
        el("li")
            .with(stacked::swatch(fill(&part.name, phases, 0)))
            .text(&part.name)
            .words(" ")
            .with(el("b").text(bill.measure.show(part.number)))
            .words(" ")
            .with(el("i").text(format!(
                "{}{share} · {}",
                part.plus_minus(bill.measure),
                evidence(part.evidence)
            )))
    });
    item.with(el("ul").class("parts").all(parts))
}

fn signed_percent(share: f64) -> String {
    percent(share).replace('-', "−")
}

fn table(runs: &Runs, group: &Group) -> Table {
    let measure = group.measure.name();
    let mut columns = vec![
        ("crossing", false),
        ("part", false),
        (measure, true),
        ("low", true),
        ("high", true),
        ("share", true),
        ("instructions", true),
        ("evidence", false),
        ("causes, cycles", false),
    ];
    if runs.are_several() {
        columns.insert(1, ("run", false));
    }
    let mut table = Table::new(format!("{}: parts of each crossing", group.title), &columns);
    for (row, bills) in &group.rows {
        for (n, bill) in bills {
            let total = Item::total(bill);
            for item in bill.items.iter().chain([&total]) {
                let share = item.number / bill.total;
                let mut cells = vec![
                    Cell::text(&row.name),
                    Cell::text(&item.name),
                    Cell::number(item.number),
                    Cell::maybe(item.interval.map(|ci| ci[0])),
                    Cell::maybe(item.interval.map(|ci| ci[1])),
                    if share.is_finite() { Cell::Number(signed_percent(share), share) } else { Cell::None },
                    Cell::maybe(item.instructions),
                    Cell::text(evidence(item.evidence)),
                    Cell::text(&item.causes),
                ];
                if runs.are_several() {
                    cells.insert(1, Cell::text(&runs.one(*n).letter));
                }
                table.row(cells);
            }
        }
    }
    table
}
