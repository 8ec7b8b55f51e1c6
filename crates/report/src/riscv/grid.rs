//! A table of labels and figures that fits any terminal: what does not fit beside each other goes on in another block
//! below, with its labels repeated.

use crate::style::{Paint, Style};
use crate::text::{cut, left, right, width};

/// Fewer columns are not enough for a remark.
const REMARK: usize = 8;

/// A column with its head and the width that it has where there is room.
#[derive(Clone, Debug)]
struct Column {
    head: String,
    width: usize,
}

/// One line below the heads.
#[derive(Clone, Debug)]
enum Line {
    Cells {
        labels: Vec<String>,
        figures: Vec<String>,
        remark: String,
    },
    /// What the lines below it have in common.
    Group(String),
}

/// A table: left-aligned labels, right-aligned figures, and a remark at the end of a line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    labels: Vec<Column>,
    figures: Vec<Column>,
    remark: String,
    lines: Vec<Line>,
}

impl Grid {
    /// With a column of labels.
    pub(crate) fn label(mut self, head: impl Into<String>, width: usize) -> Self {
        self.labels.push(Column { head: head.into(), width });
        self
    }

    /// With a column of figures.
    pub(crate) fn figure(mut self, head: impl Into<String>, width: usize) -> Self {
        self.figures.push(Column { head: head.into(), width });
        self
    }

    /// With a head above the remarks.
    pub(crate) fn remark(mut self, head: &str) -> Self {
        self.remark = head.into();
        self
    }

    /// A line that the ones below it belong to.
    pub(crate) fn group(&mut self, text: String) {
        self.lines.push(Line::Group(text));
    }

    /// A line; an empty remark is left out.
    pub(crate) fn row<const L: usize>(&mut self, labels: [String; L], figures: Vec<String>, remark: String) {
        self.lines.push(Line::Cells { labels: labels.into(), figures, remark });
    }

    /// The lines, heads first.
    pub(crate) fn lines(&self, style: &Style) -> Vec<String> {
        let columns = style.columns();
        let of = |i: usize, cells: fn(&Line, usize) -> &str| {
            self.lines.iter().map(|line| width(cells(line, i))).max().unwrap_or(0)
        };
        let needed = |columns: &[Column], cells: fn(&Line, usize) -> &str, gap: usize| -> Vec<usize> {
            columns.iter().enumerate().map(|(i, it)| of(i, cells).max(width(&it.head)) + gap).collect()
        };
        let (labels, figures) = (needed(&self.labels, label, 0), needed(&self.figures, figure, 1));
        let wide = |columns: &[Column], needed: &[usize]| -> Vec<usize> {
            columns.iter().zip(needed).map(|(it, needed)| it.width.max(*needed)).collect()
        };
        let (wide_labels, wide_figures) = (wide(&self.labels, &labels), wide(&self.figures, &figures));
        let remark = match of(0, remark) {
            0 => 0,
            longest => 2 + longest.min(REMARK),
        };
        let full: usize = wide_labels.iter().chain(&wide_figures).sum();
        if full + remark <= columns {
            return self.block(&wide_labels, &wide_figures, 0..self.figures.len(), true, style);
        }
        // As narrow as it goes; a label that leaves no room for any figure is cut.
        let most = figures.iter().copied().max().unwrap_or(0);
        let mut labels: Vec<usize> = labels;
        let last = labels.len().saturating_sub(1);
        for (i, label) in labels.iter_mut().enumerate() {
            *label += usize::from(i < last);
        }
        let sum: usize = labels.iter().sum();
        if let Some(first) = labels.first_mut() {
            *first = first.saturating_sub((sum + most).saturating_sub(columns)).max(1);
        }
        let room = columns.saturating_sub(labels.iter().sum());
        let mut out = Vec::new();
        let mut from = 0;
        while from < figures.len() {
            let mut used = figures[from];
            let mut to = from + 1;
            while to < figures.len() && used + figures[to] <= room {
                used += figures[to];
                to += 1;
            }
            if from > 0 {
                out.push(String::new());
            }
            out.extend(self.block(&labels, &figures, from..to, to == figures.len(), style));
            from = to;
        }
        out
    }

