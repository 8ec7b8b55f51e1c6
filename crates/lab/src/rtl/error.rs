//! Why nothing was compared.

use std::io;

use tollgate_cores::CoreError;
use tollgate_riscv::{ConfigError, LoadError, MemoryError};

use super::golden::GoldenError;
use crate::error::LabError;

/// Why nothing was compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RtlError {
    /// A damaged image.
    #[error("the image cannot be read: {0}")]
    Image(#[from] LoadError),
    /// An image without a symbol that it must have.
    #[error("the image has no symbol {0}")]
    Symbol(String),
    /// A damaged image of this comparison.
    #[error("the image cannot be inflated: {0}")]
    Deflated(io::Error),
    /// A damaged image of the lab.
    #[error("{0}")]
    Lab(#[from] LabError),
    /// No machine of that kind.
    #[error("{0}")]
    Machine(#[from] ConfigError),
    /// A program that does not fit.
    #[error("the program does not fit: {0}")]
    Memory(#[from] MemoryError),
    /// An invalid core.
    #[error("{0}")]
    Core(#[from] CoreError),
    /// A damaged file.
    #[error("{0}")]
    Golden(#[from] GoldenError),
    /// No core of that name.
    #[error("no RTL of '{0}' was run (there are: {1})")]
    Subject(String, String),
    /// The model and the RTL do not execute the same: what differs.
    #[error("{0}")]
    Differs(String),
}
