//! The phases of a crossing, marked in the guests by symbols: the instructions from `phase.NAME.K` to the next mark
//! belong to NAME.

use strum::VariantArray;
use tollgate_record::phase;

/// A named part of a crossing; in a mark, its name in lower case.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    strum::VariantArray,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "lowercase")]
#[repr(u8)]
pub enum Phase {
    /// The program's own instructions around the trap.
    #[strum(serialize = "user")]
    UserStub,
    /// The hardware, between the trapping instruction and the first one of the handler.
    HardwareTrap,
    /// Machine mode, between the hardware and a supervisor kernel.
    Firmware,
    /// To the kernel's stack and back.
    #[strum(serialize = "stack")]
    StackSwitch,
    /// Registers to memory.
    Save,
    /// From the cause to the handler, and from its result to the frame.
    Dispatch,
    /// The work of the call or interrupt itself.
    Handler,
    /// A page is found, cleared or copied.
    Page,
    /// A page is entered into the page table.
    Map,
    /// The waiting task becomes ready to run.
    Wake,
    /// Choice of the next task.
    Schedule,
    /// Registers and stack of the next task.
    Switch,
    /// Change of the address space.
    Space,
    /// The frame of a signal's handler.
    Signal,
    /// Registers from memory.
    Restore,
    /// The instruction that returns.
    Return,
    /// Kernel code that belongs to no crossing; zero unless something is wrong.
    Other,
}

impl Phase {
    /// All phases, in the order of a bill.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Its name in a record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserStub => phase::USER_STUB,
            Self::HardwareTrap => phase::HARDWARE_TRAP,
            Self::Firmware => phase::FIRMWARE,
            Self::StackSwitch => phase::STACK_SWITCH,
            Self::Save => phase::REGISTER_SAVE,
            Self::Dispatch => phase::DISPATCH,
            Self::Handler => phase::HANDLER,
            Self::Page => phase::PAGE,
            Self::Map => phase::PAGE_TABLE,
            Self::Wake => phase::WAKE_UP,
            Self::Schedule => phase::SCHEDULE,
            Self::Switch => phase::TASK_SWITCH,
            Self::Signal => phase::SIGNAL_FRAME,
            Self::Space => phase::ADDRESS_SPACE,
            Self::Restore => phase::REGISTER_RESTORE,
            Self::Return => phase::RETURN,
            Self::Other => phase::OTHER,
        }
        .name
    }

    /// The phase that a symbol begins, if it is a mark.
    pub fn of_symbol(symbol: &str) -> Option<Self> {
        let name = symbol.strip_prefix("phase.")?.split('.').next()?;
        Some(name.parse().unwrap_or(Self::Other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lists_every_phase_at_its_own_index() {
        for (index, phase) in Phase::ALL.iter().copied().enumerate() {
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
