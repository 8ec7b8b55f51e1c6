//! The C extension: each 16-bit encoding is a row that expands to the 32-bit instruction it stands for, so
//! that its meaning, its legality (`c.fld` without D) and its disassembly come from the main table.

use std::sync::LazyLock;

use crate::format::{Operands, RegClass, Slot};
use crate::insn::{Insn, Op, Width, row_of};
use crate::isa::{Extension, Isa, Xlen};

/// One 16-bit encoding.
pub struct CompressedRow {
    /// Its name.
    pub mnemonic: &'static str,
    /// Widths that have it.
    pub width: Width,
    /// The extension that it belongs to. What it stands for can need another one.
    pub extension: Extension,
    /// The fixed bits.
    pub bits: u16,
    /// Which bits are fixed.
    pub mask: u16,
    expand: fn(u32) -> Option<u32>,
}

impl CompressedRow {
    /// Whether a machine with this ISA has the encoding.
    pub fn in_isa(&self, isa: &Isa) -> bool {
        isa.has(self.extension)
            && match self.width {
                Width::Any => true,
                Width::Rv32 => isa.xlen() == Xlen::Rv32,
                Width::Rv64 => isa.xlen() == Xlen::Rv64,
            }
    }
}

macro_rules! rows {
    ($($name:literal $width:ident $extension:ident $bits:literal $mask:literal |$h:ident| $expand:expr;)*) => {
        /// Every 16-bit encoding. Where two match, the first one holds: the specification carves `c.jr`,
        /// `c.ebreak`, `c.jalr` and `c.addi16sp` out of the space of the row behind them.
        pub static COMPRESSED: &[CompressedRow] = &[
            $(CompressedRow {
                mnemonic: $name, width: Width::$width, extension: Extension::$extension, bits: $bits, mask: $mask,
                expand: |$h| $expand,
            },)*
        ];
    };
}

