//! Random programs whose end state says what every instruction did.
//!
//! A program sets up a trap handler, registers and perhaps translation, runs a random body three times, stores
//! the registers, and writes a piece of memory that holds data, registers and a digest of all traps to the
//! serial port. Any machine that implements the same architecture writes the same bytes.
#![allow(dead_code)]

use super::{Asm, Rng};
use tollgate_riscv::{Class, Decoder, INSTRUCTIONS, Insn, Isa, Op, Operands, RegClass};

/// What the program runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Machine,
    Sv32,
    Sv39,
    Sv48,
}

pub(crate) const BASE: u64 = 0x8000_0000;
const DATA: u64 = 0x1_0000;
const MIDDLE: u64 = DATA + 0x1000;
const INITIAL: u64 = DATA + 0x2000;
const DIGEST: u64 = DATA + 0x2800;
const REGISTERS: u64 = DATA + 0x3000;
const DUMP_END: u64 = DATA + 0x3400;
const TABLES: u64 = DATA + 0x4000;
const IMAGE: u64 = 0x1_8000;

/// Registers that the body must leave alone: pointers to the data (2, 8 and 31), the loop counter (29), and the
/// trap handler's (28, 30).
const RESERVED: [u8; 6] = [2, 8, 28, 29, 30, 31];
const POINTERS: [u8; 3] = [2, 8, 31];

const MSTATUS: i64 = 0x300;
const MTVEC: i64 = 0x305;
const MEPC: i64 = 0x341;
const MCAUSE: i64 = 0x342;
const MTVAL: i64 = 0x343;
const SATP: i64 = 0x180;

enum Item {
    Bytes(Vec<u8>),
    /// A branch or `jal` over the next items.
    Jump {
        op: Op,
        rd: u8,
        rs1: u8,
        rs2: u8,
        over: usize,
    },
    /// `auipc` and `jalr` over the next items.
    Indirect {
        rd: u8,
        over: usize,
    },
}

impl Item {
    fn size(&self) -> u64 {
        match self {
            Item::Bytes(b) => b.len() as u64,
            Item::Jump { .. } => 4,
            Item::Indirect { .. } => 8,
        }
    }
}

/// A random program as the image of memory from [`BASE`].
pub(crate) fn program(rng: &mut Rng, isa: Isa, mode: Mode, length: usize) -> Vec<u8> {
    program_without(&[], rng, isa, mode, length)
}

