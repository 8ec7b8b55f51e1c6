//! The boundaries of this host: one file per mechanism, one static list.

#[macro_use]
mod unrolled;

mod call;
pub mod crossing;
pub mod fault;
mod fiber;
mod interpose;
mod map;
mod mechanism;
mod memory_file;
mod null;
mod other_core;
mod process;
pub mod ring;
mod select;
mod servant;
mod signal;
mod spawn;
mod syscall;
pub mod task;
#[cfg(test)]
mod testing;
mod thread;
mod vdso;
mod vm;
mod wake;

pub use crossing::CROSSINGS;
pub use fault::FAULT_KINDS;
pub use select::{UnknownProbe, select, select_among};

use tollgate_measure::Probe;

/// Every probe: those of the ladder, then the families that are measured when they are named.
pub static PROBES: &[&dyn Probe] = &joined::<{ LADDER.len() + wake::ROWS.len() + interpose::ROWS.len() }>(&[
    LADDER,
    wake::ROWS,
    interpose::ROWS,
]);

/// The probes that are measured when none is named, in the order of the ladder's families.
pub const LADDER: &[&dyn Probe] = &[
    &null::NULL,
    &call::DIRECT,
    &call::INDIRECT,
    &call::DYNAMIC,
    &vdso::CLOCK_GETTIME,
    &fiber::OWN,
    &fiber::OWN_FP,
    &fiber::COROSENSEI,
    &syscall::INVALID,
    &syscall::GETPPID,
    &syscall::READ,
    &syscall::CLOCK_GETTIME,
    &syscall::IO_URING_NOP,
    &syscall::INT80,
    &crossing::BY_ARGUMENT,
    &fault::ANONYMOUS,
    &fault::PROTECTION,
    &signal::OWN,
    &signal::THREAD,
    &thread::ROTATION,
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
    &other_core::SPIN,
    &other_core::CAS,
    &other_core::FUTEX,
    &other_core::PIPE,
    &spawn::THREAD,
    &spawn::FORK,
    &spawn::POSIX_SPAWN,
    &vm::CPUID,
];

/// One list of several, of `N` probes together.
const fn joined<const N: usize>(lists: &[&[&'static dyn Probe]]) -> [&'static dyn Probe; N] {
    let mut all = [LADDER[0]; N];
    let (mut list, mut at) = (0, 0);
    while list < lists.len() {
        let mut place = 0;
        while place < lists[list].len() {
            all[at] = lists[list][place];
            (place, at) = (place + 1, at + 1);
        }
        list += 1;
    }
    assert!(at == N);
    all
}
