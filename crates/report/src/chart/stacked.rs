//! Stacked bars: parts of a total beside each other, to the right of zero; negative ones to the left of it.

use super::Scale;
use super::mark;
use super::mark::Look;
use crate::markup::{Element, el, percent};

/// Height of one bar in pixels, and of the one of causes below it.
const BAR: f64 = 18.0;
const CAUSES: f64 = 8.0;
const GAP: f64 = 2.0;

/// How a part is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// In a color of its own.
    Color(usize),
    /// Hatched: what no part accounts for.
    Hatched,
}

/// One part.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) fill: Fill,
    pub(crate) number: f64,
    pub(crate) words: String,
}

/// One bar with its parts, the parts' causes where they are known, and the total.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bar {
    pub(crate) parts: Vec<Part>,
    pub(crate) causes: Vec<Part>,
    pub(crate) total: Option<f64>,
}

impl Bar {
    /// The numbers between which the bar reaches: from the sum of what is negative to the larger of total and sum of
    /// what is positive.
    pub(crate) fn ends(&self) -> [f64; 2] {
        let sum = |of: &[Part], sign: f64| -> f64 {
            of.iter().map(|part| part.number).filter(|number| number * sign > 0.0).sum()
        };
        let low = sum(&self.parts, -1.0).min(self.total.unwrap_or(0.0));
        let high = sum(&self.parts, 1.0).max(sum(&self.causes, 1.0)).max(self.total.unwrap_or(0.0));
        [low, high]
    }

    /// The bar on a track as wide as its column.
    pub(crate) fn track(&self, scale: &Scale) -> Element {
        let causes = if self.causes.is_empty() { 0.0 } else { CAUSES + GAP };
        let height = BAR + causes + 6.0;
        let mut svg = el("svg").class("track").set("width", "100%").set("height", height);
        let zero = scale.near(0.0);
        svg = svg.all(stack(scale, &self.parts, 3.0, BAR));
        svg = svg.all(stack(scale, &self.causes, 3.0 + BAR + GAP, CAUSES));
        svg = svg.with(mark::line("base", (zero, 0.0), (zero, height)));
        if let Some(at) = self.total.and_then(|total| scale.at(total)) {
            svg = svg.with(mark::line("total", (at, 0.0), (at, BAR + 6.0)));
        }
        svg
    }
}

fn stack(scale: &Scale, parts: &[Part], top: f64, height: f64) -> Vec<Element> {
    let (mut right, mut left) = (0.0, 0.0);
    let mut drawn = Vec::new();
    for part in parts {
        let end = if part.number < 0.0 { &mut left } else { &mut right };
        let (from, to) = (*end, *end + part.number);
        *end = to;
        let [low, high] = [from.min(to), from.max(to)].map(|x| scale.near(x));
        // What has no width cannot be seen; the table has it.
        if percent(high - low) == percent(0.0) {
            continue;
        }
        let look = match part.fill {
            Fill::Color(n) => Look::nth(n),
            Fill::Hatched => Look::nth(7),
        };
        let class = match (part.fill, part.number < 0.0) {
            (Fill::Hatched, _) => "part hatched",
            (_, true) => "part negative",
            // Where colors come round again the second lot has a pattern's edge.
            (Fill::Color(n), _) if n >= mark::COLORS => "part again",
            _ => "part",
        };
        let rect = el("rect")
            .class(class)
            .set("x", percent(low))
            .set("y", top)
            .set("width", percent(high - low))
            .set("height", height);
        drawn.push(mark::mark(look, &part.words).with(rect));
    }
    drawn
}

/// What stands for a fill in a legend.
pub(crate) fn swatch(fill: Fill) -> Element {
    let (look, class) = match fill {
        Fill::Color(n) if n >= mark::COLORS => (Look::nth(n), "part again"),
        Fill::Color(n) => (Look::nth(n), "part"),
        Fill::Hatched => (Look::nth(7), "part hatched"),
    };
    el("svg")
        .class(format!("swatch {}", look.class()))
        .set("width", 12usize)
        .set("height", 12usize)
        .set("aria-hidden", "true")
        .with(el("rect").class(class).set("width", 12usize).set("height", 12usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: f64) -> Part {
        Part { fill: Fill::Color(0), number, words: String::new() }
    }

    #[test]
    fn negative_parts_go_to_the_left_of_zero() {
        let bar =
            Bar { parts: vec![part(60.0), part(-20.0), part(50.0)], total: Some(90.0), ..Bar::default() };
        assert_eq!(bar.ends(), [-20.0, 110.0]);
        let mut text = String::new();
        bar.track(&Scale::between(-20.0, 180.0)).write(&mut text);
        for (x, width) in [("10%", "30%"), ("0%", "10%"), ("40%", "25%")] {
            assert!(text.contains(&format!("x=\"{x}\" y=\"3\" width=\"{width}\"")), "{text}");
        }
    }
}
