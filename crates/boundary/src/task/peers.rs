//! The other tasks of a ring: started, checked and ended.

use super::{
    Mapping, Zeroed,
    death::{self, Watch},
    media::{End, Give, Medium, Passed, Take, Tasks},
    process,
    refusal::task_refusal,
    signals::AllBlocked,
    switches::own_switches,
    work::Work,
};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tollgate_measure::{Refusal, placement};

/// The state of a peer, in memory that it shares with the measuring thread; on cache lines of its own.
#[repr(align(128))]
pub(super) struct Slot {
    state: AtomicU32,
    /// Its thread number, valid once it is ready.
    thread: AtomicI32,
    /// The error that ended it, 0 for none.
    pub(super) error: AtomicI32,
    /// Tokens taken.
    served: AtomicU64,
    /// Context switches of the task until it took the token of the last census.
    switches: AtomicU64,
    /// In the first slot only: what all peers do when they take the next token.
    order: AtomicU32,
}

/// In an order: pass the token and end. The other bits number the censuses: when they change, each task stores its
/// count of context switches.
const STOP: u32 = 1;
const CENSUS: u32 = 2;

// SAFETY: atomic values.
unsafe impl Zeroed for Slot {}

const STARTING: u32 = 0;
const READY: u32 = 1;
const FAILED: u32 = 2;

/// How long a peer may take to start. It is generous, because the machine may be loaded, and only turns a peer that
/// never runs into an error.
const START_LIMIT: Duration = Duration::from_secs(20);
/// The same for each further peer of a large ring.
const START_EACH: Duration = Duration::from_millis(5);

/// How long a dead process may take to become one that can be waited for, after the last that did.
const DEATH_LIMIT: Duration = Duration::from_millis(500);

enum Handle {
    Thread(Option<JoinHandle<Result<(), Refusal>>>),
    Process(libc::pid_t),
}

/// The peers. Dropping it kills and reaps processes, and joins threads, which must have received the order to stop and
/// a token before (see `Ring`).
pub(super) struct Peers {
    slots: Arc<Mapping<Slot>>,
    handles: Vec<Handle>,
    _watch: Option<Watch>,
}

impl Peers {
    /// No peers yet, with room for `len`.
    pub(super) fn new(len: usize, tasks: Tasks) -> Result<Self, Refusal> {
        let watch = match tasks {
            Tasks::Threads => None,
            Tasks::Processes => Some(Watch::new()?),
        };
        Ok(Self {
            slots: Arc::new(Mapping::new(len.max(1))?),
            handles: Vec::with_capacity(len),
            _watch: watch,
        })
    }

    /// Makes the next peer as a thread that runs on `cpu`.
    pub(super) fn add_thread<M: Medium>(
        &mut self,
        cpu: usize,
        mut end: End<M>,
        mut work: impl Work,
    ) -> Result<(), Refusal> {
        let (slots, at, home) = (Arc::clone(&self.slots), self.handles.len(), placement::current());
        let run = move || {
            let entered = |passed: Passed| passed.map_err(|errno| io::Error::from_raw_os_error(errno).into());
            let ready = placement::pin(cpu)
                .map_err(Refusal::from)
                .and_then(|()| entered(end.take.enter()))
                .and_then(|()| entered(work.enter()));
            slots[at].announce(ready.is_ok());
            if ready.is_ok() {
                serve(&mut end, &slots, at, work);
            }
            process::end_on(home);
            ready
        };
        let blocked = AllBlocked::new();
        let made = thread::Builder::new().name("peer".into()).stack_size(64 << 10).spawn(run);
        drop(blocked);
        let handle = made.map_err(|error| task_refusal("thread creation", &error))?;
        self.handles.push(Handle::Thread(Some(handle)));
        Ok(())
    }

    /// Makes the next peer as a process that runs on `cpu`. The child keeps only the descriptors of its end, so that it
    /// does not hold other pipes open.
    pub(super) fn add_process<M: Medium>(
        &mut self,
        cpu: usize,
        mut end: End<M>,
        mut work: impl Work,
    ) -> Result<(), Refusal> {
        let (slots, at) = (&*self.slots, self.handles.len());
        let keep = [end.take.descriptor(), end.give.descriptor()];
        let child = || {
            // `wait_ready` reads the pin back.
            let entered = process::move_to(cpu).and_then(|()| end.take.enter()).and_then(|()| work.enter());
            slots[at].error.store(entered.err().unwrap_or(0), Ordering::Relaxed);
            slots[at].announce(entered.is_ok());
            if entered.is_ok() {
                serve(&mut end, slots, at, work);
            }
        };
        // SAFETY: `child` allocates nothing and only makes system calls that are async-signal-safe;
        // `Work` demands the same of `work`.
        let pid = unsafe { process::fork(&[death::SIGNAL, libc::SIGCHLD], keep, child) }
            .map_err(|error| task_refusal("fork", &error))?;
        self.handles.push(Handle::Process(pid));
        Ok(())
    }

    /// Waits until every peer is about to take its first token, and checks where each may run.
    pub(super) fn wait_ready(&mut self, cpus: &[usize]) -> Result<(), Refusal> {
        let (begin, mut deaths) = (Instant::now(), None);
        let limit = START_LIMIT + START_EACH * cpus.len() as u32;
        for (at, &cpu) in cpus.iter().enumerate() {
            while self.slots[at].state.load(Ordering::Acquire) == STARTING {
                // Checking thousands of peers takes longer than their start: only when one died.
                let now = Some(death::count());
                if now != deaths {
                    deaths = now;
                    self.check()?;
                }
                if begin.elapsed() > limit {
                    return Err(Refusal::Failed(format!("a peer task did not start within {limit:?}")));
                }
                thread::sleep(Duration::from_micros(50));
            }
            if self.slots[at].state.load(Ordering::Acquire) == FAILED {
                return Err(self.why_failed(at));
            }
            process::check_pin(self.slots[at].thread.load(Ordering::Relaxed), cpu)?;
        }
        Ok(())
    }

