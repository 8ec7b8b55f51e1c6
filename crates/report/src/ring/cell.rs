//! The rows of the matrix.

use crate::style::{Paint, Style};
use crate::table::{Column, TextTable};
use crate::text::{clean, wrap};
use tollgate_record::number::{bound, fit, per_crossing, percent, size};
use tollgate_record::{Estimate, Measurement, Status};

/// What a row shows of a cell.
pub(crate) struct RingCell {
    pub(crate) procs: f64,
    pub(crate) bytes: f64,
    pub(crate) total: Option<Estimate>,
    pub(crate) refill: Option<Estimate>,
    hot: Option<Estimate>,
    direct: Option<Estimate>,
    queue: Option<Estimate>,
    switches: Option<f64>,
    failure: Option<String>,
    pub(crate) counters: Vec<(String, f64)>,
}

impl RingCell {
    pub(crate) fn of(result: &Measurement, style: &Style) -> Self {
        let ring = result.asked.ring();
        let phase = |name: &str| result.phases.iter().find(|phase| phase.name == name)?.ns;
        let reason = || result.reason.as_deref().map_or("no reason given".into(), |why| clean(why, style));
        Self {
            procs: ring.map_or(f64::NAN, |ring| f64::from(ring.procs)),
            bytes: ring.map_or(f64::NAN, |ring| ring.size as f64),
            total: result.ns.filter(|_| result.status == Status::Measured),
            refill: phase("refill"),
            hot: phase("hot work"),
            direct: phase("direct switch"),
            queue: phase("run queue"),
            switches: result.proof.get("switches_per_crossing").copied(),
            failure: (result.status != Status::Measured).then(reason),
            counters: result.counters.iter().map(|(key, value)| (clean(key, style), *value)).collect(),
        }
    }

    pub(crate) fn footprint(&self) -> f64 {
        self.procs * self.bytes
    }

    /// The switch with what it costs later: the hop without its hot work.
    pub(crate) fn switch(&self) -> Option<f64> {
        Some(self.total?.estimate - self.hot?.estimate)
    }
}

/// The matrix, and what its marks mean.
pub(crate) fn table(cells: &[RingCell], style: &Style) -> Vec<String> {
    let mut table = TextTable::new([
        Column::right("procs").most(6),
        Column::right("size").rank(1),
        Column::right("N x S").rank(8),
        Column::right("total"),
        Column::right(style.plus_minus()).rank(7),
        Column::right("hot").rank(4),
        Column::right("direct").rank(5),
        Column::right("queue").rank(6),
        Column::right("refill").rank(2),
        Column::right("switches").rank(3),
    ])
    .indent(1);
    for cell in cells {
        match &cell.failure {
            Some(why) => table.prose([count(cell.procs), size(cell.bytes)], why, Paint::Bad),
            None => table.row(cell.texts(style)),
        }
    }
    let mut lines = table.lines(style);
    if cells.iter().any(|cell| cell.refill.is_some_and(indistinct)) {
        let sign = style.at_most();
        let text = format!(
            "{sign} x: the refill cannot be distinguished from zero; x is the upper end of its interval"
        );
        lines.extend(wrap(&text, style.columns(), "  "));
    }
    lines
}

impl RingCell {
    /// The text in each column.
    fn texts(&self, style: &Style) -> [String; 10] {
        let part = |part: Option<Estimate>| part.map_or("-".into(), |ns| fit(ns.estimate, 8));
        let refill = match self.refill {
            None => "-".into(),
            Some(ns) if indistinct(ns) => format!("{} {}", style.at_most(), bound(ns.ci[1].max(0.0), 8)),
            Some(ns) => fit(ns.estimate, 8),
        };
        [
            count(self.procs),
            size(self.bytes),
            size(self.footprint()),
            part(self.total),
            self.total.map_or("-".into(), |total| percent(total.relative_half_width())),
            part(self.hot),
            part(self.direct),
            part(self.queue),
            refill,
            self.switches.map_or("?".into(), |count| per_crossing(count, false)),
        ]
    }
}

/// Whether the interval reaches down to zero.
fn indistinct(ns: Estimate) -> bool {
    ns.ci[0] <= 0.0
}

fn count(number: f64) -> String {
    if number.is_finite() && (0.0..1e9).contains(&number) { format!("{number:.0}") } else { "?".into() }
}
