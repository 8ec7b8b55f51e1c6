//! A record to the terminal: pure functions from documents to text.
//!
//! Nothing here looks at the machine, measures or prints. Every string of a document is taken for
//! hostile: control characters never reach the text, and no string is long enough to break a line.

mod bar;
mod findings;
mod head;
mod ladder;
mod notes;
pub mod number;
mod probes;
mod ring;
mod riscv;
mod runs;
mod style;
mod text;
mod words;

pub use findings::findings;
pub use ladder::ladder;
pub use probes::{ProbeRow, probes};
pub use ring::ring;
pub use riscv::riscv;
pub use runs::runs;
pub use style::Style;

/// The view that suits what was run: the ring's for rings, that of the simulated machine, the ladder for everything else.
pub fn view(run: &tollgate_record::Run, style: &Style) -> String {
    let of_rings = !run.results.is_empty() && run.results.iter().all(|result| result.family() == "ring");
    let simulated = |result: &tollgate_record::Measurement| riscv::FAMILIES.contains(&result.family());
    if !run.results.is_empty() && run.results.iter().all(simulated) {
        return riscv(run, style);
    }
    if of_rings { ring(run, style) } else { ladder(run, style) }
}
