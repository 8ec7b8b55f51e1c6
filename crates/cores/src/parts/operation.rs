//! Operations: which cycles they take where, and when their results are there.

use tollgate_riscv::{Class, Insn, Op, RegClass};

use super::operands::{self, Dependence};
use crate::core::Core;
use crate::keys;
use crate::ledger::Cause;

/// The registers that an instruction reads and writes: 1 to 31 integer, 32 to 63 floating point, 0 for none. An integer
/// register `x0` is `zero`.
pub(crate) fn registers(insn: &Insn, zero: u8) -> ([u8; 3], u8) {
    let format = insn.row().format;
    let register = |class: RegClass, number: u8| match class {
        RegClass::X if number == 0 => zero,
        RegClass::X => number,
        RegClass::F => 32 + number,
        RegClass::None => 0,
    };
    let reads = [
        register(format.rs1(), insn.rs1),
        register(format.rs2(), insn.rs2),
        register(format.rs3(), insn.rs3),
    ];
    (reads, register(format.rd(), insn.rd))
}

/// When a result can be used by an instruction in EX.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Result {
    /// This many cycles after entering EX.
    Execute(i64),
    /// This many cycles after entering MEM.
    Memory(i64),
    /// This many bubbles behind the end of MEM.
    Bubbles(i64),
}

/// An operation in a pipeline with EX and MEM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// Cycles in EX.
    pub(crate) execute: i64,
    /// Cycles in MEM behind the first.
    pub(crate) memory: i64,
    /// Whether the next instruction may enter EX before the result is there.
    pub(crate) pipelined: bool,
    pub(crate) dependence: Option<Dependence>,
    /// The cause of its cycles behind the first.
    pub(crate) cause: Cause,
    pub(crate) result: Result,
    /// The cause of waiting for its result.
    pub(crate) result_cause: Cause,
}

impl Operation {
    /// Nothing that takes time.
    pub(crate) const PLAIN: Operation = Operation {
        execute: 1,
        memory: 0,
        pipelined: false,
        dependence: None,
        cause: Cause::LongOperation,
        result: Result::Execute(1),
        result_cause: Cause::LongOperation,
    };

    /// Of an instruction in a core whose loads have their value `load_use` bubbles behind MEM, and whose CSRs `csr_use`.
    pub(crate) fn new(insn: &Insn, core: &Core, load_use: u32, csr_use: u32) -> Self {
        let class = insn.row().class;
        let key = keys_of(insn, core);
        let total = i64::from(cycles(insn, core));
        let cause = match class {
            Class::Jump | Class::JumpReg => Cause::Branch,
            Class::System => Cause::Csr,
            _ => Cause::LongOperation,
        };
        let execute = if key.pipelined || key.late { 1 } else { total };
        let memory = if key.late && !key.pipelined { total - 1 } else { 0 };
        let mut operation = Operation {
            execute,
            memory,
            pipelined: key.pipelined,
            dependence: if insn.op.by_operands() { Dependence::of(insn, core) } else { None },
            cause,
            result: match (key.pipelined, key.late) {
                (true, false) => Result::Execute(total),
                (true, true) => Result::Memory(total - 1),
                (false, false) => Result::Execute(total + i64::from(key.use_)),
                (false, true) => Result::Bubbles(key.use_.into()),
            },
            result_cause: Cause::LongOperation,
        };
        match class {
            Class::Load | Class::FpLoad | Class::LoadReserved | Class::StoreConditional | Class::Amo => {
                operation.result = Result::Bubbles(load_use.into());
                operation.result_cause = Cause::LoadUse;
                operation.pipelined = false;
            }
            Class::Csr if csr_use > 0 => {
                operation.result = Result::Bubbles(csr_use.into());
                operation.result_cause = Cause::Csr;
                operation.pipelined = false;
            }
            _ => {}
        }
        operation
    }

