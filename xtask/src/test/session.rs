//! What the steps share.

use super::tally::Tally;
use std::path::PathBuf;
use tollgate_testkit::Skip;

/// The state of one `cargo xtask test`.
pub(super) struct Session {
    pub(super) root: PathBuf,
    pub(super) fast: bool,
    pub(super) tally: Tally,
    pub(super) skips: Vec<Skip>,
}