rows! {
    "c.addi4spn" Any C 0x0000 0xe003 |h| nonzero(imm_4spn(h))
        .map(|imm| enc(Op::Addi, low(h, 2), SP, 0, imm));
    "c.fld" Any C 0x2000 0xe003 |h| Some(enc(Op::Fld, low(h, 2), low(h, 7), 0, imm_d(h)));
    "c.lw" Any C 0x4000 0xe003 |h| Some(enc(Op::Lw, low(h, 2), low(h, 7), 0, imm_w(h)));
    "c.flw" Rv32 C 0x6000 0xe003 |h| Some(enc(Op::Flw, low(h, 2), low(h, 7), 0, imm_w(h)));
    "c.ld" Rv64 C 0x6000 0xe003 |h| Some(enc(Op::Ld, low(h, 2), low(h, 7), 0, imm_d(h)));
    "c.fsd" Any C 0xa000 0xe003 |h| Some(enc(Op::Fsd, 0, low(h, 7), low(h, 2), imm_d(h)));
    "c.sw" Any C 0xc000 0xe003 |h| Some(enc(Op::Sw, 0, low(h, 7), low(h, 2), imm_w(h)));
    "c.fsw" Rv32 C 0xe000 0xe003 |h| Some(enc(Op::Fsw, 0, low(h, 7), low(h, 2), imm_w(h)));
    "c.sd" Rv64 C 0xe000 0xe003 |h| Some(enc(Op::Sd, 0, low(h, 7), low(h, 2), imm_d(h)));
    "c.addi" Any C 0x0001 0xe003 |h| Some(enc(Op::Addi, full(h, 7), full(h, 7), 0, imm6(h)));
    "c.jal" Rv32 C 0x2001 0xe003 |h| Some(enc(Op::Jal, RA, 0, 0, imm_j(h)));
    "c.addiw" Rv64 C 0x2001 0xe003 |h| reg(full(h, 7)).map(|r| enc(Op::Addiw, r, r, 0, imm6(h)));
    "c.li" Any C 0x4001 0xe003 |h| Some(enc(Op::Addi, full(h, 7), 0, 0, imm6(h)));
    "c.addi16sp" Any C 0x6101 0xef83 |h| nonzero(imm_16sp(h)).map(|imm| enc(Op::Addi, SP, SP, 0, imm));
    "c.sspush" Any ZicfissZcmop 0x6081 0xffff |_h| Some(enc(Op::Sspush, 0, 0, RA, 0));
    "c.sspopchk" Any ZicfissZcmop 0x6281 0xffff |_h| Some(enc(Op::Sspopchk, 0, 5, 0, 0));
    "c.mop.1" Any Zcmop 0x6081 0xffff |_h| Some(enc(Op::Addi, 0, 0, 0, 0));
    "c.mop.3" Any Zcmop 0x6181 0xffff |_h| Some(enc(Op::Addi, 0, 0, 0, 0));
    "c.mop.5" Any Zcmop 0x6281 0xffff |_h| Some(enc(Op::Addi, 0, 0, 0, 0));
    "c.mop.7" Any Zcmop 0x6381 0xffff |_h| Some(enc(Op::Addi, 0, 0, 0, 0));
    "c.mop.9" Any Zcmop 0x6481 0xffff |_h| Some(enc(Op::Addi, 0, 0, 0, 0));
    "c.mop.11" Any Zcmop 0x6581 0xffff |_h| Some(enc(Op::Addi, 0, 0, 0, 0));
    "c.mop.13" Any Zcmop 0x6681 0xffff |_h| Some(enc(Op::Addi, 0, 0, 0, 0));
    "c.mop.15" Any Zcmop 0x6781 0xffff |_h| Some(enc(Op::Addi, 0, 0, 0, 0));
    "c.lui" Any C 0x6001 0xe003 |h| nonzero(imm6(h)).map(|imm| enc(Op::Lui, full(h, 7), 0, 0, imm << 12));
    "c.srli" Rv64 C 0x8001 0xec03 |h| Some(enc(Op::Srli, low(h, 7), low(h, 7), 0, imm6(h) & 63));
    "c.srai" Rv64 C 0x8401 0xec03 |h| Some(enc(Op::Srai, low(h, 7), low(h, 7), 0, imm6(h) & 63));
    "c.srli" Rv32 C 0x8001 0xfc03 |h| Some(enc(Op::Srli32, low(h, 7), low(h, 7), 0, imm6(h) & 31));
    "c.srai" Rv32 C 0x8401 0xfc03 |h| Some(enc(Op::Srai32, low(h, 7), low(h, 7), 0, imm6(h) & 31));
    "c.andi" Any C 0x8801 0xec03 |h| Some(enc(Op::Andi, low(h, 7), low(h, 7), 0, imm6(h)));
    "c.sub" Any C 0x8c01 0xfc63 |h| Some(enc(Op::Sub, low(h, 7), low(h, 7), low(h, 2), 0));
    "c.xor" Any C 0x8c21 0xfc63 |h| Some(enc(Op::Xor, low(h, 7), low(h, 7), low(h, 2), 0));
    "c.or" Any C 0x8c41 0xfc63 |h| Some(enc(Op::Or, low(h, 7), low(h, 7), low(h, 2), 0));
    "c.and" Any C 0x8c61 0xfc63 |h| Some(enc(Op::And, low(h, 7), low(h, 7), low(h, 2), 0));
    "c.subw" Rv64 C 0x9c01 0xfc63 |h| Some(enc(Op::Subw, low(h, 7), low(h, 7), low(h, 2), 0));
    "c.addw" Rv64 C 0x9c21 0xfc63 |h| Some(enc(Op::Addw, low(h, 7), low(h, 7), low(h, 2), 0));
    "c.j" Any C 0xa001 0xe003 |h| Some(enc(Op::Jal, 0, 0, 0, imm_j(h)));
    "c.beqz" Any C 0xc001 0xe003 |h| Some(enc(Op::Beq, 0, low(h, 7), 0, imm_b(h)));
    "c.bnez" Any C 0xe001 0xe003 |h| Some(enc(Op::Bne, 0, low(h, 7), 0, imm_b(h)));
    "c.lbu" Any Zcb 0x8000 0xfc03 |h| Some(enc(Op::Lbu, low(h, 2), low(h, 7), 0, imm_b2(h)));
    "c.lhu" Any Zcb 0x8400 0xfc43 |h| Some(enc(Op::Lhu, low(h, 2), low(h, 7), 0, bits(h, 5, 1, 1)));
    "c.lh" Any Zcb 0x8440 0xfc43 |h| Some(enc(Op::Lh, low(h, 2), low(h, 7), 0, bits(h, 5, 1, 1)));
    "c.sb" Any Zcb 0x8800 0xfc03 |h| Some(enc(Op::Sb, 0, low(h, 7), low(h, 2), imm_b2(h)));
    "c.sh" Any Zcb 0x8c00 0xfc43 |h| Some(enc(Op::Sh, 0, low(h, 7), low(h, 2), bits(h, 5, 1, 1)));
    "c.mul" Any Zcb 0x9c41 0xfc63 |h| Some(enc(Op::Mul, low(h, 7), low(h, 7), low(h, 2), 0));
    "c.zext.b" Any Zcb 0x9c61 0xfc7f |h| Some(enc(Op::Andi, low(h, 7), low(h, 7), 0, 255));
    "c.sext.b" Any Zcb 0x9c65 0xfc7f |h| Some(enc(Op::SextB, low(h, 7), low(h, 7), 0, 0));
    "c.zext.h" Rv64 Zcb 0x9c69 0xfc7f |h| Some(enc(Op::ZextH, low(h, 7), low(h, 7), 0, 0));
    "c.zext.h" Rv32 Zcb 0x9c69 0xfc7f |h| Some(enc(Op::ZextH32, low(h, 7), low(h, 7), 0, 0));
    "c.sext.h" Any Zcb 0x9c6d 0xfc7f |h| Some(enc(Op::SextH, low(h, 7), low(h, 7), 0, 0));
    "c.zext.w" Rv64 Zcb 0x9c71 0xfc7f |h| Some(enc(Op::AddUw, low(h, 7), low(h, 7), 0, 0));
    "c.not" Any Zcb 0x9c75 0xfc7f |h| Some(enc(Op::Xori, low(h, 7), low(h, 7), 0, -1));
    "c.slli" Rv64 C 0x0002 0xe003 |h| Some(enc(Op::Slli, full(h, 7), full(h, 7), 0, imm6(h) & 63));
    "c.slli" Rv32 C 0x0002 0xf003 |h| Some(enc(Op::Slli32, full(h, 7), full(h, 7), 0, imm6(h) & 31));
    "c.fldsp" Any C 0x2002 0xe003 |h| Some(enc(Op::Fld, full(h, 7), SP, 0, imm_ldsp(h)));
    "c.lwsp" Any C 0x4002 0xe003 |h| reg(full(h, 7)).map(|r| enc(Op::Lw, r, SP, 0, imm_lwsp(h)));
    "c.flwsp" Rv32 C 0x6002 0xe003 |h| Some(enc(Op::Flw, full(h, 7), SP, 0, imm_lwsp(h)));
    "c.ldsp" Rv64 C 0x6002 0xe003 |h| reg(full(h, 7)).map(|r| enc(Op::Ld, r, SP, 0, imm_ldsp(h)));
    "c.jr" Any C 0x8002 0xf07f |h| reg(full(h, 7)).map(|r| enc(Op::Jalr, 0, r, 0, 0));
    "c.mv" Any C 0x8002 0xf003 |h| Some(enc(Op::Add, full(h, 7), 0, full(h, 2), 0));
    "c.ebreak" Any C 0x9002 0xffff |_h| Some(enc(Op::Ebreak, 0, 0, 0, 0));
    "c.jalr" Any C 0x9002 0xf07f |h| Some(enc(Op::Jalr, RA, full(h, 7), 0, 0));
    "c.add" Any C 0x9002 0xf003 |h| Some(enc(Op::Add, full(h, 7), full(h, 7), full(h, 2), 0));
    "c.fsdsp" Any C 0xa002 0xe003 |h| Some(enc(Op::Fsd, 0, SP, full(h, 2), imm_sdsp(h)));
    "c.swsp" Any C 0xc002 0xe003 |h| Some(enc(Op::Sw, 0, SP, full(h, 2), imm_swsp(h)));
    "c.fswsp" Rv32 C 0xe002 0xe003 |h| Some(enc(Op::Fsw, 0, SP, full(h, 2), imm_swsp(h)));
    "c.sdsp" Rv64 C 0xe002 0xe003 |h| Some(enc(Op::Sd, 0, SP, full(h, 2), imm_sdsp(h)));
}

