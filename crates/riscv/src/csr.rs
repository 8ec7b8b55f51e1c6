//! Control and status registers: names, access rules, and what each one reads and accepts.
//!
//! Section numbers are those of the privileged specification, version 20240411.

use crate::custom::{MTOLLSP, STOLLSP, TOLLBANK};
use crate::extra_state::{EVENT_FLAGS, MLPE};
use crate::hart::{Hart, environment, interrupt, status};
use crate::hpm;
use crate::isa::Extension;
use crate::pmp;
use crate::privilege::Privilege;
use crate::vector_state::Vector;

macro_rules! numbers {
    ($($name:ident = $number:literal;)*) => {
        $(pub(crate) const $name: u16 = $number;)*

        fn plain_name(number: u16) -> Option<&'static str> {
            Some(match number {
                $($number => stringify!($name),)*
                _ => return None,
            })
        }
    };
}

numbers! {
    FFLAGS = 0x001; FRM = 0x002; FCSR = 0x003; VSTART = 0x008; VXSAT = 0x009; VXRM = 0x00a; VCSR = 0x00f;
    SSP = 0x011; MSECCFG = 0x747; MSECCFGH = 0x757; SCOUNTOVF = 0xda0;
    VL = 0xc20; VTYPE = 0xc21; VLENB = 0xc22;
    CYCLE = 0xc00; TIME = 0xc01; INSTRET = 0xc02; CYCLEH = 0xc80; TIMEH = 0xc81; INSTRETH = 0xc82;
    SSTATUS = 0x100; SIE = 0x104; STVEC = 0x105; SCOUNTEREN = 0x106; SENVCFG = 0x10a;
    SSCRATCH = 0x140; SEPC = 0x141; SCAUSE = 0x142; STVAL = 0x143; SIP = 0x144; STIMECMP = 0x14d;
    STIMECMPH = 0x15d; SATP = 0x180;
    MVENDORID = 0xf11; MARCHID = 0xf12; MIMPID = 0xf13; MHARTID = 0xf14; MCONFIGPTR = 0xf15;
    MSTATUS = 0x300; MISA = 0x301; MEDELEG = 0x302; MIDELEG = 0x303; MIE = 0x304; MTVEC = 0x305;
    MCOUNTEREN = 0x306; MENVCFG = 0x30a; MSTATUSH = 0x310; MENVCFGH = 0x31a; MCOUNTINHIBIT = 0x320;
    // With a CLIC.
    MTVT = 0x307; MNXTI = 0x345; MINTSTATUS = 0x346; MINTTHRESH = 0x347; MSCRATCHCSW = 0x348; MSCRATCHCSWL = 0x349;
    MSCRATCH = 0x340; MEPC = 0x341; MCAUSE = 0x342; MTVAL = 0x343; MIP = 0x344;
    MVIP = 0x309; TSELECT = 0x7a0; TDATA1 = 0x7a1; TDATA2 = 0x7a2; TDATA3 = 0x7a3; TINFO = 0x7a4;
    MCYCLE = 0xb00; MINSTRET = 0xb02; MCYCLEH = 0xb80; MINSTRETH = 0xb82;
}

/// With a CLIC. It has no name here: later specifications have another register there.
pub(crate) const MCLICBASE: u16 = 0x34a;

