//! The ladder: every boundary on one logarithmic axis, cheapest first, with what could not be measured in its place.

use super::runs::{PageRow, Runs};
use crate::chart::figure::Figure;
use crate::chart::mark;
use crate::chart::rungs::{self, Point};
use crate::chart::{Cell, Scale, Table, Unit};
use crate::markup::{Element, Node, el};
use crate::words;
use std::collections::{BTreeMap, BTreeSet};
use tollgate_record::number::percent;
use tollgate_record::number::plural;
use tollgate_record::{Estimate, Measurement, Status};

/// A sentence of so many bytes is not repeated in a family.
const LONG: usize = 60;

/// The boundaries of one family.
struct Family<'a> {
    title: String,
    per: &'static str,
    rows: Vec<PageRow<'a>>,
}

pub(super) fn section(runs: &Runs) -> Vec<Node> {
    let rows = runs.rows(|result| super::runs::is_rung(result) && !super::emulated::is(result));
    figure(runs, rows, lead(runs))
}

/// The rows that an emulator made: like those of the ladder, but never among them.
pub(super) fn emulated(runs: &Runs) -> Vec<Node> {
    let lead = "These figures are those of software that plays a processor, or a part of it. They say what the emulator \
                takes, nothing of what this machine's hardware would, and no bill is split by them.";
    figure(runs, runs.rows(super::emulated::is), lead.into())
}

/// The rows as boundaries on one axis, with a table behind them; nothing when there are none.
fn figure(runs: &Runs, rows: Vec<PageRow>, lead: String) -> Vec<Node> {
    if rows.is_empty() {
        return Vec::new();
    }
    let numbers: Vec<f64> =
        rows.iter().flat_map(|row| &row.results).filter_map(|(_, it)| Some(it.ns?.estimate)).collect();
    let scale = Scale::decades(numbers.iter().copied());
    let common = common(&rows);
    let table = table(runs, &rows);
    let families = families(rows);
    let mut figure = Figure::new("", table);
    figure.lead = lead;
    if !numbers.is_empty() {
        if rows_have_wide_intervals(&families, &scale) {
            let what = "the 95 % interval, where it is wider than the mark";
            let key = el("li").with(mark::interval_swatch(runs.one(0).look)).words(what);
            figure = figure.draw(el("ul").class("legend").with(key));
        }
        figure = figure.draw(rungs::axis_with(&scale, &Unit::Nanoseconds, runs.key()));
    }
    let (low, high) = scale.ends();
    let step = format!("--step:{}", crate::markup::percent(1.0 / (high / low).log10().max(1.0)));
    for family in &families {
        let mut told = BTreeMap::new();
        let items =
            family.rows.iter().map(|row| rung(runs, row, &scale, &common, &mut told)).collect::<Vec<_>>();
        let title =
            el("h3").text(&family.title).with(el("span").class("per").text(format!("per {}", family.per)));
        let mut part = el("section").class("family").with(title);
        let why = super::emulated::why(&family.rows);
        if !why.is_empty() {
            part = part.with(el("ul").class("why").all(why));
        }
        figure =
            figure.draw(part.with(el("ol").class("rungs decades").set("style", step.as_str()).all(items)));
    }
    let below = families.iter().flat_map(|family| &family.rows).flat_map(|row| &row.results);
    let below = below.filter(|(_, it)| it.ns.is_some_and(|ns| ns.estimate <= 0.0)).count();
    if below > 0 {
        figure.notes.push(format!(
            "{} at or below zero: a logarithmic axis has no place for them; the numbers are in their rows.",
            plural(below, "figure is", "figures are"),
        ));
    }
    figure.notes.extend(common.values().cloned());
    vec![figure.element().into()]
}

fn lead(runs: &Runs) -> String {
    let how = "Each mark is the cost of one crossing in a quiet moment, on a scale where every step is ten times \
               the one before. ± is half of the 95 % interval.";
    if !runs.are_several() {
        return how.into();
    }
    let below = if runs.all.len() > rungs::APART {
        ", and is below the one before it, in the order of the list above"
    } else {
        ""
    };
    format!("{how} Each run has its own shape and color{below}.")
}

/// Warnings of most rows, which are printed once: a mark on every row would hide the others. Code to sentence.
fn common(rows: &[PageRow]) -> BTreeMap<String, String> {
    let measured =
        rows.iter().filter(|row| row.results.iter().any(|(_, it)| it.status == Status::Measured)).count();
    let mut found: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for row in rows {
        let mut codes = BTreeSet::new();
        let all = row.results.iter().flat_map(|(_, it)| &it.warnings);
        // Where figures are emulated their heading says so.
        for warning in all.filter(|warning| warning.code != words::EMULATED) {
            if codes.insert(&warning.code) {
                found.entry(&warning.code).or_insert((0, &warning.text)).0 += 1;
            }
        }
    }
    let often = found.into_iter().filter(|(_, (rows, _))| measured > 8 && rows * 2 > measured);
    often
        .map(|(code, (rows, text))| {
            (code.to_owned(), format!("In {rows} of {measured} rows ({code}), for example: {text}"))
        })
        .collect()
}

