//! How a program without a kernel ends: by an `ecall` that nobody handles, by a return to nobody, or where its code does.

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

    /// Lets a program that has set no trap handler end as well, with status 0, where its code ends, if what follows cannot be
    /// executed, and by a return from its first function to the address 0 that `ra` has at reset. (What is in `a0` then means
    /// nothing: a freestanding `main` need not return a value.)
    pub fn exit_behind(&mut self, ends_of_code: Vec<u64>) {
        self.exits_behind = Some(ends_of_code);
    }

    /// How an exception at `pc` ends the program, if it does.
    pub(crate) fn exit_by(&self, cause: Cause, pc: u64) -> Option<Stop> {
        if self.hart.mtvec != 0 {
            return None;
        }
        match (cause, &self.exits_behind) {
            (Cause::MachineEcall, _) if self.exits_by_ecall => {}
            // A trap before this one would also have led here.
            (Cause::InstructionAccessFault, Some(_))
                if pc == 0 && self.x(1) == 0 && self.hart.mcause == 0 && self.hart.mepc == 0 =>
            {
                return Some(Stop::Exit { code: 0 });
            }
            (Cause::InstructionAccessFault | Cause::IllegalInstruction, Some(ends)) if ends.contains(&pc) => {
                return Some(Stop::Exit { code: 0 });
            }
            _ => return None,
        }
        let [plain, with_status] = EXIT_CALLS;
        match self.x(17) {
            number if number == plain => Some(Stop::Exit { code: 0 }),
            number if number == with_status => Some(Stop::Exit { code: self.x(10) as i32 }),
            _ => None,
        }
    }
}
