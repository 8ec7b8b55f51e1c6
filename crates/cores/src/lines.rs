//! The cache lines of a block.

/// No line has this number.
pub(super) const NO_LINE: u64 = u64::MAX;

/// The cache lines of a block of instructions.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// In the order of fetching.
    pub(super) all: Vec<u64>,
    /// Those beyond the block that must be there, too: the front end may come to them while an access of it is under way.
    pub(super) ahead: Vec<u64>,
    pub(super) last: u64,
    /// An address in their page.
    pub(super) page: u64,
    /// At which [`Memory::fills`](super::memory::Memory::fills) they were seen to be there.
    pub(super) verified: u64,
    /// At which [`Cache::changes`](tollgate_riscv::cache::Cache::changes) to touch all of them changed nothing.
    pub(super) settled: u64,
}

impl Lines {
    pub(super) const UNSETTLED: u64 = u64::MAX;

    /// In the order of fetching; all are in the page of this virtual address.
    pub(super) fn new(all: Vec<u64>, page: u64) -> Self {
        let last = all.last().copied().unwrap_or(NO_LINE);
        Lines { all, ahead: Vec::new(), last, page, verified: u64::MAX, settled: Self::UNSETTLED }
    }

    /// The same with lines that the front end may miss while an access is under way.
    pub(super) fn with_ahead(mut self, lines: impl Iterator<Item = u64>) -> Self {
        self.ahead = lines.filter(|line| !self.all.contains(line)).collect();
        self.ahead.dedup();
        self
    }
}