    /// Cycles in EX and in MEM behind the first, if operands add `more`.
    #[inline(always)]
    pub(crate) fn further(&self, more: i32) -> [i64; 2] {
        let more = i64::from(more);
        match self.memory {
            0 if self.pipelined => [self.execute - 1, 0],
            0 => [(self.execute + more - 1).max(0), 0],
            memory => [self.execute - 1, (memory + more).max(0)],
        }
    }
}

/// The keys of the operation that an instruction is.
pub(crate) fn keys_of(insn: &Insn, core: &Core) -> keys::Operation {
    use Op::*;
    let o = &core.operation;
    let named = match insn.op {
        Mul | Mulw | Mul32 => Some(o.multiply),
        Mulh | Mulhsu | Mulhu | Mulh32 | Mulhsu32 | Mulhu32 => o.multiply_high.or(Some(o.multiply)),
        Div | Divu | Rem | Remu | Divw | Divuw | Remw | Remuw | Div32 | Divu32 | Rem32 | Remu32 => {
            Some(o.divide)
        }
        Sll | Srl | Sra | Sllw | Srlw | Sraw | Sll32 | Srl32 | Sra32 => o.shift,
        Slli | Srli | Srai | Slliw | Srliw | Sraiw | Slli32 | Srli32 | Srai32 => o.shift,
        FenceI => o.fence_i,
        _ => match insn.row().class {
            Class::Load | Class::FpLoad | Class::LoadReserved => o.load,
            Class::Store | Class::FpStore | Class::StoreConditional => o.store,
            Class::Branch => o.branch,
            Class::Jump => o.jump,
            Class::JumpReg => o.indirect,
            Class::Amo => Some(o.atomic),
            Class::FpFp | Class::FpInt | Class::IntFp => {
                let name = insn.row().mnemonic;
                let double = name.ends_with(".d");
                let fused = ["fmadd", "fmsub", "fnmadd", "fnmsub", "fmul", "fadd", "fsub"]
                    .iter()
                    .any(|start| name.starts_with(start));
                let start = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
                Some(
                    if let Some(operation) = o.float_move
                        && start(&["fsgnj", "fmin", "fmax", "feq", "flt", "fle", "fclass", "fmv"])
                    {
                        operation
                    } else if let Some(operation) = o.float_convert
                        && name.starts_with("fcvt")
                    {
                        operation
                    } else if name.starts_with("fdiv") || name.starts_with("fsqrt") {
                        if double { o.float_divide } else { o.float_divide_single.unwrap_or(o.float_divide) }
                    } else if double && fused && o.double.is_some() {
                        return o.double.unwrap_or(o.float);
                    } else if insn.row().class == Class::FpInt && o.float_to_integer.is_some() {
                        return o.float_to_integer.unwrap_or(o.float);
                    } else if name.starts_with("fmul")
                        || name.starts_with("fm") && name.contains("add.")
                        || name.starts_with("fm") && name.contains("sub.")
                        || name.starts_with("fnm")
                    {
                        o.float_multiply
                    } else {
                        o.float
                    },
                )
            }
            _ => None,
        },
    };
    named.unwrap_or(o.arithmetic)
}

/// Cycles of an instruction, with those of a shift by a constant in a serial shifter.
pub(crate) fn cycles(insn: &Insn, core: &Core) -> u32 {
    let fixed = if insn.op.by_operands() { 0 } else { fixed_shift(insn, core) };
    keys_of(insn, core).cycles + fixed
}

/// Further cycles of a shift by a constant in a serial shifter.
pub(crate) fn fixed_shift(insn: &Insn, core: &Core) -> u32 {
    use Op::*;
    match (insn.op, core.operation.shift) {
        (Slli | Srli | Srai | Slliw | Srliw | Sraiw | Slli32 | Srli32 | Srai32, Some(shift)) => {
            operands::shifted(shift.step, insn.imm as u32 & 63)
        }
        _ => 0,
    }
}
