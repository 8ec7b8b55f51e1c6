//! A sheet in a terminal: columns as wide as their content, dropped or shortened where the terminal is narrow.

use super::{Align, Block, Cell, Column, Content, Prose, Row, Sheet, Table};
use crate::bar::{self, Bar};
use crate::style::{Paint, Style};
use crate::text::{cut, flow, width, wrap};

/// A text is not shortened further than this.
const SHORTEST: usize = 6;

impl Sheet {
    /// The lines. None is wider than the terminal or ends in a blank.
    pub(crate) fn lines(&self, style: &Style) -> Vec<String> {
        let lines = self.blocks.iter().flat_map(|block| match block {
            Block::Blank => vec![String::new()],
            Block::Text(prose) => prose.lines(style),
            Block::Facts(facts, paint) => {
                let lines = flow(facts.iter().cloned(), style.columns());
                lines.iter().map(|line| style.paint(*paint, line)).collect()
            }
            Block::Table(table) => table.lines(style),
            Block::Drawn(lines) | Block::Sketch(lines) => lines.clone(),
            Block::Plot(plot) => plot.lines(style),
        });
        lines.collect()
    }
}

impl Prose {
    fn lines(&self, style: &Style) -> Vec<String> {
        let mut lines = wrap(&self.text, style.prose(), &self.first);
        if lines.len() > self.most {
            lines.truncate(self.most);
            if let Some(last) = lines.last_mut() {
                let marked = format!("{last} {}", style.pick("…", "~"));
                *last =
                    if width(&marked) <= style.prose() { marked } else { cut(last, style.prose(), style) };
            }
        }
        // Colored once it is known where the line breaks.
        for (word, paint) in &self.marks {
            if let Some(line) = lines.iter_mut().find(|line| line.contains(word.as_str())) {
                *line = line.replacen(word.as_str(), &style.paint(*paint, word), 1);
            }
        }
        // A number stays on the line of its unit: a blank that does not break was between them.
        lines.iter().map(|line| style.paint(self.paint, &line.replace('\u{a0}', " "))).collect()
    }
}

impl Cell {
    fn width(&self) -> usize {
        match &self.content {
            Content::Text(text) | Content::Share(text) => {
                text.lines().map(width).max().unwrap_or(0) + self.tail.len()
            }
            Content::Axis | Content::Bars(_) => usize::MAX,
        }
    }

    /// The text in at most `columns`; of a title with several lines, one of them.
    fn fitted(&self, columns: usize, style: &Style) -> String {
        match &self.content {
            Content::Text(text) | Content::Share(text) => {
                cut(text, columns.saturating_sub(self.tail.len()), style) + &self.tail
            }
            Content::Axis => format!(" {}", bar::axis(columns - 2, style)),
            Content::Bars(bars) => match bars.first() {
                Some((_, figure)) => match bar::draw(Bar::of(figure), columns - 2, style) {
                    bar if bar.is_empty() => bar,
                    bar => format!(" {bar}"),
                },
                None => String::new(),
            },
        }
    }
}

