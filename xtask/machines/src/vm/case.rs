//! A machine to try tollgate on.

use super::arch::Arch;
use super::console::Script;
use super::debian::Line;
use super::expect::Expect;

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
    pub(super) expects: &'static [Expect],
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