/// The rows by boundary, cheapest boundary and cheapest row first.
fn families(rows: Vec<PageRow>) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for row in rows {
        let per = words::per(row.results[0].1.per);
        let title = super::emulated::title(row.results[0].1);
        match families.iter_mut().find(|family| family.title == title && family.per == per) {
            Some(family) => family.rows.push(row),
            None => families.push(Family { title, per, rows: vec![row] }),
        }
    }
    for family in &mut families {
        family.rows.sort_by(|a, b| cheapest(a).total_cmp(&cheapest(b)));
    }
    families.sort_by(|a, b| cheapest(&a.rows[0]).total_cmp(&cheapest(&b.rows[0])));
    // Figures of one boundary that stand for other things follow its cheapest.
    let mut order: Vec<String> = Vec::new();
    for family in &families {
        if !order.contains(&family.title) {
            order.push(family.title.clone());
        }
    }
    families.sort_by_key(|family| order.iter().position(|title| *title == family.title));
    families
}

/// Whether any interval is drawn, so that its bar needs a key.
fn rows_have_wide_intervals(families: &[Family], scale: &Scale) -> bool {
    let results = families.iter().flat_map(|family| &family.rows).flat_map(|row| &row.results);
    results.filter_map(|(_, it)| it.ns).any(|ns| rungs::is_drawn(scale, ns.ci))
}

fn cheapest(row: &PageRow) -> f64 {
    row.results.iter().filter_map(|(_, it)| Some(it.ns?.estimate)).fold(f64::INFINITY, f64::min)
}

/// One row: name, track, numbers, and the remarks on them.
fn rung(
    runs: &Runs,
    row: &PageRow,
    scale: &Scale,
    common: &BTreeMap<String, String>,
    told: &mut BTreeMap<String, String>,
) -> Element {
    let figures: Vec<(usize, Estimate)> =
        row.results.iter().filter_map(|(n, it)| Some((*n, it.ns?))).collect();
    let points: Vec<Point> = figures
        .iter()
        .map(|(n, ns)| Point {
            look: runs.one(*n).look,
            number: ns.estimate,
            interval: ns.ci,
            words: format!("{}{} {}", runs.before(*n), row.name, said(ns)),
        })
        .collect();
    let mut item = el("li").class("rung").set("data-name", row.name.as_str()).with(name(row));
    if !figures.is_empty() {
        item = item.with(rungs::track(scale, &points)).with(numbers(runs, &figures));
    }
    let notes = notes(runs, row, common).into_iter().map(|(class, text)| {
        // A long sentence that a row above has is not repeated.
        let text = match (told.get(&text), class) {
            _ if text.len() < LONG => text,
            (None, _) => {
                told.insert(text.clone(), row.short().to_owned());
                text
            }
            (Some(first), "skipped") => format!("Skipped, as {first}"),
            (Some(first), "failed") => format!("Failed, as {first}"),
            (Some(first), _) => format!("The same warning as {first}"),
        };
        el("li").class(class).text(text)
    });
    let notes: Vec<Element> = notes.collect();
    if notes.is_empty() { item } else { item.with(el("ul").class("why").all(notes)) }
}

/// The name, which leads to how the figure was obtained.
fn name(row: &PageRow) -> Element {
    let name = el("span").class("name");
    match super::method::anchor(&row.results[0].1.probe) {
        Some(id) if row.results.iter().any(|(_, it)| it.status == Status::Measured) => {
            name.with(el("a").set("href", format!("#{id}")).text(row.short()))
        }
        _ => name.text(row.short()),
    }
}

/// `159 ns ± 2.9 %`
fn said(ns: &Estimate) -> String {
    format!("{} {}", Unit::Nanoseconds.show(ns.estimate), plus_minus(ns))
}

/// Half of the interval: a share where there is something to be a share of, otherwise nanoseconds.
fn plus_minus(ns: &Estimate) -> String {
    if ns.estimate > 0.0 {
        format!("± {}", percent(ns.relative_half_width()))
    } else {
        format!("± {}", Unit::Nanoseconds.show(ns.half_width()))
    }
}

/// The numbers at the right: of each run, or from the lowest to the highest when there are many.
fn numbers(runs: &Runs, figures: &[(usize, Estimate)]) -> Element {
    let mut list = el("span").class("figures");
    if figures.len() > rungs::APART {
        let low = figures.iter().map(|(_, ns)| ns.estimate).fold(f64::INFINITY, f64::min);
        let high = figures.iter().map(|(_, ns)| ns.estimate).fold(f64::NEG_INFINITY, f64::max);
        let unit = Unit::Nanoseconds;
        return list.with(el("b").text(range(&unit.show(low), &unit.show(high)))).with(el("i").text(plural(
            figures.len(),
            "run",
            "runs",
        )));
    }
    for (n, ns) in figures {
        let mut one = el("span").class("one");
        if runs.are_several() {
            one = one.with(mark::swatch(runs.one(*n).look));
        }
        list = list.with(
            one.with(el("b").text(Unit::Nanoseconds.show(ns.estimate)))
                .words(" ")
                .with(el("i").text(plus_minus(ns))),
        );
    }
    list
}

