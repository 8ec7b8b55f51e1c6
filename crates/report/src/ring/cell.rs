//! The rows of the matrix.

use crate::number::{bound, fit, per_crossing, percent};
use crate::style::{Paint, Style};
use crate::text::{clean, cut, right, wrap};
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

/// A column: its name, its width, and how early it goes when the terminal is narrow (0 stays longest).
struct Column {
    name: &'static str,
    width: usize,
    rank: usize,
}

const COLUMNS: [Column; 10] = [
    Column { name: "procs", width: 6, rank: 0 },
    Column { name: "size", width: 6, rank: 1 },
    Column { name: "N x S", width: 7, rank: 9 },
    Column { name: "total", width: 8, rank: 2 },
    Column { name: "+-", width: 6, rank: 8 },
    Column { name: "hot", width: 8, rank: 5 },
    Column { name: "direct", width: 8, rank: 6 },
    Column { name: "queue", width: 8, rank: 7 },
    Column { name: "refill", width: 12, rank: 3 },
    Column { name: "switches", width: 9, rank: 4 },
];

/// Which columns are shown.
fn shown(style: &Style) -> [bool; 10] {
    let fits = |most: usize| {
        let width: usize = COLUMNS.iter().filter(|it| it.rank <= most).map(|it| it.width).sum();
        width <= style.columns()
    };
    let most = (0..COLUMNS.len()).rev().find(|&most| fits(most)).unwrap_or(0);
    COLUMNS.each_ref().map(|column| column.rank <= most)
}

pub(crate) fn table(cells: &[Cell], style: &Style) -> Vec<String> {
    let shown = shown(style);
    let line = |texts: [String; 10]| -> String {
        let columns = COLUMNS.iter().zip(texts).zip(shown).filter(|(_, shown)| *shown);
        let texts =
            columns.map(|((column, text), _)| right(&cut(&text, column.width - 1, style), column.width));
        texts.collect::<String>().trim_end().to_owned()
    };
    let mut lines = vec![line(COLUMNS.each_ref().map(|column| column.name.to_owned()))];
    for cell in cells {
        if let Some(why) = &cell.failure {
            let place = format!("{:>6}{:>6}  ", cut(&count(cell.procs), 5, style), size(cell.bytes));
            lines.extend(wrap(why, style.columns(), &place).iter().map(|line| style.paint(Paint::Bad, line)));
            continue;
        }
        lines.push(line(cell.texts()));
    }
    if cells.iter().any(|cell| cell.refill.is_some_and(indistinct)) {
        let text = "<= x: the refill cannot be distinguished from zero; x is the upper end of its interval";
        lines.extend(wrap(text, style.columns(), "  "));
    }
    lines
}

impl Cell {
    /// What stands in each column.
    fn texts(&self) -> [String; 10] {
        let part = |part: Option<Estimate>| part.map_or("-".into(), |ns| fit(ns.estimate, 8));
        let refill = match self.refill {
            None => "-".into(),
            Some(ns) if indistinct(ns) => format!("<= {}", bound(ns.ci[1].max(0.0), 8)),
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
    if value >= 99_999.5 {
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
