//! A record to the terminal: pure functions from documents to text.
//!
//! Nothing here looks at the machine, measures or prints. Every string of a document is taken for
//! hostile: control characters never reach the text, and no string is long enough to break a line.

mod bar;
mod crossing;
mod findings;
mod head;
mod ladder;
mod notes;
pub mod number;
mod probes;
mod ring;
mod runs;
mod style;
mod text;
mod words;

pub use crossing::crossing;
pub use findings::findings;
pub use ladder::ladder;
pub use probes::{ProbeRow, probes};
pub use ring::ring;
pub use runs::runs;
pub use style::Style;

/// The view that suits what was run: the ring's for rings, the bills for crossings, the ladder for everything else.
pub fn view(run: &tollgate_record::Run, style: &Style) -> String {
    let of_rings = !run.results.is_empty() && run.results.iter().all(|result| result.family() == "ring");
    if run.command.first().is_some_and(|command| command == "crossing") {
        crossing(run, style)
    } else if of_rings {
        ring(run, style)
    } else {
        ladder(run, style)
    }
}
