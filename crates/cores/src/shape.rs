//! What an instruction costs by itself, and what happens to it on the way: what the pipe adds up.

use super::core::Core;
use super::float::Floating;
use super::keys::{Kind, Operation};
use super::ledger::Cause;
use super::operands;
use super::replay::Behind;
use tollgate_riscv::RegClass;
use tollgate_riscv::{Class, Insn, Op};

/// What an instruction costs by itself, from the core's configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Registers that are needed in EX: 1 to 31 integer, 32 to 63 floating point; 0 if unused.
    pub(super) needs: [u8; 4],
    /// A register that is needed in MEM.
    pub(super) late: u8,
    /// The destination, or 0.
    pub(super) gives: u8,
    /// When the result is there, and why that takes time.
    pub(super) result: Ready,
    /// Cycles in EX, and what those behind the first are charged to.
    pub(super) cycles: u32,
    pub(super) cause: Cause,
    /// More cycles in MEM, to wait for memory.
    pub(super) wait: u32,
    /// More cycles in MEM, to compute.
    pub(super) late_cycles: u32,
    /// Waits until the pipe is empty.
    pub(super) drain: bool,
    /// Bubbles before its result can be used, if it takes no other way.
    pub(super) after: u32,
    /// Orders accesses.
    pub(super) fence: bool,
    /// Waits for all floating-point results.
    pub(super) flags: bool,
    /// Whether it is a floating-point store in a core where those have to wait for stores, too.
    pub(super) float_store: bool,
    /// What a floating-point unit with one divider does with it.
    pub(super) floating: Option<Floating>,
    /// Whether it reads and writes memory.
    pub(super) memory: [bool; 2],
    /// Whether it waits for the access before, and the next access for the one before it.
    pub(super) ordered: [bool; 2],
}

/// When a result is there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ready {
    /// When the instruction leaves EX.
    Execute,
    /// This many cycles after entering EX.
    Later(u32),
    /// This many cycles after entering MEM.
    LaterThanMemory(u32),
    /// When the iterative unit has it, and no other instruction writes a register.
    Unit,
    /// This many bubbles before an instruction that uses it, from the end of MEM.
    Memory(u32, Cause),
}

/// The register `x0` in a core in which it is waited for.
pub(super) const ZERO: u8 = 64;

impl Shape {
    /// Needs nothing and gives nothing.
    pub(super) const PLAIN: Shape = Shape {
        needs: [0; 4],
        late: 0,
        gives: 0,
        result: Ready::Execute,
        cycles: 1,
        cause: Cause::LongOperation,
        after: 0,
        fence: false,
        late_cycles: 0,
        wait: 0,
        drain: false,
        flags: false,
        float_store: false,
        floating: None,
        memory: [false; 2],
        ordered: [false; 2],
    };

    pub(super) fn new(insn: &Insn, core: &Core) -> Self {
        let row = insn.row();
        let register = |class: RegClass, number: u8| match class {
            RegClass::X if number == 0 && core.pipeline.zero_waits => ZERO,
            RegClass::X => number,
            RegClass::F => 32 + number,
            RegClass::None => 0,
        };
        let mut needs = [
            register(row.format.rs1(), insn.rs1),
            register(row.format.rs2(), insn.rs2),
            register(row.format.rs3(), insn.rs3),
            0,
        ];
        let gives = register(row.format.rd(), insn.rd);
        if core.pipeline.write_order {
            needs[3] = gives;
        }
        let mut late = 0;
        if matches!(row.class, Class::Store | Class::FpStore) && core.pipeline.store_data_late {
            late = std::mem::take(&mut needs[1]);
        }
        let operation = operation(insn, core);
        let fixed = if insn.op.by_operands() { 0 } else { fixed_shift(insn, core) };
        let total = operation.cycles + fixed;
        let (mut cycles, mut result) = match (operation.pipelined, operation.late) {
            (true, false) => (1, Ready::Later(total)),
            (true, true) => (1, Ready::LaterThanMemory(total - 1)),
            (false, _) => (total, Ready::Execute),
        };
        let cause = match row.class {
            Class::Jump | Class::JumpReg => Cause::Branch,
            Class::System => Cause::Csr,
            // The states of a machine that has no pipeline.
            _ if core.pipeline.kind == Kind::MultiCycle && !insn.op.by_operands() && fixed == 0 => {
                Cause::Structural
            }
            _ => Cause::LongOperation,
        };
        if core.operation.iterative > 0 && operands::is_product_or_quotient(insn.op) {
            result = Ready::Unit;
        }
        let mut wait = 0;
        let p = &core.pipeline;
        let load_use = match row.class {
            Class::FpLoad => p.float_load_use,
            Class::StoreConditional => p.narrow_load_use,
            _ if matches!(insn.op, Op::Lb | Op::Lbu | Op::Lh | Op::Lhu) => p.narrow_load_use,
            _ => None,
        };
        match row.class {
            Class::Load | Class::FpLoad | Class::LoadReserved | Class::StoreConditional | Class::Amo => {
                result = Ready::Memory(load_use.unwrap_or(p.load_use), Cause::LoadUse);
                wait = core.pipeline.memory_wait;
            }
            Class::Store | Class::FpStore => wait = core.pipeline.memory_wait,
            Class::Csr if core.system.csr_use > 0 => {
                result = Ready::Memory(core.system.csr_use, Cause::Csr);
            }
            _ => {}
        }
        if let (Some((size, _)), 1..) = (insn.op.access(), core.pipeline.data_width) {
            // What is wider than the port, aligned as it is.
            wait += (u32::from(size) - 1) / core.pipeline.data_width;
        }
        let drain = core.system.csr_drain && (row.class == Class::Csr || insn.op == Op::SfenceVma);
        let mut late_cycles = 0;
        if operation.late && !operation.pipelined {
            (late_cycles, cycles) = (cycles - 1, 1);
            if matches!(result, Ready::Execute) {
                result = Ready::Memory(operation.use_, Cause::LongOperation);
            }
        }
        let (after, fence) = (operation.use_, insn.op == Op::Fence);
        // fflags, frm and fcsr.
        let flags =
            core.system.float_flags_wait && row.class == Class::Csr && (1..=3).contains(&(insn.imm & 0xfff));
        let memory = [
            matches!(
                row.class,
                Class::Load | Class::FpLoad | Class::LoadReserved | Class::StoreConditional | Class::Amo
            ),
            matches!(row.class, Class::Store | Class::FpStore | Class::Amo),
        ];
        let atomic = matches!(row.class, Class::LoadReserved | Class::StoreConditional | Class::Amo);
        let ordered = match row.class {
            _ if core.system.fence == 0 => [false; 2],
            _ if insn.op == Op::Fence => [false, true],
            _ if insn.op == Op::FenceI => [true, false],
            // `rl` and `aq`.
            _ if atomic => [insn.imm & 1 != 0, insn.imm & 2 != 0],
            _ => [false; 2],
        };
        Shape {
            needs,
            late,
            gives,
            result,
            cycles,
            cause,
            after,
            fence,
            late_cycles,
            wait,
            drain,
            flags,
            float_store: core.system.float_flags_wait && row.class == Class::FpStore,
            floating: if core.operation.float_divide.digits { floating(insn, total) } else { None },
            memory,
            ordered,
        }
    }
}

