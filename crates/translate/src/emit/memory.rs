//! The translation of loads and stores.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use tollgate_riscv::tier::{Kind, Reports, TLB_ENTRIES, TlbEntry};
use tollgate_riscv::{BlockInsn, Class, Insn, Op};

use super::{Emitter, State, offset_of, variables};
use crate::found::{Found, MOST_SPAN};

/// The bits of an address that are its offset in a page.
const OFFSET: u64 = 4095;
/// The size of an entry of the TLB as a power of two.
const ENTRY_SHIFT: u32 = size_of::<TlbEntry>().trailing_zeros();
/// Reduces a page number, shifted by that, to the offset of its entry.
const TLB_MASK: i64 = (TLB_ENTRIES as i64 - 1) << ENTRY_SHIFT;
const _: () = assert!(size_of::<TlbEntry>().is_power_of_two());

/// The access of a load or store: its kind, and its bytes.
fn access(insn: &Insn) -> Option<(Kind, i64)> {
    let kind = match insn.row().class {
        Class::Load | Class::FpLoad => Kind::Load,
        Class::Store | Class::FpStore => Kind::Store,
        _ => return None,
    };
    Some((kind, 1 << (insn.row().bits >> 12 & 3)))
}

impl Emitter<'_> {
    /// The host's address of an access, which is done from here on, and an offset. Leaves before the instruction if the page is
    /// not in the table.
    ///
    /// The first access by a register also finds what follows by the same register in the `rest` of the run, if that is near: a
    /// compiler's stores to a stack frame, or an object's fields. If they are in two pages, the interpreter does them.
    fn find(&mut self, here: &BlockInsn, rest: &[BlockInsn], kind: Kind, bytes: i64) -> (Value, i32) {
        let insn = &here.insn;
        let known = self.known[usize::from(kind == Kind::Store)].filter(|found| found.contains(insn, bytes));
        let found = known.unwrap_or_else(|| {
            let (mut from, mut to) = (insn.imm, insn.imm + bytes);
            for BlockInsn { insn: next, .. } in rest {
                if let Some((_, bytes)) = access(next).filter(|&(of, _)| of == kind)
                    && next.rs1 == insn.rs1
                {
                    let (first, last) = (from.min(next.imm), to.max(next.imm + bytes));
                    if last - first <= MOST_SPAN {
                        (from, to) = (first, last);
                    }
                }
                if variables(next).1 == insn.rs1 {
                    break;
                }
            }
            self.look_up(here, kind, bytes, (from, to))
        });
        self.known[usize::from(kind == Kind::Store)] = Some(found);
        self.commit(here);
        if self.reports != Reports::Nothing {
            let base = self.read(insn.rs1);
            let va = self.plus(base, insn.imm);
            let place = self.builder.ins().iadd(va, found.addend);
            self.accessed(kind, bytes as u64, va, place);
        }
        (found.host, (insn.imm - found.from) as i32)
    }

    /// Finds the bytes of an access and those around it, from one offset up to another.
    fn look_up(&mut self, here: &BlockInsn, kind: Kind, bytes: i64, (from, to): (i64, i64)) -> Found {
        let BlockInsn { pc, insn, .. } = here;
        let base = self.read(insn.rs1);
        let first = self.plus(base, from);
        let table = if kind == Kind::Store { offset_of!(State, stores) } else { offset_of!(State, loads) };
        let table = self.field(table);
        let page = self.builder.ins().ushr_imm_s(first, i64::from(12 - ENTRY_SHIFT));
        let offset = self.builder.ins().band_imm_s(page, TLB_MASK);
        let entry = self.builder.ins().iadd(table, offset);
        let tag =
            self.builder.ins().load(I64, MemFlagsData::trusted(), entry, offset_of!(TlbEntry, tag) as i32);
        let is_alone = to - from == bytes;
        let aligned = !self.misaligned && bytes > 1;
        let wanted = if aligned && is_alone {
            self.builder.ins().band_imm_s(first, (!OFFSET | (bytes as u64 - 1)) as i64)
        } else {
            // The last byte's page differs from the first one's only if both are needed.
            let last = self.plus(base, to - 1);
            let page = self.builder.ins().band_imm_s(last, !OFFSET as i64);
            if aligned {
                let va = self.plus(base, insn.imm);
                let low = self.builder.ins().band_imm_s(va, bytes - 1);
                self.builder.ins().bor(page, low)
            } else {
                page
            }
        };
        let differs = self.builder.ins().icmp(IntCC::NotEqual, tag, wanted);
        let addend =
            self.builder.ins().load(I64, MemFlagsData::trusted(), entry, offset_of!(TlbEntry, addend) as i32);
        let place = self.builder.ins().iadd(first, addend);
        // The interpreter checks the same: no table can make an access leave RAM.
        let ram_bytes = self.field(offset_of!(State, ram_bytes));
        let most = self.builder.ins().iadd_imm_s(ram_bytes, from - to);
        let is_outside = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, place, most);
        self.leave_before(&[differs, is_outside], *pc);
        let ram = self.field(offset_of!(State, ram));
        let host = self.builder.ins().iadd(ram, place);
        let alignment = (!self.misaligned).then_some((insn.imm, bytes));
        Found { base: insn.rs1, from, to, alignment, host, addend }
    }

    /// The host's address of an atomic, which is aligned and done from here on, and its physical address.
    pub(super) fn find_aligned(&mut self, here: &BlockInsn, kind: Kind, bytes: i64) -> (Value, Value) {
        let misaligned = std::mem::replace(&mut self.misaligned, false);
        let found = self.look_up(here, kind, bytes, (0, bytes));
        self.misaligned = misaligned;
        self.commit(here);
        let va = self.read(here.insn.rs1);
        let place = self.builder.ins().iadd(va, found.addend);
        let pa = self.plus(place, self.ram_base as i64);
        (found.host, pa)
    }

    pub(super) fn load(&mut self, here: &BlockInsn, rest: &[BlockInsn]) -> Option<()> {
        let insn = &here.insn;
        let (kind, bytes) = access(insn)?;
        let (host, offset) = self.find(here, rest, kind, bytes);
        let (ins, memory) = (self.builder.ins(), MemFlagsData::new().with_notrap());
        let value = match insn.op {
            Op::Lb => ins.sload8(I64, memory, host, offset),
            Op::Lh => ins.sload16(I64, memory, host, offset),
            Op::Lw => ins.sload32(memory, host, offset),
            Op::Lbu => ins.uload8(I64, memory, host, offset),
            Op::Lhu => ins.uload16(I64, memory, host, offset),
            Op::Lwu => ins.uload32(memory, host, offset),
            Op::Flh => {
                let value = ins.uload16(I64, memory, host, offset);
                self.builder.ins().bor_imm_s(value, !0xffff)
            }
            Op::Flw => {
                let value = ins.uload32(memory, host, offset);
                self.boxed(value)
            }
            _ => ins.load(I64, memory, host, offset),
        };
        self.write(variables(insn).1, value);
        Some(())
    }

    pub(super) fn store(&mut self, here: &BlockInsn, rest: &[BlockInsn]) -> Option<()> {
        let insn = &here.insn;
        let (kind, bytes) = access(insn)?;
        let (host, offset) = self.find(here, rest, kind, bytes);
        let value = self.read(variables(insn).0[1]);
        let (ins, memory) = (self.builder.ins(), MemFlagsData::new().with_notrap());
        match bytes {
            1 => ins.istore8(memory, value, host, offset),
            2 => ins.istore16(memory, value, host, offset),
            4 => ins.istore32(memory, value, host, offset),
            _ => ins.store(memory, value, host, offset),
        };
        Some(())
    }
}