impl Table {
    /// The header, unless no column has a title, and the rows. No line is wider than the terminal or ends in a blank.
    fn lines(&self, style: &Style) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let widths = self.widths(style.columns());
        let mut lines = self.header(&widths, style);
        for row in &self.rows {
            match row {
                Row::Cells(cells, paint) => {
                    lines.push(style.paint(*paint, &self.line(cells, &widths, style)));
                }
                Row::Prose(cells, text, paint) => {
                    lines.extend(self.wrapped(cells, text, *paint, &widths, style))
                }
                Row::Text(first, text, paint) => {
                    let room = if first.is_empty() { style.columns() } else { style.columns().min(120) };
                    lines.extend(wrap(text, room, first).iter().map(|line| style.paint(*paint, line)));
                }
            }
        }
        lines
    }

    fn header(&self, widths: &[Option<usize>], style: &Style) -> Vec<String> {
        let title = |(column, width): (&Column, &Option<usize>)| -> Vec<String> {
            match &column.title.content {
                Content::Text(text) => text.lines().map(str::to_owned).collect(),
                _ => width.map(|width| column.title.fitted(width, style)).into_iter().collect(),
            }
        };
        let titles: Vec<Vec<String>> = self.columns.iter().zip(widths).map(title).collect();
        let most = titles.iter().map(Vec::len).max().unwrap_or(0);
        let line = |line: usize| {
            // Titles of fewer lines are at the bottom.
            let cell = |title: &Vec<String>| {
                (line + title.len()).checked_sub(most).map_or("", |at| &title[at]).into()
            };
            self.line(&titles.iter().map(cell).collect::<Vec<Cell>>(), widths, style)
        };
        let lines = (0..most).map(line).filter(|line| !line.is_empty());
        lines.map(|line| style.paint(Paint::Dim, &line)).collect()
    }

    /// One line of cells. Blanks are written before a text, never after the last one.
    fn line(&self, cells: &[Cell], widths: &[Option<usize>], style: &Style) -> String {
        let mut line = " ".repeat(self.indent);
        let mut blanks = 0;
        let mut used = self.indent;
        for ((column, cell), columns) in self.columns.iter().zip(cells).zip(widths) {
            let Some(columns) = *columns else { continue };
            let text = cell.fitted(columns, style);
            let room = columns.min(style.columns().saturating_sub(used));
            let text = if room == 0 { String::new() } else { cut(&text, room, style) };
            let rest = room.saturating_sub(width(&text));
            let (before, after) = if column.align == Align::Right { (rest, 0) } else { (0, rest) };
            if !text.is_empty() {
                line.push_str(&" ".repeat(blanks + before));
                line.push_str(&style.paint(cell.paint, &text));
                blanks = after + self.gap;
            } else {
                blanks += columns + self.gap;
            }
            used += columns + self.gap;
        }
        if line.trim().is_empty() { String::new() } else { line }
    }

    fn wrapped(
        &self,
        cells: &[Cell],
        text: &str,
        paint: Paint,
        widths: &[Option<usize>],
        style: &Style,
    ) -> Vec<String> {
        let lead = self.line(cells, widths, style);
        if text.is_empty() {
            return vec![lead];
        }
        let place = |(columns, _): (&Option<usize>, &Cell)| columns.map_or(0, |columns| columns + self.gap);
        let start = self.indent + widths.iter().zip(cells).map(place).sum::<usize>();
        // Where the cells leave too little room the prose is below them.
        if start + 16 > style.columns() {
            let below = wrap(text, style.columns(), &" ".repeat(self.indent + 2));
            return std::iter::once(lead).chain(below.iter().map(|line| style.paint(paint, line))).collect();
        }
        let room = (style.columns() - start).min(100);
        let prose = wrap(text, room, "");
        let padded = |(place, line): (usize, &String)| {
            let before = if place == 0 { lead.as_str() } else { "" };
            let blanks = " ".repeat(start.saturating_sub(plain_width(before)));
            format!("{before}{blanks}{}", style.paint(paint, line))
        };
        prose.iter().enumerate().map(padded).collect()
    }

    /// The width of each column; none for one that is dropped.
    fn widths(&self, columns: usize) -> Vec<Option<usize>> {
        let natural: Vec<usize> = (0..self.columns.len()).map(|place| self.natural(place)).collect();
        let least = |place: usize| self.columns[place].least.min(natural[place]);
        let total = |shown: &[usize], of: &dyn Fn(usize) -> usize| -> usize {
            let widths: usize = shown.iter().map(|place| of(*place)).sum();
            self.indent + widths + self.gap * shown.len().saturating_sub(1)
        };
        let mut ranks: Vec<usize> =
            self.columns.iter().map(|column| column.rank).filter(|rank| *rank > 0).collect();
        ranks.sort_unstable();
        let mut shown: Vec<usize> = (0..self.columns.len()).filter(|place| natural[*place] > 0).collect();
        while total(&shown, &least) > columns
            && let Some(rank) = ranks.pop()
        {
            shown.retain(|place| self.columns[*place].rank != rank);
        }
        let mut widths = natural.clone();
        let mut excess = total(&shown, &|place| natural[place]).saturating_sub(columns);
        // Drawings give way first, then the texts, the widest first. Where even that is not enough, the texts are
        // shortened further.
        let is_drawn = |place: usize| self.is_drawing(place);
        for (drawn, shortest) in [(true, usize::MAX), (false, usize::MAX), (false, SHORTEST)] {
            let gives = |place: &usize| self.columns[*place].least < usize::MAX && is_drawn(*place) == drawn;
            let floor = |place: usize| least(place).min(shortest);
            let wide = |widths: &[usize]| {
                let places = shown.iter().copied().filter(gives);
                places.filter(|place| widths[*place] > floor(*place)).max_by_key(|place| widths[*place])
            };
            while excess > 0
                && let Some(place) = wide(&widths)
            {
                widths[place] -= 1;
                excess -= 1;
            }
        }
        (0..self.columns.len()).map(|place| shown.contains(&place).then_some(widths[place])).collect()
    }

    /// The width that a column's content asks for; zero for one whose cells are all empty.
    fn natural(&self, place: usize) -> usize {
        let column = &self.columns[place];
        let cells = self.rows.iter().filter_map(|row| row.cells().get(place));
        let content = cells.map(Cell::width).max().unwrap_or(0).max(column.reserved);
        if content == 0 { 0 } else { content.max(column.title.width()).min(column.most) }
    }
}

