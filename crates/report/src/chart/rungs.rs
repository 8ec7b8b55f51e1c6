//! Rows on one scale: a name, a track with a mark for each run, and the numbers. The ladder is made of these.

use super::mark::{self, Look, Size};
use super::scale::Tick;
use super::{Scale, Unit};
use crate::markup::{Element, el, percent};

/// The share of the width that the first tick's name takes.
const FIRST: f64 = 0.12;

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
    axis_with(scale, unit, [])
}

/// The axis with a key to the marks at its left: each look and its letter. The axis stays in sight, and the key with it.
pub(crate) fn axis_with(
    scale: &Scale,
    unit: &Unit,
    key: impl IntoIterator<Item = (Look, String)>,
) -> Element {
    let ticks = scale.ticks(unit);
    let last = ticks.len().saturating_sub(1);
    // The first name is to the right of its tick, where a near one would be in its way.
    let free = |(i, tick): &(usize, &Tick)| *i == 0 || *i == last || tick.at > FIRST;
    let labels = ticks.iter().enumerate().filter(free).map(|(i, tick)| {
        let anchor = match i {
            0 => "start",
            i if i == last => "end",
            _ => "middle",
        };
        // A phone has no room for a name so near the first one.
        let major = tick.major && (i == 0 || tick.at > 2.0 * FIRST);
        // Numbers without a unit get it once, shares each.
        let label = match unit {
            Unit::Other(name) if name == "%" => format!("{} %", tick.label),
            Unit::Other(name) if i == last && !name.is_empty() => format!("{} {name}", tick.label),
            _ => tick.label.clone(),
        };
        mark::label(if major { "tick" } else { "tick minor" }, anchor, tick.at, 14.0, &label)
    });
    el("div")
        .class("rung axis-row")
        .set("aria-hidden", "true")
        .with(
            el("span")
                .class("name key")
                .all(key.into_iter().map(|(look, letter)| el("span").with(mark::swatch(look)).text(letter))),
        )
        .with(el("svg").class("track").set("width", "100%").set("height", 20.0).all(labels))
}

/// The lines of the ticks behind the marks of one track.
pub(crate) fn grid(scale: &Scale, unit: &Unit, height: f64) -> impl Iterator<Item = Element> {
    scale.ticks(unit).into_iter().map(move |tick| mark::line("grid", (tick.at, 0.0), (tick.at, height)))
}

/// The most points whose marks each have a line of their own, beside its number.
pub(crate) const APART: usize = 3;

/// The most points whose shapes can still be told from each other.
pub(crate) const TOLD: usize = 8;

/// How the marks of this many points are placed below each other, so that none hides another.
struct Lines {
    /// Pixels from one point's line to the next.
    pitch: f64,
    size: Size,
    /// Pixels of an interval's height.
    thick: f64,
}

fn lines(points: usize) -> Lines {
    if points <= APART {
        // As far as lines of text are.
        Lines { pitch: 21.6, size: Size::Full, thick: 5.0 }
    } else if points <= TOLD {
        Lines { pitch: 10.5, size: Size::Middle, thick: 3.0 }
    } else {
        Lines { pitch: 5.5, size: Size::Small, thick: 1.5 }
    }
}

/// Whether an interval is wide enough to show beside its mark.
pub(crate) fn is_drawn(scale: &Scale, interval: [f64; 2]) -> bool {
    let [low, high] = interval.map(|end| scale.near(end));
    high - low > 0.01
}

/// A track with the marks of its points, one below the other, so that none hides another. A number without a place on
/// the scale gets none; the caller says so.
pub(crate) fn track(scale: &Scale, points: &[Point]) -> Element {
    let Lines { pitch, size, thick } = lines(points.len());
    let below = pitch * points.len().saturating_sub(1) as f64;
    let height = TRACK + below;
    let mut svg = el("svg").class("track").set("width", "100%").set("height", height);
    // A thin line leads the eye from the name to the mark; of many marks to the nearest.
    if points.len() > APART {
        let nearest = points.iter().filter_map(|point| scale.at(point.number)).fold(f64::INFINITY, f64::min);
        if nearest.is_finite() {
            svg = svg.with(mark::line("lead-line", (0.0, height / 2.0), (nearest, height / 2.0)));
        }
    }
    for (line, point) in points.iter().enumerate() {
        let Some(at) = scale.at(point.number) else { continue };
        let middle = TRACK / 2.0 + pitch * line as f64;
        if points.len() <= APART {
            svg = svg.with(mark::line("lead-line", (0.0, middle), (at, middle)));
        }
        let [low, high] = point.interval.map(|end| scale.near(end));
        let mut drawn = mark::mark(point.look, &point.words);
        if is_drawn(scale, point.interval) {
            drawn = drawn.with(
                el("rect")
                    .class("interval")
                    .set("x", percent(low))
                    .set("y", middle - thick / 2.0)
                    .set("width", percent(high - low))
                    .set("height", thick),
            );
        }
        svg = svg.with(drawn.with(mark::sized(point.look, size, at, middle)));
    }
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mark_is_as_high_as_the_step_to_the_next() {
        // The highest shape is 11 pixels with a stroke of 1.5, all of it scaled.
        for (points, scale) in
            [(2, 1.0), (APART, 1.0), (APART + 1, 0.75), (TOLD, 0.75), (TOLD + 1, 0.42), (64, 0.42)]
        {
            assert!(lines(points).pitch >= 12.5 * scale, "{points}");
        }
    }
}
