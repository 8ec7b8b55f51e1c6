//! The reports of a run for observers of blocks: its instructions, accesses and operands, written to the engine's log.
//!
//! A run's own writes go to places behind the cursors of [`Cursors`]. Where it is left, the cursors move on.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value};
use tollgate_riscv::tier::{Reports, Run};
use tollgate_riscv::{Insn, Op, Pass, Touch};

use super::{Emitter, F};
use crate::notes::{ENTRY, Entries, Left, Notes};
use crate::state::{Cursors, State};

impl Emitter<'_> {
    /// Whether the observer receives runs.
    pub(super) fn notes_runs(&self) -> bool {
        matches!(self.reports, Reports::Runs { .. })
    }

    /// Begins another run.
    pub(super) fn begin_notes(&mut self, run: &Run) {
        self.notes = Notes::new(run);
    }

    /// The physical address of an access, times two, plus one if it stored; `place` is its index of RAM.
    fn address(&mut self, is_store: bool, place: Value) -> Value {
        let twice = self.builder.ins().ishl_imm_s(place, 1);
        let base = self.constant(self.ram_base << 1 | u64::from(is_store));
        self.builder.ins().iadd(base, twice)
    }

    /// An access of the current instruction; `place` is its index of RAM.
    pub(super) fn note_access(&mut self, is_store: bool, va: Value, place: Value) {
        let at = self.address(is_store, place);
        let entries = self.notes.accesses;
        self.notes.accesses =
            self.entry(offset_of!(State, cursors.accesses), entries, Touch::LAYOUT, [va, at]);
    }

    /// The operands of an instruction that has not written its result.
    pub(super) fn note_operands(&mut self, insn: &Insn) {
        if !matches!(self.reports, Reports::Runs { operands: true, .. }) || !insn.op.by_operands() {
            return;
        }
        let offset = if matches!(insn.op, Op::FdivS | Op::FdivD | Op::FsqrtS | Op::FsqrtD) { F } else { 0 };
        let values = [insn.rs1, insn.rs2].map(|register| {
            let value = self.read(offset + register);
            if offset == F { value } else { self.outside(value) }
        });
        let entries = self.notes.operands;
        self.notes.operands = self.entry(offset_of!(State, cursors.operands), entries, [0, 8], values);
    }

    /// Writes another entry.
    fn entry(&mut self, cursor: usize, entries: Entries, layout: [usize; 2], values: [Value; 2]) -> Entries {
        let first = entries.first.unwrap_or_else(|| self.field(cursor));
        for (offset, value) in layout.into_iter().zip(values) {
            let offset = (entries.count * ENTRY) as i32 + offset as i32;
            self.builder.ins().store(MemFlagsData::trusted(), value, first, offset);
        }
        Entries { first: Some(first), count: entries.count + 1 }
    }

    /// The run is left, with its entries.
    pub(super) fn note(&mut self, left: &Left) {
        let (Notes { place, .. }, passed) = (self.notes, self.passed);
        if !self.notes_runs() || passed == 0 {
            return;
        }
        let taken = matches!(left, Left::Taken);
        let number = Pass::new(place, place + passed as u16, taken, 0).number();
        let number = self.constant(number);
        let (target, number) = match *left {
            Left::Jumped(to, next) => {
                let jumps = self.builder.ins().icmp_imm_s(IntCC::NotEqual, to, next as i64);
                let jumps = self.builder.ins().uextend(I64, jumps);
                (to, self.builder.ins().bor(number, jumps))
            }
            _ => (self.constant(0), number),
        };
        let passes = Entries::default();
        let passes = self.entry(offset_of!(State, cursors.passes), passes, Pass::LAYOUT, [target, number]);
        let Notes { accesses, operands, .. } = self.notes;
        for (cursor, entries) in [
            (offset_of!(Cursors, passes), passes),
            (offset_of!(Cursors, accesses), accesses),
            (offset_of!(Cursors, operands), operands),
        ] {
            self.advance(offset_of!(State, cursors) + cursor, entries);
        }
    }

    /// Moves a cursor on behind what was written.
    fn advance(&mut self, cursor: usize, entries: Entries) {
        if let Some(first) = entries.first {
            let after = self.plus(first, entries.count * ENTRY);
            self.set_field(cursor, after);
        }
    }

    /// Reports a number of retired instructions to the observer, and continues if the limit is not exceeded.
    pub(super) fn tell(&mut self, retired: Value, on: Block) {
        self.set_field(offset_of!(State, retired), retired);
        let nothing = self.constant(0);
        self.call_reporter([nothing; 3]);
        let limit = self.field(offset_of!(State, limit));
        let goes_on = self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, retired, limit);
        let leaving = self.builder.create_block();
        self.builder.ins().brif(goes_on, on, &[], leaving, &[]);
        self.builder.switch_to_block(leaving);
    }
}
