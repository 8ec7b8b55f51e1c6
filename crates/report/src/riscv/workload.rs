//! The sweep of a workload: what each trap costs a program with a working set.

use super::grid::Grid;
use super::words::{crossing_name, measured, part, whole};
use crate::head::head;
use crate::notes::notes;
use crate::style::{Paint, Style};
use crate::text::{clean, wrap};
use tollgate_record::{Measurement, Run, counter, phase};

/// One line for each point of the sweep.
pub(super) fn view(run: &Run, style: &Style) -> Vec<String> {
    let mut text: Vec<String> = head(run, style).iter().map(|line| style.paint(Paint::Dim, line)).collect();
    text.push(String::new());
    text.extend(table(&measured(run), style));
    text.push(String::new());
    text.extend(notes(run, style));
    text
}

fn table(points: &[&Measurement], style: &Style) -> Vec<String> {
    let Some(first) = points.first() else { return Vec::new() };
    let asked = first.asked.workload().cloned().unwrap_or_default();
    let title = format!(
        "Workload {} on {}, kernel {}. Cycles for each trap, simulated and exact.",
        clean(crossing_name(first), style),
        clean(&asked.core, style),
        clean(&asked.kernel, style)
    );
    let mut text: Vec<String> =
        wrap(&title, style.prose(), "").iter().map(|line| style.paint(Paint::Bold, line)).collect();
    let mut grid = Grid::default()
        .figure("set", 9)
        .figure("touches", 9)
        .figure("every", 10)
        .figure("direct", 9)
        .figure("refill", 9)
        .figure("in all", 9)
        .figure("slower", 8)
        .remark(" refetched");
    for result in points {
        let asked = result.asked.workload().cloned().unwrap_or_default();
        let phase = |name| result.phase(name)?.cycles.map(|cycles| cycles.estimate);
        let or_dash = |x: Option<f64>| x.map_or_else(|| "-".into(), whole);
        let lost: Vec<String> =
            [("l1i-lines", "I"), ("l1d-lines", "D"), ("l2-lines", "L2"), ("dtlb-entries", "TLB")]
                .into_iter()
                .map(|(key, name)| (part(result, counter::REFILL, key).unwrap_or(0.0), name))
                .filter(|(n, _)| n.round() != 0.0)
                .map(|(n, name)| format!("{name} {}", whole(n)))
                .collect();
        let figures = vec![
            bytes(asked.set_bytes as f64),
            bytes(asked.touch_bytes as f64),
            or_dash(result.counter(counter::USER_INSTRUCTIONS)),
            or_dash(phase(phase::DIRECT)),
            or_dash(phase(phase::REFILL)),
            or_dash(result.cycles.map(|cycles| cycles.estimate)),
            format!("{} %", percent(result.counter(counter::SLOW_DOWN).unwrap_or(f64::NAN) * 100.0)),
        ];
        let lost = if lost.is_empty() { String::new() } else { format!(" {}", lost.join(" ")) };
        grid.row([], figures, lost);
    }
    text.extend(grid.lines(style));
    let below = "set: the program's working set; touches: what the kernel reads in each trap; every: instructions \
                 of the program from trap to trap. Direct is everything outside the program, refill what the \
                 program's own instructions take longer than without traps; refetched counts its lines (I, D, \
                 L2) and translations (TLB).";
    text.extend(wrap(below, style.prose(), ""));
    text
}

/// Bytes with the largest unit.
fn bytes(n: f64) -> String {
    match n {
        n if n >= 1_048_576.0 && n % 1_048_576.0 == 0.0 => format!("{} MiB", n / 1_048_576.0),
        n if n >= 1024.0 => format!("{} KiB", super::words::mean(n / 1024.0)),
        n => format!("{n} B"),
    }
}

fn percent(x: f64) -> String {
    if x.abs() < 100.0 { format!("{x:.1}") } else { whole(x) }
}
