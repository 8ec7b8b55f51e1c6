//! A record to the terminal: pure functions from documents to text.
//!
//! Nothing here looks at the machine, measures or prints. Every string of a document is taken for
//! hostile: control characters never reach the text, and no string is long enough to break a line.

mod bar;
mod findings;
mod head;
mod icache;
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
pub use icache::icache;
pub use ladder::ladder;
pub use probes::{ProbeRow, probes};
pub use ring::ring;
pub use riscv::riscv;
pub use runs::runs;
pub use style::Style;

/// The view that suits what was run: the ring's for rings, that of caches for caches, that of traps on
/// the RISC-V machine for those, the ladder for all else.
pub fn view(run: &tollgate_record::Run, style: &Style) -> String {
    let all = |family: &str| run.results.iter().all(|result| result.family() == family);
    match () {
        () if run.results.is_empty() => ladder(run, style),
        () if all("ring") => ring(run, style),
        () if all("riscv-icache") => icache(run, style),
        () if run.results.iter().all(|result| riscv::FAMILIES.contains(&result.family())) => {
            riscv(run, style)
        }
        () => ladder(run, style),
    }
}
