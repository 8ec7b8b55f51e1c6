//! Reports of an instruction for counting observers: counts, and probes that check whether its accesses are quiet.

use std::collections::BTreeMap;
use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use tollgate_riscv::tier::{Kind, LineView, Passed, Region, Reports, View};
use tollgate_riscv::{BlockInsn, Class};

use super::Emitter;
use crate::state::{Probe, State, report_code};

/// The bytes of an entry of [`Quiet::lines`](tollgate_riscv::tier::Quiet::lines).
const ENTRY: i32 = size_of::<u64>() as i32;

/// A line that was looked up.
pub(super) struct Line {
    /// Whether the access is not quiet.
    pub(super) is_loud: Value,
    /// Its place in the table.
    at: Value,
    /// The tag that is there if all accesses to it are quiet.
    quiet: Value,
}

/// The physical address of an instruction.
fn address(BlockInsn { pc, page, .. }: &BlockInsn) -> u64 {
    u64::from(*page) << 12 | pc & 0xfff
}

/// The lines of the first and of the last byte of an instruction; without a cache, pages.
fn lines(here: &BlockInsn, view: View) -> [u64; 2] {
    let shift = view.lines.map_or(12, |lines| lines.shift);
    [0, u64::from(here.insn.len) - 1].map(|byte| (address(here) + byte) >> shift)
}

/// The line that was fetched from last behind an instruction.
fn line_after(here: &BlockInsn, view: View) -> u64 {
    let [first, last] = lines(here, view);
    // (Some observers see the first byte of an instruction and no other.)
    if first == last { first } else { u64::MAX }
}

