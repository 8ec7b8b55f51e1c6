//! What is measured on which architecture: the table that the command prints and that is part of
//! `docs/reference/architectures.md`.

use super::trial::RowsByCase;
use crate::build::target::TARGETS;
use std::collections::BTreeMap;
use std::fmt::Write;
use tollgate_record::Status;
use tollgate_testkit::Recorded;

/// The table of the page.
pub(super) fn recorded() -> Recorded {
    Recorded::in_page("architectures", "docs/reference/architectures.md")
}

/// Parts of reasons that come and go under an emulator, which runs on the host's kernel and in its memory.
const OF_THE_HOST: [&str; 2] = [
    // `crates/measure` says so of a row that its proof refutes.
    "the emulator that runs this program does not do it",
    // `fault/large-folio`: the kernel takes small folios where free memory is fragmented.
    "even of a file that was written in large pieces",
];

/// The cell of a list that was not run on an architecture.
const NOT_TRIED: &str = "not tried";

/// The rows of each list (a case), by architecture.
#[derive(Default)]
pub(super) struct Table(BTreeMap<&'static str, BTreeMap<&'static str, Tried>>);

/// What one list gave on one architecture.
#[derive(Default)]
struct Tried {
    measured: usize,
    all: usize,
    /// Why each probe was skipped; `None` for one with a row that was measured.
    skipped: BTreeMap<String, Option<String>>,
}

/// Which rows were not measured: list, row, architecture; with the reason.
type Gaps = BTreeMap<(String, String, String), String>;

impl Table {
    /// Adds the rows of one architecture.
    pub(super) fn add(&mut self, arch: &'static str, lists: RowsByCase) {
        for (list, rows) in lists {
            let tried = self.0.entry(list).or_default().entry(arch).or_default();
            for row in rows {
                let reason = (row.status == Status::Skipped).then(|| row.reason.unwrap_or_default());
                tried.all += 1;
                tried.measured += usize::from(reason.is_none());
                let known = tried.skipped.entry(row.probe).or_insert_with(|| reason.clone());
                *known = known.take().and(reason);
            }
        }
    }

    /// Whether it has no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The table as in the page: how many rows were measured, and which were not.
    pub(super) fn markdown(&self) -> String {
        let mut out = String::from("| list |");
        TARGETS.iter().for_each(|target| _ = write!(out, " {} |", target.arch));
        out.push_str("\n|---|");
        TARGETS.iter().for_each(|_| out.push_str("---:|"));
        out.push('\n');
        for (list, by_arch) in &self.0 {
            let _ = write!(out, "| {list} |");
            for target in TARGETS {
                let _ = match by_arch.get(target.arch) {
                    Some(tried) => write!(out, " {} of {} |", tried.measured, tried.all),
                    None => write!(out, " {NOT_TRIED} |"),
                };
            }
            out.push('\n');
        }
        out.push_str("\nNot measured, and why:\n\n| list | row | on | reason |\n|---|---|---|---|\n");
        for ((list, row, arch), reason) in self.gaps() {
            let _ = writeln!(out, "| {list} | {row} | {arch} | {} |", reason.replace('|', "/"));
        }
        out
    }

    fn gaps(&self) -> Gaps {
        let mut gaps = Gaps::new();
        for (list, by_arch) in &self.0 {
            for (arch, tried) in by_arch {
                let skipped = tried.skipped.iter().filter_map(|(row, reason)| Some((row, reason.clone()?)));
                gaps.extend(skipped.map(|(row, reason)| (key(list, row, arch), reason)));
            }
        }
        gaps
    }

    /// How the page differs from these rows. A row for which this machine's own architecture differs from the page is left
    /// out: there the machine differs (its CPUs, its kernel, the rights of its user), not the architecture.
    pub(super) fn drift(&self, page: &str) -> Vec<String> {
        let documented = read(page);
        let native = std::env::consts::ARCH;
        let mut drift = Vec::new();
        for (list, by_arch) in &self.0 {
            let Some(here) = by_arch.get(native) else { continue };
            let others = by_arch.iter().filter(|(arch, _)| **arch != native && !untried(page, list, arch));
            for (arch, (probe, found)) in
                others.flat_map(|(arch, tried)| tried.skipped.iter().map(move |row| (arch, row)))
            {
                let is_documented = documented.contains_key(&key(list, probe, native));
                if here.skipped.get(probe).is_some_and(|here| here.is_some() != is_documented) {
                    continue;
                }
                match (found, documented.get(&key(list, probe, arch))) {
                    (Some(reason), _) | (None, Some(reason)) if is_of_the_host(reason) => {}
                    (Some(reason), None) => {
                        drift.push(format!("{list}: {probe} is skipped on {arch}: {reason}"));
                    }
                    (None, Some(_)) => drift.push(format!("{list}: {probe} is measured on {arch}")),
                    _ => {}
                }
            }
        }
        drift
    }
}

