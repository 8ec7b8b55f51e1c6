//! A field with two axes, for lines and points.

use super::mark::{self, Look};
use super::{Scale, Unit};
use crate::markup::{clean, px, short};
use maud::{Markup, html};

/// Height of the field in pixels.
const HEIGHT: f64 = 260.0;
/// Room above it, for names of vertical lines.
const ABOVE: f64 = 22.0;
/// Room below it, for ticks and the axis' title.
const BELOW: f64 = 44.0;

/// One axis.
pub(crate) struct Axis {
    pub(crate) scale: Scale,
    pub(crate) unit: Unit,
    pub(crate) title: String,
}

/// A field with two axes and what is drawn in it so far.
pub(crate) struct Plot {
    x: Axis,
    y: Axis,
    key: Vec<(Markup, String)>,
    lines: Vec<Markup>,
    marks: Vec<Markup>,
    lost: usize,
}

/// A point with the words of its mark; without words it is on the line only.
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) words: Option<String>,
}

impl Plot {
    pub(crate) fn new(x: Axis, y: Axis) -> Self {
        Self { x, y, key: Vec::new(), lines: Vec::new(), marks: Vec::new(), lost: 0 }
    }

    /// Down in pixels from a share of the height.
    fn down(share: f64) -> f64 {
        ABOVE + HEIGHT * (1.0 - share)
    }

    /// A line through the points that have a place, and a mark for each that has words. A point without a place
    /// breaks the line.
    pub(crate) fn line(&mut self, look: Look, name: String, points: &[Point]) {
        self.key.push((mark::swatch(look), name));
        let (mut path, mut pen_up) = (String::new(), true);
        for point in points {
            let (Some(x), Some(y)) = (self.x.scale.at(point.x), self.y.scale.at(point.y)) else {
                (pen_up, self.lost) = (true, self.lost + 1);
                continue;
            };
            path.push(if pen_up { 'M' } else { 'L' });
            pen_up = false;
            path.push_str(&format!("{} {}", short(x * 1000.0, 0), px((1.0 - y) * HEIGHT)));
            if let Some(words) = &point.words {
                self.marks.push(mark::mark(
                    &look.class(),
                    words,
                    mark::shape(look, "shape", x, Self::down(y)),
                ));
            }
        }
        if !path.is_empty() {
            // Across in thousandths, stretched to the width there is; the stroke is not stretched.
            self.lines.push(html! {
                svg class={ "curve " (look.class()) } viewBox={ "0 0 1000 " (HEIGHT) } preserveAspectRatio="none"
                    y=(px(ABOVE)) width="100%" height=(HEIGHT) aria-hidden="true" { path.line d=(path) {} }
            });
        }
    }

    /// A vertical line at a number, with its name above the field.
    pub(crate) fn vertical(&mut self, class: &str, x: f64, name: &str, words: &str) {
        let Some(at) = self.x.scale.at(x) else { return };
        // A name at the right edge is to the left of its line.
        let anchor = if at > 0.85 { "end" } else { "start" };
        self.lines.push(html! {
            g.(class) {
                title { (clean(words)) }
                (mark::line("rule", (at, ABOVE - 4.0), (at, ABOVE + HEIGHT)))
                (mark::label("vertical", anchor, at, ABOVE - 8.0, name))
            }
        });
    }

    /// The legend and the whole field, and how many points have no place, for the figure to say; `name` is what a screen
    /// reader calls the field.
    pub(crate) fn finish(self, name: &str) -> ([Markup; 2], usize) {
        let bottom = ABOVE + HEIGHT;
        let class = |major| if major { "tick" } else { "tick minor" };
        let field = html! {
            div.plot {
                p.y-title { (clean(&self.y.title)) }
                svg.field width="100%" height=(px(bottom + BELOW)) role="group" aria-label=(clean(name)) {
                    g.axes aria-hidden="true" {
                        @for tick in self.y.scale.ticks(&self.y.unit) {
                            @let down = Self::down(tick.at);
                            (mark::line("grid", (0.0, down), (1.0, down)))
                            (mark::left_label(class(tick.major), down + 4.0, &tick.label))
                        }
                        @for tick in self.x.scale.ticks(&self.x.unit) {
                            (mark::line("grid", (tick.at, ABOVE), (tick.at, bottom)))
                            (mark::label(class(tick.major), "middle", tick.at, bottom + 18.0, &tick.label))
                        }
                        (mark::line("base", (0.0, bottom), (1.0, bottom)))
                        (mark::label("axis", "end", 1.0, bottom + 38.0, &self.x.title))
                    }
                    @for drawn in self.lines.iter().chain(&self.marks) { (drawn) }
                }
            }
        };
        ([mark::legend(self.key), field], self.lost)
    }
}
