//! Traps and returns: one routine each, in numbered and named phases.

use std::fmt;

use crate::bus::Bus;
use crate::hart::{Hart, Privilege, interrupt, status};
use crate::observer::Observer;

/// Why a trap was taken; exceptions by the specification's numbers (privileged specification, table 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// Jump to an address that no instruction can have.
    InstructionMisaligned = 0,
    /// Fetch from where nothing is, or may be fetched.
    InstructionAccessFault = 1,
    /// Not an instruction, or not here.
    IllegalInstruction = 2,
    /// `ebreak`.
    Breakpoint = 3,
    /// Misaligned load on a machine that does not do those.
    LoadMisaligned = 4,
    /// Load from where nothing is, or may be read.
    LoadAccessFault = 5,
    /// Misaligned store or atomic.
    StoreMisaligned = 6,
    /// Store to where nothing is, or may be written.
    StoreAccessFault = 7,
    /// `ecall` in U-mode.
    UserEcall = 8,
    /// `ecall` in S-mode.
    SupervisorEcall = 9,
    /// `ecall` in M-mode.
    MachineEcall = 11,
    /// The page tables forbid the fetch.
    InstructionPageFault = 12,
    /// The page tables forbid the load.
    LoadPageFault = 13,
    /// The page tables forbid the store.
    StorePageFault = 15,
    /// Supervisor software interrupt.
    SupervisorSoftware = 0x81,
    /// Machine software interrupt.
    MachineSoftware = 0x83,
    /// Supervisor timer interrupt.
    SupervisorTimer = 0x85,
    /// Machine timer interrupt.
    MachineTimer = 0x87,
    /// Supervisor external interrupt.
    SupervisorExternal = 0x89,
    /// Machine external interrupt.
    MachineExternal = 0x8b,
}

impl Cause {
    /// Whether it is an interrupt.
    pub fn is_interrupt(self) -> bool {
        self as u8 & 0x80 != 0
    }

    /// The number in `xcause`, without the interrupt bit.
    pub fn code(self) -> u64 {
        u64::from(self as u8 & 0x7f)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::InstructionMisaligned => "instruction address misaligned",
            Cause::InstructionAccessFault => "instruction access fault",
            Cause::IllegalInstruction => "illegal instruction",
            Cause::Breakpoint => "breakpoint",
            Cause::LoadMisaligned => "load address misaligned",
            Cause::LoadAccessFault => "load access fault",
            Cause::StoreMisaligned => "store address misaligned",
            Cause::StoreAccessFault => "store access fault",
            Cause::UserEcall => "environment call from U-mode",
            Cause::SupervisorEcall => "environment call from S-mode",
            Cause::MachineEcall => "environment call from M-mode",
            Cause::InstructionPageFault => "instruction page fault",
            Cause::LoadPageFault => "load page fault",
            Cause::StorePageFault => "store page fault",
            Cause::SupervisorSoftware => "supervisor software interrupt",
            Cause::MachineSoftware => "machine software interrupt",
            Cause::SupervisorTimer => "supervisor timer interrupt",
            Cause::MachineTimer => "machine timer interrupt",
            Cause::SupervisorExternal => "supervisor external interrupt",
            Cause::MachineExternal => "machine external interrupt",
        })
    }
}

/// What stops an instruction: the cause and the value for `xtval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    pub(crate) cause: Cause,
    pub(crate) tval: u64,
}

/// A trap that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// Why.
    pub cause: Cause,
    /// What `xtval` holds.
    pub tval: u64,
    /// The address that `xepc` holds.
    pub epc: u64,
    /// The mode before.
    pub from: Privilege,
    /// The mode of the handler.
    pub to: Privilege,
    /// The handler's first instruction.
    pub handler: u64,
    /// Instructions retired before the trap, since reset.
    pub instret: u64,
}

/// A return from a trap handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrapReturn {
    /// The handler's mode.
    pub from: Privilege,
    /// The mode returned to.
    pub to: Privilege,
    /// Where execution goes on.
    pub pc: u64,
    /// Instructions retired before the return, since reset.
    pub instret: u64,
}

/// What a trap does in hardware, in this order; the one routine that takes traps is written in these phases.
pub const TRAP_PHASES: [&str; 7] = [
    "1 choose the mode that handles it",
    "2 write the cause",
    "3 save the program counter",
    "4 write the trap value",
    "5 stack the interrupt enable and the mode",
    "6 enter the mode",
    "7 jump to the handler",
];