const RA: u8 = 1;
const SP: u8 = 2;

/// The 32-bit instruction that a 16-bit one stands for. The word is the same on both widths: `add` is one
/// encoding, for any row of the main table that decodes it.
pub fn expand(half: u16, isa: &Isa) -> Option<u32> {
    let row = COMPRESSED.iter().find(|r| r.in_isa(isa) && half & r.mask == r.bits)?;
    (row.expand)(u32::from(half))
}

/// The row of a 16-bit encoding; `None` for reserved ones.
pub fn row(half: u16, isa: &Isa) -> Option<&'static CompressedRow> {
    let row = COMPRESSED.iter().find(|r| r.in_isa(isa) && half & r.mask == r.bits)?;
    (row.expand)(u32::from(half)).map(|_| row)
}

/// How a row writes its operands, and its inverse.
pub(crate) struct Shape {
    pub(crate) row: &'static CompressedRow,
    pub(crate) op: Op,
    /// The operands that are written: not a fixed `zero` or `ra`, and once what is source and destination.
    pub(crate) slots: Vec<Slot>,
    /// Whether the destination is the first source as well.
    pub(crate) tied: bool,
    /// Its expansion with all free bits set.
    pub(crate) full: u32,
    /// Each free bit, and the bits that it decides.
    free: Vec<(u16, u32)>,
    fixed: u32,
}

