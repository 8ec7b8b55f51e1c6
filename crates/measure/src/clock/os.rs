//! The system's clock: coarser and slower than a counter, and right everywhere.

use super::{Clock, Now};
use std::sync::atomic::{Ordering, compiler_fence};

/// CLOCK_MONOTONIC_RAW in nanoseconds: not slewed by time synchronization.
pub fn monotonic_raw_ns() -> u64 {
    ns(libc::CLOCK_MONOTONIC_RAW)
}

/// CLOCK_MONOTONIC, which BPF programs stamp with, in nanoseconds. Time synchronization adjusts its rate.
pub fn monotonic_ns() -> u64 {
    ns(libc::CLOCK_MONOTONIC)
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
