//! Decoded instructions: the [`Op`] enum and its rows, generated from the table.

use crate::format::{Format, Operands, registers};
use crate::isa::{Extension, Isa, Xlen};
use crate::table::instruction_table;

/// Which widths a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// Both.
    Any,
    /// RV32 only.
    Rv32,
    /// RV64 only.
    Rv64,
}

impl Width {
    /// The bytes of a register.
    pub(crate) fn word(self) -> i64 {
        if self == Self::Rv32 { 4 } else { 8 }
    }
}

/// The kind of work of an instruction; the groups of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// `lui` and `auipc`.
    Upper,
    /// Register and immediate.
    AluImm,
    /// Register and register, multiply and divide.
    AluReg,
    /// Integer load.
    Load,
    /// Integer store.
    Store,
    /// Floating-point load.
    FpLoad,
    /// Floating-point store.
    FpStore,
    /// Conditional branch.
    Branch,
    /// `jal`.
    Jump,
    /// `jalr`.
    JumpReg,
    /// Memory ordering, nothing to do on one hart.
    Nop,
    /// Atomic read-modify-write.
    Amo,
    /// Load reserved.
    LoadReserved,
    /// Store conditional.
    StoreConditional,
    /// Floating point to floating point.
    FpFp,
    /// Floating point to integer register.
    FpInt,
    /// Integer register to floating point.
    IntFp,
    /// Control and status register access.
    Csr,
    /// Everything that changes the machine's state otherwise.
    System,
    /// Between vector registers, or those and one other register.
    Vector,
    /// Vector load.
    VectorLoad,
    /// Vector store.
    VectorStore,
}

impl Class {
    /// Whether it needs floating point to be on.
    pub fn is_float(self) -> bool {
        matches!(self, Self::FpLoad | Self::FpStore | Self::FpFp | Self::FpInt | Self::IntFp)
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The instruction.
    pub op: Op,
    /// Its name in assembly language.
    pub mnemonic: &'static str,
    /// Widths that have it.
    pub width: Width,
    /// The extension that it belongs to.
    pub extension: Extension,
    /// How it is encoded.
    pub format: Format,
    /// The fixed bits.
    pub bits: u32,
    /// The kind of its work.
    pub class: Class,
}

impl Row {
    /// Whether a machine with this ISA has the instruction.
    pub fn in_isa(&self, isa: &Isa) -> bool {
        isa.has(self.extension)
            && match self.width {
                Width::Any => true,
                Width::Rv32 => isa.xlen() == Xlen::Rv32,
                Width::Rv64 => isa.xlen() == Xlen::Rv64,
            }
    }

    /// The rounding mode that is not written: the dynamic one, but none where the conversion is exact.
    pub(crate) fn usual_rounding(&self) -> u8 {
        if matches!(self.op, Op::FcvtDS | Op::FcvtDW | Op::FcvtDWu | Op::FcvtSH | Op::FcvtDH) { 0 } else { 7 }
    }

    /// Whether it is encoded in 16 bits, and is not short for another instruction.
    pub fn is_short(&self) -> bool {
        self.bits & 3 != 3
    }

    /// How many bits it leaves free: of two rows that match a word, the one with fewer is meant.
    pub(crate) fn generality(&self) -> u32 {
        self.format.mask().count_zeros()
    }

    /// Whether `word` is this instruction (on a machine that has it).
    pub fn matches(&self, word: u32) -> bool {
        word & self.format.mask() == self.bits
    }
}

/// The row of a 32-bit word.
pub(crate) fn row_of(word: u32, isa: &Isa) -> Option<&'static Row> {
    INSTRUCTIONS.iter().filter(|r| r.in_isa(isa) && r.matches(word)).min_by_key(|row| row.generality())
}

macro_rules! define {
    ($($section:ident { $($class:ident {
        $($op:ident $m:literal $w:ident $e:ident $f:ident $b:literal $($size:literal)? $($call:ident)? $(|$($arg:ident),+| $x:expr)?;)*
    })* })*) => {
        /// Every instruction; a name that ends in `32` is RV32's version of an instruction whose result
        /// differs from RV64's.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        #[allow(missing_docs)]
        pub enum Op { $($($($op,)*)*)* }

        /// The table, one row for each [`Op`], in the same order.
        pub static INSTRUCTIONS: &[Row] = &[
            $($($(Row {
                op: Op::$op, mnemonic: $m, width: Width::$w, extension: Extension::$e, format: Format::$f,
                bits: $b, class: Class::$class,
            },)*)*)*
        ];
    };
}
instruction_table!(define);

