//! What a view shows, before it is known where: a sheet of paragraphs, tables and drawings.
//!
//! A view makes one [`Sheet`]. [`terminal`] lays it out in columns, [`markdown`] writes it for a pull request, [`html`]
//! for a page, where [`overlay`] puts several runs beside each other. A table is drawn nowhere else.

mod html;
mod markdown;
mod overlay;
mod terminal;

pub(crate) use html::Page;
pub(crate) use overlay::overlay;

use crate::plot::Plot;
use crate::style::{Format, Paint, Style};
use std::collections::BTreeMap;
use tollgate_record::Estimate;
use tollgate_record::number::{count, figure, percent};

/// Longer tables are folded on a page and in Markdown, below what is to be read first.
const LONG: usize = 20;

/// What a view shows, from top to bottom.
#[derive(Default)]
pub(crate) struct Sheet {
    blocks: Vec<Block>,
}

/// A part of a sheet.
pub(crate) enum Block {
    Text(Prose),
    /// Short texts side by side, as many in a line as fit.
    Facts(Vec<String>, Paint),
    Table(Table),
    /// Lines that are drawings: each stays as it is.
    Drawn(Vec<String>),
    /// The same for a terminal only: a page has a picture of its own.
    Sketch(Vec<String>),
    Plot(Plot),
    Blank,
}

/// A paragraph: what begins its first line, and the text, whose other lines are below its beginning.
#[derive(Clone, PartialEq)]
pub(crate) struct Prose {
    first: String,
    text: String,
    paint: Paint,
    /// Words with a color of their own.
    marks: Vec<(String, Paint)>,
    /// A terminal shows at most so many lines of it.
    most: usize,
    role: Role,
}

/// What a paragraph is for.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Prose,
    /// The name of what follows.
    Title,
    /// The signs of a drawing, which a page explains beside its own.
    Legend,
}

impl Prose {
    /// In a color.
    pub(crate) fn paint(self, paint: Paint) -> Self {
        Self { paint, ..self }
    }

    /// With one of its words in a color.
    pub(crate) fn mark(mut self, word: impl Into<String>, paint: Paint) -> Self {
        self.marks.push((word.into(), paint));
        self
    }

    /// Cut after so many lines where lines are scarce.
    pub(crate) fn most(self, most: usize) -> Self {
        Self { most, ..self }
    }
}

/// A paragraph that begins with `first`.
pub(crate) fn paragraph(text: impl Into<String>, first: impl Into<String>) -> Prose {
    let (first, text) = (first.into(), text.into());
    Prose { first, text, paint: Paint::Plain, marks: Vec::new(), most: usize::MAX, role: Role::Prose }
}

/// The same as a sheet.
pub(crate) fn prose(text: impl Into<String>, first: impl Into<String>) -> Sheet {
    paragraph(text, first).into()
}

/// A paragraph in one color; a bold one is the title of what follows.
pub(crate) fn painted(paint: Paint, text: impl Into<String>) -> Sheet {
    let role = if paint == Paint::Bold { Role::Title } else { Role::Prose };
    Prose { paint, role, ..paragraph(text, "") }.into()
}

/// A plot below its title, with the signs of its curves; nothing where it has too few points.
pub(crate) fn plotted(plot: Plot) -> Sheet {
    if plot.is_empty() {
        return Sheet::new();
    }
    let mut sheet = title(plot.title);
    let legend = paragraph(plot.legend(), " ".repeat(crate::plot::SCALE + 3));
    sheet.blocks.extend([Block::Plot(plot), Block::Text(Prose { role: Role::Legend, ..legend })]);
    sheet
}

/// A title after an empty line.
pub(crate) fn title(text: impl Into<String>) -> Sheet {
    let mut sheet = Sheet::default();
    sheet.blank();
    sheet.extend(painted(Paint::Bold, text));
    sheet
}

/// Lines that are drawings.
pub(crate) fn drawn(lines: Vec<String>) -> Sheet {
    if lines.is_empty() { Sheet::default() } else { Sheet { blocks: vec![Block::Drawn(lines)] } }
}

