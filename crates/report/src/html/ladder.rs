//! The ladder: every boundary on one logarithmic axis, cheapest first, with what could not be measured in its place.

use super::runs::{PageRow, Runs};
use super::{emulated, method};
use crate::chart::mark::{self, Look};
use crate::chart::scale::extent;
use crate::chart::{Figure, Scale, Unit, rungs};
use crate::markup::{clean, percent as width};
use crate::remarks::{Remark, remarks, sentence};
use crate::sheet::{Cell, Table};
use crate::words;
use indexmap::{IndexMap, IndexSet};
use maud::{Markup, html};
use std::collections::BTreeMap;
use tollgate_record::number::{half_share, per_crossing, plural};
use tollgate_record::{Estimate, Measurement, Status};

/// A sentence of so many bytes is not repeated in a family.
const LONG: usize = 60;

pub(super) fn section(runs: &Runs) -> Markup {
    let rows = runs.rows(|result| super::runs::is_rung(result) && !emulated::is(result));
    figure(runs, rows, &lead(runs))
}

/// The rows that an emulator made: like those of the ladder, but never among them.
pub(super) fn emulated(runs: &Runs) -> Markup {
    let lead = "These figures are those of software that plays a processor, or a part of it. They say what the emulator \
                takes, nothing of what this machine's hardware would, and no bill is split by them.";
    figure(runs, runs.rows(emulated::is), lead)
}

/// The rows as boundaries on one axis, with a table behind them; nothing when there are none.
fn figure(runs: &Runs, rows: Vec<PageRow>, lead: &str) -> Markup {
    if rows.is_empty() {
        return html! {};
    }
    let figures: Vec<Estimate> =
        rows.iter().flat_map(|row| &row.results).filter_map(|(_, it)| it.ns).collect();
    let scale = Scale::decades(figures.iter().map(|ns| ns.estimate));
    let common = common(&rows);
    let mut figure = Figure::new("", lead, table(runs, &rows));
    if figures.iter().any(|ns| rungs::is_drawn(&scale, ns)) {
        let look = runs.one(0).look;
        let swatch = mark::small(
            &look.class(),
            28,
            html! {
                rect.interval x="1" y="4.5" width="26" height="5" {}
                use href={ "#shape" (look.shape) } x="14" y="7" {}
            },
        );
        let what = "the 95 % interval, where it is wider than the mark";
        figure.picture.push(mark::legend([(swatch, what.into())]));
    }
    if !figures.is_empty() {
        figure.picture.push(rungs::axis(&scale, &Unit::Nanoseconds, &runs.key()));
    }
    let step = format!("--step:{}", width(1.0 / (scale.high / scale.low).log10().max(1.0)));
    for ((title, per), rows) in families(rows) {
        let mut told = BTreeMap::new();
        let why = emulated::why(&rows);
        figure.picture.push(html! {
            section.family {
                h3 { (clean(&title)) span.per { "per " (per) } }
                @if !why.is_empty() { ul.why { @for text in why { li.warning { (clean(text)) } } } }
                ol class="rungs decades" style=(step) {
                    @for row in &rows { (rung(runs, row, &scale, &common, &mut told)) }
                }
            }
        });
    }
    let below = figures.iter().filter(|ns| ns.estimate <= 0.0).count();
    if below > 0 {
        figure.notes.push(format!(
            "{} at or below zero: a logarithmic axis has no place for them; the numbers are in their rows.",
            plural(below, "figure is", "figures are"),
        ));
    }
    figure.notes.extend(common.into_values());
    figure.element()
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
fn common<'a>(rows: &[PageRow<'a>]) -> BTreeMap<&'a str, String> {
    let is_measured = |row: &&PageRow| row.results.iter().any(|(_, it)| it.status == Status::Measured);
    let measured = rows.iter().filter(is_measured).count();
    let mut found: BTreeMap<&str, (IndexSet<usize>, &str)> = BTreeMap::new();
    for (row, (_, it)) in
        rows.iter().enumerate().flat_map(|(n, row)| row.results.iter().map(move |it| (n, it)))
    {
        // Where figures are emulated their heading says so.
        for warning in it.warnings.iter().filter(|it| it.code != words::EMULATED) {
            found.entry(&warning.code).or_insert_with(|| (IndexSet::new(), &warning.text)).0.insert(row);
        }
    }
    let often = found.into_iter().filter(|(_, (rows, _))| measured > 8 && rows.len() * 2 > measured);
    often
        .map(|(code, (rows, text))| {
            (code, format!("In {} of {measured} rows ({code}), for example: {text}", rows.len()))
        })
        .collect()
}

