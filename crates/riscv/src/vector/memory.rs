//! Vector loads and stores (31.7). They access memory element by element, in order; a trap leaves the index of its element in
//! `vstart`, and what was done before it stays done.

use super::{Kind, Legal, Vector, aligned, apart, apart_or_top, require};
use crate::engine::tlb_index;
use crate::exception::{AccessType, Exception};
use crate::insn::Insn;
use crate::isa::Isa;
use crate::machine::Machine;
use crate::map::{from_le, put_le};
use crate::mmu::PAGE;
use crate::observer::{AccessKind, AnyObserver};
use crate::tier::Tlb;

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
    addressing: Addressing,
    rd: usize,
    rs2: usize,
    base: u64,
    /// From one element to the next.
    stride: u64,
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
    fn of_doublewords(self, vstart: u64) -> Self {
        let joined = 3 - self.size;
        if self.addressing != Addressing::Whole || self.base & 7 != 0 || vstart & ((1 << joined) - 1) != 0 {
            return self;
        }
        Self { size: 3, length: self.length >> joined, joined, stride: 8, ..self }
    }

    /// The offset of an element from the base.
    fn offset(&self, v: &Vector, element: u64) -> u64 {
        match self.addressing {
            Addressing::Indexed => v.get(self.rs2, self.index, element as usize),
            _ => self.stride.wrapping_mul(element),
        }
    }
}

impl Vector {
    #[inline(always)]
    fn plan(
        &self,
        insn: &Insn,
        addressing: Addressing,
        store: bool,
        x: &[u64; 256],
        rv64: bool,
    ) -> Option<Plan> {
        let (rd, rs2) = (usize::from(insn.rd), usize::from(insn.rs2));
        // Bits 14:12 are 0, 5, 6 and 7.
        let width = u32::from(insn.rm & 3);
        let fields = (insn.imm as usize >> 4 & 7) + 1;
        let masked = insn.imm & 1 == 0;
        let plan = Plan {
            addressing,
            rd,
            rs2,
            base: x[usize::from(insn.rs1)],
            stride: x[rs2],
            size: width,
            index: width,
            fields,
            group: 1,
            length: 0,
            masked,
            joined: 0,
        };
        if addressing == Addressing::Whole {
            require(rd & (fields - 1) == 0)?;
            let size = if store { 0 } else { width };
            let length = (fields * self.vlenb) as u64 >> size;
            return Some(Plan { stride: 1 << size, size, fields: 1, length, masked: false, ..plan });
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
        let stride = match addressing {
            Addressing::Strided => plan.stride,
            _ => (fields as u64) << size,
        };
        Some(Plan { stride, size, group: registers, length, ..plan })
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

/// RAM, and the pages of it that loads and stores of a block may go to.
pub(crate) struct Memory<'a> {
    pub(crate) ram: &'a mut [u8],
    pub(crate) loads: &'a Tlb,
    pub(crate) stores: &'a Tlb,
}

/// An access whose page is in no entry of the TLB.
pub(super) struct Missing {
    pub(super) va: u64,
    pub(super) size: u64,
}

impl Memory<'_> {
    /// Bytes of one page; the inner `None` if the address is not a multiple of `size`.
    #[inline(always)]
    fn find(&mut self, va: u64, size: u64, len: usize, store: bool) -> Result<Option<&mut [u8]>, Missing> {
        if va & (size - 1) != 0 {
            return Ok(None);
        }
        let entry = &(if store { self.stores } else { self.loads })[tlb_index(va)];
        if entry.tag != va & !(PAGE - 1) {
            return Err(Missing { va, size });
        }
        let index = va.wrapping_add(entry.addend) as usize;
        Ok(self.ram.get_mut(index..index.saturating_add(len)))
    }
}

impl Vector {
    /// Executes a load or store of a block. What it cannot do, it leaves with `vstart` at the first element that is not done; `None`
    /// leaves it to the reference interpreter.
    pub(super) fn access(
        &mut self,
        insn: &Insn,
        addressing: Addressing,
        store: bool,
        x: &[u64; 256],
        isa: Isa,
        mut memory: Memory<'_>,
    ) -> Option<Result<(), Missing>> {
        let plan = self.plan(insn, addressing, store, x, isa.is_rv64())?;
        let is_contiguous = plan.fields == 1
            && !plan.masked
            && !matches!(addressing, Addressing::Strided | Addressing::Indexed);
        while self.vstart < plan.length {
            let done = if is_contiguous {
                self.access_page(&plan, store, &mut memory)
            } else if plan.masked && !self.bit(0, self.vstart as usize) {
                Ok(Some(1))
            } else {
                self.access_element(&plan, store, &mut memory)
            };
            match done {
                Ok(elements) => self.vstart += elements?,
                Err(missing) => return Some(Err(missing)),
            }
        }
        self.vstart = 0;
        Some(Ok(()))
    }

