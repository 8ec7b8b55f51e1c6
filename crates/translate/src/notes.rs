//! The entries of a run of instructions in the log of an observer.

use cranelift_codegen::ir::Value;
use tollgate_riscv::tier::Run;
use tollgate_riscv::{Pass, Touch};

/// The size of an entry of each part of the log.
pub(crate) const ENTRY: i64 = size_of::<Pass>() as i64;
const _: () = assert!(size_of::<Touch>() == size_of::<Pass>() && size_of::<[u64; 2]>() == size_of::<Pass>());

/// How a run is left.
pub(crate) enum Left {
    /// For the next instruction, or at one that did not retire.
    On,
    /// By a branch that was taken.
    Taken,
    /// By an indirect jump to an address, behind which the next instruction has another.
    Jumped(Value, u64),
}

/// The entries of the current run.
#[derive(Clone, Copy, Default)]
pub(crate) struct Notes {
    /// The place of its first instruction.
    pub(crate) place: u16,
    pub(crate) accesses: Entries,
    pub(crate) operands: Entries,
}

/// Entries of a part of the log: where the first one is, and how many there are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Entries {
    pub(crate) first: Option<Value>,
    pub(crate) count: i64,
}

impl Notes {
    /// Nothing.
    pub(crate) fn new(run: &Run) -> Self {
        Notes { place: run.place, ..Notes::default() }
    }
}
