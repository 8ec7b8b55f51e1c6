//! Lines for each instruction, as Spike writes them: what ran, and for a commit trace what it changed.

use std::fmt::Write;

use tollgate_riscv::csr::name;
use tollgate_riscv::{
    Access, Extension, Isa, Observer, Op, Privilege, RegClass, Retired, Trap, TrapReturn, text,
};

/// The contents of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// Mode, address, bits, the registers written and the memory touched: Spike's `--log-commits`.
    Commit,
    /// Address, bits and assembly: Spike's `-l`.
    Disasm,
}

impl Trace {
    /// The names on a command line, with what each means.
    pub const NAMES: [(&'static str, Self, &'static str); 2] = [
        ("commit", Self::Commit, "Registers and memory written, one line for each instruction"),
        ("disasm", Self::Disasm, "Assembly"),
    ];
}

/// Which instructions and traps a trace has: all by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only in these modes; a trap belongs to the mode in which it was raised.
    pub modes: Vec<Privilege>,
    /// Only in the address spaces with this identifier, or with this whole value of `satp`.
    pub space: Option<u64>,
}

/// The longest identifier of an address space; where `satp` has it on RV64 and on RV32, from the lowest bit.
const LONGEST_ASID: u64 = 0xffff;
const ASID: [(u32, u64); 2] = [(44, 0xffff), (22, 0x1ff)];

/// Collects the lines of a trace until the caller takes them.
pub struct Tracer {
    filter: Filter,
    satp: u64,
    kind: Trace,
    lines: String,
    accesses: Vec<Access>,
    csrs: Vec<(u16, u64)>,
    digits: usize,
    /// Of a floating-point register.
    float_digits: usize,
}

impl Tracer {
    /// A tracer for a machine with this ISA.
    pub fn new(kind: Trace, isa: Isa) -> Self {
        let digits = if isa.is_rv64() { 16 } else { 8 };
        let float_digits = if isa.has(Extension::D) { 16 } else { 8 };
        Self {
            filter: Filter::default(),
            satp: 0,
            kind,
            lines: String::new(),
            accesses: Vec::new(),
            csrs: Vec::new(),
            digits,
            float_digits,
        }
    }

    /// Only what passes a filter.
    #[must_use]
    pub fn filtered(self, filter: Filter) -> Self {
        Self { filter, ..self }
    }

    fn passes(&self, mode: Privilege) -> bool {
        let Filter { modes, space } = &self.filter;
        let (shift, mask) = ASID[usize::from(self.digits < 16)];
        let here = |space: u64| match space {
            0..=LONGEST_ASID => self.satp >> shift & mask == space,
            _ => self.satp == space,
        };
        (modes.is_empty() || modes.contains(&mode)) && space.is_none_or(here)
    }

    /// The lines since the last time.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.lines)
    }
}

impl Observer for Tracer {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const CSR: bool = true;
    const WALK: bool = true;

    fn address_space(&mut self, satp: u64) {
        self.satp = satp;
    }

    fn access(&mut self, access: &Access) {
        self.accesses.push(*access);
    }

    fn csr(&mut self, number: u16, value: u64) {
        self.csrs.push((number, value));
    }

    fn retire(&mut self, retired: &Retired) {
        let accesses = std::mem::take(&mut self.accesses);
        let mut csrs = std::mem::take(&mut self.csrs);
        if !self.passes(retired.privilege) {
            return;
        }
        let width = self.digits;
        let insn = &retired.insn;
        let word_digits = if insn.len == 2 { 4 } else { 8 };
        let out = &mut self.lines;
        // Writing to a String cannot fail.
        let _ = match self.kind {
            Trace::Disasm => {
                writeln!(out, "core   0: 0x{:0width$x} (0x{:08x}) {}", retired.pc, retired.word, text(insn))
            }
            Trace::Commit => {
                let _ = write!(
                    out,
                    "core   0: {} 0x{:0width$x} (0x{:0word_digits$x})",
                    retired.privilege as u8, retired.pc, retired.word
                );
                // All registers in the order of their numbers, of whichever kind.
                csrs.sort_by_key(|&(number, _)| number);
                let (before, behind) = csrs.split_at(csrs.partition_point(|csr| csr.0 < insn.rd.into()));
                let write_csrs = |out: &mut String, csrs: &[(u16, u64)]| {
                    for &(number, value) in csrs {
                        let name = name(number).unwrap_or_default();
                        let _ = write!(out, " c{number}_{name} 0x{value:0width$x}");
                    }
                };
                write_csrs(out, before);
                let rd = insn.rd;
                let several = several(retired, &accesses);
                for (register, value) in &several {
                    let _ = write!(out, " x{register:<2} 0x{value:0width$x}");
                }
                let _ = match insn.row().format.rd() {
                    _ if !several.is_empty() => Ok(()),
                    RegClass::X if rd != 0 => write!(out, " x{rd:<2} 0x{:0width$x}", retired.value),
                    RegClass::F => {
                        let digits = self.float_digits;
                        let value = if digits == 16 { retired.value } else { retired.value & 0xffff_ffff };
                        write!(out, " f{rd:<2} 0x{value:0digits$x}")
                    }
                    _ => Ok(()),
                };
                write_csrs(out, behind);
                // Spike zeroes a block byte by byte.
                let step = if insn.op == Op::CboZero { 1 } else { 8 };
                for access in &accesses {
                    for offset in (0..access.size).step_by(step) {
                        let _ = write!(out, " mem 0x{:0width$x}", access.va + u64::from(offset));
                        if access.store {
                            let digits = usize::from(access.size).min(step) * 2;
                            let _ = write!(out, " 0x{:0digits$x}", access.value);
                        }
                    }
                }
                writeln!(out)
            }
        };
    }

