//! Touches of memory that the processor cannot complete by itself.

mod anonymous;
#[cfg(target_arch = "x86_64")]
mod handler;
mod protection;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub(crate) use anonymous::{Anonymous, minor_faults};
pub(crate) use protection::Protection;
#[cfg(target_arch = "x86_64")]
pub(crate) use protection::open::Open as OpenProtection;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::touch;
