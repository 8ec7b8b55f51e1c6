//! Page faults: touches of memory that the processor cannot complete by itself.

mod anonymous;
mod bill;
mod cached;
mod copy_on_write;
mod first_write;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod handler;
mod huge;
mod kind;
mod major;
mod matched;
mod parts;
mod populate;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod protected_page;
mod protection;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod protection_parts;
mod scratch;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod touch;
mod user;

pub use bill::{arrange_sampled, move_reported};

pub(crate) use parts::{
    ANONYMOUS_PARTS, ANONYMOUS_TRACEPOINT, CACHED_FILE, CACHED_FILE_TRACEPOINT, ZERO_PAGE_PARTS,
    ZERO_PAGE_TRACEPOINT,
};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
pub(crate) use protection_parts::{PROTECTION_PARTS, PROTECTION_TRACEPOINT};
pub(crate) use user::{OTHER_CPU as USER_OTHER_CPU, SAME_CPU as USER_SAME_CPU};
pub(crate) use {anonymous::ANONYMOUS, protection::PROTECTION};

use tollgate_measure::Probe;

/// Every kind of fault, in the order of their page. The ladder has `anonymous` and `protection` only: with all of them
/// it would take longer than a minute. The first is measured with its parts, for its bill.
pub static FAULT_KINDS: &[&dyn Probe] = &[
    &ANONYMOUS_PARTS,
    &anonymous::ZERO_PAGE,
    &anonymous::AFTER_ZERO_PAGE,
    &copy_on_write::SHARED,
    &copy_on_write::ALONE,
    &first_write::SHARED_MEMORY,
    &cached::ONE_PAGE,
    &cached::AROUND,
    &cached::LARGE_FOLIO,
    &first_write::PRIVATE_FILE,
    &first_write::SHARED_FILE,
    &huge::TRANSPARENT,
    &huge::HUGETLB,
    &populate::MAP_POPULATE,
    &populate::POPULATE_WRITE,
    &populate::POPULATE_READ,
    &PROTECTION,
    &user::SAME_CPU,
    &user::OTHER_CPU,
    &major::MAJOR,
    &major::DIRECT_READ,
];
