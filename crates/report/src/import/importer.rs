//! What an importer is: its name, its reader and what reading gives.

use std::collections::BTreeMap;
use tollgate_record::{Host, Measurement};

/// What the user says where the file is silent: `loops` to `1000000`.
pub type Told = BTreeMap<String, String>;

/// Another tool whose results can be read.
pub struct Importer {
    /// What it is called on the command line, and in the engine of each row (`imported-lmbench`).
    pub name: &'static str,
    /// What it reads.
    pub what: &'static str,
    /// Whether a text looks like this.
    pub(super) detect: fn(&str) -> bool,
    /// An error says what does not hold to the format, and where.
    pub(super) read: fn(&str, &Told) -> Result<Imported, String>,
}

/// What a file held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// One for each figure.
    pub results: Vec<Measurement>,
    /// What the file tells of its host; everything else is absent.
    pub host: Host,
    /// Results of the file that have no place here (bandwidths, arithmetic), by the tool's own names.
    pub ignored: Vec<String>,
}

/// Why a file gives no run. Each reads as a clause after the file's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Nothing in it.
    #[error("it is empty")]
    Empty,
    /// Not UTF-8.
    #[error("it is not text: invalid UTF-8 at byte {0}")]
    NotText(usize),
    /// No importer knows it.
    #[error("its format is not known; the formats that can be read are {0}; name one with --format")]
    Unknown(String),
    /// Of a known format, but without a result that can be used.
    #[error("it holds no result of {0}: no line is a latency that tollgate imports")]
    Nothing(&'static str),
    /// A place that does not hold to the format, and what is wrong with it.
    #[error("it does not hold to the format {0}: {1}")]
    Wrong(&'static str, String),
}
