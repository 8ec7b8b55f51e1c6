//! The sweep of a workload: what each trap costs a program with a working set.

use super::words::{crossing_name, measured, part};
use crate::head::head;
use crate::notes::notes;
use crate::sheet::{Column, Sheet, Table, painted, prose};
use crate::style::{Paint, Style};
use crate::text::clean;
use tollgate_record::number::{bytes, whole};
use tollgate_record::{Measurement, Run, counter, phase};

/// One line for each point of the sweep.
pub(super) fn view(run: &Run, style: &Style) -> Sheet {
    let mut text = head(run, style);
    text.blank();
    text.extend(table(&measured(run), style));
    text.blank();
    text.extend(notes(run, style));
    text
}

fn table(points: &[&Measurement], style: &Style) -> Sheet {
    let Some(first) = points.first() else { return Sheet::new() };
    let asked = first.asked.workload().cloned().unwrap_or_default();
    let title = format!(
        "Workload {} on {}, kernel {}. Cycles for each trap, simulated and exact.",
        clean(crossing_name(first), style),
        clean(&asked.core, style),
        clean(&asked.kernel, style)
    );
    let mut text = painted(Paint::Bold, &title);
    let mut table = Table::new([
        Column::right("set"),
        Column::right("touches"),
        Column::right("every").rank(4),
        Column::right("direct").rank(2),
        Column::right("refill").rank(1),
        Column::right("in all"),
        Column::right("slower").rank(3),
        Column::left("refetched").least(8).rank(5),
    ]);
    for result in points {
        let asked = result.asked.workload().cloned().unwrap_or_default();
        let phase = |name| result.phase(name)?.cycles.map(|cycles| cycles.estimate);
        let or_dash = |x: Option<f64>| x.map_or_else(|| "-".into(), |x| whole(x.round_ties_even()));
        let lost: Vec<String> =
            [("l1i-lines", "I"), ("l1d-lines", "D"), ("l2-lines", "L2"), ("dtlb-entries", "TLB")]
                .into_iter()
                .map(|(key, name)| (part(result, counter::REFILL, key).unwrap_or(0.0), name))
                .filter(|(n, _)| n.round() != 0.0)
                .map(|(n, name)| format!("{name} {}", whole(n)))
                .collect();
        table.row([
            bytes(asked.set_bytes as f64),
            bytes(asked.touch_bytes as f64),
            or_dash(result.counter(counter::USER_INSTRUCTIONS)),
            or_dash(phase(phase::DIRECT)),
            or_dash(phase(phase::REFILL)),
            or_dash(result.cycles.map(|cycles| cycles.estimate)),
            slower(result.counter(counter::SLOW_DOWN).unwrap_or(f64::NAN)),
            lost.join(" "),
        ]);
    }
    text.extend(Sheet::from(table));
    let below = "set: the program's working set; touches: what the kernel reads in each trap; every: instructions \
                 of the program from trap to trap. Direct is everything outside the program, refill what the \
                 program's own instructions take longer than without traps; refetched counts its lines (I, D, \
                 L2) and translations (TLB).";
    text.extend(prose(below, ""));
    text
}

/// A share in per cent: with one decimal below a hundred.
fn slower(share: f64) -> String {
    match share * 100.0 {
        x if x.abs() < 100.0 => format!("{x:.1} %"),
        x => format!("{} %", whole(x)),
    }
}
