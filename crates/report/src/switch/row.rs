//! The rows of the table.

use crate::sheet::{Column, Sheet, Table, painted};
use crate::style::{Paint, Style};
use crate::text::clean;
use crate::words::reason;
use std::cmp::Ordering;
use tollgate_record::number::{count, fit, half_share, per_crossing, size};
use tollgate_record::{Measurement, Status};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Layout {
    /// By number of tasks, the cheapest first.
    Ranks,
    /// By mechanism, over the number of tasks.
    Curves,
}

pub(super) fn short(result: &Measurement, style: &Style) -> String {
    clean(result.probe.strip_prefix("switch/").unwrap_or(&result.probe), style)
}

pub(super) fn tasks(result: &Measurement) -> u64 {
    result.asked.runtime().map_or(0, |asked| asked.tasks)
}

fn kind(result: &Measurement) -> &str {
    result.asked.runtime().map_or("", |asked| &asked.kind)
}

/// By kind, then by tasks, then by cost; what has none comes last.
pub(super) fn order(a: &Measurement, b: &Measurement, layout: Layout, style: &Style) -> Ordering {
    let rank = |row| ["stackful", "stackless", "thread"].iter().position(|it| *it == kind(row)).unwrap_or(3);
    let cost = |row: &Measurement| {
        row.ns.filter(|_| row.status == Status::Measured).map_or(f64::INFINITY, |ns| ns.estimate)
    };
    let by_tasks = tasks(a).cmp(&tasks(b));
    rank(a).cmp(&rank(b)).then_with(|| match layout {
        Layout::Curves => short(a, style).cmp(&short(b, style)).then(by_tasks),
        Layout::Ranks => by_tasks.then(cost(a).total_cmp(&cost(b))),
    })
}

fn label(row: &Measurement, layout: Layout, style: &Style) -> String {
    match layout {
        Layout::Ranks => short(row, style),
        Layout::Curves => format!("{} tasks", count(tasks(row))),
    }
}

fn title(row: &Measurement, layout: Layout, style: &Style) -> String {
    if layout == Layout::Curves {
        return format!("{} ({})", short(row, style), clean(kind(row), style));
    }
    let kind = match kind(row) {
        "stackful" => "Tasks with a stack of their own",
        "stackless" => "Tasks that are state machines or frames",
        "thread" => "Threads of the system",
        _ => "Tasks",
    };
    format!("{kind}: {} tasks", count(tasks(row)))
}

/// What was counted: resumptions, and what came between (`d` visits of a dispatcher, `k` switches of the kernel).
fn proof(row: &Measurement) -> String {
    let counts =
        [("resumes-per-switch", ""), ("dispatches-per-switch", "d"), ("kernel-switches-per-switch", "k")];
    let all = counts.into_iter().filter_map(|(key, sign)| {
        row.proof.get(key).map(|share| format!("{}{sign}", per_crossing(*share, false)))
    });
    let all = all.collect::<Vec<_>>().join(" ");
    if all.is_empty() { "?".into() } else { all }
}

fn texts(row: &Measurement, layout: Layout, style: &Style) -> [String; 8] {
    let part = |part: Option<f64>| part.map_or("-".into(), |value| fit(value, 8));
    [
        label(row, layout, style),
        part(row.ns.map(|ns| ns.estimate)),
        part(row.cycles.map(|cycles| cycles.estimate)),
        row.ns.map_or("-".into(), |ns| half_share(&ns)),
        part(row.single.map(|single| single.min)),
        part(row.single.map(|single| single.p99)),
        row.found.runtime().and_then(|found| found.bytes_per_task).map_or("-".into(), size),
        proof(row),
    ]
}

pub(super) fn table(rows: &[&Measurement], layout: Layout, style: &Style) -> Sheet {
    let mut table = Table::new([
        Column::left("").least(16),
        Column::right("ns").quoted(),
        Column::right("cycles").rank(1),
        Column::right(style.plus_minus()),
        Column::right("single").rank(4),
        Column::right("p99").rank(5),
        Column::right("mem").rank(3),
        Column::right("proof").rank(2),
    ])
    .indent(1);
    let mut last = String::new();
    for row in rows.iter().filter(|row| row.status != Status::Skipped) {
        let title = title(row, layout, style);
        if title != last {
            table.heading(&title, Paint::Bold);
            last = title;
        }
        if row.status == Status::Failed {
            let why = format!("failed: {}", reason(row, style));
            table.prose([label(row, layout, style)], why, Paint::Bad);
        } else {
            table.row(texts(row, layout, style));
        }
    }
    let mut lines = Sheet::from(table);
    let legend = "ns, cycles: one switch, from batches. single: the fastest switch timed by itself; p99: 99 of 100 \
                  are faster; the clock pair is taken off both. mem: resident bytes for each task. proof: \
                  resumptions that the tasks counted for each switch; d: visits of a dispatcher, k: context switches \
                  of the kernel.";
    lines.extend(painted(Paint::Dim, legend));
    lines
}
