//! Filters of a sandbox that kill a process for a call which counting needs: a child tries the call, since this process
//! must survive.

use std::ptr;
use tollgate_measure::host::{Attempt, in_child};

/// Whether a filter ends the process that makes this call. Without a filter nothing is tried.
fn ends(call: fn() -> u8) -> bool {
    // SAFETY: an option without arguments.
    let is_filtered = unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) } > 0;
    is_filtered && in_child(call) == Some(Attempt::Killed)
}

/// Whether a filter ends who opens an event.
pub(crate) fn ends_events() -> bool {
    ends(|| {
        // SAFETY: the kernel refuses the missing attributes.
        unsafe { libc::syscall(libc::SYS_perf_event_open, ptr::null::<u8>(), 0, -1, -1, 0) };
        0
    })
}

/// Whether a filter ends who loads a BPF program.
pub(crate) fn ends_bpf() -> bool {
    ends(|| {
        // SAFETY: the kernel refuses the command, which does not exist.
        unsafe { libc::syscall(libc::SYS_bpf, -1, ptr::null::<u8>(), 0) };
        0
    })
}

/// Whether a filter ends who traces another process.
pub(crate) fn ends_tracer() -> bool {
    ends(|| {
        // SAFETY: there is no process with this number.
        unsafe { libc::ptrace(libc::PTRACE_CONT, -1, ptr::null_mut::<u8>(), ptr::null_mut::<u8>()) };
        0
    })
}
