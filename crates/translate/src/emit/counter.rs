//! What observers that count need of an instruction: counts, and probes that find out whether its accesses are quiet.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use tollgate_riscv::BlockInsn;
use tollgate_riscv::tier::{Kind, Passed, Reports, View};

use super::Emitter;
use crate::state::{Probe, State, report_code};

impl Emitter<'_> {
    /// Stores what the block in hand has counted.
    pub(super) fn store_counts(&mut self) {
        for (offset, count) in self.counts.unsettled.clone() {
            let before = self.field(offset);
            let after = self.plus(before, count as i64);
            self.set_field(offset, after);
        }
    }

    /// The instruction retires: its fetch is counted, and reported if it is not quiet.
    pub(super) fn fetched(&mut self, BlockInsn { pc, insn, page, .. }: &BlockInsn) {
        let Reports::Counts(sight) = self.reports else { return };
        if sight.bytes {
            self.counts.add(offset_of!(Passed, fetched_bytes), insn.len.into());
        }
        let pa = u64::from(*page) << 12 | pc & 0xfff;
        let shift = sight.fetches.line_shift;
        let [first, last] = [pa, pa + u64::from(insn.len) - 1].map(|byte| byte >> shift.unwrap_or(12));
        let before = self.counts.line.replace(first);
        let mut loud = Vec::new();
        if shift.is_some() {
            let lines = [(before != Some(first)).then_some(first), (last != first).then_some(last)];
            for line in lines.into_iter().flatten() {
                let [line, wanted] = [line, line << 2].map(|value| self.constant(value));
                loud.push(self.is_loud_line(offset_of!(State, fetches), line, wanted, false));
            }
        }
        if sight.fetches.pages && std::mem::take(&mut self.counts.probes_page) {
            let va = self.constant(*pc);
            loud.push(self.is_loud_page(offset_of!(State, fetches), va));
        }
        if loud.is_empty() {
            return;
        }
        if last != first && shift.is_some() {
            // (Some observers see the first byte of an instruction and no other.)
            self.counts.line = Some(u64::MAX);
        }
        self.rarely(&loud, |emitter| {
            let [va, pa] = [*pc, pa].map(|address| emitter.constant(address));
            emitter.report(Kind::Fetch, u64::from(insn.len), va, pa);
        });
    }

    /// An access of the instruction that retires is counted, and reported if it is not quiet; `place` is its index of RAM.
    pub(super) fn accessed(&mut self, kind: Kind, size: u64, va: Value, place: Value) {
        let Reports::Counts(sight) = self.reports else { return self.note_access(kind, va, place) };
        let is_store = kind == Kind::Store;
        let [count, bytes] = match is_store {
            true => [offset_of!(Passed, stores), offset_of!(Passed, stored_bytes)],
            false => [offset_of!(Passed, loads), offset_of!(Passed, loaded_bytes)],
        };
        self.counts.add(count, 1);
        if sight.bytes {
            self.counts.add(bytes, size);
        }
        let View { line_shift, pages } = sight.data;
        let mut loud = Vec::new();
        let pa = self.plus(place, self.ram_base as i64);
        if let Some(shift) = line_shift {
            let line = self.builder.ins().ushr_imm_s(pa, i64::from(shift));
            let wanted = self.builder.ins().ishl_imm_s(line, 2);
            loud.push(self.is_loud_line(offset_of!(State, data), line, wanted, is_store));
        }
        if pages {
            loud.push(self.is_loud_page(offset_of!(State, data), va));
        }
        self.rarely(&loud, |emitter| emitter.report(kind, size, va, pa));
    }

    /// Whether accesses to a line are not quiet; `wanted` is its number times 4.
    fn is_loud_line(&mut self, probe: usize, line: Value, wanted: Value, is_store: bool) -> Value {
        let last = self.field(probe + offset_of!(Probe, last));
        let place = self.builder.ins().band(line, last);
        let offset = self.builder.ins().ishl_imm_s(place, 3);
        let lines = self.field(probe + offset_of!(Probe, lines));
        let entry = self.builder.ins().iadd(lines, offset);
        let entry = self.builder.ins().load(I64, MemFlagsData::trusted(), entry, 0);
        let entry = if is_store { entry } else { self.builder.ins().bor_imm_s(entry, 2) };
        let wanted = self.plus(wanted, 3);
        self.builder.ins().icmp(IntCC::NotEqual, entry, wanted)
    }

    /// Whether accesses to a page are not quiet.
    fn is_loud_page(&mut self, probe: usize, va: Value) -> Value {
        let mask = self.field(probe + offset_of!(Probe, page_mask));
        let page = self.field(probe + offset_of!(Probe, page));
        let masked = self.builder.ins().band(va, mask);
        self.builder.ins().icmp(IntCC::NotEqual, masked, page)
    }

    fn report(&mut self, kind: Kind, size: u64, va: Value, pa: Value) {
        let [what, reporter] = [report_code(kind, size), self.reporter].map(|value| self.constant(value));
        self.builder.ins().call_indirect(self.report, reporter, &[self.state, what, va, pa]);
    }
}
