//! Exceptions and interrupts: their causes, and what observers see of a trap and a return.

use std::fmt;

use crate::privilege::Privilege;

/// Why a trap was taken; exceptions by the specification's numbers (privileged specification, table 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// Jump to an address that is not aligned for an instruction.
    InstructionMisaligned = 0,
    /// Fetch from an address without memory, or that may not be fetched.
    InstructionAccessFault = 1,
    /// Not an instruction, or not allowed here.
    IllegalInstruction = 2,
    /// `ebreak`.
    Breakpoint = 3,
    /// Misaligned load on a machine that does not support it.
    LoadMisaligned = 4,
    /// Load from an address without memory, or that may not be read.
    LoadAccessFault = 5,
    /// Misaligned store or atomic.
    StoreMisaligned = 6,
    /// Store to an address without memory, or that may not be written.
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

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessType {
    /// Fetches an instruction.
    Fetch,
    /// Reads data.
    Load,
    /// Writes data; atomics count as stores.
    Store,
}

impl AccessType {
    pub(crate) fn page_fault(self, va: u64) -> Exception {
        let cause = match self {
            AccessType::Fetch => Cause::InstructionPageFault,
            AccessType::Load => Cause::LoadPageFault,
            AccessType::Store => Cause::StorePageFault,
        };
        Exception { cause, tval: va }
    }

    pub(crate) fn access_fault(self, va: u64) -> Exception {
        let cause = match self {
            AccessType::Fetch => Cause::InstructionAccessFault,
            AccessType::Load => Cause::LoadAccessFault,
            AccessType::Store => Cause::StoreAccessFault,
        };
        Exception { cause, tval: va }
    }

    pub(crate) fn misaligned(self, va: u64) -> Exception {
        let cause = match self {
            AccessType::Fetch => Cause::InstructionMisaligned,
            AccessType::Load => Cause::LoadMisaligned,
            AccessType::Store => Cause::StoreMisaligned,
        };
        Exception { cause, tval: va }
    }
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
