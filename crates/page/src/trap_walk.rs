//! One trap taken apart: the steps of the hardware, the phases of the handler, the return. The machine goes to the trap,
//! through it one step at a time, and back to where it was.

use serde_json::{Value, json};
use tollgate_cores::Cause;
use tollgate_lab::Phase;
use tollgate_record::phase_words;
use tollgate_riscv::{
    Access, Machine, Observer, Privilege, Step, TRAP_PHASES, Trap, TrapReturn, X_NAMES, text,
};

use crate::assemble::{hex, listed};
use crate::csrs;
use crate::failure::{Answer, Failure};
use crate::running::{Noted, Running};
use crate::state::about;

/// Steps after which a handler that has not returned is left.
const MOST_STEPS: u64 = 1_000_000;
const MOST_LISTED: usize = 64;

/// A trap for a list.
pub(crate) fn event(running: &Running, noted: &Noted) -> Value {
    let Noted { index, trap } = noted;
    json!({
        "index": index, "cause": trap.cause.to_string(), "interrupt": trap.cause.is_interrupt(),
        "code": trap.cause.code(), "from": trap.from.letter().to_string(), "to": trap.to.letter().to_string(),
        "epc": hex(trap.epc), "tval": hex(trap.tval), "handler": hex(trap.handler), "instructions": trap.instret,
        "place": running.loaded.places.name(trap.epc),
    })
}

/// Accesses, traps and returns of one step.
#[derive(Default)]
struct Watch {
    loads: u64,
    stores: u64,
    trapped: bool,
    returned: Option<TrapReturn>,
}

impl Observer for Watch {
    const MEMORY: bool = true;
    const RETIRE: bool = true;
    const TRAP: bool = true;

    fn access(&mut self, access: &Access) {
        match access.store {
            true => self.stores += 1,
            false => self.loads += 1,
        }
    }

    fn trap(&mut self, _: &Trap) {
        self.trapped = true;
    }

    fn trap_return(&mut self, ret: &TrapReturn) {
        self.returned = Some(*ret);
    }
}

/// The numbers of a mode's registers: status, tvec, epc, cause, tval.
fn numbers(mode: Privilege) -> [u16; 5] {
    match mode {
        Privilege::Machine => [0x300, 0x305, 0x341, 0x342, 0x343],
        _ => [0x100, 0x105, 0x141, 0x142, 0x143],
    }
}

/// What a machine's registers are at a moment.
struct Moment {
    status: u64,
    tvec: u64,
    epc: u64,
    cause: u64,
    tval: u64,
    pc: u64,
    x: Vec<u64>,
}

impl Moment {
    fn of(machine: &Machine, mode: Privilege) -> Self {
        let [status, tvec, epc, cause, tval] = numbers(mode).map(|it| machine.csr(it).unwrap_or_default());
        let x = (0..32).map(|r| machine.x(r)).collect();
        Self { status, tvec, epc, cause, tval, pc: machine.pc(), x }
    }
}

fn step(number: usize, title: &str, section: &str, text: String, changes: Vec<Value>) -> Value {
    json!({ "number": number, "title": title, "text": text, "section": section, "changes": changes })
}

fn change(name: impl Into<String>, before: u64, after: u64, meaning: impl Into<String>) -> Value {
    json!({ "name": name.into(), "before": hex(before), "after": hex(after), "meaning": meaning.into() })
}

fn mode_change(before: Privilege, after: Privilege) -> Value {
    json!({
        "name": "mode", "before": before.letter().to_string(), "after": after.letter().to_string(),
        "meaning": format!("{}-mode", after.letter()),
    })
}

