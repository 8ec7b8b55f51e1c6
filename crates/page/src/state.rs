//! What the machine is in now, for a page.

use serde_json::{Value, json};
use tollgate_cores::Cause;
use tollgate_riscv::{F_NAMES, Privilege, X_NAMES};

use crate::assemble::{hex, text_at};
use crate::csrs;
use crate::running::{Running, Stop};

/// What was answered before, so that changes can be shown.
#[derive(Default)]
pub(crate) struct Before {
    x: Vec<u64>,
    f: Vec<u64>,
    csrs: Vec<(u16, u64)>,
}

/// A sentence on each cause of lost cycles.
pub(crate) fn about(cause: &str) -> &'static str {
    match cause {
        "issue" => "the instruction's own cycle",
        "load-use" => "waits for the result of a load",
        "csr" => "waits for a control and status register, or a fence",
        "branch" => "refills after a branch or a jump",
        "trap-flush" => "refills after a trap or a return",
        "i-miss" => "waits for the instruction cache",
        "d-miss" => "waits for the data cache",
        "tlb-walk" => "waits for a page table walk",
        "long-operation" => "waits for a unit that takes several cycles",
        "structural" => "waits for a resource that exists once",
        _ => "",
    }
}

/// Why a run stopped, for a page.
pub(crate) fn stop(stop: &Stop) -> Value {
    match stop {
        Stop::Done => json!({ "kind": "done" }),
        Stop::Breakpoint(index, text) => json!({ "kind": "breakpoint", "breakpoint": index, "text": text }),
        Stop::Exit(0) => json!({ "kind": "exit", "code": 0, "text": "the program ended" }),
        Stop::Exit(code) => {
            json!({ "kind": "exit", "code": code, "text": format!("the program ended with status {code}") })
        }
        Stop::Limit => {
            json!({ "kind": "limit", "text": "the program has not ended after the instructions that it was given" })
        }
        Stop::Input => {
            json!({ "kind": "input", "text": "the program waits for input: type something on its console" })
        }
        Stop::Stuck(text) => json!({ "kind": "stuck", "text": text }),
        Stop::Start => json!({ "kind": "start" }),
    }
}

/// The mode of a row of the ledger.
fn mode(row: usize) -> Option<Privilege> {
    [Some(Privilege::User), Some(Privilege::Supervisor), None, Some(Privilege::Machine)]
        .get(row)
        .copied()
        .flatten()
}

/// The number in a floating-point register.
fn number(bits: u64, double: bool) -> String {
    match bits >> 32 == 0xffff_ffff || !double {
        true => format!("{:?}", f32::from_bits(bits as u32)),
        false => format!("{:?}", f64::from_bits(bits)),
    }
}

/// The state, and what differs from `before`.
pub(crate) fn state(running: &Running, loaded: u64, before: &mut Before) -> Value {
    let machine = running.machine();
    let places = &running.loaded.places;
    let pc = machine.pc();
    let line = running.loaded.executable.line(pc);
    let now = Before {
        x: (0..32).map(|r| machine.x(r)).collect(),
        f: (0..32).map(|r| machine.f(r)).collect(),
        csrs: csrs::values(machine),
    };
    let differs = |old: &[u64], r: usize, value: u64| old.get(r).is_some_and(|old| *old != value);
    let x = now.x.iter().enumerate().map(|(r, &value)| {
        json!({
            "number": format!("x{r}"), "name": X_NAMES[r], "value": hex(value), "changed": differs(&before.x, r, value),
            "place": places.name(value),
        })
    });
    let isa = running.loaded.isa;
    let (single, double) = (isa.has(tollgate_riscv::Extension::F), isa.has(tollgate_riscv::Extension::D));
    let f = now.f.iter().enumerate().filter(|_| single).map(|(r, &value)| {
        json!({
            "name": F_NAMES[r], "value": hex(value), "number": number(value, double),
            "changed": differs(&before.f, r, value),
        })
    });
    let cycles = running.cycles();
    let ledger = running.ledger().unwrap_or_default();
    let causes = Cause::ALL.iter().filter_map(|&cause| {
        let cycles = ledger.of_cause(cause);
        (cycles > 0).then(|| json!({ "cause": cause.name(), "about": about(cause.name()), "cycles": cycles }))
    });
    let modes = (0..ledger.rows().len()).filter_map(|row| {
        let cycles = ledger.of_phase(row as u8);
        Some(json!({ "mode": mode(row)?.letter().to_string(), "cycles": cycles })).filter(|_| cycles > 0)
    });
    let instructions = machine.instret();
    let cpi = cycles.filter(|_| instructions > 0).map(|cycles| cycles as f64 / instructions as f64);
    let answer = json!({
        "loaded": loaded, "position": running.position(), "pc": hex(pc), "place": places.name(pc),
        "file": line.as_ref().map(|line| &line.file), "line": line.as_ref().map(|line| line.line),
        "instruction": running.instruction(pc).map(|(insn, _)| text_at(&insn, pc, places)).unwrap_or_default(),
        "mode": machine.privilege().letter().to_string(), "instructions": instructions, "cycles": cycles, "cpi": cpi,
        "traps": running.traps.count, "ended": running.ended.as_ref().map(stop), "rv32": !isa.is_rv64(),
        "core": running.loaded.core.as_ref().map(|core| &core.name),
        "x": x.collect::<Value>(), "f": f.collect::<Value>(), "csrs": csrs::registers(machine, &before.csrs),
        "console": String::from_utf8_lossy(machine.console()), "causes": causes.collect::<Value>(),
        "modes": modes.collect::<Value>(),
    });
    *before = now;
    answer
}
