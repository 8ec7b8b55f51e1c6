//! To which part of a program the cycles of an instruction belong.

use crate::exception::Trap;
use crate::observer::Retired;

/// Assigns an instruction's cycles to a phase. Phases are small numbers of the caller's own.
pub trait Phases {
    /// The phase of an instruction that retired. Called once for each, in order.
    fn of(&mut self, retired: &Retired) -> u8;
    /// The phase of a trap: its slot, and the refill behind it.
    fn of_trap(&mut self, trap: &Trap) -> u8;
}

/// All one phase.
impl Phases for () {
    fn of(&mut self, _: &Retired) -> u8 {
        0
    }
    fn of_trap(&mut self, _: &Trap) -> u8 {
        0
    }
}

/// The privilege mode's number: 0 user, 1 supervisor, 3 machine. A trap belongs to the mode that it leaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByPrivilege;

impl Phases for ByPrivilege {
    fn of(&mut self, retired: &Retired) -> u8 {
        retired.privilege as u8
    }
    fn of_trap(&mut self, trap: &Trap) -> u8 {
        trap.from as u8
    }
}
