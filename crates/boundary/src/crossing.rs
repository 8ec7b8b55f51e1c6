//! The user/kernel crossing and its parts: the list of `tollgate crossing`.
//!
//! Each row has an uninstrumented total, from batches, and most have parts from single crossings with stamps at their
//! cuts. Rows whose caches or TLB are made cold before each crossing have stamped totals only.

mod bill;
mod clock;
pub(crate) mod filtered;
mod signal;
mod state;

pub use bill::add_guest;
pub(crate) use filtered::{BY_ARGUMENT, BY_NUMBER};

use crate::{fault, syscall, vdso};
use tollgate_measure::Probe;

/// Every row, in the order of the table.
pub static CROSSINGS: &[&dyn Probe] = &[
    &vdso::CLOCK_GETTIME,
    &syscall::INVALID,
    &syscall::GETPPID,
    &BY_NUMBER,
    &BY_ARGUMENT,
    &syscall::INT80,
    &clock::SPLIT,
    &state::INVALID_TLB,
    &state::GETPPID_TLB,
    &state::INT80_TLB,
    &state::CLOCK_TLB,
    &state::INVALID_SWEPT,
    &state::GETPPID_SWEPT,
    &state::INT80_SWEPT,
    &state::CLOCK_SWEPT,
    &fault::ANONYMOUS_PARTS,
    &fault::ZERO_PAGE_PARTS,
    &fault::CACHED_FILE,
    &fault::ANONYMOUS_TRACEPOINT,
    &fault::ZERO_PAGE_TRACEPOINT,
    &fault::CACHED_FILE_TRACEPOINT,
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
    &fault::PROTECTION_PARTS,
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
    &fault::PROTECTION_TRACEPOINT,
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
    &fault::PROTECTION,
    &signal::SPLIT,
];
