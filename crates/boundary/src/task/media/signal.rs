//! A signal for which the taking task sleeps.

use super::{Ends, Give, Medium, Passed, Take, closed, errno};
use crate::task::{
    Mapping, Tasks, Zeroed,
    death::own_thread,
    refusal,
    signals::{Blocked, Handler, mask_now, only},
};
use std::io;
use std::sync::{
    Arc,
    atomic::{AtomicI32, AtomicU32, Ordering},
};
use tollgate_measure::Refusal;

/// A signal: `tgkill`, and `sigsuspend` until the handler has run.
pub struct Signal;

/// Not SIGUSR1, which `signal/self` sends, nor SIGURG, the exit signal of peers.
const SIGNAL: i32 = libc::SIGUSR2;

/// The address of a task for signals; the task writes it before the first token is given.
#[derive(Default)]
struct Address {
    process: AtomicI32,
    thread: AtomicI32,
}

// SAFETY: atomic integers.
unsafe impl Zeroed for Address {}

/// The giving end.
pub struct Sender {
    tasks: Arc<Mapping<Address>>,
    to: usize,
}

/// The taking end.
pub struct Sleeper {
    tasks: Arc<Mapping<Address>>,
    at: usize,
    /// Blocks the signal until the task sleeps for it, so that none is missed. It is unblocked on the thread that
    /// entered, because an end is dropped where it was used, and before the handler is removed.
    blocked: Option<Blocked>,
    _handler: Arc<Handler>,
    /// The signal mask while it sleeps.
    asleep: libc::sigset_t,
}

thread_local! {
    /// Handler runs on this thread that were not yet taken.
    static ARRIVED: AtomicU32 = const { AtomicU32::new(0) };
}

extern "C" fn arrived(_: libc::c_int) {
    // A constant without a destructor is plain thread-local storage, safe to reach from a handler.
    ARRIVED.with(|count| count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed));
}

impl Medium for Signal {
    type Give = Sender;
    type Take = Sleeper;

    fn ring(len: usize, _: Tasks) -> Result<Ends<Self>, Refusal> {
        // Checked before there is a peer: if signals are refused, it could not be ended.
        // SAFETY: signal 0 is not sent, only permitted or refused.
        if unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), own_thread(), 0) } != 0 {
            return Err(refusal("tgkill", &io::Error::last_os_error()));
        }
        let handler = Arc::new(Handler::install(SIGNAL, arrived)?);
        let tasks = Arc::new(Mapping::new(len)?);
        let asleep = mask_now();
        let link = move |at| {
            let sleeper = Sleeper {
                tasks: Arc::clone(&tasks),
                at,
                _handler: Arc::clone(&handler),
                blocked: None,
                asleep,
            };
            Ok((Sender { tasks: Arc::clone(&tasks), to: at }, sleeper))
        };
        closed(len, link)
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        if self.blocked.is_some() {
            // A token that was on its way when its sender was killed must not reach another ring.
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: set and time are initialized; the number of the signal is not needed.
            unsafe { libc::sigtimedwait(&only(SIGNAL), std::ptr::null_mut(), &at_once) };
        }
    }
}

impl Give for Sender {
    #[inline]
    fn give(&mut self) -> Passed {
        let to = &self.tasks[self.to];
        let (process, thread) = (to.process.load(Ordering::Relaxed), to.thread.load(Ordering::Relaxed));
        // SAFETY: integers only.
        match unsafe { libc::syscall(libc::SYS_tgkill, process, thread, SIGNAL) } {
            0 => Ok(()),
            _ => Err(errno()),
        }
    }
}

impl Take for Sleeper {
    fn enter(&mut self) -> Passed {
        self.blocked = Some(Blocked::new(SIGNAL));
        self.asleep = mask_now();
        // SAFETY: the set is initialized and the signal's number valid.
        unsafe { libc::sigdelset(&mut self.asleep, SIGNAL) };
        let own = &self.tasks[self.at];
        // SAFETY: no arguments.
        own.process.store(unsafe { libc::getpid() }, Ordering::Relaxed);
        own.thread.store(own_thread(), Ordering::Release);
        Ok(())
    }

    #[inline]
    fn take(&mut self) -> Passed {
        ARRIVED.with(|count| {
            if count.load(Ordering::Relaxed) == 0 {
                // SAFETY: the set is initialized. The call ends with EINTR, unless it is refused.
                unsafe { libc::sigsuspend(&self.asleep) };
                let ended = errno();
                if ended != libc::EINTR {
                    return Err(ended);
                }
            }
            match count.load(Ordering::Relaxed) {
                // Another signal woke us.
                0 => Err(libc::EINTR),
                arrived => {
                    count.store(arrived - 1, Ordering::Relaxed);
                    Ok(())
                }
            }
        })
    }
}
