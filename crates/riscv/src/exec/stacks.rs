//! Shadow stacks (Zicfiss), and pushes and pops of several registers (Zcmp).

use super::Outcome;
use crate::alu::sign_extend;
use crate::csr;
use crate::exception::{AccessType, Cause, Exception};
use crate::format::registers;
use crate::hart::environment;
use crate::insn::{Insn, Op};
use crate::machine::Machine;
use crate::observer::{AccessKind, AnyObserver};

/// The code of a software check for a return address (privileged specification, 22.2.4).
const SHADOW_STACK_FAULT: u64 = 3;

/// Each yields the address of the next instruction.
#[allow(clippy::unnecessary_wraps)]
impl Machine {
    /// The bytes of a register.
    fn word_size(&self) -> u64 {
        if self.hart.isa.is_rv64() { 8 } else { 4 }
    }

    /// Zicfiss: the place of an access on the shadow stack, which must be aligned (22.2.5): its top, or the word below; `None`
    /// without a shadow stack.
    fn shadow_place(&self, below: bool) -> Outcome<Option<(u64, u64)>> {
        let (top, size) = (self.hart.extra.ssp, self.word_size());
        let at = if below { top.wrapping_sub(size) } else { top };
        match self.hart.has_shadow_stack() {
            false => Ok(None),
            true if at & (size - 1) == 0 => Ok(Some((at, size))),
            true => Err(AccessType::Store.access_fault(self.hart.effective(at))),
        }
    }

    fn set_shadow_pointer(&mut self, value: u64, obs: &mut AnyObserver<'_>) {
        self.hart.extra.ssp = self.hart.canonical(value);
        self.report_csr(csr::SSP, obs);
    }

    /// Zicfiss, 22.2.3: a link register onto the shadow stack. Without one it is the operation that it redefines, which
    /// writes zero to `x0`.
    pub(super) fn system_shadow_push(
        &mut self,
        insn: &Insn,
        next: u64,
        obs: &mut AnyObserver<'_>,
    ) -> Outcome<u64> {
        if let Some((at, size)) = self.shadow_place(true)? {
            let value = self.hart.x[usize::from(insn.rs2)];
            self.write_by(at, size, value, (AccessType::ShadowStack, AccessKind::Data), obs)?;
            self.set_shadow_pointer(at, obs);
        }
        Ok(next)
    }

    /// Zicfiss, 22.2.3: the top of the shadow stack must be equal to a link register.
    pub(super) fn system_shadow_pop(
        &mut self,
        insn: &Insn,
        next: u64,
        obs: &mut AnyObserver<'_>,
    ) -> Outcome<u64> {
        if let Some((at, size)) = self.shadow_place(false)? {
            let value = self.read_data(at, size, AccessType::ShadowStack, AccessKind::Data, obs)?;
            if self.hart.outside(self.hart.x[usize::from(insn.rs1)]) != value {
                return Err(Exception { cause: Cause::SoftwareCheck, tval: SHADOW_STACK_FAULT });
            }
            self.set_shadow_pointer(at.wrapping_add(size), obs);
        }
        Ok(next)
    }

    pub(super) fn system_shadow_pointer(
        &mut self,
        insn: &Insn,
        next: u64,
        _: &mut AnyObserver<'_>,
    ) -> Outcome<u64> {
        let value = if self.hart.has_shadow_stack() { self.hart.extra.ssp } else { 0 };
        self.hart.set_x(insn.rd, value);
        Ok(next)
    }

