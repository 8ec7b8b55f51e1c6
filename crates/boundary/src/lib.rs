//! What is crossed on this host: one file per mechanism, one static list.

#[macro_use]
mod unrolled;

mod null;
mod other_core;
mod process;
mod signal;
mod spawn;
pub mod task;
mod thread;

use tollgate_measure::Probe;

/// Every probe, in the order of the ladder's families.
pub static PROBES: &[&dyn Probe] = &[
    &null::Null,
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
];
