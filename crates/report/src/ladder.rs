//! The ladder: every boundary in one table, cheapest first.

mod row;

use crate::bar;
use crate::head::head;
use crate::namesakes::Namesakes;
use crate::notes::ending;
use crate::sheet::{Cell, Column, Sheet, Table, prose};
use crate::style::{Paint, Style};
use crate::switch::versions;
use crate::text::{clean, list, width};
use crate::words;
use indexmap::IndexMap;
use row::{EXTRAS, Rung};
use std::collections::{BTreeMap, BTreeSet};
use tollgate_record::{Measurement, Per, Run, Status, number};

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
pub(crate) fn ladder(run: &Run, style: &Style) -> Sheet {
    let families = families(run, style);
    let mut text = head(run, style);
    text.blank();
    if families.is_empty() {
        text.extend(nothing(run, style));
    }
    let has =
        |at: &usize| families.iter().flat_map(|family| &family.rows).any(|row| !row.extras[*at].is_empty());
    let extras: Vec<usize> = (0..EXTRAS.len()).filter(has).collect();
    let mut table = columns(&extras, style);
    for family in &families {
        table.heading(family.title.as_str(), Paint::Bold);
        family.rows.iter().for_each(|row| add(&mut table, row, &extras));
    }
    text.extend(Sheet::from(table));
    text.extend(versions(&run.results, style));
    let rows: Vec<&Rung> = families.iter().flat_map(|family| &family.rows).collect();
    text.extend(legend(&rows, style));
    text.blank();
    text.extend(ending(run, learned(run, style), style));
    text
}

/// What each mark means that occurs.
fn legend(rows: &[&Rung], style: &Style) -> Sheet {
    let has = |is: &dyn Fn(&Rung) -> bool| rows.iter().any(|row| row.failure.is_none() && is(row));
    let at_most = style.at_most();
    let marks = [
        (has(&|row| row.noted), "*", "a warning concerns this row"),
        (has(&|row| row.disagrees), "(!)", "the proof disagrees with the claim"),
        (has(&|row| row.more > 0), "+N", "N more counts are in the record"),
        (has(&|row| row.marks[0]), at_most, "no different from zero; the highest value that it may have"),
        (has(&|row| row.marks[1]), "-", "not measured; in p99: or shorter than the clock can time"),
    ];
    let words =
        marks.iter().filter(|(occurs, ..)| *occurs).map(|(_, mark, means)| format!("{mark:<3}  {means}"));
    words.flat_map(|words| prose(words, "  ").paint(Paint::Dim)).collect()
}

/// Rungs that a reader knows, each with what it is called; the first are named where there is room for few.
const KNOWN: [(&str, &str); 6] = [
    ("fault/anonymous", "page fault"),
    ("spawn/fork", "fork"),
    ("thread/futex", "thread switch"),
    ("vm/cpuid", "VM exit"),
    ("process/pipe", "process switch"),
    ("core/futex", "message to another core"),
];

/// How far the rungs are apart, in one line.
fn learned(run: &Run, style: &Style) -> Option<String> {
    let ns = |probe: &str| {
        let is =
            |it: &&Measurement| it.probe == probe && it.status == Status::Measured && !words::is_emulated(it);
        let ns = run.results.iter().find(is)?.ns?;
        (!ns.is_zero_within_error() && ns.estimate.is_finite()).then_some(ns.estimate)
    };
    let call = ns("syscall/getppid")?;
    let times = |x: f64| if x < 10.0 { number::figure(x) } else { number::count(x.round() as u64) };
    let calls = ns("call/direct").map(|direct| format!(" ({} calls)", times(call / direct)));
    let others =
        KNOWN.iter().filter_map(|(probe, what)| Some(format!("{what} {}", times(ns(probe)? / call))));
    let mut others = others.peekable();
    others.peek()?;
    let mut text =
        format!("A system call takes {} ns{}; times that: ", number::figure(call), calls.unwrap_or_default());
    let mut comma = "";
    for other in others {
        if width(&text) + width(comma) + width(&other) < style.prose() || comma.is_empty() {
            text = format!("{text}{comma}{other}");
            comma = ", ";
        }
    }
    Some(text + ".")
}