/// The name of a register, in lower case.
///
/// ```
/// assert_eq!(tollgate_riscv::csr::name(0x341).as_deref(), Some("mepc"));
/// assert_eq!(tollgate_riscv::csr::name(0x3b2).as_deref(), Some("pmpaddr2"));
/// assert_eq!(tollgate_riscv::csr::name(0x123), None);
/// ```
pub fn name(number: u16) -> Option<String> {
    Some(match number {
        TOLLBANK => "tollbank".into(),
        STOLLSP => "stollsp".into(),
        MTOLLSP => "mtollsp".into(),
        0x3a0..=0x3af => format!("pmpcfg{}", number - 0x3a0),
        0x3b0..=0x3ef => format!("pmpaddr{}", number - 0x3b0),
        0xb03..=0xb1f => format!("mhpmcounter{}", number - 0xb00),
        0xb83..=0xb9f => format!("mhpmcounter{}h", number - 0xb80),
        0xc03..=0xc1f => format!("hpmcounter{}", number - 0xc00),
        0xc83..=0xc9f => format!("hpmcounter{}h", number - 0xc80),
        0x323..=0x33f => format!("mhpmevent{}", number - 0x320),
        0x723..=0x73f => format!("mhpmevent{}h", number - 0x720),
        0x30c..=0x30f => format!("mstateen{}", number - 0x30c),
        0x31c..=0x31f => format!("mstateen{}h", number - 0x31c),
        0x10c..=0x10f => format!("sstateen{}", number - 0x10c),
        _ => plain_name(number)?.to_ascii_lowercase(),
    })
}

/// The access is an illegal instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Illegal;

/// The effect of a write on the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Nothing,
    /// Physical memory protection: cached permissions are void.
    Protection,
    /// `stimecmp`: interrupts may be pending now, or at another time.
    Timer,
    /// `menvcfg`: both of these.
    Environment,
}

const MSTATUS_WRITABLE: u64 = status::SIE
    | status::MIE
    | status::SPIE
    | status::MPIE
    | status::SPP
    | status::MPP
    | status::FS
    | status::MPRV
    | status::SUM
    | status::MXR
    | status::TVM
    | status::TW
    | status::TSR;
const SSTATUS_WRITABLE: u64 =
    status::SIE | status::SPIE | status::SPP | status::FS | status::SUM | status::MXR;
/// Exceptions that can be delegated, as on Spike: all but an ecall from M-mode (3.1.8), a hardware error among them, and a
/// misaligned jump where there are such.
const DELEGABLE: u64 = 1 << 19 | 0xb3fe;

