//! Marks: what stands for a number in a chart. Each says in words what it shows; the page's script lets it be focused.

use crate::markup::{clean, percent, px};
use maud::{Markup, html};

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

    /// Among several lines of one run the color is the run's and the shape tells the lines apart.
    pub(crate) fn varied(self, line: usize) -> Self {
        Self { shape: (self.shape + line) % COLORS, ..self }
    }

    /// The class that gives the color.
    pub(crate) fn class(self) -> String {
        format!("s{}", self.color)
    }
}

/// How large a shape is drawn, and its scale: as many things share a track, so small must each be for none to hide another.
const SIZES: [(&str, &str); 3] = [("shape", "scale(1)"), ("middle", "scale(.75)"), ("small", "scale(.42)")];

/// The shapes in every size, once for the page; marks point to them.
pub(crate) fn shapes() -> Markup {
    html! {
        svg.defs width="0" height="0" aria-hidden="true" {
            defs {
                @for (size, scale) in SIZES {
                    @for (n, path) in SHAPES.iter().enumerate() {
                        path id={ (size) (n) } d=(path) transform=(scale) {}
                    }
                }
            }
        }
    }
}

/// A shape at a place: a share across, pixels down. `size` is the name of one of the sizes.
pub(crate) fn shape(look: Look, size: &'static str, across: f64, down: f64) -> Markup {
    html! { use href={ "#" (size) (look.shape) } x=(percent(across)) y=(px(down)) {} }
}

/// What says what it shows: the drawing in a group with its words. `class` gives its color.
pub(crate) fn mark(class: &str, words: &str, drawing: Markup) -> Markup {
    html! { g class={ "m " (class) } role="img" { title { (clean(words)) } (drawing) } }
}

/// A drawing as wide as its column.
pub(crate) fn track(height: f64, drawing: Markup) -> Markup {
    html! { svg.track width="100%" height=(px(height)) { (drawing) } }
}

/// A straight line: shares across, pixels down.
pub(crate) fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Markup {
    html! { line.(class) x1=(percent(from.0)) y1=(px(from.1)) x2=(percent(to.0)) y2=(px(to.1)) {} }
}

/// A rectangle: from one share to the other across, pixels down.
pub(crate) fn rect(class: &str, [low, high]: [f64; 2], top: f64, height: f64) -> Markup {
    html! { rect.(class) x=(percent(low)) y=(px(top)) width=(percent(high - low)) height=(px(height)) {} }
}

/// Text at a place; `anchor` is `start`, `middle` or `end`.
pub(crate) fn label(class: &str, anchor: &str, across: f64, down: f64, text: &str) -> Markup {
    html! { text.(class) text-anchor=(anchor) x=(percent(across)) y=(px(down)) { (clean(text)) } }
}

/// Text to the left of a field, where the page leaves room.
pub(crate) fn left_label(class: &str, down: f64, text: &str) -> Markup {
    html! { text.(class) x="-8" y=(px(down)) text-anchor="end" { (clean(text)) } }
}

/// A legend: each thing's swatch and its name.
pub(crate) fn legend(entries: impl IntoIterator<Item = (Markup, String)>) -> Markup {
    html! { ul.legend { @for (swatch, name) in entries { li { (swatch) (clean(&name)) } } } }
}

/// A shape by itself, in a text.
pub(crate) fn swatch(look: Look) -> Markup {
    small(&look.class(), 14, html! { use href={ "#shape" (look.shape) } x="7" y="7" {} })
}

/// A drawing of that width in a text.
pub(crate) fn small(class: &str, width: usize, drawing: Markup) -> Markup {
    let height = width.min(14);
    html! { svg class={ "swatch " (class) } width=(width) height=(height) aria-hidden="true" { (drawing) } }
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