/// In a narrow terminal the bar gives way first, then names are shortened, then p99 and the cycles are dropped; the
/// figure, its interval and the proof stay.
fn columns(extras: &[usize], style: &Style) -> Table {
    let figures = [
        Column::left("").least(NAME),
        Column::right("ns").quoted(),
        Column::right("cycles").rank(1),
        Column::right(style.plus_minus()),
        Column::right("p99").rank(2),
    ];
    let extras = extras.iter().map(|&at| Column::right(EXTRAS[at].title).rank(EXTRAS[at].rank));
    let last = [
        Column::left(Cell::axis()).most(bar::LONGEST + 2).least(bar::SHORTEST + 2).rank(3),
        Column::left("proof").most(style.columns() * 2 / 7).least(PROOF),
    ];
    Table::new(figures.into_iter().chain(extras).chain(last)).indent(2).gap(if row::is_narrow(style) {
        1
    } else {
        2
    })
}

fn add(table: &mut Table, row: &Rung, extras: &[usize]) {
    if let Some(failure) = &row.failure {
        table.prose([row.name.as_str()], failure.as_str(), Paint::Bad);
        return table.name(row.probe.as_str());
    }
    let proof = Cell::from(row.proof.as_str());
    let proof = match row.more {
        _ if row.disagrees => proof.tail(" (!)").paint(Paint::Warn),
        0 => proof,
        more => proof.tail(format!(" +{more}")),
    };
    let extras = extras.iter().map(|&at| Cell::from(row.extras[at].as_str()));
    let figures = row.figures.iter().cloned().chain(extras);
    table.row([Cell::from(row.name.as_str())].into_iter().chain(figures).chain([Cell::bar(row.ns), proof]));
    table.name(row.probe.as_str());
}

/// Why the table is empty: each reason once, with the probes that it concerns.
fn nothing(run: &Run, style: &Style) -> Sheet {
    if run.results.is_empty() {
        let why = "Nothing was measured: no probe was chosen, or none came to its end.";
        return prose(why, "");
    }
    let mut reasons: IndexMap<String, Vec<String>> = IndexMap::new();
    for row in &run.results {
        let said = row.reason.iter().chain(&row.enable).map(|text| clean(text, style));
        let why = said.collect::<Vec<_>>().join("; ");
        reasons.entry(why).or_default().push(clean(&row.probe, style));
    }
    let reasons = reasons.iter().map(|(why, probes)| format!("{}: {why}", list(probes, REASONED)));
    let mut text = prose("Nothing was measured: every probe was skipped.", "");
    text.extend(reasons.flat_map(|reason| prose(&reason, "  - ")));
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

/// The warnings that are not marked, so that at most half of the rows of a table have a mark: one on nearly every row
/// tells nothing, and hides those that do.
fn common_codes(run: &Run) -> BTreeSet<&str> {
    const SHORT: usize = 3;
    let measured = run.results.iter().filter(|result| result.status == Status::Measured);
    let rows: Vec<BTreeSet<&str>> = measured
        .map(|result| result.warnings.iter().map(|warning| warning.code.as_str()).collect())
        .collect();
    let mut common = BTreeSet::new();
    loop {
        let marked: Vec<&BTreeSet<&str>> = rows
            .iter()
            .filter(|codes| codes.iter().any(|code| !common.contains(code) && !row::is_proof(code)))
            .collect();
        if rows.len() <= SHORT || marked.len() * 2 <= rows.len() {
            return common;
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let left =
            marked.into_iter().flatten().filter(|code| !common.contains(*code) && !row::is_proof(code));
        left.for_each(|code| *counts.entry(code).or_default() += 1);
        common.extend(counts.into_iter().max_by_key(|(_, count)| *count).map(|(code, _)| code));
    }
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
    let namesakes = Namesakes::of(results.iter().copied(), |result| result.probe.clone());
    let mut rows: Vec<Rung> =
        results.iter().map(|result| Rung::new(result, &namesakes, per, common, style)).collect();
    rows.sort_by(|a, b| a.order.total_cmp(&b.order));
    Family { title, rows }
}

/// What most figures of the family stand for; the family's usual unit when that is as frequent.
fn common_per(results: &[&Measurement], usual: Option<Per>) -> Per {
    let mut counts: IndexMap<&str, (usize, Per)> = IndexMap::new();
    for per in results.iter().map(|result| result.per) {
        counts.entry(per.word()).or_insert((usize::from(Some(per) == usual), per)).0 += 2;
    }
    let most = counts.into_values().max_by_key(|(count, _)| *count);
    most.map(|(_, per)| per).or(usual).unwrap_or(Per::Call)
}
