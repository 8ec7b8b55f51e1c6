//! The table behind a chart.

use crate::markup::{Element, clean, el, short};

/// A table whose first column names the row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) caption: String,
    /// Heading of each column, and whether it holds numbers.
    pub(crate) columns: Vec<(String, bool)>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// The content of one place of a table.
#[derive(Clone, Debug)]
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

    /// The table in a box that scrolls by itself, so that the page does not. Not a region: a page has too many to be
    /// landmarks.
    pub(crate) fn element(&self) -> Element {
        let head = self.columns.iter().map(|(name, is_number)| {
            let th = el("th").set("scope", "col").text(name);
            if *is_number { th } else { th.class("t") }
        });
        let body = self.rows.iter().map(|row| {
            let cells = row.iter().enumerate().map(|(i, cell)| cell.element(i == 0));
            el("tr").all(cells)
        });
        let table = el("table")
            .class("sortable")
            .with(el("caption").text(&self.caption))
            .with(el("thead").with(el("tr").all(head)))
            .with(el("tbody").all(body));
        el("div")
            .class("scroll")
            .set("role", "group")
            .set("tabindex", "0")
            .set("aria-label", self.caption.as_str())
            .with(table)
    }
}

impl Cell {
    /// Most cells hold numbers, so that those which do not are the marked ones.
    fn element(&self, first: bool) -> Element {
        match self {
            Self::Text(text) if first => el("th").set("scope", "row").class("t").text(text),
            Self::Text(text) => el("td").class("t").text(text),
            Self::None => el("td").words("–"),
            Self::Number(shown, number) => {
                let cell = if first { el("th").set("scope", "row") } else { el("td") };
                // The script reads thousands and letters, but no units.
                let plain = shown.chars().all(|c| c.is_ascii_digit() || ",.-".contains(c));
                if plain || !number.is_finite() {
                    cell.text(shown)
                } else {
                    cell.text(shown).set("data-v", compact(*number))
                }
            }
        }
    }
}

/// Four digits are enough to sort by.
fn compact(number: f64) -> String {
    if (0.01..1e6).contains(&number.abs()) { short(number, 3) } else { format!("{number:.4e}") }
}
