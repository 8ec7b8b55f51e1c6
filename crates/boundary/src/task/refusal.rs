//! The meaning of a failed system call for a probe: a limit or a sandbox is a skip with its remedy, anything else is a
//! failure.

use std::io;
use tollgate_measure::Refusal;

/// The refusal for `error`, which the call named `what` returned.
pub(crate) fn refusal(what: &str, error: &io::Error) -> Refusal {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES | libc::ENOSYS) => Refusal::skip(
            format!("{what} is refused here: {error}"),
            "run outside the sandbox (a seccomp filter or security module) that refuses the call",
        ),
        _ => Refusal::of(what, error),
    }
}

/// The refusal for `error`, which an attempt to create a thread or a process returned.
pub(crate) fn task_refusal(what: &str, error: &io::Error) -> Refusal {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => Refusal::skip(
            format!("{what}: no further task may be created (RLIMIT_NPROC, or the pids limit of the cgroup)"),
            "raise the limit on processes with `ulimit -u`, or the cgroup's pids.max",
        ),
        _ => refusal(what, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enable(refusal: Refusal) -> Option<String> {
        match refusal {
            Refusal::Skip { enable, .. } => Some(enable),
            Refusal::Failed(_) => None,
        }
    }

    #[test]
    fn limits_and_sandboxes_are_skips_that_name_the_remedy() {
        let os = io::Error::from_raw_os_error;
        assert!(enable(refusal("pipe2", &os(libc::EMFILE))).unwrap().contains("ulimit -n"));
        assert!(enable(task_refusal("fork", &os(libc::EAGAIN))).unwrap().contains("ulimit -u"));
        assert!(enable(task_refusal("fork", &os(libc::EPERM))).unwrap().contains("seccomp"));
        assert_eq!(enable(refusal("pipe2", &os(libc::EIO))), None);
        // Only task creation means a limit by EAGAIN.
        assert_eq!(enable(refusal("read", &os(libc::EAGAIN))), None);
    }
}
