//! A sheet on a page.

use super::{Align, Block, Cell, Column, Content, LONG, Prose, Role, Row, Sheet, Table};
use crate::chart::mark::Look;
use crate::chart::plot::{Axis, Plot as Field, Point};
use crate::chart::{Scale, Unit, rungs};
use crate::markup::{clean, percent as across, short};
use crate::plot::Plot;
use crate::style::Paint;
use maud::{Markup, html};
use tollgate_record::Estimate;
use tollgate_record::number::{half_share, plural};

/// Longer tables are folded in any case.
const LONGEST: usize = 60;

/// What a page knows beside the sheet.
pub(crate) struct Page<'a> {
    /// The letter of each run; of one run alone none.
    pub(crate) letters: &'a [&'a str],
    /// Where the page says how the figure of a probe was obtained.
    pub(crate) anchor: &'a dyn Fn(&str) -> Option<String>,
}

impl Page<'_> {
    /// A page that links nothing, of one run.
    pub(crate) const PLAIN: Page<'static> = Page { letters: &[], anchor: &|_| None };

    fn before(&self, run: usize) -> String {
        self.letters.get(run).map_or_else(String::new, |letter| format!("{letter}: "))
    }
}

impl Sheet {
    /// Its parts as elements.
    pub(crate) fn elements(&self, page: &Page) -> Markup {
        let mut title = String::new();
        let mut items = Vec::new();
        let mut parts = Vec::new();
        for block in &self.blocks {
            match block {
                Block::Text(prose) if prose.role == Role::Prose => {
                    match prose.first.trim().ends_with('-') {
                        true => {
                            items.push(clean(&format!("{}{}", prose.first.replace("- ", ""), prose.text)))
                        }
                        false => parts.extend([list(&mut items), prose.element()]),
                    }
                    continue;
                }
                _ => parts.push(list(&mut items)),
            }
            match block {
                Block::Text(prose) if prose.role == Role::Title => {
                    title = prose.words();
                    parts.push(html! { h3 { (title) } });
                }
                Block::Table(table) => parts.push(table.folded(&title, page)),
                Block::Plot(plot) => parts.push(plot.element(page)),
                Block::Drawn(lines) => {
                    parts.push(html! { pre tabindex="0" { @for line in lines { (line) "\n" } } })
                }
                // The page has the facts of its machines in a section, and pictures of its own.
                Block::Facts(..) | Block::Sketch(_) | Block::Blank | Block::Text(_) => {}
            }
        }
        parts.push(list(&mut items));
        html! { @for part in parts { (part) } }
    }
}

/// The items so far, which are taken.
fn list(items: &mut Vec<String>) -> Markup {
    let items = std::mem::take(items);
    html! { @if !items.is_empty() { ul.notes { @for item in items { li { (item) } } } } }
}

impl Prose {
    fn words(&self) -> String {
        clean(&format!("{}{}", self.first, self.text))
    }

    fn element(&self) -> Markup {
        let words = self.words();
        html! {
            @if words.is_empty() {} @else if self.paint == Paint::Bold { p { b { (words) } } }
            @else { p class=[class(self.paint)] { (words) } }
        }
    }
}

/// The class of a color.
fn class(paint: Paint) -> Option<&'static str> {
    match paint {
        Paint::Plain | Paint::Bar => None,
        Paint::Bold => Some("head"),
        Paint::Dim => Some("dim"),
        Paint::Warn => Some("warned"),
        Paint::Bad => Some("bad"),
        Paint::Good => Some("good"),
    }
}

impl Plot {
    fn element(&self, page: &Page) -> Markup {
        let points: Vec<[f64; 2]> = self.placed().map(|(_, point)| point).collect();
        let marks = self.marks.iter().flatten().map(|(x, _)| *x);
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), it| (low.min(it), high.max(it)))
        };
        let (low, high) = ends(&mut points.iter().map(|point| point[0]));
        // As far as the mark that is next to the last point.
        let next = marks.filter(|x| *x >= high && *x <= high * 8.0).fold(f64::INFINITY, f64::min);
        let high = if next.is_finite() { next } else { high };
        let heights: Vec<f64> = points.iter().map(|point| point[1]).collect();
        let [unit_x, unit_y] = self.units.clone();
        let (across, of) = self.title.split_once(", over the ").unwrap_or((self.title, ""));
        let x =
            Axis { scale: Scale::log_between(low / 1.4, high * 1.4), unit: unit_x.clone(), title: of.into() };
        let y = Axis { scale: Scale::suited(&heights, 40.0), unit: unit_y.clone(), title: across.into() };
        let mut field = Field::new(x, y);
        for (x, name) in self.marks.iter().flatten() {
            let shown = unit_x.show(*x);
            field.vertical("cache", *x, &format!("{name} {shown}"), &format!("{name} of this host: {shown}"));
        }
        for (n, curve) in self.curves.iter().enumerate() {
            let of_run = self.curves[..n].iter().filter(|other| other.run == curve.run).count();
            let look =
                if page.letters.is_empty() { Look::nth(n) } else { Look::nth(curve.run).varied(of_run) };
            let name = format!("{}{}{}", page.before(curve.run), self.of, curve.name);
            let points = curve.points.iter().map(|&[x, y]| {
                let words = Some(format!("{name}, {}: {}", unit_x.show(x), unit_y.show(y)));
                Point { x, y, words }
            });
            field.line(look, name.clone(), &points.collect::<Vec<_>>());
        }
        html! { div.picture { @for part in field.finish(self.title).0 { (part) } } }
    }
}

