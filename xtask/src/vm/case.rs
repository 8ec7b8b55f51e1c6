//! What a case is.

use super::arch::Arch;
use super::debian::Line;
use super::seen::Seen;
use tollgate_record::Severity;

/// A machine, what is done on it, and what must come of it.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What is special about it, for the table.
    pub(super) what: &'static str,
    pub(super) arch: Arch,
    pub(super) line: Line,
    /// The emulator's name of the processor, with its features.
    pub(super) cpu: &'static str,
    pub(super) cpus: u32,
    pub(super) memory_mib: u32,
    /// More arguments of the emulator.
    pub(super) machine: &'static [&'static str],
    /// More words of the kernel's command line.
    pub(super) boot: &'static str,
    /// What the guest runs, in this order.
    pub(super) scripts: &'static [Script],
    /// Boots, one after the other, of which all must do the same.
    pub(super) boots: usize,
    /// Seconds for one boot, where it is not what the command line says.
    pub(super) limit: Option<u64>,
    pub(super) ends: Ending,
    pub(super) expects: &'static [Expect],
}

/// A shell script for the guest.
#[derive(Clone, Copy)]
pub(super) struct Script {
    pub(super) name: &'static str,
    pub(super) line: &'static str,
}

/// How a guest is to end. Those that are to go wrong test that this is told and cleaned up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It goes through its scripts and switches itself off.
    Off,
    /// Its kernel panics.
    Panics,
    /// It never ends.
    Hangs,
}

/// What must be seen.
#[derive(Clone, Copy)]
pub(super) enum Expect {
    /// Exactly these probes of `run` are skipped; each with what its reason contains. A `*` at the end stands for the
    /// rest of the name.
    Skips(&'static [(&'static str, &'static str)]),
    /// Doctor finds this, and its sentence contains that.
    Doctor(&'static str, Severity, &'static str),
    /// Anything else: the error is a sentence.
    Check(fn(&Seen) -> Result<(), String>),
}
