//! The ladder: every boundary in one table, cheapest first.

mod row;

use crate::bar;
use crate::head::head;
use crate::notes::notes;
use crate::style::{Paint, Style};
use crate::switch::versions;
use crate::table::{Column, TextCell, TextTable};
use crate::text::{clean, lines, list, wrap};
use crate::words;
use row::{EXTRAS, Rung};
use std::collections::{BTreeMap, BTreeSet};
use tollgate_record::{Measurement, Per, Run, Status};

/// A name longer than this is shortened before a column is dropped.
const NAME: usize = 16;
/// The proof also.
const PROOF: usize = 10;
/// As many probes are named with the reason for their skip.
const REASONED: usize = 3;

/// One boundary: its title and its rows, cheapest first.
struct Family {
    title: String,
    rows: Vec<Rung>,
}

/// The whole table of a run. Every result of the record is in it: measured and failed ones as rows,
/// skipped ones in the count at the end.
pub(crate) fn ladder(run: &Run, style: &Style) -> String {
    let families = families(run, style);
    let mut text = head(run, style);
    text.push(String::new());
    if families.is_empty() {
        text.extend(nothing(run, style));
    }
    let has =
        |at: &usize| families.iter().flat_map(|family| &family.rows).any(|row| !row.extras[*at].is_empty());
    let extras: Vec<usize> = (0..EXTRAS.len()).filter(has).collect();
    let mut table = columns(&extras, style);
    for family in &families {
        table.heading(family.title.as_str(), Paint::Bold);
        family.rows.iter().for_each(|row| add(&mut table, row, &extras, *style));
    }
    text.extend(table.lines(style));
    text.extend(versions(&run.results, style));
    text.push(String::new());
    text.extend(notes(run, style));
    if families.iter().flat_map(|family| &family.rows).any(|row| row.noted) {
        text.push("  * see the warnings".into());
    }
    lines(text)
}

/// In a narrow terminal the bar gives way first, then names are shortened, then p99 and the cycles are dropped; the
/// figure, its interval and the proof stay.
fn columns(extras: &[usize], style: &Style) -> TextTable {
    let style = *style;
    let axis = TextCell::drawn(move |columns| format!(" {}", bar::axis(columns - 2, &style)));
    let figures = [
        Column::left("").least(NAME),
        Column::right("ns"),
        Column::right("cycles").rank(1),
        Column::right(style.plus_minus()),
        Column::right("p99").rank(2),
    ];
    let extras = extras.iter().map(|&at| Column::right(EXTRAS[at].title).rank(EXTRAS[at].rank));
    let last = [
        Column::left(axis).most(bar::LONGEST + 2).least(bar::SHORTEST + 2).rank(3),
        Column::left("proof").most(style.columns() * 2 / 7).least(PROOF),
    ];
    TextTable::new(figures.into_iter().chain(extras).chain(last)).indent(2).gap(if row::is_narrow(&style) {
        1
    } else {
        2
    })
}

fn add(table: &mut TextTable, row: &Rung, extras: &[usize], style: Style) {
    if let Some(failure) = &row.failure {
        return table.prose([row.name.as_str()], failure.as_str(), Paint::Bad);
    }
    let line = row.bar;
    let drawn = TextCell::drawn(move |columns| {
        let bar = bar::draw(line, columns - 2, &style);
        if bar.is_empty() { bar } else { format!(" {bar}") }
    });
    let proof = TextCell::from(row.proof.as_str());
    let proof = if row.disagrees { proof.tail(" (!)").paint(Paint::Warn) } else { proof };
    let extras = extras.iter().map(|&at| &row.extras[at]);
    let figures = row.figures.iter().chain(extras).map(|figure| TextCell::from(figure.as_str()));
    let cells =
        std::iter::once(row.name.as_str().into()).chain(figures).chain([drawn.paint(Paint::Bar), proof]);
    table.row(cells);
}

