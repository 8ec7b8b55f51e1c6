//! The reference interpreter: the effect of one instruction, straight from the table.

use crate::alu::{
    carryless, deinterleave, div, div32, divu32, interleave, look_up, or_combine, rem, rem32, remu32,
    reverse_bytes_bits, sext32, sign_extend,
};
use crate::bus::CACHE_BLOCK;
use crate::config::MachineKind;
use crate::csr::{self, Effect};
use crate::custom;
use crate::exception::{AccessType, Cause, Exception};
use crate::fp::{
    Compare, F16, F32, F64, Fpu, NAN_BOX, NAN_BOX_HALF, Rounding, classify, constant, sign_inject,
};
use crate::hart::{environment, interrupt, status};
use crate::insn::{Insn, Op};
use crate::isa::Extension;
use crate::machine::Machine;
use crate::mmu::{self, Found, PAGE};
use crate::observer::{Access, AccessKind, AnyObserver, Observer};
use crate::privilege::Privilege;
use crate::table::instruction_table;
use crate::trap;
use crate::vector::{Addressing, ops};

mod stacks;

type Outcome<T> = Result<T, Exception>;

impl Machine {
    /// Reads memory; an atomic needs what a store needs.
    pub(crate) fn read_data(
        &mut self,
        va: u64,
        size: u64,
        access: AccessType,
        kind: AccessKind,
        obs: &mut AnyObserver<'_>,
    ) -> Outcome<u64> {
        let va = self.hart.effective(va);
        let (pa, value) = if va & (size - 1) == 0 {
            let pa = self.translate_data(va, size, access)?;
            let time = self.mtime();
            (pa, self.bus.read(pa, size, time).ok_or_else(|| access.access_fault(va))?)
        } else {
            self.misaligned(va, size, access, None)?
        };
        self.report_data_walks(va, size, access, obs);
        obs.access(|| Access { kind, store: false, va: self.hart.outside(va), pa, size: size as u8, value });
        Ok(value)
    }

    /// Writes memory for a store.
    pub(crate) fn write_data(
        &mut self,
        va: u64,
        size: u64,
        value: u64,
        kind: AccessKind,
        obs: &mut AnyObserver<'_>,
    ) -> Outcome<()> {
        self.write_by(va, size, value, (AccessType::Store, kind), obs)
    }

    /// Writes memory for a store or an access to a shadow stack.
    fn write_by(
        &mut self,
        va: u64,
        size: u64,
        value: u64,
        (access, kind): (AccessType, AccessKind),
        obs: &mut AnyObserver<'_>,
    ) -> Outcome<()> {
        let va = self.hart.effective(va);
        let value = if size == 8 { value } else { value & ((1 << (8 * size)) - 1) };
        let pa = if va & (size - 1) == 0 {
            let pa = self.translate_data(va, size, access)?;
            let time = self.mtime();
            self.bus.write(pa, size, value, time).ok_or_else(|| access.access_fault(va))?;
            pa
        } else {
            self.misaligned(va, size, access, Some(value))?.0
        };
        self.report_data_walks(va, size, access, obs);
        obs.access(|| Access { kind, store: true, va: self.hart.outside(va), pa, size: size as u8, value });
        Ok(())
    }

    /// Reports the page-table walks of a completed access to the observer.
    fn report_data_walks(&self, va: u64, size: u64, access: AccessType, obs: &mut AnyObserver<'_>) {
        if obs.walk {
            let privilege = self.hart.data_privilege();
            self.report_walk(va, access, privilege, obs);
            if (va & (PAGE - 1)) + size > PAGE {
                self.report_walk(self.hart.canonical(va.wrapping_add(size - 1)), access, privilege, obs);
            }
        }
    }

    /// The page of an address, whose page-table walk is reported to the observer; one walk does both.
    #[inline(always)]
    pub(crate) fn find_page_reporting_walk<O: Observer>(
        &self,
        va: u64,
        access: AccessType,
        privilege: Privilege,
        obs: &mut O,
    ) -> Outcome<Found> {
        if O::WALK
            && let Some((way, page)) = mmu::walk_to_page(&self.hart, &self.bus, va, access, privilege)
        {
            obs.walk(&way);
            return Ok(page);
        }
        mmu::find_page(&self.hart, &self.bus, va, access, privilege)
    }

