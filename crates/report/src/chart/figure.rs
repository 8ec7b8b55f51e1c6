//! A chart on the page: heading, picture, what could not be drawn, and the table that says the same.

use super::Table;
use crate::markup::{Element, Node, el};

/// A chart with all that belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// What it shows, in a few words.
    pub(crate) title: String,
    /// How to read it, in a sentence or two; may be empty.
    pub(crate) lead: String,
    /// Legend, plots, rows.
    pub(crate) picture: Vec<Node>,
    /// What is not in the picture and why, each a sentence; warnings that belong to it.
    pub(crate) notes: Vec<String>,
    /// Every number of the picture.
    pub(crate) table: Table,
}

impl Figure {
    pub(crate) fn new(title: impl Into<String>, table: Table) -> Self {
        Self { title: title.into(), lead: String::new(), picture: Vec::new(), notes: Vec::new(), table }
    }

    /// With something more in the picture.
    pub(crate) fn draw(mut self, node: impl Into<Node>) -> Self {
        self.picture.push(node.into());
        self
    }

    /// The figure below a heading of the third level; without one when the title is empty.
    pub(crate) fn element(&self) -> Element {
        let mut figure = el("figure").class("chart");
        if !self.title.is_empty() {
            figure = figure.with(el("h3").text(&self.title));
        }
        if !self.lead.is_empty() {
            figure = figure.with(el("p").class("lead").text(&self.lead));
        }
        figure = figure.with(el("div").class("picture").all(self.picture.clone()));
        if !self.notes.is_empty() {
            figure =
                figure.with(el("ul").class("notes").all(self.notes.iter().map(|note| el("li").text(note))));
        }
        if self.table.rows.is_empty() {
            return figure;
        }
        let rows = tollgate_record::number::plural(self.table.rows.len(), "row", "rows");
        figure.with(
            el("details")
                .class("data")
                .with(el("summary").words(format!("The same as a table, {rows}")))
                .with(self.table.element()),
        )
    }
}