/// Fields of the status register with their places.
fn fields(mode: Privilege) -> [(&'static str, u32, u64); 3] {
    match mode {
        Privilege::Machine => [("MPIE", 7, 1), ("MIE", 3, 1), ("MPP", 11, 3)],
        _ => [("SPIE", 5, 1), ("SIE", 1, 1), ("SPP", 8, 1)],
    }
}

fn status_changes(mode: Privilege, before: u64, after: u64) -> Vec<Value> {
    let register = if mode == Privilege::Machine { "mstatus" } else { "sstatus" };
    let of = |value: u64, low: u32, mask: u64| value >> low & mask;
    fields(mode)
        .into_iter()
        .map(|(name, low, mask)| {
            let [old, new] = [before, after].map(|value| of(value, low, mask));
            let number = numbers(mode)[0];
            change(format!("{register}.{name}"), old, new, csrs::meaning(number, name, new, after, false))
        })
        .collect()
}

/// The seven steps of the hardware; `place` names an address.
fn hardware(trap: &Trap, before: &Moment, after: &Moment, place: impl Fn(u64) -> String) -> Value {
    let letter = if trap.to == Privilege::Machine { 'm' } else { 's' };
    let delegation = if trap.cause.is_interrupt() { "mideleg" } else { "medeleg" };
    let machine = trap.to == Privilege::Machine;
    let (from, to) = (trap.from.letter(), trap.to.letter());
    let bit = trap.cause.code();
    let why = match (machine, trap.from) {
        (true, Privilege::Machine) => "a trap from M-mode stays there".to_owned(),
        (true, _) => format!("bit {bit} of {delegation} is 0, so that M-mode handles it"),
        (false, _) => format!("bit {bit} of {delegation} is 1, so that S-mode handles it"),
    };
    let title = |n: usize| TRAP_PHASES[n].split_once(' ').map_or("", |(_, title)| title);
    let vectored = after.tvec & 1 != 0;
    let jump = match (vectored, trap.cause.is_interrupt()) {
        (true, true) => format!("{letter}tvec is vectored: the handler is at BASE + 4 * {bit}"),
        (true, false) => format!("{letter}tvec is vectored, but only for interrupts: the handler is at BASE"),
        (false, _) => format!("{letter}tvec is direct: all traps go to BASE"),
    };
    let section = |of_machine: &'static str, of_supervisor: &'static str| {
        if machine { of_machine } else { of_supervisor }
    };
    Value::from(vec![
        step(1, title(0), "3.1.8", format!("The trap comes from {from}-mode; {why}."), Vec::new()),
        step(
            2,
            title(1),
            section("3.1.15", "10.1.8"),
            format!("{letter}cause tells the handler why: {}.", trap.cause),
            vec![change(format!("{letter}cause"), before.cause, after.cause, trap.cause.to_string())],
        ),
        step(
            3,
            title(2),
            section("3.1.14", "10.1.7"),
            match trap.cause.is_interrupt() {
                true => format!(
                    "{letter}epc receives the address of the next instruction: the handler returns to it."
                ),
                false => format!(
                    "{letter}epc receives the address of the instruction that trapped. It did not retire, so the \
                     handler decides where to continue: at this instruction again, or behind it."
                ),
            },
            vec![change(format!("{letter}epc"), before.epc, after.epc, place(after.epc))],
        ),
        step(
            4,
            title(3),
            section("3.1.16", "10.1.9"),
            match trap.tval {
                0 => format!("{letter}tval receives 0: this cause has no address."),
                _ => format!("{letter}tval receives the address or the instruction that caused the trap."),
            },
            vec![change(format!("{letter}tval"), before.tval, after.tval, place(trap.tval))],
        ),
        step(
            5,
            title(4),
            section("3.1.6.1", "10.1.1"),
            format!(
                "The interrupt enable moves to {to}PIE and the mode to {to}PP, for the return. Then interrupts of \
                 {to}-mode are disabled."
            ),
            status_changes(trap.to, before.status, after.status),
        ),
        step(
            6,
            title(5),
            "3.1.6.1",
            format!("From here on {to}-mode executes, with its registers and its view of memory."),
            vec![mode_change(trap.from, trap.to)],
        ),
        step(
            7,
            title(6),
            section("3.1.7", "10.1.2"),
            format!("{jump}."),
            vec![change("pc", before.pc, after.pc, place(after.pc))],
        ),
    ])
}

/// The steps of the return; `place` names an address.
fn returned(ret: &TrapReturn, before: &Moment, after: &Moment, place: impl Fn(u64) -> String) -> Value {
    let letter = if ret.from == Privilege::Machine { 'm' } else { 's' };
    let machine = ret.from == Privilege::Machine;
    let section = if machine { "3.1.6.1" } else { "10.1.1" };
    Value::from(vec![
        step(
            1,
            "restore the interrupt enable",
            section,
            format!("{letter}ret undoes what the trap stacked: the enable is as before the trap."),
            status_changes(ret.from, before.status, after.status),
        ),
        step(
            2,
            "return to the mode",
            section,
            format!("Execution continues in {}-mode.", ret.to.letter()),
            vec![mode_change(ret.from, ret.to)],
        ),
        step(
            3,
            "jump to the saved program counter",
            if machine { "3.1.14" } else { "10.1.7" },
            format!("The program counter receives the address in {letter}epc."),
            vec![change("pc", before.pc, after.pc, place(after.pc))],
        ),
    ])
}

/// Where phases begin, by the labels of a kernel.
fn marks(running: &Running) -> Vec<(u64, Phase)> {
    let of = |name: &str| {
        Phase::of_symbol(name).or_else(|| name.strip_prefix("phase_")?.split(['_', '.']).next()?.parse().ok())
    };
    let symbols = &running.loaded.elf.symbols;
    let mut marks: Vec<_> = symbols.iter().filter_map(|it| Some((it.address, of(&it.name)?))).collect();
    marks.sort_by_key(|mark| mark.0);
    marks
}

/// Cycles by cause of all phases together.
fn causes(running: &Running) -> Vec<u64> {
    let ledger = running.ledger().unwrap_or_default();
    Cause::ALL.iter().map(|&cause| ledger.of_cause(cause)).collect()
}

/// A part of a handler.
struct Part {
    phase: &'static str,
    from: u64,
    instructions: u64,
    cycles: u64,
    causes: Vec<u64>,
    loads: u64,
    stores: u64,
    listing: Vec<u64>,
}

/// The walk through one of the traps so far.
pub(crate) fn walk(running: &mut Running, index: u64) -> Answer {
    let noted = running.traps.so_far().find(|it| it.index == index).copied();
    let noted =
        noted.ok_or_else(|| Failure::request(format!("there was no trap {index}, or it is too long ago")))?;
    let (position, ended) = (running.position(), running.ended.clone());
    running.go_to(noted.trap.instret + index)?;
    let answer = take_apart(running, &noted);
    running.go_to(position)?;
    running.ended = ended;
    answer
}

fn take_apart(running: &mut Running, noted: &Noted) -> Answer {
    let trap = noted.trap;
    let has_core = running.cycles().is_some();
    let start = (running.cycles(), running.machine().instret());
    let before = Moment::of(running.machine(), trap.to);
    let at_fault = running.instruction(trap.epc).filter(|_| !trap.cause.is_interrupt());
    let mut steps = 0;
    while running.traps.count == noted.index {
        steps += 1;
        if matches!(running.observe(&mut Watch::default()), Step::Stopped(_)) || steps > MOST_STEPS {
            return Err(Failure::machine("the trap is not reached again"));
        }
    }
    let after = Moment::of(running.machine(), trap.to);
    let hardware_cycles = running.cycles().zip(start.0).map(|(now, then)| now - then);
    let marks = marks(running);
    let phase_at = |pc: u64| {
        let next = marks.partition_point(|mark| mark.0 <= pc);
        next.checked_sub(1).map_or("handler", |at| marks[at].1.name())
    };
    let mut parts: Vec<Part> = Vec::new();
    let (mut depth, mut nested) = (0u64, 0u64);
    let mut end = None;
    for _ in 0..MOST_STEPS {
        let pc = running.machine().pc();
        let was = Moment::of(running.machine(), trap.to);
        let (cycles, charged) = (running.cycles().unwrap_or_default(), causes(running));
        let mut watch = Watch::default();
        let stepped = running.observe(&mut watch);
        if matches!(stepped, Step::Stopped(_)) {
            break;
        }
        let phase = phase_at(pc);
        if parts.last().is_none_or(|part| part.phase != phase) {
            parts.push(Part {
                phase,
                from: pc,
                instructions: 0,
                cycles: 0,
                causes: vec![0; Cause::ALL.len()],
                loads: 0,
                stores: 0,
                listing: Vec::new(),
            });
        }
        if let Some(part) = parts.last_mut() {
            part.instructions += u64::from(stepped == Step::Retired);
            part.cycles += running.cycles().unwrap_or_default() - cycles;
            part.loads += watch.loads;
            part.stores += watch.stores;
            let now = causes(running);
            part.causes
                .iter_mut()
                .zip(now.iter().zip(&charged))
                .for_each(|(sum, (now, then))| *sum += now - then);
            if part.listing.len() < MOST_LISTED {
                part.listing.push(pc);
            }
        }
        if watch.trapped {
            depth += 1;
            nested += 1;
        }
        if let Some(ret) = watch.returned {
            if depth == 0 {
                end = Some((ret, was, Moment::of(running.machine(), trap.to)));
                break;
            }
            depth -= 1;
        }
    }
    let loaded = &running.loaded;
    let handler = parts.iter().map(|part| {
        let lost = Cause::ALL.iter().zip(&part.causes).filter(|(_, cycles)| **cycles > 0);
        let lines = part.listing.iter().map(|&pc| {
            let word = running.instruction(pc).map(|(_, word)| word);
            listed(running.machine().decoder(), &loaded.places, &loaded.executable, pc, word, false)
        });
        json!({
            "phase": phase_words(part.phase), "from": hex(part.from), "place": loaded.places.name(part.from),
            "instructions": part.instructions, "cycles": has_core.then_some(part.cycles),
            "causes": lost.map(|(cause, cycles)| {
                json!({ "cause": cause.name(), "about": about(cause.name()), "cycles": cycles })
            }).collect::<Value>(),
            "loads": part.loads, "stores": part.stores, "listing": lines.collect::<Value>(),
        })
    });
    let changed = end.as_ref().map(|(.., after)| {
        let differs = (0..32).filter(|&r| before.x[r] != after.x[r]);
        differs
            .map(|r| json!({ "name": X_NAMES[r], "before": hex(before.x[r]), "after": hex(after.x[r]) }))
            .collect::<Value>()
    });
    let line = loaded.executable.line(trap.epc);
    let place = |address| loaded.places.name(address);
    let to = end.as_ref().map(|(ret, ..)| ret.pc);
    let behind = to.and_then(|to| loaded.executable.line(to));
    Ok(json!({
        "trap": event(running, noted),
        "instruction": at_fault.map(|(insn, _)| text(&insn)).unwrap_or_default(),
        "file": line.as_ref().map(|line| &line.file), "line": line.as_ref().map(|line| line.line),
        "hardware": hardware(&trap, &before, &after, place),
        "hardwareCycles": hardware_cycles,
        "handler": handler.collect::<Value>(),
        "return": end.as_ref().map_or_else(|| json!([]), |(ret, was, is)| returned(ret, was, is, place)),
        "to": to.map(hex), "toPlace": to.map(place).unwrap_or_default(),
        "toFile": behind.as_ref().map(|line| &line.file), "toLine": behind.as_ref().map(|line| line.line),
        "cycles": running.cycles().zip(start.0).map(|(now, then)| now - then),
        "instructions": running.machine().instret() - start.1,
        "nested": nested, "changed": changed.unwrap_or_else(|| json!([])),
    }))
}
