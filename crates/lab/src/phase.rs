//! The phases of a crossing, marked in the guests by symbols: the instructions from `phase.NAME.K` to the next mark
//! belong to NAME.

use tollgate_record::phase;

/// A named part of a crossing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    /// The program's own instructions around the trap.
    UserStub,
    /// What the hardware does between the trapping instruction and the first one of the handler.
    HardwareTrap,
    /// Machine mode, between the hardware and a supervisor kernel.
    Firmware,
    /// To the kernel's stack and back.
    StackSwitch,
    /// Registers to memory.
    Save,
    /// From the cause to the handler, and from its result to the frame.
    Dispatch,
    /// The work of the call or interrupt itself.
    Handler,
    /// Choice of the next task.
    Schedule,
    /// Change of the address space.
    Space,
    /// Registers from memory.
    Restore,
    /// The instruction that returns.
    Return,
    /// Kernel code that belongs to no crossing; zero unless something is wrong.
    Other,
}

impl Phase {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// All phases, in the order of a bill.
    pub const ALL: [Self; 12] = [
        Self::UserStub,
        Self::HardwareTrap,
        Self::Firmware,
        Self::StackSwitch,
        Self::Save,
        Self::Dispatch,
        Self::Handler,
        Self::Schedule,
        Self::Space,
        Self::Restore,
        Self::Return,
        Self::Other,
    ];

    /// Its name in a record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserStub => phase::USER_STUB,
            Self::HardwareTrap => phase::HARDWARE_TRAP,
            Self::Firmware => phase::FIRMWARE,
            Self::StackSwitch => phase::STACK_SWITCH,
            Self::Save => phase::REGISTER_SAVE,
            Self::Dispatch => phase::DISPATCH,
            Self::Handler => phase::HANDLER,
            Self::Schedule => phase::SCHEDULE,
            Self::Space => phase::ADDRESS_SPACE,
            Self::Restore => phase::REGISTER_RESTORE,
            Self::Return => phase::RETURN,
            Self::Other => phase::OTHER,
        }
        .name
    }

    /// The phase that a symbol begins, if it is a mark.
    #[must_use]
    pub fn of_symbol(symbol: &str) -> Option<Self> {
        let name = symbol.strip_prefix("phase.")?.split('.').next()?;
        Some(match name {
            "user" => Self::UserStub,
            "firmware" => Self::Firmware,
            "stack" => Self::StackSwitch,
            "save" => Self::Save,
            "dispatch" => Self::Dispatch,
            "handler" => Self::Handler,
            "schedule" => Self::Schedule,
            "space" => Self::Space,
            "restore" => Self::Restore,
            "return" => Self::Return,
            _ => Self::Other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lists_every_phase_at_its_own_index() {
        for (index, phase) in Phase::ALL.into_iter().enumerate() {
            assert_eq!(phase as usize, index);
        }
    }

    #[test]
    fn marks_are_told_from_other_symbols() {
        assert_eq!(Phase::of_symbol("phase.save.1"), Some(Phase::Save));
        assert_eq!(Phase::of_symbol("phase.boot.c"), Some(Phase::Other));
        assert_eq!(Phase::of_symbol("phases"), None);
        assert_eq!(Phase::of_symbol("trap_vector"), None);
    }
}
