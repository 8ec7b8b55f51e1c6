//! Why a scan cannot be made.

use std::io;

/// Why a scan cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// An option or the named file is wrong.
    #[error("{0}")]
    Wrong(String),
    /// The options are valid, but this system does not allow what they need.
    #[error("{0}")]
    Refused(String),
    /// A system call failed.
    #[error("cannot {0}: {1}")]
    System(&'static str, io::Error),
}

impl ScanError {
    /// For `map_err` of a system call.
    pub(crate) fn system(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::System(what, error)
    }
}
