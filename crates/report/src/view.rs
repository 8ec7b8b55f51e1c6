//! Which view suits a run.

use crate::{Style, crossing, fault_kinds, fault_scan, ladder, ring, riscv, switch};
use tollgate_record::{Measurement, Run};

/// A view and the runs that it suits: those that have results, each of which passes.
struct View {
    suits: fn(&Run) -> bool,
    show: fn(&Run, &Style) -> String,
}

/// The first that suits is taken; the ladder shows everything else.
static VIEWS: &[View] = &[
    View { suits: |run| run.command.first().is_some_and(|command| command == "crossing"), show: crossing },
    View { suits: |run| family(run, "ring"), show: ring },
    View { suits: |run| family(run, "switch"), show: switch },
    View { suits: riscv::is_shown, show: riscv::riscv },
    View { suits: |run| all(run, |result| result.probe == "fault/scan"), show: fault_scan },
    View { suits: of_fault_kinds, show: fault_kinds },
];

/// The view that suits what was run.
pub fn view(run: &Run, style: &Style) -> String {
    let fits = VIEWS.iter().find(|view| !run.results.is_empty() && (view.suits)(run));
    fits.map_or(ladder as fn(&Run, &Style) -> String, |view| view.show)(run, style)
}

fn all(run: &Run, fits: impl Fn(&Measurement) -> bool) -> bool {
    run.results.iter().all(fits)
}

fn family(run: &Run, name: &str) -> bool {
    all(run, |result| result.family() == name)
}

/// The kinds hold the major fault, which the ladder has not.
fn of_fault_kinds(run: &Run) -> bool {
    family(run, "fault") && run.results.iter().any(|result| result.probe == "fault/major")
}