impl Shape {
    /// Cycles in EX behind the first.
    pub(super) fn execution(&self, costs: &Costs) -> [(u32, Cause); 2] {
        let cycles = match self.result {
            // The unit takes the next operation in the meantime.
            Ready::Later(_) | Ready::LaterThanMemory(_) | Ready::Unit => self.cycles,
            _ if self.late_cycles > 0 => self.cycles,
            _ => self.cycles.saturating_add_signed(costs.execute),
        };
        [(cycles.saturating_sub(1), self.cause), (costs.settle, Cause::Branch)]
    }

    /// Cycles in MEM behind the first, in which it computes.
    pub(super) fn late(&self, costs: &Costs) -> u32 {
        if self.late_cycles > 0 { self.late_cycles.saturating_add_signed(costs.execute) } else { 0 }
    }
}

fn floating(insn: &Insn, cycles: u32) -> Option<Floating> {
    match insn.row().class {
        Class::FpLoad | Class::FpStore | Class::FpInt => Some(Floating::Passes),
        Class::FpFp if matches!(insn.op, Op::FdivS | Op::FdivD | Op::FsqrtS | Op::FsqrtD) => {
            Some(Floating::Divides(cycles))
        }
        Class::FpFp | Class::IntFp => Some(Floating::Computes(cycles)),
        _ => None,
    }
}

/// The operation that an instruction is.
pub(super) fn operation(insn: &Insn, core: &Core) -> Operation {
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

/// Further cycles of a shift by a constant in a serial shifter.
fn fixed_shift(insn: &Insn, core: &Core) -> u32 {
    use Op::*;
    match (insn.op, core.operation.shift) {
        (Slli | Srli | Srai | Slliw | Srliw | Sraiw | Slli32 | Srli32 | Srai32, Some(shift)) => {
            operands::shifted(shift.step, insn.imm as u32 & 63)
        }
        _ => 0,
    }
}

/// What happens to one instruction on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Costs {
    /// Cycles of walks for its fetch.
    pub(super) fetch_walk: u32,
    /// Cycles of misses of its fetch.
    pub(super) fetch_miss: u32,
    /// Whether its line is being filled, after a fetch on another path missed it.
    pub(super) filling: bool,
    /// Further fetches.
    pub(super) second: u32,
    /// Whether an earlier fetch has brought it.
    pub(super) at_hand: bool,
    /// When the front end missed its line, if that was long before.
    pub(super) line_missed: Option<i64>,
    /// Whether it begins in the word before its last.
    pub(super) crosses: bool,
    /// Cycles in EX that its operands add, or remove.
    pub(super) execute: i32,
    /// Further cycles in EX, because it is a branch that was mispredicted.
    pub(super) settle: u32,
    /// Cycles of walks for its data.
    pub(super) data_walk: u32,
    /// Cycles of misses of its data.
    pub(super) data_miss: u32,
    /// Cycles until it is back because the data cache did not take it.
    pub(super) refused: u32,
    /// Whether it is the first store to a clean line, where that takes the tags.
    pub(super) soils: bool,
    /// With which of the latest stores a load overlaps: the lowest bit is for the latest.
    pub(super) overlap: u8,
    /// What comes behind a load that overlaps.
    pub(super) behind: Behind,
    /// Whether what is behind it is stalled in ID when it turns out that it has to go through the pipe again.
    pub(super) stuck: bool,
    /// Until when a miss of what is behind it holds the fetch, if it has to go through the pipe again.
    pub(super) held: Option<i64>,
    /// Whether it accesses a device.
    pub(super) device: bool,
    /// Cycles of further accesses.
    pub(super) again: u32,
}
