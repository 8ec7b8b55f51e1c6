//! What is run in every place: each command at its smallest.

/// One command.
pub(crate) struct Command {
    /// Its column in the table.
    pub(crate) name: &'static str,
    /// The command line, as in a [`Case`](crate::case::Case); `{cpu}` is the measured CPU.
    pub(crate) args: &'static str,
    pub(crate) kind: Kind,
}

/// What its document is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// A run whose figures are the host's.
    Measured,
    /// A run in which every figure is exact, and the same everywhere.
    Simulated,
    /// Findings.
    Doctor,
}

pub(crate) static COMMANDS: &[Command] = &[
    Command { name: "ladder", args: "--quick --budget-ms 1 --seed 1 --json", kind: Kind::Measured },
    Command {
        name: "crossing",
        args: "crossing --no-guest --quick --budget-ms 1 --seed 1 --json",
        kind: Kind::Measured,
    },
    Command {
        name: "faults",
        args: "fault kinds --quick --budget-ms 1 --seed 1 --json",
        kind: Kind::Measured,
    },
    Command {
        name: "ring",
        args: "ring --procs 2,5 --size 0,4K --quick --budget-ms 1 --seed 1 --json",
        kind: Kind::Measured,
    },
    Command { name: "riscv trap", args: "riscv trap --json", kind: Kind::Simulated },
    Command { name: "doctor", args: "doctor --json", kind: Kind::Doctor },
];
