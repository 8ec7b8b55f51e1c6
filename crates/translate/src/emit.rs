//! What each instruction becomes.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{AbiParam, Block, Function, InstBuilder, MemFlagsData, Type, Value};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use tollgate_riscv::tier::{Region, TLB_ENTRIES, TlbEntry};
use tollgate_riscv::{BlockInsn, Class, Insn, Op};

use crate::state::State;

/// The bits of an address that are its offset in a page.
const OFFSET: u64 = 4095;
/// Reduces a page number to the place of its entry.
const TLB_MASK: i64 = TLB_ENTRIES as i64 - 1;

/// Writes the function of a region; `None` if it contains floating point, which the interpreter does as fast.
pub(crate) fn region(
    region: &Region,
    function: &mut Function,
    context: &mut FunctionBuilderContext,
    target: TargetFrontendConfig,
) -> Option<()> {
    let is_float =
        |class| matches!(class, Class::FpLoad | Class::FpStore | Class::FpFp | Class::FpInt | Class::IntFp);
    let insns: BTreeMap<u64, BlockInsn> = region.insns.iter().map(|insn| (insn.pc, *insn)).collect();
    if !insns.contains_key(&region.entry) || insns.values().any(|insn| is_float(insn.insn.row().class)) {
        return None;
    }
    function.signature.params.push(AbiParam::new(target.pointer_type()));
    function.signature.call_conv = target.default_call_conv;
    let mut builder = FunctionBuilder::new(function, context);

    let mut used = BTreeSet::new();
    let mut written = BTreeSet::new();
    let mut leaders = BTreeSet::from([region.entry]);
    for BlockInsn { pc, insn, .. } in insns.values() {
        used.extend([insn.rs1, insn.rs2, insn.rd]);
        written.insert(insn.rd);
        match insn.row().class {
            Class::Branch => {
                leaders.extend([pc.wrapping_add(insn.imm as u64), pc.wrapping_add(u64::from(insn.len))])
            }
            Class::Jump => leaders.extend([pc.wrapping_add(insn.imm as u64)]),
            _ => {}
        }
    }
    used.remove(&0);
    written.remove(&0);
    leaders.retain(|pc| insns.contains_key(pc));

    let first = builder.create_block();
    builder.append_block_params_for_function_params(first);
    builder.switch_to_block(first);
    let state = builder.block_params(first)[0];
    let blocks: BTreeMap<u64, Block> = leaders.iter().map(|&pc| (pc, builder.create_block())).collect();
    let retired = builder.declare_var(I64);
    let mut emitter = Emitter {
        state,
        retired,
        x: used.iter().map(|&register| (register, builder.declare_var(I64))).collect(),
        written: written.into_iter().collect(),
        target_mask: region.target_mask,
        blocks,
        passed: 0,
        builder,
    };
    emitter.enter(region.entry);
    for &leader in &leaders {
        emitter.builder.switch_to_block(emitter.blocks[&leader]);
        emitter.passed = 0;
        let mut pc = leader;
        while let Some(BlockInsn { insn, .. }) = insns.get(&pc) {
            let next = pc.wrapping_add(u64::from(insn.len));
            if !emitter.insn(pc, insn) {
                break;
            }
            if leaders.contains(&next) || !insns.contains_key(&next) {
                emitter.go(pc, next);
                break;
            }
            pc = next;
        }
    }
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
    /// Those that the region writes.
    written: Vec<u8>,
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

    /// Loads the registers, and goes to the block at `entry`.
    fn enter(&mut self, entry: u64) {
        let x = self.field(offset_of!(State, x));
        for (&register, &variable) in &self.x {
            let value = self.builder.ins().load(I64, MemFlagsData::trusted(), x, i32::from(register) * 8);
            self.builder.def_var(variable, value);
        }
        let retired = self.field(offset_of!(State, retired));
        self.builder.def_var(self.retired, retired);
        self.builder.ins().jump(self.blocks[&entry], &[]);
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
        }
    }

    /// Instructions retired so far.
    fn count(&mut self) -> Value {
        let before = self.builder.use_var(self.retired);
        self.builder.ins().iadd_imm_s(before, self.passed)
    }

    /// Leaves the region: `pc` is next.
    fn leave(&mut self, pc: Value, interpret: bool) {
        let x = self.field(offset_of!(State, x));
        for place in 0..self.written.len() {
            let register = self.written[place];
            let value = self.read(register);
            self.builder.ins().store(MemFlagsData::trusted(), value, x, i32::from(register) * 8);
        }
        let retired = self.count();
        self.set_field(offset_of!(State, retired), retired);
        self.set_field(offset_of!(State, pc), pc);
        let interpret = self.constant(interpret.into());
        self.set_field(offset_of!(State, interpret), interpret);
        self.builder.ins().return_(&[]);
    }

    /// Leaves for `pc` if a condition holds, which is rare.
    fn leave_if(&mut self, condition: Value, pc: u64, interpret: bool) {
        let (leaving, on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(leaving);
        self.builder.ins().brif(condition, leaving, &[], on, &[]);
        self.builder.switch_to_block(leaving);
        let pc = self.constant(pc);
        self.leave(pc, interpret);
        self.builder.switch_to_block(on);
    }

    /// Goes on at `to`, after the instruction at `from` has retired.
    fn go(&mut self, from: u64, to: u64) {
        let Some(&block) = self.blocks.get(&to) else {
            let pc = self.constant(to);
            return self.leave(pc, false);
        };
        let retired = self.count();
        if to <= from {
            let limit = self.field(offset_of!(State, limit));
            let is_over = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, retired, limit);
            self.leave_if(is_over, to, false);
        }
        self.builder.def_var(self.retired, retired);
        self.builder.ins().jump(block, &[]);
    }

    /// Writes one instruction; false if it ends its block.
    fn insn(&mut self, pc: u64, insn: &Insn) -> bool {
        let target = pc.wrapping_add(insn.imm as u64);
        let next = pc.wrapping_add(u64::from(insn.len));
        let class = insn.row().class;
        let done = match class {
            Class::Upper => {
                let base = if insn.op == Op::Auipc { pc } else { 0 };
                let value = self.constant(base.wrapping_add(insn.imm as u64));
                self.write(insn.rd, value);
                Some(true)
            }
            Class::AluImm | Class::AluReg => self.alu(insn, class).map(|value| {
                self.write(insn.rd, value);
                true
            }),
            Class::Load => self.load(pc, insn).map(|()| true),
            Class::Store => self.store(pc, insn).map(|()| true),
            Class::Nop => Some(true),
            // A target where no instruction can be is the interpreter's.
            Class::Branch if target & self.target_mask == 0 => self.condition(insn).map(|condition| {
                let taken = self.builder.create_block();
                let not_taken = self.builder.create_block();
                self.builder.ins().brif(condition, taken, &[], not_taken, &[]);
                self.passed += 1;
                self.builder.switch_to_block(taken);
                self.go(pc, target);
                self.builder.switch_to_block(not_taken);
                self.go(pc, next);
                false
            }),
            Class::Jump if target & self.target_mask == 0 => {
                let link = self.constant(next);
                self.write(insn.rd, link);
                self.passed += 1;
                self.go(pc, target);
                Some(false)
            }
            _ => None,
        };
        match done {
            Some(true) => {
                self.passed += 1;
                true
            }
            Some(false) => false,
            None => {
                if class == Class::JumpReg {
                    let base = self.read(insn.rs1);
                    let to = self.builder.ins().iadd_imm_s(base, insn.imm);
                    let to = self.builder.ins().band_imm_s(to, !1);
                    if self.target_mask > 1 {
                        let wrong = self.builder.ins().band_imm_s(to, self.target_mask as i64);
                        self.leave_if(wrong, pc, true);
                    }
                    let link = self.constant(next);
                    self.write(insn.rd, link);
                    self.passed += 1;
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
        let (low_a, low_b) = (self.builder.ins().ireduce(I32, a), self.builder.ins().ireduce(I32, b));
        let ins = self.builder.ins();
        // Shifts take their amount modulo the width of what is shifted, as RISC-V's do.
        let wide = match insn.op {
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

    /// The address in RAM of an access. Leaves before the instruction if the page is not in the table.
    fn find(&mut self, pc: u64, insn: &Insn, table: usize, bytes: u64) -> Value {
        let base = self.read(insn.rs1);
        let va = self.builder.ins().iadd_imm_s(base, insn.imm);
        let table = self.field(table);
        let page = self.builder.ins().ushr_imm_s(va, 12);
        let index = self.builder.ins().band_imm_s(page, TLB_MASK);
        let offset = self.builder.ins().imul_imm_s(index, size_of::<TlbEntry>() as i64);
        let entry = self.builder.ins().iadd(table, offset);
        let tag =
            self.builder.ins().load(I64, MemFlagsData::trusted(), entry, offset_of!(TlbEntry, tag) as i32);
        let wanted = self.builder.ins().band_imm_s(va, (!OFFSET | (bytes - 1)) as i64);
        let differs = self.builder.ins().icmp(IntCC::NotEqual, tag, wanted);
        self.leave_if(differs, pc, true);
        let addend =
            self.builder.ins().load(I64, MemFlagsData::trusted(), entry, offset_of!(TlbEntry, addend) as i32);
        let place = self.builder.ins().iadd(va, addend);
        // The interpreter checks the same: no table can make an access leave RAM.
        let ram_bytes = self.field(offset_of!(State, ram_bytes));
        let most = self.builder.ins().iadd_imm_s(ram_bytes, -(bytes as i64));
        let is_outside = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, place, most);
        self.leave_if(is_outside, pc, true);
        let ram = self.field(offset_of!(State, ram));
        self.builder.ins().iadd(ram, place)
    }

    fn load(&mut self, pc: u64, insn: &Insn) -> Option<()> {
        let (width, signed) = match insn.op {
            Op::Lb => (I8, true),
            Op::Lh => (I16, true),
            Op::Lw => (I32, true),
            Op::Ld => (I64, true),
            Op::Lbu => (I8, false),
            Op::Lhu => (I16, false),
            Op::Lwu => (I32, false),
            _ => return None,
        };
        let address = self.find(pc, insn, offset_of!(State, loads), u64::from(width.bytes()));
        let value = self.builder.ins().load(width, MemFlagsData::new().with_notrap(), address, 0);
        let value = match (width, signed) {
            (I64, _) => value,
            (_, true) => self.builder.ins().sextend(I64, value),
            (_, false) => self.builder.ins().uextend(I64, value),
        };
        self.write(insn.rd, value);
        Some(())
    }

    fn store(&mut self, pc: u64, insn: &Insn) -> Option<()> {
        let width = match insn.op {
            Op::Sb => I8,
            Op::Sh => I16,
            Op::Sw => I32,
            Op::Sd => I64,
            _ => return None,
        };
        let address = self.find(pc, insn, offset_of!(State, stores), u64::from(width.bytes()));
        let value = self.read(insn.rs2);
        let value = if width == I64 { value } else { self.builder.ins().ireduce(width, value) };
        self.builder.ins().store(MemFlagsData::new().with_notrap(), value, address, 0);
        Some(())
    }
}
