//! Random vector programs: every row of the table with every SEW, LMUL, mask, length and `vstart`, and accesses that trap in the
//! middle.
//!
//! A program ends with a record in memory: registers and control and status registers after every few instructions, a digest
//! of all traps in each of them, and at last the memory that it used.
#![allow(dead_code)]

use super::{Asm, Rng};
use tollgate_riscv::{Class, Format, INSTRUCTIONS, Insn, Isa, Op, Operands, RegClass, Row};

pub(crate) const BASE: u64 = 0x8000_0000;
/// RAM ends here, and an access behind it traps.
pub(crate) const RAM: u64 = 0x40_0000;
const DATA: u64 = 0x10_0000;
/// Accesses are near this place, or near the end of RAM.
const MIDDLE: u64 = DATA + 0x1000;
const DATA_END: u64 = DATA + 0x2000;
/// Small multiples of 8, in elements of each width.
const INDICES: u64 = DATA + 0x2000;
const INITIAL: u64 = DATA + 0x3000;
const INITIAL_END: u64 = INITIAL + 0x3000;
const TOHOST: u64 = 0x18_0000;
/// Where the record begins.
const RECORD: u64 = 0x20_0000;
const RECORD_MOST: u64 = 0x1e_0000;

const MTVEC: i64 = 0x305;
const MSTATUS: i64 = 0x300;
const MEPC: i64 = 0x341;
const MCAUSE: i64 = 0x342;
const MTVAL: i64 = 0x343;
const FCSR: i64 = 3;
const VSTART: i64 = 8;
const VCSR: i64 = 15;
const VL: i64 = 0xc20;
const VTYPE: i64 = 0xc21;
const VLENB: i64 = 0xc22;

/// Where the record of a program is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Output {
    /// To the standard output of Spike, by its host interface.
    Host,
    /// To the serial port of QEMU's machine `virt`.
    Serial,
}

/// What a program may contain.
pub(crate) struct Plan {
    pub(crate) isa: Isa,
    pub(crate) output: Output,
    /// How many vector instructions, and after how many each state is recorded.
    pub(crate) length: usize,
    pub(crate) every: usize,
    /// Instructions that are illegal in some implementations only: arithmetic with `vstart`, and registers of overlapping groups.
    pub(crate) reserved: bool,
    /// Parts of the names of instructions that it does not contain.
    pub(crate) avoided: &'static [&'static str],
}

pub(crate) struct Program {
    pub(crate) elf: Vec<u8>,
    /// The record is here, with as many bytes.
    pub(crate) record: (u64, usize),
    /// The size of the state that is recorded at a time.
    pub(crate) state: usize,
    /// The instructions before each state is recorded.
    pub(crate) words: Vec<Vec<u32>>,
}

