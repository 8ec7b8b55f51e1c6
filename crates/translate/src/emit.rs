//! What each instruction becomes.

mod counter;
mod float;
mod memory;

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, Function, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use tollgate_riscv::tier::{Region, STARTS, Sight, Start};
use tollgate_riscv::{BlockInsn, Class, Insn, Op};

use crate::reporter::{self, Counts};
use crate::state::State;

/// The upper half of a register that holds a single-precision value.
const NAN_BOX: u64 = 0xffff_ffff_0000_0000;
const _: () = assert!(size_of::<Start>().is_power_of_two());

/// The number of the variable of a floating-point register; those of integer registers are their own.
const F: u8 = 32;
/// The most places in a region that a return is compared with.
const MOST_RETURNS: usize = 8;

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

/// Writes the function of a region; `None` if its entry is not in it. `reporter` is the code of [`reporter`](reporter::reporter).
pub(crate) fn region(
    region: &Region,
    function: &mut Function,
    context: &mut FunctionBuilderContext,
    isa: &dyn TargetIsa,
    reporter: u64,
) -> Option<()> {
    let target = isa.frontend_config();
    let insns: BTreeMap<u64, BlockInsn> = region.insns.iter().map(|insn| (insn.pc, *insn)).collect();
    if !insns.contains_key(&region.entry) {
        return None;
    }
    function.signature = signature(target);
    let mut builder = FunctionBuilder::new(function, context);

    let mut used = BTreeSet::new();
    let mut leaders = BTreeSet::from([region.entry]);
    let mut returns = Vec::new();
    for BlockInsn { pc, insn, .. } in insns.values() {
        let (reads, writes) = variables(insn);
        used.extend(reads);
        used.insert(writes);
        match insn.row().class {
            Class::Branch => {
                leaders.extend([pc.wrapping_add(insn.imm as u64), pc.wrapping_add(u64::from(insn.len))])
            }
            Class::Jump => {
                leaders.insert(pc.wrapping_add(insn.imm as u64));
                let next = pc.wrapping_add(u64::from(insn.len));
                if insn.rd != 0 && insns.contains_key(&next) {
                    leaders.insert(next);
                    returns.push(next);
                }
            }
            _ => {}
        }
    }
    used.remove(&0);
    leaders.retain(|pc| insns.contains_key(pc));
    returns.truncate(MOST_RETURNS);

    let first = builder.create_block();
    builder.append_block_params_for_function_params(first);
    builder.switch_to_block(first);
    let state = builder.block_params(first)[0];
    let blocks: BTreeMap<u64, Block> = leaders.iter().map(|&pc| (pc, builder.create_block())).collect();
    let retired = builder.declare_var(I64);
    let [exit, out] = [0; 2].map(|_| {
        let block = builder.create_block();
        builder.set_cold_block(block);
        builder.append_block_param(block, I64);
        builder.append_block_param(block, I64);
        block
    });
    let mut float = Signature::new(target.default_call_conv);
    float.params.extend([AbiParam::new(I64); 5]);
    float.returns.push(AbiParam::new(I64));
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
        unsettled: BTreeSet::new(),
        target_mask: region.target_mask,
        rounding: region.rounding,
        misaligned: region.misaligned,
        ram_base: region.ram_base,
        sight: region.sight,
        counts: Counts::default(),
        reporter,
        report: builder.import_signature(reporter::signature()),
        returns,
        exit,
        out,
        float: builder.import_signature(float),
        has_fma,
        blocks,
        passed: 0,
        builder,
    };
    emitter.enter(region.entry);
    for &leader in &leaders {
        emitter.builder.switch_to_block(emitter.blocks[&leader]);
        emitter.passed = 0;
        emitter.unsettled.clear();
        emitter.counts.begin(leader == region.entry);
        let mut pc = leader;
        while let Some(here) = insns.get(&pc) {
            let next = pc.wrapping_add(u64::from(here.insn.len));
            if !emitter.insn(here) {
                break;
            }
            if leaders.contains(&next) || !insns.contains_key(&next) {
                emitter.go(pc, next);
                break;
            }
            pc = next;
        }
    }
    emitter.exit(target);
    emitter.builder.seal_all_blocks();
    emitter.builder.finalize(target);
    Some(())
}

