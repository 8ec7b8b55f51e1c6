//! Which signals are blocked and ignored: what this process changes for itself, and gives back to the command.

use std::sync::atomic::{AtomicBool, Ordering};
use std::{mem, ptr};

/// All signals. The C library leaves out two that it uses itself.
pub(crate) const ALL: u64 = u64::MAX;

/// Changes which signals this thread blocks, and returns those that it blocked before.
pub(crate) fn mask(how: libc::c_int, signals: u64) -> u64 {
    let mut before = 0_u64;
    // SAFETY: both sets are valid for the call, and of the kernel's size.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const signals, &raw mut before, 8_usize) };
    before
}

/// The signals that every Rust program ignores, and this one. If they were ignored before, the command inherits that.
const IGNORED: [libc::c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];
/// For each of these, whether it was ignored when this program began.
static WERE_IGNORED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

/// Called before the runtime of Rust begins, which ignores SIGPIPE.
#[used]
#[unsafe(link_section = ".init_array")]
static REMEMBER: extern "C" fn() = {
    extern "C" fn remember() {
        for (signal, ignored) in IGNORED.iter().zip(&WERE_IGNORED) {
            // SAFETY: actions are plain data that the call fills.
            let action = unsafe {
                let mut action: libc::sigaction = mem::zeroed();
                libc::sigaction(*signal, ptr::null(), &mut action);
                action.sa_sigaction
            };
            ignored.store(action == libc::SIG_IGN, Ordering::Relaxed);
        }
    }
    remember
};

/// The inherited settings that this process has changed for itself.
#[derive(Clone, Copy)]
pub(crate) struct Inherited {
    /// The signals that are blocked.
    pub(crate) mask: u64,
    /// The action of SIGCHLD.
    pub(crate) child: libc::sigaction,
}

impl Inherited {
    /// Restores all settings for the command. Makes system calls only.
    pub(crate) fn restore_all(&self) {
        for (signal, ignored) in IGNORED.iter().zip(&WERE_IGNORED) {
            let action = if ignored.load(Ordering::Relaxed) { libc::SIG_IGN } else { libc::SIG_DFL };
            // SAFETY: an action without a handler.
            unsafe { libc::signal(*signal, action) };
        }
        self.restore();
    }

    /// Makes system calls only.
    pub(crate) fn restore(&self) {
        // SAFETY: the action was in force before.
        unsafe { libc::sigaction(libc::SIGCHLD, &raw const self.child, ptr::null_mut()) };
        mask(libc::SIG_SETMASK, self.mask);
    }
}