fn is_of_the_host(reason: &str) -> bool {
    OF_THE_HOST.iter().any(|known| reason.contains(known))
}

fn key(list: &str, row: &str, arch: &str) -> (String, String, String) {
    (list.to_owned(), row.to_owned(), arch.to_owned())
}

/// Whether the page says that this list was not tried on this architecture.
fn untried(page: &str, list: &str, arch: &str) -> bool {
    let place = TARGETS.iter().position(|target| target.arch == arch);
    let counts = page.lines().find_map(|line| line.strip_prefix(&format!("| {list} |")));
    let cell = counts.zip(place).and_then(|(counts, place)| counts.split('|').nth(place));
    cell.is_some_and(|cell| cell.trim() == NOT_TRIED)
}

/// The rows that are not measured according to the page.
fn read(page: &str) -> Gaps {
    page.lines()
        .skip_while(|line| !line.starts_with("| list | row |"))
        .skip(2)
        .filter_map(|line| {
            let mut cells = line.split('|').map(|cell| cell.trim().to_owned()).skip(1);
            Some(((cells.next()?, cells.next()?, cells.next()?), cells.next()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{OF_THE_HOST, Table, recorded};
    use std::collections::BTreeMap;
    use tollgate_record::{Measurement, Per, Status};

    const MEASURED: Status = Status::Measured;
    const SKIPPED: Status = Status::Skipped;

    fn table(here: Status, there: Status) -> Table {
        skipped_for("why | not", here, there)
    }

    /// One row on this machine's architecture, and one on another.
    fn skipped_for(reason: &str, here: Status, there: Status) -> Table {
        let other = if std::env::consts::ARCH == "riscv64" { "aarch64" } else { "riscv64" };
        let rows = |status| {
            let reason = (status == SKIPPED).then(|| reason.to_owned());
            vec![Measurement { reason, ..Measurement::empty("a/b", "host", Per::Switch, status) }]
        };
        let mut table = Table::default();
        table.add(std::env::consts::ARCH, BTreeMap::from([("run", rows(here))]));
        table.add(other, BTreeMap::from([("run", rows(there))]));
        table
    }

    #[test]
    fn the_page_that_was_written_agrees() {
        for (here, there) in [(MEASURED, MEASURED), (MEASURED, SKIPPED), (SKIPPED, SKIPPED)] {
            let table = table(here, there);
            assert_eq!(table.drift(&table.markdown()), Vec::<String>::new());
        }
    }

    #[test]
    fn a_row_that_is_no_longer_or_newly_measured_is_drift() {
        let drift = |before, after| table(MEASURED, after).drift(&table(MEASURED, before).markdown());
        assert_eq!(drift(MEASURED, SKIPPED).len(), 1);
        assert_eq!(drift(SKIPPED, MEASURED).len(), 1);
    }

    #[test]
    fn a_reason_of_the_host_comes_and_goes() {
        for reason in OF_THE_HOST.map(|reason| format!("{reason} of 16 MiB")) {
            let [gone, there] = [MEASURED, SKIPPED].map(|status| skipped_for(&reason, MEASURED, status));
            assert_eq!(
                [gone.drift(&there.markdown()), there.drift(&gone.markdown())],
                [const { Vec::<String>::new() }; 2]
            );
        }
    }

    #[test]
    fn a_row_that_this_machine_does_not_measure_either_is_not_drift() {
        let documented = table(MEASURED, MEASURED).markdown();
        assert!(table(SKIPPED, SKIPPED).drift(&documented).is_empty());
    }

    #[test]
    fn counts_are_in_the_table() {
        let text = table(MEASURED, SKIPPED).markdown();
        assert!(text.contains("1 of 1 |") && text.contains("0 of 1 |"), "{text}");
        assert!(text.contains("why / not"), "{text}");
    }

    /// The marks are there, and the rows between them are read.
    #[test]
    fn the_page_has_the_table() {
        assert!(!super::read(&recorded().text().unwrap()).is_empty());
    }
}
