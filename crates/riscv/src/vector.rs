//! The vector extension V 1.0, with elements of at most 64 bits, Zvfhmin, Zvfh and Zvbb (unprivileged specification, chapters 31
//! and 32).
//!
//! Where the specification leaves a choice, the choice is Spike's: elements of the tail and masked-off elements keep their values,
//! whatever the policies in `vtype`; `vl` is the smaller of AVL and VLMAX; an instruction that cannot trap in the middle is
//! illegal if `vstart` is not zero; each instruction makes VS Dirty.

mod float;
mod integer;
mod mask;
mod memory;

pub(crate) use memory::Addressing;

use crate::exception::Exception;
use crate::format::Format;
pub(crate) use crate::format::vectors::Source;
use crate::fp::{F16, F32, Float, Fpu};
use crate::hart::status;
use crate::insn::{Insn, Op};
use crate::isa::Isa;
use crate::machine::Machine;
use crate::observer::AnyObserver;
pub(crate) use crate::vector_state::{Kind, Vector};

/// The functions that the table's rows name.
pub(crate) mod ops {
    pub(crate) use super::float::*;
    pub(crate) use super::integer::*;
    pub(crate) use super::mask::*;
}

/// Whether an instruction is legal: `None` is not.
pub(crate) type Legal = Option<()>;

/// `None`, so that the instruction is illegal, unless something holds.
pub(crate) fn require(holds: bool) -> Legal {
    holds.then_some(())
}

/// Whether a register may begin a group of this size (31.3.4.2).
pub(crate) fn aligned(register: usize, group: i32) -> Legal {
    require(register & ((1 << group.max(0)) - 1) == 0)
}

/// Whether two groups have no register in common.
pub(crate) fn apart(a: usize, a_group: i32, b: usize, b_group: i32) -> bool {
    let [a_size, b_size] = [a_group, b_group].map(|group| 1usize << group.max(0));
    a + a_size <= b || b + b_size <= a
}

/// Whether a wider destination may have registers in common with a source: only those with the highest numbers, and
/// if the source is not a fraction of a register (31.5.2).
pub(crate) fn apart_or_top(wide: usize, wide_group: i32, narrow: usize, group: i32) -> bool {
    let top = wide + (1 << wide_group.max(0)) == narrow + (1 << group.max(0));
    apart(wide, wide_group, narrow, group) || group >= 0 && wide < narrow && top
}

/// What an operation on elements needs and changes besides them.
pub(crate) struct Lane {
    /// The bits of an element.
    pub(crate) width: u32,
    pub(crate) fpu: Fpu,
    rounding: u8,
    saturated: bool,
}

impl Lane {
    /// An element as a signed number.
    #[inline(always)]
    pub(crate) fn signed(&self, value: u64) -> i64 {
        sign_extended(value, self.width)
    }
}

/// The lowest bits of a value as a signed number.
#[inline(always)]
pub(crate) fn sign_extended(value: u64, width: u32) -> i64 {
    (value << (64 - width)) as i64 >> (64 - width)
}

/// An instruction that is being executed: its operands outside of the vector registers, and what it changes there.
pub(crate) struct Unit<'a> {
    pub(crate) v: &'a mut Vector,
    pub(crate) isa: Isa,
    pub(crate) kind: Kind,
    pub(crate) source: Source,
    /// The register numbers; the first source can also be an immediate.
    pub(crate) rd: usize,
    pub(crate) rs1: usize,
    pub(crate) rs2: usize,
    pub(crate) masked: bool,
    /// The value of the first source register, if it is an integer or floating-point register, or the immediate.
    pub(crate) scalar: u64,
    /// The rounding mode; `None` if floating point is off, or the mode reserved.
    fpu: Option<Fpu>,
    flags: u8,
    /// The value for the destination register, if it is an integer or floating-point register.
    pub(crate) result: Option<u64>,
}

