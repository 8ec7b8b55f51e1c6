//! Marks: what stands for a number in a chart. Each says in words what it shows; the page's script lets it be focused.

use crate::markup::{Element, el, percent};

/// How many colors there are; each has a shape of its own.
pub(crate) const COLORS: usize = 8;

/// The outlines of the shapes around (0, 0), as paths: circle, square, diamond, triangle up, triangle down, cross,
/// plus, hexagon.
const SHAPES: [&str; COLORS] = [
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "M-4 -4h8v8h-8z",
    "M0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
    "M0 -5.2l5 8.7h-10z",
    "M0 5.2l5 -8.7h-10z",
    "M-4.6 -3l1.6 -1.6l3 3l3 -3l1.6 1.6l-3 3l3 3l-1.6 1.6l-3 -3l-3 3l-1.6 -1.6l3 -3z",
    "M-1.2 -5h2.4v3.8h3.8v2.4h-3.8v3.8h-2.4v-3.8h-3.8v-2.4h3.8z",
    "M-5 0l2.5 -4.4h5l2.5 4.4l-2.5 4.4h-5z",
];

/// Color and shape of the n-th thing. The first eight differ in both; later ones repeat
/// a color with another shape, so that 64 pairs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) color: usize,
    pub(crate) shape: usize,
}

impl Look {
    pub(crate) fn nth(n: usize) -> Self {
        Self { color: n % COLORS, shape: (n + n / COLORS) % COLORS }
    }

    /// The class that gives the color.
    pub(crate) fn class(self) -> String {
        format!("s{}", self.color)
    }
}

/// How large a shape is drawn: as many things share a track, so small must each be for none to hide another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Size {
    #[default]
    Full,
    Middle,
    Small,
}

impl Size {
    const ALL: [Self; 3] = [Self::Full, Self::Middle, Self::Small];

    /// What the shapes of that size are called, and their scale.
    fn named(self) -> (&'static str, &'static str) {
        match self {
            Self::Full => ("shape", "scale(1)"),
            Self::Middle => ("middle", "scale(.75)"),
            Self::Small => ("small", "scale(.42)"),
        }
    }
}

/// The shapes in every size, once for the page; marks point to them.
pub(crate) fn shapes() -> Element {
    let sized = |size: Size| {
        let (name, scale) = size.named();
        SHAPES.iter().enumerate().map(move |(n, path)| {
            el("path").set("id", format!("{name}{n}")).set("d", *path).set("transform", scale)
        })
    };
    let hatch = el("pattern")
        .set("id", "hatch")
        .set("width", 6usize)
        .set("height", 6usize)
        .set("patternUnits", "userSpaceOnUse")
        .set("patternTransform", "rotate(45)")
        .with(el("rect").set("width", 6usize).set("height", 6usize).class("hatch-ground"))
        .with(el("rect").set("width", 2usize).set("height", 6usize).class("hatch-line"));
    el("svg")
        .class("defs")
        .set("width", 0usize)
        .set("height", 0usize)
        .set("aria-hidden", "true")
        .with(el("defs").all(Size::ALL.into_iter().flat_map(sized)).with(hatch))
}

/// A shape at a place: a share across, pixels down.
pub(crate) fn shape(look: Look, across: f64, down: f64) -> Element {
    sized(look, Size::Full, across, down)
}

/// A shape of that size at a place.
pub(crate) fn sized(look: Look, size: Size, across: f64, down: f64) -> Element {
    let href = format!("#{}{}", size.named().0, look.shape);
    el("use").set("href", href).set("x", percent(across)).set("y", down)
}

/// What says what it shows: the drawing in a group with its words.
pub(crate) fn mark(look: Look, words: impl AsRef<str>) -> Element {
    el("g").class(format!("m {}", look.class())).set("role", "img").with(el("title").text(words))
}

/// A straight line: shares across, pixels down.
pub(crate) fn line(class: &'static str, from: (f64, f64), to: (f64, f64)) -> Element {
    el("line")
        .class(class)
        .set("x1", percent(from.0))
        .set("y1", from.1)
        .set("x2", percent(to.0))
        .set("y2", to.1)
}

/// Text at a place; `anchor` is `start`, `middle` or `end`.
pub(crate) fn label(
    class: &'static str,
    anchor: &'static str,
    across: f64,
    down: f64,
    text: &str,
) -> Element {
    el("text").class(class).set("text-anchor", anchor).set("x", percent(across)).set("y", down).text(text)
}

/// A legend: each thing's shape in its color, and its name.
pub(crate) fn legend(entries: impl IntoIterator<Item = (Look, String)>) -> Element {
    el("ul")
        .class("legend")
        .all(entries.into_iter().map(|(look, name)| el("li").with(swatch(look)).text(name)))
}

/// A shape by itself, in a text.
pub(crate) fn swatch(look: Look) -> Element {
    el("svg")
        .class(format!("swatch {}", look.class()))
        .set("width", 14usize)
        .set("height", 14usize)
        .set("aria-hidden", "true")
        .with(el("use").set("href", format!("#shape{}", look.shape)).set("x", 7usize).set("y", 7usize))
}

/// What a mark with a bar behind it stands for.
pub(crate) fn interval_swatch(look: Look) -> Element {
    el("svg")
        .class(format!("swatch {}", look.class()))
        .set("width", 28usize)
        .set("height", 14usize)
        .set("aria-hidden", "true")
        .with(
            el("rect")
                .class("interval")
                .set("x", 1usize)
                .set("y", 4.5)
                .set("width", 26usize)
                .set("height", 5usize),
        )
        .with(el("use").set("href", format!("#shape{}", look.shape)).set("x", 14usize).set("y", 7usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_four_looks_differ_and_the_first_eight_in_both() {
        let looks: Vec<Look> = (0..64).map(Look::nth).collect();
        for (i, a) in looks.iter().enumerate() {
            assert!(looks[..i].iter().all(|b| a != b), "{i}");
            assert!(i >= 8 || looks[..i].iter().all(|b| a.color != b.color && a.shape != b.shape));
        }
    }
}
