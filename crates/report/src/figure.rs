//! A chart on the page: heading, picture, what could not be drawn, and the table that says the same.

use crate::markup::clean;
use crate::sheet::Table;
use maud::{Markup, html};
use tollgate_record::number::plural;

/// A chart with all that belongs to it.
pub(crate) struct Figure {
    /// What it shows, in a few words.
    title: String,
    /// How to read it, in a sentence or two; may be empty.
    pub(crate) lead: String,
    /// Legend, plots, rows.
    pub(crate) picture: Vec<Markup>,
    /// What is not in the picture and why, each a sentence; warnings that belong to it.
    pub(crate) notes: Vec<String>,
    /// Every number of the picture.
    table: Table,
}

impl Figure {
    pub(crate) fn new(title: &str, lead: &str, table: Table) -> Self {
        let (title, lead) = (clean(title), clean(lead));
        Self { title, lead, picture: Vec::new(), notes: Vec::new(), table }
    }

    /// The figure below a heading of the third level; without one when the title is empty.
    pub(crate) fn element(&self) -> Markup {
        html! {
            figure.chart {
                @if !self.title.is_empty() { h3 { (self.title) } }
                @if !self.lead.is_empty() { p.lead { (self.lead) } }
                div.picture { @for piece in &self.picture { (piece) } }
                @if !self.notes.is_empty() { ul.notes { @for note in &self.notes { li { (clean(note)) } } } }
                @if !self.table.is_empty() {
                    details.data {
                        summary { "The same as a table, " (plural(self.table.rows(), "row", "rows")) }
                        (self.table.element())
                    }
                }
            }
        }
    }
}
