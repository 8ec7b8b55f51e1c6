//! The process's handler of SIGSEGV while a protection probe is open.
//!
//! It handles the one instruction that is meant to fault and passes every other fault to the previous handler.
//! Several probes may be open at once: the first installs the handler, the last removes it.

use super::touch::{plan_of, redirect};
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::{Mutex, PoisonError};
use tollgate_measure::Refusal;

/// The handler is in place as long as this lives.
pub(crate) struct Installed(());

/// How many [`Installed`] there are.
static HOLDERS: Mutex<usize> = Mutex::new(0);

/// The previous handler of SIGSEGV. Not behind the lock, because the handler reads it.
struct Previous(UnsafeCell<MaybeUninit<libc::sigaction>>);

// SAFETY: written only under the lock of HOLDERS and only while our handler is not in place; read only by
// the handler, and under that lock.
unsafe impl Sync for Previous {}

static PREVIOUS: Previous = Previous(UnsafeCell::new(MaybeUninit::uninit()));

impl Installed {
    pub(crate) fn new() -> Result<Self, Refusal> {
        let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        if *holders == 0 {
            // The kernel keeps the signal blocked while the handler runs, as it does for any handler
            // without SA_NODEFER; no alternate stack, because the stack does not overflow.
            // SAFETY: sigaction is plain data for which all zeroes is valid (an empty mask, no flags).
            let mut action: libc::sigaction = unsafe { mem::zeroed() };
            action.sa_sigaction = address();
            action.sa_flags = libc::SA_SIGINFO;
            // SAFETY: PREVIOUS is not read while the handler is not in place (see `Previous`).
            unsafe { *PREVIOUS.0.get() = MaybeUninit::new(current()?) };
            // SAFETY: the action is complete; the handler makes only async-signal-safe calls.
            if unsafe { libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut()) } != 0 {
                return Err(Refusal::os("handle SIGSEGV"));
            }
        }
        *holders += 1;
        Ok(Self(()))
    }

    /// Whether the handler is still the process's.
    pub(crate) fn in_place(&self) -> bool {
        current().is_ok_and(|action| action.sa_sigaction == address())
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        *holders -= 1;
        // A handler that other code has installed since stays.
        if *holders == 0 && self.in_place() {
            // SAFETY: written by `new`.
            unsafe { libc::sigaction(libc::SIGSEGV, PREVIOUS.0.get().cast(), ptr::null_mut()) };
        }
    }
}

/// The handler's address, as sigaction(2) has it.
fn address() -> libc::sighandler_t {
    on_fault as *const () as libc::sighandler_t
}

/// The process's disposition of SIGSEGV.
fn current() -> Result<libc::sigaction, Refusal> {
    let mut action = MaybeUninit::uninit();
    // SAFETY: `action` is a valid place to write to.
    match unsafe { libc::sigaction(libc::SIGSEGV, ptr::null(), action.as_mut_ptr()) } {
        // SAFETY: the call succeeded and has filled it in.
        0 => Ok(unsafe { action.assume_init() }),
        _ => Err(Refusal::os("read the handler of SIGSEGV")),
    }
}

extern "C" fn on_fault(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid siginfo_t and ucontext_t to a handler with SA_SIGINFO. A plan is
    // found only when the instruction in `touch` faulted, whose caller promises that it is valid.
    unsafe {
        if let Some(plan) = plan_of(context)
            && (*info).si_code == SEGV_ACCERR
            && (*info).si_addr().cast() == (*plan).bad
        {
            if let Some(now) = (*plan).now {
                (*plan).entered = now();
            }
            (*plan).runs += 1;
            return redirect(context, (*plan).good);
        }
        // Another fault. With the previous disposition it repeats itself on return; a signal that was sent (code 0 or
        // below) does not, so it is sent once more.
        libc::sigaction(libc::SIGSEGV, PREVIOUS.0.get().cast(), ptr::null_mut());
        if (*info).si_code <= 0 {
            libc::raise(libc::SIGSEGV);
        }
    }
}

/// "Invalid permissions for mapped object" (sigaction(2)); not among the constants of the libc crate.
const SEGV_ACCERR: c_int = 2;
