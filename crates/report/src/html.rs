//! Runs as one HTML page that needs nothing else: no network, no script to be read, no file beside it.
//!
//! The rows are those of the terminal's views ([`views`]). Around them are sections of the page's own, one row each in
//! [`FIRST`], [`SIMULATED`] and [`LAST`]; a section that has nothing to show is left out.
//! Charts come from [`crate::chart`], strings from the record go through [`crate::markup`] only.

mod compared;
mod curves;
mod distribution;
mod facts;
mod flame;
mod heatmap;
mod method;
mod page;
mod runs;
mod stages;
mod views;

pub(crate) use page::document;

use runs::Runs;
use tollgate_record::Run;

/// What was asked: the change and the curves, before the rows.
static FIRST: &[page::Section] =
    &[("compared", "What changed", compared::section), ("curves", "Curves", curves::section)];

/// Charts of simulated programs, behind the rows.
static SIMULATED: &[page::Section] = &[
    ("pipeline", "In the pipeline", stages::section),
    ("flame", "Where the cycles went", flame::section),
    ("icache", "The instruction cache", heatmap::section),
];

/// What is behind them.
static LAST: &[page::Section] = &[
    ("distributions", "Distributions", distribution::section),
    ("host", "The machine", facts::section),
    ("method", "How each number was obtained", method::section),
];

/// The views of these runs, without what is around them on a page: elements for a page that has the style of ours.
pub fn fragment(runs: &[Run]) -> String {
    let runs = Runs::new(runs);
    // Nothing in it explains how a number was obtained, so no row leads there.
    let mut all: String =
        views::sections(&runs, |_| None).into_iter().map(|(.., content)| content.0).collect();
    all.extend(SIMULATED.iter().map(|(.., build)| build(&runs).0));
    all
}

/// The page for these runs, in their order; several are laid over each other. Figures that are not finite are
/// left out and noted, as everywhere.
pub fn html(runs: &[Run]) -> String {
    let runs = Runs::new(runs);
    let built = |(id, title, build): &page::Section| (*id, *title, build(&runs));
    let rows = views::sections(&runs, method::anchor);
    let all = FIRST.iter().map(built).chain(rows).chain(SIMULATED.iter().chain(LAST).map(built));
    page::page(&runs, &all.filter(|(.., content)| !content.0.is_empty()).collect::<Vec<_>>())
}
