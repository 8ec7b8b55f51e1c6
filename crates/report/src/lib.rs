//! A record to the terminal: pure functions from documents to text.
//!
//! Nothing here looks at the machine, measures or prints. Every string of a document is taken for
//! hostile: control characters never reach the text, and no string is long enough to break a line.

mod bar;
mod fault;
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

pub use fault::{fault_kinds, fault_scan};
pub use findings::findings;
pub use icache::icache;
pub use ladder::ladder;
pub use probes::{ProbeRow, probes};
pub use ring::ring;
pub use riscv::riscv;
pub use runs::runs;
pub use style::Style;

/// The view that suits what was run: the ring's for rings, those of faults, of caches and of traps on the
/// RISC-V machine for theirs, the ladder for everything else.
pub fn view(run: &tollgate_record::Run, style: &Style) -> String {
    let all = |fits: fn(&tollgate_record::Measurement) -> bool| {
        !run.results.is_empty() && run.results.iter().all(fits)
    };
    if all(|result| result.family() == "ring") {
        ring(run, style)
    } else if all(|result| result.family() == "riscv-icache") {
        icache(run, style)
    } else if all(|result| riscv::FAMILIES.contains(&result.family())) {
        riscv(run, style)
    } else if all(|result| result.probe == "fault/scan") {
        fault_scan(run, style)
    } else if all(|result| result.family() == "fault")
        && run.results.iter().any(|result| result.probe == "fault/major")
    {
        fault_kinds(run, style)
    } else {
        ladder(run, style)
    }
}