impl Emitter<'_> {
    /// Finds out from which line the fetch before each run was: from that of each instruction that leads there.
    pub(super) fn find_lines(&mut self, region: &Region) {
        let Reports::Counts(sight) = self.reports else { return };
        let mut lines = BTreeMap::from([(region.entry, None)]);
        for run in &region.runs {
            for (here, following) in run.insns.iter().zip((1..).map(|place| run.insns.get(place))) {
                let BlockInsn { pc, insn, .. } = here;
                let line = Some(line_after(here, sight.fetches));
                let (target, next) = (pc.wrapping_add(insn.imm as u64), pc.wrapping_add(insn.len.into()));
                let class = insn.row().class;
                let to = matches!(class, Class::Branch | Class::Jump).then_some(target);
                let on = (following.is_none() && class != Class::Jump).then_some(next);
                let returns =
                    (class == Class::JumpReg).then_some(&self.returns).into_iter().flatten().copied();
                for begin in to.into_iter().chain(on).chain(returns) {
                    let before = lines.entry(begin).or_insert(line);
                    *before = before.filter(|_| *before == line);
                }
            }
        }
        self.lines = lines;
    }

    /// Stores the counts of the current block.
    pub(super) fn store_counts(&mut self) {
        for (offset, count) in self.counts.unsettled.clone() {
            let before = self.field(offset);
            let after = self.plus(before, count as i64);
            self.set_field(offset, after);
        }
    }

    /// The instruction retires: its fetch is counted, and reported if it is not quiet.
    pub(super) fn fetched(&mut self, here: &BlockInsn) {
        let BlockInsn { pc, insn, .. } = here;
        let Reports::Counts(sight) = self.reports else { return };
        let va = self.xlen.outside(*pc);
        if sight.bytes {
            self.counts.add(offset_of!(Passed, fetched_bytes), insn.len.into());
        }
        let view = sight.fetches.lines;
        let [first, last] = lines(here, sight.fetches);
        let before = self.counts.line.replace(line_after(here, sight.fetches));
        let mut loud = Vec::new();
        if let Some(LineView { count, .. }) = view {
            let lines = [(before != Some(first)).then_some(first), (last != first).then_some(last)];
            for line in lines.into_iter().flatten() {
                let table = self.field(offset_of!(State, fetches.lines));
                let place = (line & u64::from(count - 1)) as i32 * ENTRY;
                let entry = self.builder.ins().load(I64, MemFlagsData::trusted(), table, place);
                // (No store makes a line of instructions quiet.)
                let wanted = self.constant(line << 2 | 1);
                loud.push(self.builder.ins().icmp(IntCC::NotEqual, entry, wanted));
            }
        }
        if sight.fetches.pages && std::mem::take(&mut self.counts.probes_page) {
            let va = self.constant(va);
            loud.push(self.is_loud_page(offset_of!(State, fetches), va));
        }
        if loud.is_empty() {
            return;
        }
        self.rarely(&loud, |emitter| {
            let [va, pa] = [va, address(here)].map(|address| emitter.constant(address));
            emitter.report(Kind::Fetch, u64::from(insn.len), va, pa);
        });
    }

    /// An access of the instruction that retires is counted, and reported if it is not quiet; `place` is its index of RAM.
    pub(super) fn accessed(&mut self, kind: Kind, size: u64, va: Value, place: Value) {
        let is_store = kind == Kind::Store;
        let sight = match self.reports {
            Reports::Counts(sight) => sight,
            Reports::Runs { accesses: true, .. } => return self.note_access(is_store, va, place),
            _ => return,
        };
        let va = self.outside(va);
        let [count, bytes] = match is_store {
            true => [offset_of!(Passed, stores), offset_of!(Passed, stored_bytes)],
            false => [offset_of!(Passed, loads), offset_of!(Passed, loaded_bytes)],
        };
        self.counts.add(count, 1);
        if sight.bytes {
            self.counts.add(bytes, size);
        }
        let View { lines, pages } = sight.data;
        let mut loud = Vec::new();
        if pages {
            loud.push(self.is_loud_page(offset_of!(State, data), va));
        }
        let (noted, reported) = (lines.filter(|lines| lines.fills), lines.filter(|lines| !lines.fills));
        loud.extend(reported.map(|lines| self.line(lines, place, is_store).is_loud));
        self.rarely(&loud, |emitter| {
            let pa = emitter.plus(place, emitter.ram_base as i64);
            emitter.report(kind, size, va, pa);
        });
        // (After a report, tables may be elsewhere.)
        if let Some(lines) = noted {
            let line = self.line(lines, place, is_store);
            self.rarely(&[line.is_loud], |emitter| emitter.note_line(&line, is_store));
        }
    }

    /// Looks up the line of an access; `place` is its index of RAM.
    pub(super) fn line(
        &mut self,
        LineView { shift, count, .. }: LineView,
        place: Value,
        is_store: bool,
    ) -> Line {
        // (An index of RAM has the same place in a table as its address: `region` makes sure of it.)
        let line = self.builder.ins().ushr_imm_s(place, i64::from(shift));
        let line = self.builder.ins().band_imm_s(line, i64::from(count) - 1);
        let offset = self.builder.ins().ishl_imm_s(line, i64::from(ENTRY.trailing_zeros()));
        let table = self.field(offset_of!(State, data.lines));
        let at = self.builder.ins().iadd(table, offset);
        let entry = self.builder.ins().load(I64, MemFlagsData::trusted(), at, 0);
        let entry = if is_store { entry } else { self.builder.ins().bor_imm_s(entry, 2) };
        let quiet = self.builder.ins().ushr_imm_s(place, i64::from(shift - 2));
        let quiet = self.builder.ins().bor_imm_s(quiet, 3);
        let quiet = self.plus(quiet, (self.ram_base >> (shift - 2)) as i64);
        let is_loud = self.builder.ins().icmp(IntCC::NotEqual, entry, quiet);
        Line { is_loud, at, quiet }
    }

    /// Makes a line quiet; yields its entry.
    pub(super) fn make_quiet(&mut self, line: &Line, is_store: bool) -> Value {
        let entry = if is_store { line.quiet } else { self.plus(line.quiet, -2) };
        self.builder.ins().store(MemFlagsData::trusted(), entry, line.at, 0);
        entry
    }

    /// Makes a line quiet, and notes that for the observer.
    fn note_line(&mut self, line: &Line, is_store: bool) {
        let trusted = MemFlagsData::trusted();
        let entry = self.make_quiet(line, is_store);
        let noted = self.field(offset_of!(State, noted));
        self.builder.ins().store(trusted, entry, noted, 0);
        let noted = self.plus(noted, ENTRY.into());
        self.set_field(offset_of!(State, noted), noted);
        let end = self.field(offset_of!(State, noted_end));
        let is_full = self.builder.ins().icmp(IntCC::Equal, noted, end);
        self.rarely(&[is_full], |emitter| {
            let nothing = emitter.constant(0);
            emitter.call_reporter([nothing; 3]);
        });
    }

    /// Whether accesses to a page are not quiet.
    pub(super) fn is_loud_page(&mut self, probe: usize, va: Value) -> Value {
        let mask = self.field(probe + offset_of!(Probe, page_mask));
        let page = self.field(probe + offset_of!(Probe, page));
        let masked = self.builder.ins().band(va, mask);
        self.builder.ins().icmp(IntCC::NotEqual, masked, page)
    }

    fn report(&mut self, kind: Kind, size: u64, va: Value, pa: Value) {
        let what = self.constant(report_code(kind, size));
        self.call_reporter([what, va, pa]);
    }

    /// Reports an access, or, if nothing else is given than 0, what was noted.
    pub(super) fn call_reporter(&mut self, [what, va, pa]: [Value; 3]) {
        let reporter = self.constant(self.reporter);
        self.builder.ins().call_indirect(self.report, reporter, &[self.state, what, va, pa]);
    }
}