    /// Accesses the next elements as far as they are in one page; yields how many.
    fn access_page(
        &mut self,
        plan: &Plan,
        store: bool,
        memory: &mut Memory<'_>,
    ) -> Result<Option<u64>, Missing> {
        let va = plan.base.wrapping_add(self.vstart << plan.size);
        let count = (plan.length - self.vstart).min((PAGE - va % PAGE) >> plan.size);
        let [from, len] = [self.vstart, count].map(|elements| (elements as usize) << plan.size);
        let Some(bytes) = memory.find(va, 1 << plan.size, len, store)? else { return Ok(None) };
        let registers = &mut self.regs[plan.rd * self.vlenb + from..][..len];
        if store {
            bytes.copy_from_slice(registers);
        } else {
            registers.copy_from_slice(bytes);
        }
        Ok(Some(count))
    }

    /// Accesses all fields of the next element.
    fn access_element(
        &mut self,
        plan: &Plan,
        store: bool,
        memory: &mut Memory<'_>,
    ) -> Result<Option<u64>, Missing> {
        let at = self.vstart as usize;
        let va = plan.base.wrapping_add(plan.offset(self, self.vstart));
        let size = 1 << plan.size;
        for field in 0..plan.fields {
            let va = va.wrapping_add((field << plan.size) as u64);
            let register = plan.rd + field * plan.group;
            let Some(bytes) = memory.find(va, size, size as usize, store)? else { return Ok(None) };
            if store {
                put_le(bytes, self.get(register, plan.size, at));
            } else {
                self.set(register, plan.size, at, from_le(bytes));
            }
        }
        Ok(Some(1))
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
        let done = match v.plan(insn, addressing, store, &self.hart.x, self.hart.isa.is_rv64()) {
            Some(plan) => {
                self.make_vectors_dirty(obs);
                self.access_elements(&mut v, plan, store, obs)
            }
            None => Err(self.illegal_now()),
        };
        self.hart.vector = Some(v);
        done
    }

    fn access_elements(
        &mut self,
        v: &mut Vector,
        plan: Plan,
        store: bool,
        obs: &mut AnyObserver<'_>,
    ) -> Result<(), Exception> {
        let plan = plan.of_doublewords(v.vstart);
        for i in v.vstart >> plan.joined..plan.length {
            let at = i as usize;
            if plan.masked && !v.bit(0, at) {
                continue;
            }
            let va = plan.base.wrapping_add(plan.offset(v, i));
            for field in 0..plan.fields {
                let register = plan.rd + field * plan.group;
                let va = va.wrapping_add((field as u64) << plan.size);
                let bytes = 1 << plan.size;
                let done = if store {
                    self.write_data(va, bytes, v.get(register, plan.size, at), AccessKind::Data, obs)
                } else {
                    self.read_data(va, bytes, AccessType::Load, AccessKind::Data, obs)
                        .map(|value| v.set(register, plan.size, at, value))
                };
                match done {
                    Ok(()) => {}
                    Err(_) if plan.addressing == Addressing::FaultFirst && i > 0 => {
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