    /// Reports the page-table walk for a page to the observer.
    pub(crate) fn report_walk(
        &self,
        va: u64,
        access: AccessType,
        privilege: Privilege,
        obs: &mut AnyObserver<'_>,
    ) {
        obs.walk(|| mmu::walk_to_page(&self.hart, &self.bus, va, access, privilege).map(|(way, _)| way));
    }

    fn translate_data(&mut self, va: u64, size: u64, access: AccessType) -> Outcome<u64> {
        mmu::translate(&self.hart, &mut self.bus, va, size, access, self.hart.data_privilege())
    }

    /// Whether loads and stores need not be aligned.
    pub(crate) fn does_misaligned(&self) -> bool {
        self.config.misaligned || self.config.isa.has(Extension::Zicclsm)
    }

    /// A misaligned access; in two pages it is done byte by byte, after both have been found in order. Only memory supports those.
    fn misaligned(
        &mut self,
        va: u64,
        size: u64,
        access: AccessType,
        store: Option<u64>,
    ) -> Outcome<(u64, u64)> {
        if !self.does_misaligned() {
            return Err(access.misaligned(va));
        }
        let in_first = (PAGE - (va & (PAGE - 1))).min(size);
        let first = self.translate_data(va, in_first, access)?;
        let time = self.mtime();
        let second = match size - in_first {
            // In one page of memory it is like an aligned one.
            0 if self.bus.ram_slice(first, size).is_some() => {
                let value = match store {
                    Some(value) => self.bus.write(first, size, value, time).map(|()| value),
                    None => self.bus.ram_read(first, size),
                };
                return Ok((first, value.unwrap_or(0)));
            }
            0 => return Err(access.access_fault(va)),
            rest => self.translate_data(self.hart.effective(va.wrapping_add(in_first)), rest, access)?,
        };
        let place = |i: u64| if i < in_first { first + i } else { second + (i - in_first) };
        if (0..size).any(|i| self.bus.ram_slice(place(i), 1).is_none()) {
            return Err(access.access_fault(va));
        }
        let mut value = 0;
        for i in 0..size {
            match store {
                Some(v) => drop(self.bus.write(place(i), 1, v >> (8 * i) & 0xff, time)),
                None => value |= self.bus.ram_read(place(i), 1).unwrap_or(0) << (8 * i),
            }
        }
        Ok((first, store.unwrap_or(value)))
    }

    /// The physical address of an atomic; those must be aligned. Where other misaligned accesses are done, nobody should emulate
    /// one of these: then Spike raises an access fault (unprivileged specification, 13.4; QEMU does not).
    fn atomic_address(&mut self, va: u64, size: u64, access: AccessType) -> Outcome<u64> {
        let va = self.hart.effective(va);
        if va & (size - 1) != 0 {
            let final_here = self.does_misaligned() && self.config.machine == MachineKind::Spike;
            return Err(if final_here { access.access_fault(va) } else { access.misaligned(va) });
        }
        self.translate_data(va, size, access)
    }

    /// The physical address of `lr` or `sc`. Only memory can be reserved, and `sc` needs it also where it fails.
    fn reservable_address(&mut self, va: u64, size: u64, access: AccessType) -> Outcome<u64> {
        let pa = self.atomic_address(va, size, access)?;
        match self.bus.ram_slice(pa, size) {
            Some(_) => Ok(pa),
            None => Err(access.access_fault(self.hart.effective(va))),
        }
    }

    /// The rounding mode of a floating-point instruction, without flags; `None` when it is illegal.
    fn fpu(&self, insn: &Insn) -> Option<Fpu> {
        if !self.hart.fp_enabled() {
            return None;
        }
        let mode = match insn.rm {
            _ if !insn.row().format.has_rounding() => 0,
            7 => self.hart.frm,
            mode => mode,
        };
        Some(Fpu { rounding: Rounding::from_bits(mode)?, flags: 0 })
    }