/// Why the table is empty: each reason once, with the probes that it concerns.
fn nothing(run: &Run, style: &Style) -> Vec<String> {
    if run.results.is_empty() {
        let why = "Nothing was measured: no probe was chosen, or none came to its end.";
        return wrap(why, style.prose(), "");
    }
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for row in &run.results {
        let said = row.reason.iter().chain(&row.enable).map(|text| clean(text, style));
        let why = said.collect::<Vec<_>>().join("; ");
        let at = reasons.iter().position(|(known, _)| *known == why).unwrap_or_else(|| {
            reasons.push((why, Vec::new()));
            reasons.len() - 1
        });
        reasons[at].1.push(clean(&row.probe, style));
    }
    let reasons = reasons.iter().map(|(why, probes)| format!("{}: {why}", list(probes, REASONED)));
    let mut text = wrap("Nothing was measured: every probe was skipped.", style.prose(), "");
    text.extend(reasons.flat_map(|reason| wrap(&reason, style.prose(), "  - ")));
    text
}

/// The rows by boundary, in the order of each boundary's cheapest row.
fn families(run: &Run, style: &Style) -> Vec<Family> {
    let mut by_name: BTreeMap<(Option<&str>, &str), Vec<&Measurement>> = BTreeMap::new();
    for result in run.results.iter().filter(|result| result.status != Status::Skipped) {
        let by = words::is_emulated(result).then_some(result.engine.as_str());
        by_name.entry((by, result.family())).or_default().push(result);
    }
    let common = common_codes(run);
    let family = |((by, name), results): ((Option<&str>, &str), Vec<&Measurement>)| {
        let mut family = family(name, &results, &common, style);
        if let Some(engine) = by {
            let engine = clean(engine, style);
            family.title = format!("Emulated by {engine}, not this machine's hardware: {}", family.title);
        }
        (by.is_some(), family)
    };
    let mut families: Vec<(bool, Family)> = by_name.into_iter().map(family).collect();
    let cheapest = |family: &Family| family.rows.first().map_or(f64::INFINITY, |row| row.order);
    // An emulator's figures are not rungs: they are below all others.
    families.sort_by(|(a_is, a), (b_is, b)| a_is.cmp(b_is).then(cheapest(a).total_cmp(&cheapest(b))));
    families.into_iter().map(|(_, family)| family).collect()
}

/// The warnings that most rows of a long table carry. They are listed below it like all others, but a
/// mark on every row tells nothing, and would hide those that do.
fn common_codes(run: &Run) -> BTreeSet<&str> {
    const LONG: usize = 8;
    let measured = run.results.iter().filter(|result| result.status == Status::Measured);
    let rows = measured.clone().count();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for result in measured {
        let codes: BTreeSet<&str> = result.warnings.iter().map(|warning| warning.code.as_str()).collect();
        codes.into_iter().for_each(|code| *counts.entry(code).or_default() += 1);
    }
    counts.retain(|_, count| rows > LONG && *count * 2 > rows);
    counts.into_keys().collect()
}

fn family(name: &str, results: &[&Measurement], common: &BTreeSet<&str>, style: &Style) -> Family {
    let known = words::family(name);
    let per = common_per(results, known.map(|(_, per)| per));
    let mut title = known.map_or_else(|| clean(name, style), |(title, _)| title.to_owned());
    if title.is_empty() {
        title = "(no name)".into();
    }
    if known.is_none_or(|(_, usual)| usual != per) {
        title = format!("{title}, per {}", per.word());
    }
    let mut rows: Vec<Rung> =
        results.iter().map(|result| Rung::new(result, results, per, common, style)).collect();
    rows.sort_by(|a, b| a.order.total_cmp(&b.order));
    Family { title, rows }
}

/// What most figures of the family stand for; the family's usual unit when that is as frequent.
fn common_per(results: &[&Measurement], usual: Option<Per>) -> Per {
    let count = |per: Per| {
        results.iter().filter(|result| result.per == per).count() * 2 + usize::from(Some(per) == usual)
    };
    results.iter().map(|result| result.per).max_by_key(|per| count(*per)).or(usual).unwrap_or(Per::Call)
}
