//! Control and status registers with their fields by name. Sections are those of the privileged specification, version 20240411.

use serde_json::{Value, json};
use tollgate_riscv::Machine;
use tollgate_riscv::csr::name;

use crate::assemble::hex;

/// A field: its name, highest and lowest bit, and what it is for.
type Field = (&'static str, u32, u32, &'static str);

/// What is shown of a register: number, one line on it, and its fields.
struct About {
    number: u16,
    about: &'static str,
    fields: &'static [Field],
}

const STATUS: &[Field] = &[
    ("SD", 63, 63, "some state is dirty: FS is 3"),
    ("SXL", 35, 34, "register width of S-mode"),
    ("UXL", 33, 32, "register width of U-mode"),
    ("TSR", 22, 22, "sret traps in S-mode"),
    ("TW", 21, 21, "wfi traps below M-mode"),
    ("TVM", 20, 20, "satp and sfence.vma trap in S-mode"),
    ("MXR", 19, 19, "loads may read pages that may only be executed"),
    ("SUM", 18, 18, "S-mode may access pages of U-mode"),
    ("MPRV", 17, 17, "loads and stores are done as in MPP's mode"),
    ("FS", 14, 13, "state of the floating-point registers"),
    ("MPP", 12, 11, "mode before the trap to M-mode"),
    ("SPP", 8, 8, "mode before the trap to S-mode"),
    ("MPIE", 7, 7, "MIE before the trap to M-mode"),
    ("SPIE", 5, 5, "SIE before the trap to S-mode"),
    ("MIE", 3, 3, "interrupts are enabled in M-mode"),
    ("SIE", 1, 1, "interrupts are enabled in S-mode"),
];
const SSTATUS: &[Field] =
    &[STATUS[0], STATUS[2], STATUS[6], STATUS[7], STATUS[9], STATUS[11], STATUS[13], STATUS[15]];
const CAUSE: &[Field] =
    &[("Interrupt", 63, 63, "1 for an interrupt, 0 for an exception"), ("Code", 62, 0, "which one")];
const TVEC: &[Field] = &[
    ("BASE", 63, 2, "address of the handler, without its lowest two bits"),
    ("MODE", 1, 0, "where interrupts go"),
];
const INTERRUPTS: &[Field] = &[
    ("ME", 11, 11, "machine external"),
    ("SE", 9, 9, "supervisor external"),
    ("MT", 7, 7, "machine timer"),
    ("ST", 5, 5, "supervisor timer"),
    ("MS", 3, 3, "machine software"),
    ("SS", 1, 1, "supervisor software"),
];
const EXCEPTIONS: &[Field] = &[
    ("store page fault", 15, 15, ""),
    ("load page fault", 13, 13, ""),
    ("instruction page fault", 12, 12, ""),
    ("ecall from S-mode", 9, 9, ""),
    ("ecall from U-mode", 8, 8, ""),
    ("store access fault", 7, 7, ""),
    ("store misaligned", 6, 6, ""),
    ("load access fault", 5, 5, ""),
    ("load misaligned", 4, 4, ""),
    ("breakpoint", 3, 3, ""),
    ("illegal instruction", 2, 2, ""),
    ("instruction access fault", 1, 1, ""),
    ("instruction misaligned", 0, 0, ""),
];
const SATP: &[Field] = &[
    ("MODE", 63, 60, "the scheme of translation"),
    ("ASID", 59, 44, "address space identifier"),
    ("PPN", 43, 0, "page number of the root page table"),
];
const COUNTERS: &[Field] = &[("IR", 2, 2, "instret"), ("TM", 1, 1, "time"), ("CY", 0, 0, "cycle")];
const FCSR: &[Field] = &[
    ("frm", 7, 5, "rounding mode"),
    ("NV", 4, 4, "invalid operation"),
    ("DZ", 3, 3, "division by zero"),
    ("OF", 2, 2, "overflow"),
    ("UF", 1, 1, "underflow"),
    ("NX", 0, 0, "inexact"),
];

