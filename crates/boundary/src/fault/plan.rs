//! What a touch of a protected page, its handler and its probe share.

use tollgate_measure::clock::Now;

/// What the handler does for one open probe.
pub(crate) struct Plan {
    /// The protected page.
    pub(crate) bad: *mut u8,
    /// The page to which the handler redirects the write.
    pub(crate) good: *mut u8,
    /// How often the handler did that.
    pub(crate) runs: u64,
    /// The clock that the handler reads when it begins, if any.
    pub(crate) now: Option<Now>,
    /// What the handler read.
    pub(crate) entered: u64,
}
