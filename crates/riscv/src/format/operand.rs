//! What the operands of instructions are.

/// One operand of an instruction as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    /// A register, of the class that the format has for it.
    Rd,
    Rs1,
    Rs2,
    Rs3,
    /// A number.
    Imm,
    /// How far to shift.
    Shamt,
    /// The upper 20 bits.
    Upper,
    /// Where to jump to.
    Target,
    /// `offset(rs1)`
    Memory,
    /// `(rs1)`
    Address,
    /// Kinds of accesses of a fence.
    Pred,
    Succ,
    /// A control and status register.
    Csr,
    /// The number in the place of `rs1`.
    Zimm,
    /// The rounding mode, which may be left out.
    Rounding,
    /// A floating-point constant, by the number in the place of `rs1`.
    Constant,
    /// Vector registers.
    Vd,
    Vs1,
    Vs2,
    /// `v0.t`, which may be left out.
    Masked,
    /// `v0`.
    V0,
    /// Numbers in the place of `rs1`: signed, unsigned, and with a sixth bit elsewhere.
    Simm,
    Uimm,
    Uimm6,
    /// Type, size and policies of vectors.
    Vtype,
    /// A list like `{ra, s0-s2}`, and by how much `sp` changes.
    Registers,
    Adjustment,
    /// One of `s0` to `s7`, in the place of a register.
    SavedD,
    Saved1,
    Saved2,
    Saved3,
}

/// The register file that a field names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegClass {
    /// The field is not used.
    None,
    /// An integer register.
    X,
    /// A floating-point register.
    F,
}

/// The operands of an instruction word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operands {
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
    /// Immediate, sign-extended; the CSR's number for CSR instructions.
    pub imm: i64,
}
