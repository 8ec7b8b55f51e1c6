//! The rows of the matrix.

use crate::number::{bound, fit, per_crossing, percent};
use crate::style::{Paint, Style};
use crate::text::{clean, left, right, wrap};
use tollgate_record::{Estimate, Measurement, Status};

/// What a row shows of a cell.
pub(crate) struct Cell {
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

impl Cell {
    pub(crate) fn of(result: &Measurement, style: &Style) -> Self {
        let number = |key: &str| result.params.get(key).and_then(|value| value.as_f64()).unwrap_or(f64::NAN);
        let phase = |name: &str| result.phases.iter().find(|phase| phase.name == name)?.ns;
        let reason = || result.reason.as_deref().map_or("no reason given".into(), |why| clean(why, style));
        Self {
            procs: number("procs"),
            bytes: number("size"),
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

/// Columns: name and width. What a column shows is in `cells` below.
const COLUMNS: [(&str, usize); 10] = [
    ("procs", 6),
    ("size", 6),
    ("N x S", 7),
    ("total", 8),
    ("+-", 6),
    ("hot", 8),
    ("direct", 7),
    ("queue", 7),
    ("refill", 9),
    ("switches", 9),
];

pub(crate) fn table(cells: &[Cell], style: &Style) -> Vec<String> {
    let header: String = COLUMNS.iter().map(|(name, columns)| right(name, *columns)).collect();
    let mut lines = vec![header.trim_end().to_owned()];
    for cell in cells {
        let place = format!("{}{}", right(&count(cell.procs), 6), right(&size(cell.bytes), 6));
        if let Some(why) = &cell.failure {
            let wrapped = wrap(why, style.columns(), &left(&format!("{place}  "), 14));
            lines.extend(wrapped.iter().map(|line| style.paint(Paint::Bad, line)));
            continue;
        }
        lines.push(row(cell, &place));
    }
    if cells.iter().any(|cell| cell.refill.is_some_and(indistinct)) {
        lines.push(
            "  <= x: the refill cannot be distinguished from zero; x is the upper end of its interval".into(),
        );
    }
    lines
}

fn row(cell: &Cell, place: &str) -> String {
    let part = |part: Option<Estimate>, columns: usize| {
        right(&part.map_or("-".into(), |ns| fit(ns.estimate, columns - 1)), columns)
    };
    let refill = match cell.refill {
        None => "-".into(),
        Some(ns) if indistinct(ns) => format!("<= {}", bound(ns.ci[1].max(0.0), 8)),
        Some(ns) => fit(ns.estimate, 8),
    };
    let width = cell.total.map_or("-".into(), |total| percent(total.relative_half_width()));
    let switches = cell.switches.map_or("not counted".into(), |count| per_crossing(count, false));
    [
        place.to_owned(),
        right(&size(cell.footprint()), 7),
        part(cell.total, 8),
        right(&width, 6),
        part(cell.hot, 8),
        part(cell.direct, 7),
        part(cell.queue, 7),
        right(&refill, 9),
        right(&switches, 9),
    ]
    .concat()
    .trim_end()
    .to_owned()
}

/// Whether the interval reaches down to zero.
fn indistinct(ns: Estimate) -> bool {
    ns.ci[0] <= 0.0
}

fn count(number: f64) -> String {
    if number.is_finite() && (0.0..1e9).contains(&number) { format!("{number:.0}") } else { "?".into() }
}

/// A size as the command line takes it: `64K`, `1.5M`, `0`.
pub(crate) fn size(bytes: f64) -> String {
    if !bytes.is_finite() || bytes < 0.0 {
        return "?".into();
    }
    let (value, unit) = match bytes {
        b if b >= 1024.0 * 1024.0 * 1024.0 => (b / (1024.0 * 1024.0 * 1024.0), "G"),
        b if b >= 1024.0 * 1024.0 => (b / (1024.0 * 1024.0), "M"),
        b if b >= 1024.0 => (b / 1024.0, "K"),
        b => (b, ""),
    };
    if value >= 1e5 {
        format!("{value:.0e}{unit}")
    } else if value.fract() == 0.0 || value >= 99.95 {
        format!("{value:.0}{unit}")
    } else {
        format!("{value:.1}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [
            (0.0, "0"),
            (100.0, "100"),
            (65_536.0, "64K"),
            (1.5 * 1024.0 * 1024.0, "1.5M"),
            (260.4 * 1024.0 * 1024.0, "260M"),
            (f64::NAN, "?"),
            (-1.0, "?"),
            (1e30, "9e20G"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