    /// Adds the flags that a floating-point instruction raised.
    pub(crate) fn raise_flags(&mut self, raised: u8, obs: &mut AnyObserver<'_>) {
        if raised != 0 {
            self.hart.fflags |= raised;
            obs.csr(csr::FFLAGS, || u64::from(self.hart.fflags));
            self.make_fp_dirty(obs);
        }
    }

    /// Makes FS Dirty, as Spike does wherever a register of F is written or a flag raised, and nowhere else (3.1.6.6 would also
    /// permit it elsewhere).
    pub(crate) fn make_fp_dirty(&mut self, obs: &mut AnyObserver<'_>) {
        if self.hart.mstatus & status::FS != status::FS {
            self.hart.mstatus |= status::FS;
            self.report_csr(csr::MSTATUS, obs);
        }
    }

    pub(crate) fn report_csr(&self, number: u16, obs: &mut AnyObserver<'_>) {
        obs.csr(number, || self.hart.outside(self.hart.csr_read(number, self.mtime()).unwrap_or_default()));
    }

    /// A jump's target, checked.
    fn target(&self, pc: u64) -> Outcome<u64> {
        let pc = self.hart.canonical(pc);
        if pc & self.hart.target_mask() & 2 != 0 {
            return Err(Exception { cause: Cause::InstructionMisaligned, tval: pc });
        }
        Ok(pc)
    }

    fn csr_instruction(
        &mut self,
        insn: &Insn,
        operation: fn(u64, u64) -> u64,
        obs: &mut AnyObserver<'_>,
    ) -> Outcome<()> {
        let number = insn.imm as u16;
        let illegal = |_| self.illegal_now();
        let writes = insn.writes_csr();
        self.hart.csr_check(number, writes).map_err(illegal)?;
        let operand = match insn.op {
            Op::Csrrw | Op::Csrrs | Op::Csrrc => self.hart.x[usize::from(insn.rs1)],
            _ => u64::from(insn.rs1),
        };
        if let Some(value) = self.clic_instruction(insn, operand, operation, obs)? {
            self.hart.set_x(insn.rd, value);
            return Ok(());
        }
        let old = self.hart.csr_read(number, self.mtime()).map_err(|_| self.illegal_now())?;
        let before = (self.hart.mstatus, self.hart.mip);
        if writes {
            match self.hart.csr_write(number, operation(old, operand)) {
                Ok(Effect::Nothing) => {}
                Ok(Effect::Protection) => self.engine.flush_translations(),
                Ok(Effect::Timer) => self.bus.device_written = true,
                Ok(Effect::Environment) => {
                    self.engine.flush_translations();
                    self.bus.device_written = true;
                }
                Err(_) => return Err(self.illegal_now()),
            }
        }
        self.hart.set_x(insn.rd, old);
        if writes {
            self.report_write(number, before, obs);
        }
        Ok(())
    }

    /// Reports the registers that a write to one of them changed, as Spike's log has them; before it `mstatus` and `mip` had these
    /// values.
    fn report_write(&mut self, number: u16, (mstatus, mip): (u64, u64), obs: &mut AnyObserver<'_>) {
        let writes_state = (csr::FFLAGS..=csr::VCSR).contains(&number);
        if (self.hart.mstatus ^ mstatus) & (status::FS | status::VS) != 0 && writes_state {
            self.report_csr(csr::MSTATUS, obs);
        }
        if matches!(number, csr::MIP | csr::SIP) {
            // Of `mip`, this alias shows what `mvien` does not hide: SEIP already as it is now.
            let timer = if self.hart.has_supervisor_timer() { 0 } else { interrupt::STI };
            obs.csr(csr::MVIP, || self.hart.mip & interrupt::SEI | mip & (interrupt::SSI | timer));
        }
        let changed: &[u16] = match number {
            csr::FCSR => &[csr::FFLAGS, csr::FRM],
            csr::VCSR => &[csr::VXSAT, csr::VXRM],
            csr::SSTATUS => &[csr::MSTATUS],
            csr::SIE => &[csr::MIE, csr::SIE],
            csr::SIP => &[csr::MIP],
            // (Both halves by the whole register.)
            csr::STIMECMPH => &[csr::STIMECMP],
            // Registers without writable bits.
            csr::TSELECT..=csr::TINFO => &[],
            _ if self.hart.is_locked(number) => &[],
            _ => &[number],
        };
        // A counter reads as what was written when this instruction, which does not count into it, has retired.
        self.hart.retired = self.hart.retired.wrapping_add(1);
        changed.iter().for_each(|&number| self.report_csr(number, obs));
        self.hart.retired = self.hart.retired.wrapping_sub(1);
    }

