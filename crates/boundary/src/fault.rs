//! Touches of memory that the processor cannot complete by itself.

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
mod populate;
pub(crate) mod protection;
#[cfg(target_arch = "riscv64")]
mod riscv64;
mod scratch;
mod user;
#[cfg(target_arch = "x86_64")]
mod x86_64;
mod zero_page;

#[cfg(target_arch = "aarch64")]
use aarch64 as machine;
#[cfg(target_arch = "riscv64")]
use riscv64 as machine;
#[cfg(target_arch = "x86_64")]
use x86_64 as machine;

pub(crate) use anonymous::{Anonymous, minor_faults};
pub use bill::arrange;
pub(crate) use protection::Protection;

use crate::crossing;
use tollgate_measure::Probe;

/// Every kind of fault, in the order of their page. The ladder has `anonymous` and `protection` only: with
/// all of them it would take longer than a minute. The first is the one that is taken apart, for its bill.
pub static FAULT_KINDS: &[&dyn Probe] = &[
    &crossing::ANONYMOUS,
    &zero_page::ZeroPage,
    &zero_page::AfterZeroPage,
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
    &protection::Protection,
    &user::SameCpu,
    &user::OtherCpu,
    &major::Major,
    &major::DirectRead,
];
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
pub(crate) use machine::touch;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
pub(crate) use protection::open::Open as OpenProtection;