/// Lines that are drawings in a terminal, where a page has a picture, below their title.
pub(crate) fn sketch(title: Option<Prose>, lines: Vec<String>) -> Sheet {
    let title = title.map(|title| Block::Text(Prose { role: Role::Legend, ..title }));
    title.into_iter().chain((!lines.is_empty()).then_some(Block::Sketch(lines))).collect()
}

/// Short texts side by side.
pub(crate) fn facts(facts: Vec<String>, paint: Paint) -> Sheet {
    if facts.is_empty() { Sheet::default() } else { Sheet { blocks: vec![Block::Facts(facts, paint)] } }
}

impl Sheet {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn blank(&mut self) {
        self.blocks.push(Block::Blank);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// All its paragraphs in one color.
    pub(crate) fn paint(mut self, paint: Paint) -> Self {
        for block in &mut self.blocks {
            if let Block::Text(prose) = block {
                prose.paint = paint;
            }
        }
        self
    }

    /// With its plots, each below its title, before everything else.
    pub(crate) fn plots_first(self) -> Self {
        let mut first = Vec::new();
        let mut rest: Vec<Block> = Vec::new();
        for block in self.blocks {
            match block {
                Block::Plot(_) => {
                    let is_title =
                        |it: &mut Block| matches!(it, Block::Text(prose) if prose.role == Role::Title);
                    first.extend(rest.pop_if(is_title).into_iter().chain([block]));
                }
                block => rest.push(block),
            }
        }
        first.into_iter().chain(rest).collect()
    }

    /// The sheet as text in the format of `style`.
    pub(crate) fn text(&self, style: &Style) -> String {
        match style.format {
            Format::Terminal => crate::text::lines(self.lines(style)),
            Format::Markdown => self.markdown(),
        }
    }
}

impl From<Prose> for Sheet {
    fn from(prose: Prose) -> Self {
        Self { blocks: vec![Block::Text(prose)] }
    }
}

/// Nothing for a table without rows.
impl From<Table> for Sheet {
    fn from(table: Table) -> Self {
        Self { blocks: if table.is_empty() { Vec::new() } else { vec![Block::Table(table)] } }
    }
}

impl Extend<Block> for Sheet {
    fn extend<T: IntoIterator<Item = Block>>(&mut self, blocks: T) {
        self.blocks.extend(blocks);
    }
}

impl FromIterator<Block> for Sheet {
    fn from_iter<T: IntoIterator<Item = Block>>(blocks: T) -> Self {
        Self { blocks: blocks.into_iter().collect() }
    }
}

impl IntoIterator for Sheet {
    type Item = Block;
    type IntoIter = std::vec::IntoIter<Block>;

    fn into_iter(self) -> Self::IntoIter {
        self.blocks.into_iter()
    }
}

/// A table. Rows are added in order.
pub(crate) struct Table {
    /// What it shows, where that is not in a title above it.
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// What rows show, where that is a probe: a page filters by it.
    names: BTreeMap<usize, String>,
    indent: usize,
    gap: usize,
}

/// A column: its title, alignment, and what may happen to it in a narrow terminal.
#[derive(Clone)]
pub(crate) struct Column {
    title: Cell,
    align: Align,
    most: usize,
    least: usize,
    reserved: usize,
    rank: usize,
    /// Whether it has the figure to quote.
    is_quoted: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Align {
    Left,
    Right,
}

/// The content of one place of a table.
#[derive(Clone, PartialEq)]
pub(crate) struct Cell {
    content: Content,
    /// The number that the text shows, by which a page sorts.
    value: Option<f64>,
    paint: Paint,
    /// The end of the text that stays when the text is cut.
    tail: String,
}

#[derive(Clone, PartialEq)]
enum Content {
    Text(String),
    /// A text that is a share of the total, which a page also shows as a length.
    Share(String),
    /// The title of a column of bars, in as many columns as there are.
    Axis,
    /// Figures on a logarithmic axis, each with its run.
    Bars(Vec<(usize, Estimate)>),
}

#[derive(Clone)]
enum Row {
    Cells(Vec<Cell>, Paint),
    /// Cells, and prose that is wrapped beside them up to the right edge.
    Prose(Vec<Cell>, String, Paint),
    /// A text across all columns: what begins its first line, and the text.
    Text(String, String, Paint),
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::of(Content::Text(text.into()))
    }
}

impl Cell {
    fn of(content: Content) -> Self {
        Self { content, value: None, paint: Paint::Plain, tail: String::new() }
    }

