//! Checks a user's kernel before anything of it is measured: a few calls, step by step.

use std::ops::Range;

use tollgate_riscv::{Cause, Config, Machine, Observer, Privilege, Step, Stop, Trap, TrapReturn, X_NAMES};

use crate::bill::Experiment;
use crate::call::Crossing;
use crate::design::Design;
use crate::engine::boot;
use crate::error::LabError;
use crate::fault;

/// The program and its data.
pub(super) const PROGRAM: Range<u64> = 0x8020_0000..0x8080_0000;
/// Calls that are checked: what the first one leaves behind shows in the next.
const CALLS: u64 = 3;
/// Steps of the boot, and of one call.
const BOOT: u64 = 1_000_000;
const CALL: u64 = 1_000_000;
/// The result of a call.
const A0: usize = 10;
/// What the program needs behind an `ecall`: the calling convention's saved registers, and the return address, because an
/// `ecall` is not a function call.
const NEEDED: [usize; 16] = [1, 2, 3, 4, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27];

/// Why a kernel is not measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum CheckError {
    /// How it is broken.
    #[error("{0}")]
    Broken(String),
    #[error("{0}")]
    Lab(#[from] LabError),
}

fn broken<T>(sentence: impl Into<String>) -> Result<T, CheckError> {
    Err(CheckError::Broken(sentence.into()))
}

/// The last trap and return.
#[derive(Default)]
struct Last {
    trap: Option<Trap>,
    back: Option<TrapReturn>,
}

impl Observer for Last {
    const TRAP: bool = true;

    fn trap(&mut self, trap: &Trap) {
        self.trap = Some(*trap);
    }

    fn trap_return(&mut self, back: &TrapReturn) {
        self.back = Some(*back);
    }
}

/// A call that has not returned.
struct Open {
    trap: Trap,
    registers: [u64; 32],
    steps: u64,
}

/// An address as a person finds it.
type Place<'a> = &'a dyn Fn(u64) -> String;

/// Makes calls, and returns the names of the registers that they lose and the program does not need.
pub(super) fn check(
    design: &Design<'_>,
    crossing: Crossing,
    place: Place<'_>,
) -> Result<Vec<&'static str>, CheckError> {
    let experiment = Experiment { design, crossing, iterations: CALLS };
    let (_, mut machine) = boot(&experiment, Config::default())?;
    let mut open: Option<Open> = None;
    let (mut calls, mut steps) = (0, 0);
    let mut lost = Vec::new();
    while calls < CALLS {
        let mut last = Last::default();
        let pc = machine.pc();
        if let Step::Stopped(stop) = machine.step(&mut last) {
            return broken(stopped(place, &machine, stop, pc, open.is_some()));
        }
        if let Some(trap) = last.trap {
            trapped(place, &machine, &trap, open.as_ref(), calls)?;
            if trap.from == Privilege::User {
                open = Some(Open { trap, registers: registers(&machine), steps: 0 });
            }
        }
        let back = last.back.filter(|back| PROGRAM.contains(&back.pc));
        if let (Some(back), Some(call)) = (back, &open) {
            lost.extend(returned(place, &machine, &back, call, pc)?);
            (open, calls, steps) = (None, calls + 1, 0);
        }
        steps += 1;
        match &mut open {
            Some(call) if call.steps == CALL => {
                let at = place(machine.pc());
                return broken(format!(
                    "the trap never returns: after {CALL} instructions it is at {at}, called by a7 = {}",
                    call.trap.a7
                ));
            }
            Some(call) => call.steps += 1,
            None if steps == BOOT => {
                return broken(
                    "the program makes no call: kernel_enter must enter it at user_start in U-mode",
                );
            }
            None => {}
        }
    }
    lost.sort_unstable();
    lost.dedup();
    Ok(lost.into_iter().map(|register: usize| X_NAMES[register]).collect())
}

fn registers(machine: &Machine) -> [u64; 32] {
    std::array::from_fn(|register| machine.x(register as u8))
}

/// A machine that stopped while it was checked.
fn stopped(place: Place<'_>, machine: &Machine, stop: Stop, pc: u64, is_open: bool) -> String {
    let at = place(pc);
    match (stop, is_open) {
        (Stop::Idle, true) => {
            format!("the trap never returns: wfi at {at} waits for an interrupt that cannot come")
        }
        (Stop::Exit { .. }, true) => format!("the kernel stops the machine in the call, at {at}"),
        _ => {
            let console = String::from_utf8_lossy(machine.console()).into_owned();
            let line = console.lines().last().unwrap_or("it printed nothing").trim().to_owned();
            format!("the machine stopped before the program made its calls: {line}")
        }
    }
}

/// Refuses a trap that is not a call of the program.
fn trapped(
    place: Place<'_>,
    machine: &Machine,
    trap: &Trap,
    open: Option<&Open>,
    calls: u64,
) -> Result<(), CheckError> {
    let Trap { cause, epc, tval, from, .. } = *trap;
    let at = place(epc);
    match (cause, open) {
        // Firmware, and interrupts, come back.
        (Cause::SupervisorEcall, _) => Ok(()),
        _ if cause.is_interrupt() => Ok(()),
        (Cause::UserEcall, None) => Ok(()),
        _ if from == Privilege::User => broken(format!(
            "after {calls} returns the program does not continue: {cause} at {epc:#x} (tval {tval:#x}); what it has in memory or \
             in its control registers was changed"
        )),
        (_, Some(_)) => {
            let insn = fault::quoted(machine, epc).map_or_else(String::new, |insn| format!(": {insn}"));
            broken(format!("the kernel traps itself: {cause} at {at}{insn}, tval {tval:#x}"))
        }
        (_, None) => broken(format!(
            "the kernel traps before the program's first call: {cause} at {at} (tval {tval:#x})"
        )),
    }
}

/// Checks a return to the program, and gives the registers that differ and that it does not need.
fn returned(
    place: Place<'_>,
    machine: &Machine,
    back: &TrapReturn,
    call: &Open,
    pc: u64,
) -> Result<Vec<usize>, CheckError> {
    let at = place(pc);
    let epc = call.trap.epc;
    let name = if back.from == Privilege::Machine { "mepc" } else { "sepc" };
    if back.to != Privilege::User {
        let field = if back.from == Privilege::Machine { "mstatus.MPP" } else { "sstatus.SPP" };
        return broken(format!(
            "the return at {at} goes to the program in {}-mode: {field} must be that of U-mode",
            back.to.letter()
        ));
    }
    if back.pc == epc {
        return broken(format!(
            "the return at {at} goes to the ecall itself, which would trap for ever: add 4 to {name} before it"
        ));
    }
    if back.pc != epc + 4 {
        return broken(format!(
            "the return at {at} goes to {:#x}, and the instruction after the ecall is at {:#x}: {name} must be that",
            back.pc,
            epc + 4
        ));
    }
    let after = registers(machine);
    let differs = |&register: &usize| after[register] != call.registers[register];
    let needed: Vec<_> = NEEDED.into_iter().filter(differs).collect();
    if !needed.is_empty() {
        let list: Vec<_> = needed
            .iter()
            .map(|&it| format!("{} (was {:#x}, is {:#x})", X_NAMES[it], call.registers[it], after[it]))
            .collect();
        return broken(format!("the return at {at} loses {}: save and restore it", list.join(", ")));
    }
    Ok((1..32).filter(|&it| it != A0).filter(differs).collect())
}
