//! System calls that a sandbox may refuse, found out by trying.

use super::child::{Attempt, answer, errno, in_child};
use super::pmu::software_event;
use std::{mem, ptr};

/// The results of system calls that were tried; those that could not be tried are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// `perf_event_open` of a software event in user mode.
    pub perf: Option<Attempt>,
    /// `io_uring_setup`.
    pub io_uring: Option<Attempt>,
    /// `userfaultfd` for faults of user mode.
    pub userfaultfd: Option<Attempt>,
    /// `sched_setaffinity` of the set that is in force already.
    pub affinity: Option<Attempt>,
}

/// Tries them all. Nothing is left open and nothing is changed.
#[must_use]
pub fn attempts() -> Attempts {
    Attempts {
        perf: in_child(software_event),
        io_uring: in_child(io_uring),
        userfaultfd: in_child(userfaultfd),
        affinity: in_child(affinity),
    }
}

fn io_uring() -> u8 {
    // struct io_uring_params: 120 bytes without any option.
    let mut parameters = [0_u64; 15];
    // SAFETY: the parameters are valid for the call to read and fill.
    answer(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) })
}

fn userfaultfd() -> u8 {
    /// UFFD_USER_MODE_ONLY: allowed without privilege.
    const USER_MODE_ONLY: libc::c_int = 1;
    // SAFETY: takes flags only.
    answer(unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | USER_MODE_ONLY) })
}

fn affinity() -> u8 {
    // SAFETY: an all-zero cpu_set_t is the empty set, and the set is valid for the size passed to both.
    answer(unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        if libc::sched_getaffinity(0, mem::size_of_val(&set), &mut set) != 0 {
            return errno();
        }
        libc::sched_setaffinity(0, mem::size_of_val(&set), &set).into()
    })
}

/// Whether a seccomp filter is in force, from the kernel itself if /proc does not show it.
pub(super) fn seccomp() -> Option<bool> {
    // SAFETY: an option without arguments.
    let mode = unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, ptr::null::<u8>()) };
    (mode >= 0).then_some(mode > 0)
}