    /// The title of a column of bars.
    pub(crate) fn axis() -> Self {
        Self::of(Content::Axis)
    }

    /// A figure in nanoseconds on the axis of its column.
    pub(crate) fn bar(figure: Option<Estimate>) -> Self {
        Self::of(Content::Bars(figure.map(|figure| (0, figure)).into_iter().collect())).paint(Paint::Bar)
    }

    /// A share of a total in per cent.
    pub(crate) fn share(share: f64) -> Self {
        Self { value: Some(share), ..Self::of(Content::Share(percent(share))) }
    }

    /// A text of a record, or of ours.
    pub(crate) fn text(text: impl AsRef<str>) -> Self {
        text.as_ref().into()
    }

    /// A number as it is shown, and the one that it is sorted by.
    pub(crate) fn shown(text: impl Into<String>, value: f64) -> Self {
        Self { value: Some(value), ..Self::from(text) }
    }

    /// A number with as many digits as mean something.
    pub(crate) fn number(number: f64) -> Self {
        Self::shown(figure(number), number)
    }

    /// A whole number of things.
    pub(crate) fn count(number: u64) -> Self {
        Self::shown(count(number as usize), number as f64)
    }

    /// A number, or an empty cell.
    pub(crate) fn maybe(number: Option<f64>) -> Self {
        number.map_or_else(|| "".into(), Self::number)
    }

    pub(crate) fn paint(self, paint: Paint) -> Self {
        Self { paint, ..self }
    }

    /// With a mark at the end that stays when the text before it is cut.
    pub(crate) fn tail(self, tail: impl Into<String>) -> Self {
        Self { tail: tail.into(), ..self }
    }
}

impl Column {
    pub(crate) fn left(title: impl Into<Cell>) -> Self {
        Self {
            title: title.into(),
            align: Align::Left,
            most: usize::MAX,
            least: usize::MAX,
            reserved: 0,
            rank: 0,
            is_quoted: false,
        }
    }

    pub(crate) fn right(title: impl Into<Cell>) -> Self {
        Self { align: Align::Right, ..Self::left(title) }
    }

    /// Never wider than `most`; longer texts are cut.
    pub(crate) fn most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Never narrower than `reserved`: room for prose.
    pub(crate) fn reserved(self, reserved: usize) -> Self {
        Self { reserved, ..self }
    }

    /// In a narrow terminal shortened down to `least`. A drawing takes what the other columns leave.
    pub(crate) fn least(self, least: usize) -> Self {
        Self { least, ..self }
    }

    /// With the figure to quote: a page has exactly one for each row.
    pub(crate) fn quoted(self) -> Self {
        Self { is_quoted: true, ..self }
    }

