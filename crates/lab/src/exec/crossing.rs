//! What an instruction outside of a program is charged to.

use tollgate_record::{PhaseName, phase};

use super::calls;

/// Which part of a crossing an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Step {
    /// The program's.
    Own,
    /// From the trap to the kernel's stack with all registers saved.
    Entry,
    /// From the cause to the handler, and behind it.
    Dispatch,
    /// What was asked for.
    Work,
    /// To another task.
    Switch,
    /// Registers from memory, and the return.
    Exit,
    /// That of the caller.
    Inherit,
}

/// How far a task's program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Stage {
    /// Its `execve`.
    Starting,
    /// The loader loads libraries.
    Loading,
    Running,
    /// Its exit.
    Ending,
}

/// Why control is not in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Crossing {
    /// It is.
    None,
    /// A system call, by number.
    Call(u64),
    /// A page fault, by cause.
    Fault(u64),
    /// Another exception.
    Exception(u64),
    /// By cause.
    Interrupt(u64),
    /// A new task, until it is in the program.
    Birth,
}

/// What is charged together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) task: u32,
    pub(crate) stage: Stage,
    pub(crate) crossing: Crossing,
    pub(crate) step: Step,
    pub(crate) function: u32,
}

/// A path of calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// Of the caller; none if nobody called it.
    pub(crate) caller: Option<u32>,
    pub(crate) task: u32,
    pub(crate) function: u32,
    /// Instructions, or cycles on a core, of the function itself.
    pub(crate) weight: u64,
    /// How often, of a crossing.
    pub(crate) count: u64,
}

impl Crossing {
    /// Its kind, by which a view sorts it.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::None | Self::Birth => "task",
            Self::Call(_) => "system call",
            Self::Fault(_) | Self::Exception(_) => "fault",
            Self::Interrupt(_) => "interrupt",
        }
    }

    /// Its name: that of the system call or the exception.
    pub(crate) fn name(self) -> String {
        let word = match self {
            Self::None => "user mode",
            Self::Call(number) => {
                return calls::name(number).map_or_else(|| format!("call {number}"), str::to_owned);
            }
            Self::Fault(12) => "instruction fault",
            Self::Fault(13) => "load fault",
            Self::Fault(_) => "store fault",
            Self::Exception(0 | 4 | 6) => "misaligned access",
            Self::Exception(1 | 5 | 7) => "access fault",
            Self::Exception(2) => "illegal instruction",
            Self::Exception(3) => "breakpoint",
            Self::Exception(number) => return format!("exception {number}"),
            Self::Interrupt(1) => "software interrupt",
            Self::Interrupt(5) => "timer interrupt",
            Self::Interrupt(9) => "device interrupt",
            Self::Interrupt(number) => return format!("interrupt {number}"),
            Self::Birth => "new task",
        };
        word.to_owned()
    }
}

/// The part of the bill to which something is charged; `None` for what interrupts the program.
pub(super) fn part(stage: Stage, crossing: Crossing, step: Step) -> Option<PhaseName> {
    Some(match (stage, crossing, step) {
        (_, Crossing::Interrupt(_), Step::Switch) => phase::SWITCHES,
        (_, Crossing::Interrupt(_), _) => return None,
        (Stage::Starting, ..) => phase::PROGRAM_START,
        (Stage::Loading, ..) => phase::LOADER,
        (Stage::Ending, ..) => phase::PROGRAM_END,
        (_, _, Step::Own) => phase::OWN_CODE,
        (_, _, Step::Entry) => phase::ENTRY_CODE,
        (_, _, Step::Dispatch) => phase::DISPATCH,
        (_, _, Step::Exit) => phase::EXIT_CODE,
        (_, _, Step::Switch) => phase::SWITCHES,
        (_, Crossing::Fault(_) | Crossing::Exception(_), Step::Work | Step::Inherit) => phase::FAULT_WORK,
        (_, _, Step::Work | Step::Inherit) => phase::KERNEL_WORK,
    })
}