impl Shape {
    /// Each bit of the long form is fixed or equals one free bit of the row, perhaps inverted.
    fn new(row: &'static CompressedRow, xlen: Xlen) -> Option<Self> {
        let most = row.bits | !row.mask;
        let expand = |half: u16| (row.expand)(u32::from(half));
        let full = expand(most)?;
        let bits = (0..16).map(|bit| 1 << bit).filter(|bit| row.mask & bit == 0);
        let free: Vec<_> = bits.filter_map(|bit| Some((bit, expand(most ^ bit)? ^ full))).collect();
        let varying = free.iter().fold(0, |all, (_, decided)| all | decided);
        let isa = Isa::everything(xlen);
        let main = row_of(full, &isa)?;
        let field = |at: u32, word: u32| word >> at & 31;
        let tied = main.format.rd() != RegClass::None
            && field(7, full) == field(15, full)
            && free.iter().all(|(_, decided)| field(7, *decided) == field(15, *decided));
        let names_ra = main.op == Op::Sspush;
        let written = |at| field(at, varying) != 0 || field(at, full) > u32::from(RA) || names_ra;
        let slots = main.format.syntax().iter().filter_map(|slot| match slot {
            Slot::Rd => written(7).then_some(Slot::Rd),
            Slot::Rs1 => (written(15) && !tied).then_some(Slot::Rs1),
            Slot::Rs2 => written(20).then_some(Slot::Rs2),
            // One that the name says.
            Slot::Imm if varying >> 20 == 0 => None,
            // A jump to a register has no offset.
            Slot::Memory if varying & !0xf_8000 == 0 => Some(Slot::Rs1),
            slot => Some(*slot),
        });
        let slots = slots.collect();
        Some(Self { row, op: main.op, slots, tied, full, free, fixed: !varying })
    }

    /// The encoding that expands to this word.
    pub(crate) fn invert(&self, word: u32, isa: &Isa) -> Option<u16> {
        if (word ^ self.full) & self.fixed != 0 {
            return None;
        }
        let cleared = self.free.iter().filter(|(_, decided)| (word ^ self.full) & decided != 0);
        let half = cleared.fold(self.row.bits | !self.row.mask, |half, (bit, _)| half ^ bit);
        (expand(half, isa) == Some(word)).then_some(half)
    }
}

