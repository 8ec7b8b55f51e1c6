//! The rows of the table.

use super::short;
use crate::number::{fit, per_crossing, percent};
use crate::style::{Paint, Style};
use crate::text::{clean, cut, left, right, wrap};
use std::cmp::Ordering;
use tollgate_record::{Estimate, Measurement, Single, Status};

/// How rows stand together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Layout {
    /// By number of tasks, the cheapest first.
    Ranks,
    /// By mechanism, over the number of tasks.
    Curves,
}

/// What a row shows.
pub(super) struct Row {
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

impl Row {
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
            Layout::Curves => format!("{} tasks", crate::number::count(self.tasks as usize)),
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
        format!("{kind}: {} tasks", crate::number::count(self.tasks as usize))
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

    fn texts(&self) -> [String; 8] {
        let part = |part: Option<f64>, width| part.map_or("-".into(), |value| fit(value, width));
        [
            self.name.clone(),
            part(self.ns.map(|ns| ns.estimate), 8),
            part(self.cycles.map(|cycles| cycles.estimate), 8),
            self.ns.map_or("-".into(), |ns| percent(ns.relative_half_width())),
            part(self.single.map(|single| single.min), 8),
            part(self.single.map(|single| single.p99), 8),
            self.memory.map_or("-".into(), bytes),
            self.proof(),
        ]
    }
}

/// Names and widths; the first is at the left.
const COLUMNS: [(&str, usize); 8] =
    [("", 25), ("ns", 8), ("cycles", 8), ("+-", 7), ("single", 7), ("p99", 8), ("mem", 6), ("proof", 11)];

/// Columns in the order in which they go when the terminal is narrow.
const FIRST_TO_GO: [usize; 5] = [5, 4, 6, 7, 2];

/// Which columns fit.
fn shown(style: &Style) -> [bool; 8] {
    let mut shown = [true; 8];
    for column in FIRST_TO_GO {
        let width: usize =
            COLUMNS.iter().zip(shown).filter(|(_, shown)| *shown).map(|((_, width), _)| width).sum();
        if width <= style.columns() {
            break;
        }
        shown[column] = false;
    }
    shown
}

fn line(texts: &[String; 8], shown: [bool; 8], style: &Style) -> String {
    let mut text = String::new();
    for (at, ((_, width), content)) in COLUMNS.iter().zip(texts).enumerate().filter(|(at, _)| shown[*at]) {
        let content = cut(content, width - 1, style);
        text.push_str(&if at == 0 { left(&content, *width) } else { right(&content, *width) });
    }
    text.trim_end().to_owned()
}

pub(super) fn table(rows: &[Row], layout: Layout, style: &Style) -> Vec<String> {
    let shown = shown(style);
    let mut lines = vec![line(&COLUMNS.map(|(name, _)| name.to_owned()), shown, style)];
    let mut title = String::new();
    for row in rows.iter().filter(|row| !row.skipped) {
        if row.title(layout) != title {
            title = row.title(layout);
            lines.extend(wrap(&title, style.columns(), "").iter().map(|line| style.paint(Paint::Bold, line)));
        }
        match &row.failure {
            Some(why) => {
                let first = format!(" {}  failed: ", row.label(layout));
                lines.extend(
                    wrap(why, style.columns(), &first).iter().map(|line| style.paint(Paint::Bad, line)),
                );
            }
            None => {
                let mut texts = row.texts();
                texts[0] = format!(" {}", row.label(layout));
                lines.push(line(&texts, shown, style));
            }
        }
    }
    let legend = "ns, cycles: one switch, from batches. single: the fastest switch timed by itself; p99: 99 of 100 \
                  are faster; the clock pair is taken off both. mem: resident bytes for each task. proof: \
                  resumptions that the tasks counted for each switch; d: visits of a dispatcher, k: context switches \
                  of the kernel.";
    lines.extend(wrap(legend, style.prose(), "").iter().map(|line| style.paint(Paint::Dim, line)));
    lines
}

/// A size in few characters: `96`, `4.1K`, `1.2M`. Signed: a collector may give memory back.
pub(super) fn bytes(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        b if b.is_nan() => return "?".into(),
        b if b >= 1024.0 * 1024.0 * 1024.0 => (value / (1024.0 * 1024.0 * 1024.0), "G"),
        b if b >= 1024.0 * 1024.0 => (value / (1024.0 * 1024.0), "M"),
        b if b >= 1024.0 => (value / 1024.0, "K"),
        _ => (value, ""),
    };
    if scaled.abs() >= 99_999.5 {
        format!("{scaled:.0e}{unit}")
    } else if unit.is_empty() || scaled.abs() >= 99.95 {
        format!("{scaled:.0}{unit}")
    } else {
        format!("{scaled:.1}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_short_and_signed() {
        for (value, text) in [
            (0.0, "0"),
            (96.4, "96"),
            (4_198.4, "4.1K"),
            (1_258_291.2, "1.2M"),
            (-2_048.0, "-2.0K"),
            (f64::NAN, "?"),
            (1e30, "9e20G"),
        ] {
            assert_eq!(bytes(value), text);
        }
    }
}
