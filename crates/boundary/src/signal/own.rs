//! `signal/self`: a signal of a thread to itself, its handler, and the return from it.

use crate::mechanism::{Mechanism, ROW};
use crate::task::Handler;
use std::{
    io,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
};
use tollgate_measure::clock::Now;
use tollgate_measure::{Claim, Crossing, Meta, Refusal};
use tollgate_record::Per;

/// Not SIGUSR2, by which tasks wake each other.
const SIGNAL: i32 = libc::SIGUSR1;

/// How often the handler ran.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// The clock that the handler reads when it begins: a [`Now`] as a number, 0 for none.
static CLOCK: AtomicUsize = AtomicUsize::new(0);
/// The handler's reading of the counter.
static ENTERED: AtomicU64 = AtomicU64::new(0);

/// Makes the handler read this clock, or none.
pub(crate) fn stamp_with(now: Option<Now>) {
    CLOCK.store(now.map_or(0, |now| now as usize), Ordering::Relaxed);
}

/// When the handler last began.
pub(crate) fn entered() -> u64 {
    ENTERED.load(Ordering::Relaxed)
}

extern "C" fn handle(_: libc::c_int) {
    let clock = CLOCK.load(Ordering::Relaxed);
    if clock != 0 {
        // SAFETY: what is not 0 was a `Now` in `stamp_with`.
        let now: Now = unsafe { std::mem::transmute(clock) };
        ENTERED.store(now(), Ordering::Relaxed);
    }
    // Not a locked addition: only the measuring thread receives the signal, and a lock would add to the figure.
    RUNS.store(RUNS.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

pub(crate) static META: Meta = Meta {
    id: "signal/self",
    what: "a thread signals itself, handles the signal and returns",
    per: Per::Signal,
    proof: &[Claim::exact("handlers-per-crossing")],
    ..ROW
};

pub(crate) static OWN: Mechanism = Mechanism {
    meta: &META,
    open: |_, _| {
        let handler = Handler::install(SIGNAL, handle)?;
        // SAFETY: no arguments.
        let (process, thread) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
        let mut open =
            SelfSignals { _handler: handler, process, thread, proved: RUNS.load(Ordering::Relaxed) };
        open.cross(1)?;
        if RUNS.load(Ordering::Relaxed) == open.proved {
            return Err(Refusal::skip(
                "SIGUSR1 is blocked in this process",
                "start it with SIGUSR1 unblocked",
            ));
        }
        open.proved = RUNS.load(Ordering::Relaxed);
        Ok(Box::new(open))
    },
};

struct SelfSignals {
    _handler: Handler,
    process: libc::pid_t,
    thread: libc::c_long,
    /// Handler runs that were already proved.
    proved: u64,
}

impl Crossing for SelfSignals {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let mut trouble = Ok(());
        for _ in 0..passes {
            // The bare call: the C library's raise also changes the signal mask, twice.
            // SAFETY: integers only.
            if unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, SIGNAL) } != 0 {
                trouble = Err(io::Error::last_os_error());
                break;
            }
        }
        trouble.map_err(|error| crate::task::refusal("tgkill", &error))
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        let runs = RUNS.load(Ordering::Relaxed);
        counts[0] = Some(runs - self.proved);
        self.proved = runs;
        Ok(())
    }
}
