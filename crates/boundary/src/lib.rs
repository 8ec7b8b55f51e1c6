//! What is crossed on this host: one file per mechanism, one static list.

#[macro_use]
mod unrolled;

mod call;
pub mod crossing;
pub mod fault;
mod fiber;
mod null;
mod other_core;
mod process;
mod region;
pub mod ring;
mod select;
mod signal;
mod spawn;
mod syscall;
pub mod task;
#[cfg(test)]
mod testing;
mod thread;
mod vdso;
mod vm;

pub use crossing::CROSSINGS;
pub use fault::FAULT_KINDS;
pub use select::{UnknownProbe, select, select_among};

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
    &syscall::Int80,
    &crossing::BY_ARGUMENT,
    &fault::Anonymous,
    &fault::Protection,
    &signal::Own,
    &signal::THREAD,
    &thread::Rotation,
    &thread::FUTEX,
    &thread::EVENTFD,
    &thread::PIPE,
    &thread::SOCKETPAIR,
    &thread::CONDVAR,
    &process::FUTEX,
    &process::EVENTFD,
    &process::PIPE,
    &process::SOCKETPAIR,
    &process::SIGNAL,
    &other_core::Spin,
    &other_core::FUTEX,
    &other_core::PIPE,
    &spawn::Thread,
    &spawn::Fork,
    &spawn::PosixSpawn,
    &vm::Cpuid,
];
