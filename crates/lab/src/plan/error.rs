//! Why something cannot be planned, and the checks that several plans share.

use std::fmt::Display;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use tollgate_riscv::Isa;

use crate::icache::IcacheError;

/// Why a request cannot be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A number outside its range.
    #[error("{option} {given}: give {unit} from {least} to {most}")]
    Range {
        /// The option.
        option: &'static str,
        /// Its value.
        given: u64,
        /// What the value is: a number, KiB.
        unit: &'static str,
        /// The smallest value that works.
        least: u64,
        /// The largest value that works.
        most: u64,
    },
    /// A value that does not work.
    #[error("{option} {given}: {why}")]
    Value {
        /// The option.
        option: &'static str,
        /// Its value.
        given: String,
        /// What is wrong, and what works.
        why: String,
    },
    /// A value whose explanation repeats it.
    #[error("{option}: {why}")]
    Option {
        /// The option.
        option: &'static str,
        /// What is wrong, and what works.
        why: String,
    },
    /// A file that cannot be read or run.
    #[error("{}: {why}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Options that do not work together.
    #[error("{0}")]
    Conflict(String),
    /// A program that cannot be built.
    #[error("{0}")]
    Build(#[from] IcacheError),
}

impl PlanError {
    /// A value that does not work.
    pub(super) fn value(option: &'static str, given: impl Display, why: impl Display) -> Self {
        Self::Value { option, given: given.to_string(), why: why.to_string() }
    }

    /// A value whose explanation repeats it.
    pub(super) fn option(option: &'static str, why: impl Display) -> Self {
        Self::Option { option, why: why.to_string() }
    }

    /// A file that cannot be read or run.
    pub(super) fn file(path: &Path, why: impl Display) -> Self {
        Self::File { path: path.to_owned(), why: why.to_string() }
    }
}

/// Checks that a number is in its range.
pub(super) fn within(
    option: &'static str,
    given: u64,
    unit: &'static str,
    range: RangeInclusive<u64>,
) -> Result<(), PlanError> {
    if range.contains(&given) {
        return Ok(());
    }
    Err(PlanError::Range { option, given, unit, least: *range.start(), most: *range.end() })
}

/// Checks that a program may execute at least one instruction.
pub(super) fn check_budget(max_instructions: u64) -> Result<(), PlanError> {
    match max_instructions {
        0 => Err(PlanError::value("--max-instructions", 0, "give at least 1")),
        _ => Ok(()),
    }
}

/// The ISA that `--isa` names.
pub(super) fn isa(text: &str) -> Result<Isa, PlanError> {
    text.parse().map_err(|error| PlanError::option("--isa", error))
}

/// The bytes of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, PlanError> {
    fs::read(path).map_err(|error| PlanError::file(path, error))
}
