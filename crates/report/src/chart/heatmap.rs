//! A field of cells whose color says how much: a number over two quantities.

use super::mark::{self, Look};
use crate::markup::{Element, clean, el, percent};

/// Height of a row in pixels.
const ROW: f64 = 22.0;
/// Room below for the columns' names and the axis' title.
const BELOW: f64 = 36.0;
/// How many shades there are; the style sheet has one for each.
pub(crate) const SHADES: usize = 8;

/// Cells in rows and columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heatmap {
    /// What the columns count.
    pub(crate) across: String,
    /// What the rows count.
    pub(crate) down: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<(String, Vec<Option<Cell>>)>,
}

/// One cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// How much, as one of the shades; the last is the most.
    pub(crate) shade: usize,
    /// Its text, drawn if there is room.
    pub(crate) shown: String,
    /// The words of its mark.
    pub(crate) words: String,
}

impl Heatmap {
    /// The field; `name` is what a screen reader calls it.
    pub(crate) fn element(&self, name: &str) -> Element {
        let columns = self.columns.len().max(1) as f64;
        let height = ROW * self.rows.len() as f64;
        let mut svg = el("svg")
            .class("field")
            .set("width", "100%")
            .set("height", height + BELOW)
            .set("role", "group")
            .set("aria-label", clean(name));
        let mut axes = el("g").class("axes").set("aria-hidden", "true");
        for (i, (label, _)) in self.rows.iter().enumerate() {
            let text = el("text")
                .class("tick")
                .set("x", -8.0)
                .set("y", ROW * i as f64 + ROW * 0.7)
                .set("text-anchor", "end")
                .text(label);
            axes = axes.with(text);
        }
        for (i, label) in self.columns.iter().enumerate() {
            // On a phone every other one has room.
            let class = if i % 2 == 0 { "tick" } else { "tick minor" };
            axes = axes.with(mark::label(class, "middle", (i as f64 + 0.5) / columns, height + 15.0, label));
        }
        axes = axes.with(mark::label("axis", "end", 1.0, height + 32.0, &self.across));
        svg = svg.with(axes);
        for (i, (_, cells)) in self.rows.iter().enumerate() {
            for (j, cell) in cells.iter().enumerate().take(self.columns.len()) {
                let Some(cell) = cell else { continue };
                svg = svg.with(drawn(cell, j as f64 / columns, ROW * i as f64, 1.0 / columns));
            }
        }
        let title = el("p").class("y-title").text(&self.down);
        el("div").class("plot heat").with(title).with(svg)
    }
}

fn drawn(cell: &Cell, across: f64, down: f64, width: f64) -> Element {
    let rect = el("rect")
        .set("x", percent(across))
        .set("y", down + 1.0)
        .set("width", percent(width))
        .set("height", ROW - 2.0);
    let group = mark::mark(Look { color: 0, shape: 0 }, &cell.words)
        .class(format!("m h{}", cell.shade.min(SHADES - 1)))
        .with(rect);
    if cell.shown.is_empty() {
        return group;
    }
    group.with(mark::label("inside", "middle", across + width / 2.0, down + ROW * 0.68, &cell.shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_stands_in_its_row_and_column_and_a_missing_one_is_left_out() {
        let cell = |shade| Some(Cell { shade, shown: String::new(), words: format!("shade {shade}") });
        let map = Heatmap {
            columns: vec!["1".into(), "2".into()],
            rows: vec![("a".into(), vec![cell(0), None]), ("b".into(), vec![None, cell(99)])],
            ..Heatmap::default()
        };
        let mut out = String::new();
        map.element("a & b").write(&mut out);
        assert_eq!(out.matches("<rect").count(), 2, "{out}");
        assert!(out.contains("class=\"m h0\"") && out.contains("x=\"0%\" y=\"1\" width=\"50%\""), "{out}");
        assert!(out.contains("class=\"m h7\"") && out.contains("x=\"50%\" y=\"23\" width=\"50%\""), "{out}");
        assert!(out.contains("aria-label=\"a &amp; b\""), "{out}");
    }

    #[test]
    fn cells_without_a_column_are_left_out() {
        let map = Heatmap { rows: vec![("a".into(), vec![Some(Cell::default())])], ..Heatmap::default() };
        let mut out = String::new();
        map.element("").write(&mut out);
        assert!(!out.contains("<rect") && !out.contains("NaN"), "{out}");
    }
}
