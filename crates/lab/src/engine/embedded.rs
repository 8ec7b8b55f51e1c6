//! The machine of our own: every instruction is seen, so every instruction is charged to a phase.

use tollgate_cores::Core;
use tollgate_riscv::{Config, Elf, Machine, Observer, Stop};

use crate::attribution::Attribution;
use crate::bill::{Engine, Experiment, Spread, TrapBill};
use crate::call::Crossing;
use crate::cycles::{CycleAttribution, Cycles};
use crate::error::LabError;
use crate::guest::{self, Report};
use crate::image;
use crate::rtl::proof;

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

    fn measure(&self, experiment: &Experiment) -> Result<TrapBill, LabError> {
        let (elf, machine) = boot(experiment, Config::default())?;
        let mut watch = Attribution::new(&elf, experiment.crossing, experiment.iterations);
        let console = run(machine, experiment, &mut watch)?;
        settle(watch, experiment, &console)
    }
}

/// A bill with its cycles on a core.
#[derive(Clone, Debug)]
pub struct CycleBill {
    /// The instructions.
    pub bill: TrapBill,
    /// What the core is called.
    pub core: String,
    /// The cycles.
    pub cycles: Cycles,
    /// How well the core is proven against its RTL, if it was compared.
    pub proof: Option<String>,
}

impl Embedded {
    /// Runs an experiment on a core, and counts cycles besides.
    pub fn measure_cycles(&self, experiment: &Experiment, core: &Core) -> Result<CycleBill, LabError> {
        let (elf, machine) = boot(experiment, core.config())?;
        let bill = Attribution::new(&elf, experiment.crossing, experiment.iterations);
        let follows = !experiment.crossing.is_switch();
        let mut watch = CycleAttribution::new(bill, core, &machine.code(), experiment.iterations, follows)?;
        let console = run(machine, experiment, &mut watch)?;
        let (bill, cycles) = watch.finish();
        let bill = settle(bill, experiment, &console)?;
        Ok(CycleBill { bill, core: core.name.clone(), cycles, proof: proof(core) })
    }
}

fn boot(experiment: &Experiment, usual: Config) -> Result<(Elf, Machine), LabError> {
    let elf = Elf::parse(&image::prepare(experiment)?).map_err(refused)?;
    let isa = experiment.design.isa.parse().map_err(|e| LabError::Machine(format!("{e}")))?;
    let mut machine = Machine::new(Config { isa, ram_bytes: RAM, ..usual }).map_err(refused)?;
    machine.load(&elf).map_err(refused)?;
    Ok((elf, machine))
}

/// Runs the guest to its end and gives what it printed.
fn run<O: Observer>(
    mut machine: Machine,
    experiment: &Experiment,
    watch: &mut O,
) -> Result<String, LabError> {
    let budget = experiment.iterations.saturating_mul(BUDGET_EACH).saturating_add(BUDGET);
    let stop = machine.run(budget, watch);
    let console = String::from_utf8_lossy(&machine.take_console()).into_owned();
    match stop {
        Stop::Exit { code: 0 } => Ok(console),
        Stop::Exit { code } => {
            let said = console.lines().last().unwrap_or_default();
            Err(LabError::Guest(format!("stopped with status {code}: {said}")))
        }
        other => Err(LabError::Guest(format!("did not end: {other:?}"))),
    }
}

/// The bill, when the guest did what it was built for.
fn settle(watch: Attribution, experiment: &Experiment, console: &str) -> Result<TrapBill, LabError> {
    let (spread, phases) = watch.finish().map_err(|seen| {
        LabError::Guest(format!("crossed {seen} times, not once and {} times", experiment.iterations))
    })?;
    let result = second_opinion(experiment, spread, console)?;
    let phases = Some(Box::new(phases));
    let asid_bits = guest::asid_bits(console);
    Ok(TrapBill { experiment: *experiment, engine: NAME, result, asid_bits, spread, phases })
}

fn refused(error: impl std::fmt::Display) -> LabError {
    LabError::Machine(error.to_string())
}

/// The program's own report: its counter reads must agree with the bill; its result is passed on.
fn second_opinion(experiment: &Experiment, outside: Spread, console: &str) -> Result<Option<i64>, LabError> {
    if experiment.crossing == Crossing::Timer {
        return Ok(None);
    }
    let report = Report::find(console).ok_or_else(|| LabError::Guest("printed no report".into()))?;
    // Two reads of the counter with nothing between them differ by one.
    match report.spread.less(1) {
        Some(inside) if inside == outside => Ok(report.result),
        inside => {
            let inside = inside.map_or(0, |spread| spread.sum);
            Err(LabError::Disagreement { outside: outside.sum, inside })
        }
    }
}
