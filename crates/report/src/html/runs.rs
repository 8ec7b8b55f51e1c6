//! The runs of a page: how each is called, drawn, and which of their results are the same row.

use crate::chart::Unit;
use crate::chart::mark::Look;
use crate::markup::clean;
use crate::text::letter;
use indexmap::IndexMap;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tollgate_record::{Asked, Measurement, Per, Run};

/// The most runs of a key beside an axis; of more the looks cannot be told apart in passing.
const KEYED: usize = 8;

/// All runs of a page.
pub(super) struct Runs<'a> {
    pub(super) all: Vec<One<'a>>,
}

/// One run.
pub(super) struct One<'a> {
    pub(super) run: Cow<'a, Run>,
    pub(super) look: Look,
    /// `A`, `B`, ... `Z`, `AA`.
    pub(super) letter: String,
}

/// What the runs have under one name.
pub(super) struct PageRow<'a> {
    /// `family/mechanism`, and what else tells it from its neighbors.
    pub(super) name: String,
    pub(super) family: &'a str,
    /// Which run, and its result.
    pub(super) results: Vec<(usize, &'a Measurement)>,
}

impl PageRow<'_> {
    /// The name without the family, which a heading has.
    pub(super) fn short(&self) -> &str {
        self.name.strip_prefix(self.family).and_then(|name| name.strip_prefix('/')).unwrap_or(&self.name)
    }
}

impl<'a> Runs<'a> {
    pub(super) fn new(runs: &'a [Run]) -> Self {
        let one = |(n, run): (usize, &'a Run)| One {
            run: run.without_non_finite(),
            look: Look::nth(n),
            letter: letter(n),
        };
        Self { all: runs.iter().enumerate().map(one).collect() }
    }

    pub(super) fn one(&self, n: usize) -> &One<'a> {
        &self.all[n]
    }

    pub(super) fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// Each run's look and letter, where there are several and few enough for a key beside an axis.
    pub(super) fn key(&self) -> Vec<(Look, String)> {
        let all = if (2..=KEYED).contains(&self.all.len()) { &self.all[..] } else { &[] };
        all.iter().map(|one| (one.look, one.letter.clone())).collect()
    }

    /// The look of a run's line: among several runs the color is the run's and the shape tells its lines apart; of one run
    /// each line has its own of both.
    pub(super) fn line(&self, run: usize, line: usize) -> Look {
        if self.are_several() { self.one(run).look.varied(line) } else { Look::nth(line) }
    }

    /// The words for a run before a figure of it: nothing when there is only one.
    pub(super) fn before(&self, n: usize) -> String {
        if self.are_several() { format!("{}: ", self.all[n].letter) } else { String::new() }
    }

    /// The results that pass, by name, in the order in which the runs have them.
    pub(super) fn rows(&self, pass: impl Fn(&Measurement) -> bool) -> Vec<PageRow<'_>> {
        let mut rows: IndexMap<String, PageRow<'_>> = IndexMap::new();
        for (n, one) in self.all.iter().enumerate() {
            let mut seen: BTreeMap<String, usize> = BTreeMap::new();
            for result in one.run.results.iter().filter(|result| pass(result)) {
                let mut name = name(result);
                // Two results of one run that nothing tells apart are two rows.
                let times = seen.entry(name.clone()).or_default();
                *times += 1;
                if *times > 1 {
                    name = format!("{name} ({times})");
                }
                let row = || PageRow { name: name.clone(), family: result.family(), results: Vec::new() };
                rows.entry(name.clone()).or_insert_with(row).results.push((n, result));
            }
        }
        rows.into_values().collect()
    }
}

/// Results with sections of their own: the cells of a ring, tolls, scans, and what a simulator counted.
fn is_rung(result: &Measurement) -> bool {
    let has_own = ["ring", "exec"].contains(&result.family())
        || result.probe == "fault/scan"
        || result.family().starts_with("riscv");
    !has_own
}

/// Whether a figure is an emulator's own. What simulators count has sections of its own and pretends nothing.
fn is_emulated(result: &Measurement) -> bool {
    is_rung(result) && crate::words::is_emulated(result)
}

/// The heading above a result: its family, and what emulated it.
pub(super) fn title(result: &Measurement) -> String {
    let family = family(result.family());
    if is_emulated(result) { format!("emulated by {}: {family}", clean(&result.engine)) } else { family }
}