/// The rows by boundary and what a figure stands for, cheapest boundary and cheapest row first.
fn families<'a>(rows: Vec<PageRow<'a>>) -> IndexMap<(String, &'static str), Vec<PageRow<'a>>> {
    let mut families: IndexMap<(String, &str), Vec<PageRow<'a>>> = IndexMap::new();
    for row in rows {
        let first = row.results[0].1;
        families.entry((emulated::title(first), first.per.word())).or_default().push(row);
    }
    for rows in families.values_mut() {
        rows.sort_by(|a, b| cheapest(a).total_cmp(&cheapest(b)));
    }
    families.sort_by(|_, a, _, b| cheapest(&a[0]).total_cmp(&cheapest(&b[0])));
    // Figures of one boundary that stand for other things follow its cheapest.
    let order: IndexSet<String> = families.keys().map(|(title, _)| title.clone()).collect();
    families.sort_by_key(|(title, _), _| order.get_index_of(title));
    families
}

fn cheapest(row: &PageRow) -> f64 {
    row.results.iter().filter_map(|(_, it)| Some(it.ns?.estimate)).fold(f64::INFINITY, f64::min)
}

/// One row: name, track, numbers, and the remarks on them. `told` has the long ones of the rows above.
fn rung(
    runs: &Runs,
    row: &PageRow,
    scale: &Scale,
    common: &BTreeMap<&str, String>,
    told: &mut BTreeMap<String, String>,
) -> Markup {
    let figure = |(n, it): &(usize, &Measurement)| {
        let ns = it.ns?;
        let shown = Unit::Nanoseconds.show(ns.estimate);
        let words = format!("{}{} {shown} {}", runs.before(*n), row.name, plus_minus(&ns));
        Some((runs.one(*n).look, ns, words))
    };
    let figures: Vec<(Look, Estimate, String)> = row.results.iter().filter_map(figure).collect();
    let mut notes = notes(runs, row, common);
    for (class, text) in notes.iter_mut().filter(|(_, text)| text.len() >= LONG) {
        // A long sentence that a row above has is not repeated.
        match (told.get(text), *class) {
            (None, _) => drop(told.insert(text.clone(), row.short().to_owned())),
            (Some(first), "skipped") => *text = format!("Skipped, as {first}"),
            (Some(first), "failed") => *text = format!("Failed, as {first}"),
            (Some(first), _) => *text = format!("The same warning as {first}"),
        }
    }
    // The name leads to how the figure was obtained.
    let is_measured = row.results.iter().any(|(_, it)| it.status == Status::Measured);
    let anchor = method::anchor(&row.results[0].1.probe).filter(|_| is_measured);
    let short = clean(row.short());
    html! {
        li.rung data-name=(row.name) {
            span.name { @if let Some(id) = anchor { a href={ "#" (id) } { (short) } } @else { (short) } }
            @if !figures.is_empty() { (rungs::track(scale, &figures)) (numbers(runs, &figures)) }
            @if !notes.is_empty() { ul.why { @for (class, text) in notes { li.(class) { (clean(&text)) } } } }
        }
    }
}

/// Half of the interval: a share where there is something to be a share of, otherwise nanoseconds.
fn plus_minus(ns: &Estimate) -> String {
    match ns.estimate > 0.0 || !ns.is_measured() {
        true => format!("± {}", half_share(ns)),
        false => format!("± {}", Unit::Nanoseconds.show(ns.half_width())),
    }
}

/// The numbers at the right: of each run, or from the lowest to the highest when there are many.
fn numbers(runs: &Runs, figures: &[(Look, Estimate, String)]) -> Markup {
    let show = |ns: f64| Unit::Nanoseconds.show(ns);
    html! {
        span.figures {
            @if figures.len() > rungs::APART {
                b { (range(show, figures.iter().map(|(_, ns, _)| ns.estimate))) }
                i { (plural(figures.len(), "run", "runs")) }
            } @else {
                @for (look, ns, _) in figures {
                    span.one {
                        @if runs.are_several() { (mark::swatch(*look)) }
                        b { (show(ns.estimate)) } " " i { (plus_minus(ns)) }
                    }
                }
            }
        }
    }
}

/// From the lowest figure to the highest; where both are written the same, that.
pub(super) fn range(show: impl Fn(f64) -> String, figures: impl Iterator<Item = f64>) -> String {
    let (low, high) = extent(figures);
    let (low, high) = (show(low), show(high));
    if low == high { low } else { format!("{low} – {high}") }
}

/// Why there is no figure, and warnings, each once for the runs that share it. Of many runs with the same warning and
/// other figures the first speaks for all.
fn notes(runs: &Runs, row: &PageRow, common: &BTreeMap<&str, String>) -> Vec<(&'static str, String)> {
    let many = row.results.len() > rungs::APART;
    let mut notes = remarks(row.results.iter().copied(), |it| {
        let is_own = it.code != words::EMULATED && !common.contains_key(it.code.as_str());
        is_own.then(|| if many { &it.code } else { sentence(it) })
    });
    let counted = row.results.iter().filter(|(_, it)| it.status == Status::Measured && it.ns.is_none());
    let counted: IndexSet<usize> = counted.map(|(n, _)| *n).collect();
    if !counted.is_empty() {
        let text = "Counted, not timed: see its bill, and the table.".into();
        notes.push(Remark { class: "skipped", text, varies: false, of: counted });
    }
    notes.sort_by_key(|it| (it.class == "warning", it.of.first().copied()));
    let said = |it: Remark<usize>| {
        let letters: Vec<&str> = it.of.iter().map(|n| runs.one(*n).letter.as_str()).collect();
        let before =
            if letters.len() == runs.all.len() { String::new() } else { format!("{}: ", letters.join(", ")) };
        let mut text = it.words();
        if let Some(first) = text.get_mut(..1).filter(|_| it.class != "warning") {
            first.make_ascii_uppercase();
        }
        (it.class, before + &text)
    };
    notes.into_iter().map(said).collect()
}

/// Every number of every run.
fn table(runs: &Runs, rows: &[PageRow]) -> Table {
    let columns = [
        ("probe", false),
        ("run", false),
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
    let mut table = Table::data("Every boundary: headline, 95 % interval, and its evidence", &columns);
    for (row, (n, it)) in rows.iter().flat_map(|row| row.results.iter().map(move |result| (row, result))) {
        let end = |at: usize| Cell::maybe(it.ns.filter(Estimate::is_measured).map(|ns| ns.ci[at]));
        let ns = |of: fn(&Estimate) -> f64| Cell::maybe(it.ns.as_ref().map(of));
        table.row([
            Cell::text(&row.name),
            Cell::text(&runs.one(*n).letter),
            match it.status {
                Status::Measured => ns(|ns| ns.estimate),
                Status::Skipped => Cell::text("skipped"),
                Status::Failed => Cell::text("failed"),
            },
            end(0),
            end(1),
            Cell::maybe(it.cycles.map(|cycles| cycles.estimate)),
            ns(|ns| ns.mean),
            Cell::maybe(it.single.map(|single| single.p99)),
            Cell::count(it.samples),
            Cell::text(it.per.word()),
            Cell::text(proof(it)),
        ]);
    }
    if runs.are_several() { table } else { table.without(1) }
}

fn proof(result: &Measurement) -> String {
    let one =
        |(key, count): (&String, &f64)| format!("{} {}", per_crossing(*count, true), words::counted(key));
    result.proof.iter().chain(&result.counters).map(one).collect::<Vec<_>>().join(", ")
}