impl Table {
    /// The table alone.
    pub(crate) fn element(&self) -> Markup {
        self.titled("", &Page::PLAIN)
    }

    fn has_bars(&self) -> bool {
        (0..self.columns.len()).any(|place| self.is_drawing(place))
    }

    /// The table; of a long one the rows to be read first, and all behind them.
    fn folded(&self, title: &str, page: &Page) -> Markup {
        let rows = self.rows();
        let first = self.noticed().filter(|_| rows > LONG);
        if self.has_bars() || first.is_none() && rows <= LONGEST {
            return self.titled(title, page);
        }
        html! {
            @if let Some(first) = first { (first.titled(&format!("{}: to be read first", if title.is_empty() { &self.caption } else { title }), page)) }
            details.data { summary { "All " (plural(rows, "row", "rows")) } (self.titled(title, page)) }
        }
    }

    /// The table in a box that scrolls by itself, so that the page does not. Not a region: a page has too many to be
    /// landmarks.
    fn titled(&self, title: &str, page: &Page) -> Markup {
        let caption = clean(&self.caption);
        let label = if caption.is_empty() { title } else { &caption };
        let shown: Vec<usize> = (0..self.columns.len()).filter(|&place| !self.is_blank(place)).collect();
        let scale = self.has_bars().then(|| Scale::decades(self.figures()));
        let step =
            scale.map(|scale| format!("--step:{}", across(1.0 / (scale.high / scale.low).log10().max(1.0))));
        let mut groups: Vec<Vec<usize>> = vec![Vec::new()];
        for (n, row) in self.rows.iter().enumerate() {
            if row.is_heading() {
                groups.push(Vec::new());
            }
            groups.last_mut().into_iter().for_each(|group| group.push(n));
        }
        html! {
            div class=(if scale.is_some() { "scroll picture" } else { "scroll" }) role="group" tabindex="0"
                aria-label=[Some(label).filter(|label| !label.is_empty())] {
                table class=(if scale.is_some() { "sortable decades" } else { "sortable" }) style=[step] {
                    @if !caption.is_empty() { caption { (caption) } }
                    thead { tr { @for &place in &shown { (self.columns[place].heading(scale.as_ref())) } } }
                    @for group in groups.iter().filter(|group| !group.is_empty()) {
                        tbody { @for &n in group { (self.row_element(n, &shown, scale.as_ref(), page)) } }
                    }
                }
            }
        }
    }

    /// All figures of its bars.
    fn figures(&self) -> impl Iterator<Item = f64> {
        self.rows.iter().flat_map(Row::cells).flat_map(|cell| match &cell.content {
            Content::Bars(bars) => bars.iter().map(|(_, figure)| figure.estimate).collect(),
            _ => Vec::new(),
        })
    }

    fn row_element(&self, n: usize, shown: &[usize], scale: Option<&Scale>, page: &Page) -> Markup {
        let (cells, after, paint) = match &self.rows[n] {
            Row::Cells(cells, paint) => (cells, "", *paint),
            Row::Prose(cells, text, paint) => (cells, text.as_str(), *paint),
            Row::Text(first, text, paint) => {
                let (text, columns) = (clean(&format!("{first}{text}")), shown.len());
                return html! {
                    @if text.is_empty() {} @else if self.rows[n].is_heading() {
                        tr.group { th.t scope="rowgroup" colspan=(columns) { (text) } }
                    } @else {
                        tr.group { td class={ "t " (class(*paint).unwrap_or_default()) } colspan=(columns) { (text) } }
                    }
                };
            }
        };
        let name = self.names.get(&n).map(|name| clean(name));
        let link = self.names.get(&n).and_then(|name| (page.anchor)(name));
        let said = name.clone().unwrap_or_else(|| cells.first().map_or_else(String::new, Cell::words));
        let rest = shown.iter().filter(|&&place| place >= cells.len()).count();
        html! {
            tr class=[class(paint)] data-name=[name] {
                @for (at, &place) in shown.iter().enumerate() {
                    @if let Some(cell) = cells.get(place) {
                        @let column = &self.columns[place];
                        @match &cell.content {
                            Content::Bars(bars) => {
                                @if let Some(scale) = scale.filter(|_| after.is_empty()) {
                                    td.bar { (track(bars, scale, &said, page)) }
                                }
                            }
                            _ => (cell.element(at == 0, column, link.as_deref())),
                        }
                    }
                }
                @if !after.is_empty() { td.t colspan=(rest.max(1)) { (clean(after)) } }
            }
        }
    }
}

