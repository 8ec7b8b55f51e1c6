//! How a program without a kernel ends: by an `ecall` that nobody handles.

use crate::exception::Cause;
use crate::machine::{Machine, Stop};

/// The numbers, in `a7`, of the system calls that end a program in Ripes: with status 0, and with the status in `a0`.
pub const EXIT_CALLS: [u64; 2] = [10, 93];

impl Machine {
    /// Lets an `ecall` in machine mode end a program that has set no trap handler, if its number is one of [`EXIT_CALLS`].
    /// It does not retire (privileged specification, 3.3.1), and no trap is taken.
    pub fn exit_by_ecall(&mut self) {
        self.exits_by_ecall = true;
    }

    /// How an exception ends the program, if it does.
    pub(crate) fn exit_by(&self, cause: Cause) -> Option<Stop> {
        if !self.exits_by_ecall || cause != Cause::MachineEcall || self.hart.mtvec != 0 {
            return None;
        }
        let [plain, with_status] = EXIT_CALLS;
        match self.x(17) {
            number if number == plain => Some(Stop::Exit { code: 0 }),
            number if number == with_status => Some(Stop::Exit { code: self.x(10) as i32 }),
            _ => None,
        }
    }
}
