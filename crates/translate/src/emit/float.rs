//! The translation of floating-point instructions: the host's if its result is certainly right, else a call of the
//! interpreter's.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F64, I8, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use tollgate_riscv::{Insn, Op, tier};

use super::{Emitter, NAN_BOX, State, offset_of, variables};
use crate::state::{called, called_code};

impl Emitter<'_> {
    /// Writes a floating-point instruction. `None` for a reserved rounding mode.
    pub(super) fn float(&mut self, insn: &Insn) -> Option<()> {
        let mode = tier::rounding(insn, self.rounding?)?;
        let (reads, writes) = variables(insn);
        let [a, b, c] = reads.map(|variable| self.read(variable));
        let value = match insn.op {
            Op::FmvXD | Op::FmvDX => a,
            Op::FmvXW => {
                let low = self.builder.ins().ireduce(I32, a);
                self.builder.ins().sextend(I64, low)
            }
            Op::FmvWX => self.boxed(a),
            Op::FsgnjD | Op::FsgnjnD | Op::FsgnjxD => {
                let sign = match insn.op {
                    Op::FsgnjD => b,
                    Op::FsgnjnD => self.builder.ins().bnot(b),
                    _ => self.builder.ins().bxor(a, b),
                };
                let sign = self.builder.ins().band_imm_s(sign, i64::MIN);
                let magnitude = self.builder.ins().band_imm_s(a, i64::MAX);
                self.builder.ins().bor(sign, magnitude)
            }
            _ => match self.on_host(insn.op, mode, [a, b, c]) {
                Some((value, is_exact)) => self.or_called(insn.op, mode, [a, b, c], value, is_exact),
                None => self.called(insn.op, mode, [a, b, c]),
            },
        };
        self.write(writes, value);
        Some(())
    }

    /// The interpreter's result.
    pub(super) fn called(&mut self, op: Op, mode: u8, operands: [Value; 3]) -> Value {
        let address = self.constant(called as *const () as u64);
        let what = self.constant(called_code(op, mode));
        let [a, b, c] = operands;
        let call = self.builder.ins().call_indirect(self.call, address, &[self.state, what, a, b, c]);
        self.builder.inst_results(call)[0]
    }

    /// A result of the host if it is known to be the interpreter's, else that.
    fn or_called(&mut self, op: Op, mode: u8, operands: [Value; 3], value: Value, is_exact: Value) -> Value {
        let (calling, on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(calling);
        let result = self.builder.append_block_param(on, I64);
        self.builder.ins().brif(is_exact, on, &[value.into()], calling, &[]);
        self.builder.switch_to_block(calling);
        let called = self.called(op, mode, operands);
        self.builder.ins().jump(on, &[called.into()]);
        self.builder.switch_to_block(on);
        result
    }

    /// The host's result, and whether it has the right bits and raises no new flag
    /// (`crates/riscv/src/fp/fast.rs` says why).
    fn on_host(&mut self, op: Op, mode: u8, operands: [Value; 3]) -> Option<(Value, Value)> {
        let (width, is_single) = match op {
            Op::FaddS | Op::FsubS | Op::FmulS | Op::FdivS | Op::FsqrtS => (F32, true),
            Op::FmaddS | Op::FmsubS | Op::FnmsubS | Op::FnmaddS => (F32, true),
            Op::FeqS | Op::FltS | Op::FleS | Op::FcvtDS => (F32, true),
            Op::FaddD | Op::FsubD | Op::FmulD | Op::FdivD | Op::FsqrtD => (F64, false),
            Op::FmaddD | Op::FmsubD | Op::FnmsubD | Op::FnmaddD => (F64, false),
            Op::FeqD | Op::FltD | Op::FleD => (F64, false),
            Op::FcvtDW | Op::FcvtDWu => {
                // Each such integer is a double.
                let low = self.builder.ins().ireduce(I32, operands[0]);
                let value = match op {
                    Op::FcvtDW => self.builder.ins().fcvt_from_sint(F64, low),
                    _ => self.builder.ins().fcvt_from_uint(F64, low),
                };
                let bits = self.builder.ins().bitcast(I64, MemFlagsData::new(), value);
                return Some((bits, self.constant(1)));
            }
            _ => return None,
        };
        let [a, b, c] = operands.map(|bits| {
            let bits = if is_single { self.builder.ins().ireduce(I32, bits) } else { bits };
            self.builder.ins().bitcast(width, MemFlagsData::new(), bits)
        });
        let is_boxed = is_single.then(|| {
            let [a, b, c] = operands;
            let both = match op {
                Op::FsqrtS | Op::FcvtDS => a,
                _ => self.builder.ins().band(a, b),
            };
            let all = match op {
                Op::FmaddS | Op::FmsubS | Op::FnmsubS | Op::FnmaddS => self.builder.ins().band(both, c),
                _ => both,
            };
            self.builder.ins().icmp_imm_s(IntCC::UnsignedGreaterThanOrEqual, all, NAN_BOX as i64)
        });
        let (value, is_right) = match op {
            Op::FeqS | Op::FeqD | Op::FltS | Op::FltD | Op::FleS | Op::FleD => {
                let condition = match op {
                    Op::FeqS | Op::FeqD => FloatCC::Equal,
                    Op::FltS | Op::FltD => FloatCC::LessThan,
                    _ => FloatCC::LessThanOrEqual,
                };
                let holds = self.builder.ins().fcmp(condition, a, b);
                let bit = self.builder.ins().uextend(I64, holds);
                (bit, self.builder.ins().fcmp(FloatCC::Ordered, a, b))
            }
            Op::FcvtDS => {
                let wide = self.builder.ins().fpromote(F64, a);
                let bits = self.builder.ins().bitcast(I64, MemFlagsData::new(), wide);
                (bits, self.builder.ins().fcmp(FloatCC::Ordered, a, a))
            }
            // To nearest, ties to even, as the host.
            _ if mode != 0 => return None,
            _ => {
                let ins = self.builder.ins();
                let result = match op {
                    Op::FaddS | Op::FaddD => ins.fadd(a, b),
                    Op::FsubS | Op::FsubD => ins.fsub(a, b),
                    Op::FmulS | Op::FmulD => ins.fmul(a, b),
                    Op::FdivS | Op::FdivD => ins.fdiv(a, b),
                    Op::FsqrtS | Op::FsqrtD => ins.sqrt(a),
                    _ if !self.has_fma => return None,
                    _ => {
                        let (negates, subtracts) = match op {
                            Op::FmaddS | Op::FmaddD => (false, false),
                            Op::FmsubS | Op::FmsubD => (false, true),
                            Op::FnmsubS | Op::FnmsubD => (true, false),
                            _ => (true, true),
                        };
                        let a = if negates { self.builder.ins().fneg(a) } else { a };
                        let c = if subtracts { self.builder.ins().fneg(c) } else { c };
                        self.builder.ins().fma(a, b, c)
                    }
                };
                let bits_type = if is_single { I32 } else { I64 };
                let bits = self.builder.ins().bitcast(bits_type, MemFlagsData::new(), result);
                let wide = if is_single { self.builder.ins().uextend(I64, bits) } else { bits };
                // Finite, and twice the least normal number or more: exponents from 2 to one less than the largest.
                let (shift, fraction, infinity) = if is_single { (33, 24, 0xff) } else { (1, 53, 0x7ff) };
                let aligned = self.builder.ins().ishl_imm_s(wide, shift);
                let exponents = self.builder.ins().ushr_imm_s(aligned, fraction + shift - 1);
                let above = self.builder.ins().iadd_imm_s(exponents, -2);
                let in_range = self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, above, infinity - 2);
                let flags = self.field(offset_of!(State, fflags));
                let inexact = self.builder.ins().band_imm_s(flags, 1);
                let inexact = self.builder.ins().ireduce(I8, inexact);
                let is_right = self.builder.ins().band(in_range, inexact);
                (if is_single { self.boxed(wide) } else { wide }, is_right)
            }
        };
        let is_right = match is_boxed {
            Some(is_boxed) => self.builder.ins().band(is_right, is_boxed),
            None => is_right,
        };
        Some((value, is_right))
    }
}
