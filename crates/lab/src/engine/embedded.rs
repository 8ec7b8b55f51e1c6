//! The machine of our own: every instruction is seen, so every instruction is charged to a phase.

use tollgate_riscv::{Config, Elf, Machine, Stop};

use super::Engine;
use crate::LabError;
use crate::attribution::Attribution;
use crate::bill::{Experiment, Phases, Spread, TrapBill};
use crate::call::Crossing;
use crate::guest::Report;
use crate::image;

/// The embedded machine.
pub struct Embedded;

const NAME: &str = "embedded";

/// The kernel, the program and two private pages; see `guests/riscv/include/kernel.h`.
const RAM: u64 = 8 << 20;
/// Boot and report, and for each crossing: far more than any of the guests takes.
const BUDGET: u64 = 10_000_000;
const BUDGET_EACH: u64 = 20_000;

impl Engine for Embedded {
    fn name(&self) -> &'static str {
        NAME
    }

    fn note(&self) -> &'static str {
        "Counted instruction by instruction from outside; a trapping ecall does not count."
    }

    fn measure(&self, experiment: &Experiment) -> Result<TrapBill, LabError> {
        let elf = Elf::parse(&image::prepare(experiment)?).map_err(refused)?;
        let isa = experiment.design.isa.parse().map_err(|e| LabError::Machine(format!("{e}")))?;
        let mut machine =
            Machine::new(Config { isa, ram_bytes: RAM, ..Config::default() }).map_err(refused)?;
        machine.load(&elf).map_err(refused)?;

        let wanted = usize::try_from(experiment.iterations).unwrap_or(usize::MAX).saturating_add(1);
        let mut watch = Attribution::new(&elf, experiment.crossing, wanted);
        let budget = experiment.iterations.saturating_mul(BUDGET_EACH).saturating_add(BUDGET);
        let stop = machine.run(budget, &mut watch);
        let console = String::from_utf8_lossy(&machine.take_console()).into_owned();
        match stop {
            Stop::Exit { code: 0 } => {}
            Stop::Exit { code } => {
                let said = console.lines().last().unwrap_or_default();
                return Err(LabError::Guest(format!("stopped with status {code}: {said}")));
            }
            other => return Err(LabError::Guest(format!("did not end: {other:?}"))),
        }
        if !watch.is_done() {
            let seen = watch.finished.len();
            return Err(LabError::Guest(format!("crossed {seen} times, not {wanted}")));
        }
        bill(experiment, &watch.finished, &console)
    }
}

fn refused(error: impl std::fmt::Display) -> LabError {
    LabError::Machine(error.to_string())
}

fn bill(experiment: &Experiment, crossings: &[Phases], console: &str) -> Result<TrapBill, LabError> {
    let totals: Vec<u64> = crossings.iter().map(|phases| phases.total().instructions).collect();
    let spread = Spread::of(&totals).ok_or_else(|| LabError::Guest("crossed fewer than two times".into()))?;
    let mut sum = Phases::default();
    crossings[1..].iter().for_each(|phases| sum.add(phases));

    let mut result = None;
    if experiment.crossing != Crossing::Timer {
        // The program's own counter reads are a second opinion on every figure. Two reads with nothing between
        // them differ by one.
        let report =
            Report::find(console).ok_or_else(|| LabError::Guest("gave no account of its own".into()))?;
        let inside = report.spread.less(1);
        if inside != Some(spread) {
            let inside = inside.map_or(0, |s| s.sum);
            return Err(LabError::Disagreement { outside: spread.sum, inside });
        }
        result = report.result;
    }
    let phases = Some(Box::new([crossings[0], sum]));
    Ok(TrapBill { experiment: *experiment, engine: NAME, result, spread, phases })
}