/// The rows of a width.
pub(crate) fn shapes(xlen: Xlen) -> &'static [Shape] {
    static SHAPES: LazyLock<[Vec<Shape>; 2]> = LazyLock::new(|| {
        [Xlen::Rv32, Xlen::Rv64].map(|xlen| {
            let isa = Isa::everything(xlen);
            let rows = COMPRESSED.iter().filter(|row| row.in_isa(&isa));
            rows.filter_map(|row| Shape::new(row, xlen)).collect()
        })
    });
    &SHAPES[usize::from(xlen == Xlen::Rv64)]
}

/// The row of an encoding, with how it is written.
pub(crate) fn shape(half: u16, isa: &Isa) -> Option<&'static Shape> {
    let row = row(half, isa)?;
    shapes(isa.xlen()).iter().find(|shape| std::ptr::eq(shape.row, row))
}

/// The 16-bit encoding that GNU `as` chooses for a word. It never chooses a hint; `c.nop` is not a hint.
pub(crate) fn compress(word: u32, isa: &Isa) -> Option<u16> {
    let (rd, rs1, rs2) = (word >> 7 & 31, word >> 15 & 31, word >> 20 & 31);
    let word = match word & 0xfe00_707f {
        // addi rd, rs1, 0 is written as c.mv.
        0x13 if word >> 20 == 0 && rd != 0 && rs1 != 0 => 0x33 | rd << 7 | rs1 << 20,
        // add, and, or, xor and addw commute.
        0x33 | 0x7033 | 0x6033 | 0x4033 | 0x3b if rd == rs2 && rd != rs1 && rs1 != 0 => {
            word & !0x01ff_8000 | rs2 << 15 | rs1 << 20
        }
        _ => word,
    };
    let there = shapes(isa.xlen()).iter().filter(|shape| shape.row.in_isa(isa));
    let half = there.filter_map(|shape| shape.invert(word, isa)).next()?;
    let rd_fixed = matches!(word & 0x7f, 0x13 | 0x33 | 0x37 | 0x1b | 0x3b) && rd == 0;
    let no_shift = matches!(word & 0x707f, 0x1013 | 0x5013) && word >> 20 & 63 == 0;
    (!(rd_fixed || no_shift) || half == 1).then_some(half)
}

fn enc(op: Op, rd: u8, rs1: u8, rs2: u8, imm: i32) -> u32 {
    Insn::encode(op, Operands { rd, rs1, rs2, rs3: 0, rm: 0, imm: i64::from(imm) })
}

fn nonzero(imm: i32) -> Option<i32> {
    (imm != 0).then_some(imm)
}

fn reg(r: u8) -> Option<u8> {
    (r != 0).then_some(r)
}

/// One of the eight registers that three bits can name.
fn low(h: u32, at: u32) -> u8 {
    8 + (h >> at & 7) as u8
}

fn full(h: u32, at: u32) -> u8 {
    (h >> at & 31) as u8
}

/// `count` bits of `h` from bit `from`, moved to bit `to`.
fn bits(h: u32, from: u32, count: u32, to: u32) -> i32 {
    ((h >> from & ((1 << count) - 1)) << to) as i32
}

fn imm6(h: u32) -> i32 {
    -bits(h, 12, 1, 5) | bits(h, 2, 5, 0)
}

fn imm_4spn(h: u32) -> i32 {
    bits(h, 11, 2, 4) | bits(h, 7, 4, 6) | bits(h, 6, 1, 2) | bits(h, 5, 1, 3)
}

/// Of Zcb: the lower bit of the two is the upper one here.
fn imm_b2(h: u32) -> i32 {
    bits(h, 6, 1, 0) | bits(h, 5, 1, 1)
}

fn imm_w(h: u32) -> i32 {
    bits(h, 10, 3, 3) | bits(h, 6, 1, 2) | bits(h, 5, 1, 6)
}

fn imm_d(h: u32) -> i32 {
    bits(h, 10, 3, 3) | bits(h, 5, 2, 6)
}

fn imm_16sp(h: u32) -> i32 {
    -bits(h, 12, 1, 9) | bits(h, 6, 1, 4) | bits(h, 5, 1, 6) | bits(h, 3, 2, 7) | bits(h, 2, 1, 5)
}

fn imm_j(h: u32) -> i32 {
    -bits(h, 12, 1, 11)
        | bits(h, 11, 1, 4)
        | bits(h, 9, 2, 8)
        | bits(h, 8, 1, 10)
        | bits(h, 7, 1, 6)
        | bits(h, 6, 1, 7)
        | bits(h, 3, 3, 1)
        | bits(h, 2, 1, 5)
}