    /// The exception for the instruction that is being executed.
    pub(crate) fn illegal_now(&self) -> Exception {
        Exception { cause: Cause::IllegalInstruction, tval: u64::from(self.word) }
    }

    /// An error unless a privileged instruction is allowed here: never in U-mode.
    fn check_privileged(&self, trapped: bool) -> Outcome<()> {
        if trapped || self.hart.privilege == Privilege::User { Err(self.illegal_now()) } else { Ok(()) }
    }

    /// Executes one instruction at `hart.pc` and yields the address of the next one. On `Err` nothing of the
    /// machine's state has changed, but by a vector load or store what its elements before the trap did, and by a push of
    /// registers the stores before it.
    pub(crate) fn execute(&mut self, insn: &Insn, obs: &mut AnyObserver<'_>) -> Outcome<u64> {
        let pc = self.hart.pc;
        let next = self.hart.canonical(pc.wrapping_add(u64::from(insn.len)));
        let (rd, rs1, rs2) = (insn.rd, usize::from(insn.rs1), usize::from(insn.rs2));

        macro_rules! one {
            (Upper |$pc:ident, $imm:ident| $value:expr) => {{
                let ($pc, $imm) = (pc, insn.imm as u64);
                self.hart.set_x(rd, $value);
            }};
            (AluImm |$a:ident, $b:ident| $value:expr) => {{
                let ($a, $b) = (self.hart.x[rs1], insn.imm as u64);
                self.hart.set_x(rd, $value);
            }};
            (AluReg |$a:ident, $b:ident| $value:expr) => {{
                let ($a, $b) = (self.hart.x[rs1], self.hart.x[rs2]);
                self.hart.set_x(rd, $value);
            }};
            (Load $size:literal |$v:ident| $value:expr) => {{
                let va = self.hart.x[rs1].wrapping_add(insn.imm as u64);
                let $v = self.read_data(va, $size, AccessType::Load, AccessKind::Data, obs)?;
                self.hart.set_x(rd, $value);
            }};
            (Store $size:literal) => {{
                let va = self.hart.x[rs1].wrapping_add(insn.imm as u64);
                self.write_data(va, $size, self.hart.x[rs2], AccessKind::Data, obs)?;
            }};
            (FpLoad $size:literal |$v:ident| $value:expr) => {{
                if !self.hart.fp_enabled() {
                    return Err(self.illegal_now());
                }
                let va = self.hart.x[rs1].wrapping_add(insn.imm as u64);
                let $v = self.read_data(va, $size, AccessType::Load, AccessKind::Data, obs)?;
                self.hart.f[usize::from(rd)] = $value;
                self.make_fp_dirty(obs);
            }};
            (FpStore $size:literal) => {{
                if !self.hart.fp_enabled() {
                    return Err(self.illegal_now());
                }
                let va = self.hart.x[rs1].wrapping_add(insn.imm as u64);
                self.write_data(va, $size, self.hart.f[rs2], AccessKind::Data, obs)?;
            }};
            (Branch |$a:ident, $b:ident| $taken:expr) => {{
                let ($a, $b) = (self.hart.x[rs1], self.hart.x[rs2]);
                if $taken {
                    let target = self.target(pc.wrapping_add(insn.imm as u64))?;
                    self.taken = true;
                    return Ok(target);
                }
            }};
            (Jump) => {{
                let target = self.target(pc.wrapping_add(insn.imm as u64))?;
                self.hart.set_x(rd, next);
                return Ok(target);
            }};
            (JumpReg) => {{
                let target = self.target(self.hart.x[rs1].wrapping_add(insn.imm as u64) & !1)?;
                self.hart.jump_through(insn.rs1);
                self.hart.set_x(rd, next);
                return Ok(target);
            }};
            (Nop) => {{}};
            (Amo $size:literal |$old:ident, $b:ident| $new:expr) => {{
                let va = self.hart.x[rs1];
                self.atomic_address(va, $size, AccessType::Store)?;
                let value = self.read_data(va, $size, AccessType::Store, AccessKind::Atomic, obs)?;
                let old = sign_extend(value, $size);
                let new = {
                    let ($old, $b) = (old, self.hart.x[rs2]);
                    $new
                };
                self.write_data(va, $size, new, AccessKind::Atomic, obs)?;
                self.hart.set_x(rd, old);
            }};
            (Amo $function:ident) => {{
                self.$function(insn, obs)?;
            }};
            (LoadReserved $size:literal) => {{
                let va = self.hart.x[rs1];
                let pa = self.reservable_address(va, $size, AccessType::Load)?;
                let value = self.read_data(va, $size, AccessType::Load, AccessKind::Atomic, obs)?;
                self.hart.reservation = Some(pa);
                self.hart.set_x(rd, if $size == 4 { sext32(value) } else { value });
            }};
            (StoreConditional $size:literal) => {{
                let va = self.hart.x[rs1];
                let pa = self.reservable_address(va, $size, AccessType::Store)?;
                let holds = self.hart.reservation == Some(pa);
                if holds {
                    self.write_data(va, $size, self.hart.x[rs2], AccessKind::Atomic, obs)?;
                }
                // The reservation is lost whether it succeeds or not.
                self.hart.reservation = None;
                self.hart.set_x(rd, u64::from(!holds));
            }};
            (FpFp |$e:ident, $a:ident, $b:ident, $c:ident| $value:expr) => {{
                let mut fpu = self.fpu(insn).ok_or_else(|| self.illegal_now())?;
                let f = &mut self.hart.f;
                let ($e, $a, $b, $c) = (&mut fpu, f[rs1], f[rs2], f[usize::from(insn.rs3)]);
                f[usize::from(rd)] = $value;
                self.make_fp_dirty(obs);
                self.raise_flags(fpu.flags, obs);
            }};
            (FpInt |$e:ident, $a:ident, $b:ident| $value:expr) => {{
                let mut fpu = self.fpu(insn).ok_or_else(|| self.illegal_now())?;
                let ($e, $a, $b) = (&mut fpu, self.hart.f[rs1], self.hart.f[rs2]);
                self.hart.set_x(rd, $value);
                self.raise_flags(fpu.flags, obs);
            }};
            (IntFp |$e:ident, $a:ident| $value:expr) => {{
                let mut fpu = self.fpu(insn).ok_or_else(|| self.illegal_now())?;
                let ($e, $a) = (&mut fpu, self.hart.x[rs1]);
                self.hart.f[usize::from(rd)] = $value;
                self.make_fp_dirty(obs);
                self.raise_flags(fpu.flags, obs);
            }};
            (Csr |$old:ident, $b:ident| $new:expr) => {{
                self.csr_instruction(insn, |$old, $b| $new, obs)?;
                if insn.imm == i64::from(csr::SATP) {
                    obs.address_space(self.hart.satp);
                }
            }};
            (Vector $function:ident) => {{
                self.vector_instruction(insn, ops::$function, obs)?;
            }};
            (VectorLoad $addressing:ident) => {{
                self.vector_access(insn, Addressing::$addressing, false, obs)?;
            }};
            (VectorStore $addressing:ident) => {{
                self.vector_access(insn, Addressing::$addressing, true, obs)?;
            }};
            (System $function:ident) => {
                return self.$function(insn, next, obs)
            };
        }
        macro_rules! interpret {
            ($($section:ident { $($class:ident {
                $($op:ident $m:literal $w:ident $e:ident $f:ident $b:literal $($size:literal)? $($call:ident)? $(|$($arg:ident),+| $x:expr)?;)*
            })* })*) => {
                match insn.op { $($($(Op::$op => one!($class $($size)? $($call)? $(|$($arg),+| $x)?),)*)*)* }
            };
        }
        instruction_table!(interpret);
        Ok(next)
    }
}

