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

    fn measure<'d>(&self, experiment: &Experiment<'d>) -> Result<TrapBill<'d>, LabError> {
        let (elf, machine) = boot(experiment, Config::default())?;
        let mut watch = Attribution::new(&elf, experiment.crossing, experiment.iterations);
        let said = run(machine, &elf, experiment, &mut watch, Attribution::closed)?;
        settle(watch, experiment, &said)
    }
}

/// A bill with its cycles on a core.
#[derive(Clone, Debug)]
pub struct CycleBill<'d> {
    /// The instructions.
    pub bill: TrapBill<'d>,
    /// What the core is called.
    pub core: String,
    /// The cycles.
    pub cycles: Cycles,
    /// How well the core is proven against its RTL, if it was compared.
    pub proof: Option<String>,
}

impl Embedded {
    /// Runs an experiment on a core, and counts cycles besides.
    pub fn measure_cycles<'d>(
        &self,
        experiment: &Experiment<'d>,
        core: &Core,
    ) -> Result<CycleBill<'d>, LabError> {
        let (elf, machine) = boot(experiment, core.config())?;
        let bill = Attribution::new(&elf, experiment.crossing, experiment.iterations);
        let follows = !experiment.crossing.is_switch();
        let mut watch = CycleAttribution::new(bill, core, &machine.code(), experiment.iterations, follows)?;
        let said = run(machine, &elf, experiment, &mut watch, |watch| watch.bill.closed())?;
        let (bill, cycles) = watch.finish();
        let bill = settle(bill, experiment, &said)?;
        Ok(CycleBill { bill, core: core.name.clone(), cycles, proof: proof(core) })
    }
}

pub(crate) fn boot(experiment: &Experiment, usual: Config) -> Result<(Elf, Machine), LabError> {
    let elf = Elf::parse(&image::prepare(experiment)?).map_err(refused)?;
    let isa = experiment.design.isa.parse().map_err(|e| LabError::Machine(format!("{e}")))?;
    let mut machine = Machine::new(Config { isa, ram_bytes: RAM, ..usual }).map_err(refused)?;
    machine.load(&elf).map_err(refused)?;
    Ok((elf, machine))
}

/// What the guest reports of itself.
#[derive(Default)]
struct Said {
    report: Option<Report>,
    asid_bits: Option<u32>,
}

/// Runs the guest to its end; `closed` counts the crossings that were seen.
fn run<O: Observer>(
    mut machine: Machine,
    elf: &Elf,
    experiment: &Experiment,
    watch: &mut O,
    closed: fn(&O) -> u64,
) -> Result<Said, LabError> {
    if experiment.design.own {
        return run_own(machine, elf, experiment, watch, closed);
    }
    let budget = experiment.iterations.saturating_mul(BUDGET_EACH).saturating_add(BUDGET);
    let stop = machine.run(budget, watch);
    let console = String::from_utf8_lossy(&machine.take_console()).into_owned();
    match stop {
        Stop::Exit { code: 0 } => {
            Ok(Said { report: Report::find(&console), asid_bits: guest::asid_bits(&console) })
        }
        Stop::Exit { code } => {
            let said = console.lines().last().unwrap_or_default();
            Err(LabError::Guest(format!("stopped with status {code}: {said}")))
        }
        other => Err(LabError::Guest(format!("did not end: {other:?}"))),
    }
}

/// Steps of a user's kernel between two looks at how many crossings there were: fewer than the program has between the last
/// one and its report, which sets its tally to zero.
const LOOK: u64 = 64;
/// Steps behind the last crossing, in which it costs something: the report of a kernel that prints is shorter.
const BEHIND: u64 = 1 << 16;

/// Runs a user's kernel. It need not answer the calls by which the program reports and ends, so the program's tally is read
/// from its memory.
fn run_own<O: Observer>(
    mut machine: Machine,
    elf: &Elf,
    experiment: &Experiment,
    watch: &mut O,
    closed: fn(&O) -> u64,
) -> Result<Said, LabError> {
    let wanted = experiment.iterations.saturating_add(1);
    let place = elf.symbol("tally").ok_or_else(|| LabError::Image("it has no symbol tally".into()))?;
    let mut left = experiment.iterations.saturating_mul(BUDGET_EACH).saturating_add(BUDGET) / LOOK;
    let [single, min, max, sum] = loop {
        let [seen, single, min, max, sum] = words(&machine, place)?;
        if seen == wanted && closed(watch) == wanted {
            break [single, min, max, sum];
        }
        let stop = machine.run(LOOK, watch);
        left = left.saturating_sub(1);
        if stop != Stop::Budget || left == 0 {
            let closed = closed(watch);
            return Err(LabError::Guest(format!("stopped after {closed} of {wanted} crossings ({stop:?})")));
        }
    };
    machine.run(BEHIND, watch);
    let console = String::from_utf8_lossy(&machine.take_console()).into_owned();
    let result = Report::find(&console).and_then(|report| report.result);
    let spread = Spread { single, min, max, sum, count: experiment.iterations };
    Ok(Said { report: Some(Report { result, spread }), asid_bits: None })
}

/// Words of the guest's memory.
fn words<const N: usize>(machine: &Machine, place: u64) -> Result<[u64; N], LabError> {
    let bytes = machine.read_memory(place, 8 * N as u64).map_err(refused)?;
    let mut words =
        bytes.chunks_exact(8).map(|word| word.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)));
    Ok(std::array::from_fn(|_| words.next().unwrap_or_default()))
}

/// The bill, when the guest did what it was built for.
fn settle<'d>(
    watch: Attribution,
    experiment: &Experiment<'d>,
    said: &Said,
) -> Result<TrapBill<'d>, LabError> {
    let (spread, phases) = watch.finish().map_err(|seen| {
        LabError::Guest(format!("crossed {seen} times, not once and {} times", experiment.iterations))
    })?;
    let result = second_opinion(experiment, spread, said.report)?;
    let phases = Some(Box::new(phases));
    Ok(TrapBill { experiment: *experiment, engine: NAME, result, asid_bits: said.asid_bits, spread, phases })
}

fn refused(error: impl std::fmt::Display) -> LabError {
    LabError::Machine(error.to_string())
}

/// The program's own report: its counter reads must agree with the bill; its result is passed on.
fn second_opinion(
    experiment: &Experiment,
    outside: Spread,
    report: Option<Report>,
) -> Result<Option<i64>, LabError> {
    if experiment.crossing == Crossing::Timer {
        return Ok(None);
    }
    let report = report.ok_or_else(|| LabError::Guest("printed no report".into()))?;
    // Two reads of the counter with nothing between them differ by one.
    match report.spread.less(1) {
        Some(inside) if inside == outside => Ok(report.result),
        inside => {
            let inside = inside.map_or(0, |spread| spread.sum);
            Err(LabError::Disagreement { outside: outside.sum, inside })
        }
    }
}
