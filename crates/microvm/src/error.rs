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
        /// What would change that.
        enable: String,
    },
    /// It ran and ended otherwise than by its own announcement.
    #[error("the guest {0}")]
    Ended(String),
    /// It did not end, and was stopped.
    #[error("the guest did not end within {milliseconds} ms and was stopped")]
    Hung {
        /// How long it had.
        milliseconds: u128,
    },
    /// It announced its end and left something else than a table.
    #[error("the guest's table is unusable: {0}")]
    Table(#[from] TableError),
    /// This process could not do its part.
    #[error("cannot {what}: {error}")]
    Host {
        /// What it was about to do.
        what: &'static str,
        /// What the system said.
        error: std::io::Error,
    },
}

impl RunError {
    pub(crate) fn not_here(reason: impl Into<String>, enable: impl Into<String>) -> Self {
        Self::NotHere { reason: reason.into(), enable: enable.into() }
    }

    /// For `map_err` of what this process does.
    pub(crate) fn host(what: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |error| Self::Host { what, error }
    }
}