    fn why_failed(&mut self, at: usize) -> Refusal {
        if let Handle::Thread(thread) = &mut self.handles[at]
            && let Some(Ok(Err(refusal))) = thread.take().map(JoinHandle::join)
        {
            return refusal;
        }
        let error = io::Error::from_raw_os_error(self.slots[at].error.load(Ordering::Relaxed));
        Refusal::Failed(format!("a peer task could not start: {error}"))
    }

    /// An error if a peer process has ended. A killed peer breaks the links of its neighbors, which then end by
    /// themselves, one after the other around the ring; the killed one is the reason to report, even if it becomes
    /// waitable after many of them.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let first = match self.ended().next() {
            None => return Ok(()),
            Some((_, refusal)) => refusal,
        };
        let (mut before, mut last_end) = (0, Instant::now());
        loop {
            let mut ended = 0;
            for (how, refusal) in self.ended() {
                if how == process::Ended::Killed {
                    return Err(refusal);
                }
                ended += 1;
            }
            if ended > before {
                (before, last_end) = (ended, Instant::now());
            }
            if ended == self.handles.len() || last_end.elapsed() > DEATH_LIMIT {
                return Err(first);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The peer processes that have ended, and how.
    fn ended(&self) -> impl Iterator<Item = (process::Ended, Refusal)> {
        self.handles.iter().filter_map(|handle| match *handle {
            Handle::Process(pid) => process::check_alive(pid).err(),
            Handle::Thread(_) => None,
        })
    }

    /// How a peer process died, after a link broke: the death is the reason to report, not the link. The descriptors of
    /// a process are closed some time before it is waitable, hence the wait.
    pub(super) fn death(&self) -> Option<Refusal> {
        let begin = Instant::now();
        loop {
            if let Err(refusal) = self.check() {
                return Some(refusal);
            }
            if begin.elapsed() > DEATH_LIMIT
                || !self.handles.iter().any(|it| matches!(it, Handle::Process(_)))
            {
                return None;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Orders the peers to end at the next token.
    pub(super) fn stop(&self) {
        self.slots[0].order.fetch_or(STOP, Ordering::Relaxed);
    }

    /// Orders each peer to store its count of context switches when it takes the next token.
    pub(super) fn order_census(&self) {
        self.slots[0].order.fetch_add(CENSUS, Ordering::Relaxed);
    }

    /// Context switches of all peers, as of the last census.
    pub(super) fn switches(&self) -> u64 {
        self.slots.iter().map(|slot| slot.switches.load(Ordering::Relaxed)).sum()
    }

    /// Tokens taken by all peers so far.
    pub(super) fn served(&self) -> u64 {
        self.slots.iter().map(|slot| slot.served.load(Ordering::Relaxed)).sum()
    }

    /// Process and thread number of each peer.
    pub(super) fn numbers(&self) -> Vec<(libc::pid_t, libc::pid_t)> {
        let of = |(at, handle): (usize, &Handle)| match *handle {
            Handle::Process(pid) => (pid, pid),
            // SAFETY: no arguments.
            Handle::Thread(_) => (unsafe { libc::getpid() }, self.slots[at].thread.load(Ordering::Relaxed)),
        };
        self.handles.iter().enumerate().map(of).collect()
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // All are killed before the first is reaped, so that they end side by side.
        for handle in &self.handles {
            if let Handle::Process(pid) = *handle {
                process::kill(pid);
            }
        }
        for handle in &mut self.handles {
            match handle {
                Handle::Process(pid) => process::reap(*pid),
                Handle::Thread(thread) => {
                    // A peer that panicked has already been reported by the panic itself.
                    let _ = thread.take().map(JoinHandle::join);
                }
            }
        }
    }
}

impl Slot {
    fn announce(&self, ready: bool) {
        self.thread.store(death::own_thread(), Ordering::Relaxed);
        self.state.store(if ready { READY } else { FAILED }, Ordering::Release);
    }
}

/// A peer's loop: take, work, give, until the order to stop or a broken link.
fn serve<M: Medium>(end: &mut End<M>, slots: &[Slot], at: usize, mut work: impl Work) {
    let (slot, order) = (&slots[at], &slots[0].order);
    let (mut served, mut seen) = (0_u64, 0_u32);
    loop {
        match end.take.take() {
            Ok(()) => {}
            Err(libc::EINTR) => continue,
            Err(errno) => return slot.error.store(errno, Ordering::Relaxed),
        }
        let now = order.load(Ordering::Relaxed);
        if now != seen {
            if now & STOP != 0 {
                // The next peer must wake up and see the order, too; after the last comes the measuring thread, which no
                // longer waits.
                if at + 1 < slots.len() {
                    let _ = end.give.give();
                }
                return;
            }
            seen = now;
            // If the call is refused, the measuring thread's own count is missing, too, and the proof says so.
            slot.switches.store(own_switches().unwrap_or(0), Ordering::Relaxed);
        }
        served = served.wrapping_add(1);
        slot.served.store(served, Ordering::Relaxed);
        work.work();
        if let Err(errno) = end.give.give() {
            return slot.error.store(errno, Ordering::Relaxed);
        }
    }
}
