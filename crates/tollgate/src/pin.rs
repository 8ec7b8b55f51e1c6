//! Pinning the process that a person started, which must not die of it.

use std::io;
use tollgate_measure::host::{self, Attempt};
use tollgate_measure::placement;

/// Pins the calling thread. A child tries the call first, because a filter may kill its caller.
///
/// # Errors
/// As [`placement::pin`], and a sentence where the call would be the end of this process.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    if host::attempts().affinity == Some(Attempt::Killed) {
        return Err(io::Error::other(format!(
            "pin to cpu {cpu}: a seccomp filter ends the process that calls sched_setaffinity"
        )));
    }
    placement::pin(cpu)
}
