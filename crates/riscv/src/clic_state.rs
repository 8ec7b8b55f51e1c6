//! The state of the core-local interrupt controller ([`crate::clic`]): its registers in memory, and those in the hart.

use crate::exception::Cause;
use crate::privilege::Privilege;

/// `cliccfg` (CLIC, 3.2): vectoring is there (nvbits), and all eight bits of a source's control are its level (nlbits).
const CONFIGURATION: u8 = 8 << 1 | 1;
/// Where the four bytes of each source begin: pending, enabled, attributes, control (CLIC, 3.5 to 3.8).
const SOURCES: u64 = 0x1000;
/// Of the attributes: vectored by hardware (shv), and the mode, which is always machine mode. Sources are levels.
const VECTORED: u8 = 1;
const MACHINE_MODE: u8 = 3 << 6;

/// The lines of the hart, and their bits in `mip`.
const LINES: [(u64, Cause); 3] =
    [(1 << 3, Cause::MachineSoftware), (1 << 7, Cause::MachineTimer), (1 << 11, Cause::MachineExternal)];

/// What software has set for a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Source {
    enabled: bool,
    /// Whether its handler's address is in the table.
    pub(crate) vectored: bool,
    pub(crate) level: u8,
}

/// The memory-mapped part, outside of the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sources {
    of: [Source; 3],
    /// The hart's lines, as `mip` has them.
    pub(crate) lines: u64,
}

impl Sources {
    fn at(offset: u64) -> Option<usize> {
        let number = offset.checked_sub(SOURCES)? / 4;
        LINES.iter().position(|(_, cause)| cause.code() == number)
    }

    fn byte(&self, offset: u64) -> u8 {
        let Some(at) = Self::at(offset) else { return if offset == 0 { CONFIGURATION } else { 0 } };
        let source = self.of[at];
        match offset & 3 {
            0 => u8::from(self.lines & LINES[at].0 != 0),
            1 => source.enabled.into(),
            2 => MACHINE_MODE | u8::from(source.vectored),
            _ => source.level,
        }
    }

    pub(crate) fn read(&self, offset: u64, size: u64) -> u64 {
        (0..size).rev().fold(0, |v, i| v << 8 | u64::from(self.byte(offset + i)))
    }

    pub(crate) fn write(&mut self, offset: u64, size: u64, value: u64) {
        for (offset, byte) in (offset..offset + size).zip(value.to_le_bytes()) {
            let Some(at) = Self::at(offset) else { continue };
            let source = &mut self.of[at];
            match offset & 3 {
                // A line is pending as long as it is raised.
                0 => {}
                1 => source.enabled = byte & 1 != 0,
                2 => source.vectored = byte & VECTORED != 0,
                _ => source.level = byte,
            }
        }
    }

    /// The lines that are enabled.
    pub(crate) fn enabled(&self) -> u64 {
        let enabled = LINES.iter().zip(&self.of).filter(|(_, source)| source.enabled);
        enabled.fold(0, |lines, ((line, _), _)| lines | line)
    }

    /// What software has set for an interrupt.
    pub(crate) fn source_of(&self, cause: Cause) -> Option<Source> {
        LINES.iter().position(|&(_, line)| line == cause).map(|at| self.of[at])
    }

    /// The source that is presented to the core: of those that are pending and enabled, the one of the highest level.
    pub(crate) fn first(&self, lines: u64) -> Option<(Cause, Source)> {
        let pending =
            LINES.iter().zip(self.of).filter(|((line, _), source)| source.enabled && lines & line != 0);
        pending.map(|(&(_, cause), source)| (cause, source)).max_by_key(|(_, source)| source.level)
    }
}

/// The part in the core.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clic {
    /// `mtvt`.
    pub(crate) table: u64,
    /// `mintstatus.mil` and `mintthresh`.
    pub(crate) level: u8,
    pub(crate) threshold: u8,
    /// As they were when the devices were last served.
    pub(crate) sources: Sources,
}

impl Clic {
    /// The level above which a source interrupts.
    pub(crate) fn above(&self, privilege: Privilege) -> u8 {
        if privilege == Privilege::Machine { self.level.max(self.threshold) } else { 0 }
    }
}