/// The system instructions. Each yields the address of the next instruction.
#[allow(clippy::unnecessary_wraps)]
impl Machine {
    fn system_ecall(&mut self, _: &Insn, next: u64, _: &mut AnyObserver<'_>) -> Outcome<u64> {
        if self.sbi && self.hart.privilege == Privilege::Supervisor {
            self.sbi_call();
            return Ok(next);
        }
        if self.does_print() {
            return Ok(next);
        }
        let cause = match self.hart.privilege {
            Privilege::User => Cause::UserEcall,
            Privilege::Supervisor => Cause::SupervisorEcall,
            Privilege::Machine => Cause::MachineEcall,
        };
        Err(Exception { cause, tval: 0 })
    }

    fn system_ebreak(&mut self, _: &Insn, next: u64, _: &mut AnyObserver<'_>) -> Outcome<u64> {
        if self.does_semihosting() {
            return Ok(next);
        }
        Err(Exception { cause: Cause::Breakpoint, tval: self.hart.pc })
    }

    fn system_fence_i(&mut self, _: &Insn, next: u64, _: &mut AnyObserver<'_>) -> Outcome<u64> {
        self.fence_i_of(self.turns.current);
        Ok(next)
    }

    fn system_mret(&mut self, _: &Insn, _: u64, obs: &mut AnyObserver<'_>) -> Outcome<u64> {
        self.check_privileged(self.hart.privilege != Privilege::Machine)?;
        Ok(trap::return_from(&mut self.hart, &mut self.bus, Privilege::Machine, obs))
    }

