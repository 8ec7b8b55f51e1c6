//! Runs as one HTML page that needs nothing else: no network, no script to be read, no file beside it.
//!
//! The page is made of sections, one row each in [`SECTIONS`]; a section that has nothing to show is left out.
//! Charts come from [`crate::chart`], strings from the record go through [`crate::markup`] only.

mod bills;
mod curves;
mod distribution;
mod emulated;
mod facts;
mod heatmap;
mod ladder;
mod method;
mod page;
mod ring;
mod runs;
mod stages;

use page::Section;
use runs::Runs;
use tollgate_record::Run;

/// The parts of the page in their order.
static SECTIONS: &[Section] = &[
    Section { id: "ladder", title: "The ladder", build: ladder::section },
    Section { id: "emulated", title: "Emulated: not this machine's hardware", build: ladder::emulated },
    Section { id: "ring", title: "The ring", build: ring::section },
    Section { id: "curves", title: "Curves", build: curves::section },
    Section { id: "pipeline", title: "In the pipeline", build: stages::section },
    Section { id: "icache", title: "The instruction cache", build: heatmap::section },
    Section { id: "bills", title: "Bills", build: bills::section },
    Section { id: "distributions", title: "Distributions", build: distribution::section },
    Section { id: "host", title: "The machine", build: facts::section },
    Section { id: "method", title: "How each number was obtained", build: method::section },
];

/// The page for these runs, in their order; several are laid over each other. Figures that are not finite are
/// left out and noted, as everywhere.
pub fn html(runs: &[Run]) -> String {
    let runs = Runs::new(runs);
    let sections = SECTIONS.iter().map(|section| (section, (section.build)(&runs)));
    page::page(&runs, &sections.filter(|(_, content)| !content.0.is_empty()).collect::<Vec<_>>())
}