/// The width of a text that may have colors in it.
fn plain_width(text: &str) -> usize {
    let mut parts = text.split("\x1b[");
    let first = width(parts.next().unwrap_or_default());
    first + parts.map(|part| width(part.split_once('m').map_or(part, |(_, rest)| rest))).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::Estimate;

    fn narrow(columns: usize) -> Style {
        Style { width: columns, color: false, unicode: false, ..Style::PLAIN }
    }

    fn table() -> Table {
        let columns = [
            Column::left("name").least(8),
            Column::right("ns"),
            Column::right("cycles").rank(1),
            Column::right("p99\nsingle").rank(2),
        ];
        let mut table = Table::new(columns).indent(2);
        table.heading("system call", Paint::Bold);
        table.row(["getppid", "101", "303", "118"]);
        table.row(["clock_gettime-after-flush", "1,178", "3,534", ""]);
        table.prose(["openat"], "failed: no such file or directory", Paint::Bad);
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_content() {
        let expected = [
            "                                               p99",
            "  name                          ns  cycles  single",
            "system call",
            "  getppid                      101     303     118",
            "  clock_gettime-after-flush  1,178   3,534",
            "  openat                     failed: no such file or directory",
        ];
        assert_eq!(table().lines(&narrow(80)), expected);
    }

    #[test]
    fn a_narrow_terminal_shortens_names_then_drops_columns_by_rank() {
        let at = |columns| table().lines(&narrow(columns));
        assert_eq!(at(40)[4], "  clock_gettime-~  1,178   3,534");
        let columns: Vec<Option<usize>> = table().widths(30);
        assert_eq!(columns, [Some(13), Some(5), Some(6), None]);
        assert_eq!(table().widths(20), [Some(11), Some(5), None, None]);
        assert!((40..120).all(|columns| at(columns).iter().all(|line| line.len() <= columns)));
    }

    #[test]
    fn a_drawing_takes_what_is_left_and_a_mark_survives_the_cut() {
        let mut table = Table::new([
            Column::left("").least(4),
            Column::left(Cell::axis()).most(30).least(9),
            Column::left("proof").most(8),
        ]);
        let bar = Cell::bar(Some(Estimate::point(1e3)));
        table.row(["a name of twenty two".into(), bar, Cell::from("2.05 switches").tail(" (!)")]);
        let lines = table.lines(&narrow(44));
        assert_eq!(
            lines,
            // A microsecond is below its label.
            ["                       1n   1u  1m  proof", "a name of twenty two   -----|       2.0~ (!)"]
        );
    }

    #[test]
    fn colors_do_not_move_anything_and_nothing_ends_in_a_blank() {
        let color = Style { width: 60, color: true, unicode: true, ..Style::PLAIN };
        let mut table = Table::new([Column::left("a"), Column::left("b"), Column::right("c")]);
        table.row([Cell::from("x").paint(Paint::Good), "y".into(), "".into()]);
        table.prose([Cell::from("x").paint(Paint::Good)], "prose", Paint::Dim);
        assert_eq!(table.lines(&color)[1], "\x1b[32mx\x1b[0m  y");
        assert_eq!(table.lines(&color)[2], "\x1b[32mx\x1b[0m  \x1b[2mprose\x1b[0m");
        assert!(Table::new([Column::left("")]).lines(&color).is_empty());
    }
}
