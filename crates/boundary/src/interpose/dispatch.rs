//! `getppid` of a thread whose system calls are dispatched to user mode (`PR_SET_SYSCALL_USER_DISPATCH`).

use super::taxed::taxed_servants;
use crate::crossing::filtered::plain;
use crate::mechanism::{Mechanism, Opened};
use crate::servant::Servant;
use crate::syscall::{ROW, raw};
use crate::task::Handler;
use std::io;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use tollgate_measure::{Facts, Meta, Refusal};

pub(super) static ALLOWED: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/user-dispatch-pass",
        what: "getppid of a thread with syscall user dispatch, which lets it pass",
        least_passes: Servant::LEAST_PASSES,
        ..ROW
    },
    open: |_, _| taxed_servants(open(false), plain()),
};

pub(super) static BLOCKED: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/user-dispatch",
        what: "getppid that syscall user dispatch turns into a signal, which is handled",
        least_passes: Servant::LEAST_PASSES,
        ..ROW
    },
    open: |_, _| taxed_servants(open(true), plain()),
};

// linux/prctl.h
const SET_SYSCALL_USER_DISPATCH: libc::c_int = 59;
const ON: libc::c_ulong = 1;
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

thread_local! {
    /// The selector that the kernel reads at each system call of this thread.
    static SELECTOR: AtomicU8 = const { AtomicU8::new(ALLOW) };
    /// How often the handler ran on this thread.
    static HANDLED: AtomicU64 = const { AtomicU64::new(0) };
}

extern "C" fn handle(_: libc::c_int) {
    // Constants without destructors are plain thread-local storage, safe to reach from a handler. The return from the
    // handler is a system call, too.
    SELECTOR.with(|selector| selector.store(ALLOW, Ordering::Relaxed));
    HANDLED.with(|handled| handled.fetch_add(1, Ordering::Relaxed));
}

fn open(is_blocked: bool) -> Opened {
    let servant = Servant::open(Facts::default(), move || {
        let handler = Handler::install(libc::SIGSYS, handle)?;
        let selector = SELECTOR.with(AtomicU8::as_ptr);
        let none: libc::c_ulong = 0;
        // SAFETY: the selector lives as long as the thread, for which alone it is set.
        if unsafe { libc::prctl(SET_SYSCALL_USER_DISPATCH, ON, none, none, selector) } != 0 {
            return Err(Refusal::skip(
                format!("there is no syscall user dispatch here: {}", io::Error::last_os_error()),
                "Linux 5.11 or newer on an architecture with the generic system call entry, outside a sandbox",
            ));
        }
        // SAFETY: getppid has no arguments and changes nothing.
        let parent = unsafe { libc::getppid() } as isize;
        let call = move |_| {
            let before = HANDLED.with(|handled| handled.load(Ordering::Relaxed));
            if is_blocked {
                SELECTOR.with(|selector| selector.store(BLOCK, Ordering::Relaxed));
            }
            // SAFETY: as above; if it is blocked, the handler takes its place.
            let result = unsafe { raw::call0(libc::SYS_getppid) };
            let handled = HANDLED.with(|handled| handled.load(Ordering::Relaxed)) - before;
            u64::from(if is_blocked { handled == 1 } else { handled == 0 && result == parent })
        };
        Ok(move |passes: u64| {
            let _ = &handler;
            (0..passes).map(call).sum()
        })
    })?;
    Ok(Box::new(servant))
}
