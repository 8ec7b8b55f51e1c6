//! Why a program and its caches could not be measured.

use tollgate_riscv::cache::CacheError;
use tollgate_riscv::timing::CoreError;
use tollgate_riscv::{ConfigError, Isa, LoadError};

/// Why a program was not measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IcacheError {
    /// No such cache.
    #[error("{0}")]
    Cache(#[from] CacheError),
    /// No core with such a cache.
    #[error("{0}")]
    Core(#[from] CoreError),
    /// The file is not a program for the machine.
    #[error("{name}: {error}")]
    Load {
        /// Which.
        name: String,
        /// Why.
        error: LoadError,
    },
    /// The machine cannot be built.
    #[error("{0}")]
    Machine(#[from] ConfigError),
    /// The program waits for ever.
    #[error("{name}: the program waits for an interrupt that cannot come")]
    Waits {
        /// Which.
        name: String,
    },
    /// Nothing ran.
    #[error("{name}: not one instruction could be executed; is it built for {isa}?")]
    Nothing {
        /// Which.
        name: String,
        /// For what the machine was built.
        isa: Isa,
    },
    /// It stopped in the middle.
    #[error(
        "{name}: after {instructions} instructions the program trapped at {pc:#x} ({cause}) and has no handler"
    )]
    Trapped {
        /// Which.
        name: String,
        /// Where.
        pc: u64,
        /// Why.
        cause: String,
        /// What ran before.
        instructions: u64,
    },
    /// The compiler refused the source.
    #[error("{compiler} refused the source for {isa}:\n{said}")]
    Compile {
        /// Which.
        compiler: String,
        /// For what.
        isa: String,
        /// What it printed.
        said: String,
    },
    /// No compiler.
    #[error(
        "no compiler for RISC-V is on PATH: apt-get install gcc-riscv64-unknown-elf (or clang and lld), or give \
         programs that are built already instead of a source"
    )]
    NoCompiler,
    /// A compiler could not be run, or its folder not be made.
    #[error("cannot compile: {0}")]
    Io(#[from] std::io::Error),
}