/// What a family is called in a heading.
pub(super) fn family(name: &str) -> String {
    let own = match name {
        "ring" => "hop around a ring of tasks",
        "exec" => "toll of a program",
        "switch" => "switch in another runtime",
        "hardware" => "the hardware alone, in a bare guest",
        "riscv-trap" => "trap on a simulated RISC-V machine",
        "riscv-pipeline" => "pipeline of a simulated RISC-V core",
        "riscv-icache" => "instruction cache of a simulated RISC-V machine",
        "riscv-validation" => "loop on a timed core and on the RTL of a real one",
        "riscv-workload" => "traps into a program on a simulated RISC-V machine",
        other => crate::words::family(other).map_or("", |(title, _)| title),
    };
    match own {
        "" => Some(clean(name)).filter(|name| !name.is_empty()).unwrap_or_else(|| "(no name)".into()),
        own => own.into(),
    }
}

/// What tells results of one probe apart, each part as it is shown.
fn telling(result: &Measurement) -> Vec<String> {
    let tasks = |n: u64| format!("{} tasks", tollgate_record::number::count(n as usize));
    match &result.asked {
        Asked::Ring(ring) => vec![tasks(ring.procs.into()), Unit::Bytes.show(ring.size as f64)],
        Asked::Scan(scan) => vec![Unit::Bytes.show(scan.size as f64)],
        // A call into another language has one, always.
        Asked::Runtime(of) if of.tasks != 2 && result.per != Per::Call => vec![tasks(of.tasks)],
        Asked::Knee(knee) => knee.cache.iter().cloned().collect(),
        Asked::Trap(trap) => {
            let caches = trap.caches.as_ref().map(|caches| format!("{} caches", caches.name()));
            [Some(trap.kernel.clone()), trap.core.clone(), caches].into_iter().flatten().collect()
        }
        Asked::Workload(of) => vec![of.kernel.clone(), of.core.clone()],
        Asked::Pipeline(of) => vec![of.core.clone(), of.program.clone()],
        Asked::Latency(of) => vec![of.core.clone()],
        Asked::Validation(of) => vec![of.core.clone(), of.program.clone()],
        Asked::Icache(of) => vec![of.program.clone(), of.icache.to_string()],
        Asked::Imported(of) => {
            let size = of.size.map(|size| Unit::Bytes.show(size as f64));
            [of.procs.map(tasks), size].into_iter().flatten().collect()
        }
        Asked::Program(of) => vec![of.program.clone()],
        Asked::Exec(of) => vec![of.command.join(" ")],
        Asked::Runtime(_) | Asked::Probe(_) | Asked::Nothing => Vec::new(),
    }
}

/// What a result is called: its probe, what tells it apart, and the engine where that is not the host.
fn name(result: &Measurement) -> String {
    let mut parts: Vec<String> = telling(result).iter().map(|part| clean(part)).collect();
    if !matches!(result.engine.as_str(), "host" | "embedded") {
        parts.push(clean(&result.engine));
    }
    let probe = clean(&result.probe);
    let probe = if probe.is_empty() { "(no name)".to_owned() } else { probe };
    if parts.is_empty() { probe } else { format!("{probe}, {}", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::Status;
    use tollgate_record::family::{RingAsked, RuntimeAsked};

    #[test]
    fn names_tell_results_apart() {
        let mut result = Measurement::empty("ring/pipe", "host", Per::Switch, Status::Measured);
        result.asked = Asked::Ring(RingAsked { procs: 8, size: 65_536, ..RingAsked::default() });
        assert_eq!(name(&result), "ring/pipe, 8 tasks, 64 KiB");
        let runtime = |probe, per, tasks| {
            let asked = Asked::Runtime(RuntimeAsked { tasks, ..RuntimeAsked::default() });
            name(&Measurement { asked, ..Measurement::empty(probe, "host", per, Status::Measured) })
        };
        assert_eq!(runtime("switch/go/goroutine", Per::Switch, 1_000), "switch/go/goroutine, 1,000 tasks");
        assert_eq!(runtime("switch/go/goroutine", Per::Switch, 2), "switch/go/goroutine");
        assert_eq!(runtime("ffi/cgo/down", Per::Call, 1), "ffi/cgo/down");
        assert_eq!(name(&Measurement::empty("", "qemu", Per::Trap, Status::Failed)), "(no name), qemu");
    }
}
