//! A field with two axes, for lines and points.

use super::mark::{self, Look};
use super::{Scale, Unit};
use crate::markup::{Element, Node, el, short};

/// Height of the field in pixels.
const HEIGHT: f64 = 260.0;
/// Room above it, for names of vertical lines.
const ABOVE: f64 = 22.0;
/// Room below it, for ticks and the axis' title.
const BELOW: f64 = 44.0;

/// One axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) scale: Scale,
    pub(crate) unit: Unit,
    pub(crate) title: String,
}

/// A field with two axes and what is drawn in it so far.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    x: Axis,
    y: Axis,
    lines: Vec<Node>,
    marks: Vec<Node>,
}

/// A point with the words of its mark; without words it is on the line only.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) words: Option<String>,
}

impl Plot {
    pub(crate) fn new(x: Axis, y: Axis) -> Self {
        Self { x, y, lines: Vec::new(), marks: Vec::new() }
    }

    /// Down in pixels from a share of the height.
    fn down(share: f64) -> f64 {
        ABOVE + HEIGHT * (1.0 - share)
    }

    /// A line through the points that have a place, and a mark for each that has words. A point without a place
    /// breaks the line; how many there were is returned, for the figure to say.
    pub(crate) fn line(&mut self, look: Look, class: &str, points: &[Point]) -> usize {
        let mut path = String::new();
        let (mut pen_up, mut lost) = (true, 0);
        for point in points {
            let (Some(x), Some(y)) = (self.x.scale.at(point.x), self.y.scale.at(point.y)) else {
                (pen_up, lost) = (true, lost + 1);
                continue;
            };
            path.push(if pen_up { 'M' } else { 'L' });
            pen_up = false;
            path.push_str(&format!("{} {}", short(x * 1000.0, 0), short((1.0 - y) * HEIGHT, 1)));
            if let Some(words) = &point.words {
                self.marks.push(mark::mark(look, words).with(mark::shape(look, x, Self::down(y))).into());
            }
        }
        if !path.is_empty() {
            // Across in thousandths, stretched to the width there is; the stroke is not stretched.
            let line = el("path").class("line").set("d", path);
            let stretched = el("svg")
                .class(format!("{class} {}", look.class()))
                .set("viewBox", format!("0 0 1000 {}", short(HEIGHT, 0)))
                .set("preserveAspectRatio", "none")
                .set("y", ABOVE)
                .set("width", "100%")
                .set("height", HEIGHT)
                .set("aria-hidden", "true")
                .with(line);
            self.lines.push(stretched.into());
        }
        lost
    }

    /// A vertical line at a number, with its name above the field.
    pub(crate) fn vertical(&mut self, class: &'static str, x: f64, name: &str, words: &str) {
        let Some(at) = self.x.scale.at(x) else { return };
        // A name at the right edge is to the left of its line.
        let anchor = if at > 0.85 { "end" } else { "start" };
        let name = mark::label("vertical", anchor, at, ABOVE - 8.0, name);
        let group = el("g")
            .class(class)
            .with(el("title").text(words))
            .with(mark::line("rule", (at, ABOVE - 4.0), (at, ABOVE + HEIGHT)))
            .with(name);
        self.lines.push(group.into());
    }

    /// The whole field; `name` is what a screen reader calls it.
    pub(crate) fn element(self, name: &str) -> Element {
        let mut svg = el("svg")
            .class("field")
            .set("width", "100%")
            .set("height", ABOVE + HEIGHT + BELOW)
            .set("role", "group")
            .set("aria-label", crate::markup::clean(name));
        let mut grid = el("g").class("axes").set("aria-hidden", "true");
        for tick in self.y.scale.ticks(&self.y.unit) {
            let down = Self::down(tick.at);
            grid = grid.with(mark::line("grid", (0.0, down), (1.0, down)));
            // At the left of the field, where the page leaves room.
            let label = el("text")
                .class(if tick.major { "tick" } else { "tick minor" })
                .set("x", -8.0)
                .set("y", down + 4.0)
                .set("text-anchor", "end")
                .text(&tick.label);
            grid = grid.with(label);
        }
        for tick in self.x.scale.ticks(&self.x.unit) {
            grid = grid.with(mark::line("grid", (tick.at, ABOVE), (tick.at, ABOVE + HEIGHT)));
            let class = if tick.major { "tick" } else { "tick minor" };
            grid = grid.with(mark::label(class, "middle", tick.at, ABOVE + HEIGHT + 18.0, &tick.label));
        }
        grid = grid.with(mark::line("base", (0.0, ABOVE + HEIGHT), (1.0, ABOVE + HEIGHT))).with(mark::label(
            "axis",
            "end",
            1.0,
            ABOVE + HEIGHT + 38.0,
            &self.x.title,
        ));
        svg = svg.with(grid).all(self.lines).all(self.marks);
        let title = el("p").class("y-title").text(&self.y.title);
        el("div").class("plot").with(title).with(svg)
    }
}