    fn system_sret(&mut self, _: &Insn, _: u64, obs: &mut AnyObserver<'_>) -> Outcome<u64> {
        // 3.1.6.5: TSR makes sret illegal in S-mode.
        let trapped = self.hart.privilege == Privilege::Supervisor && self.hart.mstatus & status::TSR != 0;
        self.check_privileged(trapped)?;
        Ok(trap::return_from(&mut self.hart, &mut self.bus, Privilege::Supervisor, obs))
    }

    fn system_wfi(&mut self, _: &Insn, next: u64, _: &mut AnyObserver<'_>) -> Outcome<u64> {
        // 3.1.6.5: TW makes wfi illegal below M-mode; in U-mode it is illegal when S-mode is there.
        let trapped = self.hart.privilege != Privilege::Machine && self.hart.mstatus & status::TW != 0;
        self.check_privileged(trapped)?;
        // Wakes up when an interrupt is pending and enabled in mie, whether or not it will be taken (3.3.3).
        self.waiting = self.hart.mip & self.hart.mie & interrupt::ALL == 0;
        Ok(next)
    }

    fn system_sfence_vma(&mut self, insn: &Insn, next: u64, obs: &mut AnyObserver<'_>) -> Outcome<u64> {
        let trapped = self.hart.privilege == Privilege::Supervisor && self.hart.mstatus & status::TVM != 0;
        self.check_privileged(trapped)?;
        match insn.rs1 {
            // 4.2.1: of one address, if observers of walks need not see all others again, and no other address is the same.
            rs1 if rs1 != 0 && !obs.walk && !self.config.isa.masks_pointers() => {
                self.engine.flush_translation(self.hart.x[usize::from(rs1)])
            }
            _ => self.engine.flush_translations(),
        }
        Ok(next)
    }

    /// The fences around `sinval.vma`, which does its work at once: they order nothing more.
    fn system_sfence_inval(&mut self, _: &Insn, next: u64, _: &mut AnyObserver<'_>) -> Outcome<u64> {
        self.check_privileged(false)?;
        Ok(next)
    }

