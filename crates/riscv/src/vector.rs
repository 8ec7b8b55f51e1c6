//! The vector extension V 1.0, with elements of at most 64 bits, Zvfhmin, Zvfh and Zvbb (unprivileged specification, chapters 31
//! and 32).
//!
//! Where the specification leaves a choice, the choice is Spike's: elements of the tail and masked-off elements keep their values,
//! whatever the policies in `vtype`; `vl` is the smaller of AVL and VLMAX; an instruction that cannot trap in the middle is
//! illegal if `vstart` is not zero; each instruction makes VS Dirty.

mod block;
mod elements;
mod float;
mod integer;
mod mask;
mod memory;

pub(crate) use block::{Left, Vectors, is_vector};
pub(crate) use memory::{Addressing, Memory};

use crate::exception::Exception;
use crate::format::Format;
pub(crate) use crate::format::vectors::Source;
use crate::fp::Fpu;
use crate::hart::status;
use crate::insn::{Insn, Op};
use crate::isa::{Isa, Xlen};
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

impl<'a> Unit<'a> {
    /// `None` if there is no type, or the instruction would have to begin in its middle.
    fn new(
        v: &'a mut Vector,
        insn: &Insn,
        isa: Isa,
        [x, f]: [&[u64; 256]; 2],
        fpu: Option<Fpu>,
    ) -> Option<Self> {
        let Format::Vector(format) = insn.row().format else { return None };
        let (rs1, immediate) = (usize::from(insn.rs1), u64::from(insn.rs1));
        Some(Unit {
            kind: v.kind().filter(|_| v.vstart == 0)?,
            isa,
            source: format.source,
            rd: insn.rd.into(),
            rs1,
            rs2: insn.rs2.into(),
            masked: insn.imm & 1 == 0,
            scalar: match format.source {
                Source::Integer => x[rs1],
                Source::Float => f[rs1],
                Source::Signed => sign_extended(immediate, 5) as u64,
                Source::Unsigned6 => immediate | (insn.imm as u64 & 2) << 4,
                _ => immediate,
            },
            fpu,
            flags: 0,
            result: None,
            v,
        })
    }
}

impl Vector {
    /// Sets type and length as `vsetvli`, `vsetivli` and `vsetvl` do (31.6): the length is a register or an immediate, and the type
    /// the immediate or `rs2`. Yields the length.
    fn set_type(&mut self, insn: &Insn, x: &[u64; 256], xlen: Xlen) -> u64 {
        // (The upper half of a register of RV32 repeats its sign, which is `vill`.)
        let vtype = if insn.op == Op::Vsetvl { x[usize::from(insn.rs2)] } else { insn.vtype() };
        let length = match (insn.op, insn.rs1, insn.rd) {
            (Op::Vsetivli, number, _) => Some(number.into()),
            (_, 0, 0) => None,
            (_, 0, _) => Some(u64::MAX),
            _ => Some(xlen.outside(x[usize::from(insn.rs1)])),
        };
        self.configure(vtype, length);
        self.vstart = 0;
        self.vl
    }
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

    /// The environment of floating-point operations: FS is on, `frm` does not name a reserved mode (31.13).
    pub(crate) fn fpu(&self) -> Option<Fpu> {
        self.fpu
    }

    /// Width, rounding modes and flags for operations on elements of `size` bytes.
    #[inline(always)]
    pub(crate) fn lane(&self, size: usize) -> Lane {
        let fpu = self.fpu.unwrap_or(Fpu::NEAREST);
        Lane { width: 8 * size as u32, fpu, rounding: self.v.vxrm, saturated: false }
    }

    /// Takes over what operations raised.
    pub(crate) fn finish(&mut self, lane: &Lane) -> Legal {
        self.v.vxsat |= lane.saturated;
        self.flags |= lane.fpu.flags;
        Some(())
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
        let fpu = Fpu::dynamic(self.hart.frm).filter(|_| self.hart.fp_enabled());
        let mut unit = Unit::new(v, insn, self.hart.isa, [&self.hart.x, &self.hart.f], fpu)?;
        function(&mut unit)?;
        let (result, flags) = (unit.result, unit.flags);
        match result {
            Some(value) if insn.op == Op::VfmvFS => self.hart.f[usize::from(insn.rd)] = value,
            Some(value) => self.hart.set_x(insn.rd, self.hart.canonical(value)),
            None => {}
        }
        Some(flags)
    }

    /// `vsetvli`, `vsetivli` and `vsetvl`.
    pub(crate) fn system_set_vector_type(
        &mut self,
        insn: &Insn,
        next: u64,
        obs: &mut AnyObserver<'_>,
    ) -> Result<u64, Exception> {
        let mut v = self.take_vectors()?;
        let vl = v.set_type(insn, &self.hart.x, self.hart.isa.xlen());
        self.hart.set_x(insn.rd, vl);
        self.hart.vector = Some(v);
        self.make_vectors_dirty(obs);
        Ok(next)
    }
}
