//! One run of a source in its harness, step by step, and the figures that formulas name.

use tollgate_cores::{Cause, Core};
use tollgate_riscv::cache::{Cache, Geometry, Policy, WritePolicy};
use tollgate_riscv::{
    Cause as TrapCause, Config, INSTRUCTIONS, Isa, Machine, Step, Stop, Trap, TrapReturn, X_NAMES,
};

use super::build::Built;
use super::document::{Case, Document};
use super::error::ExerciseError;
use super::verdict::{PhaseCost, RunReport};
use super::watch::{Counts, CrossingCost, Watch};
use crate::cycles::Clock;
use crate::fault;
use crate::phase::Phase;

/// RAM: harness, source, page tables.
const RAM: u64 = 8 << 20;

/// A run that is over.
pub(super) struct Outcome {
    pub(super) report: RunReport,
    /// How it did not end, or what the source did that it must not do.
    pub(super) stuck: Option<String>,
    pub(super) violation: Option<String>,
    /// The first register that was lost, and where.
    lost: Option<String>,
    counts: Counts,
    icache: Option<Cache>,
    machine: Machine,
    built: Built,
}

/// Runs a program that was built.
pub(super) fn run(
    document: &Document,
    case: &Case,
    isa: Isa,
    core: Option<&Core>,
    mut built: Built,
) -> Result<Outcome, ExerciseError> {
    let file = |error: &dyn std::fmt::Display| ExerciseError::File(format!("case '{}': {error}", case.name));
    let usual = core.map_or_else(Config::default, Core::config);
    let config = Config { isa: if core.is_some() { usual.isa } else { isa }, ram_bytes: RAM, ..usual };
    let mut machine = Machine::new(config).map_err(|error| file(&error))?;
    let geometry =
        case.icache.as_deref().map(str::parse::<Geometry>).transpose().map_err(|error| file(&error))?;
    let icache = geometry.map(|it| Cache::new(it, Policy::Lru, WritePolicy::default())).transpose();
    let icache = icache.map_err(|error| file(&error))?;
    let loaded = machine.load(&built.image.program).err();
    let loaded = loaded.map(|error| format!("the program cannot be loaded: {error}"));
    let clock =
        core.map(|core| Clock::new(core, &machine.code())).transpose().map_err(|error| file(&error))?;
    let mut watch = Watch::new(&mut built, clock, icache);
    let mut lost = None;
    let stuck = loaded.or_else(|| drive(document, &mut machine, &mut watch, &mut lost));
    if lost.is_none() && watch.counts.crossings == 0 {
        lost = Some("nothing: no trap came back to the program".into());
    }
    let Watch { counts, icache, violation, .. } = watch;
    let report = report(case, core, &counts, machine.instret());
    Ok(Outcome { report, stuck, violation, lost, counts, icache, machine, built })
}

/// Steps to the end; how it did not get there.
fn drive(
    document: &Document,
    machine: &mut Machine,
    watch: &mut Watch<'_>,
    lost: &mut Option<String>,
) -> Option<String> {
    let mut saved = None;
    for _ in 0..document.budget {
        let pc = machine.pc();
        if pc == watch.built().done {
            return None;
        }
        watch.at(pc);
        if let Step::Stopped(stop) = machine.step(watch) {
            let at = watch.built().place(pc);
            return Some(match stop {
                Stop::Idle => format!("wfi at {at} waits for an interrupt that cannot come"),
                _ => format!("the machine was stopped at {at}"),
            });
        }
        if watch.entered {
            saved = Some(registers(machine));
        }
        if let Some((trap, back)) = watch.left {
            if let Some(why) = wrong_return(watch.built(), &trap, &back, pc) {
                return Some(why);
            }
            if trap.from == tollgate_riscv::Privilege::User
                && let Some(before) = saved.take()
                && lost.is_none()
            {
                *lost = lose(document, machine, watch.built(), &before, pc);
            }
        }
        if watch.violation.is_some() {
            // What follows means nothing.
            return None;
        }
        if watch.pending.len() > 16 {
            let Trap { cause, epc, tval, .. } = watch.pending[watch.pending.len() - 1];
            let at = watch.built().place(epc);
            let insn = fault::quoted(machine, epc).map_or_else(String::new, |insn| format!(": {insn}"));
            return Some(format!("the handler traps again and again: {cause} at {at}{insn}, tval {tval:#x}"));
        }
    }
    let at = watch.built().place(machine.pc());
    let since = watch.pending.last().map_or_else(String::new, |trap| {
        format!("; the {} at {} has not returned", trap.cause, watch.built().place(trap.epc))
    });
    Some(format!("after {} steps it has not ended and is at {at}{since}", document.budget))
}

