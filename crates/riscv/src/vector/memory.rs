//! Vector loads and stores (31.7). They access memory element by element, in order; a trap leaves the index of its element in
//! `vstart`, and what was done before it stays done.

use super::{Kind, Legal, Vector, aligned, apart, apart_or_top, require};
use crate::exception::{AccessType, Exception};
use crate::insn::Insn;
use crate::machine::Machine;
use crate::observer::{AccessKind, AnyObserver};

/// How a load or store addresses memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addressing {
    /// Element after element.
    Unit,
    /// The same, and an element that cannot be loaded shortens the vector, unless it is the first.
    FaultFirst,
    /// The bits of a mask, as bytes.
    Mask,
    /// Registers as they are, whatever their type and length.
    Whole,
    /// At a distance that is in `rs2`.
    Strided,
    /// At offsets that are in `vs2`.
    Indexed,
}

/// A load or store, checked.
struct Plan {
    /// Sizes of elements of data and of indices, as powers of two.
    size: u32,
    index: u32,
    /// Fields of a segment, and how many registers each has.
    fields: usize,
    group: usize,
    /// How many elements.
    length: u64,
    masked: bool,
    /// How many elements are accessed together, as a power of two.
    joined: u32,
}

impl Plan {
    /// Whole registers, which are what kernels save, are accessed by doublewords where those are aligned: no trap can separate their
    /// bytes.
    fn of_doublewords(self, base: u64, vstart: u64, addressing: Addressing) -> Self {
        let joined = 3 - self.size;
        if addressing != Addressing::Whole || base & 7 != 0 || vstart & ((1 << joined) - 1) != 0 {
            return self;
        }
        Self { size: 3, length: self.length >> joined, joined, ..self }
    }
}

impl Vector {
    fn plan(&self, insn: &Insn, addressing: Addressing, store: bool, rv64: bool) -> Option<Plan> {
        let (rd, rs2) = (usize::from(insn.rd), usize::from(insn.rs2));
        // Bits 14:12 are 0, 5, 6 and 7.
        let width = u32::from(insn.rm & 3);
        let fields = (insn.imm as usize >> 4 & 7) + 1;
        let masked = insn.imm & 1 == 0;
        if addressing == Addressing::Whole {
            require(rd & (fields - 1) == 0)?;
            let size = if store { 0 } else { width };
            let length = (fields * self.vlenb) as u64 >> size;
            return Some(Plan { size, index: 0, fields: 1, group: fields, length, masked: false, joined: 0 });
        }
        let kind = self.kind()?;
        let indexed = addressing == Addressing::Indexed;
        // The group of elements of the width in the encoding, which may be those of indices.
        let encoded = match addressing {
            Addressing::Mask => 0,
            _ => kind.lmul + width as i32 - kind.sew as i32,
        };
        require((-3..=3).contains(&encoded))?;
        let (size, group) = if indexed { (kind.sew, kind.lmul) } else { (width, encoded) };
        let registers = 1 << group.max(0);
        aligned(rd, group)?;
        require(fields * registers <= 8 && rd + fields * registers <= 32)?;
        if indexed {
            aligned(rs2, encoded)?;
            require(rv64 || width < 3)?;
        }
        if !store {
            require(!masked || rd != 0)?;
            for field in 0..if indexed { fields } else { 0 } {
                self.indices_apart(kind, rd + field * registers, rs2, width, encoded, fields)?;
            }
        }
        let length = if addressing == Addressing::Mask { self.vl.div_ceil(8) } else { self.vl };
        Some(Plan { size, index: width, fields, group: registers, length, masked, joined: 0 })
    }

    /// The indices of a load may overlap a field of its destination only as sources of another width may (31.5.2), and
    /// those of segments not at all (31.7.8.3).
    fn indices_apart(
        &self,
        kind: Kind,
        rd: usize,
        rs2: usize,
        width: u32,
        group: i32,
        fields: usize,
    ) -> Legal {
        let disjoint = apart(rd, kind.lmul, rs2, group);
        require(
            disjoint
                || fields == 1
                    && match width.cmp(&kind.sew) {
                        std::cmp::Ordering::Equal => true,
                        std::cmp::Ordering::Greater => rd == rs2,
                        std::cmp::Ordering::Less => apart_or_top(rd, kind.lmul, rs2, group),
                    },
        )
    }
}

impl Machine {
    /// Executes a load or store.
    pub(crate) fn vector_access(
        &mut self,
        insn: &Insn,
        addressing: Addressing,
        store: bool,
        obs: &mut AnyObserver<'_>,
    ) -> Result<(), Exception> {
        let mut v = self.take_vectors()?;
        let done = match v.plan(insn, addressing, store, self.hart.isa.is_rv64()) {
            Some(plan) => {
                self.make_vectors_dirty(obs);
                self.access_elements(&mut v, insn, plan, addressing, store, obs)
            }
            None => Err(self.illegal_now()),
        };
        self.hart.vector = Some(v);
        done
    }

    fn access_elements(
        &mut self,
        v: &mut Vector,
        insn: &Insn,
        plan: Plan,
        addressing: Addressing,
        store: bool,
        obs: &mut AnyObserver<'_>,
    ) -> Result<(), Exception> {
        let (rd, rs2) = (usize::from(insn.rd), usize::from(insn.rs2));
        let base = self.hart.x[usize::from(insn.rs1)];
        let plan = plan.of_doublewords(base, v.vstart, addressing);
        let start = v.vstart >> plan.joined;
        let stride = match addressing {
            Addressing::Strided => self.hart.x[rs2],
            _ => (plan.fields as u64) << plan.size,
        };
        for i in start..plan.length {
            let at = i as usize;
            if plan.masked && !v.bit(0, at) {
                continue;
            }
            let offset = match addressing {
                Addressing::Indexed => v.get(rs2, plan.index, at),
                _ => stride.wrapping_mul(i),
            };
            for field in 0..plan.fields {
                let register = rd + field * plan.group;
                let va = base.wrapping_add(offset).wrapping_add((field as u64) << plan.size);
                let bytes = 1 << plan.size;
                let done = if store {
                    self.write_data(va, bytes, v.get(register, plan.size, at), AccessKind::Data, obs)
                } else {
                    self.read_data(va, bytes, AccessType::Load, AccessKind::Data, obs)
                        .map(|value| v.set(register, plan.size, at, value))
                };
                match done {
                    Ok(()) => {}
                    Err(_) if addressing == Addressing::FaultFirst && i > 0 => {
                        (v.vl, v.vstart) = (i, 0);
                        return Ok(());
                    }
                    Err(exception) => {
                        v.vstart = i << plan.joined;
                        return Err(exception);
                    }
                }
            }
        }
        v.vstart = 0;
        Ok(())
    }
}
