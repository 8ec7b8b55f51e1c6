//! Bills: what a crossing is made of, by phase and, where it is known, by cause. Parts of a total are beside each other, to
//! the right of zero; negative ones to the left of it.

mod item;

use super::emulated;
use super::runs::{PageRow, Runs};
use crate::chart::mark::{self, COLORS, Look};
use crate::chart::scale::extent;
use crate::chart::{Figure, Scale, Unit, rungs};
use crate::markup::{clean, percent as width};
use crate::sheet::{Cell, Table};
use indexmap::IndexSet;
use item::{Bill, Item, REST, evidence};
use maud::{Markup, html};
use std::collections::BTreeSet;
use tollgate_record::number::percent;
use tollgate_record::{Measurement, phase};

/// Height of one bar in pixels, and of the one of causes below it.
const BAR: f64 = 18.0;
const CAUSE_BAR: f64 = 8.0;
const GAP: f64 = 2.0;

/// Rows whose parts are listed below their bar; of more rows the legend and the table must do.
const LISTED: usize = 14;

/// Parts are shown as shares when the totals of a family differ by more than this, or the smallest would vanish.
const RATIO: f64 = 8.0;

/// Where the colors of causes begin, so that they are not those of the first phases.
const CAUSES: usize = 3;

/// The bills of one family on one engine, in one unit.
struct Group<'a> {
    title: String,
    measure: &'static str,
    rows: Vec<(PageRow<'a>, Vec<(usize, Bill)>)>,
    /// The parts of all its rows.
    parts: BTreeSet<String>,
}

