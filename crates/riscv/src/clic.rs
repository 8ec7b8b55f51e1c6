//! The core-local interrupt controller (CLIC) as CV32E40X has it: levels, handlers by a table in memory, `mnxti`.
//!
//! "CLIC" is the Smclic specification, version 0.9-draft of 2022-09-27, to which the manual of CV32E40X 0.6.0 refers: numbers of
//! registers and encodings are that draft's. `smclic` in the ISA string turns it on, and nothing is as without it: `mtvec` is always
//! in mode 3, `mie` and `mip` are zero. The sources are the hart's own lines, by level: 3 (software), 7 (timer), 11 (external).
//! There are 256 levels, no priorities within a level, and no modes but machine mode; of two sources with the same level the
//! higher number comes first.

use crate::bus::Bus;
use crate::clic_state::{Clic, Source};
use crate::csr;
use crate::exception::{AccessType, Cause, Exception};
use crate::hart::{Hart, status};
use crate::insn::{Insn, Op};
use crate::machine::Machine;
use crate::mmu;
use crate::observer::AnyObserver;
use crate::privilege::Privilege;

/// Alignment of `mtvec` and `mtvt` (CV32E40X: bits 6 to 0 of both are zero, with 32 sources).
const ALIGNED: u64 = !0x7f;
const CLIC_MODE: u64 = 3;
/// Fields of `mcause` (CLIC, 4.8).
const INHV: u64 = 1 << 30;
const MPP_SHIFT: u32 = 28;
const MPIE: u64 = 1 << 27;
const MPIL_SHIFT: u32 = 16;
const CODE: u64 = 0x7ff;

impl Hart {
    fn interrupt_bit(&self) -> u64 {
        if self.isa.is_rv64() { 1 << 63 } else { 1 << 31 }
    }

    fn previous_level(&self) -> u8 {
        (self.mcause >> MPIL_SHIFT) as u8
    }

    /// The source that comes first, if its level is above the hart's: it ends `wfi`.
    fn clic_presents(&self, clic: &Clic) -> Option<(Cause, Source)> {
        clic.sources.first(self.mip).filter(|(_, source)| source.level > clic.above(self.privilege))
    }

    /// The interrupt to take now (CLIC, 5.2).
    pub(crate) fn clic_pending(&self, clic: &Clic) -> Option<Cause> {
        self.clic_presents(clic).filter(|_| self.clic_is_open()).map(|(cause, _)| cause)
    }

    /// Whether interrupts are taken at all.
    pub(crate) fn clic_is_open(&self) -> bool {
        self.privilege < Privilege::Machine || self.mstatus & status::MIE != 0
    }

    /// The lines that are enabled, and whether one of them ends `wfi`.
    pub(crate) fn enabled_and_wakes(&self) -> (u64, bool) {
        match &self.clic {
            Some(clic) => (clic.sources.enabled(), self.clic_presents(clic).is_some()),
            None => (self.mie, self.mip & self.mie != 0),
        }
    }

    /// The source that `mnxti` finds: above the interrupted level and the threshold, and not vectored by hardware (CLIC, 4.11).
    fn clic_next(&self, clic: &Clic) -> Option<(Cause, Source)> {
        let above = self.previous_level().max(clic.threshold);
        clic.sources.first(self.mip).filter(|(_, source)| source.level > above && !source.vectored)
    }

    /// Where the table has the address of a cause's handler.
    fn clic_entry(&self, clic: &Clic, cause: Cause) -> u64 {
        let bytes = if self.isa.is_rv64() { 8 } else { 4 };
        self.canonical(clic.table.wrapping_add(bytes * cause.code()))
    }

    /// The value of `mcause` behind a trap of this cause: with the level that was interrupted.
    pub(crate) fn clic_cause(&self, cause: u64) -> u64 {
        match &self.clic {
            Some(clic) => cause | self.mcause & INHV | u64::from(clic.level) << MPIL_SHIFT,
            None => cause,
        }
    }

    /// The handler of a trap to machine mode, if it has a CLIC: its level is the hart's. The flag tells whether its address was in
    /// the table. An address that cannot be read faults as an instruction there would; the bit that stays set in
    /// `mcause` lets `mret` read it again.
    pub(crate) fn clic_enter(&mut self, bus: &Bus, cause: Cause, from: Privilege) -> Option<(u64, bool)> {
        let mut clic = self.clic.take()?;
        let base = self.canonical(self.mtvec & ALIGNED);
        let source = clic.sources.source_of(cause);
        if let Some(source) = source {
            clic.level = source.level;
        } else if from != Privilege::Machine {
            clic.level = 0;
        }
        let entry = self.clic_entry(&clic, cause);
        self.clic = Some(clic);
        Some(if source.is_some_and(|source| source.vectored) {
            self.mcause |= INHV;
            (self.clic_follow(bus, entry), true)
        } else {
            (base, false)
        })
    }

