//! Accesses that the inner loop leaves to [`Machine::run_blocks`]: misaligned ones and atomics. The reference interpreter does them
//! where an observer sees them, where they trap, and outside of RAM.

use crate::alu::{sext32, sign_extend};
use crate::engine::tlb_index;
use crate::fp::{NAN_BOX, NAN_BOX_HALF};
use crate::insn::{Class, Insn, Op};
use crate::isa::Extension;
use crate::machine::Machine;
use crate::map::{from_le, put_le};
use crate::mmu::PAGE;
use crate::observer::Observer;
use crate::table::instruction_table;

impl Machine {
    /// Does a misaligned load or store in one page; false, with nothing done, if the reference interpreter has to.
    pub(super) fn access_misaligned<O: Observer>(
        &mut self,
        slot: usize,
        place: u16,
        (va, size, store): (u64, u64, bool),
        obs: &mut O,
    ) -> bool {
        let Some(insn) = self.insn_at(place) else { return false };
        if va & (PAGE - 1) > PAGE - size {
            return false;
        }
        let Some(index) = self.index_in_ram(slot, va, store, obs) else { return false };
        let Some(bytes) = self.bus.ram.get_mut(index..index.saturating_add(size as usize)) else {
            return false;
        };
        let value = from_le(bytes);
        match insn.op {
            Op::Sh | Op::Sw | Op::Sd => put_le(bytes, self.hart.x[usize::from(insn.rs2)]),
            Op::Fsh | Op::Fsw | Op::Fsd => put_le(bytes, self.hart.f[usize::from(insn.rs2)]),
            Op::Lh => self.hart.set_x(insn.rd, value as i16 as u64),
            Op::Lw => self.hart.set_x(insn.rd, sext32(value)),
            Op::Lhu | Op::Lwu | Op::Ld => self.hart.set_x(insn.rd, value),
            Op::Flh => self.hart.f[usize::from(insn.rd)] = NAN_BOX_HALF | value,
            Op::Flw => self.hart.f[usize::from(insn.rd)] = NAN_BOX | value,
            Op::Fld => self.hart.f[usize::from(insn.rd)] = value,
            _ => return false,
        }
        true
    }

    /// Does an atomic, and yields the address of the next instruction; `None`, with nothing done, if the instruction is another one
    /// or the reference interpreter has to.
    pub(super) fn do_atomic<O: Observer>(&mut self, slot: usize, place: u16, obs: &mut O) -> Option<u64> {
        let insn = self.insn_at(place)?;
        let row = insn.row();
        if !matches!(row.class, Class::Amo | Class::LoadReserved | Class::StoreConditional) {
            return None;
        }
        // A compare and swap is the reference interpreter's.
        if matches!(row.extension, Extension::Zacas | Extension::ZabhaZacas) {
            return None;
        }
        let (va, size) = (self.hart.x[usize::from(insn.rs1)], 1_usize << (row.bits >> 12 & 3));
        if va & (size as u64 - 1) != 0 {
            return None;
        }
        let index = self.index_in_ram(slot, va, row.class != Class::LoadReserved, obs)?;
        let pa = self.bus.ram_base + index as u64;
        let operand = self.hart.x[usize::from(insn.rs2)];
        let bytes = self.bus.ram.get_mut(index..index.checked_add(size)?)?;
        let value = from_le(bytes);
        let old = sign_extend(value, size as u64);
        let result = match row.class {
            Class::Amo => {
                put_le(bytes, amo(insn.op, old, operand));
                old
            }
            Class::LoadReserved => {
                self.hart.reservation = Some(pa);
                old
            }
            _ => {
                let holds = self.hart.reservation.take() == Some(pa);
                if holds {
                    put_le(bytes, operand);
                }
                u64::from(!holds)
            }
        };
        self.hart.set_x(insn.rd, result);
        let pc = self.engine.arena.as_ref()?.meta[usize::from(place)].pc;
        Some(self.hart.canonical(pc.wrapping_add(u64::from(insn.len))))
    }

    fn insn_at(&self, place: u16) -> Option<Insn> {
        self.engine.arena.as_ref().map(|arena| arena.meta[usize::from(place)].insn)
    }

    /// The index in RAM of an address whose page is in the TLB, or comes there.
    fn index_in_ram<O: Observer>(&mut self, slot: usize, va: u64, store: bool, obs: &mut O) -> Option<usize> {
        let entry = |machine: &Self| {
            let arena = machine.engine.arena.as_ref()?;
            let tlb = if store { &arena.stores[slot] } else { &arena.loads[slot] };
            Some(tlb[tlb_index(va)]).filter(|entry| entry.tag == va & !(PAGE - 1))
        };
        let found = match entry(self) {
            Some(found) => found,
            None if self.fill_tlb(slot, va, store, obs) => entry(self)?,
            None => return None,
        };
        usize::try_from(va.wrapping_add(found.addend)).ok()
    }
}

macro_rules! amo {
    (Amo $values:ident |$old:ident, $b:ident| $x:expr) => {{
        let ($old, $b) = $values;
        $x
    }};
    ($class:ident $($rest:tt)*) => {
        0
    };
}

macro_rules! define {
    ($($section:ident { $($class:ident {
        $($op:ident $m:literal $w:ident $e:ident $f:ident $b:literal $($size:literal)? $($call:ident)? $(|$($arg:ident),+| $x:expr)?;)*
    })* })*) => {
        /// The value that an atomic stores, from memory and a register; 0 for other instructions.
        fn amo(op: Op, old: u64, operand: u64) -> u64 {
            let values = (old, operand);
            match op {
                $($($(Op::$op => amo!($class values $(|$($arg),+| $x)?),)*)*)*
            }
        }
    };
}
instruction_table!(define);
