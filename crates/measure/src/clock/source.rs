//! The clocks that a run can be timed with: the processor's counter, and the system's clock, which is coarser and slower
//! and right everywhere.

use super::{Clock, Now};
use crate::arch;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{Ordering, compiler_fence};

/// The clocks that a run can be timed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The processor's counter of constant rate: the time-stamp counter of x86-64, the virtual counter of AArch64, the
    /// time register of RISC-V.
    Counter,
    /// CLOCK_MONOTONIC_RAW, read through the vDSO: works on any Linux.
    Os,
}

impl Source {
    /// The best clock of this machine: the counter when there is one and the processor does not say
    /// that its rate varies, else the system's.
    pub fn best() -> Self {
        if arch::HAS_COUNTER && arch::invariant() != Some(false) { Self::Counter } else { Self::Os }
    }

    /// As the record names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => arch::COUNTER,
            Self::Os => "os",
        }
    }
}

/// The processor's counter of constant rate, fenced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter;

impl Clock for Counter {
    #[inline(always)]
    fn now(&self) -> u64 {
        arch::counter()
    }

    fn stamper(&self) -> Option<Now> {
        Some(arch::counter)
    }
}

/// CLOCK_MONOTONIC_RAW in nanoseconds: not slewed by time synchronization.
pub fn monotonic_raw_ns() -> u64 {
    ns(libc::CLOCK_MONOTONIC_RAW)
}

/// CLOCK_MONOTONIC, which BPF programs stamp with, in nanoseconds. Time synchronization adjusts its rate.
pub fn monotonic_ns() -> u64 {
    ns(libc::CLOCK_MONOTONIC)
}

/// CLOCK_THREAD_CPUTIME_ID in nanoseconds: the time that this thread was on a CPU. Reading it enters the kernel.
pub fn thread_cpu_ns() -> u64 {
    ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[inline(always)]
fn ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; both clocks exist since Linux 2.6.28.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CLOCK_MONOTONIC_RAW: one tick is one nanosecond.
#[derive(Clone, Copy, Debug, Default)]
pub struct Os;

impl Clock for Os {
    #[inline(always)]
    fn now(&self) -> u64 {
        compiler_fence(Ordering::SeqCst);
        let now = monotonic_raw_ns();
        compiler_fence(Ordering::SeqCst);
        now
    }

    fn stamper(&self) -> Option<Now> {
        Some(monotonic_raw_ns)
    }
}
