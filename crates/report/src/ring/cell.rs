//! The rows of the matrix.

use crate::sheet::{Cell, Column, Sheet, Table, prose};
use crate::style::{Paint, Style};
use crate::words::reason;
use tollgate_record::number::{bound, fit, half_share, per_crossing, size};
use tollgate_record::{Estimate, Measurement, PhaseName, Status, phase};

pub(super) fn procs(cell: &Measurement) -> f64 {
    cell.asked.ring().map_or(f64::NAN, |ring| f64::from(ring.procs))
}

pub(super) fn bytes(cell: &Measurement) -> f64 {
    cell.asked.ring().map_or(f64::NAN, |ring| ring.size as f64)
}

pub(super) fn footprint(cell: &Measurement) -> f64 {
    procs(cell) * bytes(cell)
}

/// The switch with what it costs later: the hop without its hot work.
pub(super) fn switch(cell: &Measurement) -> Option<f64> {
    Some(total(cell)?.estimate - part(cell, phase::HOT_WORK)?.estimate)
}

fn total(cell: &Measurement) -> Option<Estimate> {
    cell.ns.filter(|_| cell.status == Status::Measured)
}

fn part(cell: &Measurement, name: PhaseName) -> Option<Estimate> {
    cell.phase(name)?.ns
}

/// The matrix, and what its marks mean.
pub(super) fn table(cells: &[&Measurement], style: &Style) -> Sheet {
    let mut table = Table::new([
        Column::right("procs").most(6),
        Column::right("size").rank(1),
        Column::right("N x S").rank(8),
        Column::right("total").quoted(),
        Column::right(style.plus_minus()).rank(7),
        Column::right("hot").rank(4),
        Column::right("direct").rank(5),
        Column::right("queue").rank(6),
        Column::right("refill").rank(2),
        Column::right("switches").rank(3),
    ])
    .indent(1);
    for cell in cells {
        match cell.status {
            Status::Measured => table.row(texts(cell, style)),
            _ => table.prose([count(procs(cell)), size(bytes(cell))], reason(cell, style), Paint::Bad),
        }
    }
    let mut lines = Sheet::from(table);
    if cells.iter().any(|cell| part(cell, phase::REFILL).is_some_and(indistinct)) {
        let sign = style.at_most();
        let text = format!(
            "{sign} x: the refill cannot be distinguished from zero; x is the upper end of its interval"
        );
        lines.extend(prose(&text, "  "));
    }
    lines
}

/// The text in each column.
fn texts(cell: &Measurement, style: &Style) -> [Cell; 10] {
    let show =
        |part: Option<Estimate>| part.map_or("-".into(), |ns| Cell::shown(fit(ns.estimate, 8), ns.estimate));
    let part = |name| part(cell, name);
    let refill = match part(phase::REFILL).filter(|ns| indistinct(*ns)) {
        Some(ns) => Cell::shown(format!("{} {}", style.at_most(), bound(ns.ci[1].max(0.0), 8)), ns.estimate),
        None => show(part(phase::REFILL)),
    };
    let switches = cell.proof.get("switches-per-crossing");
    [
        count(procs(cell)).into(),
        Cell::shown(size(bytes(cell)), bytes(cell)),
        Cell::shown(size(footprint(cell)), footprint(cell)),
        show(total(cell)),
        total(cell).map_or_else(|| "-".to_owned(), |total| half_share(&total)).into(),
        show(part(phase::HOT_WORK)),
        show(part(phase::DIRECT_SWITCH)),
        show(part(phase::RUN_QUEUE)),
        refill,
        switches.map_or_else(|| "?".to_owned(), |count| per_crossing(*count, false)).into(),
    ]
}

/// Whether the interval reaches down to zero.
fn indistinct(ns: Estimate) -> bool {
    ns.is_measured() && ns.ci[0] <= 0.0
}

fn count(number: f64) -> String {
    if number.is_finite() && (0.0..1e9).contains(&number) { format!("{number:.0}") } else { "?".into() }
}
