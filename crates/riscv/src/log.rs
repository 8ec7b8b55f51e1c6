//! The log of retired instructions that were not reported to an observer of blocks yet. The engine and translations write
//! it.

use crate::observer::{Pass, Touch};

/// Runs of instructions, and accesses, that are recorded before they are reported to an observer of blocks: each report costs as much
/// as some ten runs. What is recorded of so many instructions fits in a processor's first-level cache beside what the guest needs.
pub const LOG: usize = 1024;

/// The most instructions that one pass through a block can retire.
pub(crate) const LONGEST_BLOCK: u64 = 96;

/// At most this many instructions are recorded until the next jump.
pub const ROOM: u64 = LOG as u64 - LONGEST_BLOCK;

/// Runs of instructions, their accesses and operands: the parts of a [`Several`](crate::Several).
#[derive(Debug)]
pub struct Log<'a> {
    /// The runs, in order.
    pub passes: &'a mut [Pass; LOG],
    /// All their accesses, in order.
    pub accesses: &'a mut [Touch; LOG],
    /// The operands of all that an observer wants to know them of, in order.
    pub operands: &'a mut [[u64; 2]; LOG],
    /// How many runs there are.
    pub noted: usize,
    /// How many accesses.
    pub accessed: usize,
    /// How many pairs of operands.
    pub operated: usize,
}
