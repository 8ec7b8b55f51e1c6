//! Exceptions and interrupts: their causes, and what observers see of a trap and a return.

use crate::privilege::Privilege;

/// Why a trap was taken; exceptions by the specification's numbers (privileged specification, table 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the specification's")]
pub enum Cause {
    #[strum(to_string = "instruction address misaligned")]
    InstructionMisaligned = 0,
    /// Fetch from an address without memory, or that may not be fetched.
    #[strum(to_string = "instruction access fault")]
    InstructionAccessFault = 1,
    /// Not an instruction, or not allowed here.
    #[strum(to_string = "illegal instruction")]
    IllegalInstruction = 2,
    #[strum(to_string = "breakpoint")]
    Breakpoint = 3,
    /// Misaligned load on a machine that does not support it.
    #[strum(to_string = "load address misaligned")]
    LoadMisaligned = 4,
    /// Load from an address without memory, or that may not be read.
    #[strum(to_string = "load access fault")]
    LoadAccessFault = 5,
    /// Misaligned store or atomic.
    #[strum(to_string = "store address misaligned")]
    StoreMisaligned = 6,
    /// Store to an address without memory, or that may not be written.
    #[strum(to_string = "store access fault")]
    StoreAccessFault = 7,
    #[strum(to_string = "environment call from U-mode")]
    UserEcall = 8,
    #[strum(to_string = "environment call from S-mode")]
    SupervisorEcall = 9,
    #[strum(to_string = "environment call from M-mode")]
    MachineEcall = 11,
    #[strum(to_string = "instruction page fault")]
    InstructionPageFault = 12,
    #[strum(to_string = "load page fault")]
    LoadPageFault = 13,
    #[strum(to_string = "store page fault")]
    StorePageFault = 15,
    /// A landing pad or a return address is not what it should be.
    #[strum(to_string = "software check")]
    SoftwareCheck = 18,
    #[strum(to_string = "supervisor software interrupt")]
    SupervisorSoftware = 0x81,
    #[strum(to_string = "machine software interrupt")]
    MachineSoftware = 0x83,
    #[strum(to_string = "supervisor timer interrupt")]
    SupervisorTimer = 0x85,
    #[strum(to_string = "machine timer interrupt")]
    MachineTimer = 0x87,
    #[strum(to_string = "supervisor external interrupt")]
    SupervisorExternal = 0x89,
    #[strum(to_string = "machine external interrupt")]
    MachineExternal = 0x8b,
    #[strum(to_string = "counter overflow interrupt")]
    CounterOverflow = 0x8d,
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

/// An exception: its cause and the value for `xtval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    pub(crate) cause: Cause,
    pub(crate) tval: u64,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessType {
    /// Fetches an instruction.
    Fetch,
    /// Reads data.
    Load,
    /// Writes data; atomics count as stores.
    Store,
    /// Reads or writes a shadow stack, which needs a page of such.
    ShadowStack,
}

impl AccessType {
    /// The exception with one of three causes: for a fetch, a load, a store.
    fn raise(self, tval: u64, causes: [Cause; 3]) -> Exception {
        // An access to a shadow stack counts as a store, too.
        Exception { cause: causes[(self as usize).min(2)], tval }
    }

    pub(crate) fn page_fault(self, va: u64) -> Exception {
        self.raise(va, [Cause::InstructionPageFault, Cause::LoadPageFault, Cause::StorePageFault])
    }

    pub(crate) fn access_fault(self, va: u64) -> Exception {
        self.raise(va, [Cause::InstructionAccessFault, Cause::LoadAccessFault, Cause::StoreAccessFault])
    }

    pub(crate) fn misaligned(self, va: u64) -> Exception {
        self.raise(va, [Cause::InstructionMisaligned, Cause::LoadMisaligned, Cause::StoreMisaligned])
    }
}

/// A trap that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// Why.
    pub cause: Cause,
    /// The value of `xtval`.
    pub tval: u64,
    /// The address that `xepc` holds.
    pub epc: u64,
    /// The mode before.
    pub from: Privilege,
    /// The mode of the handler.
    pub to: Privilege,
    /// The handler's first instruction.
    pub handler: u64,
    /// Whether its address was read from a table in memory, as a CLIC does.
    pub by_table: bool,
    /// Instructions retired before the trap, since reset.
    pub instret: u64,
    /// The value of `a7`: the number of a system call, if it is one.
    pub a7: u64,
    /// The instruction that raised the exception, if it could be fetched.
    pub raised_by: Option<Raised>,
}

/// The instruction that raised an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Its physical address.
    pub pa: u64,
    /// Its bits.
    pub word: u32,
}

impl Raised {
    /// Its bytes.
    #[must_use]
    pub fn length(self) -> u8 {
        if self.word & 3 == 3 { 4 } else { 2 }
    }
}

/// A return from a trap handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrapReturn {
    /// The handler's mode.
    pub from: Privilege,
    /// The mode returned to.
    pub to: Privilege,
    /// The address where execution continues.
    pub pc: u64,
    /// Instructions retired before the return, since reset.
    pub instret: u64,
}
