//! A bound on how long a guest may run: a second thread interrupts `KVM_RUN` with a signal.

use crate::RunError;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use std::{io, ptr, thread};

/// How often the interruption is repeated: a signal that comes just before `KVM_RUN` is lost.
const AGAIN: Duration = Duration::from_millis(2);

/// A real-time signal that neither Rust nor libc uses.
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 5
}

extern "C" fn ignore(_: libc::c_int) {}

/// Calls `run` on this thread. After `patience` it sets the flag that it passed to `run`, and interrupts the system call
/// that `run` is in with EINTR. The process keeps an empty handler for the signal.
pub(crate) fn bounded<T>(patience: Duration, run: impl FnOnce(&AtomicBool) -> T) -> Result<T, RunError> {
    prepare().map_err(RunError::host("prepare the signal that bounds the guest's time"))?;
    let late = AtomicBool::new(false);
    // SAFETY: it has no arguments and cannot fail.
    let runner = unsafe { libc::pthread_self() };
    let (ended, end) = channel::<()>();
    Ok(thread::scope(|scope| {
        scope.spawn(|| {
            let end = end;
            let mut wait = patience;
            while end.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                late.store(true, Ordering::Relaxed);
                // SAFETY: the thread `runner` waits in this scope for the present one to end, so it exists; the signal has a handler.
                unsafe { libc::pthread_kill(runner, signal()) };
                wait = AGAIN;
            }
        });
        // Dropped also when `run` panics, so that the scope ends.
        let ended = ended;
        let result = run(&late);
        drop(ended);
        result
    }))
}

/// Installs an empty handler without SA_RESTART, and unblocks the signal in this thread.
fn prepare() -> io::Result<()> {
    // SAFETY: all zeroes is a valid sigaction: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = ignore as *const () as usize;
    // SAFETY: `action` is complete, and its handler touches nothing.
    if unsafe { libc::sigaction(signal(), &action, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `set` is initialized by sigemptyset before it is read.
    let error = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal());
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut())
    };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}
