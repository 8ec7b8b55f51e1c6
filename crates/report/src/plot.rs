//! Curves over two scales that are logarithmic: in a terminal a field of characters.

use crate::chart::Unit;
use crate::style::Style;
use tollgate_record::number::{count, fit, size};

/// What stands for each curve.
const SIGNS: [char; 12] = ['o', 'x', '+', '*', '#', '@', '%', '&', 'a', 'b', 'c', 'd'];
/// The most curves that have a sign of their own.
pub(crate) const SIGNED: usize = SIGNS.len();
/// Columns of the scale at the left.
pub(crate) const SCALE: usize = 9;
/// Rows of the field.
const ROWS: usize = 12;

pub(crate) struct Plot {
    pub(crate) title: &'static str,
    /// What the curves are, before their names.
    pub(crate) of: &'static str,
    pub(crate) curves: Vec<Curve>,
    /// Places on the horizontal scale that have a line, with the name above it; without this there is no row for names.
    pub(crate) marks: Option<Vec<(f64, String)>>,
    pub(crate) units: [Unit; 2],
}

pub(crate) struct Curve {
    /// Which of several runs it is of.
    pub(crate) run: usize,
    pub(crate) name: String,
    /// Those without a place on the scales are left out.
    pub(crate) points: Vec<[f64; 2]>,
}

/// Whether logarithmic scales have a place for a point.
pub(crate) fn has_place([x, y]: [f64; 2]) -> bool {
    x.is_finite() && y.is_finite() && x >= 1.0 && y > 0.0
}

/// The ends of the values, as logarithms.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    values.map(f64::ln).fold(ends, |(low, high), it| (low.min(it), high.max(it)))
}

/// A label of a scale.
fn label(unit: &Unit, value: f64) -> String {
    match unit {
        Unit::Nanoseconds => fit(value, SCALE - 1),
        Unit::Bytes => size(value),
        Unit::Other(_) => count(value as usize),
    }
}

impl Plot {
    /// The points that have a place, each with the number of its curve.
    pub(crate) fn placed(&self) -> impl Iterator<Item = (usize, [f64; 2])> {
        let curves = self.curves.iter().enumerate();
        let all = curves.flat_map(|(n, curve)| curve.points.iter().map(move |point| (n, *point)));
        all.filter(|(_, point)| has_place(*point))
    }

    /// Whether there are fewer than three points, or they span less than half an e-fold.
    pub(crate) fn is_empty(&self) -> bool {
        let (west, east) = range(self.placed().map(|(_, [x, _])| x));
        self.placed().count() < 3 || east - west < 0.5
    }

    /// The sign of each curve.
    pub(crate) fn legend(&self) -> String {
        let signs = self.curves.iter().zip(SIGNS).map(|(curve, sign)| format!("{sign} {}", curve.name));
        format!("{}{}", self.of, signs.collect::<Vec<_>>().join("  "))
    }

    pub(crate) fn lines(&self, style: &Style) -> Vec<String> {
        let (west, east) = range(self.placed().map(|(_, [x, _])| x));
        let (low, high) = range(self.placed().map(|(_, [_, y])| y));
        // A flat line is drawn as one, not blown up to the height of the field.
        let middle = (low + high) / 2.0;
        let (low, high) = if high - low < 0.7 { (middle - 0.35, middle + 0.35) } else { (low, high) };
        let width = style.prose() - SCALE - 3;
        let column = |x: f64| ((x - west) / (east - west) * (width - 1) as f64).round() as usize;
        let mut field = vec![vec![' '; width]; ROWS];
        let mut names = vec![' '; width];
        let line = style.pick("┊", ":").chars().next().unwrap_or(':');
        let marks = self.marks.iter().flatten().map(|(x, name)| (x.ln(), name));
        for (x, name) in marks.filter(|(x, _)| (west..=east).contains(x)) {
            field.iter_mut().for_each(|cells| cells[column(x)] = line);
            names[column(x)..].iter_mut().zip(name.chars()).for_each(|(place, letter)| *place = letter);
        }
        for (n, [x, y]) in self.placed() {
            let row = ROWS - 1 - ((y.ln() - low) / (high - low) * (ROWS - 1) as f64).round() as usize;
            field[row][column(x.ln())] = SIGNS[n % SIGNED];
        }
        let mut lines = Vec::new();
        let below = |text: &str| format!("{:SCALE$}   {text}", "").trim_end().to_owned();
        lines.extend(self.marks.iter().map(|_| below(&String::from_iter(&names))));
        let [unit_x, unit_y] = &self.units;
        let bar = style.pick("│", "|");
        for (at, cells) in field.into_iter().enumerate() {
            let height = (ROWS - 1 - at) as f64 / (ROWS - 1) as f64;
            let is_labeled = [0, ROWS / 2, ROWS - 1].contains(&at);
            let value = ((high - low) * height + low).exp();
            let label = if is_labeled { label(unit_y, value) } else { String::new() };
            lines.push(format!("{label:>SCALE$} {bar} {}", String::from_iter(cells)).trim_end().to_owned());
        }
        let axis = style.pick("─", "-").repeat(width + 1);
        lines.push(format!("{:SCALE$} {}{axis}", "", style.pick("└", "+")));
        let (first, last) = (label(unit_x, west.exp().round()), label(unit_x, east.exp().round()));
        let gap = width.saturating_sub(first.len() + last.len());
        lines.push(below(&format!("{first}{}{last}", " ".repeat(gap))));
        lines
    }
}
