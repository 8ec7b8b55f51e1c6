//! Helpers of the unit tests.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Serializes tests that would disturb each other in one process: those that fork (after which every first write of any
/// thread is a fault), that count faults, or that change a signal's disposition.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `act`, which may make only async-signal-safe calls, in a child and returns the child's wait status.
/// A child that returns from `act` exits with 0.
pub(crate) fn ends_in_child(act: impl FnOnce()) -> i32 {
    let mut status = 0;
    // SAFETY: the child calls only `act`, which keeps to async-signal-safe calls, and _exit; the parent
    // waits for it with a valid place for the status. A child that crashes leaves no core file.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0, "fork: {}", std::io::Error::last_os_error());
        if child == 0 {
            libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
            act();
            libc::_exit(0);
        }
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
    }
    status
}
