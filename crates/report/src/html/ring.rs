//! Ring sweeps: the cost of a hop over what the tasks touch, with this host's caches.

use super::runs::Runs;
use crate::chart::plot::{Axis, Plot, Point};
use crate::chart::scale::extent;
use crate::chart::{Figure, Scale, Unit};
use crate::markup::clean;
use crate::sheet::{Cell, Table};
use indexmap::IndexMap;
use maud::{Markup, html};
use std::collections::BTreeMap;
use tollgate_record::number::plural;
use tollgate_record::{Estimate, Measurement, Status};

/// The name under which a fit's rows are in the record.
const KNEE: &str = "ring/knee";

/// What is drawn over the footprint: a title, how to read it, and which number of a cell.
type Sweep = (&'static str, &'static str, fn(&Measurement) -> Option<Estimate>);

static SWEEPS: [Sweep; 2] = [
    (
        "One hop",
        "The whole of one hop: the switch, the walk over the task's array, and what it found missing.",
        |it| it.ns,
    ),
    (
        "Refill",
        "The part of a hop that goes into fetching again what the others put out of the caches.",
        |it| it.phases.iter().find(|phase| phase.name == "refill")?.ns,
    ),
];

/// The cells of one number of tasks in one run.
struct Line<'a> {
    run: usize,
    procs: f64,
    cells: Vec<(f64, &'a Measurement)>,
}

