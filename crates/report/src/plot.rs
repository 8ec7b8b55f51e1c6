//! Dots in a field of characters, over two logarithmic scales.

use crate::sheet::{Sheet, drawn, prose, title};
use crate::style::Style;
use tollgate_record::number::fit;

/// What stands for each curve.
pub(crate) const SIGNS: [char; 12] = ['o', 'x', '+', '*', '#', '@', '%', '&', 'a', 'b', 'c', 'd'];
/// Columns of the scale at the left.
const SCALE: usize = 9;
/// Rows of the field.
const ROWS: usize = 12;

pub(crate) struct Plot<'a> {
    pub(crate) title: &'a str,
    /// Places and signs; those that have none on a logarithmic scale are left out.
    pub(crate) dots: Vec<(f64, f64, char)>,
    /// Places on the horizontal scale that have a line, with the name above it; without this there is no row for names.
    pub(crate) marks: Option<Vec<(f64, String)>>,
    pub(crate) labels: [fn(f64) -> String; 2],
    pub(crate) legend: String,
}

/// Whether logarithmic scales have a place for a dot.
pub(crate) fn has_place(x: f64, y: f64) -> bool {
    x.is_finite() && y.is_finite() && x >= 1.0 && y > 0.0
}

impl Plot<'_> {
    /// Nothing for fewer than three dots, or where they span less than half an e-fold.
    pub(crate) fn sheet(&self, style: &Style) -> Sheet {
        let placed = self.dots.iter().filter(|(x, y, _)| has_place(*x, *y));
        let dots: Vec<(f64, f64, char)> = placed.map(|(x, y, sign)| (x.ln(), y.ln(), *sign)).collect();
        let range = |of: fn(&(f64, f64, char)) -> f64| {
            let ends = (f64::INFINITY, f64::NEG_INFINITY);
            dots.iter().map(of).fold(ends, |(low, high), it| (low.min(it), high.max(it)))
        };
        let ((west, east), (low, high)) = (range(|dot| dot.0), range(|dot| dot.1));
        if dots.len() < 3 || east - west < 0.5 {
            return Sheet::new();
        }
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
        for (x, y, sign) in &dots {
            let row = ROWS - 1 - ((y - low) / (high - low) * (ROWS - 1) as f64).round() as usize;
            field[row][column(*x)] = *sign;
        }
        let mut sheet = title(self.title);
        let mut lines = Vec::new();
        let below = |text: &str| format!("{:SCALE$}   {text}", "").trim_end().to_owned();
        lines.extend(self.marks.iter().map(|_| below(&String::from_iter(&names))));
        let [label_x, label_y] = self.labels;
        let bar = style.pick("│", "|");
        for (at, cells) in field.into_iter().enumerate() {
            let height = (ROWS - 1 - at) as f64 / (ROWS - 1) as f64;
            let has_label = [0, ROWS / 2, ROWS - 1].contains(&at);
            let label = if has_label { label_y(((high - low) * height + low).exp()) } else { String::new() };
            lines.push(format!("{label:>SCALE$} {bar} {}", String::from_iter(cells)).trim_end().to_owned());
        }
        let axis = style.pick("─", "-").repeat(width + 1);
        lines.push(format!("{:SCALE$} {}{axis}", "", style.pick("└", "+")));
        let (first, last) = (label_x(west.exp().round()), label_x(east.exp().round()));
        let gap = width.saturating_sub(first.len() + last.len());
        lines.push(below(&format!("{first}{}{last}", " ".repeat(gap))));
        sheet.extend(drawn(lines));
        sheet.extend(prose(&self.legend, format!("{:SCALE$}   ", "")));
        sheet
    }
}

/// A label of the vertical scale: a figure.
pub(crate) fn figure(value: f64) -> String {
    fit(value, SCALE - 1)
}
