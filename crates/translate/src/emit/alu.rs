//! The translation of operations on integer registers.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Type, Value};
use tollgate_riscv::{Class, Insn, Op};

use super::Emitter;

impl Emitter<'_> {
    /// The value of an instruction on registers; `None` for one that is not translated.
    pub(super) fn alu(&mut self, insn: &Insn, class: Class) -> Option<Value> {
        let a = self.read(insn.rs1);
        let b = if class == Class::AluImm { self.constant(insn.imm as u64) } else { self.read(insn.rs2) };
        let b_is_zero = if class == Class::AluImm { insn.imm == 0 } else { insn.rs2 == 0 };
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
        let (low_a, low_b) = (self.builder.ins().ireduce(I32, a), self.builder.ins().ireduce(I32, b));
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
}
