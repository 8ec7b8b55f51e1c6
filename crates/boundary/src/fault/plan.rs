//! What a touch of a protected page, its handler and its probe share.

use tollgate_measure::clock::Now;

/// What the handler does for one open probe.
pub(crate) struct Plan {
    /// The page that may not be touched.
    pub(crate) bad: *mut u8,
    /// Where the handler leads the write to.
    pub(crate) good: *mut u8,
    /// How often it did so.
    pub(crate) runs: u64,
    /// Reads a clock when the handler begins, where somebody wants to know when that was.
    pub(crate) now: Option<Now>,
    /// What it read.
    pub(crate) entered: u64,
}
