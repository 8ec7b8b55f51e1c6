//! Charts as static SVG, each with a table that says the same.
//!
//! Nothing here knows a run: sections of the page put their figures on these scales, axes and marks. Across, every place is
//! a share of the width (per cent), so a chart is as wide as its column and its letters stay as large as the
//! page's; down, it is in pixels. Colors are classes (`s0` to `s7`) whose values the page's style sheet has,
//! once for light and once for dark; each goes with a shape or a pattern, so that color is never alone.
//!
//! A new chart is a section of the page, or a part of one: it takes its scales from [`scale`], draws into a
//! [`plot::Plot`] or rows of a track with the marks of [`mark`], and makes a [`crate::figure::Figure`].

pub(crate) mod mark;
pub(crate) mod plot;
pub(crate) mod rungs;
pub(crate) mod scale;
pub(crate) mod unit;

pub(crate) use scale::Scale;
pub(crate) use unit::Unit;
