//! A history as text for a terminal.

use crate::sheet::{Column, Sheet, Table, prose};
use crate::style::{Paint, Style};
use crate::text::{clean, cut, list, marked};
use tollgate_judge::{Change, Group, History, Point, Series};
use tollgate_record::number::{SHORT, change, count, fit, plural};

/// Runs that the curve shows; of longer series the newest.
const CURVE: usize = 32;

/// The history as text.
pub fn history_table(found: &History, style: &Style) -> String {
    let mut text = Sheet::new();
    for group in &found.groups {
        if !text.is_empty() {
            text.blank();
        }
        // The clock and the machine are named where only they tell two groups apart.
        let facts = |it: &Group| (it.host.clone(), it.processor.clone(), it.effort.clone());
        let twins = found.groups.iter().filter(|other| facts(other) == facts(group)).count() > 1;
        text.extend(group_lines(group, twins, style));
    }
    text.text(style)
}

fn group_lines(group: &Group, twins: bool, style: &Style) -> Sheet {
    let host = if group.host.is_empty() { "unknown" } else { &group.host };
    let facts = [
        format!("host {}", cut(&clean(host, style), 30, style)),
        cut(&clean(&group.processor, style), 50, style),
        format!("{} runs", clean(&group.effort, style)),
        if twins { format!("clock {}", clean(&group.clock, style)) } else { String::new() },
        if twins { cut(&clean(&group.machine, style), 50, style) } else { String::new() },
        plural(group.runs, "run", "runs"),
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    let mut text: Sheet = prose(facts.join(", "), "").paint(Paint::Bold);
    let mut table = Table::new([
        Column::left("").most(40).least(16),
        Column::right("runs").rank(2),
        Column::right("first").rank(1),
        Column::right("last"),
        Column::left("over time").least(12),
    ]);
    for series in &group.series {
        table.row(cells(series, style));
        for (line, paint) in changes(series, style) {
            table.text("    ", line, paint);
        }
    }
    text.extend(Sheet::from(table));
    let note = "Units: core cycles, where the core's frequency was measured, else ns (n). Time runs to the right; the \
                curve spans lowest to highest, at least 5 %.";
    text.extend(prose(note, ""));
    let relative = group.series.iter().filter(|series| series.relative).count();
    if relative > 0 {
        let all = group.series.len();
        let note = format!(
            "{relative} of {all} rows are relative to work that is the same in every run (METHOD.md)."
        );
        text.extend(prose(&note, ""));
    }
    text
}

fn cells(series: &Series, style: &Style) -> [String; 5] {
    let mut name = clean(&series.probe, style);
    if series.engine != "host" {
        name = format!("{name} ({})", clean(&series.engine, style));
    }
    let mark = if series.unit == "ns" { "n" } else { " " };
    let value = |point: Option<&Point>| {
        point.map_or_else(String::new, |it| format!("{}{mark}", fit(it.value, SHORT)))
    };
    [
        name,
        count(series.points.len()),
        value(series.points.first()),
        value(series.points.last()),
        curve(series, style),
    ]
}

/// One character for each run, the higher the more it took.
fn curve(series: &Series, style: &Style) -> String {
    let shown = &series.points[series.points.len().saturating_sub(CURVE)..];
    let logs: Vec<f64> = shown.iter().map(|point| point.value.ln()).collect();
    let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // What varies by less than a few per cent must not look like mountains.
    let span = (high - low).max(0.05);
    let middle = f64::midpoint(low, high);
    let shares = logs.iter().map(|log| (log - middle) / span + 0.5);
    marked(shares, style.pick("▁▂▃▄▅▆▇█", "_.,-~=+#"), f64::round)
}

/// A sentence for each change, in the color of its direction.
fn changes(series: &Series, style: &Style) -> Vec<(String, Paint)> {
    let sentence = |it: &Change| {
        let by = it.ratio - 1.0;
        let when = cut(&clean(&it.started, style), 20, style);
        let run = cut(&clean(&it.run, style), 40, style);
        let with: Vec<String> = it.with.iter().map(|what| cut(&clean(what, style), 100, style)).collect();
        let with = if with.is_empty() { String::new() } else { format!("; with it: {}", list(&with, 3)) };
        let paint = if by > 0.0 { Paint::Bad } else { Paint::Good };
        (format!("{} from {when} on ({run}){with}", change(by)), paint)
    };
    series.changes.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests;
