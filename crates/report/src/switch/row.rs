//! The rows of the table.

use crate::style::{Paint, Style};
use crate::table::{Column, TextTable};
use crate::text::{clean, painted};
use std::cmp::Ordering;
use tollgate_record::number::{fit, per_crossing, percent, size};
use tollgate_record::{Estimate, Measurement, Single, Status};

/// The order of the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Layout {
    /// By number of tasks, the cheapest first.
    Ranks,
    /// By mechanism, over the number of tasks.
    Curves,
}

/// What a row shows.
pub(super) struct SwitchRow {
    name: String,
    kind: String,
    pub(super) tasks: u64,
    ns: Option<Estimate>,
    cycles: Option<Estimate>,
    single: Option<Single>,
    memory: Option<f64>,
    resumes: Option<f64>,
    dispatches: Option<f64>,
    kernel: Option<f64>,
    failure: Option<String>,
    skipped: bool,
}

impl SwitchRow {
    pub(super) fn of(result: &Measurement, style: &Style) -> Self {
        let asked = result.asked.runtime();
        let proof = |key: &str| result.proof.get(key).copied();
        let measured = result.status == Status::Measured;
        let reason = || result.reason.as_deref().map_or("no reason given".into(), |why| clean(why, style));
        Self {
            name: short(result, style),
            kind: asked.map_or(String::new(), |asked| clean(&asked.kind, style)),
            tasks: asked.map_or(0, |asked| asked.tasks),
            ns: result.ns.filter(|_| measured),
            cycles: result.cycles.filter(|_| measured),
            single: result.single.filter(|_| measured),
            memory: result.found.runtime().and_then(|found| found.bytes_per_task),
            resumes: proof("resumes_per_switch"),
            dispatches: proof("dispatches_per_switch"),
            kernel: proof("kernel_switches_per_switch"),
            failure: (result.status == Status::Failed).then(reason),
            skipped: result.status == Status::Skipped,
        }
    }

    /// By kind, then by tasks, then by cost; what has none comes last.
    pub(super) fn order(&self, other: &Self, layout: Layout) -> Ordering {
        let rank = |row: &Self| {
            ["stackful", "stackless", "thread"].iter().position(|kind| *kind == row.kind).unwrap_or(3)
        };
        let cost = |row: &Self| row.ns.map_or(f64::INFINITY, |ns| ns.estimate);
        let kind = rank(self).cmp(&rank(other));
        match layout {
            Layout::Curves => kind.then_with(|| (&self.name, self.tasks).cmp(&(&other.name, other.tasks))),
            Layout::Ranks => kind.then(self.tasks.cmp(&other.tasks)).then(cost(self).total_cmp(&cost(other))),
        }
    }

    fn label(&self, layout: Layout) -> String {
        match layout {
            Layout::Ranks => self.name.clone(),
            Layout::Curves => format!("{} tasks", tollgate_record::number::count(self.tasks as usize)),
        }
    }

    fn title(&self, layout: Layout) -> String {
        if layout == Layout::Curves {
            return format!("{} ({})", self.name, self.kind);
        }
        let kind = match self.kind.as_str() {
            "stackful" => "Tasks with a stack of their own",
            "stackless" => "Tasks that are state machines or frames",
            "thread" => "Threads of the system",
            _ => "Tasks",
        };
        format!("{kind}: {} tasks", tollgate_record::number::count(self.tasks as usize))
    }

    /// What was counted: resumptions, and what came between (`d` visits of a dispatcher, `k` switches of the kernel).
    fn proof(&self) -> String {
        let count = |share: Option<f64>, sign: &str| {
            share.map(|share| format!("{}{sign}", per_crossing(share, false)))
        };
        let all: Vec<String> =
            [count(self.resumes, ""), count(self.dispatches, "d"), count(self.kernel, "k")]
                .into_iter()
                .flatten()
                .collect();
        if all.is_empty() { "?".into() } else { all.join(" ") }
    }

    fn texts(&self, layout: Layout) -> [String; 8] {
        let part = |part: Option<f64>, width| part.map_or("-".into(), |value| fit(value, width));
        [
            self.label(layout),
            part(self.ns.map(|ns| ns.estimate), 8),
            part(self.cycles.map(|cycles| cycles.estimate), 8),
            self.ns.map_or("-".into(), |ns| percent(ns.relative_half_width())),
            part(self.single.map(|single| single.min), 8),
            part(self.single.map(|single| single.p99), 8),
            self.memory.map_or("-".into(), size),
            self.proof(),
        ]
    }
}

/// The id without its family.
pub(super) fn short(result: &Measurement, style: &Style) -> String {
    clean(result.probe.strip_prefix("switch/").unwrap_or(&result.probe), style)
}

pub(super) fn table(rows: &[SwitchRow], layout: Layout, style: &Style) -> Vec<String> {
    let mut table = TextTable::new([
        Column::left("").least(16),
        Column::right("ns"),
        Column::right("cycles").rank(1),
        Column::right(style.plus_minus()),
        Column::right("single").rank(4),
        Column::right("p99").rank(5),
        Column::right("mem").rank(3),
        Column::right("proof").rank(2),
    ])
    .indent(1);
    let mut title = String::new();
    for row in rows.iter().filter(|row| !row.skipped) {
        if row.title(layout) != title {
            title = row.title(layout);
            table.heading(title.as_str(), Paint::Bold);
        }
        match &row.failure {
            Some(why) => table.prose([row.label(layout)], format!("failed: {why}"), Paint::Bad),
            None => table.row(row.texts(layout)),
        }
    }
    let mut lines = table.lines(style);
    let legend = "ns, cycles: one switch, from batches. single: the fastest switch timed by itself; p99: 99 of 100 \
                  are faster; the clock pair is taken off both. mem: resident bytes for each task. proof: \
                  resumptions that the tasks counted for each switch; d: visits of a dispatcher, k: context switches \
                  of the kernel.";
    lines.extend(painted(Paint::Dim, legend, style));
    lines
}