impl Unit<'_> {
    pub(crate) fn vl(&self) -> usize {
        self.v.vl as usize
    }

    pub(crate) fn vlmax(&self) -> u64 {
        self.v.vlmax(self.kind)
    }

    /// Whether an element is not masked off.
    #[inline(always)]
    pub(crate) fn is_active(&self, index: usize) -> bool {
        !self.masked || self.v.bit(0, index)
    }

    /// A masked instruction cannot overwrite its mask with elements (31.5.3).
    pub(crate) fn keeps_mask(&self) -> Legal {
        require(!self.masked || self.rd != 0)
    }

    /// The first source, if it is a vector, can begin a group.
    pub(crate) fn first_aligned(&self, group: i32) -> Legal {
        if self.source == Source::Vector { aligned(self.rs1, group) } else { Some(()) }
    }

    /// Elements of the same width in all operands.
    pub(crate) fn same_width(&self) -> Legal {
        self.keeps_mask()?;
        aligned(self.rd, self.kind.lmul)?;
        aligned(self.rs2, self.kind.lmul)?;
        self.first_aligned(self.kind.lmul)
    }

    /// The kind of elements twice as wide.
    pub(crate) fn wide(&self) -> Option<Kind> {
        let Kind { sew, lmul } = self.kind;
        (sew < 3 && lmul < 3).then_some(Kind { sew: sew + 1, lmul: lmul + 1 })
    }

    /// A destination twice as wide as the sources, of which the second one may be as wide already.
    pub(crate) fn widening(&self, wide_source: bool) -> Option<Kind> {
        let (wide, lmul) = (self.wide()?, self.kind.lmul);
        self.keeps_mask()?;
        aligned(self.rd, wide.lmul)?;
        aligned(self.rs2, if wide_source { wide.lmul } else { lmul })?;
        require(wide_source || apart_or_top(self.rd, wide.lmul, self.rs2, lmul))?;
        if self.source == Source::Vector {
            aligned(self.rs1, lmul)?;
            require(apart_or_top(self.rd, wide.lmul, self.rs1, lmul))?;
        }
        Some(wide)
    }

    /// A second source twice as wide as the destination; those may begin with the same register.
    pub(crate) fn narrowing(&self) -> Option<Kind> {
        let (wide, lmul) = (self.wide()?, self.kind.lmul);
        self.keeps_mask()?;
        aligned(self.rs2, wide.lmul)?;
        aligned(self.rd, lmul)?;
        require(self.rd == self.rs2 || apart(self.rd, lmul, self.rs2, wide.lmul))?;
        self.first_aligned(lmul)?;
        Some(wide)
    }

    /// The first source if it is not a vector, cut to a width.
    fn splat(&self, size: u32) -> Option<u64> {
        match self.source {
            Source::Vector => None,
            Source::Float => Some(match size {
                1 => F16::unbox(self.scalar),
                2 => F32::unbox(self.scalar),
                _ => self.scalar,
            }),
            _ => Some(self.scalar & (u64::MAX >> (64 - (8 << size)))),
        }
    }

    /// The environment of floating-point operations: FS is on, `frm` does not name a reserved mode (31.13).
    pub(crate) fn fpu(&self) -> Option<Fpu> {
        self.fpu
    }

    pub(crate) fn lane(&self) -> Lane {
        let fpu = self.fpu.unwrap_or(Fpu::NEAREST);
        Lane { width: 8 << self.kind.sew, fpu, rounding: self.v.vxrm, saturated: false }
    }

    /// Takes over what operations raised.
    pub(crate) fn finish(&mut self, lane: &Lane) -> Legal {
        self.v.vxsat |= lane.saturated;
        self.flags |= lane.fpu.flags;
        Some(())
    }

    /// Computes each active element from those of the second and the first source, and its old value. The sizes are those of the
    /// destination, the second and the first source.
    #[inline(always)]
    pub(crate) fn each(
        &mut self,
        [d, a, b]: [u32; 3],
        mut operation: impl FnMut(&mut Lane, u64, u64, u64) -> u64,
    ) -> Legal {
        let (mut lane, splat) = (self.lane(), self.splat(b));
        for i in 0..self.vl() {
            if self.is_active(i) {
                let first = splat.unwrap_or_else(|| self.v.get(self.rs1, b, i));
                let (second, old) = (self.v.get(self.rs2, a, i), self.v.get(self.rd, d, i));
                let value = operation(&mut lane, second, first, old);
                self.v.set(self.rd, d, i, value);
            }
        }
        self.finish(&lane)
    }

    /// The same for elements that are not masked but have a bit of the mask as a third operand.
    #[inline(always)]
    pub(crate) fn each_with_mask(
        &mut self,
        mut operation: impl FnMut(&mut Lane, u64, u64, bool) -> u64,
    ) -> Legal {
        self.same_width()?;
        let size = self.kind.sew;
        let (mut lane, splat) = (self.lane(), self.splat(size));
        for i in 0..self.vl() {
            let first = splat.unwrap_or_else(|| self.v.get(self.rs1, size, i));
            let (second, bit) = (self.v.get(self.rs2, size, i), self.is_active(i));
            let value = operation(&mut lane, second, first, bit);
            self.v.set(self.rd, size, i, value);
        }
        Some(())
    }

    /// A bit for each active element; the last operand of `operation` is the element's bit of the mask, by which a `carry` is not
    /// masked.
    #[inline(always)]
    pub(crate) fn bits(
        &mut self,
        carry: bool,
        mut operation: impl FnMut(&mut Lane, u64, u64, bool) -> bool,
    ) -> Legal {
        let Kind { sew, lmul } = self.kind;
        let vectors = [Some(self.rs2), (self.source == Source::Vector).then_some(self.rs1)];
        for register in vectors.into_iter().flatten() {
            require(self.rd == register || apart(self.rd, 0, register, lmul))?;
            aligned(register, lmul)?;
        }
        let (mut lane, splat) = (self.lane(), self.splat(sew));
        for i in 0..self.vl() {
            let bit = self.masked && self.v.bit(0, i);
            if carry || bit || !self.masked {
                let first = splat.unwrap_or_else(|| self.v.get(self.rs1, sew, i));
                let value = operation(&mut lane, self.v.get(self.rs2, sew, i), first, bit);
                self.v.set_bit(self.rd, i, value);
            }
        }
        self.finish(&lane)
    }

    /// Reduces the active elements, beginning with the first element of the first source (31.14). `result` is the size of that.
    #[inline(always)]
    pub(crate) fn reduce(
        &mut self,
        result: u32,
        mut operation: impl FnMut(&mut Lane, u64, u64) -> u64,
        none: impl FnOnce(&mut Lane, u64) -> u64,
    ) -> Legal {
        aligned(self.rs2, self.kind.lmul)?;
        let mut lane = self.lane();
        let (mut sum, mut empty) = (self.v.get(self.rs1, result, 0), true);
        for i in 0..self.vl() {
            if self.is_active(i) {
                sum = operation(&mut lane, sum, self.v.get(self.rs2, self.kind.sew, i));
                empty = false;
            }
        }
        if self.vl() > 0 {
            let sum = if empty { none(&mut lane, sum) } else { sum };
            self.v.set(self.rd, result, 0, sum);
        }
        self.finish(&lane)
    }
}

