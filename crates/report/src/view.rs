//! Which view suits a run.

use crate::Style;
use crate::crossing::crossing;
use crate::exec::exec;
use crate::fault::{fault_kinds, fault_scan};
use crate::ladder::ladder;
use crate::ring::ring;
use crate::riscv;
use crate::sheet::Sheet;
use crate::switch::switch;
use tollgate_record::{Measurement, Run};

/// A view and the runs that it suits.
pub(crate) struct View {
    /// Its part of the page: anchor and title.
    pub(crate) page: (&'static str, &'static str),
    /// The beginning of the command whose empty runs it shows.
    command: &'static [&'static str],
    /// Whether it suits a run that has results.
    suits: fn(&Run) -> bool,
    pub(crate) show: fn(&Run, &Style) -> Sheet,
}

/// The first that suits is taken; the ladder shows everything else.
pub(crate) static VIEWS: [View; 8] = [
    View {
        page: ("crossing", "Crossings taken apart"),
        command: &["crossing"],
        suits: of_crossing,
        show: crossing,
    },
    View {
        page: ("toll", "The toll of a program"),
        command: &["exec"],
        suits: |run| family(run, "exec"),
        show: exec,
    },
    View { page: ("ring", "The ring"), command: &["ring"], suits: |run| family(run, "ring"), show: ring },
    View {
        page: ("switch", "Runtimes"),
        command: &["switch"],
        suits: |run| family(run, "switch"),
        show: switch,
    },
    View {
        page: ("riscv", "The RISC-V machine"),
        command: &["riscv"],
        suits: riscv::is_shown,
        show: riscv::riscv,
    },
    View {
        page: ("scan", "The scan of a file"),
        command: &["fault", "scan"],
        suits: |run| all(run, |result| result.probe == "fault/scan"),
        show: fault_scan,
    },
    View {
        page: ("faults", "Page faults"),
        command: &["fault", "kinds"],
        suits: of_fault_kinds,
        show: fault_kinds,
    },
    View { page: ("ladder", "The ladder"), command: &[], suits: |_| true, show: ladder },
];

/// The place of a run's view.
pub(crate) fn of(run: &Run) -> usize {
    let begins = |view: &View| {
        let words = run.command.iter().map(String::as_str);
        words.take(view.command.len()).eq(view.command.iter().copied())
    };
    let fits = |view: &View| if run.results.is_empty() { begins(view) } else { (view.suits)(run) };
    VIEWS.iter().position(fits).unwrap_or(VIEWS.len() - 1)
}

/// What a command prints of its run, and `show` of the saved one: chosen from the record alone.
pub fn view(run: &Run, style: &Style) -> String {
    (VIEWS[of(run)].show)(run, style).text(style)
}

/// The same probes are rungs of the ladder, so that only the command tells.
fn of_crossing(run: &Run) -> bool {
    run.command.first().is_some_and(|command| command == "crossing")
}

fn all(run: &Run, fits: impl Fn(&Measurement) -> bool) -> bool {
    run.results.iter().all(fits)
}

fn family(run: &Run, name: &str) -> bool {
    all(run, |result| result.family() == name)
}

/// Only this command measures a major fault.
fn of_fault_kinds(run: &Run) -> bool {
    family(run, "fault") && run.results.iter().any(|result| result.probe == "fault/major")
}