    /// An error unless `menvcfg`, and for U-mode `senvcfg`, have one of the bits that permit a cache-block instruction
    /// (CMO specification, 2.3).
    fn check_environment(&self, bits: u64) -> Outcome<()> {
        if self.hart.environment_permits(bits) { Ok(()) } else { Err(self.illegal_now()) }
    }

    /// The block of an address, and the error for the address if the block has one: a fault reports the value of `rs1`, not the
    /// start of the block (CMO specification, 2.5.2).
    fn block_of(&self, insn: &Insn) -> (u64, impl Fn(Exception) -> Exception + use<>) {
        let address = self.hart.effective(self.hart.x[usize::from(insn.rs1)]);
        let offset = address & (CACHE_BLOCK - 1);
        (address - offset, move |fault| Exception { tval: fault.tval | offset, ..fault })
    }

    /// No cache here has contents of its own; so only the permission is left: to load or to store, and else it is a
    /// store that faults (CMO specification, 2.5.2).
    fn cache_block(&mut self, insn: &Insn, next: u64) -> Outcome<u64> {
        let (va, at_address) = self.block_of(insn);
        self.manage_block(va).map(|()| next).map_err(at_address)
    }

    fn manage_block(&mut self, va: u64) -> Outcome<()> {
        let mode = self.hart.data_privilege();
        // Zicfiss, 22.2.5: a shadow stack's blocks are not managed.
        if mmu::find_page(&self.hart, &self.bus, va, AccessType::Load, mode).is_ok_and(|page| page.shadow) {
            return Err(AccessType::Store.access_fault(va));
        }
        let pa = match self.translate_data(va, CACHE_BLOCK, AccessType::Load) {
            Ok(pa) => pa,
            Err(_) => self.translate_data(va, CACHE_BLOCK, AccessType::Store)?,
        };
        self.bus.ram_slice(pa, CACHE_BLOCK).map(|_| ()).ok_or_else(|| AccessType::Store.access_fault(va))
    }

    fn system_cbo_inval(&mut self, insn: &Insn, next: u64, _: &mut AnyObserver<'_>) -> Outcome<u64> {
        self.check_environment(environment::CBIE)?;
        self.cache_block(insn, next)
    }

    fn system_cbo_clean(&mut self, insn: &Insn, next: u64, _: &mut AnyObserver<'_>) -> Outcome<u64> {
        self.check_environment(environment::CBCFE)?;
        self.cache_block(insn, next)
    }

    fn system_cbo_zero(&mut self, insn: &Insn, next: u64, obs: &mut AnyObserver<'_>) -> Outcome<u64> {
        self.check_environment(environment::CBZE)?;
        let (va, at_address) = self.block_of(insn);
        let pa = self.translate_data(va, CACHE_BLOCK, AccessType::Store);
        let ram = pa.and_then(|pa| {
            self.bus.ram_slice(pa, CACHE_BLOCK).map(|_| ()).ok_or_else(|| AccessType::Store.access_fault(va))
        });
        ram.map_err(at_address)?;
        for offset in (0..CACHE_BLOCK).step_by(8) {
            self.write_data(va + offset, 8, 0, AccessKind::Data, obs)?;
        }
        Ok(next)
    }

    /// Zawrs: a hart may end such a wait at any time, as all here do at once. With TW, one that can wait for ever traps below M-mode.
    fn system_wait_for_reservation(
        &mut self,
        insn: &Insn,
        next: u64,
        _: &mut AnyObserver<'_>,
    ) -> Outcome<u64> {
        let below = self.hart.privilege != Privilege::Machine;
        if insn.op == Op::WrsNto && below && self.hart.mstatus & status::TW != 0 {
            return Err(self.illegal_now());
        }
        Ok(next)
    }