/// A random program.
pub(crate) fn program(plan: &Plan, rng: &mut Rng) -> Program {
    let vlenb = plan.isa.vlen().expect("vectors") as usize / 8;
    let state = 32 * vlenb + 12 * 8;
    let mut a = Asm::default();
    // x30 is the base, x31 where the next state is recorded.
    a.op(Op::Auipc, 30, 0, 0, 0).op(Op::Addi, 5, 30, 0, 0x200).csrw(MTVEC, 5);
    a.li(5, 0x6600 | 0x1800).csrw(MSTATUS, 5);
    far(&mut a, 31, RECORD);
    far(&mut a, 5, INITIAL);
    for r in 0..12 {
        a.op(Op::Fld, r, 5, 0, 8 * i64::from(r));
    }
    for r in 12..20 {
        a.op(Op::Ld, r, 5, 0, 0x100 + 8 * i64::from(r));
    }
    a.op(Op::Addi, 20, 0, 0, 1);
    registers_from(&mut a, INITIAL + 0x400);
    a.op(Op::Jal, 0, 0, 0, 0x400 - a.here() as i64);
    assert!(a.here() <= 0x200);
    a.0.resize(0x200, 0);
    handler(&mut a);
    assert!(a.here() <= 0x300);
    a.0.resize(0x300, 0);
    record_state(&mut a);
    assert!(a.here() <= 0x400);
    a.0.resize(0x400, 0);

    let is_avoided = |row: &Row| plan.avoided.iter().any(|part| row.mnemonic.contains(part));
    let rows: Vec<&Row> = INSTRUCTIONS
        .iter()
        .filter(|row| is_vector(row) && row.in_isa(&plan.isa) && !is_avoided(row))
        .collect();
    let mut words = Vec::new();
    for first in (0..plan.length).step_by(plan.every) {
        let from = a.here() as usize;
        for _ in first..plan.length.min(first + plan.every) {
            instruction(&mut a, plan, rng, &rows);
        }
        words.push(
            a.0[from..].chunks(4).map(|w| u32::from_le_bytes(w.try_into().expect("four bytes"))).collect(),
        );
        a.op(Op::Jal, 1, 0, 0, 0x300 - a.here() as i64);
        if rng.below(2) == 0 {
            registers_from(&mut a, INITIAL + (rng.below(0x1800) & !7));
        }
    }
    // Memory that stores may have changed.
    for (from, bytes) in [(DATA, DATA_END - DATA), (RAM - 0x400, 0x400)] {
        far(&mut a, 5, from);
        far(&mut a, 6, from + bytes);
        a.op(Op::Ld, 7, 5, 0, 0).op(Op::Sd, 0, 31, 7, 0).op(Op::Addi, 5, 5, 0, 8).op(Op::Addi, 31, 31, 0, 8);
        a.op(Op::Bne, 0, 5, 6, -16);
    }
    let size = words.len() * state + (DATA_END - DATA) as usize + 0x400;
    assert!(size < RECORD_MOST as usize, "the record is too long");
    finish(&mut a, plan.output, size);
    assert!(a.here() <= DATA, "the program is too long");

    a.0.resize(DATA as usize, 0);
    a.0.extend((DATA..DATA_END).map(|_| rng.next() as u8));
    for size in [1, 2, 4, 8] {
        for _ in 0..1024 / size {
            let index = rng.below(if size == 1 { 32 } else { 128 }) * 8;
            a.0.extend(&index.to_le_bytes()[..size]);
        }
    }
    a.0.resize(INITIAL as usize, 0);
    while (a.here()) < INITIAL_END {
        let value = rng.value();
        match rng.below(4) {
            0 => a.0.extend(value.to_le_bytes()),
            1 => a.0.extend((0..2).flat_map(|_| (rng.value() as u32).to_le_bytes())),
            2 => a.0.extend((0..4).flat_map(|_| (half(rng)).to_le_bytes())),
            _ => a.0.extend((0..8).map(|_| rng.pick(&[0, 1, 0x7f, 0x80, 0xff, value as u8, rng.0 as u8]))),
        };
    }
    Program { elf: with_tohost(super::elf(true, BASE, &a.0)), record: (BASE + RECORD, size), state, words }
}

fn is_vector(row: &Row) -> bool {
    matches!(row.class, Class::Vector | Class::VectorLoad | Class::VectorStore)
        || matches!(row.op, Op::Vsetvl | Op::Vsetvli | Op::Vsetivli)
}

/// A number of half precision, or anything.
fn half(rng: &mut Rng) -> u16 {
    let any = rng.next() as u16;
    match rng.below(4) {
        0 => any & 0x8fff | 0x3000,
        1 => any & 0x83ff,
        _ => any,
    }
}

/// An address of the program into a register.
fn far(a: &mut Asm, rd: u8, offset: u64) {
    a.li(rd, offset as i32).op(Op::Add, rd, rd, 30, 0);
}

/// All vector registers from memory.
fn registers_from(a: &mut Asm, offset: u64) {
    far(a, 5, offset);
    a.csrr(6, VLENB).op(Op::Slli, 6, 6, 0, 3);
    for group in [0, 8, 16, 24] {
        a.op(Op::Vl8re8V, group, 5, 0, 1).op(Op::Add, 5, 5, 6, 0);
    }
}

/// Mixes cause, address and value of the trap, and where the vector instruction stopped, into the digest; skips the instruction.
fn handler(a: &mut Asm) {
    for csr in [MCAUSE, MEPC, MTVAL, VSTART, VL, VTYPE] {
        a.csrr(21, csr).op(Op::Slli, 22, 20, 0, 2).op(Op::Add, 20, 20, 22, 0).op(Op::Xor, 20, 20, 21, 0);
    }
    a.csrr(21, MEPC).op(Op::Addi, 21, 21, 0, 4).csrw(MEPC, 21).csrw(VSTART, 0).op(Op::Mret, 0, 0, 0, 0);
}

fn record_state(a: &mut Asm) {
    for csr in [VL, VTYPE, VCSR, FCSR, VSTART] {
        a.csrr(5, csr).op(Op::Sd, 0, 31, 5, 0).op(Op::Addi, 31, 31, 0, 8);
    }
    for r in 16..21 {
        a.op(Op::Sd, 0, 31, r, 8 * (i64::from(r) - 16));
    }
    a.op(Op::Fsd, 0, 31, 8, 40).op(Op::Fsd, 0, 31, 9, 48).op(Op::Addi, 31, 31, 0, 56);
    a.csrw(VSTART, 0).csrr(6, VLENB).op(Op::Slli, 6, 6, 0, 3);
    for group in [0, 8, 16, 24] {
        a.op(Op::Vs8rV, group, 31, 0, 1).op(Op::Add, 31, 31, 6, 0);
    }
    a.op(Op::Jalr, 0, 1, 0, 0);
}