pub(super) fn section(runs: &Runs) -> Markup {
    let mut groups: Vec<Group> = Vec::new();
    // Programs have a section of their own.
    for row in runs.rows(|result| !result.phases.is_empty() && result.family() != "exec") {
        let bills: Vec<(usize, Bill)> =
            row.results.iter().filter_map(|(n, it)| Some((*n, Bill::of(it)?))).collect();
        let Some(measure) = bills.first().map(|(_, bill)| bill.measure) else { continue };
        let engine = clean(&row.results[0].1.engine);
        let mut title = emulated::title(row.results[0].1);
        if !emulated::is(row.results[0].1) && !matches!(engine.as_str(), "host" | "embedded") {
            title = format!("{title}, {engine}");
        }
        // A color stands for one part: rows whose parts need more colors than there are have a figure of their own.
        let parts = bills.iter().flat_map(|(_, bill)| &bill.items).map(|item| item.name.clone());
        let parts: BTreeSet<String> = parts.filter(|name| *name != REST).collect();
        let fits = |group: &&mut Group| {
            let more = parts.difference(&group.parts).count();
            group.title == title && group.measure == measure && group.parts.len() + more <= COLORS
        };
        match groups.iter_mut().find(fits) {
            Some(group) => {
                group.rows.push((row, bills));
                group.parts.extend(parts);
            }
            None => groups.push(Group { title, measure, rows: vec![(row, bills)], parts }),
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
    html! {
        @if !groups.is_empty() {
            p.lead {
                "Each bar is one crossing, its parts beside each other; the line at its end is the total as it was measured by \
                 itself. A part below zero is to the left of zero: differences are never clamped. What no part accounts for \
                 is hatched."
            }
        }
        @for proof in proofs(runs) { p { (proof) } }
        @for group in &groups { (figure(runs, group)) }
        (runs.remarks(simulated))
    }
}

/// How near the simulated cores are to the RTL that they model, one sentence each.
fn proofs(runs: &Runs) -> BTreeSet<String> {
    let results = runs.all.iter().flat_map(|one| &one.run.results);
    let proofs = results.filter_map(|result| {
        let core = result.asked.trap().map(|asked| &asked.core);
        let core = core.or_else(|| Some(&result.asked.program()?.core))?.as_deref()?;
        let proof = result.found.trap().map(|found| &found.proof);
        let proof = proof.or_else(|| Some(&result.found.program()?.proof))?.as_deref()?;
        Some(format!("{} against its RTL: {}.", clean(core), clean(proof)))
    });
    proofs.collect()
}

/// The CPU time of programs. Time off the CPU does not belong to it.
pub(super) fn programs(runs: &Runs) -> Markup {
    let rows = runs.rows(|result| result.found.exec().is_some()).into_iter().filter_map(|row| {
        let on_cpu = |it: &Measurement| {
            let mut it = it.clone();
            it.phases.retain(|part| part.name != phase::WAITING && part.name != phase::COUNTING);
            Bill::of(&it)
        };
        let bills: Vec<(usize, Bill)> =
            row.results.iter().filter_map(|(n, it)| Some((*n, on_cpu(it)?))).collect();
        (!bills.is_empty()).then_some((row, bills))
    });
    let group = Group {
        title: "Where the CPU time went".into(),
        measure: "ns",
        rows: rows.collect(),
        parts: BTreeSet::new(),
    };
    html! { @if !group.rows.is_empty() { (figure(runs, &group)) } }
}

/// What the bars of one figure share.
struct Bars<'a> {
    runs: &'a Runs<'a>,
    scale: Scale,
    /// Whether parts are shown as shares of their own total, in per cent.
    relative: bool,
    phases: IndexSet<&'a str>,
    causes: IndexSet<&'a str>,
}

fn figure(runs: &Runs, group: &Group) -> Markup {
    let all =
        || group.rows.iter().flat_map(|(row, bills)| bills.iter().map(move |(n, bill)| (row, *n, bill)));
    let (good, bad): (Vec<_>, Vec<_>) = all().partition(|(_, _, bill)| bill.adds_up());
    let totals = good.iter().map(|(_, _, bill)| bill.total.abs()).filter(|total| *total > 0.0);
    let (low, high) = extent(totals);
    let mut bars = Bars {
        runs,
        scale: Scale::between(0.0, 1.0),
        relative: high / low > RATIO,
        phases: all().flat_map(|(_, _, bill)| &bill.items).map(|item| item.name.as_str()).collect(),
        causes: all().flat_map(|(_, _, bill)| &bill.causes).map(|item| item.name.as_str()).collect(),
    };
    bars.scale = Scale::around(good.iter().flat_map(|(_, _, bill)| bars.ends(bill)));
    let mut figure = Figure::new(&group.title, "", table(runs, group));
    for (names, first, says) in [(&bars.phases, 0, ""), (&bars.causes, CAUSES, "the thin bar, by cause:")] {
        if !names.is_empty() {
            figure.picture.push(html! {
                ul.legend {
                    @if !says.is_empty() { li.says { (says) } }
                    @for name in names { li { (swatch(fill(name, names, first))) (clean(name)) } }
                }
            });
        }
    }
    let mut unit = Unit::named(group.measure);
    if bars.relative {
        unit = Unit::Other("%".into());
        figure.lead =
            "Parts as shares of each row's own total, since the totals are too far apart for one scale."
                .into();
    }
    figure.picture.push(rungs::axis(&bars.scale, &unit, &[]));
    let listed = group.rows.len() <= LISTED && !runs.are_several();
    figure.picture.push(html! {
        ol class="rungs bills" { @for (row, n, bill) in good { (bars.row(row, n, bill, listed)) } }
    });
    figure.notes.extend(bad.into_iter().map(|(row, n, bill)| {
        format!(
            "{}{}: the parts add up to {} and the total is {}, so they are not parts of it; they are in the table.",
            runs.before(n),
            row.name,
            bill.show(bill.sum(|part| part)),
            bill.show(bill.total),
        )
    }));
    figure.element()
}

/// The color of a part, and the class that says how it is filled.
fn fill(name: &str, names: &IndexSet<&str>, first: usize) -> (Look, &'static str) {
    if name == REST {
        return (Look::nth(COLORS - 1), "part hatched");
    }
    let n = first + names.iter().filter(|there| **there != REST).take_while(|there| **there != name).count();
    // Where colors come round again the second lot has a pattern's edge.
    (Look::nth(n), if n >= COLORS { "part again" } else { "part" })
}

/// What stands for a fill in a legend.
fn swatch((look, class): (Look, &str)) -> Markup {
    mark::small(&look.class(), 12, html! { rect class=(class) width="12" height="12" {} })
}

impl Bars<'_> {
    /// What the numbers of a bill are divided by.
    fn unit(&self, bill: &Bill) -> f64 {
        if self.relative { bill.total.abs() / 100.0 } else { 1.0 }
    }

    /// The numbers between which a bar reaches: from the sum of what is negative to the larger of total and sum of what
    /// is positive.
    fn ends(&self, bill: &Bill) -> [f64; 2] {
        let sum = |of: &[Item], sign: f64| -> f64 {
            let numbers = of.iter().map(|item| item.number / self.unit(bill));
            numbers.filter(|number| number * sign > 0.0).sum()
        };
        let total = bill.total / self.unit(bill);
        [sum(&bill.items, -1.0).min(total), sum(&bill.items, 1.0).max(sum(&bill.causes, 1.0)).max(total)]
    }

    /// The bar on a track as wide as its column; `name` is of the row, `n` of the run.
    fn track(&self, name: &str, n: usize, bill: &Bill) -> Markup {
        let below = if bill.causes.is_empty() { 0.0 } else { CAUSE_BAR + GAP };
        let height = BAR + below + 6.0;
        let zero = self.scale.near(0.0);
        let stack = |items: &[Item], names: &IndexSet<&str>, first: usize, top: f64, height: f64| {
            let (mut right, mut left, mut drawn) = (0.0, 0.0, Vec::new());
            for item in items {
                let number = item.number / self.unit(bill);
                let end = if number < 0.0 { &mut left } else { &mut right };
                let (from, to) = (*end, *end + number);
                *end = to;
                let place = [from.min(to), from.max(to)].map(|x| self.scale.near(x));
                // What has no width cannot be seen; the table has it.
                if width(place[1] - place[0]) == width(0.0) {
                    continue;
                }
                let (look, class) = fill(&item.name, names, first);
                let class = if number < 0.0 && item.name != REST { "part negative" } else { class };
                let words = format!("{}{name}, {}", self.runs.before(n), bill.said(item));
                drawn.push(mark::mark(&look.class(), &words, mark::rect(class, place, top, height)));
            }
            drawn
        };
        mark::track(
            height,
            html! {
                @for part in stack(&bill.items, &self.phases, 0, 3.0, BAR) { (part) }
                @for part in stack(&bill.causes, &self.causes, CAUSES, 3.0 + BAR + GAP, CAUSE_BAR) { (part) }
                (mark::line("base", (zero, 0.0), (zero, height)))
                @if let Some(at) = self.scale.at(bill.total / self.unit(bill)) {
                    (mark::line("total", (at, 0.0), (at, BAR + 6.0)))
                }
            },
        )
    }

    fn row(&self, row: &PageRow, n: usize, bill: &Bill, listed: bool) -> Markup {
        let run = self.runs.one(n);
        let share = |part: &Item| match bill.total > 0.0 {
            true => format!(" · {}", signed_percent(part.number / bill.total)),
            false => String::new(),
        };
        html! {
            li.rung data-name=(row.name) {
                span.name {
                    @if self.runs.are_several() { (mark::swatch(run.look)) (run.letter) " " }
                    (clean(row.short()))
                }
                (self.track(&row.name, n, bill))
                span.figures {
                    span.one {
                        b { (bill.show(bill.total)) }
                        @if let Some(half) = bill.half { " " i { "± " (percent(half / bill.total.abs())) } }
                    }
                }
                @if listed {
                    ul.parts {
                        @for part in &bill.items {
                            li {
                                (swatch(fill(&part.name, &self.phases, 0)))
                                (clean(&part.name)) " "
                                b { (bill.show(part.number)) } " "
                                i { (clean(&format!("{}{} · {}", bill.plus_minus(part), share(part), evidence(part.evidence)))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn signed_percent(share: f64) -> String {
    percent(share).replace('-', "−")
}

fn table(runs: &Runs, group: &Group) -> Table {
    let columns = [
        ("crossing", false),
        ("run", false),
        ("part", false),
        (group.measure, true),
        ("low", true),
        ("high", true),
        ("share", true),
        ("instructions", true),
        ("evidence", false),
        ("causes, cycles", false),
    ];
    let mut table = Table::data(format!("{}: parts of each crossing", group.title), &columns);
    for (row, bills) in &group.rows {
        for (n, bill) in bills {
            let total = bill.as_item();
            for item in bill.items.iter().chain([&total]) {
                let share = item.number / bill.total;
                table.row([
                    Cell::text(&row.name),
                    Cell::text(&runs.one(*n).letter),
                    Cell::text(&item.name),
                    Cell::number(item.number),
                    Cell::maybe(item.interval.map(|ci| ci[0])),
                    Cell::maybe(item.interval.map(|ci| ci[1])),
                    if share.is_finite() {
                        Cell::shown(signed_percent(share), share)
                    } else {
                        Cell::from("")
                    },
                    Cell::maybe(item.instructions),
                    Cell::text(evidence(item.evidence)),
                    Cell::text(&item.causes),
                ]);
            }
        }
    }
    if runs.are_several() { table } else { table.without(1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::finish;

    #[test]
    fn negative_parts_go_to_the_left_of_zero() {
        let items = [60.0, -20.0, 50.0].map(|number| Item { number, ..Item::default() }).to_vec();
        let bill = Bill { measure: "ns", items, causes: Vec::new(), total: 90.0, half: None };
        let (phases, causes) = (IndexSet::from([""]), IndexSet::new());
        let scale = Scale::between(-20.0, 180.0);
        let bars = Bars { runs: &Runs::new(&[]), scale, relative: false, phases, causes };
        assert_eq!(bars.ends(&bill), [-20.0, 110.0]);
        let text = finish(bars.track("", 0, &bill));
        for (x, width) in [("10%", "30%"), ("0%", "10%"), ("40%", "25%")] {
            assert!(text.contains(&format!("x=\"{x}\" y=\"3\" width=\"{width}\"")), "{text}");
        }
    }
}
