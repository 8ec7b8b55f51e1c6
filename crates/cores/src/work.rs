//! An instruction as the models of pipes need it, found once for each.

use super::core::Core;
use super::operands::Dependence;
use super::shape::{self, Shape};
use tollgate_riscv::{Class, Insn, Op};

/// Who executes an instruction in a core with a scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Integer,
    Branch,
    Multiplier,
    Divider,
    Load,
    Store,
    Atomic,
    Float,
    /// At its commit.
    Csr,
}

impl Unit {
    fn of(insn: &Insn) -> Self {
        use Op::*;
        match insn.op {
            Mul | Mulh | Mulhsu | Mulhu | Mulw | Mul32 | Mulh32 | Mulhsu32 | Mulhu32 => Unit::Multiplier,
            Div | Divu | Rem | Remu | Divw | Divuw | Remw | Remuw | Div32 | Divu32 | Rem32 | Remu32 => {
                Unit::Divider
            }
            _ => match insn.row().class {
                Class::Upper | Class::AluImm | Class::AluReg => Unit::Integer,
                Class::Branch | Class::Jump | Class::JumpReg => Unit::Branch,
                Class::Load | Class::FpLoad => Unit::Load,
                Class::Store | Class::FpStore => Unit::Store,
                Class::Amo | Class::LoadReserved | Class::StoreConditional => Unit::Atomic,
                Class::FpFp | Class::FpInt | Class::IntFp => Unit::Float,
                _ => Unit::Csr,
            },
        }
    }

    /// Whether all of them share one port for results.
    pub(super) fn fixed(self) -> bool {
        matches!(self, Unit::Integer | Unit::Branch | Unit::Multiplier | Unit::Divider | Unit::Csr)
    }

    pub(super) fn memory(self) -> bool {
        matches!(self, Unit::Load | Unit::Store | Unit::Atomic)
    }

    /// Whether it may commit beside the instruction before it.
    pub(super) fn follows(self) -> bool {
        matches!(
            self,
            Unit::Integer | Unit::Branch | Unit::Multiplier | Unit::Divider | Unit::Load | Unit::Float
        )
    }
}

/// Its shape, its operation and the unit that executes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    insn: Insn,
    pub(super) shape: Shape,
    /// Cycles of its operation.
    pub(super) cycles: i64,
    /// What its operands change of that.
    pub(super) dependence: Option<Dependence>,
    pub(super) unit: Unit,
}

impl Work {
    /// Of an instruction in a core.
    pub(super) fn new(insn: &Insn, core: &Core) -> Self {
        Work {
            insn: *insn,
            shape: Shape::new(insn, core),
            cycles: shape::operation(insn, core).cycles.into(),
            dependence: insn.op.by_operands().then(|| Dependence::of(insn, core)).flatten(),
            unit: Unit::of(insn),
        }
    }
}

/// Instructions that were seen lately.
#[derive(Clone, Debug)]
pub(super) struct Works(Vec<Option<Work>>);

/// How many; a power of two.
const KEPT: usize = 1 << 10;

impl Works {
    pub(super) fn new() -> Self {
        Works(Vec::new())
    }

    /// What there is to know about an instruction, always in the same core.
    #[inline]
    pub(super) fn of(&mut self, insn: &Insn, core: &Core) -> &Work {
        if self.0.is_empty() {
            self.0.resize(KEPT, None);
        }
        let registers = u32::from_le_bytes([insn.rd, insn.rs1, insn.rs2, insn.op as u8]);
        let mixed = registers.wrapping_mul(0x9e37_79b1) ^ (insn.imm as u32).wrapping_mul(0x85eb_ca6b);
        let place = &mut self.0[(mixed >> 20) as usize % KEPT];
        place.take_if(|work| work.insn != *insn);
        place.get_or_insert_with(|| Work::new(insn, core))
    }
}