impl Hart {
    /// Whether the current mode may access the register at all (2.1), and may read it now.
    pub(crate) fn csr_check(&self, number: u16, write: bool) -> Result<(), Illegal> {
        let least = Privilege::from_bits(u64::from(number >> 8 & 3));
        // Encodings 2 in bits 9:8 are the hypervisor's; they do not exist here.
        if number >> 8 & 3 == 2 || self.privilege < least || write && number >> 10 == 3 {
            return Err(Illegal);
        }
        let rv32 = !self.isa.is_rv64();
        if !self.state_permits(number) {
            return Err(Illegal);
        }
        match number {
            SSP if !self.isa.has(Extension::Zicfiss) || !self.environment_permits(environment::SSE) => {
                return Err(Illegal);
            }
            // 3.1.6.6: without floating point, or with FS off, these are illegal.
            FFLAGS | FRM | FCSR if !self.isa.has(Extension::F) || !self.fp_enabled() => return Err(Illegal),
            // 3.1.6.6: the same holds for vectors and VS.
            VSTART | VXSAT | VXRM | VCSR | VL | VTYPE | VLENB
                if self.vector.is_none() || self.mstatus & status::VS == 0 =>
            {
                return Err(Illegal);
            }
            // 10.1.11: TVM makes satp illegal in S-mode.
            SATP if self.privilege == Privilege::Supervisor && self.mstatus & status::TVM != 0 => {
                return Err(Illegal);
            }
            // Sstc, 2.3: TM of mcounteren and STCE of menvcfg permit it to S-mode.
            STIMECMP | STIMECMPH
                if !self.isa.has(Extension::Sstc)
                    || self.privilege == Privilege::Supervisor
                        && (self.mcounteren & 2 == 0 || !self.has_supervisor_timer()) =>
            {
                return Err(Illegal);
            }
            CYCLE..=0xc1f | CYCLEH..=0xc9f => {
                if number >= CYCLEH && !rv32 {
                    return Err(Illegal);
                }
                // 3.1.11 and 10.1.5: mcounteren for S and U, scounteren for U besides.
                let bit = 1u64 << (number & 0x1f);
                let allowed = match self.privilege {
                    Privilege::Machine => true,
                    Privilege::Supervisor => self.mcounteren & bit != 0,
                    Privilege::User => self.mcounteren & self.scounteren & bit != 0,
                };
                if !allowed {
                    return Err(Illegal);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads a register without checking access, as an integer register holds it. `time` is `mtime`.
    pub(crate) fn csr_read(&self, number: u16, time: u64) -> Result<u64, Illegal> {
        self.csr_value(number, time).map(|v| self.canonical(v))
    }

    /// The value of a register; on RV32 the lowest 32 bits count.
    fn csr_value(&self, number: u16, time: u64) -> Result<u64, Illegal> {
        if let Some(value) = self.clic_read(number) {
            return Ok(value);
        }
        let rv64 = self.isa.is_rv64();
        let high = |v: u64| if rv64 { Err(Illegal) } else { Ok(v >> 32) };
        Ok(match number {
            FFLAGS => u64::from(self.fflags),
            FRM => u64::from(self.frm),
            FCSR => u64::from(self.frm << 5 | self.fflags),
            VSTART | VXSAT | VXRM | VCSR | VL | VTYPE | VLENB => {
                self.vector.as_ref().ok_or(Illegal)?.csr(number, rv64)
            }
            CYCLE | MCYCLE => self.cycle.value(self.retired),
            INSTRET | MINSTRET => self.instret.value(self.retired),
            TIME => time,
            CYCLEH | MCYCLEH => high(self.cycle.value(self.retired))?,
            INSTRETH | MINSTRETH => high(self.instret.value(self.retired))?,
            TIMEH => high(time)?,
            0xc03..=0xc1f | 0xb03..=0xb1f => self.hpm.value(number),
            0xc83..=0xc9f | 0xb83..=0xb9f => high(self.hpm.value(number))?,
            0x323..=0x33f => self.hpm.event(number) | self.extra.events[hpm::place(number)],
            0x723..=0x73f if self.isa.has(Extension::Sscofpmf) => {
                high(self.extra.events[hpm::place(number)])?
            }
            SCOUNTOVF if self.isa.has(Extension::Sscofpmf) => self.overflows(),
            SSP => self.extra.ssp,
            MSECCFG if self.has_security_configuration() => self.extra.mseccfg,
            MSECCFGH if self.has_security_configuration() => high(self.extra.mseccfg)?,
            0x30c..=0x30f | 0x31c..=0x31f | 0x10c..=0x10f if !self.isa.has(Extension::Smstateen) => {
                return Err(Illegal);
            }
            0x30c..=0x30f => self.extra.mstateen[usize::from(number - 0x30c)],
            0x31c..=0x31f => high(self.extra.mstateen[usize::from(number - 0x31c)])?,
            0x10c => self.supervisor_enables(),
            0x10d..=0x10f => 0,
            SSTATUS => self.status(SSTATUS_WRITABLE | status::SPELP | status::VS | 3 << 32),
            SIE => self.mie & self.mideleg,
            SIP => self.mip & self.mideleg,
            STVEC => self.stvec,
            SCOUNTEREN => self.scounteren,
            // Zicfiss, 22.2.1: without shadow stacks in S-mode there are none in U-mode.
            SENVCFG => self.senvcfg & !(environment::SSE & !self.menvcfg),
            STIMECMP => self.stimecmp,
            STIMECMPH => high(self.stimecmp)?,
            SSCRATCH => self.sscratch,
            SEPC => self.sepc & !self.target_mask(),
            SCAUSE => self.scause,
            STVAL => self.stval,
            SATP => self.satp,
            MHARTID => self.id,
            MVENDORID | MARCHID | MIMPID | MCONFIGPTR => 0,
            MSTATUS => self.status(u64::MAX),
            MISA => self.isa.misa(),
            MEDELEG => self.medeleg,
            MIDELEG => self.mideleg,
            MIE => self.mie,
            MIP => self.mip,
            MTVEC => self.mtvec,
            MCOUNTEREN => self.mcounteren,
            MENVCFG => self.menvcfg,
            MENVCFGH => high(self.menvcfg)?,
            MSTATUSH if !rv64 => (self.mstatus & status::MPELP) >> 32,
            MCOUNTINHIBIT => {
                u64::from(self.cycle.is_stopped())
                    | u64::from(self.instret.is_stopped()) << 2
                    | self.hpm.stopped()
            }
            // The debug specification's way to say that there are no triggers.
            TSELECT | TDATA1 | TDATA2 | TDATA3 | TINFO => 0,
            MSCRATCH => self.mscratch,
            MEPC => self.mepc & !self.target_mask(),
            MCAUSE => self.mcause,
            MTVAL => self.mtval,
            0x3a0..=0x3af => self.pmpcfg(number - 0x3a0)?,
            0x3b0..=0x3ef => {
                let entry = usize::from(number - 0x3b0);
                if entry < pmp::ENTRIES { self.pmp.addr(entry) } else { 0 }
            }
            TOLLBANK if self.isa.has(Extension::XTollBank) => self.custom.tollbank,
            STOLLSP if self.isa.has(Extension::XTollStack) => self.custom.stollsp,
            MTOLLSP if self.isa.has(Extension::XTollStack) => self.custom.mtollsp,
            _ => return Err(Illegal),
        })
    }

    /// Writes a register without checking access. Values that a register does not accept leave it as it is.
    pub(crate) fn csr_write(&mut self, number: u16, v: u64) -> Result<Effect, Illegal> {
        if self.clic_write(number, v) {
            return Ok(Effect::Nothing);
        }
        let rv64 = self.isa.is_rv64();
        // The instruction that writes a counter does not count into it (3.1.10): its own retirement, which
        // comes after this write, is taken off.
        let now = self.retired;
        let next = self.retired.wrapping_add(1);
        let low = |old: u64| if rv64 { v } else { old & !0xffff_ffff | v & 0xffff_ffff };
        let high = |old: u64| old & 0xffff_ffff | v << 32;
        let counter32 = |n: u64| n & 0xffff_ffff;
        match number {
            FFLAGS => {
                self.fflags = v as u8 & 0x1f;
                self.mstatus |= status::FS;
            }
            FRM => {
                self.frm = v as u8 & 7;
                self.mstatus |= status::FS;
            }
            FCSR => {
                self.fflags = v as u8 & 0x1f;
                self.frm = (v >> 5) as u8 & 7;
                self.mstatus |= status::FS;
            }
            VSTART | VXSAT | VXRM | VCSR => {
                self.vector.as_mut().ok_or(Illegal)?.set_csr(number, v);
                self.mstatus |= status::VS;
            }
            MCYCLE => self.cycle.set(next, low(self.cycle.value(now))),
            MINSTRET => self.instret.set(next, low(self.instret.value(now))),
            MCYCLEH if !rv64 => self.cycle.set(next, high(self.cycle.value(now))),
            MINSTRETH if !rv64 => self.instret.set(next, high(self.instret.value(now))),
            0xb03..=0xb1f => self.hpm.set(number, low(self.hpm.value(number))),
            0xb83..=0xb9f if !rv64 => self.hpm.set(number, high(self.hpm.value(number))),
            0x323..=0x33f => {
                self.hpm.select(number, v & !EVENT_FLAGS);
                if rv64 {
                    self.set_event_flags(number, v);
                }
            }
            0x723..=0x73f if !rv64 => self.set_event_flags(number, v << 32),
            SSP => self.extra.ssp = v & if rv64 { !7 } else { !3 },
            MSECCFG if self.has_security_configuration() => {
                let exists = [(Extension::Zicfilp, MLPE), (Extension::Smmpm, environment::PMM)];
                let bits = exists.into_iter().filter(|(extension, _)| self.isa.has(*extension));
                self.extra.mseccfg =
                    legal_environment(low(self.extra.mseccfg) & bits.fold(0, |all, it| all | it.1));
                return Ok(Effect::Protection);
            }
            MSECCFGH if !rv64 && self.has_security_configuration() => {}
            0x30c..=0x30f | 0x31c..=0x31f | 0x10c..=0x10f if !self.isa.has(Extension::Smstateen) => {
                return Err(Illegal);
            }
            0x30c..=0x30f => {
                let n = usize::from(number - 0x30c);
                self.extra.mstateen[n] = low(self.extra.mstateen[n]) & self.state_enables(n);
            }
            0x31c..=0x31f if !rv64 => {
                let n = usize::from(number - 0x31c);
                self.extra.mstateen[n] = high(self.extra.mstateen[n]) & self.state_enables(n);
            }
            // What M-mode does not permit is read-only.
            0x10c => {
                let permitted = self.extra.mstateen[0];
                self.extra.sstateen0 =
                    self.extra.sstateen0 & !permitted | v & permitted & self.state_enables(0);
            }
            0x10d..=0x10f => {}
            SSTATUS => self.write_status(v, SSTATUS_WRITABLE | self.pads_in_status(status::SPELP)),
            SIE => self.mie = self.mie & !self.mideleg | v & self.mideleg,
            // Of the delegated bits only SSIP can be written from S-mode (10.1.3), and LCOFIP (Sscofpmf, 2.1).
            SIP => {
                let writable = self.mideleg & (interrupt::SSI | interrupt::LCOFI);
                self.mip = self.mip & !writable | v & writable;
            }
            STVEC => self.stvec = v & !2,
            SCOUNTEREN => self.scounteren = counter32(v),
            SENVCFG => {
                let bits = self.environment_bits(Extension::Ssnpm) & (0xff | environment::PMM);
                let kept = environment::SSE & !self.menvcfg;
                let before = self.senvcfg;
                self.senvcfg = legal_environment(before & kept | v & bits & !kept);
                if (before ^ self.senvcfg) & environment::PMM != 0 {
                    return Ok(Effect::Protection);
                }
            }
            STIMECMP => {
                self.stimecmp = low(self.stimecmp);
                return Ok(Effect::Timer);
            }
            STIMECMPH if !rv64 => {
                self.stimecmp = high(self.stimecmp);
                return Ok(Effect::Timer);
            }
            SSCRATCH => self.sscratch = v,
            SEPC => self.sepc = v & !1,
            SCAUSE => self.scause = v,
            STVAL => self.stval = v,
            SATP => self.write_satp(v),
            MSTATUS => {
                let pads = status::SPELP | if rv64 { status::MPELP } else { 0 };
                self.write_status(v, MSTATUS_WRITABLE | self.pads_in_status(pads));
            }
            // The extensions cannot be switched off (3.1.1, WARL).
            MISA => {}
            MEDELEG => self.medeleg = v & self.delegable(),
            MIDELEG => self.mideleg = v & self.supervisor_interrupts(),
            MIE => {
                let machine = interrupt::MSI | interrupt::MTI | interrupt::MEI;
                self.mie = v & (machine | self.supervisor_interrupts());
            }
            MIP => {
                // Sstc, 2.1: with a timer of its own, S-mode's timer interrupt is read-only.
                let timer = if self.has_supervisor_timer() { interrupt::STI } else { 0 };
                let writable = self.supervisor_interrupts() & !timer;
                self.mip = self.mip & !writable | v & writable;
            }
            MTVEC => self.mtvec = v & !2,
            MCOUNTEREN => self.mcounteren = counter32(v),
            MENVCFG => {
                let bits = self.environment_bits(Extension::Smnpm);
                self.menvcfg = legal_environment(low(self.menvcfg) & bits);
                return Ok(Effect::Environment);
            }
            MENVCFGH if !rv64 => {
                self.menvcfg = high(self.menvcfg) & self.environment_bits(Extension::Smnpm);
                return Ok(Effect::Environment);
            }
            MSTATUSH if !rv64 => {
                let field = self.pads_in_status(status::MPELP);
                self.mstatus = self.mstatus & !field | v << 32 & field;
            }
            // 3.1.12: what stops here does not count the instruction that stops it.
            MCOUNTINHIBIT => {
                self.cycle.stop(now, v & 1 != 0);
                self.instret.stop(now, v & 4 != 0);
                self.hpm.stop(v);
            }
            TSELECT | TDATA1 | TDATA2 | TDATA3 | TINFO => {}
            MSCRATCH => self.mscratch = v,
            MEPC => self.mepc = v & !1,
            MCAUSE => self.mcause = v,
            MTVAL => self.mtval = v,
            0x3a0..=0x3af => {
                self.write_pmpcfg(number - 0x3a0, v)?;
                return Ok(Effect::Protection);
            }
            0x3b0..=0x3ef => {
                let entry = usize::from(number - 0x3b0);
                if entry < pmp::ENTRIES {
                    self.pmp.set_addr(entry, v);
                }
                return Ok(Effect::Protection);
            }
            TOLLBANK if self.isa.has(Extension::XTollBank) => self.set_tollbank(v),
            STOLLSP if self.isa.has(Extension::XTollStack) => self.set_tollsp(Privilege::Supervisor, v),
            MTOLLSP if self.isa.has(Extension::XTollStack) => self.set_tollsp(Privilege::Machine, v),
            _ => return Err(Illegal),
        }
        Ok(Effect::Nothing)
    }

    /// Whether `mseccfg` exists: it holds what these extensions put there.
    fn has_security_configuration(&self) -> bool {
        self.isa.has(Extension::Zicfilp) || self.isa.has(Extension::Smmpm)
    }

    /// Of fields of `mstatus` for landing pads, those that exist.
    fn pads_in_status(&self, fields: u64) -> u64 {
        if self.isa.has(Extension::Zicfilp) { fields } else { 0 }
    }

    /// Writes the flags of an event; only Sscofpmf has some.
    fn set_event_flags(&mut self, number: u16, v: u64) {
        if self.isa.has(Extension::Sscofpmf) {
            self.extra.events[hpm::place(number)] = v & EVENT_FLAGS;
        }
    }

    /// The fields of `menvcfg` that exist; `masking` is the extension that has pointers masked there.
    fn environment_bits(&self, masking: Extension) -> u64 {
        [
            (masking, environment::PMM),
            (Extension::Zicfilp, environment::LPE),
            (Extension::Zicfiss, environment::SSE),
            (Extension::Zicbom, environment::CBIE | environment::CBCFE),
            (Extension::Zicboz, environment::CBZE),
            (Extension::Svadu, environment::ADUE),
            (Extension::Svpbmt, environment::PBMTE),
            (Extension::Sstc, environment::STCE),
        ]
        .into_iter()
        .filter(|(extension, _)| self.isa.has(*extension))
        .fold(environment::FIOM, |bits, (_, field)| bits | field)
    }

    /// Whether `mcycle` may begin to count from another value when this register is written.
    pub(crate) fn begins_to_count_cycles(&self, number: u16) -> bool {
        matches!(number, MCYCLE | MCYCLEH) || number == MCOUNTINHIBIT && self.cycle.is_stopped()
    }

    fn delegable(&self) -> u64 {
        DELEGABLE | u64::from(!self.isa.has(Extension::C)) | u64::from(self.isa.checks_software()) << 18
    }

    /// `mstatus` or its view `sstatus`: SD summarizes FS and VS (3.1.6.6).
    fn status(&self, mask: u64) -> u64 {
        let is_set = |field| self.mstatus & field == field;
        let dirty = is_set(status::FS) || is_set(status::VS);
        let v = self.mstatus & mask;
        v | u64::from(dirty) << if self.isa.is_rv64() { 63 } else { 31 }
    }

    fn write_status(&mut self, v: u64, mask: u64) {
        // MPP accepts U, S and M only (3.1.6.1, WARL); the encoding between them becomes U, as on Spike.
        let v = if v >> status::MPP_SHIFT & 3 == 2 { v & !status::MPP } else { v };
        let mask = if self.vector.is_some() { mask | status::VS } else { mask };
        self.mstatus = self.mstatus & !mask | v & mask;
    }

    /// 10.1.11: an unsupported mode leaves the register as it was; bits of the identifier that do not exist are zero.
    fn write_satp(&mut self, v: u64) {
        if !self.isa.is_rv64() {
            self.satp = v as i32 as u64 & self.satp_kept;
        } else if matches!(v >> 60, 0 | 8 | 9) {
            self.satp = v & self.satp_kept;
        }
    }

    /// Whether a register of PMP accepts no value: an address that is locked, or the configuration of entries that do not exist.
    pub(crate) fn is_locked(&self, number: u16) -> bool {
        match number {
            0x3a4..=0x3af => true,
            0x3b0..=0x3ef => {
                let entry = usize::from(number - 0x3b0);
                entry < pmp::ENTRIES && self.pmp.is_addr_locked(entry)
            }
            _ => false,
        }
    }

    /// The entries that a configuration register holds: four on RV32; eight on RV64, in even registers only.
    fn pmpcfg_entries(&self, register: u16) -> Result<(usize, usize), Illegal> {
        let count = if self.isa.is_rv64() { 8 } else { 4 };
        if count == 8 && register & 1 != 0 {
            return Err(Illegal);
        }
        Ok((usize::from(register) * 4, count))
    }

    fn pmpcfg(&self, register: u16) -> Result<u64, Illegal> {
        let (first, count) = self.pmpcfg_entries(register)?;
        let bytes = (first..first + count).rev();
        let v = bytes.fold(0, |v, e| v << 8 | if e < pmp::ENTRIES { u64::from(self.pmp.cfg(e)) } else { 0 });
        Ok(v)
    }

    fn write_pmpcfg(&mut self, register: u16, v: u64) -> Result<(), Illegal> {
        let (first, count) = self.pmpcfg_entries(register)?;
        for (i, entry) in (first..first + count).enumerate() {
            if entry < pmp::ENTRIES {
                self.pmp.set_cfg(entry, (v >> (8 * i)) as u8);
            }
        }
        Ok(())
    }
}

/// A value of `menvcfg`, `senvcfg` or `mseccfg`: the reserved values of CBIE (CMO specification, 2.3; WARL) and of PMM (Zjpm, 2.4)
/// become 0, as on Spike.
fn legal_environment(v: u64) -> u64 {
    let v = if v & environment::CBIE == 2 << 4 { v & !environment::CBIE } else { v };
    if v & environment::PMM == 1 << 32 { v & !environment::PMM } else { v }
}

impl Vector {
    /// The value of a control and status register, with `vill` as the width has it.
    fn csr(&self, number: u16, rv64: bool) -> u64 {
        match number {
            VSTART => self.vstart,
            VXSAT => self.vxsat.into(),
            VXRM => self.vxrm.into(),
            VL => self.vl,
            VTYPE if !rv64 => self.vtype | self.vtype >> 32,
            VTYPE => self.vtype,
            VLENB => self.vlenb as u64,
            _ => u64::from(self.vxrm << 1) | u64::from(self.vxsat),
        }
    }

    /// Writes one of those that can be written.
    fn set_csr(&mut self, number: u16, value: u64) {
        match number {
            VSTART => self.vstart = value & (8 * self.vlenb as u64 - 1),
            VXSAT => self.vxsat = value & 1 != 0,
            VXRM => self.vxrm = value as u8 & 3,
            _ => {
                self.vxsat = value & 1 != 0;
                self.vxrm = (value >> 1) as u8 & 3;
            }
        }
    }
}
