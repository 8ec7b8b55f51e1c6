//! Stages of a pipeline: a row for each instruction, a column for each cycle.
//!
//! The letter of a stage is where the instruction enters it, on full color; while it stays the color is pale.
//! A cross is where it is thrown away. A column may stand for many cycles in which nothing moves.

use super::mark::{self, Look};
use crate::markup::{Element, el, percent};

/// Height of a row in pixels.
const ROW: f64 = 20.0;
/// With more columns than this a letter has no room.
const LETTERS: usize = 72;
/// The shape of what is thrown away.
const CROSS: usize = 5;

/// The whole diagram, in columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stages {
    /// How many columns there are.
    pub(crate) width: usize,
    /// Labels above some of them.
    pub(crate) ticks: Vec<Tick>,
    /// Columns that stand for many cycles.
    pub(crate) folds: Vec<usize>,
    pub(crate) lanes: Vec<Lane>,
}

/// A name above a column.
#[derive(Clone, Debug)]
pub(crate) struct Tick {
    pub(crate) column: usize,
    pub(crate) label: String,
    /// Whether it stays where there is little room.
    pub(crate) major: bool,
}

/// One instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane {
    /// The text before it.
    pub(crate) name: String,
    /// The text after it.
    pub(crate) note: String,
    /// The words of its mark.
    pub(crate) words: String,
    /// Its stages, in order.
    pub(crate) spans: Vec<Span>,
    /// The column in which it is thrown away.
    pub(crate) gone: Option<usize>,
    /// Whether the diagram is about it.
    pub(crate) event: bool,
}

/// A stage, from the column in which it is entered to the last.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) letter: char,
    /// Which of the colors it has.
    pub(crate) color: usize,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl Stages {
    /// A column's left edge.
    fn at(&self, column: usize) -> f64 {
        column.min(self.width) as f64 / self.width.max(1) as f64
    }

    /// The diagram as a list of rows below an axis.
    pub(crate) fn element(&self) -> Element {
        let ticks = self.ticks.iter().map(|Tick { column, label, major }| {
            let at = self.at(*column);
            // The last one would cross the edge.
            let class = if *major { "tick" } else { "tick minor" };
            mark::label(class, if at > 0.9 { "end" } else { "start" }, at, 12.0, label)
        });
        let axis = el("div")
            .class("lane lane-axis")
            .set("aria-hidden", "true")
            .with(el("span").class("name").words("cycle"))
            .with(el("svg").class("track").set("width", "100%").set("height", 16.0).all(ticks));
        let lanes = self.lanes.iter().map(|lane| self.lane(lane));
        el("div").class("stages").with(axis).with(el("ol").class("lanes").all(lanes))
    }

    fn lane(&self, lane: &Lane) -> Element {
        let mut svg = el("svg").class("track").set("width", "100%").set("height", ROW);
        for tick in &self.ticks {
            let at = self.at(tick.column);
            svg = svg.with(mark::line("grid", (at, 0.0), (at, ROW)));
        }
        for &column in &self.folds {
            svg = svg.with(rect("fold", self.at(column), self.at(column + 1)));
        }
        let mut group = mark::mark(Look { color: 7, shape: CROSS }, &lane.words);
        for span in &lane.spans {
            let [from, next, to] = [span.first, span.first + 1, span.last + 1].map(|column| self.at(column));
            let mut stage = el("g").class(format!("s{}", span.color));
            if span.last > span.first {
                stage = stage.with(rect("stay", next, to));
            }
            stage = stage.with(rect("stage", from, next));
            if self.width <= LETTERS {
                let letter =
                    mark::label("letter", "middle", (from + next) / 2.0, 14.0, &span.letter.to_string());
                stage = stage.with(letter);
            }
            group = group.with(stage);
        }
        if let Some(column) = lane.gone {
            let middle = (self.at(column) + self.at(column + 1)) / 2.0;
            let cross = mark::shape(Look { color: 7, shape: CROSS }, middle, ROW / 2.0);
            group = group.with(el("g").class("cross").with(cross));
        }
        let mut name = el("span").class("name");
        name = if lane.event { name.with(el("b").text(&lane.name)) } else { name.text(&lane.name) };
        // What traps goes all the way: it is not struck out.
        let class = if lane.gone.is_some() && !lane.event { "lane gone" } else { "lane" };
        el("li").class(class).with(name).with(svg.with(group)).with(el("span").class("note").text(&lane.note))
    }
}

fn rect(class: &'static str, from: f64, to: f64) -> Element {
    el("rect")
        .class(class)
        .set("x", percent(from))
        .set("y", 2.0)
        .set("width", percent((to - from).max(0.0)))
        .set("height", ROW - 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(stages: &Stages) -> String {
        let mut out = String::new();
        stages.element().write(&mut out);
        out
    }

    #[test]
    fn a_stage_begins_in_its_column_and_a_wait_is_pale() {
        let lane = Lane {
            name: "ld".into(),
            spans: vec![
                Span { letter: 'F', color: 0, first: 0, last: 0 },
                Span { letter: 'D', color: 1, first: 1, last: 3 },
            ],
            ..Lane::default()
        };
        let out = written(&Stages { width: 4, lanes: vec![lane], ..Stages::default() });
        let stage = |x: &str, width: &str| format!("class=\"stage\" x=\"{x}\" y=\"2\" width=\"{width}\"");
        assert!(out.contains(&stage("0%", "25%")) && out.contains(&stage("25%", "25%")), "{out}");
        assert!(out.contains("class=\"stay\" x=\"50%\" y=\"2\" width=\"50%\""), "{out}");
        assert_eq!(out.matches("class=\"stay\"").count(), 1);
    }

    #[test]
    fn columns_beyond_the_end_and_none_at_all_stay_in_the_picture() {
        let span = Span { letter: 'F', color: 0, first: 9, last: 3 };
        let lane = Lane { spans: vec![span], gone: Some(usize::MAX - 1), ..Lane::default() };
        for width in [0, 2] {
            let out = written(&Stages { width, lanes: vec![lane.clone()], ..Stages::default() });
            assert!(
                !out.contains("NaN") && !out.contains("=\"-") && out.contains("class=\"lane gone\""),
                "{out}"
            );
        }
    }

    #[test]
    fn narrow_columns_have_no_letters() {
        let lane = Lane { spans: vec![Span { letter: 'F', color: 0, first: 0, last: 0 }], ..Lane::default() };
        for (width, letters) in [(LETTERS, 1), (LETTERS + 1, 0)] {
            let out = written(&Stages { width, lanes: vec![lane.clone()], ..Stages::default() });
            assert_eq!(out.matches("class=\"letter\"").count(), letters);
        }
    }
}
