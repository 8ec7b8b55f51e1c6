//! Runs of one report, in a steady state.

use super::memory::Waits;
use tollgate_riscv::boxed;
use tollgate_riscv::tier::LOG;

/// Scratch space.
pub(super) struct Steady {
    pub(super) repeats: Box<[Repeated; LOG]>,
    /// Accesses that wait: of which run, and which of its instructions.
    pub(super) waits: Vec<(usize, u8, Waits)>,
}

/// Runs of one block, one after the other, that are predicted alike.
#[derive(Clone, Copy, Default)]
pub(super) struct Repeated {
    pub(super) predictions: u64,
    pub(super) block: u32,
    /// How many accesses each has.
    pub(super) accesses: u32,
    pub(super) times: usize,
}

impl Steady {
    pub(super) fn new() -> Self {
        Steady { repeats: boxed(Repeated::default()), waits: Vec::new() }
    }
}
