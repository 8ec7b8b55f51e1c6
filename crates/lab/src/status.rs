//! The exit status of a command that runs a guest: the guest's, and besides it those of `env` and `timeout`.

use std::ffi::OsStr;

use crate::boot::{BootEnding, BootOutcome};
use crate::program::{Ending, Outcome};

/// The exit statuses in the help of such a command.
pub const EXIT_STATUS: &str = "Exit status: that of the program; 124 its instructions were used up (--max-instructions); 125 tollgate \
     itself failed, or the program can neither end nor continue; 126 the file cannot be run; 127 it was not found; 128 + N \
     signal N stopped tollgate, which prints and saves what it has.";

const TIME_IS_UP: u8 = 124;
/// The command failed, or its guest did not end.
pub const FAILED: u8 = 125;

/// The commands of `tollgate riscv`.
const COMMANDS: [&str; 3] = ["run", "boot", "exec"];

/// Whether these words of a command line call such a command.
pub fn is_of_guest(words: &[impl AsRef<OsStr>]) -> bool {
    matches!(words, [riscv, name, ..] if riscv.as_ref() == "riscv" && COMMANDS.iter().any(|it| name.as_ref() == *it))
}

impl Outcome {
    /// The exit status that a shell sees: of the program's own the lowest eight bits.
    pub fn exit_status(&self) -> u8 {
        match self.ending {
            Ending::Exited(status) => status as u8,
            Ending::Budget => TIME_IS_UP,
            Ending::Stuck(_) | Ending::Interrupted => FAILED,
        }
    }
}

impl BootOutcome {
    /// The exit status that a shell sees: of the kernel's own the lowest eight bits.
    pub fn exit_status(&self) -> u8 {
        match self.ending {
            BootEnding::PoweredOff(status) => status as u8,
            BootEnding::Rebooted | BootEnding::Reached => 0,
            BootEnding::Budget => TIME_IS_UP,
            _ => FAILED,
        }
    }
}
