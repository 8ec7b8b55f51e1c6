//! Notices that a peer process died, at no cost on the timed path.
//!
//! The exit signal of peers is SIGURG: the handler of SIGCHLD would also run for every child of the `spawn` probes.
//! SIGURG is ignored by default, so one that arrives after its handler is gone does no harm. The handler interrupts the
//! sleep of the measuring thread, and increments a count in case the thread was about to sleep.

use super::signals::Handler;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use tollgate_measure::Refusal;

/// The signal that a dying peer sends to its parent.
pub(crate) const SIGNAL: i32 = libc::SIGURG;

/// The thread whose sleep must end.
static WATCHER: AtomicI32 = AtomicI32::new(0);
/// How often the handler ran.
static NOTICED: AtomicU32 = AtomicU32::new(0);

/// While this exists, the death of a peer interrupts the thread that made it.
pub(crate) struct Watch {
    _death: Handler,
    /// Writing to a pipe whose reader died must be an error and not end this process, whatever the disposition of
    /// SIGPIPE was.
    _broken_pipe: Handler,
}

impl Watch {
    /// Watches on behalf of the calling thread.
    pub(crate) fn new() -> Result<Self, Refusal> {
        let watch = Self {
            _death: Handler::install(SIGNAL, noticed)?,
            _broken_pipe: Handler::install(libc::SIGPIPE, no_more)?,
        };
        WATCHER.store(own_thread(), Ordering::Relaxed);
        Ok(watch)
    }
}

extern "C" fn no_more(_: libc::c_int) {}

/// Changes when a peer of any ring died.
#[inline]
pub(crate) fn count() -> u32 {
    NOTICED.load(Ordering::Relaxed)
}

/// The calling thread's number.
pub(crate) fn own_thread() -> i32 {
    // SAFETY: no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

extern "C" fn noticed(_: libc::c_int) {
    NOTICED.fetch_add(1, Ordering::Relaxed);
    let watcher = WATCHER.load(Ordering::Relaxed);
    if watcher != own_thread() {
        // The kernel delivered the signal to another thread of this process: forward it, and keep the errno of the
        // interrupted code.
        // SAFETY: errno's address is valid for the thread; the call takes integers only.
        unsafe {
            let errno = libc::__errno_location();
            let before = *errno;
            libc::syscall(libc::SYS_tgkill, libc::getpid(), watcher, SIGNAL);
            *errno = before;
        }
    }
}