macro_rules! registers {
    ($($number:literal $about:literal $fields:expr;)*) => {
        &[$(About { number: $number, about: $about, fields: $fields }),*]
    };
}

/// The registers, in the order in which they are shown.
static REGISTERS: &[About] = registers! {
    0x300 "status of the hart and of the trap (3.1.6)" STATUS;
    0x305 "where traps to M-mode go (3.1.7)" TVEC;
    0x340 "a word for the handler in M-mode (3.1.13)" &[];
    0x341 "address of what trapped to M-mode (3.1.14)" &[];
    0x342 "why it trapped to M-mode (3.1.15)" CAUSE;
    0x343 "the faulting address or instruction (3.1.16)" &[];
    0x304 "interrupts that are enabled (3.1.9)" INTERRUPTS;
    0x344 "interrupts that are pending (3.1.9)" INTERRUPTS;
    0x302 "exceptions that S-mode handles (3.1.8)" EXCEPTIONS;
    0x303 "interrupts that S-mode handles (3.1.8)" INTERRUPTS;
    0x306 "counters that modes below may read (3.1.11)" COUNTERS;
    0x100 "the part of mstatus that S-mode sees (10.1.1)" SSTATUS;
    0x105 "where traps to S-mode go (10.1.2)" TVEC;
    0x140 "a word for the handler in S-mode (10.1.6)" &[];
    0x141 "address of what trapped to S-mode (10.1.7)" &[];
    0x142 "why it trapped to S-mode (10.1.8)" CAUSE;
    0x143 "the faulting address or instruction (10.1.9)" &[];
    0x104 "interrupts of S-mode that are enabled (10.1.3)" INTERRUPTS;
    0x144 "interrupts of S-mode that are pending (10.1.3)" INTERRUPTS;
    0x180 "address translation: scheme and root (10.1.11)" SATP;
    0x106 "counters that U-mode may read (10.1.5)" COUNTERS;
    0x14d "when the timer of S-mode interrupts (Sstc)" &[];
    0x003 "rounding mode and flags of floating point" FCSR;
    0xb00 "cycles, as the functional machine counts them: one for each instruction (3.1.10)" &[];
    0xb02 "instructions that retired (3.1.10)" &[];
    0xc01 "ticks of the timer" &[];
    0x301 "the instruction set (3.1.1)" &[];
    0xf14 "number of the hart (3.1.5)" &[];
    0x30a "what modes below may do (3.1.18)" &[];
    0x3a0 "physical memory protection: permissions of entries 0 to 7 (3.7)" &[];
    0x3b0 "physical memory protection: address of entry 0 (3.7)" &[];
};

/// One line on a register, if it is shown.
pub(crate) fn about(number: u16) -> &'static str {
    REGISTERS.iter().find(|it| it.number == number).map_or("", |it| it.about)
}

/// The values of the registers that the machine has, in the order of [`values`]' numbers.
pub(crate) fn values(machine: &Machine) -> Vec<(u16, u64)> {
    REGISTERS.iter().filter_map(|it| Some((it.number, machine.csr(it.number)?))).collect()
}

/// The registers with their fields; `before` has earlier values.
pub(crate) fn registers(machine: &Machine, before: &[(u16, u64)]) -> Value {
    let one = |it: &About| {
        let value = machine.csr(it.number)?;
        let mode = ["U", "S", "H", "M"][usize::from(it.number >> 8 & 3)];
        let old = before.iter().find(|(number, _)| *number == it.number).map_or(value, |(_, value)| *value);
        let fields = it.fields.iter().filter_map(|field| self::field(machine, it.number, field, value, old));
        Some(json!({
            "name": name(it.number), "number": format!("{:#05x}", it.number), "value": hex(value),
            "changed": value != old, "about": it.about, "mode": mode,
            "fields": fields.collect::<Value>(),
        }))
    };
    REGISTERS.iter().filter_map(one).collect()
}

