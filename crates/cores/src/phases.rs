//! To which part of a program the cycles of an instruction belong.

use tollgate_riscv::Trap;
use tollgate_riscv::{Privilege, Retired};

/// Assigns an instruction's cycles to a phase. Phases are small numbers of the caller's own.
pub trait Phases {
    /// Whether phases depend on nothing but the privilege mode, as [`of_mode`](Self::of_mode) says: then [`of`](Self::of) is not called.
    const BY_MODE: bool = false;

    /// The phase of instructions in a privilege mode, if that is all that it depends on.
    fn of_mode(_: Privilege) -> u8 {
        0
    }

    /// The phase of an instruction that retired. Called once for each, in order.
    fn of(&mut self, retired: &Retired) -> u8;
    /// The phase of a trap: its slot, and the refill behind it.
    fn of_trap(&mut self, trap: &Trap) -> u8;
}

/// All one phase.
impl Phases for () {
    const BY_MODE: bool = true;
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
    const BY_MODE: bool = true;
    fn of_mode(mode: Privilege) -> u8 {
        mode as u8
    }
    fn of(&mut self, retired: &Retired) -> u8 {
        retired.privilege as u8
    }
    fn of_trap(&mut self, trap: &Trap) -> u8 {
        trap.from as u8
    }
}