    fn trap(&mut self, trap: &Trap) {
        self.accesses.clear();
        self.csrs.clear();
        if !self.passes(trap.from) {
            return;
        }
        let width = self.digits;
        let _ = writeln!(
            self.lines,
            "core   0: trap {}, epc 0x{:0width$x}, tval 0x{:0width$x}, from {} to {}",
            trap.cause,
            trap.epc,
            trap.tval,
            trap.from.letter(),
            trap.to.letter()
        );
    }
}

/// The registers that an instruction of Zcmp wrote, if it did write several.
fn several(retired: &Retired, accesses: &[Access]) -> Vec<(u8, u64)> {
    let insn = &retired.insn;
    match insn.op {
        Op::CmMva01s => vec![(10, retired.operands[0]), (11, retired.operands[1])],
        Op::CmMvsa01 => {
            let mut moved = vec![(insn.rd, retired.operands[0]), (insn.rs3, retired.operands[1])];
            moved.sort_unstable();
            moved
        }
        Op::CmPush | Op::CmPush32 => Vec::new(),
        _ => {
            // The last register is loaded first.
            let loaded = insn.registers().iter().rev().zip(accesses);
            let mut written: Vec<_> = loaded
                .map(|(register, access)| {
                    let value = if access.size == 4 { access.value as u32 as u64 } else { access.value };
                    (*register, value)
                })
                .collect();
            if !written.is_empty() {
                written.push((insn.rd, retired.value));
                written.extend(matches!(insn.op, Op::CmPopretz | Op::CmPopretz32).then_some((10, 0)));
                written.sort_unstable();
            }
            written
        }
    }
}

/// The trap at which a guest stopped to make progress: the first since an instruction retired.
#[derive(Default)]
pub(crate) struct FirstTrap {
    pub(crate) first: Option<Trap>,
    pub(crate) last: Option<Trap>,
    repeats: bool,
    /// How often the last trap came in a row, without a return from it.
    in_a_row: u64,
}

/// The same trap this often in a row, from within its own handler, is one that repeats for ever.
const MANY: u64 = 10_000;

impl FirstTrap {
    /// The first of traps that repeat for ever: the last trap led to the same again, and nothing retired in between. (The
    /// machine's time does not advance then, so that no interrupt ends it.)
    pub(crate) fn endless(&self, instret: u64) -> Option<Trap> {
        self.first.filter(|first| self.repeats && first.instret == instret)
    }

    /// A trap that came so often in a row that it repeats for ever, if its handler is what raises it.
    pub(crate) fn in_a_row(&self) -> Option<Trap> {
        self.last.filter(|_| self.in_a_row >= MANY)
    }
}

impl Observer for FirstTrap {
    const TRAP: bool = true;

    fn trap(&mut self, trap: &Trap) {
        if self.first.is_none_or(|first| first.instret != trap.instret) {
            (self.first, self.repeats) = (Some(*trap), false);
        } else {
            self.repeats |= self.last == Some(*trap);
        }
        let is_same =
            |last: &Trap| (last.cause, last.epc, last.handler) == (trap.cause, trap.epc, trap.handler);
        self.in_a_row = if self.last.as_ref().is_some_and(is_same) { self.in_a_row + 1 } else { 0 };
        self.last = Some(*trap);
    }

    fn trap_return(&mut self, _: &TrapReturn) {
        self.in_a_row = 0;
    }
}