fn registers(machine: &Machine) -> [u64; 32] {
    std::array::from_fn(|register| machine.x(register as u8))
}

/// A return to a wrong address. Behind a call the program continues with the next instruction, behind a fault with the same one;
/// a handler may step over an instruction that it did itself.
fn wrong_return(built: &Built, trap: &Trap, back: &TrapReturn, pc: u64) -> Option<String> {
    let is_call =
        matches!(trap.cause, TrapCause::UserEcall | TrapCause::SupervisorEcall | TrapCause::MachineEcall);
    let at = built.place(pc);
    let from = built.place(trap.epc);
    if back.pc == trap.epc {
        return is_call.then(|| {
            format!("the return at {at} goes to the ecall itself, which traps for ever: add 4 to the epc before it")
        });
    }
    if back.pc == trap.epc + 4 || !is_call && back.pc == trap.epc + 2 {
        return None;
    }
    let to = built.place(back.pc);
    Some(format!("the return at {at} goes to {to}, and the trap ({}) came from {from}", trap.cause))
}

/// The registers that are not as they were.
fn lose(
    document: &Document,
    machine: &Machine,
    built: &Built,
    before: &[u64; 32],
    pc: u64,
) -> Option<String> {
    let after = registers(machine);
    let differs = |&register: &usize| {
        after[register] != before[register] && !document.may_change.iter().any(|it| it == X_NAMES[register])
    };
    let lost: Vec<_> = (1..32)
        .filter(differs)
        .map(|it| format!("{} (was {:#x}, is {:#x})", X_NAMES[it], before[it], after[it]))
        .collect();
    let more = lost.len().saturating_sub(3);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let first = lost.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    (!lost.is_empty()).then(|| format!("the return at {} loses {first}{more}", built.place(pc)))
}

fn report(case: &Case, core: Option<&Core>, counts: &Counts, instructions: u64) -> RunReport {
    let phases = counts.last.as_ref().map_or_else(Vec::new, |last| {
        let is_used = |&&phase: &&Phase| {
            last.phases[phase] != crate::bill::Cost::default() || last.ledger.of_phase(phase as u8) > 0
        };
        Phase::ALL.iter().filter(is_used).map(|&phase| cost(phase, last, core.is_some())).collect()
    });
    let core = core.map(|core| core.name.clone());
    RunReport { name: case.name.clone(), instructions, crossings: counts.crossings, core, phases }
}

fn cost(phase: Phase, crossing: &CrossingCost, timed: bool) -> PhaseCost {
    let cost = crossing.phases[phase];
    let causes = Cause::ALL.iter().map(|&cause| (cause.name(), crossing.ledger.get(phase as u8, cause)));
    PhaseCost {
        phase: phase.name(),
        instructions: cost.instructions,
        loads: cost.loads,
        stores: cost.stores,
        bytes_stored: cost.bytes_stored,
        cycles: timed.then(|| crossing.ledger.of_phase(phase as u8)),
        causes: causes.filter(|(_, cycles)| *cycles > 0).collect(),
    }
}

impl Outcome {
    /// The first register that was lost, and where; or that nothing shows whether one is.
    pub(super) fn lost(&self) -> Option<&String> {
        self.lost.as_ref()
    }

    /// Whether its figures mean something.
    pub(super) fn ended(&self) -> bool {
        self.stuck.is_none() && self.violation.is_none()
    }