/// From one figure to the other; where both are written the same, that.
pub(super) fn range(low: &str, high: &str) -> String {
    if low == high { low.into() } else { format!("{low} – {high}") }
}

/// Why there is no figure, and warnings, each once for the runs that share it.
fn notes(runs: &Runs, row: &PageRow, common: &BTreeMap<String, String>) -> Vec<(&'static str, String)> {
    let mut said: Vec<(&'static str, String, Vec<usize>)> = Vec::new();
    let mut say = |class, text: String, n: usize| match said.iter_mut().find(|(_, there, _)| *there == text) {
        Some((_, _, of)) => of.push(n),
        None => said.push((class, text, vec![n])),
    };
    for (n, result) in &row.results {
        let reason = result.reason.as_deref().unwrap_or("no reason given");
        match result.status {
            Status::Skipped => {
                let enable = result.enable.as_deref().map(|enable| format!(". To enable it: {enable}"));
                say("skipped", format!("Skipped: {reason}{}", enable.unwrap_or_default()), *n);
            }
            Status::Failed => say("failed", format!("Failed: {reason}"), *n),
            Status::Measured if result.ns.is_none() => {
                say("skipped", "Counted, not timed: see its bill, and the table.".into(), *n);
            }
            Status::Measured => {}
        }
    }
    for (text, of) in warnings(row, common) {
        said.push(("warning", text, of));
    }
    let item = |(class, text, of): (&'static str, String, Vec<usize>)| {
        let all = of.len() == runs.all.len();
        let letters: Vec<&str> = of.iter().map(|n| runs.one(*n).letter.as_str()).collect();
        let before = if all { String::new() } else { format!("{}: ", letters.join(", ")) };
        (class, format!("{before}{text}"))
    };
    said.into_iter().map(item).collect()
}

/// The warnings of a row and the runs that carry each. Of many runs with the same warning and other figures the first
/// speaks for all.
fn warnings(row: &PageRow, common: &BTreeMap<String, String>) -> Vec<(String, Vec<usize>)> {
    // Code, text, the runs with that text, and those with another.
    let mut said: Vec<(&str, String, Vec<usize>, Vec<usize>)> = Vec::new();
    let many = row.results.len() > rungs::APART;
    for (n, result) in &row.results {
        for warning in result
            .warnings
            .iter()
            .filter(|warning| warning.code != words::EMULATED && !common.contains_key(&warning.code))
        {
            let text = if warning.text.trim().is_empty() { &warning.code } else { &warning.text };
            let same = |(code, there, _, _): &&mut (&str, String, Vec<usize>, Vec<usize>)| {
                there == text || many && *code == warning.code
            };
            match said.iter_mut().find(same) {
                Some((_, there, with, _)) if there == text => with.push(*n),
                Some((_, _, _, others)) => others.push(*n),
                None => said.push((&warning.code, text.clone(), vec![*n], Vec::new())),
            }
        }
    }
    let finish = |(_, mut text, mut of, others): (&str, String, Vec<usize>, Vec<usize>)| {
        if !others.is_empty() {
            text = format!("for example {text}");
            of.extend(others);
            of.sort_unstable();
            of.dedup();
        }
        (text, of)
    };
    said.into_iter().map(finish).collect()
}

/// Every number of every run.
fn table(runs: &Runs, rows: &[PageRow]) -> Table {
    let mut columns = vec![
        ("probe", false),
        ("ns", true),
        ("low", true),
        ("high", true),
        ("cycles", true),
        ("mean ns", true),
        ("p99 ns, single", true),
        ("samples", true),
        ("per", false),
        ("counted for each crossing", false),
    ];
    if runs.are_several() {
        columns.insert(1, ("run", false));
    }
    let mut table = Table::new("Every boundary: headline, 95 % interval, and its evidence", &columns);
    for (row, (n, it)) in rows.iter().flat_map(|row| row.results.iter().map(move |result| (row, result))) {
        let ns = |of: fn(&Estimate) -> f64| Cell::maybe(it.ns.as_ref().map(of));
        let mut cells = vec![
            Cell::text(&row.name),
            ns(|ns| ns.estimate),
            ns(|ns| ns.ci[0]),
            ns(|ns| ns.ci[1]),
            Cell::maybe(it.cycles.map(|cycles| cycles.estimate)),
            ns(|ns| ns.mean),
            Cell::maybe(it.single.map(|single| single.p99)),
            Cell::count(it.samples),
            Cell::text(words::per(it.per)),
            Cell::text(proof(it)),
        ];
        if it.status != Status::Measured {
            let word = if it.status == Status::Skipped { "skipped" } else { "failed" };
            cells[1] = Cell::text(word);
        }
        if runs.are_several() {
            cells.insert(1, Cell::text(&runs.one(*n).letter));
        }
        table.row(cells);
    }
    table
}

fn proof(result: &Measurement) -> String {
    let one = |(key, count): (&String, &f64)| {
        format!("{} {}", tollgate_record::number::per_crossing(*count, true), words::counted(key))
    };
    result.proof.iter().chain(&result.counters).map(one).collect::<Vec<_>>().join(", ")
}