impl Op {
    /// The row that describes it.
    pub fn row(self) -> &'static Row {
        &INSTRUCTIONS[self as usize]
    }

    /// Whether some cores take longer over it with other operands: multiplication, division, square roots, and shifts by a
    /// register. So are moves of two registers, whose operands are what they write.
    /// [`Retired::operands`](crate::Retired::operands) has those.
    #[inline(always)]
    pub const fn by_operands(self) -> bool {
        use Op::*;
        matches!(
            self,
            Sll | Srl
                | Sra
                | Sllw
                | Srlw
                | Sraw
                | Sll32
                | Srl32
                | Sra32
                | Mul
                | Mulh
                | Mulhsu
                | Mulhu
                | Mulw
                | Mul32
                | Mulh32
                | Mulhsu32
                | Mulhu32
                | Div
                | Divu
                | Rem
                | Remu
                | Divw
                | Divuw
                | Remw
                | Remuw
                | Div32
                | Divu32
                | Rem32
                | Remu32
                | FdivS
                | FdivD
                | FsqrtS
                | FsqrtD
                | CmMva01s
                | CmMvsa01
        )
    }

    /// How many bytes a load or store accesses (an atomic is neither), and whether it stores.
    pub fn access(self) -> Option<(u8, bool)> {
        let row = self.row();
        // All of them have the size in the same bits.
        let size = 1 << (row.bits >> 12 & 3);
        match row.class {
            Class::Load | Class::FpLoad => Some((size, false)),
            Class::Store | Class::FpStore => Some((size, true)),
            _ => None,
        }
    }
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Insn {
    /// Which instruction.
    pub op: Op,
    /// Destination register.
    pub rd: u8,
    /// First source register (or the 5-bit immediate of a CSR instruction).
    pub rs1: u8,
    /// Second source register.
    pub rs2: u8,
    /// Third source register.
    pub rs3: u8,
    /// Rounding mode.
    pub rm: u8,
    /// Bytes in memory: 2 or 4.
    pub len: u8,
    /// Immediate, sign-extended; the CSR's number for CSR instructions.
    pub imm: i64,
}

impl Insn {
    /// The instruction's row.
    pub fn row(&self) -> &'static Row {
        self.op.row()
    }

    /// The registers that `cm.push` stores and `cm.pop` loads, from the lowest address up; none for other instructions.
    ///
    /// ```
    /// use tollgate_riscv::{Decoder, Isa};
    /// let decoder = Decoder::new("rv64imac_zcmp".parse().unwrap());
    /// // cm.push {ra, s0}, -16
    /// assert_eq!(decoder.decode(0xb852).unwrap().registers(), [1, 8]);
    /// ```
    pub fn registers(&self) -> &'static [u8] {
        match self.row().format {
            Format::Registers => registers::list(self.rs3),
            _ => &[],
        }
    }

    /// Whether a CSR instruction writes: `csrrs` and `csrrc` with x0, or with a zero immediate, do not (unprivileged specification,
    /// 6.1).
    pub(crate) fn writes_csr(&self) -> bool {
        matches!(self.op, Op::Csrrw | Op::Csrrwi) || self.rs1 != 0
    }

    /// The type in the immediate of `vsetvli` and `vsetivli`.
    pub(crate) fn vtype(&self) -> u64 {
        let bits = if self.op == Op::Vsetivli { 0x3ff } else { 0x7ff };
        (u64::from(self.rs2) | (self.imm as u64) << 5) & bits
    }

    /// The instruction word with these operands: 32 bits, but for rows that [are short](Row::is_short).
    ///
    /// ```
    /// use tollgate_riscv::{Insn, Op, Operands};
    /// // addi a0, a1, -1
    /// assert_eq!(Insn::encode(Op::Addi, Operands { rd: 10, rs1: 11, imm: -1, ..Default::default() }), 0xfff5_8513);
    /// ```
    pub const fn encode(op: Op, operands: Operands) -> u32 {
        let row = &INSTRUCTIONS[op as usize];
        row.bits | row.format.insert(&operands)
    }
}
