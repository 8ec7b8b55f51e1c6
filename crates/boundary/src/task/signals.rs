//! Signal dispositions and masks that are restored on drop.

use super::refusal::refusal;
use std::{
    cell::RefCell,
    io, mem, ptr,
    sync::{Mutex, PoisonError},
};
use tollgate_measure::Refusal;

/// A handler that is installed for the whole process until the last user drops it.
pub(crate) struct Handler {
    signal: i32,
}

struct Installed {
    signal: i32,
    users: usize,
    before: libc::sigaction,
}

/// The installed handlers. Users are counted, because probes are open side by side and closed in any order.
static INSTALLED: Mutex<Vec<Installed>> = Mutex::new(Vec::new());

impl Handler {
    /// Installs `handler` without `SA_RESTART`, so that the signal also interrupts a sleep. Every user of a signal must
    /// pass the same handler.
    pub(crate) fn install(signal: i32, handler: extern "C" fn(libc::c_int)) -> Result<Self, Refusal> {
        let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = installed.iter_mut().find(|entry| entry.signal == signal) {
            entry.users += 1;
            return Ok(Self { signal });
        }
        // SAFETY: sigaction is plain data; all zeroes is an empty mask and no flags.
        let mut action: libc::sigaction = unsafe { mem::zeroed() };
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        // SAFETY: as above.
        let mut before: libc::sigaction = unsafe { mem::zeroed() };
        // SAFETY: both structures are valid, and the handler only touches atomics and system calls.
        if unsafe { libc::sigaction(signal, &action, &mut before) } != 0 {
            return Err(refusal("sigaction", &io::Error::last_os_error()));
        }
        installed.push(Installed { signal, users: 1, before });
        Ok(Self { signal })
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = installed.iter().position(|entry| entry.signal == self.signal) else { return };
        installed[at].users -= 1;
        if installed[at].users == 0 {
            let entry = installed.swap_remove(at);
            // SAFETY: the kernel filled the structure for this signal.
            unsafe { libc::sigaction(entry.signal, &entry.before, ptr::null_mut()) };
        }
    }
}

/// One signal that is blocked on the calling thread until the last user on that thread drops it.
pub(crate) struct Blocked {
    signal: i32,
}

thread_local! {
    /// For each signal: how many want it blocked, and whether it was before the first.
    static BLOCKS: RefCell<[(u32, bool); 65]> = const { RefCell::new([(0, false); 65]) };
}

impl Blocked {
    /// Blocks `signal`. Async-signal-safe.
    pub(crate) fn new(signal: i32) -> Self {
        BLOCKS.with_borrow_mut(|blocks| {
            let (users, before) = &mut blocks[signal as usize];
            if *users == 0 {
                let mask = mask_now();
                // SAFETY: the set is initialized.
                *before = unsafe { libc::sigismember(&mask, signal) } == 1;
                change_mask(libc::SIG_BLOCK, &only(signal));
            }
            *users += 1;
        });
        Self { signal }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        BLOCKS.with_borrow_mut(|blocks| {
            let (users, before) = &mut blocks[self.signal as usize];
            *users = users.saturating_sub(1);
            if *users == 0 && !*before {
                change_mask(libc::SIG_UNBLOCK, &only(self.signal));
            }
        });
    }
}

/// All signals blocked on the calling thread, so that the tasks that it makes start with all of them blocked. Dropping
/// it restores the mask.
pub(crate) struct AllBlocked {
    before: libc::sigset_t,
}

impl AllBlocked {
    /// Blocks everything that can be blocked.
    pub(crate) fn new() -> Self {
        let before = mask_now();
        let mut all = before;
        // SAFETY: fills the set.
        unsafe { libc::sigfillset(&mut all) };
        change_mask(libc::SIG_SETMASK, &all);
        Self { before }
    }
}

impl Drop for AllBlocked {
    fn drop(&mut self) {
        change_mask(libc::SIG_SETMASK, &self.before);
    }
}

/// The calling thread's signal mask.
pub(crate) fn mask_now() -> libc::sigset_t {
    // SAFETY: sigset_t is plain data; the call only writes the present mask to it.
    unsafe {
        let mut now = mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &mut now);
        now
    }
}

/// The set of just this signal.
pub(crate) fn only(signal: i32) -> libc::sigset_t {
    // SAFETY: sigset_t is plain data; the calls initialize it.
    unsafe {
        let mut set = mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        set
    }
}

fn change_mask(how: i32, set: &libc::sigset_t) {
    // SAFETY: the set is initialized. The call fails only for an unknown `how`.
    unsafe { libc::pthread_sigmask(how, set, ptr::null_mut()) };
}
