//! What is crossed on this host: one file per mechanism, one static list.

#[macro_use]
mod unrolled;

mod call;
mod fault;
mod fiber;
mod null;
mod region;
mod select;
mod syscall;
#[cfg(test)]
mod testing;
mod vdso;
mod vm;

pub use select::{UnknownProbe, select};

use tollgate_measure::Probe;

/// Every probe, in the order of the ladder's families.
pub static PROBES: &[&dyn Probe] = &[
    &null::Null,
    &call::Direct,
    &call::Indirect,
    &call::Dynamic,
    &vdso::ClockGettime,
    &fiber::Own,
    &fiber::OwnFp,
    &fiber::Corosensei,
    &syscall::Invalid,
    &syscall::Getppid,
    &syscall::Read,
    &syscall::ClockGettime,
    &syscall::IoUringNop,
    &fault::Anonymous,
    &fault::Protection,
    &vm::Cpuid,
];