fn finish(a: &mut Asm, output: Output, size: usize) {
    far(a, 5, RECORD);
    match output {
        Output::Serial => {
            a.li(6, size as i32).op(Op::Add, 6, 6, 5, 0).op(Op::Lui, 9, 0, 0, 0x1000_0000);
            a.op(Op::Lbu, 10, 5, 0, 0).op(Op::Sb, 0, 9, 10, 0).op(Op::Addi, 5, 5, 0, 1).op(
                Op::Bne,
                0,
                5,
                6,
                -12,
            );
            a.op(Op::Lui, 5, 0, 0, 0x10_0000).li(6, 0x5555).op(Op::Sw, 0, 5, 6, 0);
        }
        Output::Host => {
            // `write(1, record, size)`, then the end.
            far(a, 7, TOHOST);
            a.op(Op::Addi, 8, 0, 0, 64).op(Op::Sd, 0, 7, 8, 0x100).op(Op::Addi, 8, 0, 0, 1);
            a.op(Op::Sd, 0, 7, 8, 0x108).op(Op::Sd, 0, 7, 5, 0x110).li(8, size as i32).op(
                Op::Sd,
                0,
                7,
                8,
                0x118,
            );
            a.op(Op::Addi, 8, 7, 0, 0x100).op(Op::Fence, 0, 0, 0, 0xff).op(Op::Sd, 0, 7, 8, 0);
            a.op(Op::Ld, 8, 7, 0, 0x40).op(Op::Beq, 0, 8, 0, -4);
            a.op(Op::Addi, 8, 0, 0, 1).op(Op::Sd, 0, 7, 8, 0);
        }
    }
    a.op(Op::Jal, 0, 0, 0, 0);
}

/// A program with the symbols by which Spike finds its host interface.
fn with_tohost(mut elf: Vec<u8>) -> Vec<u8> {
    let names = b"\0tohost\0fromhost\0.strtab\0.symtab\0";
    let (text, symbols) = (elf.len(), elf.len() + names.len().next_multiple_of(8));
    elf.extend(names);
    elf.resize(symbols, 0);
    elf.extend([0; 24]);
    for (name, at) in [(1_u32, TOHOST), (8, TOHOST + 0x40)] {
        elf.extend(name.to_le_bytes());
        // A global object of an absolute address.
        elf.extend([0x11, 0, 0xf1, 0xff]);
        elf.extend((BASE + at).to_le_bytes());
        elf.extend(8_u64.to_le_bytes());
    }
    let headers = elf.len() as u64;
    // Nothing, the names, the symbols.
    elf.extend([0; 64]);
    for (name, kind, at, size, link, entry) in
        [(17_u32, 3_u32, text, names.len(), 0_u32, 0_u64), (25, 2, symbols, 72, 1, 24)]
    {
        elf.extend(name.to_le_bytes());
        elf.extend(kind.to_le_bytes());
        elf.extend([0; 16]);
        elf.extend((at as u64).to_le_bytes());
        elf.extend((size as u64).to_le_bytes());
        elf.extend(link.to_le_bytes());
        elf.extend(1_u32.to_le_bytes());
        elf.extend(8_u64.to_le_bytes());
        elf.extend(entry.to_le_bytes());
    }
    elf[0x28..0x30].copy_from_slice(&headers.to_le_bytes());
    elf[0x3c..0x40].copy_from_slice(&[3, 0, 1, 0]);
    elf
}