    /// Zicfiss, 22.2.6: the way in which software changes a shadow stack.
    pub(super) fn system_shadow_swap(
        &mut self,
        insn: &Insn,
        next: u64,
        obs: &mut AnyObserver<'_>,
    ) -> Outcome<u64> {
        self.check_environment(environment::SSE)?;
        let size = if insn.op == Op::SsamoswapW { 4 } else { 8 };
        let va = self.hart.x[usize::from(insn.rs1)];
        self.atomic_address(va, size, AccessType::ShadowStack)?;
        let old = self.read_data(va, size, AccessType::ShadowStack, AccessKind::Atomic, obs)?;
        let new = self.hart.x[usize::from(insn.rs2)];
        self.write_by(va, size, new, (AccessType::ShadowStack, AccessKind::Atomic), obs)?;
        self.hart.set_x(insn.rd, sign_extend(old, size));
        Ok(next)
    }

    /// Zcmp: by how many bytes an instruction moves the stack pointer.
    fn stack_room(insn: &Insn) -> u64 {
        (registers::room(insn.rs3, insn.row().width.word()) + insn.imm) as u64
    }

    /// Zcmp: the registers of an instruction from the last one, and their addresses below `top`.
    fn stack_places(&self, insn: &Insn, top: u64) -> impl Iterator<Item = (u8, u64)> + use<> {
        let size = self.word_size();
        let places = registers::list(insn.rs3).iter().rev();
        places.scan(top, move |at, register| {
            *at = at.wrapping_sub(size);
            Some((*register, *at))
        })
    }

    /// Zcmp, 28.13.4: registers onto the stack, from the last one, at the highest address. A trap in the middle leaves `sp` as it is,
    /// so that the instruction can begin again.
    pub(super) fn system_push_registers(
        &mut self,
        insn: &Insn,
        next: u64,
        obs: &mut AnyObserver<'_>,
    ) -> Outcome<u64> {
        let (sp, size) = (self.hart.x[2], self.word_size());
        for (register, at) in self.stack_places(insn, sp) {
            self.write_data(at, size, self.hart.x[usize::from(register)], AccessKind::Data, obs)?;
        }
        let down = self.hart.canonical(sp.wrapping_sub(Self::stack_room(insn)));
        self.hart.set_x(2, down);
        Ok(next)
    }

    /// Zcmp, 28.13.5 to 28.13.7: the inverse, perhaps with a return, and with the result 0. No register changes before all have
    /// been loaded.
    pub(super) fn system_pop_registers(
        &mut self,
        insn: &Insn,
        next: u64,
        obs: &mut AnyObserver<'_>,
    ) -> Outcome<u64> {
        let size = self.word_size();
        let sp = self.hart.canonical(self.hart.x[2].wrapping_add(Self::stack_room(insn)));
        let mut loaded = [(0, 0); 13];
        let mut places = self.stack_places(insn, sp);
        for slot in &mut loaded {
            let Some((register, at)) = places.next() else { break };
            let value = self.read_data(at, size, AccessType::Load, AccessKind::Data, obs)?;
            *slot = (register, sign_extend(value, size));
        }
        let returns = !matches!(insn.op, Op::CmPop | Op::CmPop32);
        // The return address is the first of the registers in all lists.
        let back = loaded.iter().find(|slot| slot.0 == 1).map_or(0, |slot| slot.1);
        let next = if returns { self.target(back & !1)? } else { next };
        loaded.into_iter().for_each(|(register, value)| self.hart.set_x(register, value));
        if matches!(insn.op, Op::CmPopretz | Op::CmPopretz32) {
            self.hart.set_x(10, 0);
        }
        self.hart.set_x(2, sp);
        Ok(next)
    }

    /// Zcmp, 28.13.8 and 28.13.9: both moves at once.
    pub(super) fn system_move_saved(
        &mut self,
        insn: &Insn,
        next: u64,
        _: &mut AnyObserver<'_>,
    ) -> Outcome<u64> {
        let values = [insn.rs1, insn.rs2].map(|r| self.hart.x[usize::from(r)]);
        let to = if insn.op == Op::CmMva01s { [10, 11] } else { [insn.rd, insn.rs3] };
        to.into_iter().zip(values).for_each(|(register, value)| self.hart.set_x(register, value));
        Ok(next)
    }
}
