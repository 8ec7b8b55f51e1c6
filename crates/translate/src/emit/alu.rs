//! The translation of operations on integer registers.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Type, Value};
use tollgate_riscv::{Class, Insn, Op};

use super::Emitter;

/// The instruction that does to 64 bits what this one does to the lower 32 of its operands; the result is sign-extended.
fn wide(op: Op) -> Option<Op> {
    Some(match op {
        Op::Addiw | Op::Addi32 => Op::Addi,
        Op::Addw | Op::Add32 => Op::Add,
        Op::Subw | Op::Sub32 => Op::Sub,
        Op::Slliw | Op::Slli32 => Op::Slli,
        Op::Srliw | Op::Srli32 => Op::Srli,
        Op::Sraiw | Op::Srai32 => Op::Srai,
        Op::Sllw | Op::Sll32 => Op::Sll,
        Op::Srlw | Op::Srl32 => Op::Srl,
        Op::Sraw | Op::Sra32 => Op::Sra,
        Op::Mulw | Op::Mul32 => Op::Mul,
        Op::Mulh32 => Op::Mulh,
        Op::Mulhsu32 => Op::Mulhsu,
        Op::Mulhu32 => Op::Mulhu,
        Op::Divw | Op::Div32 => Op::Div,
        Op::Divuw | Op::Divu32 => Op::Divu,
        Op::Remw | Op::Rem32 => Op::Rem,
        Op::Remuw | Op::Remu32 => Op::Remu,
        Op::Clzw | Op::Clz32 => Op::Clz,
        Op::Ctzw | Op::Ctz32 => Op::Ctz,
        Op::Cpopw | Op::Cpop32 => Op::Cpop,
        Op::Rev832 => Op::Rev8,
        Op::Rorw | Op::Ror32 => Op::Ror,
        Op::Roriw | Op::Rori32 => Op::Rori,
        Op::Rolw | Op::Rol32 => Op::Rol,
        Op::Sh1add32 => Op::Sh1add,
        Op::Sh2add32 => Op::Sh2add,
        Op::Sh3add32 => Op::Sh3add,
        Op::Bclr32 => Op::Bclr,
        Op::Bclri32 => Op::Bclri,
        Op::Bext32 => Op::Bext,
        Op::Bexti32 => Op::Bexti,
        Op::Binv32 => Op::Binv,
        Op::Binvi32 => Op::Binvi,
        Op::Bset32 => Op::Bset,
        Op::Bseti32 => Op::Bseti,
        _ => return None,
    })
}