fn imm_b(h: u32) -> i32 {
    -bits(h, 12, 1, 8) | bits(h, 10, 2, 3) | bits(h, 5, 2, 6) | bits(h, 3, 2, 1) | bits(h, 2, 1, 5)
}

fn imm_lwsp(h: u32) -> i32 {
    bits(h, 12, 1, 5) | bits(h, 4, 3, 2) | bits(h, 2, 2, 6)
}

fn imm_ldsp(h: u32) -> i32 {
    bits(h, 12, 1, 5) | bits(h, 5, 2, 3) | bits(h, 2, 3, 6)
}

fn imm_swsp(h: u32) -> i32 {
    bits(h, 9, 4, 2) | bits(h, 7, 2, 6)
}

fn imm_sdsp(h: u32) -> i32 {
    bits(h, 10, 3, 3) | bits(h, 7, 3, 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disassemble;

    /// Pairs that overlap because the specification says so; each must really overlap.
    const CARVED: [(&str, &str); 9] = [
        ("c.sspush", "c.mop.1"),
        ("c.sspopchk", "c.mop.5"),
        ("c.sspush", "c.lui"),
        ("c.sspopchk", "c.lui"),
        ("c.addi16sp", "c.lui"),
        ("c.jr", "c.mv"),
        ("c.ebreak", "c.jalr"),
        ("c.ebreak", "c.add"),
        ("c.jalr", "c.add"),
    ];

    #[test]
    fn only_the_carved_encodings_overlap() {
        for xlen in [Xlen::Rv32, Xlen::Rv64] {
            let isa = Isa::everything(xlen);
            let rows: Vec<_> = COMPRESSED.iter().filter(|r| r.in_isa(&isa)).collect();
            for (i, a) in rows.iter().enumerate() {
                assert_eq!(a.bits & !a.mask, 0, "{}", a.mnemonic);
                for b in &rows[i + 1..] {
                    let common = a.mask & b.mask;
                    let overlap = a.bits & common == b.bits & common;
                    let carved = CARVED.contains(&(a.mnemonic, b.mnemonic))
                        || a.extension == Extension::Zcmop && b.mnemonic == "c.lui";
                    assert_eq!(overlap, carved, "{} and {}", a.mnemonic, b.mnemonic);
                }
            }
        }
    }

    /// Words as GNU `as` writes them (binutils' own test listings), checked by their long form.
    #[test]
    fn encodings_of_the_specification() {
        let rv64: Isa = "rv64gc".parse().unwrap();
        let rv32: Isa = "rv32gc".parse().unwrap();
        for (half, isa, text) in [
            (0x0001, rv64, "addi zero,zero,0"),
            (0x1141, rv64, "addi sp,sp,-16"),
            (0xe406, rv64, "sd ra,8(sp)"),
            (0x60a2, rv64, "ld ra,8(sp)"),
            (0x8082, rv64, "jalr zero,0(ra)"),
            (0x9002, rv64, "ebreak"),
            (0x852e, rv64, "add a0,zero,a1"),
            (0x7179, rv64, "addi sp,sp,-48"),
            (0x0800, rv64, "addi s0,sp,16"),
            (0xa001, rv64, "jal zero,pc+0"),
            (0x67c5, rv64, "lui a5,0x11"),
            (0x2501, rv64, "addiw a0,a0,0"),
            (0x3fe5, rv32, "jal ra,pc-8"),
        ] {
            assert_eq!(disassemble(half, isa), text, "{half:#06x}");
        }
    }

    #[test]
    fn reserved_encodings_are_illegal() {
        for half in [0x0000, 0x4002, 0x8002, 0x6101, 0x6081, 0x8000, 0x2001] {
            assert_eq!(expand(half, &Isa::default()), None, "{half:#06x}");
        }
        // A shift by 32 or more is reserved on RV32.
        assert_eq!(expand(0x1502, &"rv32gc".parse().unwrap()), None);
        assert!(expand(0x1502, &Isa::default()).is_some());
    }
}
