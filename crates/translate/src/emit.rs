//! The translation of each instruction.

mod alu;
mod atomic;
mod counter;
mod float;
mod memory;
mod notes;

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, Function, InstBuilder, MemFlagsData, SigRef, Signature, Value,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use tollgate_riscv::tier::{LARGEST_REGION, LOG, LineView, ROOM, Region, Reports, Run, STARTS, Start, View};
use tollgate_riscv::{BlockInsn, Class, Insn, Op, Xlen};

use crate::found::Found;
use crate::notes::{Left, Notes};
use crate::reporter::{self, Counts};
use crate::state::State;

/// The upper half of a register that holds a single-precision value.
const NAN_BOX: u64 = 0xffff_ffff_0000_0000;
const _: () = assert!(size_of::<Start>().is_power_of_two());

/// The number of the variable of a floating-point register; those of integer registers are their own.
const F: u8 = 32;
/// The most places in a region that a return is compared with.
const MOST_RETURNS: usize = 8;
/// Bits for how many instructions of a block retired.
const PASSED_BITS: i64 = 16;
const _: () = assert!(LARGEST_REGION < 1 << PASSED_BITS);

/// The signature of a region's function. Each ends by returning, or by a jump to the next: the stack does not grow.
fn signature(target: TargetFrontendConfig) -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.push(AbiParam::new(target.pointer_type()));
    signature
}

/// Writes the function that calls those of regions.
pub(crate) fn caller(
    function: &mut Function,
    context: &mut FunctionBuilderContext,
    target: TargetFrontendConfig,
) {
    function.signature.call_conv = target.default_call_conv;
    function.signature.params.extend([AbiParam::new(target.pointer_type()); 2]);
    let mut builder = FunctionBuilder::new(function, context);
    let block = builder.create_block();
    builder.append_block_params_for_function_params(block);
    builder.switch_to_block(block);
    let [state, code] = [0, 1].map(|place| builder.block_params(block)[place]);
    let callee = builder.import_signature(signature(target));
    builder.ins().call_indirect(callee, code, &[state]);
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(target);
}

/// The variables that an instruction reads and that it writes.
fn variables(insn: &Insn) -> ([u8; 3], u8) {
    let [rs1, rs2, rs3, rd] = [insn.rs1, insn.rs2, insn.rs3, insn.rd];
    match insn.row().class {
        Class::FpLoad => ([rs1, 0, 0], F + rd),
        Class::FpStore => ([rs1, F + rs2, 0], 0),
        Class::FpFp => ([F + rs1, F + rs2, F + rs3], F + rd),
        Class::FpInt => ([F + rs1, F + rs2, 0], rd),
        Class::IntFp => ([rs1, 0, 0], F + rd),
        _ => ([rs1, rs2, 0], rd),
    }
}

/// Whether translations can look up lines as they are to be seen.
fn can_index(LineView { shift, count, .. }: LineView, ram_base: u64) -> bool {
    // (No place in a table is further away than an offset can be, and RAM begins with the first one.)
    (2..32).contains(&shift)
        && u32::is_power_of_two(count)
        && count < 1 << 28
        && ram_base.is_multiple_of(u64::from(count) << shift)
}

