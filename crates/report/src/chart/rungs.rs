//! Rows on one scale: a name, a track with a mark for each run, and the numbers. The ladder is made of these.

use super::mark::{self, Look};
use super::{Scale, Unit};
use crate::markup::{Element, el, percent};

/// Height of a track in pixels.
pub(crate) const TRACK: f64 = 26.0;

/// One number on a track, with its interval and the words of its mark.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) look: Look,
    pub(crate) number: f64,
    pub(crate) interval: [f64; 2],
    pub(crate) words: String,
}

/// The tracks' axis: ticks above the rows. Their lines are the tracks' own.
pub(crate) fn axis(scale: &Scale, unit: &Unit) -> Element {
    let ticks = scale.ticks(unit);
    let last = ticks.len().saturating_sub(1);
    let labels = ticks.iter().enumerate().map(|(i, tick)| {
        let anchor = match i {
            0 => "start",
            i if i == last => "end",
            _ => "middle",
        };
        mark::label(if tick.major { "tick" } else { "tick minor" }, anchor, tick.at, 14.0, &tick.label)
    });
    el("div")
        .class("rung axis-row")
        .set("aria-hidden", "true")
        .with(el("span").class("name"))
        .with(el("svg").class("track").set("width", "100%").set("height", 20.0).all(labels))
}

/// The lines of the ticks behind the marks of one track.
pub(crate) fn grid(scale: &Scale, unit: &Unit, height: f64) -> impl Iterator<Item = Element> {
    scale.ticks(unit).into_iter().map(move |tick| mark::line("grid", (tick.at, 0.0), (tick.at, height)))
}

/// The most points whose marks stand each in a line of its own, beside its number.
pub(crate) const APART: usize = 3;

/// Pixels from one point's line to the next: as far as lines of text are, or close where there are many.
const LINE: f64 = 21.6;
const CLOSE: f64 = 4.0;

/// A track with the marks of its points, one below the other, so that none hides another. A number without a place on
/// the scale gets none; the caller says so.
pub(crate) fn track(scale: &Scale, points: &[Point]) -> Element {
    // Many are closer, with thinner intervals.
    let (pitch, class, thick) =
        if points.len() <= APART { (LINE, "track", 5.0) } else { (CLOSE, "track close", 2.0) };
    let height = TRACK + pitch * points.len().saturating_sub(1) as f64;
    let mut svg = el("svg").class(class).set("width", "100%").set("height", height);
    for (line, point) in points.iter().enumerate() {
        let Some(at) = scale.at(point.number) else { continue };
        let middle = TRACK / 2.0 + pitch * line as f64;
        // A thin line leads the eye from the name to the mark.
        if line == 0 || points.len() <= APART {
            svg = svg.with(mark::line("lead-line", (0.0, middle), (at, middle)));
        }
        let [low, high] = point.interval.map(|end| scale.near(end));
        let mut drawn = mark::mark(point.look, &point.words);
        if high - low > 0.002 {
            drawn = drawn.with(
                el("rect")
                    .class("interval")
                    .set("x", percent(low))
                    .set("y", middle - thick / 2.0)
                    .set("width", percent(high - low))
                    .set("height", thick),
            );
        }
        svg = svg.with(drawn.with(mark::shape(point.look, at, middle)));
    }
    svg
}