    /// Zacas: memory is replaced by `rs2` if it is equal to `rd`, which becomes what memory was. It needs permission to store
    /// in any case.
    fn compare_and_swap(&mut self, insn: &Insn, obs: &mut AnyObserver<'_>) -> Outcome<()> {
        let size = 1 << (insn.row().bits >> 12 & 3);
        let va = self.hart.x[usize::from(insn.rs1)];
        self.atomic_address(va, size, AccessType::Store)?;
        let value = self.read_data(va, size, AccessType::Store, AccessKind::Atomic, obs)?;
        let old = sign_extend(value, size);
        if old == sign_extend(self.hart.x[usize::from(insn.rd)], size) {
            self.write_data(va, size, self.hart.x[usize::from(insn.rs2)], AccessKind::Atomic, obs)?;
        }
        self.hart.set_x(insn.rd, old);
        Ok(())
    }

    /// The same for a pair of registers, of which the first is even and has the lower half; `x0` stands for a pair of zeros.
    fn compare_and_swap_pair(&mut self, insn: &Insn, obs: &mut AnyObserver<'_>) -> Outcome<()> {
        if (insn.rd | insn.rs2) & 1 != 0 {
            return Err(self.illegal_now());
        }
        let half = if self.hart.isa.is_rv64() { 8 } else { 4 };
        let va = self.hart.x[usize::from(insn.rs1)];
        self.atomic_address(va, 2 * half, AccessType::Store)?;
        let upper = va.wrapping_add(half);
        let x = &self.hart.x;
        let pair = |r: u8| if r == 0 { [0; 2] } else { [x[usize::from(r)], x[usize::from(r) + 1]] };
        let (expected, new) = (pair(insn.rd), pair(insn.rs2));
        let mut old = [0; 2];
        for (value, at) in old.iter_mut().zip([va, upper]) {
            let read = self.read_data(at, half, AccessType::Store, AccessKind::Atomic, obs)?;
            *value = sign_extend(read, half);
        }
        if old == expected {
            self.write_data(va, half, new[0], AccessKind::Atomic, obs)?;
            self.write_data(upper, half, new[1], AccessKind::Atomic, obs)?;
        }
        if insn.rd != 0 {
            self.hart.set_x(insn.rd, old[0]);
            self.hart.set_x(insn.rd + 1, old[1]);
        }
        Ok(())
    }

    fn system_load_constant(&mut self, insn: &Insn, next: u64, obs: &mut AnyObserver<'_>) -> Outcome<u64> {
        let number = usize::from(insn.rs1);
        let value = match insn.op {
            Op::FliS => constant::<F32>(number),
            Op::FliD => constant::<F64>(number),
            _ => constant::<F16>(number),
        };
        self.write_float(insn.rd, value, next, obs)
    }

    fn system_move_pair(&mut self, insn: &Insn, next: u64, obs: &mut AnyObserver<'_>) -> Outcome<u64> {
        let [low, high] = [insn.rs1, insn.rs2].map(|r| self.hart.x[usize::from(r)]);
        self.write_float(insn.rd, u64::from(low as u32) | high << 32, next, obs)
    }

    fn write_float(&mut self, rd: u8, value: u64, next: u64, obs: &mut AnyObserver<'_>) -> Outcome<u64> {
        if !self.hart.fp_enabled() {
            return Err(self.illegal_now());
        }
        self.hart.f[usize::from(rd)] = value;
        self.make_fp_dirty(obs);
        Ok(next)
    }

    fn system_bank_from(&mut self, insn: &Insn, next: u64, _: &mut AnyObserver<'_>) -> Outcome<u64> {
        self.check_privileged(!self.hart.state_permits(custom::TOLLBANK))?;
        let value = self.hart.custom.other[usize::from(insn.rs1)];
        self.hart.set_x(insn.rd, value);
        Ok(next)
    }

    fn system_bank_to(&mut self, insn: &Insn, next: u64, _: &mut AnyObserver<'_>) -> Outcome<u64> {
        self.check_privileged(!self.hart.state_permits(custom::TOLLBANK))?;
        if insn.rd != 0 {
            self.hart.custom.other[usize::from(insn.rd)] = self.hart.x[usize::from(insn.rs1)];
        }
        Ok(next)
    }
}
