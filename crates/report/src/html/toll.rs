//! The toll of a program: a bar of its CPU time, and what it crossed, the most expensive first.

use super::bills;
use super::runs::Runs;
use crate::chart::{Figure, Scale, Unit, mark, rungs};
use crate::exec::callers;
use crate::markup::clean;
use crate::sheet::{Cell, Table};
use maud::{Markup, html};
use tollgate_record::number::{count, percent};
use tollgate_record::{Measurement, Run, counter, phase};

/// As many boundaries of a run are drawn; the table has all.
const SHOWN: usize = 15;
/// Height of a bar in pixels.
const BAR: f64 = 18.0;

pub(super) fn section(runs: &Runs) -> Markup {
    let programs: Vec<(usize, &Measurement)> = runs
        .all
        .iter()
        .enumerate()
        .flat_map(|(n, one)| one.run.results.iter().map(move |result| (n, result)))
        .filter(|(_, result)| result.found.exec().is_some())
        .collect();
    html! {
        @if !programs.is_empty() {
            p.lead {
                "Where the CPU time of a program went, and what it crossed. A toll is the way into the kernel and back; the kernel's \
                 work is what the program asked for there."
            }
        }
        (bills::programs(runs))
        @for (n, whole) in &programs {
            (crossings(runs, *n, whole))
            (call_sites(runs, *n, whole))
        }
        (runs.remarks(|it| it.family() == "exec"))
    }
}

/// The rows of boundaries of a run.
fn tolls(run: &Run) -> impl Iterator<Item = &Measurement> {
    run.results.iter().filter(|row| row.found.toll().is_some())
}

fn crossings(runs: &Runs, n: usize, whole: &Measurement) -> Markup {
    let run = &runs.one(n).run;
    let command = whole.asked.exec().map(|asked| asked.command.join(" ")).unwrap_or_default();
    let title = format!("{}What {} crossed", runs.before(n), clean(&command));
    let mut figure = Figure::new(&title, "", table(run, whole));
    let priced: Vec<(&Measurement, f64)> =
        tolls(run).filter_map(|row| Some((row, row.ns?.estimate))).take(SHOWN).collect();
    if !priced.is_empty() {
        let scale = Scale::around(priced.iter().map(|(_, ns)| *ns));
        figure.picture.push(rungs::axis(&scale, &Unit::Nanoseconds, &[]));
        figure.picture.push(html! {
            ol class="rungs bills" { @for (row, ns) in &priced { (bar(row, *ns, whole, &scale)) } }
        });
    }
    let left_out = tolls(run).count() - priced.len();
    if left_out > 0 {
        figure.notes.push(format!("{left_out} more are in the table."));
    }
    figure.element()
}

/// The places that pay most, as a table.
fn call_sites(runs: &Runs, n: usize, whole: &Measurement) -> Markup {
    let Some(found) = whole.found.exec().filter(|found| !found.sites.is_empty()) else { return html! {} };
    let columns = [("boundary", false), ("count", true), ("sum, ns", true), ("share", true), ("from", false)];
    let mut table = Table::data("The call sites that pay most", &columns);
    for site in &found.sites {
        let ns = site.ns.map(|[ns, ..]| ns);
        let share = ns.zip(whole.ns).map(|(ns, all)| ns / all.estimate).filter(|share| share.is_finite());
        table.row([
            Cell::text(format!("{} {}", site.kind, site.name)),
            Cell::count(site.crossings),
            Cell::maybe(ns),
            share.map_or(Cell::from(""), |share| Cell::shown(percent(share), share)),
            Cell::text(callers(site, site.frames.len())),
        ]);
    }
    html! {
        h3 { (runs.before(n)) "The call sites that pay most" }
        (table.element())
    }
}

/// The kind and the name: `system call read`.
fn name(row: &Measurement) -> String {
    row.found.toll().map_or_else(String::new, |toll| clean(&format!("{} {}", toll.kind, toll.name)))
}

fn bar(row: &Measurement, ns: f64, whole: &Measurement, scale: &Scale) -> Markup {
    let of = |it: f64| percent(it / whole.ns.map_or(f64::NAN, |ns| ns.estimate));
    let shown = Unit::Nanoseconds.show(ns);
    let words = format!("{}, {} times: {shown}, {} of the CPU time", name(row), count(row.crossings), of(ns));
    let (zero, end) = (scale.near(0.0), scale.near(ns));
    let drawing = mark::rect("part", [zero.min(end), zero.max(end)], 3.0, BAR);
    html! {
        li.rung data-name=(row.probe) {
            span.name { (name(row)) }
            (mark::track(BAR + 6.0, mark::mark(&mark::Look::nth(0).class(), &words, drawing)))
            span.figures { span.one { b { (shown) } " " i { (count(row.crossings)) " · " (of(ns)) } } }
        }
    }
}

fn table(run: &Run, whole: &Measurement) -> Table {
    let columns = [
        ("kind", false),
        ("boundary", false),
        ("count", true),
        ("a second", true),
        ("toll each, ns", true),
        ("kernel each, ns", true),
        ("sum, ns", true),
        ("share", true),
    ];
    let mut table = Table::data("What the program crossed", &columns);
    let wall = whole.counter(counter::ELAPSED).filter(|wall| *wall > 0.0);
    for row in tolls(run) {
        let Some(toll) = row.found.toll() else { continue };
        let each = |name| Some(row.phase(name)?.ns?.estimate / row.crossings.max(1) as f64);
        let share = row.ns.zip(whole.ns).map(|(ns, all)| ns.estimate / all.estimate);
        table.row([
            Cell::text(&toll.kind),
            Cell::text(&toll.name),
            Cell::count(row.crossings),
            Cell::maybe(wall.map(|wall| row.crossings as f64 / wall)),
            Cell::maybe(toll.price_ns.map(|[price, ..]| price)),
            Cell::maybe(each(phase::KERNEL_WORK)),
            Cell::maybe(row.ns.map(|ns| ns.estimate)),
            share
                .filter(|share| share.is_finite())
                .map_or(Cell::from(""), |share| Cell::shown(percent(share), share)),
        ]);
    }
    table
}