pub(super) fn section(runs: &Runs) -> Markup {
    let mut lines: IndexMap<(usize, u32), Line> = IndexMap::new();
    for (run, one) in runs.all.iter().enumerate() {
        let cells = one.run.results.iter().filter(|it| it.family() == "ring" && it.probe != KNEE);
        for cell in cells.filter(|it| it.status == Status::Measured) {
            let Some(ring) = cell.asked.ring() else { continue };
            let (procs, size) = (f64::from(ring.procs), ring.size as f64);
            let line =
                lines.entry((run, ring.procs)).or_insert_with(|| Line { run, procs, cells: Vec::new() });
            line.cells.push((procs * size, cell));
        }
    }
    let mut lines: Vec<Line> = lines.into_values().collect();
    for line in &mut lines {
        line.cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let mut figures: Vec<Figure> = SWEEPS.iter().filter_map(|sweep| figure(runs, &lines, sweep)).collect();
    // Cells and knees without a figure, with the reason, and what warns of a cell: below the first picture.
    let remarks = runs.remarks(|it| it.family() == "ring");
    match figures.first_mut() {
        Some(first) => first.picture.push(remarks),
        None => return remarks,
    }
    html! { @for figure in &figures { (figure.element()) } }
}

fn figure(runs: &Runs, lines: &[Line], (title, lead, of): &Sweep) -> Option<Figure> {
    let cells =
        || lines.iter().flat_map(|line| &line.cells).filter_map(|(x, it)| Some((*x, of(it)?.estimate)));
    let heights: Vec<f64> = cells().map(|(_, y)| y).collect();
    if heights.is_empty() {
        return None;
    }
    let caches = caches(runs);
    let sizes = cells().map(|(x, _)| x).filter(|x| *x > 0.0);
    // From the smallest footprint to the largest, and as far as the caches that lie between or next to them.
    let (low, high) = extent(sizes);
    let next = caches
        .keys()
        .map(|bytes| *bytes as f64)
        .find(|bytes| *bytes >= high)
        .filter(|bytes| *bytes <= high * 8.0);
    let x = Scale::log_between(low / 1.4, next.unwrap_or(high).max(high) * 1.4);
    let y = Scale::suited(&heights, 40.0);
    let mut plot = Plot::new(
        Axis { scale: x, unit: Unit::Bytes, title: "footprint: tasks × array".into() },
        Axis { scale: y, unit: Unit::Nanoseconds, title: "for each hop".into() },
    );
    for (bytes, names) in &caches {
        let shown = Unit::Bytes.show(*bytes as f64);
        plot.vertical(
            "cache",
            *bytes as f64,
            &format!("{names} {shown}"),
            &format!("{names} of this host: {shown}"),
        );
    }
    let mut figure = Figure::new(title, lead, table(runs, lines, title, of));
    for (n, line) in lines.iter().enumerate() {
        let look = runs.line(line.run, lines[..n].iter().filter(|other| other.run == line.run).count());
        let tasks = format!("{}{} tasks", runs.before(line.run), line.procs);
        let point = |(footprint, it): &(f64, &Measurement)| {
            let ns = of(it)?;
            let interval = match ns.is_measured() {
                true => ns.ci.map(|end| Unit::Nanoseconds.show(end)).join(" to "),
                false => "-".into(),
            };
            let words = format!(
                "{tasks}, {}: {} ({interval})",
                Unit::Bytes.show(*footprint),
                Unit::Nanoseconds.show(ns.estimate)
            );
            Some(Point { x: *footprint, y: ns.estimate, words: Some(words) })
        };
        let points: Vec<Point> = line.cells.iter().filter_map(point).collect();
        if !points.is_empty() {
            plot.line(look, tasks, &points);
        }
    }
    let (drawn, lost) = plot.finish(&format!("{title} over the footprint"));
    figure.picture.extend(drawn);
    if lost > 0 {
        figure.notes.push(format!(
            "{} no place: a logarithmic axis begins above zero (an empty array has no footprint, and a difference can \
             be below zero). The numbers are in the table.",
            plural(lost, "cell has", "cells have")
        ));
    }
    figure.notes.extend(knees(runs));
    Some(figure)
}

/// The sizes of data caches of all hosts, each with the names of those that have it.
fn caches(runs: &Runs) -> BTreeMap<u64, String> {
    let mut caches: BTreeMap<u64, String> = BTreeMap::new();
    for cache in runs.all.iter().flat_map(|one| &one.run.host.caches) {
        if cache.kind != "Instruction" && cache.bytes > 0 {
            let name = format!("L{}", cache.level);
            let names = caches.entry(cache.bytes).or_default();
            if !names.split(", ").any(|there| there == name) {
                names.push_str(if names.is_empty() { "" } else { ", " });
                names.push_str(&name);
            }
        }
    }
    caches
}

/// What the fit found.
fn knees(runs: &Runs) -> Vec<String> {
    let of = |(n, it): (usize, &Measurement)| {
        let cache = it.asked.knee()?.cache.as_deref().map(clean)?;
        let knee = it.found.knee()?.knee_bytes.filter(|_| it.status == Status::Measured)?;
        Some(format!(
            "{}{cache}: refill begins at a footprint of {}.",
            runs.before(n),
            Unit::Bytes.show(knee as f64)
        ))
    };
    let rows = runs.all.iter().enumerate().flat_map(|(n, one)| one.run.results.iter().map(move |it| (n, it)));
    rows.filter(|(_, it)| it.probe == KNEE).filter_map(of).collect()
}

fn table(runs: &Runs, lines: &[Line], title: &str, of: &fn(&Measurement) -> Option<Estimate>) -> Table {
    let columns = [
        ("run", false),
        ("tasks", true),
        ("array", true),
        ("footprint", true),
        ("ns", true),
        ("low", true),
        ("high", true),
    ];
    let mut table = Table::data(format!("{title}, nanoseconds for each hop"), &columns);
    for line in lines {
        for (footprint, it) in &line.cells {
            let Some(ns) = of(it) else { continue };
            let bytes = |bytes: f64| Cell::shown(Unit::Bytes.show(bytes), bytes);
            table.row([
                Cell::text(&runs.one(line.run).letter),
                Cell::count(line.procs.max(0.0) as u64),
                bytes(it.asked.ring().map_or(f64::NAN, |ring| ring.size as f64)),
                bytes(*footprint),
                Cell::number(ns.estimate),
                Cell::maybe(ns.is_measured().then_some(ns.ci[0])),
                Cell::maybe(ns.is_measured().then_some(ns.ci[1])),
            ]);
        }
    }
    if runs.are_several() { table } else { table.without(0) }
}
