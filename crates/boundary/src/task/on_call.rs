//! A thread that sleeps until it is called for a batch, so that it uses no CPU while other probes measure.

use super::{death, media::futex, process, refusal::task_refusal, signals::AllBlocked};
use std::{
    hint,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use tollgate_measure::{Refusal, placement};

/// The thread and the memory through which it receives orders.
pub(crate) struct OnCall {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<Result<(), Refusal>>>,
}

#[derive(Default)]
struct Desk {
    /// The number of the current order; the futex on which the thread sleeps.
    order: AtomicU32,
    passes: AtomicU64,
    state: AtomicU32,
    stop: AtomicBool,
    number: AtomicI32,
    /// Whether it runs on the CPU of the thread that calls it.
    is_here: bool,
}

/// Asleep, or about to be.
const IDLE: u32 = 1;
/// Called, not yet running.
const CALLED: u32 = 2;
/// In its body.
const BUSY: u32 = 3;
/// Ended, because it could not be pinned.
const FAILED: u32 = 4;

/// How often to look for a thread on another CPU before sleeping: longer than it takes to wake up there.
const LOOKS: u32 = 10_000;
/// How long to sleep then.
const NAP: Duration = Duration::from_micros(50);

impl OnCall {
    /// A thread on `cpu` that runs `body(passes)` each time it is called. The body starts with a yield.
    pub(crate) fn open(cpu: usize, body: impl Fn(u64) + Send + 'static) -> Result<Self, Refusal> {
        // The calling thread is pinned.
        let home = placement::current();
        let desk = Arc::new(Desk { is_here: home == Some(cpu), ..Desk::default() });
        let theirs = Arc::clone(&desk);
        let run = move || {
            if let Err(error) = placement::pin(cpu) {
                theirs.state.store(FAILED, Ordering::Release);
                return Err(error.into());
            }
            theirs.number.store(death::own_thread(), Ordering::Relaxed);
            theirs.serve(body);
            process::end_on(home);
            Ok(())
        };
        let blocked = AllBlocked::new();
        let made = thread::Builder::new().name("peer".into()).stack_size(64 << 10).spawn(run);
        drop(blocked);
        let thread = made.map_err(|error| task_refusal("thread creation", &error))?;
        let mut on_call = Self { desk, thread: Some(thread) };
        if on_call.desk.wait_while(|state| state == 0) == FAILED
            && let Some(Ok(Err(refusal))) = on_call.thread.take().map(JoinHandle::join)
        {
            return Err(refusal);
        }
        Ok(on_call)
    }

    /// Starts the thread's body; returns when the thread is about to enter it.
    pub(crate) fn call(&self, passes: u64) {
        self.wait_idle();
        self.desk.passes.store(passes, Ordering::Relaxed);
        self.desk.state.store(CALLED, Ordering::Relaxed);
        self.desk.ring();
        self.desk.wait_while(|state| state == CALLED);
    }

    /// Waits until the thread has finished its body.
    #[inline]
    pub(crate) fn wait_idle(&self) {
        self.desk.wait_while(|state| state != IDLE);
    }

    /// Process and thread number, for counting switches.
    pub(crate) fn numbers(&self) -> (libc::pid_t, libc::pid_t) {
        // SAFETY: no arguments.
        (unsafe { libc::getpid() }, self.desk.number.load(Ordering::Relaxed))
    }
}

impl Drop for OnCall {
    fn drop(&mut self) {
        self.desk.stop.store(true, Ordering::Relaxed);
        self.desk.ring();
        // A thread that panicked has already been reported by the panic itself.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Desk {
    fn ring(&self) {
        self.order.fetch_add(1, Ordering::Release);
        // Waking cannot fail on a word that is mapped.
        let _ = futex::wake(&self.order, libc::FUTEX_PRIVATE_FLAG);
    }

    fn serve(&self, body: impl Fn(u64)) {
        let mut order = 0;
        loop {
            self.state.store(IDLE, Ordering::Release);
            while self.order.load(Ordering::Acquire) == order {
                // All signals are blocked; after any wake-up the loop checks again.
                let _ = futex::wait(&self.order, order, libc::FUTEX_PRIVATE_FLAG);
            }
            order = self.order.load(Ordering::Acquire);
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            self.state.store(BUSY, Ordering::Release);
            body(self.passes.load(Ordering::Relaxed));
        }
    }

    /// Waits while `waiting` holds of the state; returns the state that ended it.
    #[inline]
    fn wait_while(&self, waiting: impl Fn(u32) -> bool) -> u32 {
        let mut looks = 0;
        loop {
            let state = self.state.load(Ordering::Acquire);
            if !waiting(state) {
                return state;
            }
            looks += 1;
            if self.is_here {
                give_way();
            } else if looks < LOOKS {
                hint::spin_loop();
            } else {
                // A yield would let all other tasks of this CPU run for a slice each, and the thread is on another.
                thread::sleep(NAP);
            }
        }
    }
}

/// Yields to another runnable task of this CPU.
#[inline]
pub(crate) fn give_way() {
    // SAFETY: no arguments; on Linux it always succeeds.
    unsafe { libc::sched_yield() };
}
