//! What loads and stores become.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use tollgate_riscv::tier::{Kind, TLB_ENTRIES, TlbEntry};
use tollgate_riscv::{BlockInsn, Op};

use super::{Emitter, State, offset_of, variables};

/// The bits of an address that are its offset in a page.
const OFFSET: u64 = 4095;
/// The size of an entry of the TLB as a power of two.
const ENTRY_SHIFT: u32 = size_of::<TlbEntry>().trailing_zeros();
/// Reduces a page number, shifted by that, to the offset of its entry.
const TLB_MASK: i64 = (TLB_ENTRIES as i64 - 1) << ENTRY_SHIFT;
const _: () = assert!(size_of::<TlbEntry>().is_power_of_two());

impl Emitter<'_> {
    /// The address in RAM of an access, which is done from here on. Leaves before the instruction if the page is not in the table.
    pub(super) fn find(&mut self, here: &BlockInsn, kind: Kind, bytes: u64) -> Value {
        let BlockInsn { pc, insn, .. } = here;
        let base = self.read(insn.rs1);
        let va = self.plus(base, insn.imm);
        let table = if kind == Kind::Store { offset_of!(State, stores) } else { offset_of!(State, loads) };
        let table = self.field(table);
        let page = self.builder.ins().ushr_imm_s(va, i64::from(12 - ENTRY_SHIFT));
        let offset = self.builder.ins().band_imm_s(page, TLB_MASK);
        let entry = self.builder.ins().iadd(table, offset);
        let tag =
            self.builder.ins().load(I64, MemFlagsData::trusted(), entry, offset_of!(TlbEntry, tag) as i32);
        let wanted = if self.misaligned {
            // The last byte's page differs from the first one's only if both are needed.
            let last = self.builder.ins().iadd_imm_s(va, bytes as i64 - 1);
            self.builder.ins().band_imm_s(last, !OFFSET as i64)
        } else {
            self.builder.ins().band_imm_s(va, (!OFFSET | (bytes - 1)) as i64)
        };
        let differs = self.builder.ins().icmp(IntCC::NotEqual, tag, wanted);
        let addend =
            self.builder.ins().load(I64, MemFlagsData::trusted(), entry, offset_of!(TlbEntry, addend) as i32);
        let place = self.builder.ins().iadd(va, addend);
        // The interpreter checks the same: no table can make an access leave RAM.
        let ram_bytes = self.field(offset_of!(State, ram_bytes));
        let most = self.builder.ins().iadd_imm_s(ram_bytes, -(bytes as i64));
        let is_outside = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, place, most);
        self.leave_if_any(&[differs, is_outside], *pc, true);
        self.commit(here);
        self.accessed(kind, bytes, va, place);
        let ram = self.field(offset_of!(State, ram));
        self.builder.ins().iadd(ram, place)
    }

    pub(super) fn load(&mut self, here: &BlockInsn) -> Option<()> {
        let insn = &here.insn;
        let (width, signed) = match insn.op {
            Op::Lb => (I8, true),
            Op::Lh => (I16, true),
            Op::Lw => (I32, true),
            Op::Ld => (I64, true),
            Op::Lbu => (I8, false),
            Op::Lhu => (I16, false),
            Op::Lwu | Op::Flw => (I32, false),
            Op::Fld => (I64, false),
            _ => return None,
        };
        let address = self.find(here, Kind::Load, u64::from(width.bytes()));
        let value = self.builder.ins().load(width, MemFlagsData::new().with_notrap(), address, 0);
        let value = match (width, signed) {
            (I64, _) => value,
            (_, true) => self.builder.ins().sextend(I64, value),
            (_, false) => self.builder.ins().uextend(I64, value),
        };
        let value = if insn.op == Op::Flw { self.boxed(value) } else { value };
        self.write(variables(insn).1, value);
        Some(())
    }

    pub(super) fn store(&mut self, here: &BlockInsn) -> Option<()> {
        let insn = &here.insn;
        let width = match insn.op {
            Op::Sb => I8,
            Op::Sh => I16,
            Op::Sw | Op::Fsw => I32,
            Op::Sd | Op::Fsd => I64,
            _ => return None,
        };
        let address = self.find(here, Kind::Store, u64::from(width.bytes()));
        let value = self.read(variables(insn).0[1]);
        let value = if width == I64 { value } else { self.builder.ins().ireduce(width, value) };
        self.builder.ins().store(MemFlagsData::new().with_notrap(), value, address, 0);
        Some(())
    }
}
