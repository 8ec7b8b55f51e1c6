//! Why there is no table.

use crate::TableError;

/// Why a guest gave no table.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It cannot run here.
    #[error("{reason}")]
    NotHere {
        /// Why, one clause.
        reason: String,
        /// The remedy.
        enable: String,
    },
    /// It ended without announcing its end.
    #[error("the guest {0}")]
    Ended(String),
    /// It did not end within this many milliseconds, and was stopped.
    #[error("the guest did not end within {0} ms and was stopped")]
    Hung(u128),
    /// It announced its end and left an invalid table.
    #[error("the guest's table is unusable: {0}")]
    Table(#[from] TableError),
    /// This process failed.
    #[error("cannot {what}: {error}")]
    Host {
        /// The failed action.
        what: &'static str,
        /// The system's error.
        error: std::io::Error,
    },
}

impl RunError {
    pub(crate) fn not_here(reason: impl Into<String>, enable: impl Into<String>) -> Self {
        Self::NotHere { reason: reason.into(), enable: enable.into() }
    }

    /// For `map_err` after a call of this process.
    pub(crate) fn host(what: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |error| Self::Host { what, error }
    }
}
