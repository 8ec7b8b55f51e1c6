//! A task of the guest, and the calls that are open in it.

use super::code::Place;
use super::crossing::{Crossing, Stage, Step};
use crate::calls::{Calls, Leave};

pub(super) struct Running {
    pub(super) function: u32,
    pub(super) node: u32,
    pub(super) beyond: u64,
    /// What holds again when it returns.
    pub(super) inherit: Step,
    pub(super) crossing: Crossing,
}

pub(super) struct Task {
    /// The task whose keys this one's are: the program's tasks share those of its first one.
    pub(super) group: u32,
    pub(super) calls: Calls<Running>,
    pub(super) beyond: u64,
    pub(super) left: Leave,
    pub(super) inherit: Step,
    pub(super) stage: Stage,
    pub(super) crossing: Crossing,
    /// The crossing before the trap that has just been taken.
    pub(super) before: Crossing,
    /// It executed code of user mode that is not the first process's.
    pub(super) is_program: bool,
    pub(super) dead: bool,
}

impl Task {
    pub(super) fn new(group: u32, stage: Stage, crossing: Crossing) -> Self {
        Self {
            group,
            calls: Calls(Vec::new()),
            beyond: 0,
            left: Leave::Next,
            inherit: Step::Work,
            stage,
            crossing,
            before: crossing,
            is_program: false,
            dead: false,
        }
    }
}

/// Instructions that follow each other, of one function and step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) pc: u64,
    pub(super) end: u16,
    pub(super) step: Step,
    pub(super) place: Place,
    /// Ends with the mark in front of the program.
    pub(super) mark: bool,
    pub(super) instructions: u64,
    pub(super) accesses: usize,
    pub(super) operands: usize,
    pub(super) leave: Leave,
    /// What it was charged to last: context, step, and the number of the key.
    pub(super) charged: (u32, Step, u32),
}

pub(super) const RUNS: usize = 1 << 13;
pub(super) const MOST_PARTS: usize = 1 << 18;
pub(super) const NOTHING: u64 = u64::MAX;
