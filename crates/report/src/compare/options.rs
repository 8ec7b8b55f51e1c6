//! How to compare.

/// How to compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// A change up to this share counts as none: an interval within it either way is `same`. The threshold of
    /// `--fail-above`, where one was given.
    pub margin: f64,
    /// A probe whose whole interval is above this share makes the comparison fail.
    pub fail_above: Option<f64>,
    /// Compare nanoseconds even on one host, so that a change of the core's frequency counts as a change.
    pub by_time: bool,
}

/// The margin when none was given.
pub const MARGIN: f64 = 0.03;

impl Default for Options {
    fn default() -> Self {
        Self { margin: MARGIN, fail_above: None, by_time: false }
    }
}
