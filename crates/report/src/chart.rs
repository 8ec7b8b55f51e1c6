//! Charts as static SVG, each with a table that says the same.
//!
//! Nothing here knows a record: a chart gets numbers and texts and gives a [`Figure`]. Across, every place is
//! a share of the width (per cent), so a chart is as wide as its column and its letters stay as large as the
//! page's; down, it is in pixels. Colors are classes (`s0` to `s7`) whose values the page's style sheet has,
//! once for light and once for dark; each goes with a shape or a pattern, so that color is never alone.
//!
//! A new chart is one file: it takes its scales from [`scale`], draws into a [`Plot`] or rows of a track with
//! the marks of [`mark`], and returns a [`Figure`].

pub(crate) mod distribution;
pub(crate) mod figure;
pub(crate) mod heatmap;
pub(crate) mod mark;
pub(crate) mod plot;
pub(crate) mod rungs;
pub(crate) mod scale;
pub(crate) mod stacked;
pub(crate) mod stages;
pub(crate) mod table;
pub(crate) mod unit;

pub(crate) use figure::Figure;
pub(crate) use scale::Scale;
pub(crate) use table::{Cell, Table};
pub(crate) use unit::Unit;