/// Takes a trap. Sections are the privileged specification's (version 20240411).
pub(crate) fn take<O: Observer>(hart: &mut Hart, bus: &mut Bus, cause: Cause, tval: u64, obs: &mut O) {
    let from = hart.privilege;
    let epc = hart.pc;
    let number = cause.code();
    let interrupt_bit = if hart.isa.is_rv64() { 1 << 63 } else { 1u64 << 31 };
    let cause_value = hart.canonical(if cause.is_interrupt() { interrupt_bit | number } else { number });

    // Phase 1, choose the mode that handles it: 3.1.8, medeleg and mideleg. A trap never goes to a less
    // privileged mode than it comes from.
    let delegated = if cause.is_interrupt() { hart.mideleg } else { hart.medeleg } >> number & 1 != 0;
    let to =
        if delegated && from <= Privilege::Supervisor { Privilege::Supervisor } else { Privilege::Machine };

    let tvec = match to {
        Privilege::Machine => {
            // Phase 2, write the cause: 3.1.15, mcause.
            hart.mcause = cause_value;
            // Phase 3, save the program counter: 3.1.14, mepc.
            hart.mepc = epc;
            // Phase 4, write the trap value: 3.1.16, mtval.
            hart.mtval = tval;
            // Phase 5, stack the interrupt enable and the mode: 3.1.6.1, MPIE and MPP of mstatus.
            let mie = hart.mstatus & status::MIE != 0;
            hart.mstatus &= !(status::MIE | status::MPIE | status::MPP);
            hart.mstatus |= if mie { status::MPIE } else { 0 } | (from as u64) << status::MPP_SHIFT;
            hart.mtvec
        }
        _ => {
            // Phase 2, write the cause: 10.1.8, scause.
            hart.scause = cause_value;
            // Phase 3, save the program counter: 10.1.7, sepc.
            hart.sepc = epc;
            // Phase 4, write the trap value: 10.1.9, stval.
            hart.stval = tval;
            // Phase 5, stack the interrupt enable and the mode: 10.1.1, SPIE and SPP of sstatus.
            let sie = hart.mstatus & status::SIE != 0;
            hart.mstatus &= !(status::SIE | status::SPIE | status::SPP);
            hart.mstatus |= if sie { status::SPIE } else { 0 };
            hart.mstatus |= if from == Privilege::Supervisor { status::SPP } else { 0 };
            hart.stvec
        }
    };
    // Phase 6, enter the mode: 3.1.6.1; our own extensions switch banks or stack here (see `custom`).
    hart.custom_trap(bus, from, to, obs);
    hart.privilege = to;
    // Phase 7, jump to the handler: 3.1.7, mtvec, and 10.1.2, stvec. Only interrupts are vectored.
    let vectored = tvec & 1 != 0 && cause.is_interrupt();
    hart.pc = hart.canonical((tvec & !3).wrapping_add(if vectored { 4 * number } else { 0 }));

    if O::TRAP {
        obs.trap(&Trap {
            cause,
            tval: hart.outside(tval),
            epc: hart.outside(epc),
            from,
            to,
            handler: hart.outside(hart.pc),
            instret: hart.retired,
        });
    }
}

/// Returns from a trap handled in `mode`, as `mret` and `sret` do (3.1.6.1 and 10.1.1). Yields the new pc.
pub(crate) fn return_from<O: Observer>(hart: &mut Hart, bus: &mut Bus, mode: Privilege, obs: &mut O) -> u64 {
    let (to, pc) = if mode == Privilege::Machine {
        let to = Privilege::from_bits(hart.mstatus >> status::MPP_SHIFT);
        // MIE takes MPIE's value, MPIE becomes 1, MPP the least privileged mode.
        let mpie = hart.mstatus & status::MPIE != 0;
        hart.mstatus &= !(status::MIE | status::MPP);
        hart.mstatus |= status::MPIE | if mpie { status::MIE } else { 0 };
        (to, hart.mepc)
    } else {
        let to = if hart.mstatus & status::SPP != 0 { Privilege::Supervisor } else { Privilege::User };
        let spie = hart.mstatus & status::SPIE != 0;
        hart.mstatus &= !(status::SIE | status::SPP);
        hart.mstatus |= status::SPIE | if spie { status::SIE } else { 0 };
        (to, hart.sepc)
    };
    if to != Privilege::Machine {
        // 3.1.6.3: leaving M-mode clears MPRV.
        hart.mstatus &= !status::MPRV;
    }
    hart.custom_return(bus, mode, obs);
    // A reservation does not outlive a return: another context may run now (unprivileged specification, 13.2).
    hart.reservation = None;
    hart.privilege = to;
    let pc = pc & !hart.target_mask();
    if O::TRAP {
        obs.trap_return(&TrapReturn { from: mode, to, pc: hart.outside(pc), instret: hart.retired });
    }
    pc
}

/// The interrupt to take now, if any (3.1.9): pending, enabled, and its mode not masked; the mode that comes
/// first is the more privileged one, then external, software, timer.
pub(crate) fn pending(hart: &Hart) -> Option<Cause> {
    let pending = hart.mip & hart.mie;
    if pending == 0 {
        return None;
    }
    let machine_on = hart.privilege < Privilege::Machine || hart.mstatus & status::MIE != 0;
    let supervisor_on = hart.privilege < Privilege::Supervisor
        || hart.privilege == Privilege::Supervisor && hart.mstatus & status::SIE != 0;
    let to_machine = if machine_on { pending & !hart.mideleg } else { 0 };
    let to_supervisor = if supervisor_on { pending & hart.mideleg } else { 0 };
    let which = if to_machine != 0 { to_machine } else { to_supervisor };
    [
        (interrupt::MEI, Cause::MachineExternal),
        (interrupt::MSI, Cause::MachineSoftware),
        (interrupt::MTI, Cause::MachineTimer),
        (interrupt::SEI, Cause::SupervisorExternal),
        (interrupt::SSI, Cause::SupervisorSoftware),
        (interrupt::STI, Cause::SupervisorTimer),
    ]
    .into_iter()
    .find(|(bit, _)| which & bit != 0)
    .map(|(_, cause)| cause)
}
