//! An instruction as CVA6 sees it.

use tollgate_riscv::{Class, Insn, Op as Opcode};

use crate::core::Core;
use crate::csr;
use crate::ledger::Cause;
use crate::parts::operands::Dependence;
use crate::parts::operation::{keys_of, registers};

/// Later than all other cycles, and earlier.
pub(super) const NEVER: i64 = i64::MAX / 2;
pub(super) const PAST: i64 = i64::MIN / 2;

/// Who executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Integer,
    Branch,
    Multiplier,
    Divider,
    Load,
    Store,
    Atomic,
    Float,
    /// The CSR file, and what orders or empties: at commit.
    Csr,
}

impl Unit {
    pub(super) fn of(insn: &Insn) -> Self {
        use Opcode::*;
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

    /// Shares the port of the units with fixed latency.
    pub(super) fn is_fixed(self) -> bool {
        matches!(self, Unit::Integer | Unit::Branch | Unit::Multiplier | Unit::Divider | Unit::Csr)
    }

    pub(super) fn is_memory(self) -> bool {
        matches!(self, Unit::Load | Unit::Store | Unit::Atomic)
    }

    pub(super) fn multiplies(self) -> bool {
        matches!(self, Unit::Multiplier | Unit::Divider)
    }

    /// May commit in the cycle of the instruction before it. rtl: alu.independent
    pub(super) fn commits_beside(self) -> bool {
        !matches!(self, Unit::Store | Unit::Atomic | Unit::Csr)
    }
}

/// Where the front end may go behind an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Jump {
    None,
    Branch,
    Direct {
        links: bool,
    },
    /// Predicted by the stack of return addresses.
    Return {
        links: bool,
    },
    /// Predicted by the target buffer.
    Indirect {
        links: bool,
    },
}

impl Jump {
    pub(super) fn of(insn: &Insn) -> Self {
        let is_link = |register: u8| register == 1 || register == 5;
        let links = is_link(insn.rd);
        match insn.row().class {
            Class::Branch => Jump::Branch,
            Class::Jump => Jump::Direct { links },
            // A compressed `jalr` does not return: it links.
            Class::JumpReg
                if is_link(insn.rs1) && insn.rs1 != insn.rd && !(insn.len == 2 && insn.rd != 0) =>
            {
                Jump::Return { links }
            }
            Class::JumpReg => Jump::Indirect { links },
            _ => Jump::None,
        }
    }
}

/// Why the pipe is emptied when an instruction commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Empties {
    Nothing,
    Pipe,
    /// The instruction cache, too.
    Instructions,
    /// The translation buffers, too.
    Translations,
    /// It returns from a trap.
    Return,
}

impl Empties {
    pub(super) fn of(insn: &Insn) -> Self {
        match (insn.op, insn.row().class) {
            (Opcode::Mret | Opcode::Sret, _) => Empties::Return,
            (Opcode::FenceI, _) => Empties::Instructions,
            (Opcode::SfenceVma, _) => Empties::Translations,
            (Opcode::Fence, _) => Empties::Pipe,
            (_, Class::Nop | Class::Amo | Class::LoadReserved | Class::StoreConditional) => Empties::Pipe,
            // rtl: csr.write_status, translated.same_space, float.flags
            (_, Class::Csr) if csr::writes(insn) => match insn.imm as u16 {
                0x100 | 0x300 | 0x310 | csr::SATP | 0x001..=0x003 => Empties::Pipe,
                _ => Empties::Nothing,
            },
            _ => Empties::Nothing,
        }
    }
}

/// An instruction as the core sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// Registers: 1 to 31 integer, 32 to 63 floating point, 0 for none.
    pub(super) reads: [u8; 3],
    pub(super) writes: u8,
    pub(super) unit: Unit,
    pub(super) jump: Jump,
    pub(super) empties: Empties,
    /// Commits when memory has all stores.
    pub(super) waits_for_stores: bool,
    /// Cycles from issue to the result, of a multiplier, a divider or floating point.
    pub(super) cycles: i32,
    /// The cause of waiting for its result.
    pub(super) result_cause: Cause,
    pub(super) dependence: Option<Dependence>,
}

impl Op {
    /// An instruction that needs nothing.
    pub(super) const UNKNOWN: Op = Op {
        reads: [0; 3],
        writes: 0,
        unit: Unit::Float,
        jump: Jump::None,
        empties: Empties::Nothing,
        waits_for_stores: false,
        cycles: 1,
        result_cause: Cause::LongOperation,
        dependence: None,
    };

    pub(super) fn of(insn: &Insn, core: &Core) -> Self {
        let (reads, writes) = registers(insn, 0);
        let unit = Unit::of(insn);
        let computes = matches!(unit, Unit::Multiplier | Unit::Divider | Unit::Float);
        Op {
            reads,
            writes,
            unit,
            jump: Jump::of(insn),
            empties: Empties::of(insn),
            waits_for_stores: matches!(insn.op, Opcode::Fence | Opcode::FenceI | Opcode::SfenceVma),
            cycles: keys_of(insn, core).cycles.cast_signed(),
            result_cause: match unit {
                Unit::Load => Cause::LoadUse,
                Unit::Csr => Cause::Csr,
                _ => Cause::LongOperation,
            },
            dependence: if computes { Dependence::of(insn, core) } else { None },
        }
    }
}
