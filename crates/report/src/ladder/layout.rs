//! Which columns the ladder has and how wide each is, for a given width of the terminal.

use super::row::Row;
use crate::bar::{self, LONGEST, SHORTEST};
use crate::style::{Paint, Style};
use crate::text::{cut, left, right, width, wrap};

/// Rows stand in from their title.
const INDENT: usize = 2;

/// A name longer than this is cut before the bar is given up.
const NAME: usize = 16;

/// From here on there is room for wide gaps and long figures.
pub(crate) const WIDE: usize = 100;

/// Between the bar and the proof; the axis above the bar reaches one column into it.
const PROOF_GAP: usize = 3;

/// The widths of the columns; zero for one that is not shown.
pub(crate) struct Layout {
    name: usize,
    figures: [usize; 4],
    bar: usize,
    proof: usize,
    gap: usize,
}

impl Layout {
    /// The columns that `rows` need, made to fit. The bar takes what is left. When nothing is left the
    /// bar goes first, then p99, then the cycles; the figure, its interval and the proof stay.
    pub(crate) fn new<'a>(rows: impl Iterator<Item = &'a Row>, style: &Style) -> Self {
        let titles = titles(style);
        let mut widest = Self { name: 8, figures: titles.map(width), bar: 0, proof: "proof".len(), gap: 2 };
        for row in rows {
            widest.name = widest.name.max(width(&row.name));
            if row.failure.is_none() {
                for (column, figure) in widest.figures.iter_mut().zip(&row.figures) {
                    *column = (*column).max(width(figure));
                }
                widest.proof = widest.proof.max(width(&row.proof));
            }
        }
        widest.fit(style.columns())
    }

    fn fit(mut self, columns: usize) -> Self {
        let long_name = self.name;
        self.name = self.name.min(NAME);
        if columns < WIDE {
            self.gap = 1;
        }
        self.proof = self.proof.min(columns * 2 / 7);
        let spare = |layout: &Self| columns.checked_sub(layout.without_bar() + 2);
        match spare(&self) {
            Some(spare) if spare >= SHORTEST => self.bar = spare.min(LONGEST),
            _ => {
                for column in [3, 1] {
                    if self.without_bar() > columns {
                        self.figures[column] = 0;
                    }
                }
                self.name = self.name.saturating_sub(self.without_bar().saturating_sub(columns)).max(6);
                return self;
            }
        }
        // What the longest useful bar leaves, and what a middling one can spare, goes to long names.
        let more = (long_name - self.name).min(columns.saturating_sub(self.without_bar() + 2 + 3 * SHORTEST));
        self.name += more;
        self.bar = spare(&self).unwrap_or(SHORTEST).clamp(SHORTEST, LONGEST);
        self
    }

    /// The columns of everything but the bar and the gap before it.
    fn without_bar(&self) -> usize {
        let figures: usize =
            self.figures.iter().filter(|width| **width > 0).map(|width| width + self.gap).sum();
        INDENT + self.name + figures + PROOF_GAP + self.proof
    }

    /// The titles of the columns.
    pub(crate) fn header(&self, style: &Style) -> String {
        let axis = if self.bar > 0 { bar::axis(self.bar, style) } else { String::new() };
        let line = self.line("", &titles(style).map(String::from), &axis, "proof", style, true);
        style.paint(Paint::Dim, &line)
    }

    /// The lines of a row: one, or several for a long reason of a failure.
    pub(crate) fn row(&self, row: &Row, style: &Style) -> Vec<String> {
        if let Some(failure) = &row.failure {
            let name = format!("{:INDENT$}{}  ", "", left(&cut(&row.name, self.name, style), self.name));
            let lines = wrap(failure, style.columns(), &name);
            // The first line begins with the name, the others with as many spaces.
            let starts = std::iter::once(name.len()).chain(std::iter::repeat(width(&name)));
            return lines.iter().zip(starts).map(|(line, start)| paint_after(line, start, style)).collect();
        }
        let bar = if self.bar > 0 { bar::draw(row.bar, self.bar, style) } else { String::new() };
        let proof = if row.disagrees && width(&row.proof) > self.proof {
            // The mark matters more than the words before it.
            format!("{} (!)", cut(row.proof.trim_end_matches(" (!)"), self.proof.saturating_sub(4), style))
        } else {
            cut(&row.proof, self.proof, style)
        };
        vec![self.line(&row.name, &row.figures, &bar, &proof, style, !row.disagrees)]
    }

    fn line(
        &self,
        name: &str,
        figures: &[String; 4],
        bar: &str,
        proof: &str,
        style: &Style,
        agrees: bool,
    ) -> String {
        let gap = " ".repeat(self.gap);
        let mut line = format!("{:INDENT$}{}", "", left(&cut(name, self.name, style), self.name));
        for (figure, columns) in figures.iter().zip(self.figures).filter(|(_, columns)| *columns > 0) {
            line.push_str(&gap);
            line.push_str(&right(figure, columns));
        }
        let is_header = name.is_empty();
        if self.bar > 0 && !(bar.is_empty() && proof.is_empty()) {
            line.push_str("  ");
            line.push_str(&style.paint(if is_header { Paint::Plain } else { Paint::Bar }, bar));
        }
        if !proof.is_empty() {
            line.push_str(&" ".repeat((self.bar + PROOF_GAP).saturating_sub(width(bar))));
            line.push_str(&style.paint(if agrees { Paint::Plain } else { Paint::Warn }, proof));
        }
        if is_header { line.trim_end().into() } else { line }
    }
}

fn titles(style: &Style) -> [&'static str; 4] {
    ["ns", "cycles", style.pick("±", "+-"), "p99"]
}

/// The line with everything from byte `start` on in the colour of failure.
fn paint_after(line: &str, start: usize, style: &Style) -> String {
    match line.split_at_checked(start) {
        Some((name, reason)) => format!("{name}{}", style.paint(Paint::Bad, reason)),
        None => line.into(),
    }
}