    /// Dropped in a narrow terminal; the column with the highest rank goes first.
    pub(crate) fn rank(self, rank: usize) -> Self {
        Self { rank, ..self }
    }
}

impl Table {
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            caption: String::new(),
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
            names: BTreeMap::new(),
            indent: 0,
            gap: 2,
        }
    }

    /// A table of a page: its caption, and the heading of each column with whether it holds numbers.
    pub(crate) fn data(caption: impl Into<String>, columns: &[(&str, bool)]) -> Self {
        let columns = columns.iter().map(|&(title, number)| match number {
            true => Column::right(title),
            false => Column::left(title),
        });
        Self { caption: caption.into(), ..Self::new(columns) }
    }

    /// With a caption, which a page shows.
    pub(crate) fn caption(self, caption: impl Into<String>) -> Self {
        Self { caption: caption.into(), ..self }
    }

    /// Without a column: that of the run, where there is one run only.
    pub(crate) fn without(mut self, column: usize) -> Self {
        self.columns.remove(column);
        for row in &mut self.rows {
            if let Row::Cells(cells, _) | Row::Prose(cells, ..) = row {
                cells.remove(column);
            }
        }
        self
    }

    /// With so many blanks before each row.
    pub(crate) fn indent(self, indent: usize) -> Self {
        Self { indent, ..self }
    }

    /// With so many blanks between columns; two unless told otherwise.
    pub(crate) fn gap(self, gap: usize) -> Self {
        Self { gap, ..self }
    }

    /// One more row. Cells that are missing at the end are empty.
    pub(crate) fn row<T: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.painted(cells, Paint::Plain);
    }

    /// One more row, all in one color.
    pub(crate) fn painted<T: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = T>, paint: Paint) {
        self.rows.push(Row::Cells(cells.into_iter().map(Into::into).collect(), paint));
    }

    /// One more row whose first cells are followed by prose, wrapped where it is long.
    pub(crate) fn prose<T: Into<Cell>>(
        &mut self,
        cells: impl IntoIterator<Item = T>,
        text: impl Into<String>,
        paint: Paint,
    ) {
        self.rows.push(Row::Prose(cells.into_iter().map(Into::into).collect(), text.into(), paint));
    }

    /// The last row shows this probe.
    pub(crate) fn name(&mut self, probe: impl Into<String>) {
        self.names.insert(self.rows.len() - 1, probe.into());
    }

    /// A text across all columns, without indent.
    pub(crate) fn heading(&mut self, text: impl Into<String>, paint: Paint) {
        self.text("", text, paint);
    }

    /// A text across all columns, whose lines are below each other after `first`.
    pub(crate) fn text(&mut self, first: impl Into<String>, text: impl Into<String>, paint: Paint) {
        self.rows.push(Row::Text(first.into(), text.into(), paint));
    }

    pub(crate) fn blank(&mut self) {
        self.text("", "", Paint::Plain);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether no row has anything in a column.
    fn is_blank(&self, column: usize) -> bool {
        let cells = self.rows.iter().filter_map(|row| row.cells().get(column));
        cells.into_iter().all(|cell| match &cell.content {
            Content::Text(text) | Content::Share(text) => text.is_empty(),
            Content::Bars(bars) => bars.is_empty(),
            Content::Axis => false,
        })
    }

    /// How many rows show something.
    pub(crate) fn rows(&self) -> usize {
        self.rows.iter().filter(|row| !matches!(row, Row::Text(..))).count()
    }

    /// The rows that a color says to read first, unless they are most.
    fn noticed(&self) -> Option<Self> {
        let mut first = Self::new(self.columns.iter().cloned());
        let mut heading = None;
        for row in &self.rows {
            if let Row::Text(..) = row {
                heading = Some(row.clone());
            } else if row.is_noticed() {
                first.rows.extend(heading.take().into_iter().chain([row.clone()]));
            }
        }
        (!first.is_empty() && first.rows.len() * 2 <= self.rows.len()).then_some(first)
    }

    fn is_drawing(&self, column: usize) -> bool {
        self.columns[column].title.content == Content::Axis
    }
}

impl Row {
    /// Whether a color says that it is to be read first.
    fn is_noticed(&self) -> bool {
        let is = |paint: Paint| matches!(paint, Paint::Bad | Paint::Good | Paint::Warn);
        match self {
            Self::Cells(cells, paint) | Self::Prose(cells, _, paint) => {
                is(*paint) || cells.iter().any(|cell| is(cell.paint))
            }
            Self::Text(..) => false,
        }
    }

    fn cells(&self) -> &[Cell] {
        match self {
            Self::Cells(cells, _) | Self::Prose(cells, ..) => cells,
            Self::Text(..) => &[],
        }
    }
}