/// What the code of one region is written with.
struct Emitter<'a> {
    builder: FunctionBuilder<'a>,
    state: Value,
    /// Instructions retired when the block in hand began.
    retired: Variable,
    /// Instructions of the block in hand before the one in hand.
    passed: i64,
    /// The guest's registers that occur.
    x: BTreeMap<u8, Variable>,
    target_mask: u64,
    /// What `frm` contains, if floating point is on.
    rounding: Option<u8>,
    misaligned: bool,
    ram_base: u64,
    /// What the observer has to see, if there is one.
    sight: Option<Sight>,
    counts: Counts,
    /// The code of [`reporter`](reporter::reporter), and its signature.
    reporter: u64,
    report: SigRef,
    /// Where calls in the region return to.
    returns: Vec<u64>,
    /// The block that leaves the region, for another one if possible; it receives where to and how many instructions have retired.
    exit: Block,
    /// The same, for the interpreter.
    out: Block,
    /// The signature of [`float`].
    float: SigRef,
    has_fma: bool,
    /// Those that the block in hand has written, and not stored.
    unsettled: BTreeSet<u8>,
    blocks: BTreeMap<u64, Block>,
}

impl Emitter<'_> {
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

    /// The array and the offset of a register.
    fn place(&mut self, register: u8) -> (Value, i32) {
        let array = if register < F { offset_of!(State, x) } else { offset_of!(State, f) };
        (self.field(array), i32::from(register % F) * 8)
    }

    /// Loads the registers, and goes to the block at `entry`.
    fn enter(&mut self, entry: u64) {
        for (register, variable) in self.x.clone() {
            let (array, offset) = self.place(register);
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
        let limit = self.field(offset_of!(State, limit));
        let is_over = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, retired, limit);
        self.on_unless(is_over, out);
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

        self.builder.switch_to_block(self.out);
        let [pc, retired] = [0, 1].map(|place| self.builder.block_params(self.out)[place]);
        self.set_field(offset_of!(State, retired), retired);
        self.set_field(offset_of!(State, pc), pc);
        let interpret = self.constant(1);
        self.set_field(offset_of!(State, interpret), interpret);
        self.builder.ins().return_(&[]);
    }

    /// Goes on in a new block, or to `elsewhere` if a condition holds.
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

    fn write(&mut self, register: u8, value: Value) {
        if register != 0 {
            self.builder.def_var(self.x[&register], value);
            self.unsettled.insert(register);
        }
    }

    /// Stores the registers that the block in hand has written since [`settle`](Self::settle), and what it has counted.
    fn store_registers(&mut self) {
        for register in self.unsettled.clone() {
            let value = self.read(register);
            let (array, offset) = self.place(register);
            self.builder.ins().store(MemFlagsData::trusted(), value, array, offset);
        }
        self.store_counts();
    }

    /// Stores them on the way on, so that what comes later need not.
    fn settle(&mut self) {
        self.store_registers();
        self.unsettled.clear();
        self.counts.settle();
    }

    /// A sum; nothing is generated for a value itself. (Cranelift is not asked to optimize: it takes longer than it gains.)
    fn plus(&mut self, value: Value, constant: i64) -> Value {
        if constant == 0 { value } else { self.builder.ins().iadd_imm_s(value, constant) }
    }

    /// Instructions retired so far.
    fn count(&mut self) -> Value {
        let before = self.builder.use_var(self.retired);
        self.plus(before, self.passed)
    }

    /// Leaves the region: `pc` is next.
    fn leave(&mut self, pc: Value, interpret: bool) {
        self.store_registers();
        let retired = self.count();
        let exit = if interpret { self.out } else { self.exit };
        self.builder.ins().jump(exit, &[pc, retired].map(BlockArg::from));
    }

    /// Leaves for `pc` if a condition holds, which is rare.
    fn leave_if(&mut self, condition: Value, pc: u64, interpret: bool) {
        self.leave_if_any(&[condition], pc, interpret);
    }

    /// The same for several conditions.
    fn leave_if_any(&mut self, conditions: &[Value], pc: u64, interpret: bool) {
        let [leaving, on] = self.unless_any(conditions);
        self.builder.switch_to_block(leaving);
        let pc = self.constant(pc);
        self.leave(pc, interpret);
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
        for &condition in conditions {
            self.on_unless(condition, rare);
        }
        self.builder.ins().jump(on, &[]);
        [rare, on]
    }

    /// The instruction in hand retires, which nothing prevents from here on.
    fn commit(&mut self, here: &BlockInsn) {
        self.fetched(here);
        self.passed += 1;
    }

    /// Goes on at `to`, after the instruction at `from` has retired.
    fn go(&mut self, from: u64, to: u64) {
        self.go_on(to, to <= from);
    }

    /// Goes on at `to`; if it was not further on, checks the limit.
    fn go_on(&mut self, to: u64, checks: bool) {
        let Some(&block) = self.blocks.get(&to) else {
            let pc = self.constant(to);
            return self.leave(pc, false);
        };
        self.settle();
        let retired = self.count();
        if checks {
            let limit = self.field(offset_of!(State, limit));
            let is_over = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, retired, limit);
            self.leave_if(is_over, to, false);
        }
        self.builder.def_var(self.retired, retired);
        self.builder.ins().jump(block, &[]);
    }

    /// Writes one instruction; false if it ends its block.
    fn insn(&mut self, here: &BlockInsn) -> bool {
        let BlockInsn { pc, insn, .. } = *here;
        let insn = &insn;
        let target = pc.wrapping_add(insn.imm as u64);
        let next = pc.wrapping_add(u64::from(insn.len));
        let class = insn.row().class;
        let done = match class {
            Class::Upper => {
                let base = if insn.op == Op::Auipc { pc } else { 0 };
                let value = self.constant(base.wrapping_add(insn.imm as u64));
                self.write(insn.rd, value);
                self.commit(here);
                Some(true)
            }
            Class::AluImm | Class::AluReg => self.alu(insn, class).map(|value| {
                self.write(insn.rd, value);
                self.commit(here);
                true
            }),
            Class::FpLoad | Class::FpStore | Class::FpFp | Class::FpInt | Class::IntFp
                if self.rounding.is_none() =>
            {
                None
            }
            Class::Load | Class::FpLoad => self.load(here).map(|()| true),
            Class::Store | Class::FpStore => self.store(here).map(|()| true),
            Class::FpFp | Class::FpInt | Class::IntFp => self.float(insn).map(|()| {
                self.commit(here);
                true
            }),
            Class::Nop => {
                self.commit(here);
                Some(true)
            }
            // A target where no instruction can be is the interpreter's.
            Class::Branch if target & self.target_mask == 0 => self.condition(insn).map(|condition| {
                self.commit(here);
                self.settle();
                let taken = self.builder.create_block();
                let not_taken = self.builder.create_block();
                self.builder.ins().brif(condition, taken, &[], not_taken, &[]);
                self.builder.switch_to_block(taken);
                self.go(pc, target);
                self.builder.switch_to_block(not_taken);
                self.go(pc, next);
                false
            }),
            Class::Jump if target & self.target_mask == 0 => {
                let link = self.constant(next);
                self.write(insn.rd, link);
                self.commit(here);
                self.go(pc, target);
                Some(false)
            }
            _ => None,
        };
        match done {
            Some(goes_on) => goes_on,
            None => {
                if class == Class::JumpReg {
                    let base = self.read(insn.rs1);
                    let to = self.plus(base, insn.imm);
                    let to = self.builder.ins().band_imm_s(to, !1);
                    if self.target_mask > 1 {
                        let wrong = self.builder.ins().band_imm_s(to, self.target_mask as i64);
                        self.leave_if(wrong, pc, true);
                    }
                    let link = self.constant(next);
                    self.write(insn.rd, link);
                    self.commit(here);
                    self.settle();
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
                    self.leave(to, false);
                } else {
                    let pc = self.constant(pc);
                    self.leave(pc, true);
                }
                false
            }
        }
    }

    /// The value of an instruction on registers; `None` for one that is not translated.
    fn alu(&mut self, insn: &Insn, class: Class) -> Option<Value> {
        let a = self.read(insn.rs1);
        let b = if class == Class::AluImm { self.constant(insn.imm as u64) } else { self.read(insn.rs2) };
        let b_is_zero = if class == Class::AluImm { insn.imm == 0 } else { insn.rs2 == 0 };
        let (low_a, low_b) = (self.builder.ins().ireduce(I32, a), self.builder.ins().ireduce(I32, b));
        let ins = self.builder.ins();
        // Shifts take their amount modulo the width of what is shifted, as RISC-V's do.
        let wide = match insn.op {
            // Moves and constants.
            Op::Addi | Op::Add if b_is_zero => Some(a),
            Op::Addi | Op::Add if insn.rs1 == 0 => Some(b),
            Op::Addi | Op::Add => Some(ins.iadd(a, b)),
            Op::Sub => Some(ins.isub(a, b)),
            Op::Xori | Op::Xor => Some(ins.bxor(a, b)),
            Op::Ori | Op::Or => Some(ins.bor(a, b)),
            Op::Andi | Op::And => Some(ins.band(a, b)),
            Op::Slli | Op::Sll => Some(ins.ishl(a, b)),
            Op::Srli | Op::Srl => Some(ins.ushr(a, b)),
            Op::Srai | Op::Sra => Some(ins.sshr(a, b)),
            Op::Mul => Some(ins.imul(a, b)),
            Op::Mulh => Some(ins.smulhi(a, b)),
            Op::Mulhu => Some(ins.umulhi(a, b)),
            Op::Clz => Some(ins.clz(a)),
            Op::Ctz => Some(ins.ctz(a)),
            Op::Cpop => Some(ins.popcnt(a)),
            Op::Rev8 => Some(ins.bswap(a)),
            Op::Ror | Op::Rori => Some(ins.rotr(a, b)),
            Op::Rol => Some(ins.rotl(a, b)),
            Op::Andn => Some(ins.band_not(a, b)),
            Op::Orn => Some(ins.bor_not(a, b)),
            Op::Xnor => Some(ins.bxor_not(a, b)),
            Op::Max => Some(ins.smax(a, b)),
            Op::Maxu => Some(ins.umax(a, b)),
            Op::Min => Some(ins.smin(a, b)),
            Op::Minu => Some(ins.umin(a, b)),
            _ => None,
        };
        if wide.is_some() {
            return wide;
        }
        let ins = self.builder.ins();
        let narrow = match insn.op {
            Op::Addiw | Op::Addw => Some(ins.iadd(low_a, low_b)),
            Op::Subw => Some(ins.isub(low_a, low_b)),
            Op::Slliw | Op::Sllw => Some(ins.ishl(low_a, low_b)),
            Op::Srliw | Op::Srlw => Some(ins.ushr(low_a, low_b)),
            Op::Sraiw | Op::Sraw => Some(ins.sshr(low_a, low_b)),
            Op::Mulw => Some(ins.imul(low_a, low_b)),
            // (Counts are not negative.)
            Op::Clzw => Some(ins.clz(low_a)),
            Op::Ctzw => Some(ins.ctz(low_a)),
            Op::Cpopw => Some(ins.popcnt(low_a)),
            Op::Rorw | Op::Roriw => Some(ins.rotr(low_a, low_b)),
            Op::Rolw => Some(ins.rotl(low_a, low_b)),
            _ => None,
        };
        let narrow = match insn.op {
            Op::Divw => Some(self.divide(low_a, low_b, I32, true, false)),
            Op::Divuw => Some(self.divide(low_a, low_b, I32, false, false)),
            Op::Remw => Some(self.divide(low_a, low_b, I32, true, true)),
            Op::Remuw => Some(self.divide(low_a, low_b, I32, false, true)),
            _ => narrow,
        };
        if let Some(narrow) = narrow {
            return Some(self.builder.ins().sextend(I64, narrow));
        }
        match insn.op {
            Op::Div => Some(self.divide(a, b, I64, true, false)),
            Op::Divu => Some(self.divide(a, b, I64, false, false)),
            Op::Rem => Some(self.divide(a, b, I64, true, true)),
            Op::Remu => Some(self.divide(a, b, I64, false, true)),
            Op::Mulhsu => {
                // a as unsigned is a + 2^64 if a is negative.
                let unsigned = self.builder.ins().umulhi(a, b);
                let sign = self.builder.ins().sshr_imm_s(a, 63);
                let excess = self.builder.ins().band(sign, b);
                Some(self.builder.ins().isub(unsigned, excess))
            }
            Op::Slti | Op::Slt | Op::Sltiu | Op::Sltu => {
                let is_signed = matches!(insn.op, Op::Slti | Op::Slt);
                let less = if is_signed { IntCC::SignedLessThan } else { IntCC::UnsignedLessThan };
                let bit = self.builder.ins().icmp(less, a, b);
                Some(self.builder.ins().uextend(I64, bit))
            }
            Op::Sh1add | Op::Sh2add | Op::Sh3add | Op::Sh1addUw | Op::Sh2addUw | Op::Sh3addUw | Op::AddUw => {
                let (shift, is_narrow) = match insn.op {
                    Op::Sh1add => (1, false),
                    Op::Sh2add => (2, false),
                    Op::Sh3add => (3, false),
                    Op::Sh1addUw => (1, true),
                    Op::Sh2addUw => (2, true),
                    Op::Sh3addUw => (3, true),
                    _ => (0, true),
                };
                let index = if is_narrow { self.builder.ins().uextend(I64, low_a) } else { a };
                let scaled = self.builder.ins().ishl_imm_s(index, shift);
                Some(self.builder.ins().iadd(scaled, b))
            }
            Op::SlliUw => {
                let wide = self.builder.ins().uextend(I64, low_a);
                Some(self.builder.ins().ishl(wide, b))
            }
            Op::SextB | Op::SextH => {
                let low = self.builder.ins().ireduce(if insn.op == Op::SextB { I8 } else { I16 }, a);
                Some(self.builder.ins().sextend(I64, low))
            }
            Op::ZextH => Some(self.builder.ins().band_imm_u(a, 0xffff)),
            Op::Bext | Op::Bexti => {
                let low = self.builder.ins().ushr(a, b);
                Some(self.builder.ins().band_imm_s(low, 1))
            }
            Op::Bclr | Op::Bclri | Op::Binv | Op::Binvi | Op::Bset | Op::Bseti => {
                let one = self.constant(1);
                let bit = self.builder.ins().ishl(one, b);
                let ins = self.builder.ins();
                Some(match insn.op {
                    Op::Bclr | Op::Bclri => ins.band_not(a, bit),
                    Op::Binv | Op::Binvi => ins.bxor(a, bit),
                    _ => ins.bor(a, bit),
                })
            }
            _ => None,
        }
    }

    /// A quotient or remainder, with what RISC-V defines where the host traps (unprivileged specification, M extension): by
    /// zero the quotient is all ones and the remainder the dividend; the overflow wraps.
    fn divide(&mut self, a: Value, b: Value, width: Type, signed: bool, remainder: bool) -> Value {
        let by_zero = self.builder.ins().icmp_imm_s(IntCC::Equal, b, 0);
        let one = self.builder.ins().iconst(width, 1);
        let mut divisor = self.builder.ins().select(by_zero, one, b);
        if signed {
            let least = self
                .builder
                .ins()
                .iconst(width, if width == I32 { i64::from(i32::MIN) & 0xffff_ffff } else { i64::MIN });
            let is_least = self.builder.ins().icmp(IntCC::Equal, a, least);
            let by_minus_one = self.builder.ins().icmp_imm_s(IntCC::Equal, b, -1);
            let overflows = self.builder.ins().band(is_least, by_minus_one);
            divisor = self.builder.ins().select(overflows, one, divisor);
        }
        let ins = self.builder.ins();
        let result = match (signed, remainder) {
            (true, false) => ins.sdiv(a, divisor),
            (false, false) => ins.udiv(a, divisor),
            (true, true) => ins.srem(a, divisor),
            (false, true) => ins.urem(a, divisor),
        };
        let of_zero = if remainder {
            a
        } else {
            let zero = self.builder.ins().iconst(width, 0);
            self.builder.ins().bnot(zero)
        };
        self.builder.ins().select(by_zero, of_zero, result)
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