/// The same without some instructions.
pub(crate) fn program_without(avoided: &[Op], rng: &mut Rng, isa: Isa, mode: Mode, length: usize) -> Vec<u8> {
    let rv64 = isa.is_rv64();
    let (load, store, word) = if rv64 { (Op::Ld, Op::Sd, 8) } else { (Op::Lw, Op::Sw, 4) };
    let mut a = Asm::default();
    // The handler comes after the set-up; its address is filled in by auipc and a fixed distance.
    let set_up_len = 0x400;
    a.op(Op::Auipc, 5, 0, 0, 0).op(Op::Addi, 5, 5, 0, set_up_len).csrw(MTVEC, 5);
    // FS dirty; MPP supervisor for the modes with translation.
    a.li(5, 0x6000 | if mode == Mode::Machine { 0x1800 } else { 0x0800 }).csrw(MSTATUS, 5);
    if mode != Mode::Machine {
        a.op(Op::Auipc, 5, 0, 0, 0);
        let here = a.here() - 4;
        a.li(6, (TABLES - here) as i32).op(Op::Add, 5, 5, 6, 0);
        // satp: mode and page number.
        a.op(if rv64 { Op::Slli } else { Op::Slli32 }, 5, 5, 0, if rv64 { 32 } else { 0 });
        a.op(if rv64 { Op::Srli } else { Op::Srli32 }, 5, 5, 0, if rv64 { 44 } else { 12 });
        a.op(
            Op::Addi,
            6,
            0,
            0,
            match mode {
                Mode::Sv39 => 8,
                Mode::Sv48 => 9,
                _ => 1,
            },
        );
        a.op(if rv64 { Op::Slli } else { Op::Slli32 }, 6, 6, 0, if rv64 { 60 } else { 31 });
        a.op(Op::Or, 5, 5, 6, 0).csrw(SATP, 5).op(Op::SfenceVma, 0, 0, 0, 0);
        // The whole of memory for S-mode, which QEMU forbids at reset: pmpaddr0 and pmpcfg0.
        a.op(Op::Addi, 5, 0, 0, -1).csrw(0x3b0, 5).op(Op::Addi, 5, 0, 0, 0x1f).csrw(0x3a0, 5);
    }
    a.op(Op::Auipc, 31, 0, 0, 0);
    let here = a.here() - 4;
    a.li(30, (MIDDLE - here) as i32).op(Op::Add, 31, 31, 30, 0);
    a.op(Op::Lui, 30, 0, 0, (INITIAL - MIDDLE) as i64).op(Op::Add, 30, 30, 31, 0);
    for r in 1..28 {
        if !POINTERS.contains(&r) {
            a.op(load, r, 30, 0, i64::from(r) * word);
        }
    }
    for r in 0..32 {
        a.op(Op::Fld, r, 30, 0, 256 + i64::from(r) * 8);
    }
    a.op(Op::Addi, 2, 31, 0, 0).op(Op::Addi, 8, 31, 0, 0).op(Op::Addi, 29, 0, 0, 3);
    // Into the body, in its mode.
    a.op(Op::Auipc, 30, 0, 0, 0);
    let here = a.here() - 4;
    a.op(Op::Addi, 30, 30, 0, 0x500 - here as i64).csrw(MEPC, 30).op(Op::Mret, 0, 0, 0, 0);
    assert!(a.here() <= set_up_len as u64);
    a.0.resize(set_up_len as usize, 0);
    handler(&mut a, load, store, word);
    assert!(a.here() <= 0x500);
    a.0.resize(0x500, 0);
    let body = body(rng, isa, length, avoided);
    a.0.extend(layout(&body));
    // Three times.
    a.op(Op::Addi, 29, 29, 0, -1);
    let back = 0x500i64 - a.here() as i64 - 4;
    a.op(Op::Beq, 0, 29, 0, 8).op(Op::Jal, 0, 0, 0, back);
    finish(&mut a, store, word);
    assert!(a.here() <= DATA, "the body is too long");
    a.0.resize(DATA as usize, 0);
    a.0.extend((DATA..INITIAL).map(|_| rng.next() as u8));
    for _ in 0..64 {
        a.0.extend(rng.value().to_le_bytes());
    }
    a.0.resize(TABLES as usize, 0);
    a.0.extend(tables(mode));
    a.0.resize(IMAGE as usize, 0);
    a.0
}

/// Mixes cause, address and value of the trap into the digest, and skips the instruction.
fn handler(a: &mut Asm, load: Op, store: Op, word: i64) {
    // M-mode sees memory untranslated, at the same addresses. x31 points to the middle of the data.
    let digest = (DIGEST - MIDDLE) as i64;
    a.op(Op::Lui, 30, 0, 0, 0x2000).op(Op::Add, 30, 30, 31, 0);
    let at = digest - 0x2000;
    a.op(load, 28, 30, 0, at);
    for csr in [MCAUSE, MEPC, MTVAL] {
        if csr == MTVAL {
            // For a breakpoint the specification leaves the choice between the address and zero.
            a.csrr(30, MCAUSE).op(Op::Addi, 30, 30, 0, -3).op(Op::Bne, 0, 30, 0, 8);
            a.csrw(MTVAL, 0);
            a.op(Op::Lui, 30, 0, 0, 0x2000).op(Op::Add, 30, 30, 31, 0);
        }
        // digest = (digest * 5) ^ csr, in two registers: shift, add, exclusive or.
        a.op(store, 0, 30, 28, at);
        a.op(Op::Slli, 28, 28, 0, 2).op(load, 30, 30, 0, at).op(Op::Add, 28, 28, 30, 0);
        a.csrr(30, csr).op(Op::Xor, 28, 28, 30, 0);
        a.op(Op::Lui, 30, 0, 0, 0x2000).op(Op::Add, 30, 30, 31, 0);
    }
    a.op(store, 0, 30, 28, at);
    a.op(load, 28, 30, 0, at + word).op(Op::Addi, 28, 28, 0, 1).op(store, 0, 30, 28, at + word);
    // Two bytes or four?
    a.csrr(30, MEPC).op(Op::Lhu, 28, 30, 0, 0).op(Op::Andi, 28, 28, 0, 3).op(Op::Addi, 28, 28, 0, -3);
    a.op(Op::Addi, 30, 30, 0, 2).op(Op::Bne, 0, 28, 0, 8).op(Op::Addi, 30, 30, 0, 2);
    a.csrw(MEPC, 30).op(Op::Mret, 0, 0, 0, 0);
}

