//! A program without a kernel: how it ends (by an `ecall` that nobody handles, by a return to nobody, or where its code
//! does), and which of its `ecall`s the host answers.

use crate::exception::{AccessType, Cause};
use crate::machine::{Machine, Stop};
use crate::privilege::Privilege;

/// The numbers, in `a7`, of the system calls that end a program in Ripes: with status 0, and with the status in `a0`.
pub const EXIT_CALLS: [u64; 2] = [10, 93];

/// The numbers of the calls that print in RARS and Ripes: an integer, a text up to its zero, a character, an integer in
/// hexadecimal, in binary, and without a sign.
const PRINT_INT: u64 = 1;
const PRINT_STRING: u64 = 4;
const PRINT_CHAR: u64 = 11;
const PRINT_HEX: u64 = 34;
const PRINT_BINARY: u64 = 35;
const PRINT_UNSIGNED: u64 = 36;
/// Linux's `write`.
const WRITE: u64 = 64;
/// The most bytes of one `write`.
const MOST: u64 = 1 << 20;

impl Machine {
    /// Answers an `ecall` in machine mode of a program that has set no trap handler: one of [`EXIT_CALLS`] ends the program,
    /// does not retire (privileged specification, 3.3.1), and takes no trap; Linux's `write` and the calls that print in RARS
    /// and Ripes write to the console, take no instruction but the `ecall`, and retire.
    pub fn answer_ecalls(&mut self) {
        self.answers_ecalls = true;
    }

    /// Does the call of an `ecall` that prints; `false` if it is another one, or a handler is there.
    pub(crate) fn does_print(&mut self) -> bool {
        if !self.answers_ecalls || self.hart.mtvec != 0 || self.hart.privilege != Privilege::Machine {
            return false;
        }
        let value = self.x(10);
        let wide = self.hart.isa.is_rv64();
        let signed = if wide { value as i64 } else { i64::from(value as i32) };
        let bits = if wide { value } else { u64::from(value as u32) };
        let text = match self.x(17) {
            PRINT_INT => signed.to_string().into_bytes(),
            PRINT_STRING => self.text_at(value),
            PRINT_CHAR => vec![value as u8],
            PRINT_HEX => format!("{bits:#010x}").into_bytes(),
            PRINT_BINARY => format!("{bits:#034b}").into_bytes(),
            PRINT_UNSIGNED => bits.to_string().into_bytes(),
            WRITE => return self.does_write(value),
            _ => return false,
        };
        self.bus.console.write(&text);
        true
    }

    /// `write`, to standard output or standard error.
    fn does_write(&mut self, file: u64) -> bool {
        const EBADF: i64 = -9;
        const EFAULT: i64 = -14;
        let (address, length) = (self.x(11), self.x(12).min(MOST));
        let result = match self.read_virtual(address, length, AccessType::Load) {
            _ if file != 1 && file != 2 => EBADF,
            Some(bytes) => {
                self.bus.console.write(&bytes);
                length as i64
            }
            None => EFAULT,
        };
        self.set_x(10, result as u64);
        true
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
            (Cause::MachineEcall, _) if self.answers_ecalls => {}
            // A trap before this one would also have led here.
            (Cause::InstructionAccessFault, Some(_))
                if pc == 0 && self.x(1) == 0 && self.hart.mcause == 0 && self.hart.mepc == 0 =>
            {
                return Some(Stop::Exit { code: 0 });
            }
            (Cause::InstructionAccessFault | Cause::IllegalInstruction, Some(ends))
                if ends.contains(&self.hart.outside(pc)) =>
            {
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
