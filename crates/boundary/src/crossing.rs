//! The user/kernel crossing taken apart: the list of `tollgate crossing`.
//!
//! Each row has a total that nothing recorded, by batches, and most have parts from single crossings with
//! stamps at their cuts. Rows whose caches or TLB are spoilt before each crossing have stamped totals only.

mod bill;
mod clock;
mod fault;
mod filtered;
mod matched;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod segv;
mod signal;
mod state;

pub use bill::{add_guest, failed};
pub(crate) use fault::ANONYMOUS;
pub(crate) use filtered::{BY_ARGUMENT, BY_NUMBER};

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
use crate::fault::Protection;
use crate::{syscall, vdso};
use tollgate_measure::Probe;

/// Every row, in the order of the table.
pub static CROSSINGS: &[&dyn Probe] = &[
    &vdso::ClockGettime,
    &syscall::Invalid,
    &syscall::Getppid,
    &BY_NUMBER,
    &BY_ARGUMENT,
    &syscall::Int80,
    &clock::Split,
    &state::INVALID_TLB,
    &state::GETPPID_TLB,
    &state::INT80_TLB,
    &state::CLOCK_TLB,
    &state::INVALID_SWEPT,
    &state::GETPPID_SWEPT,
    &state::INT80_SWEPT,
    &state::CLOCK_SWEPT,
    &fault::ANONYMOUS,
    &fault::ZERO_PAGE,
    &fault::CACHED_FILE,
    &fault::ANONYMOUS_TRACEPOINT,
    &fault::ZERO_PAGE_TRACEPOINT,
    &fault::CACHED_FILE_TRACEPOINT,
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
    &segv::SEGV,
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
    &segv::SEGV_TRACEPOINT,
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
    &Protection,
    &signal::Split,
];
