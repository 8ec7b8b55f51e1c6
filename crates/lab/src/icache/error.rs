//! Why a program and its caches could not be measured.

use tollgate_cores::CoreError;
use tollgate_riscv::cache::CacheError;
use tollgate_riscv::{ConfigError, Isa, LoadError};

use crate::program::ProgramError;
use crate::source::SourceError;

/// Why a program was not measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum IcacheError {
    #[error("{0}")]
    Cache(#[from] CacheError),
    #[error("{0}")]
    Core(#[from] CoreError),
    #[error("{name}: {error}")]
    Load { name: String, error: LoadError },
    #[error("{0}")]
    Machine(#[from] ConfigError),
    #[error("{name}: {error}")]
    Program { name: String, error: ProgramError },
    #[error("{name}: on the proxy kernel the program ended with status {status}; its last lines:\n{lines}")]
    Failed { name: String, status: i32, lines: String },
    #[error("{name}: the program waits for an interrupt that cannot come")]
    Waits { name: String },
    #[error("{name}: not one instruction could be executed; is it built for {isa}?")]
    Nothing { name: String, isa: Isa },
    #[error(
        "{name}: after {instructions} instructions the program trapped at {pc:#x} ({cause}) and has no handler{}{hint}",
        if hint.is_empty() { "" } else { "; " }
    )]
    Trapped { name: String, pc: u64, cause: String, instructions: u64, hint: &'static str },
    #[error("{0}")]
    Source(#[from] SourceError),
    #[error("cannot compile: {0}")]
    Io(#[from] std::io::Error),
}
