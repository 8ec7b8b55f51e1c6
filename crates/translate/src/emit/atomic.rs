//! The translation of atomic instructions: on the only hart, a load and a store are atomic.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData};
use tollgate_riscv::tier::Kind;
use tollgate_riscv::{BlockInsn, Op};

use super::{Emitter, State, offset_of};
use crate::state::NOT_RESERVED;

impl Emitter<'_> {
    /// A read, an operation and a write.
    pub(super) fn amo(&mut self, here: &BlockInsn) -> Option<()> {
        use Op::{
            AmoaddD, AmoaddW, AmoandD, AmoandW, AmomaxD, AmomaxW, AmomaxuD, AmomaxuW, AmominD, AmominW,
            AmominuD, AmominuW, AmoorD, AmoorW, AmoswapD, AmoswapW, AmoxorD, AmoxorW,
        };
        let insn = &here.insn;
        let kept_if = match insn.op {
            AmominW | AmominD => Some(IntCC::SignedLessThan),
            AmomaxW | AmomaxD => Some(IntCC::SignedGreaterThan),
            AmominuW | AmominuD => Some(IntCC::UnsignedLessThan),
            AmomaxuW | AmomaxuD => Some(IntCC::UnsignedGreaterThan),
            AmoswapW | AmoswapD | AmoaddW | AmoaddD | AmoxorW | AmoxorD | AmoandW | AmoandD | AmoorW
            | AmoorD => None,
            _ => return None,
        };
        let (address, _) = self.find_aligned(here, Kind::Store, width(insn.op));
        let wide = width(insn.op) == 8;
        let of_width = if wide { I64 } else { I32 };
        let memory = MemFlagsData::new().with_notrap();
        let old = self.builder.ins().load(of_width, memory, address, 0);
        let operand = self.read(insn.rs2);
        let operand = if wide { operand } else { self.builder.ins().ireduce(I32, operand) };
        let ins = self.builder.ins();
        let new = match (insn.op, kept_if) {
            (_, Some(condition)) => {
                let is_kept = ins.icmp(condition, old, operand);
                self.builder.ins().select(is_kept, old, operand)
            }
            (AmoaddW | AmoaddD, _) => ins.iadd(old, operand),
            (AmoxorW | AmoxorD, _) => ins.bxor(old, operand),
            (AmoandW | AmoandD, _) => ins.band(old, operand),
            (AmoorW | AmoorD, _) => ins.bor(old, operand),
            _ => operand,
        };
        self.builder.ins().store(memory, new, address, 0);
        let old = if wide { old } else { self.builder.ins().sextend(I64, old) };
        self.write(insn.rd, old);
        Some(())
    }

    /// A load that reserves what it reads.
    pub(super) fn load_reserved(&mut self, here: &BlockInsn) {
        let (address, pa) = self.find_aligned(here, Kind::Load, width(here.insn.op));
        let memory = MemFlagsData::new().with_notrap();
        let value = match width(here.insn.op) {
            8 => self.builder.ins().load(I64, memory, address, 0),
            _ => self.builder.ins().sload32(memory, address, 0),
        };
        self.set_field(offset_of!(State, reserved), pa);
        self.write(here.insn.rd, value);
    }

    /// A store of what is reserved, which is nothing afterwards.
    pub(super) fn store_conditional(&mut self, here: &BlockInsn) {
        let insn = &here.insn;
        let (address, pa) = self.find_aligned(here, Kind::Store, width(insn.op));
        let reserved = self.field(offset_of!(State, reserved));
        let nothing = self.constant(NOT_RESERVED);
        self.set_field(offset_of!(State, reserved), nothing);
        let fails = self.builder.ins().icmp(IntCC::NotEqual, reserved, pa);
        let value = self.read(insn.rs2);
        let [holding, on] = [0; 2].map(|_| self.builder.create_block());
        self.builder.ins().brif(fails, on, &[], holding, &[]);
        self.builder.switch_to_block(holding);
        let memory = MemFlagsData::new().with_notrap();
        match width(insn.op) {
            8 => self.builder.ins().store(memory, value, address, 0),
            _ => self.builder.ins().istore32(memory, value, address, 0),
        };
        self.builder.ins().jump(on, &[]);
        self.builder.switch_to_block(on);
        let failed = self.builder.ins().uextend(I64, fails);
        self.write(insn.rd, failed);
    }
}

/// The bytes of an access.
fn width(op: Op) -> i64 {
    1 << (op.row().bits >> 12 & 3)
}