    /// The figure that a formula names.
    pub(super) fn figure(&self, name: &str) -> Result<i128, String> {
        let (kind, rest) = name.split_once('.').unwrap_or((name, ""));
        let counts = &self.counts;
        let known = match kind {
            "word" => self.word(rest, false)?.into(),
            "own" => self.word(rest, true)?.into(),
            "address" => self.address(rest, false)?.into(),
            "traps" => match rest {
                "" => counts.traps[0].into(),
                "user" => counts.traps[1].into(),
                "nested" => counts.traps[2].into(),
                _ => return unknown(name),
            },
            "crossings" => counts.crossings.into(),
            "executed" => {
                let of_name = INSTRUCTIONS.iter().filter(|row| row.mnemonic == rest);
                let found = of_name.map(|row| counts.executed.get(row.op as usize).copied().unwrap_or(0));
                found.sum::<u64>().into()
            }
            "passes" => counts.passes.get(&self.address(rest, false)?).copied().unwrap_or(0).into(),
            "fetches" | "misses" => {
                let cache = self.icache.as_ref().ok_or("this case has no icache")?;
                match kind {
                    "fetches" => cache.counts().accesses().into(),
                    _ => cache.counts().misses().into(),
                }
            }
            "phase" => rest.parse::<Phase>().map_err(|_| format!("there is no phase {rest}"))? as i128,
            "cause" => {
                let found = Cause::ALL.iter().find(|it| it.name().replace([' ', '-'], "_") == rest);
                *found.ok_or_else(|| format!("there is no cause {rest}"))? as i128
            }
            "instructions" if rest == "all" => counts.own.into(),
            "cycles" | "instructions" | "loads" | "stores" | "bytes" => {
                let (which, phase) = match rest.strip_prefix("cold.") {
                    Some(phase) => (&counts.first, phase),
                    None => (&counts.last, rest),
                };
                let crossing = which.as_ref().ok_or("the program never trapped and came back")?;
                return crossing.figure(kind, phase);
            }
            "top" => {
                let crossing = counts.last.as_ref().ok_or("the program never trapped and came back")?;
                let (phase, cause, cycles) = crossing.top();
                let total = crossing.ledger.total().max(1);
                match rest {
                    "phase" => phase as i128,
                    "cause" => cause as i128,
                    "cycles" => cycles.into(),
                    "percent" => (cycles * 100 / total).into(),
                    _ => return unknown(name),
                }
            }
            _ => return unknown(name),
        };
        Ok(known)
    }

    fn address(&self, label: &str, own: bool) -> Result<u64, String> {
        self.built.label(label, own).ok_or_else(|| match own {
            true => format!("there is no label `{label}` in your source"),
            false => format!("the harness has no label {label}"),
        })
    }

    /// The signed number at a label, as wide as a register.
    fn word(&self, label: &str, own: bool) -> Result<i64, String> {
        let wide = self.machine.config().isa.is_rv64();
        let address = self.address(label, own)?;
        let bytes = self.machine.read_memory(address, if wide { 8 } else { 4 });
        let bytes = bytes.map_err(|error| error.to_string())?;
        let word = bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        Ok(if wide { word as i64 } else { (word as i32).into() })
    }
}

fn unknown<T>(name: &str) -> Result<T, String> {
    Err(format!("there is no figure {name}"))
}

impl CrossingCost {
    fn figure(&self, kind: &str, phase: &str) -> Result<i128, String> {
        let each = match phase {
            "total" | "own" => None,
            name => Some(name.parse::<Phase>().map_err(|_| format!("there is no phase {name}"))?),
        };
        let all = || if phase == "own" { self.own } else { self.phases.total() };
        let cost = each.map_or_else(all, |phase| self.phases[phase]);
        let figure = match kind {
            "cycles" => each.map_or_else(|| self.ledger.total(), |phase| self.ledger.of_phase(phase as u8)),
            "instructions" => cost.instructions,
            "loads" => cost.loads,
            "stores" => cost.stores,
            _ => cost.bytes_stored,
        };
        Ok(figure.into())
    }

    /// The phase and cause with the most cycles.
    fn top(&self) -> (Phase, Cause, u64) {
        let all = Phase::ALL.iter().flat_map(|&phase| Cause::ALL.iter().map(move |&cause| (phase, cause)));
        let all = all.map(|(phase, cause)| (phase, cause, self.ledger.get(phase as u8, cause)));
        all.max_by_key(|it| it.2).unwrap_or((Phase::Other, Cause::Issue, 0))
    }
}
