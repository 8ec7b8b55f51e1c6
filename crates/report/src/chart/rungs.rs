//! Rows on one scale: a name, a track with a mark for each run, and the numbers. The ladder is made of these.

use super::mark::{self, Look};
use super::{Scale, Unit};
use crate::markup::clean;
use maud::{Markup, html};
use tollgate_record::Estimate;

/// The share of the width that the first tick's name takes.
const FIRST: f64 = 0.12;

/// Height of a track in pixels.
const TRACK: f64 = 26.0;

/// The tracks' axis: ticks above the rows, whose lines are the tracks' own, and a key to the marks at its left: each look
/// and its letter. The axis stays in sight, and the key with it.
pub(crate) fn axis(scale: &Scale, unit: &Unit, key: &[(Look, String)]) -> Markup {
    html! {
        div class="rung axis-row" aria-hidden="true" {
            span class="name key" { @for (look, letter) in key { span { (mark::swatch(*look)) (clean(letter)) } } }
            (ticks(scale, unit, usize::MAX))
        }
    }
}

/// The names of the ticks, on a track: of more than `most` only every other one.
pub(crate) fn ticks(scale: &Scale, unit: &Unit, most: usize) -> Markup {
    let mut ticks = scale.ticks(unit);
    if ticks.len() > most {
        let last = ticks.len() - 1;
        ticks = ticks
            .into_iter()
            .enumerate()
            .filter(|(i, _)| (last - i).is_multiple_of(2))
            .map(|(_, tick)| tick)
            .collect();
    }
    let last = ticks.len().saturating_sub(1);
    mark::track(
        20.0,
        html! {
            @for (i, tick) in ticks.iter().enumerate() {
                // The first name is to the right of its tick, where a near one would be in its way.
                @if i == 0 || i == last || tick.at > FIRST {
                    // A phone has no room for a name so near the first one.
                    @let major = tick.major && (i == 0 || tick.at > 2.0 * FIRST);
                    // Numbers without a unit get it once, shares each.
                    @let label = match unit {
                        Unit::Other(name) if name == "%" || i == last && !name.is_empty() => {
                            format!("{} {name}", tick.label)
                        }
                        _ => tick.label.clone(),
                    };
                    @let anchor = if i == 0 && tick.at < FIRST / 2.0 { "start" } else if i == last { "end" } else { "middle" };
                    (mark::label(if major { "tick" } else { "tick minor" }, anchor, tick.at, 14.0, &label))
                }
            }
        },
    )
}

/// The lines of the ticks behind the marks of one track.
pub(crate) fn grid(scale: &Scale, unit: &Unit, height: f64) -> Markup {
    html! { @for tick in scale.ticks(unit) { (mark::line("grid", (tick.at, 0.0), (tick.at, height))) } }
}

/// The most points whose marks each have a line of their own, beside its number.
pub(crate) const APART: usize = 3;

/// The most points whose shapes can still be told from each other.
pub(crate) const TOLD: usize = 8;

/// How the marks of this many points are placed below each other, so that none hides another: pixels from one point's
/// line to the next, the size of a shape, and pixels of an interval's height.
fn lines(points: usize) -> (f64, &'static str, f64) {
    match points {
        // As far as lines of text are.
        n if n <= APART => (21.6, "shape", 5.0),
        n if n <= TOLD => (10.5, "middle", 3.0),
        _ => (5.5, "small", 1.5),
    }
}

/// Whether an interval is wide enough to show beside its mark.
pub(crate) fn is_drawn(scale: &Scale, figure: &Estimate) -> bool {
    let [low, high] = figure.ci.map(|end| scale.near(end));
    figure.is_measured() && high - low > 0.01
}

/// A track with the marks of its points and their words, one below the other, so that none hides another. A number
/// without a place on the scale gets none; the caller says so.
pub(crate) fn track(scale: &Scale, points: &[(Look, Estimate, String)]) -> Markup {
    let (pitch, size, thick) = lines(points.len());
    let height = TRACK + pitch * points.len().saturating_sub(1) as f64;
    let places = points.iter().map(|(_, it, _)| scale.at(it.estimate));
    let many = points.len() > APART;
    let nearest = places.clone().flatten().fold(f64::INFINITY, f64::min);
    let lead = |to: f64, down: f64| mark::line("lead-line", (0.0, down), (to, down));
    mark::track(
        height,
        html! {
            // A thin line leads the eye from the name to the mark; of many marks to the nearest.
            @if many && nearest.is_finite() { (lead(nearest, height / 2.0)) }
            @for (line, ((look, it, words), at)) in points.iter().zip(places).enumerate() {
                @if let Some(at) = at {
                    @let middle = TRACK / 2.0 + pitch * line as f64;
                    @if !many { (lead(at, middle)) }
                    (mark::mark(&look.class(), words, html! {
                        @if is_drawn(scale, it) {
                            (mark::rect("interval", it.ci.map(|end| scale.near(end)), middle - thick / 2.0, thick))
                        }
                        (mark::shape(*look, size, at, middle))
                    }))
                }
            }
        },
    )
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
            assert!(lines(points).0 >= 12.5 * scale, "{points}");
        }
    }
}
