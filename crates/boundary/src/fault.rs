//! Page faults: touches of memory that the processor cannot complete by itself.

#[cfg(target_arch = "aarch64")]
mod aarch64;
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
mod map;
mod matched;
mod parts;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod plan;
mod populate;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod protected_page;
mod protection;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod protection_parts;
#[cfg(target_arch = "riscv64")]
mod riscv64;
mod scratch;
mod user;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as machine;
#[cfg(target_arch = "riscv64")]
use riscv64 as machine;
#[cfg(target_arch = "x86_64")]
use x86_64 as machine;

pub use bill::{arrange, move_reported};

pub(crate) use parts::{
    ANONYMOUS_PARTS, ANONYMOUS_TRACEPOINT, CACHED_FILE, CACHED_FILE_TRACEPOINT, ZERO_PAGE_PARTS,
    ZERO_PAGE_TRACEPOINT,
};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
pub(crate) use protection_parts::{PROTECTION_PARTS, PROTECTION_TRACEPOINT};
pub(crate) use {anonymous::Anonymous, protection::Protection};

use tollgate_measure::Probe;

/// Every kind of fault, in the order of their page. The ladder has `anonymous` and `protection` only: with all of them
/// it would take longer than a minute. The first is measured with its parts, for its bill.
pub static FAULT_KINDS: &[&dyn Probe] = &[
    &ANONYMOUS_PARTS,
    &anonymous::ZeroPage,
    &anonymous::AfterZeroPage,
    &copy_on_write::Shared,
    &copy_on_write::Alone,
    &first_write::SharedMemory,
    &cached::OnePage,
    &cached::Around,
    &cached::LargeFolio,
    &first_write::PrivateFile,
    &first_write::SharedFile,
    &huge::Transparent,
    &huge::Hugetlb,
    &populate::MapPopulate,
    &populate::PopulateWrite,
    &populate::PopulateRead,
    &Protection,
    &user::SameCpu,
    &user::OtherCpu,
    &major::Major,
    &major::DirectRead,
];
