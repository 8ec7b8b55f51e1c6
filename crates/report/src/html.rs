//! Runs as one HTML page that needs nothing else: no network, no script to be read, no file beside it.
//!
//! The page is made of sections, one row each in [`SECTIONS`]; a section that has nothing to show is left out.
//! Charts come from [`crate::chart`], strings from the record go through [`crate::markup`] only.

mod bills;
mod compared;
mod curves;
mod distribution;
mod emulated;
mod facts;
mod flame;
mod heatmap;
mod ladder;
mod method;
mod page;
mod ring;
mod runs;
mod stages;
mod toll;

pub(crate) use page::document;

use runs::Runs;
use tollgate_record::Run;

/// The parts of the page in their order.
static SECTIONS: &[page::Section] = &[
    ("compared", "What changed", compared::section),
    ("curves", "Curves", curves::section),
    ("ladder", "The ladder", ladder::section),
    ("emulated", "Emulated: not this machine's hardware", ladder::emulated),
    ("toll", "The toll of a program", toll::section),
    ("ring", "The ring", ring::section),
    ("pipeline", "In the pipeline", stages::section),
    ("flame", "Where the cycles went", flame::section),
    ("icache", "The instruction cache", heatmap::section),
    ("bills", "Bills", bills::section),
    ("distributions", "Distributions", distribution::section),
    ("host", "The machine", facts::section),
    ("method", "How each number was obtained", method::section),
];

/// The page for these runs, in their order; several are laid over each other. Figures that are not finite are
/// left out and noted, as everywhere.
pub fn html(runs: &[Run]) -> String {
    let runs = Runs::new(runs);
    let sections = SECTIONS.iter().map(|(id, title, build)| (*id, *title, build(&runs)));
    page::page(&runs, &sections.filter(|(.., content)| !content.0.is_empty()).collect::<Vec<_>>())
}
