//! The table behind a chart.

use crate::markup::{clean, short};
use maud::{Markup, html};

/// A table whose first column names the row.
pub(crate) struct Table {
    pub(crate) caption: String,
    /// Heading of each column, and whether it holds numbers.
    pub(crate) columns: Vec<(String, bool)>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// The content of one place of a table.
pub(crate) enum Cell {
    /// A text of a record, or of ours.
    Text(String),
    /// A number as it is shown, and the one that it is sorted by.
    Number(String, f64),
    /// Nothing there.
    None,
}

impl Cell {
    pub(crate) fn text(text: impl AsRef<str>) -> Self {
        Self::Text(clean(text.as_ref()))
    }

    /// A number with as many digits as mean something.
    pub(crate) fn number(number: f64) -> Self {
        Self::Number(tollgate_record::number::figure(number), number)
    }

    /// A whole number of things.
    pub(crate) fn count(number: u64) -> Self {
        Self::Number(tollgate_record::number::count(number as usize), number as f64)
    }

    pub(crate) fn maybe(number: Option<f64>) -> Self {
        number.map_or(Self::None, Self::number)
    }
}

impl Table {
    pub(crate) fn new(caption: impl AsRef<str>, columns: &[(&str, bool)]) -> Self {
        Self {
            caption: clean(caption.as_ref()),
            columns: columns.iter().map(|(name, is_number)| ((*name).to_owned(), *is_number)).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Without a column: that of the run, where there is one run only.
    pub(crate) fn without(mut self, column: usize) -> Self {
        self.columns.remove(column);
        self.rows.iter_mut().for_each(|row| drop(row.remove(column)));
        self
    }

    /// The table in a box that scrolls by itself, so that the page does not. Not a region: a page has too many to be
    /// landmarks.
    pub(crate) fn element(&self) -> Markup {
        html! {
            div.scroll role="group" tabindex="0" aria-label=(self.caption) {
                table.sortable {
                    caption { (self.caption) }
                    thead {
                        tr {
                            @for (name, is_number) in &self.columns {
                                th scope="col" class=[(!is_number).then_some("t")] { (clean(name)) }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows {
                            tr { @for (i, cell) in row.iter().enumerate() { (cell.element(i == 0)) } }
                        }
                    }
                }
            }
        }
    }
}

impl Cell {
    /// Most cells hold numbers, so that those which do not are the marked ones.
    fn element(&self, first: bool) -> Markup {
        let (class, sort, shown) = match self {
            Self::Text(text) => (Some("t"), None, text.as_str()),
            Self::None => (None, None, "–"),
            Self::Number(shown, number) => {
                // The script reads thousands and letters, but no units.
                let plain = shown.chars().all(|c| c.is_ascii_digit() || ",.-".contains(c));
                (None, (!plain && number.is_finite()).then(|| compact(*number)), shown.as_str())
            }
        };
        html! {
            @if first { th scope="row" class=[class] data-v=[sort] { (shown) } }
            @else { td class=[class] data-v=[sort] { (shown) } }
        }
    }
}

/// Four digits are enough to sort by.
fn compact(number: f64) -> String {
    if (0.01..1e6).contains(&number.abs()) { short(number, 3) } else { format!("{number:.4e}") }
}