/// Writes the function of a region; `None` if its entry is not in it, a run is longer than a log has room for, or there cannot be a
/// cache of lines as they are to be seen. `reporter` is the code of [`reporter`](reporter::reporter).
pub(crate) fn region(
    region: &Region,
    function: &mut Function,
    context: &mut FunctionBuilderContext,
    isa: &dyn TargetIsa,
    reporter: u64,
) -> Option<()> {
    let target = isa.frontend_config();
    let first_pc = |run: &Run| run.insns.first().map(|insn| insn.pc);
    let begins: BTreeSet<u64> = region.runs.iter().filter_map(first_pc).collect();
    if !begins.contains(&region.entry) {
        return None;
    }
    // A log has room for so much behind a look whether it is full.
    let longest = region.runs.iter().map(|run| run.insns.len()).max().unwrap_or(0);
    if matches!(region.reports, Reports::Runs { .. }) && longest > LOG - ROOM as usize {
        return None;
    }
    let views = match region.reports {
        Reports::Counts(sight) => [sight.fetches, sight.data],
        _ => [View::default(); 2],
    };
    if !views.into_iter().filter_map(|view| view.lines).all(|lines| can_index(lines, region.ram_base)) {
        return None;
    }
    function.signature = signature(target);
    let mut builder = FunctionBuilder::new(function, context);

    let (mut used, mut returns) = (BTreeSet::new(), BTreeSet::new());
    for BlockInsn { pc, insn, .. } in region.insns() {
        let (reads, writes) = variables(insn);
        used.extend(reads);
        used.insert(writes);
        let next = pc.wrapping_add(u64::from(insn.len));
        if insn.row().class == Class::Jump && insn.rd != 0 && begins.contains(&next) {
            returns.insert(next);
        }
    }
    used.remove(&0);

    let first = builder.create_block();
    builder.append_block_params_for_function_params(first);
    builder.switch_to_block(first);
    let state = builder.block_params(first)[0];
    let blocks: BTreeMap<u64, Block> = begins.iter().map(|&pc| (pc, builder.create_block())).collect();
    let retired = builder.declare_var(I64);
    let [exit, out, before] = [0; 3].map(|_| {
        let block = builder.create_block();
        builder.set_cold_block(block);
        builder.append_block_param(block, I64);
        builder.append_block_param(block, I64);
        block
    });
    let mut called = Signature::new(target.default_call_conv);
    called.params.extend([AbiParam::new(I64); 5]);
    called.returns.push(AbiParam::new(I64));
    // (Without the instruction, x86-64 would call a function for it.)
    let has_fma = isa
        .isa_flags()
        .iter()
        .find(|flag| flag.name == "has_fma")
        .is_none_or(|flag| flag.as_bool() == Some(true));
    let mut emitter = Emitter {
        state,
        retired,
        x: used.iter().map(|&register| (register, builder.declare_var(I64))).collect(),
        arrays: [None; 2],
        known: [None; 2],
        xlen: region.xlen,
        target_mask: region.target_mask,
        rounding: region.rounding,
        misaligned: region.misaligned,
        ram_base: region.ram_base,
        reports: region.reports,
        counts: Counts::default(),
        lines: BTreeMap::new(),
        notes: Notes::default(),
        reporter,
        report: builder.import_signature(reporter::signature()),
        returns: returns.into_iter().take(MOST_RETURNS).collect(),
        exit,
        out,
        before,
        call: builder.import_signature(called),
        has_fma,
        entry: region.entry,
        blocks,
        passed: 0,
        builder,
    };
    emitter.find_lines(region);
    emitter.enter(region.entry);
    for run in &region.runs {
        emitter.run(run, region.entry);
    }
    emitter.exit(target);
    emitter.builder.seal_all_blocks();
    emitter.builder.finalize(target);
    Some(())
}

/// The writer of one region's code.
struct Emitter<'a> {
    builder: FunctionBuilder<'a>,
    state: Value,
    /// Instructions retired when the current block began.
    retired: Variable,
    /// Instructions of the current block before the current one.
    passed: i64,
    /// The guest's registers that occur.
    x: BTreeMap<u8, Variable>,
    xlen: Xlen,
    target_mask: u64,
    /// The value of `frm`, if floating point is on.
    rounding: Option<u8>,
    misaligned: bool,
    ram_base: u64,
    /// The reports for the observer.
    reports: Reports,
    counts: Counts,
    /// The line of instructions that was fetched from last wherever a run begins, if there is only one.
    lines: BTreeMap<u64, Option<u64>>,
    notes: Notes,
    /// The code of [`reporter`](reporter::reporter), and its signature.
    reporter: u64,
    report: SigRef,
    /// Where calls in the region return to.
    returns: Vec<u64>,
    /// The block that leaves the region, for another one if possible; it receives where to and how many instructions have retired.
    exit: Block,
    /// The same, for the interpreter.
    out: Block,
    /// The same at an instruction of the region. It receives how many instructions had retired when the block in hand began, and one
    /// value for what is known of the place: how far it is from the entry, and behind that how many have retired in the block.
    before: Block,
    /// The signature of [`called`](crate::state::called).
    call: SigRef,
    has_fma: bool,
    /// The arrays of registers, integer and floating-point, as far as these occur.
    arrays: [Option<Value>; 2],
    /// The page that the current run has looked up for loads, and for stores.
    known: [Option<Found>; 2],
    /// The first instruction of the region.
    entry: u64,
    blocks: BTreeMap<u64, Block>,
}