    /// Behind `mret` the level is the previous one. Yields the new pc, which may be in the table.
    pub(crate) fn clic_return(&mut self, bus: &Bus, to: Privilege, pc: u64) -> u64 {
        let level = self.previous_level();
        let Some(clic) = &mut self.clic else { return pc };
        clic.level = level;
        let by_table = self.mcause & INHV != 0 && to == Privilege::Machine;
        if by_table { self.clic_follow(bus, pc) } else { pc }
    }

    /// The address in an entry of the table, or the entry's own if that cannot be fetched.
    fn clic_follow(&mut self, bus: &Bus, entry: u64) -> u64 {
        let bytes = if self.isa.is_rv64() { 8 } else { 4 };
        let pa = mmu::look_up(self, bus, entry, AccessType::Fetch, Privilege::Machine);
        match pa.ok().and_then(|pa| bus.ram_read(pa, bytes)) {
            Some(address) => {
                self.mcause &= !INHV;
                self.canonical(address & !1)
            }
            None => entry,
        }
    }

    /// Reads a register that is another one with a CLIC, or there only with it.
    pub(crate) fn clic_read(&self, number: u16) -> Option<u64> {
        let clic = self.clic.as_ref()?;
        Some(match number {
            csr::MTVT => clic.table,
            csr::MNXTI => self.clic_next(clic).map_or(0, |(cause, _)| self.clic_entry(clic, cause)),
            csr::MINTSTATUS => u64::from(clic.level) << 24,
            csr::MINTTHRESH => clic.threshold.into(),
            csr::MCAUSE => {
                let mpp = self.mstatus >> status::MPP_SHIFT & 3;
                let mpie = if self.mstatus & status::MPIE != 0 { MPIE } else { 0 };
                self.mcause | mpp << MPP_SHIFT | mpie
            }
            csr::MIE | csr::MIP | csr::MCLICBASE => 0,
            _ => return None,
        })
    }

    /// Writes one of them; false for others.
    pub(crate) fn clic_write(&mut self, number: u16, v: u64) -> bool {
        let interrupt = self.interrupt_bit();
        let Some(clic) = &mut self.clic else { return false };
        match number {
            csr::MTVT => clic.table = v & ALIGNED,
            csr::MINTTHRESH => clic.threshold = v as u8,
            csr::MTVEC => self.mtvec = v & ALIGNED | CLIC_MODE,
            csr::MCAUSE => {
                self.mcause = v & (interrupt | INHV | 0xff << MPIL_SHIFT | CODE);
                let mpp = match v >> MPP_SHIFT & 3 {
                    2 => 0,
                    mode => mode,
                };
                self.mstatus &= !(status::MPP | status::MPIE);
                self.mstatus |= mpp << status::MPP_SHIFT | if v & MPIE != 0 { status::MPIE } else { 0 };
            }
            csr::MIE | csr::MIP | csr::MINTSTATUS | csr::MCLICBASE => {}
            _ => return false,
        }
        true
    }
}

impl Machine {
    /// A CSR instruction on a register that has no value of its own: `mnxti` changes `mstatus` and yields where the next handler's
    /// address is; `mscratchcsw` and `mscratchcswl` exchange with `mscratch` if the mode or the level changes between zero and
    /// others (CLIC, 4.11, 4.13, 4.14). Yields the value for the destination; `None` for other registers.
    pub(crate) fn clic_instruction(
        &mut self,
        insn: &Insn,
        operand: u64,
        operation: fn(u64, u64) -> u64,
        obs: &mut AnyObserver<'_>,
    ) -> Result<Option<u64>, Exception> {
        let Some(clic) = &self.hart.clic else { return Ok(None) };
        let next = self.hart.clic_next(clic);
        let exchanges = match insn.imm as u16 {
            csr::MNXTI => {
                let entry = next.map_or(0, |(cause, _)| self.hart.clic_entry(clic, cause));
                if insn.writes_csr() {
                    self.take_over(next, operand, operation);
                    self.report_csr(csr::MSTATUS, obs);
                }
                return Ok(Some(entry));
            }
            csr::MSCRATCHCSW => self.hart.mstatus & status::MPP != status::MPP,
            csr::MSCRATCHCSWL => (self.hart.previous_level() == 0) != (clic.level == 0),
            _ => return Ok(None),
        };
        if insn.op != Op::Csrrw || insn.rd == 0 {
            return Err(self.illegal_now());
        }
        if !exchanges {
            return Ok(Some(operand));
        }
        let old = std::mem::replace(&mut self.hart.mscratch, operand);
        self.report_csr(csr::MSCRATCH, obs);
        Ok(Some(old))
    }

    /// A write of `mnxti` is one of `mstatus`, and takes over the source that it found.
    fn take_over(&mut self, next: Option<(Cause, Source)>, operand: u64, operation: fn(u64, u64) -> u64) {
        let hart = &mut self.hart;
        let status = hart.csr_read(csr::MSTATUS, 0).unwrap_or_default();
        // `mstatus` can always be written.
        let _ = hart.csr_write(csr::MSTATUS, operation(status, operand));
        if let (Some((cause, source)), Some(clic)) = (next, &mut hart.clic) {
            clic.level = source.level;
            hart.mcause = hart.mcause & !CODE | hart.interrupt_bit() | cause.code();
        }
    }
}