impl Machine {
    /// Makes VS Dirty.
    pub(crate) fn make_vectors_dirty(&mut self, obs: &mut AnyObserver<'_>) {
        if self.hart.mstatus & status::VS != status::VS {
            self.hart.mstatus |= status::VS;
            self.report_csr(crate::csr::MSTATUS, obs);
        }
    }

    /// The vector state, out of its place; an error if VS is Off.
    pub(crate) fn take_vectors(&mut self) -> Result<Box<Vector>, Exception> {
        let on = self.hart.mstatus & status::VS != 0;
        let state = if on { self.hart.vector.take() } else { None };
        state.ok_or_else(|| self.illegal_now())
    }

    /// Executes an instruction that only changes registers.
    pub(crate) fn vector_instruction(
        &mut self,
        insn: &Insn,
        function: fn(&mut Unit<'_>) -> Legal,
        obs: &mut AnyObserver<'_>,
    ) -> Result<(), Exception> {
        let mut v = self.take_vectors()?;
        let done = self.with_vectors(&mut v, insn, function);
        self.hart.vector = Some(v);
        let flags = done.ok_or_else(|| self.illegal_now())?;
        self.make_vectors_dirty(obs);
        self.raise_flags(flags, obs);
        if insn.op == Op::VfmvFS {
            self.make_fp_dirty(obs);
        }
        Ok(())
    }

    /// Executes it; yields the flags that were raised, or `None` if it is illegal.
    fn with_vectors(
        &mut self,
        v: &mut Vector,
        insn: &Insn,
        function: fn(&mut Unit<'_>) -> Legal,
    ) -> Option<u8> {
        let Format::Vector(format) = insn.row().format else { return None };
        let (rs1, source, immediate) = (usize::from(insn.rs1), format.source(), u64::from(insn.rs1));
        let mut unit = Unit {
            kind: v.kind().filter(|_| v.vstart == 0)?,
            isa: self.hart.isa,
            source,
            rd: insn.rd.into(),
            rs1,
            rs2: insn.rs2.into(),
            masked: insn.imm & 1 == 0,
            scalar: match source {
                Source::Integer => self.hart.x[rs1],
                Source::Float => self.hart.f[rs1],
                Source::Signed => sign_extended(immediate, 5) as u64,
                Source::Unsigned6 => immediate | (insn.imm as u64 & 2) << 4,
                _ => immediate,
            },
            fpu: Fpu::dynamic(self.hart.frm).filter(|_| self.hart.fp_enabled()),
            flags: 0,
            result: None,
            v,
        };
        function(&mut unit)?;
        let (result, flags) = (unit.result, unit.flags);
        match result {
            Some(value) if insn.op == Op::VfmvFS => self.hart.f[usize::from(insn.rd)] = value,
            Some(value) => self.hart.set_x(insn.rd, self.hart.canonical(value)),
            None => {}
        }
        Some(flags)
    }

    /// `vsetvli`, `vsetivli` and `vsetvl` (31.6): the length is a register or an immediate, and the type the immediate or `rs2`.
    pub(crate) fn system_set_vector_type(
        &mut self,
        insn: &Insn,
        next: u64,
        obs: &mut AnyObserver<'_>,
    ) -> Result<u64, Exception> {
        let mut v = self.take_vectors()?;
        let x = &self.hart.x;
        // (The upper half of a register of RV32 repeats its sign, which is `vill`.)
        let vtype = if insn.op == Op::Vsetvl { x[usize::from(insn.rs2)] } else { insn.vtype() };
        let length = match (insn.op, insn.rs1, insn.rd) {
            (Op::Vsetivli, number, _) => Some(number.into()),
            (_, 0, 0) => None,
            (_, 0, _) => Some(u64::MAX),
            _ => Some(self.hart.outside(x[usize::from(insn.rs1)])),
        };
        v.configure(vtype, length);
        v.vstart = 0;
        self.hart.set_x(insn.rd, v.vl);
        self.hart.vector = Some(v);
        self.make_vectors_dirty(obs);
        Ok(next)
    }
}
