//! A sheet on a page.

use super::{Align, Block, Cell, Content, Row, Sheet, Table};
use crate::markup::{clean, short};
use crate::style::Paint;
use maud::{Markup, html};

impl Sheet {
    /// Its parts as elements.
    pub(crate) fn elements(&self) -> Markup {
        html! {
            @for block in &self.blocks {
                @match block {
                    Block::Blank => {}
                    Block::Text(prose) => {
                        @let text = clean(&format!("{}{}", prose.first, prose.text));
                        @if prose.paint == Paint::Bold { p { b { (text) } } } @else { p { (text) } }
                    }
                    Block::Facts(facts, _) => p { (clean(&facts.join(" · "))) }
                    Block::Table(table) => (table.element())
                    Block::Drawn(lines) => pre { @for line in lines { (line) "\n" } }
                }
            }
        }
    }
}

impl Table {
    /// The table in a box that scrolls by itself, so that the page does not. Not a region: a page has too many to be
    /// landmarks.
    pub(crate) fn element(&self) -> Markup {
        let caption = clean(&self.caption);
        let shown: Vec<usize> = (0..self.columns.len())
            .filter(|&place| !self.is_drawing(place) && !self.is_blank(place))
            .collect();
        html! {
            div.scroll role="group" tabindex="0" aria-label=(caption) {
                table.sortable {
                    @if !caption.is_empty() { caption { (caption) } }
                    thead {
                        tr {
                            @for &place in &shown {
                                @let column = &self.columns[place];
                                @let (class, title) = ((column.align == Align::Left).then_some("t"), column.title.words());
                                // A heading without words is not a heading, and nothing to sort by.
                                @if title.is_empty() { td class=[class] {} } @else { th scope="col" class=[class] { (title) } }
                            }
                        }
                    }
                    tbody { @for row in &self.rows { (self.row_element(row, &shown)) } }
                }
            }
        }
    }

    fn row_element(&self, row: &Row, shown: &[usize]) -> Markup {
        let (cells, after) = match row {
            Row::Cells(cells, _) => (cells, ""),
            Row::Prose(cells, text, _) => (cells, text.as_str()),
            Row::Text(first, text, _) => {
                let text = clean(&format!("{first}{text}"));
                return html! { @if !text.is_empty() { tr { th.t scope="row" colspan=(shown.len()) { (text) } } } };
            }
        };
        let rest = shown.iter().filter(|&&place| place >= cells.len()).count();
        html! {
            tr {
                @for (at, &place) in shown.iter().enumerate() {
                    @if let Some(cell) = cells.get(place) { (cell.element(at == 0, self.columns[place].align)) }
                }
                @if !after.is_empty() { td.t colspan=(rest.max(1)) { (clean(after)) } }
            }
        }
    }
}

impl Cell {
    fn words(&self) -> String {
        match &self.content {
            Content::Text(text) => clean(&(text.replace('\n', " ") + &self.tail)),
            Content::Drawn(_) => String::new(),
        }
    }

    /// Most cells hold numbers, so that those which do not are the marked ones.
    fn element(&self, first: bool, align: Align) -> Markup {
        let words = self.words();
        let (class, shown) = match align {
            Align::Left => (Some("t"), words.as_str()),
            Align::Right if words.is_empty() => (None, "–"),
            Align::Right if self.value.is_none() && words.starts_with(char::is_alphabetic) => {
                (Some("t"), words.as_str())
            }
            Align::Right => (None, words.as_str()),
        };
        // The script reads thousands and letters, but no units.
        let plain = words.chars().all(|c| c.is_ascii_digit() || ",.-".contains(c));
        let sort = self.value.filter(|value| !plain && value.is_finite()).map(compact);
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