impl Emitter<'_> {
    /// Writes a run of instructions of a region that begins at `entry`.
    fn run(&mut self, run: &Run, entry: u64) {
        let Some(BlockInsn { pc, .. }) = run.insns.first() else { return };
        self.builder.switch_to_block(self.blocks[pc]);
        self.passed = 0;
        self.known = [None; 2];
        self.counts.begin(*pc == entry, self.lines.get(pc).copied().flatten());
        self.begin_notes(run);
        let mut rest = run.insns.as_slice();
        while let Some((here, behind)) = rest.split_first() {
            rest = behind;
            if !self.insn(here, rest) {
                return;
            }
            if rest.is_empty() {
                let next = self.xlen.canonical(here.pc.wrapping_add(u64::from(here.insn.len)));
                self.go(here.pc, next, &Left::On);
            }
        }
    }

    fn constant(&mut self, value: u64) -> Value {
        self.builder.ins().iconst(I64, value as i64)
    }

    /// A field of the state.
    fn field(&mut self, offset: usize) -> Value {
        self.builder.ins().load(I64, MemFlagsData::trusted(), self.state, offset as i32)
    }

    fn set_field(&mut self, offset: usize, value: Value) {
        self.builder.ins().store(MemFlagsData::trusted(), value, self.state, offset as i32);
    }

    /// Loads the registers, and goes to the block at `entry`.
    fn enter(&mut self, entry: u64) {
        for (register, variable) in self.x.clone() {
            let field = [offset_of!(State, x), offset_of!(State, f)][usize::from(register / F)];
            let array = match self.arrays[usize::from(register / F)] {
                Some(array) => array,
                None => self.field(field),
            };
            self.arrays[usize::from(register / F)] = Some(array);
            let offset = i32::from(register % F) * 8;
            let value = self.builder.ins().load(I64, MemFlagsData::trusted(), array, offset);
            self.builder.def_var(variable, value);
        }
        let retired = self.field(offset_of!(State, retired));
        self.builder.def_var(self.retired, retired);
        self.builder.ins().jump(self.blocks[&entry], &[]);
    }

    /// Writes the block that leaves the region: to another translation that begins where this one ends, if there is one that
    /// may run in this context, else to the caller.
    fn exit(&mut self, target: TargetFrontendConfig) {
        self.builder.switch_to_block(self.exit);
        let [pc, retired] = [0, 1].map(|place| self.builder.block_params(self.exit)[place]);
        self.set_field(offset_of!(State, retired), retired);
        self.set_field(offset_of!(State, pc), pc);
        let out = self.builder.create_block();
        self.builder.set_cold_block(out);
        self.check(retired, |emitter| {
            emitter.builder.ins().jump(out, &[]);
        });
        let half = self.builder.ins().ushr_imm_s(pc, 1);
        let place = self.builder.ins().band_imm_s(half, STARTS as i64 - 1);
        let offset = self.builder.ins().ishl_imm_s(place, i64::from(size_of::<Start>().trailing_zeros()));
        let starts = self.field(offset_of!(State, starts));
        let start = self.builder.ins().iadd(starts, offset);
        let trusted = MemFlagsData::trusted();
        let wanted = self.builder.ins().load(I64, trusted, start, offset_of!(Start, pc) as i32);
        let differs = self.builder.ins().icmp(IntCC::NotEqual, wanted, pc);
        self.on_unless(differs, out);
        let wanted = self.builder.ins().uload32(trusted, start, offset_of!(Start, context) as i32);
        let context = self.field(offset_of!(State, context));
        let differs = self.builder.ins().icmp(IntCC::NotEqual, wanted, context);
        self.on_unless(differs, out);
        // No table can lead to anything but a translation.
        let number = self.builder.ins().uload32(trusted, start, offset_of!(Start, number) as i32);
        let count = self.field(offset_of!(State, count));
        let is_unknown = self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, number, count);
        self.on_unless(is_unknown, out);
        let codes = self.field(offset_of!(State, codes));
        let offset = self.builder.ins().ishl_imm_s(number, 3);
        let code = self.builder.ins().iadd(codes, offset);
        let code = self.builder.ins().load(target.pointer_type(), trusted, code, 0);
        let signature = self.builder.import_signature(signature(target));
        self.builder.ins().return_call_indirect(signature, code, &[self.state]);
        self.builder.switch_to_block(out);
        self.builder.ins().return_(&[]);

        self.builder.switch_to_block(self.before);
        let [retired, place] = [0, 1].map(|place| self.builder.block_params(self.before)[place]);
        let passed = self.builder.ins().band_imm_s(place, (1 << PASSED_BITS) - 1);
        let retired = self.builder.ins().iadd(retired, passed);
        let distance = self.builder.ins().sshr_imm_s(place, PASSED_BITS);
        let pc = self.plus(distance, self.entry as i64);
        self.builder.ins().jump(self.out, &[pc, retired].map(BlockArg::from));

        self.builder.switch_to_block(self.out);
        let [pc, retired] = [0, 1].map(|place| self.builder.block_params(self.out)[place]);
        self.set_field(offset_of!(State, retired), retired);
        self.set_field(offset_of!(State, pc), pc);
        let interpret = self.constant(1);
        self.set_field(offset_of!(State, interpret), interpret);
        self.builder.ins().return_(&[]);
    }

    /// Continues in a new block, or at `elsewhere` if a condition holds.
    fn on_unless(&mut self, condition: Value, elsewhere: Block) {
        let on = self.builder.create_block();
        self.builder.ins().brif(condition, elsewhere, &[], on, &[]);
        self.builder.switch_to_block(on);
    }

    fn read(&mut self, register: u8) -> Value {
        match register {
            0 => self.constant(0),
            _ => self.builder.use_var(self.x[&register]),
        }
    }

    /// Writes a register, also where the interpreter finds it: the region may be left at every access, and to store what was written
    /// until then at each of these would take longer to compile than everything else.
    fn write(&mut self, register: u8, value: Value) {
        if register == 0 {
            return;
        }
        self.builder.def_var(self.x[&register], value);
        if let Some(array) = self.arrays[usize::from(register / F)] {
            self.builder.ins().store(MemFlagsData::trusted(), value, array, i32::from(register % F) * 8);
        }
        self.known = self.known.map(|found| found.filter(|found| found.base != register));
    }

    /// Stores what was counted on the way on, so that what comes later need not.
    fn settle(&mut self) {
        self.store_counts();
        self.counts.settle();
    }

    /// A sum; nothing is generated for a value itself. (Cranelift is not asked to optimize: it takes longer than it gains.)
    fn plus(&mut self, value: Value, constant: i64) -> Value {
        if constant == 0 { value } else { self.builder.ins().iadd_imm_s(value, constant) }
    }

    /// A sum of addresses as registers hold it.
    fn address_plus(&mut self, value: Value, constant: i64) -> Value {
        let sum = self.plus(value, constant);
        if self.xlen == Xlen::Rv64 || constant == 0 {
            return sum;
        }
        let low = self.builder.ins().ireduce(I32, sum);
        self.builder.ins().sextend(I64, low)
    }

    /// The lower 32 bits.
    fn zero_extended(&mut self, value: Value) -> Value {
        let low = self.builder.ins().ireduce(I32, value);
        self.builder.ins().uextend(I64, low)
    }

    /// A value of a register as observers see it.
    fn outside(&mut self, value: Value) -> Value {
        if self.xlen == Xlen::Rv32 { self.zero_extended(value) } else { value }
    }

    /// Instructions retired so far.
    fn count(&mut self) -> Value {
        let before = self.builder.use_var(self.retired);
        self.plus(before, self.passed)
    }

    /// Leaves the region: `pc` is next.
    fn leave(&mut self, pc: Value, interpret: bool) {
        self.note(&Left::On);
        self.leave_noted(pc, interpret);
    }

    /// The same where [`note`](Self::note) was called before.
    fn leave_noted(&mut self, pc: Value, interpret: bool) {
        self.store_counts();
        let retired = self.count();
        let exit = if interpret { self.out } else { self.exit };
        self.builder.ins().jump(exit, &[pc, retired].map(BlockArg::from));
    }

    /// Leaves for `pc` if a condition holds, which is rare.
    fn leave_if(&mut self, condition: Value, pc: u64, interpret: bool) {
        let [leaving, on] = self.unless_any(&[condition]);
        self.builder.switch_to_block(leaving);
        let pc = self.constant(pc);
        self.leave(pc, interpret);
        self.builder.switch_to_block(on);
    }

    /// Leaves for the instruction at `pc`, which the interpreter does, if one of several conditions holds, which is rare.
    fn leave_before(&mut self, conditions: &[Value], pc: u64) {
        let [leaving, on] = self.unless_any(conditions);
        self.builder.switch_to_block(leaving);
        self.note(&Left::On);
        self.store_counts();
        let retired = self.builder.use_var(self.retired);
        let place = pc.wrapping_sub(self.entry) << PASSED_BITS | self.passed as u64;
        let place = self.constant(place);
        self.builder.ins().jump(self.before, &[retired, place].map(BlockArg::from));
        self.builder.switch_to_block(on);
    }

    /// Does something if one of several conditions holds, which is rare.
    fn rarely(&mut self, conditions: &[Value], write: impl FnOnce(&mut Self)) {
        if conditions.is_empty() {
            return;
        }
        let [rare, on] = self.unless_any(conditions);
        self.builder.switch_to_block(rare);
        write(self);
        self.builder.ins().jump(on, &[]);
        self.builder.switch_to_block(on);
    }

    /// Goes to the first block, which is cold, if one of several conditions holds, else to the second.
    fn unless_any(&mut self, conditions: &[Value]) -> [Block; 2] {
        let [rare, on] = [0; 2].map(|_| self.builder.create_block());
        self.builder.set_cold_block(rare);
        for (place, &condition) in conditions.iter().enumerate() {
            let is_last = place + 1 == conditions.len();
            let next = if is_last { on } else { self.builder.create_block() };
            self.builder.ins().brif(condition, rare, &[], next, &[]);
            self.builder.switch_to_block(next);
        }
        [rare, on]
    }

    /// The current instruction retires, which nothing prevents from here on.
    fn commit(&mut self, here: &BlockInsn) {
        self.fetched(here);
        self.passed += 1;
    }

    /// Continues at `to`, after the instruction at `from` has retired.
    fn go(&mut self, from: u64, to: u64, left: &Left) {
        self.note(left);
        // Each run may fill the log.
        self.go_on(to, to <= from || self.notes_runs());
    }

    /// Leaves if more instructions than the limit have retired. Before that, reports the log if it is full.
    fn check(&mut self, retired: Value, leave: impl FnOnce(&mut Self)) {
        let soon = self.field(offset_of!(State, soon));
        let is_over = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, retired, soon);
        let [pausing, on] = self.unless_any(&[is_over]);
        self.builder.switch_to_block(pausing);
        if self.notes_runs() {
            self.tell(retired, on);
        }
        leave(self);
        self.builder.switch_to_block(on);
    }

    /// Continues at `to`; on a backward jump, checks the limit.
    fn go_on(&mut self, to: u64, checks: bool) {
        let Some(&block) = self.blocks.get(&to) else {
            let pc = self.constant(to);
            return self.leave_noted(pc, false);
        };
        self.settle();
        let retired = self.count();
        if checks {
            self.check(retired, |emitter| {
                let pc = emitter.constant(to);
                emitter.leave_noted(pc, false);
            });
        }
        self.builder.def_var(self.retired, retired);
        self.builder.ins().jump(block, &[]);
    }

    /// Writes one instruction, behind which the `rest` of its run is next; false if it ends its run.
    fn insn(&mut self, here: &BlockInsn, rest: &[BlockInsn]) -> bool {
        let following = rest.first().map(|next| next.pc);
        let BlockInsn { pc, insn, .. } = *here;
        let insn = &insn;
        let target = self.xlen.canonical(pc.wrapping_add(insn.imm as u64));
        let next = self.xlen.canonical(pc.wrapping_add(u64::from(insn.len)));
        let class = insn.row().class;
        let notes = self.notes;
        self.note_operands(insn);
        let done = match class {
            Class::Upper => {
                let value = if insn.op == Op::Lui { insn.imm as u64 } else { target };
                let value = self.constant(value);
                self.write(insn.rd, value);
                self.commit(here);
                Some(true)
            }
            Class::AluImm | Class::AluReg => {
                let value = self.alu(insn, class);
                self.write(insn.rd, value);
                self.commit(here);
                Some(true)
            }
            Class::FpLoad | Class::FpStore | Class::FpFp | Class::FpInt | Class::IntFp
                if self.rounding.is_none() =>
            {
                None
            }
            Class::Load | Class::FpLoad => self.load(here, rest).map(|()| true),
            Class::Store | Class::FpStore => self.store(here, rest).map(|()| true),
            Class::FpFp | Class::FpInt | Class::IntFp => self.float(insn).map(|()| {
                self.commit(here);
                true
            }),
            Class::Nop => {
                self.commit(here);
                Some(true)
            }
            // (Observers receive an atomic as two accesses, from the interpreter.)
            Class::Amo if self.reports == Reports::Nothing => self.amo(here).map(|()| true),
            Class::LoadReserved if self.reports == Reports::Nothing => {
                self.load_reserved(here);
                Some(true)
            }
            Class::StoreConditional if self.reports == Reports::Nothing => {
                self.store_conditional(here);
                Some(true)
            }
            // A target where no instruction can be is the interpreter's.
            // (Observers of runs do not treat a branch to the next instruction as a jump.)
            Class::Branch if target == next && self.notes_runs() => None,
            Class::Branch if target & self.target_mask == 0 => self.condition(insn).map(|condition| {
                self.commit(here);
                self.settle();
                let taken = self.builder.create_block();
                let not_taken = self.builder.create_block();
                self.builder.ins().brif(condition, taken, &[], not_taken, &[]);
                self.builder.switch_to_block(taken);
                self.go(pc, target, &Left::Taken);
                self.builder.switch_to_block(not_taken);
                if following.is_none() {
                    self.go(pc, next, &Left::On);
                }
                following.is_some()
            }),
            Class::Jump if target & self.target_mask == 0 => {
                let link = self.constant(next);
                self.write(insn.rd, link);
                self.commit(here);
                if following.is_none() {
                    self.go(pc, target, &Left::On);
                }
                Some(following.is_some())
            }
            _ => None,
        };
        match done {
            Some(goes_on) => goes_on,
            None => {
                if class == Class::JumpReg {
                    let base = self.read(insn.rs1);
                    let to = self.address_plus(base, insn.imm);
                    let to = self.builder.ins().band_imm_s(to, !1);
                    if self.target_mask > 1 {
                        let wrong = self.builder.ins().band_imm_s(to, self.target_mask as i64);
                        self.leave_if(wrong, pc, true);
                    }
                    let link = self.constant(next);
                    self.write(insn.rd, link);
                    self.commit(here);
                    self.settle();
                    self.note(&Left::Jumped(to, next));
                    if insn.rd == 0 && matches!(insn.rs1, 1 | 5) {
                        for place in self.returns.clone() {
                            let (here, on) = (self.builder.create_block(), self.builder.create_block());
                            let returns = self.builder.ins().icmp_imm_s(IntCC::Equal, to, place as i64);
                            self.builder.ins().brif(returns, here, &[], on, &[]);
                            self.builder.switch_to_block(here);
                            self.go_on(place, true);
                            self.builder.switch_to_block(on);
                        }
                    }
                    self.leave_noted(to, false);
                } else {
                    self.notes = notes;
                    let pc = self.constant(pc);
                    self.leave(pc, true);
                }
                false
            }
        }
    }

    fn condition(&mut self, insn: &Insn) -> Option<Value> {
        let condition = match insn.op {
            Op::Beq => IntCC::Equal,
            Op::Bne => IntCC::NotEqual,
            Op::Blt => IntCC::SignedLessThan,
            Op::Bge => IntCC::SignedGreaterThanOrEqual,
            Op::Bltu => IntCC::UnsignedLessThan,
            Op::Bgeu => IntCC::UnsignedGreaterThanOrEqual,
            _ => return None,
        };
        let (a, b) = (self.read(insn.rs1), self.read(insn.rs2));
        Some(self.builder.ins().icmp(condition, a, b))
    }

    /// A single-precision value in a register.
    fn boxed(&mut self, value: Value) -> Value {
        self.builder.ins().bor_imm_s(value, NAN_BOX as i64)
    }
}