/// Stores the registers, sends the dump and ends the run.
fn finish(a: &mut Asm, store: Op, word: i64) {
    a.op(Op::Lui, 30, 0, 0, 0x2000).op(Op::Add, 30, 30, 31, 0);
    for r in 1..28 {
        a.op(store, 0, 30, r, i64::from(r) * word);
    }
    for r in 0..32 {
        a.op(Op::Fsd, 0, 30, r, 0x100 + i64::from(r) * 8);
    }
    a.csrr(5, 3).op(store, 0, 30, 5, 0x200);
    a.op(Op::Lui, 5, 0, 0, 0x1000).op(Op::Sub, 6, 31, 5, 0);
    a.op(Op::Addi, 7, 30, 0, (DUMP_END - REGISTERS) as i64);
    a.op(Op::Lui, 9, 0, 0, 0x1000_0000);
    a.op(Op::Lbu, 10, 6, 0, 0).op(Op::Sb, 0, 9, 10, 0).op(Op::Addi, 6, 6, 0, 1).op(Op::Bne, 0, 6, 7, -12);
    a.op(Op::Lui, 5, 0, 0, 0x10_0000).li(6, 0x5555).op(Op::Sw, 0, 5, 6, 0).op(Op::Jal, 0, 0, 0, 0);
}

/// Page tables that map every address that the program uses to itself, in large pages.
fn tables(mode: Mode) -> Vec<u8> {
    const LEAF: u64 = 0xcf;
    let page = (BASE + TABLES) >> 12;
    match mode {
        Mode::Machine => Vec::new(),
        // 4 MiB pages.
        Mode::Sv32 => (0..1024u32).flat_map(|i| (i << 20 | LEAF as u32).to_le_bytes()).collect(),
        // 1 GiB pages.
        Mode::Sv39 => (0..4u64).flat_map(|i| (i << 28 | LEAF).to_le_bytes()).collect(),
        Mode::Sv48 => {
            let mut t = ((page + 1) << 10 | 1).to_le_bytes().to_vec();
            t.resize(4096, 0);
            t.extend((0..4u64).flat_map(|i| (i << 28 | LEAF).to_le_bytes()));
            t
        }
    }
}

