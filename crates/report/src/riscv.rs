//! What the RISC-V machine and other engines found: bills of traps, caches, stage diagrams, profiles of programs.

mod bill;
mod bill_compare;
mod cycles;
mod designs;
mod engines;
mod exec;
mod exec_compare;
mod features;
mod functions;
mod icache;
mod pipeline;
mod profile;
mod validation;
mod words;
mod workload;

pub use bill_compare::kernel_comparison;
pub use exec_compare::guest_comparison;

use crate::notes::notes;
use crate::sheet::Sheet;
use crate::style::Style;
use std::collections::BTreeSet;
use tollgate_record::{Measurement, Run};
use words::{kernel, measured, warnings};

/// A view and the family of results that it shows.
type View = fn(&Run, &Style) -> Sheet;

/// The view of each family. A run whose results are all of one has that view.
const VIEWS: [(&str, View); 7] = [
    ("riscv-trap", trap),
    ("riscv-workload", workload::view),
    ("riscv-icache", icache::view),
    ("riscv-pipeline", pipeline::view),
    ("riscv-program", profile::view),
    ("riscv-exec", exec::view),
    ("riscv-validation", validation::view),
];

/// Whether a run has one of these views.
pub(crate) fn is_shown(run: &Run) -> bool {
    found(run).is_some()
}

fn found(run: &Run) -> Option<View> {
    let family = run.results.first()?.family();
    let (_, view) = VIEWS.iter().find(|(name, _)| *name == family)?;
    run.results.iter().all(|result| result.family() == family).then_some(*view)
}

/// The view of a run of the RISC-V commands. One without results has only what its record says of the run.
pub(crate) fn riscv(run: &Run, style: &Style) -> Sheet {
    found(run).map_or(notes as View, |view| view)(run, style)
}

/// Bills of traps: in cycles where they were counted, otherwise in instructions of one kernel, of several, or on
/// several engines.
fn trap(run: &Run, style: &Style) -> Sheet {
    let distinct = |of: fn(&Measurement) -> &str| run.results.iter().map(of).collect::<BTreeSet<_>>().len();
    if run.results.iter().any(|result| result.cycles.is_some()) {
        return cycles::view(run, style);
    }
    let mut text = match (distinct(|it| &it.engine), distinct(kernel)) {
        (1, _) if features::is_of_features(&measured(run)) => features::view(&measured(run), style),
        (1, 1) => bill::view(&measured(run), style),
        (1, _) => designs::view(&measured(run), style),
        _ => engines::table(run, style),
    };
    text.extend(functions::view(&run.results, style));
    text.extend(engines::notes(run, style));
    text.extend(warnings(run, style, &[]));
    text
}