impl Emitter<'_> {
    /// The value of an instruction on registers.
    pub(super) fn alu(&mut self, insn: &Insn, class: Class) -> Value {
        let is_imm = class == Class::AluImm;
        if matches!(insn.op, Op::Addi | Op::Add | Op::Addi32 | Op::Add32) {
            // Moves and constants.
            match (insn.rs1, if is_imm { insn.imm == 0 } else { insn.rs2 == 0 }) {
                (register, true) => return self.read(register),
                (0, false) if is_imm => return self.constant(insn.imm as u64),
                (0, false) => return self.read(insn.rs2),
                _ => {}
            }
        }
        let (op, width) = match wide(insn.op) {
            Some(op) => (op, I32),
            None => (insn.op, I64),
        };
        let a = self.read(insn.rs1);
        let a = self.lowest(a, width);
        let b = if is_imm {
            self.builder.ins().iconst(width, if width == I32 { insn.imm & 0xffff_ffff } else { insn.imm })
        } else {
            let b = self.read(insn.rs2);
            self.lowest(b, width)
        };
        let ins = self.builder.ins();
        // Shifts take their amount modulo the width of what is shifted, as RISC-V's do.
        let value = match op {
            Op::Addi | Op::Add => ins.iadd(a, b),
            Op::Sub => ins.isub(a, b),
            Op::Xori | Op::Xor => ins.bxor(a, b),
            Op::Ori | Op::Or => ins.bor(a, b),
            Op::Andi | Op::And => ins.band(a, b),
            Op::Slli | Op::Sll => ins.ishl(a, b),
            Op::Srli | Op::Srl => ins.ushr(a, b),
            Op::Srai | Op::Sra => ins.sshr(a, b),
            Op::Mul => ins.imul(a, b),
            Op::Mulh | Op::Mulhu | Op::Mulhsu if width == I32 => return self.high_half(insn),
            Op::Mulh => ins.smulhi(a, b),
            Op::Mulhu => ins.umulhi(a, b),
            Op::Mulhsu => {
                // a as unsigned is a + 2^64 if a is negative.
                let unsigned = ins.umulhi(a, b);
                let sign = self.builder.ins().sshr_imm_s(a, 63);
                let excess = self.builder.ins().band(sign, b);
                self.builder.ins().isub(unsigned, excess)
            }
            Op::Div => self.divide(a, b, width, true, false),
            Op::Divu => self.divide(a, b, width, false, false),
            Op::Rem => self.divide(a, b, width, true, true),
            Op::Remu => self.divide(a, b, width, false, true),
            // (Counts are not negative.)
            Op::Clz => ins.clz(a),
            Op::Ctz => ins.ctz(a),
            Op::Cpop => ins.popcnt(a),
            Op::Rev8 => ins.bswap(a),
            Op::Ror | Op::Rori => ins.rotr(a, b),
            Op::Rol => ins.rotl(a, b),
            Op::Andn => ins.band_not(a, b),
            Op::Orn => ins.bor_not(a, b),
            Op::Xnor => ins.bxor_not(a, b),
            Op::Max => ins.smax(a, b),
            Op::Maxu => ins.umax(a, b),
            Op::Min => ins.smin(a, b),
            Op::Minu => ins.umin(a, b),
            Op::Slti | Op::Slt | Op::Sltiu | Op::Sltu => {
                let is_signed = matches!(op, Op::Slti | Op::Slt);
                let less = if is_signed { IntCC::SignedLessThan } else { IntCC::UnsignedLessThan };
                let bit = ins.icmp(less, a, b);
                self.builder.ins().uextend(I64, bit)
            }
            Op::Sh1add | Op::Sh2add | Op::Sh3add | Op::Sh1addUw | Op::Sh2addUw | Op::Sh3addUw | Op::AddUw => {
                let (shift, is_narrow) = match op {
                    Op::Sh1add => (1, false),
                    Op::Sh2add => (2, false),
                    Op::Sh3add => (3, false),
                    Op::Sh1addUw => (1, true),
                    Op::Sh2addUw => (2, true),
                    Op::Sh3addUw => (3, true),
                    _ => (0, true),
                };
                let index = if is_narrow { self.zero_extended(a) } else { a };
                let scaled = self.builder.ins().ishl_imm_s(index, shift);
                self.builder.ins().iadd(scaled, b)
            }
            Op::SlliUw => {
                let low = self.zero_extended(a);
                self.builder.ins().ishl(low, b)
            }
            Op::SextB | Op::SextH => {
                let low = ins.ireduce(if op == Op::SextB { I8 } else { I16 }, a);
                self.builder.ins().sextend(I64, low)
            }
            Op::ZextH | Op::ZextH32 => ins.band_imm_u(a, 0xffff),
            Op::Bext | Op::Bexti => {
                let low = ins.ushr(a, b);
                self.builder.ins().band_imm_s(low, 1)
            }
            Op::Bclr | Op::Bclri | Op::Binv | Op::Binvi | Op::Bset | Op::Bseti => {
                let one = ins.iconst(width, 1);
                let bit = self.builder.ins().ishl(one, b);
                let ins = self.builder.ins();
                match op {
                    Op::Bclr | Op::Bclri => ins.band_not(a, bit),
                    Op::Binv | Op::Binvi => ins.bxor(a, bit),
                    _ => ins.bor(a, bit),
                }
            }
            Op::CzeroEqz | Op::CzeroNez => {
                let zero = ins.iconst(I64, 0);
                let (equal, unequal) = if op == Op::CzeroEqz { (zero, a) } else { (a, zero) };
                let is_zero = self.builder.ins().icmp_imm_s(IntCC::Equal, b, 0);
                self.builder.ins().select(is_zero, equal, unequal)
            }
            _ => self.called(op, 0, [a, b, b]),
        };
        if width == I32 { self.builder.ins().sextend(I64, value) } else { value }
    }

    /// The lowest bits of a register.
    fn lowest(&mut self, value: Value, width: Type) -> Value {
        if width == I32 { self.builder.ins().ireduce(I32, value) } else { value }
    }

    /// The upper half of a product of two registers of 32 bits.
    fn high_half(&mut self, insn: &Insn) -> Value {
        let [mut a, mut b] = [insn.rs1, insn.rs2].map(|register| self.read(register));
        if insn.op == Op::Mulhu32 {
            a = self.zero_extended(a);
        }
        if insn.op != Op::Mulh32 {
            b = self.zero_extended(b);
        }
        let product = self.builder.ins().imul(a, b);
        self.builder.ins().sshr_imm_s(product, 32)
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
}