fn body(rng: &mut Rng, isa: Isa, length: usize, avoided: &[Op]) -> Vec<Item> {
    let decoder = Decoder::new(isa);
    let rows: Vec<_> = INSTRUCTIONS.iter().filter(|r| r.in_isa(&isa) && !avoided.contains(&r.op)).collect();
    let mut items = Vec::new();
    while items.len() < length {
        if rng.below(4) == 0 {
            // A 16-bit encoding.
            let half = rng.next() as u16;
            if half & 3 != 3
                && let Some(insn) = decoder.decode(u32::from(half))
                && harmless(&insn)
            {
                items.push(Item::Bytes(half.to_le_bytes().to_vec()));
            }
            continue;
        }
        let row = rng.pick(&rows);
        let over = 1 + rng.below(6) as usize;
        let any = |rng: &mut Rng| rng.below(32) as u8;
        let rd = loop {
            let r = any(rng);
            if !RESERVED.contains(&r) || row.format.rd() == RegClass::F {
                break r;
            }
        };
        let (rs1, rs2, rs3) = (any(rng), any(rng), any(rng));
        let rm = rng.pick(&[0, 0, 1, 2, 3, 4, 7, 7, 7, 5]);
        let imm = (rng.next() as i64) >> 52;
        let operands = Operands { rd, rs1, rs2, rs3, rm, imm };
        let bytes = |w: u32| Item::Bytes(w.to_le_bytes().to_vec());
        items.push(match row.class {
            Class::Branch | Class::Jump => Item::Jump { op: row.op, rd, rs1, rs2, over },
            Class::JumpReg => Item::Indirect { rd, over },
            Class::Load | Class::Store | Class::FpLoad | Class::FpStore => {
                bytes(Insn::encode(row.op, Operands { rs1: rng.pick(&POINTERS), ..operands }))
            }
            // An aligned address in x27 first.
            Class::Amo => {
                let mut a = Asm::default();
                a.op(Op::Addi, 27, 31, 0, imm & !7);
                a.word(Insn::encode(row.op, Operands { rs1: 27, imm: 0, ..operands }));
                Item::Bytes(a.0)
            }
            // A reservation that is used at once is sure to hold. The address must survive the load.
            Class::LoadReserved => {
                let rd = if rd == 27 { 26 } else { rd };
                let mut a = Asm::default();
                let sc = if row.op == Op::LrW { Op::ScW } else { Op::ScD };
                a.op(Op::Addi, 27, 31, 0, imm & !7);
                a.word(Insn::encode(row.op, Operands { rd, rs1: 27, rs2: 0, imm: 0, ..operands }));
                a.word(Insn::encode(sc, Operands { rd: 26, rs1: 27, imm: 0, ..operands }));
                Item::Bytes(a.0)
            }
            Class::Upper => {
                bytes(Insn::encode(row.op, Operands { imm: rng.next() as i32 as i64, ..operands }))
            }
            Class::Csr => {
                // fflags, frm, fcsr, mscratch, sscratch.
                let csr = rng.pick(&[1, 2, 3, 3, 0x340, 0x140]);
                bytes(Insn::encode(row.op, Operands { imm: csr, ..operands }))
            }
            Class::System => match row.op {
                Op::Ecall | Op::Ebreak | Op::FenceI => bytes(Insn::encode(row.op, Operands::default())),
                // Not instructions at all.
                Op::Wfi => bytes(rng.pick(&[0xffff_ffff, 0x0000_007f, 0x0000_705b, 0xc000_1073])),
                _ => continue,
            },
            Class::StoreConditional | Class::Nop => continue,
            _ => bytes(Insn::encode(row.op, operands)),
        });
    }
    items
}

/// Whether a random 16-bit instruction may be used in the body.
fn harmless(insn: &Insn) -> bool {
    let row = insn.row();
    let reserved = row.format.rd() == RegClass::X && insn.rd != 0 && RESERVED.contains(&insn.rd);
    let memory = matches!(row.class, Class::Load | Class::Store | Class::FpLoad | Class::FpStore);
    let jumps = matches!(row.class, Class::Branch | Class::Jump | Class::JumpReg);
    !reserved && !jumps && (!memory || POINTERS.contains(&insn.rs1))
}

/// Turns items into bytes, now that distances are known.
fn layout(items: &[Item]) -> Vec<u8> {
    let mut out = Asm::default();
    for (i, item) in items.iter().enumerate() {
        let distance = |over: usize| -> i64 {
            let last = (i + over).min(items.len() - 1);
            items[i..=last].iter().map(|x| x.size() as i64).sum()
        };
        match item {
            Item::Bytes(b) => out.0.extend(b),
            Item::Jump { op, rd, rs1, rs2, over } => {
                out.op(*op, *rd, *rs1, *rs2, distance(*over));
            }
            Item::Indirect { rd, over } => {
                out.op(Op::Auipc, 26, 0, 0, 0).op(Op::Jalr, *rd, 26, 0, distance(*over));
            }
        }
    }
    out.0
}