fn field(machine: &Machine, number: u16, field: &Field, value: u64, old: u64) -> Option<Value> {
    let (name, high, low, about) = *field;
    let narrow = !machine.config().isa.is_rv64();
    // The highest bits of registers of 32 bits are elsewhere.
    let (high, low) = match (narrow, number, name) {
        (false, ..) => (high, low),
        (true, _, "SD" | "Interrupt") => (31, 31),
        (true, 0x180, "MODE") => (31, 31),
        (true, 0x180, "ASID") => (30, 22),
        (true, 0x180, "PPN") => (21, 0),
        (true, _, "SXL" | "UXL") => return None,
        (true, _, "Code") => (30, 0),
        (true, ..) => (high.min(31), low),
    };
    let of = |value: u64| value >> low & (u64::MAX >> (63 - (high - low)));
    let now = of(value);
    Some(json!({
        "name": name, "bits": [high, low], "value": hex(now), "meaning": meaning(number, name, now, value, narrow),
        "about": about, "changed": now != of(old),
    }))
}

/// What the value of a field means; empty for a plain number.
pub(crate) fn meaning(number: u16, name: &str, field: u64, whole: u64, narrow: bool) -> String {
    let interrupt = whole >> if narrow { 31 } else { 63 } & 1 != 0;
    let one_of = |names: &[&str]| names.get(field as usize).unwrap_or(&"reserved").to_string();
    match (number, name) {
        (_, "MPP") => one_of(&["U-mode", "S-mode", "reserved", "M-mode"]),
        (_, "SPP") => one_of(&["U-mode", "S-mode"]),
        (_, "FS") => one_of(&["off", "initial", "clean", "dirty"]),
        (_, "SXL" | "UXL") => one_of(&["", "32 bits", "64 bits", "128 bits"]),
        (0x180, "MODE") if narrow => one_of(&["Bare", "Sv32"]),
        (0x180, "MODE") => match field {
            0 => "Bare".into(),
            8 => "Sv39".into(),
            9 => "Sv48".into(),
            _ => "reserved".into(),
        },
        (0x180, "PPN") => format!("the root is at {:#x}", field << 12),
        (_, "MODE") => one_of(&["direct: all to BASE", "vectored: interrupts to BASE + 4 * code"]),
        (_, "BASE") => format!("{:#x}", field << 2),
        (_, "Interrupt") => one_of(&["exception", "interrupt"]),
        (_, "Code") => cause(field, interrupt).into(),
        (0x003, "frm") => one_of(&["nearest, even", "towards zero", "down", "up", "nearest, away"]),
        (0x302, _) => one_of(&["M-mode", "S-mode"]),
        (0x303, _) => one_of(&["M-mode", "S-mode"]),
        (0x344 | 0x144, _) => one_of(&["not pending", "pending"]),
        (0x304 | 0x104, _) => one_of(&["off", "on"]),
        (_, "MIE" | "SIE" | "MPIE" | "SPIE") => one_of(&["off", "on"]),
        _ => String::new(),
    }
}

/// The name of a cause (table 3.6).
pub(crate) fn cause(code: u64, interrupt: bool) -> &'static str {
    match (interrupt, code) {
        (true, 1) => "supervisor software interrupt",
        (true, 3) => "machine software interrupt",
        (true, 5) => "supervisor timer interrupt",
        (true, 7) => "machine timer interrupt",
        (true, 9) => "supervisor external interrupt",
        (true, 11) => "machine external interrupt",
        (false, 0) => "instruction address misaligned",
        (false, 1) => "instruction access fault",
        (false, 2) => "illegal instruction",
        (false, 3) => "breakpoint",
        (false, 4) => "load address misaligned",
        (false, 5) => "load access fault",
        (false, 6) => "store address misaligned",
        (false, 7) => "store access fault",
        (false, 8) => "environment call from U-mode",
        (false, 9) => "environment call from S-mode",
        (false, 11) => "environment call from M-mode",
        (false, 12) => "instruction page fault",
        (false, 13) => "load page fault",
        (false, 15) => "store page fault",
        _ => "reserved",
    }
}
