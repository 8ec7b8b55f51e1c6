//! Runs as one HTML page that needs nothing else: no network, no script to be read, no file beside it.
//!
//! The rows are those of the terminal's views ([`views`]). Around them are sections of the page's own, one row each in
//! [`FIRST`] and [`LAST`]; a section that has nothing to show is left out.
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

/// What is behind the rows.
static LAST: &[page::Section] = &[
    ("pipeline", "In the pipeline", stages::section),
    ("flame", "Where the cycles went", flame::section),
    ("icache", "The instruction cache", heatmap::section),
    ("distributions", "Distributions", distribution::section),
    ("host", "The machine", facts::section),
    ("method", "How each number was obtained", method::section),
];

/// The views of these runs, without what is around them on a page: elements for a page that has the style of ours.
pub fn fragment(runs: &[Run]) -> String {
    let runs = Runs::new(runs);
    let mut all = views::sections(&runs);
    for (id, title, build) in &LAST[..3] {
        all.push((*id, *title, build(&runs)));
    }
    all.into_iter().map(|(.., content)| content.0).collect()
}

/// The page for these runs, in their order; several are laid over each other. Figures that are not finite are
/// left out and noted, as everywhere.
pub fn html(runs: &[Run]) -> String {
    let runs = Runs::new(runs);
    let built = |(id, title, build): &page::Section| (*id, *title, build(&runs));
    let all = FIRST.iter().map(built).chain(views::sections(&runs)).chain(LAST.iter().map(built));
    page::page(&runs, &all.filter(|(.., content)| !content.0.is_empty()).collect::<Vec<_>>())
}