impl Row {
    /// Whether rows follow that belong to it; other texts belong to the rows before them.
    fn is_heading(&self) -> bool {
        matches!(self, Self::Text(first, text, paint) if first.is_empty() && !text.is_empty() && *paint != Paint::Dim)
    }
}

/// The marks of one row, a line for each where they are few.
fn track(bars: &[(usize, Estimate)], scale: &Scale, name: &str, page: &Page) -> Markup {
    let point = |(run, figure): &(usize, Estimate)| {
        let shown = Unit::Nanoseconds.show(figure.estimate);
        let words = format!("{}{name}: {shown} ± {}", page.before(*run), half_share(figure));
        (Look::nth(*run), *figure, words)
    };
    rungs::track(scale, &bars.iter().map(point).collect::<Vec<_>>())
}

impl Column {
    fn heading(&self, scale: Option<&Scale>) -> Markup {
        let (class, title) = ((self.align == Align::Left).then_some("t"), self.title.words());
        match (&self.title.content, scale) {
            (Content::Axis, Some(scale)) => html! { td.bar { (rungs::ticks(scale, &Unit::Nanoseconds, 6)) } },
            // A heading without words is not a heading, and nothing to sort by.
            _ if title.is_empty() => html! { td class=[class] {} },
            _ => html! { th scope="col" class=(self.class(class)) { (title) } },
        }
    }

    /// A column that a narrow terminal drops has no place on a phone.
    fn class(&self, more: Option<&str>) -> String {
        let rank = (self.rank > 0).then_some("minor");
        more.into_iter().chain(rank).collect::<Vec<_>>().join(" ")
    }
}

impl Cell {
    pub(super) fn words(&self) -> String {
        match &self.content {
            Content::Text(text) | Content::Share(text) => clean(&(text.replace('\n', " ") + &self.tail)),
            Content::Axis | Content::Bars(_) => String::new(),
        }
    }

    /// How far the text is below the one of a row above.
    fn indent(&self) -> usize {
        match &self.content {
            Content::Text(text) => ((text.len() - text.trim_start_matches(' ').len()) / 2).min(3),
            _ => 0,
        }
    }

    /// Most cells hold numbers, so that those which do not are the marked ones.
    fn element(&self, first: bool, column: &Column, link: Option<&str>) -> Markup {
        let words = self.words();
        let is_text = match column.align {
            Align::Left => true,
            Align::Right => self.value.is_none() && words.starts_with(char::is_alphabetic),
        };
        let shown = if !is_text && words.is_empty() { "–" } else { words.as_str() };
        // The script reads thousands and letters, but no units.
        let plain = words.chars().all(|c| c.is_ascii_digit() || ",.-".contains(c));
        let sort = self.value.filter(|value| !plain && value.is_finite()).map(compact);
        let share = self.value.filter(|share| share.is_finite() && matches!(self.content, Content::Share(_)));
        let length = share.map(|share| format!("--share:{}", across(share.abs().min(1.0))));
        let mut classes = vec![column.class(is_text.then_some("t"))];
        classes.extend(class(self.paint).map(str::to_owned));
        classes.extend(
            first.then(|| self.indent()).filter(|indent| *indent > 0).map(|indent| format!("in{indent}")),
        );
        classes.extend(share.map(|share| if share < 0.0 { "share negative" } else { "share" }.to_owned()));
        let class = Some(classes.join(" ").trim().to_owned()).filter(|class| !class.is_empty());
        html! {
            @if first {
                th scope="row" class=[class] data-v=[sort] {
                    @if let Some(id) = link { a href={ "#" (id) } { (shown) } } @else { (shown) }
                }
            } @else {
                td class=[class] style=[length] data-v=[sort] {
                    @if column.is_quoted { b { (shown) } } @else { (shown) }
                }
            }
        }
    }
}

/// Four digits are enough to sort by.
fn compact(number: f64) -> String {
    if (0.01..1e6).contains(&number.abs()) { short(number, 3) } else { format!("{number:.4e}") }
}
