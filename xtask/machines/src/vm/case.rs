//! A machine to try tollgate on.

use super::arch::Arch;
use super::console::Script;
use super::debian::Line;
use super::output::CaseOutput;
use anyhow::Result;
use tollgate_record::Severity;

/// A machine, what runs on it, and what that must print.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What is special about the machine, for the table.
    pub(super) what: &'static str,
    pub(super) arch: &'static Arch,
    pub(super) line: Line,
    /// QEMU's name of the processor, with its features.
    pub(super) cpu: &'static str,
    pub(super) cpus: u32,
    pub(super) memory_mib: u32,
    /// More arguments of QEMU.
    pub(super) machine: &'static [&'static str],
    /// More words of the kernel's command line.
    pub(super) boot: &'static str,
    /// What the guest runs, in this order.
    pub(super) scripts: &'static [Script],
    /// Number of boots, one after the other, which must all print the same.
    pub(super) boots: usize,
    /// Seconds for one boot, if it is not the limit of the command line.
    pub(super) limit: Option<u64>,
    pub(super) ends: Ending,
    /// Exactly these probes of `run` are skipped, each with a reason that contains this. A `*` at the end stands for the
    /// rest of the name.
    pub(super) skips: &'static [(&'static str, &'static str)],
    /// Doctor has these findings, and the sentence of each contains this.
    pub(super) doctor: &'static [(&'static str, Severity, &'static str)],
    /// Anything else: the error is a sentence.
    pub(super) check: fn(&CaseOutput) -> Result<()>,
}

/// How a guest must end. Guests that fail on purpose test that failures are reported and cleaned up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It runs its scripts and powers off.
    Off,
    /// Its kernel panics.
    Panics,
    /// It never ends.
    Hangs,
}