    /// The labels with some of the figures.
    fn block(
        &self,
        labels: &[usize],
        figures: &[usize],
        shown: std::ops::Range<usize>,
        remarks: bool,
        style: &Style,
    ) -> Vec<String> {
        let columns = style.columns();
        let line = |label: &dyn Fn(usize) -> String, figure: &dyn Fn(usize) -> String, remark: &str| {
            let mut line = String::new();
            for (i, &width) in labels.iter().enumerate() {
                line.push_str(&left(&cut(&label(i), width, style), width));
            }
            for i in shown.clone() {
                line.push_str(&right(&figure(i), figures[i]));
            }
            let room = columns.saturating_sub(width(&line) + 2);
            if remarks && !remark.is_empty() && room >= width(remark).min(REMARK) {
                line.push_str("  ");
                line.push_str(&cut(remark, room, style));
            }
            line.trim_end().to_owned()
        };
        let heads = line(&|i| self.labels[i].head.clone(), &|i| self.figures[i].head.clone(), &self.remark);
        let mut out = vec![style.paint(Paint::Dim, &heads)];
        for it in &self.lines {
            out.push(match it {
                Line::Group(text) => cut(text, columns, style),
                cells => {
                    line(&|i| label(cells, i).to_owned(), &|i| figure(cells, i).to_owned(), remark(cells, 0))
                }
            });
        }
        out
    }
}

fn label(line: &Line, i: usize) -> &str {
    match line {
        Line::Cells { labels, .. } => labels.get(i).map_or("", String::as_str),
        Line::Group(_) => "",
    }
}

fn figure(line: &Line, i: usize) -> &str {
    match line {
        Line::Cells { figures, .. } => figures.get(i).map_or("", String::as_str),
        Line::Group(_) => "",
    }
}

fn remark(line: &Line, _: usize) -> &str {
    match line {
        Line::Cells { remark, .. } => remark,
        Line::Group(_) => "",
    }
}

/// A bar: one `#` for every four per cent, and at least one for what is not nothing.
pub(crate) fn bar(share: f64) -> String {
    let marks = if share.is_finite() { (share.clamp(0.0, 1.0) * 25.0).round() as usize } else { 0 };
    "#".repeat(if share > 0.0 { marks.max(1) } else { 0 })
}

/// A part of a whole; 0 of nothing.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::default().label("name", 12).figure("first", 10).figure("second", 10);
        grid.group("both".into());
        grid.row(["one".into()], vec!["1".into(), "2,000".into()], "####".into());
        grid.row(["another".into()], vec!["12,345,678".into()], String::new());
        grid
    }

    fn shown(width: usize) -> String {
        grid().lines(&Style { width, ..Style::default() }).join("\n")
    }

    #[test]
    fn a_wide_terminal_has_the_widths_that_were_asked_for() {
        let expected = "\
name              first    second
both
one                   1     2,000  ####
another      12,345,678";
        assert_eq!(shown(80), expected);
    }

    #[test]
    fn what_does_not_fit_goes_on_below_and_nothing_is_lost() {
        let mut grid = grid();
        for _ in 0..4 {
            grid = grid.figure("wide", 30);
        }
        let lines = grid.lines(&Style { width: 40, ..Style::default() });
        assert!(lines.iter().all(|line| width(line) <= 40), "{lines:#?}");
        let text = lines.join("\n");
        for figure in ["1", "2,000", "12,345,678", "first", "second"] {
            assert!(text.contains(figure), "{figure}: {text}");
        }
        assert_eq!(text.matches("wide").count(), 4);
    }

    #[test]
    fn a_label_without_end_is_cut() {
        let mut grid = Grid::default().label("name", 4).figure("n", 4);
        grid.row(["x".repeat(100)], vec!["123".into()], String::new());
        let lines = grid.lines(&Style { width: 40, ..Style::default() });
        assert!(lines[1].ends_with(" 123") && width(&lines[1]) <= 40, "{lines:#?}");
    }

    #[test]
    fn what_is_not_nothing_has_a_mark() {
        assert_eq!(bar(0.0), "");
        assert_eq!(bar(0.001), "#");
        assert_eq!(bar(1.0).len(), 25);
        assert_eq!((bar(f64::NAN), share(1.0, 0.0)), (String::new(), 0.0));
    }
}