/// One random vector instruction, after what sets type, length and operands.
fn instruction(a: &mut Asm, plan: &Plan, rng: &mut Rng, rows: &[&Row]) {
    let row = rng.pick(rows);
    let memory = row.class != Class::Vector;
    if rng.below(8) == 0 {
        let (csr, value) =
            rng.pick(&[(2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (2, 5), (10, 0), (10, 1), (10, 2), (10, 3)]);
        // A reserved rounding mode makes all of floating point illegal; so it is set for one instruction in a while.
        let value = if value == 5 && rng.below(8) != 0 { 0 } else { value };
        a.op(Op::Csrrwi, 0, value, 0, csr);
    }
    if rng.below(8) == 0 {
        a.csrw(rng.pick(&[1, 9]), 0);
    }
    if rng.below(8) == 0 {
        far(a, 5, INITIAL + (rng.below(0x2000) & !7));
        a.op(Op::Ld, 12 + rng.below(4) as u8, 5, 0, 0).op(Op::Fld, rng.below(8) as u8, 5, 0, 8);
    }
    // Type and length.
    let sew = rng.below(4) as i64;
    let lmul = loop {
        let lmul = rng.below(7) as i64 - 3;
        if sew <= 3 + lmul.min(0) || rng.below(40) == 0 {
            break lmul;
        }
    };
    let vlmax = (plan.isa.vlen().expect("vectors") as i64 / 8) << (lmul + 3) >> 3 >> sew;
    let avl = match rng.below(8) {
        0 => 0,
        1 => 1,
        2 | 3 => 4096,
        4 => vlmax - 1,
        _ => rng.below(vlmax as u64 + 2) as i64,
    };
    let vtype = lmul & 7 | sew << 3 | (rng.below(4) as i64) << 6 | i64::from(rng.below(200) == 0) << 8;
    a.li(5, avl as i32);
    let set = Operands { rd: 16, rs1: 5, rs2: vtype as u8 & 31, imm: vtype >> 5, ..Operands::default() };
    a.word(Insn::encode(Op::Vsetvli, set));

    // Registers that can mostly begin a group.
    let group = if rng.below(8) == 0 { 1 } else { 1 << (lmul + 1).clamp(0, 3) };
    let register = |rng: &mut Rng| rng.below(32) as u8 / group * group;
    let (rd, mut rs1, rs2) = (register(rng), register(rng), register(rng));
    let random = rng.next();
    let maskable = row.format.mask() & 1 << 25 == 0;
    let mut imm = if maskable && random & 1 == 0 { 0 } else { 1 };
    let mut operands = Operands { rd, rs2, ..Operands::default() };
    if row.format.rs1() == RegClass::X {
        rs1 = rng.pick(&[0, 12, 13, 14, 15, 14]);
    } else if row.format.rs1() == RegClass::F {
        rs1 = rng.below(8) as u8;
    } else if rng.below(2) == 0 && row.mnemonic.ends_with('i') {
        rs1 = rng.below(32) as u8;
    }
    match row.format.rd() {
        RegClass::X => operands.rd = 16 + rng.below(4) as u8,
        RegClass::F => operands.rd = 8 + rng.below(2) as u8,
        RegClass::None => {}
    }
    if memory && row.class != Class::System {
        rs1 = 10;
        if row.format.mask() >> 29 == 0 && rng.below(2) == 0 {
            // A number of fields, which mostly fit.
            let most = if lmul > 0 && rng.below(4) != 0 { 8 >> lmul } else { 8 };
            imm |= (rng.below(most) as i64) << 4;
        }
        // Of a misaligned access where there is no RAM, QEMU says that another address failed.
        let at_end = rng.below(5) == 0;
        let aligned = rng.below(4) != 0 || at_end && plan.output == Output::Serial;
        let offset = rng.below(0x200) & if aligned { !7 } else { !0 };
        far(a, 10, if at_end { RAM - 0x200 } else { MIDDLE - 0x100 } + offset);
        if row.format == Format::Strided {
            operands.rs2 = 11;
            a.li(
                11,
                rng.pick(&[0, 8, -8, 16, 24, 0x40, -0x10])
                    + if aligned { 0 } else { rng.pick(&[0, 1, 2, 4]) },
            );
        }
        if row.format == Format::Indexed && (plan.output == Output::Serial || rng.below(8) != 0) {
            let width =
                [0, 5, 6, 7].iter().position(|bits| row.bits >> 12 & 7 == *bits).expect("a width") as u64;
            far(a, 5, INDICES + 0x400 * width);
            a.op(Op::Vl8re8V, rs2 & !7, 5, 0, 1);
        }
    }
    let starts = if memory && row.class != Class::System {
        4
    } else if plan.reserved {
        50
    } else {
        u64::MAX
    };
    if rng.below(starts) == 0 {
        a.li(5, rng.below(vlmax as u64 + 1) as i32).csrw(VSTART, 5);
    }
    match row.op {
        Op::Vsetvl => {
            a.li(5, (vtype ^ rng.pick(&[0, 0, 8, 1, 0x200])) as i32);
            operands.rs2 = 5;
        }
        Op::Vsetvli => {
            let vtype = vtype ^ rng.pick(&[0, 8, 1, 0x80]);
            (operands.rs2, imm) = (vtype as u8 & 31, vtype >> 5);
        }
        Op::Vsetivli => {
            (operands.rs2, imm) = (vtype as u8 & 31, vtype >> 5);
            rs1 = random as u8 >> 3;
        }
        _ => {}
    }
    if plan.reserved && matches!(row.op, Op::Vsetvl | Op::Vsetvli) && rng.below(2) == 0 {
        (operands.rd, rs1) = (0, 0);
    } else if matches!(row.op, Op::Vsetvl | Op::Vsetvli) && rs1 == 0 && operands.rd == 0 {
        operands.rd = 17;
    }
    imm |= if row.op == Op::VrorVi { random as i64 & 2 } else { 0 };
    a.word(Insn::encode(row.op, Operands { rs1, imm, ..operands }));
    if plan.output == Output::Serial {
        // QEMU 7.2 leaves `vstart` as it is if there is nothing to do.
        a.csrw(VSTART, 0);
    }
}

/// Bytes as a number: FNV-1a.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
