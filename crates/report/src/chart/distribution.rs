//! Distributions on one logarithmic axis: for each row an area per run, whose height goes with the square root of
//! the share of crossings, so that one slow crossing in a thousand still shows.

use super::mark::{self, Look, Size};
use super::rungs::{APART, TOLD};
use super::{Scale, Unit};
use crate::markup::{Element, el, percent, short};

/// Height of a row's track in pixels.
const TRACK: f64 = 46.0;
/// Below the area: room for the marks of the quantiles.
const BELOW: f64 = 10.0;

/// One run's distribution of one thing.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    pub(crate) look: Look,
    /// Value and how often it occurred; empty when only quantiles are known.
    pub(crate) counts: Vec<(f64, u64)>,
    /// 10th, 50th, 90th and 99th percentile.
    pub(crate) quantiles: [f64; 4],
    /// What the mark of the median says.
    pub(crate) words: String,
}

/// How the areas of this many runs are placed: over each other where they are few enough to be seen through, otherwise each on
/// a ground of its own.
struct Lanes {
    /// Pixels from one ground to the next.
    pitch: f64,
    /// Pixels of an area's height.
    high: f64,
    /// Half the height of the tick of the 99th percentile.
    tick: f64,
    size: Size,
}

fn lanes(spreads: usize) -> Lanes {
    if spreads <= APART {
        Lanes { pitch: 0.0, high: TRACK - BELOW, tick: 5.0, size: Size::Full }
    } else if spreads <= TOLD {
        Lanes { pitch: 20.0, high: 15.0, tick: 4.0, size: Size::Middle }
    } else {
        Lanes { pitch: 9.0, high: 6.0, tick: 2.5, size: Size::Small }
    }
}

/// A row's track: areas where there are counts, boxes from p10 to p90 where there are none, and marks at the medians.
pub(crate) fn track(scale: &Scale, unit: &Unit, spreads: &[Spread]) -> Element {
    let Lanes { pitch, high, tick, size } = lanes(spreads.len());
    // Many runs: fewer and wider bins, which is as much as can be seen of low areas.
    let bins = if spreads.len() > APART { 60 } else { 120 };
    let last = high + pitch * spreads.len().saturating_sub(1) as f64;
    let mut svg = el("svg").class("track").set("width", "100%").set("height", last + BELOW);
    svg = svg.all(super::rungs::grid(scale, unit, last));
    let ground = |n: usize| high + pitch * n as f64;
    // All areas are in one drawing that is stretched to the width there is: bins across and pixels down.
    let mut stretched = el("svg")
        .set("viewBox", format!("0 0 {bins} {}", short(last, 1)))
        .set("preserveAspectRatio", "none")
        .set("width", "100%")
        .set("height", last)
        .set("aria-hidden", "true");
    let filled = spreads.iter().enumerate().filter(|(_, spread)| !spread.counts.is_empty());
    stretched = stretched.all(filled.map(|(n, spread)| {
        let path = area(scale, &spread.counts, bins, ground(n), high);
        el("path").class(format!("area {}", spread.look.class())).set("d", path)
    }));
    svg = svg.with(stretched);
    let grounds = if pitch > 0.0 { spreads.len() } else { 1 };
    let class = if pitch > 0.0 { "grid" } else { "base" };
    svg = svg.all((0..grounds).map(|n| mark::line(class, (0.0, ground(n)), (1.0, ground(n)))));
    for (n, spread) in spreads.iter().enumerate() {
        let ground = ground(n);
        let [p10, p50, p90, p99] = spread.quantiles;
        let mut drawn = mark::mark(spread.look, &spread.words);
        if spread.counts.is_empty() {
            let [low, end] = [p10, p90].map(|end| scale.near(end));
            let box_high = 6.0_f64.min(high / 2.0);
            drawn = drawn.with(
                el("rect")
                    .class("interval")
                    .set("x", percent(low))
                    .set("y", ground - box_high - tick.min(2.0))
                    .set("width", percent(end - low))
                    .set("height", box_high),
            );
        }
        if let Some(at) = scale.at(p99) {
            drawn = drawn.with(mark::line("p99", (at, ground - tick), (at, ground + tick)));
        }
        let Some(at) = scale.at(p50) else { continue };
        svg = svg.with(drawn.with(mark::sized(spread.look, size, at, ground)));
    }
    svg
}

/// The outline of the bins that hold something, in bins across and pixels down, `high` above its ground.
fn area(scale: &Scale, counts: &[(f64, u64)], bins: usize, ground: f64, high: f64) -> String {
    let mut heights = vec![0.0_f64; bins];
    for (value, times) in counts {
        if let Some(at) = scale.at(*value) {
            heights[((at * bins as f64) as usize).min(bins - 1)] += *times as f64;
        }
    }
    let most = heights.iter().copied().fold(0.0, f64::max);
    if most == 0.0 {
        return String::new();
    }
    let mut path = String::new();
    let mut inside = false;
    for (bin, height) in heights.iter().enumerate() {
        if *height == 0.0 {
            if inside {
                path.push_str(&format!("V{}", short(ground, 1)));
            }
            inside = false;
            continue;
        }
        if !inside {
            path.push_str(&format!("M{bin} {}", short(ground, 1)));
        }
        inside = true;
        // A single crossing among many thousands is still a line.
        let top = ground - (height / most).sqrt().max(0.02) * 0.98 * high;
        path.push_str(&format!("V{}H{}", short(top, 1), bin + 1));
    }
    if inside {
        path.push_str(&format!("V{}", short(ground, 1)));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_has_a_step_for_each_bin_and_gaps_between() {
        let scale = Scale::decades([1.0, 100.0]);
        // Ten bins over two decades: 1 is in the first, 10 in the sixth, 99 in the last.
        let path = area(&scale, &[(1.0, 100), (10.0, 25), (99.0, 1)], 10, 100.0, 100.0);
        assert_eq!(path, "M0 100V2H1V100M5 100V51H6V100M9 100V90.2H10V100");
        assert_eq!(area(&scale, &[(0.0, 5)], 10, 100.0, 100.0), "");
    }
}
