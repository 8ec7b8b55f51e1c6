//! N tasks around which one token travels.

use super::{
    death,
    media::{End, Give, Medium, Passed, Take, Tasks},
    peers::Peers,
    refusal::refusal,
    switches::Switches,
    work::Work,
};
use std::io;
use tollgate_measure::Refusal;

/// A ring whose task 0 is the thread that opened it and holds the token between laps.
///
/// Dropping it ends every task and waits for it.
pub struct Ring<M: Medium> {
    /// Before `own`, so that all peers have ended when the first link is closed.
    peers: Peers,
    own: End<M>,
    tasks: Tasks,
    /// [`death::count`] when all peers were last known to live.
    deaths: u32,
    /// Why no further lap is possible.
    broken: Option<Refusal>,
}

impl<M: Medium> Ring<M> {
    /// Makes one peer for each of `cpus` and passes the token around twice, so that every task has run
    /// and sleeps again. `work(i)` makes what peer `i` does each time it holds the token; for processes
    /// it runs after fork and must be async-signal-safe. The calling thread is already pinned.
    ///
    /// # Errors
    /// A limit that stops it as [`Refusal::Skip`]; everything else as [`Refusal::Failed`].
    pub fn open<W: Work>(tasks: Tasks, cpus: &[usize], work: impl Fn(usize) -> W) -> Result<Self, Refusal> {
        let mut ends = M::ring(cpus.len() + 1, tasks)?;
        let Some(mut own) = ends.next().transpose()? else {
            return Err(Refusal::Failed("a ring without a task".into()));
        };
        own.take.enter().map_err(|errno| Refusal::from(io::Error::from_raw_os_error(errno)))?;
        let peers = Peers::new(cpus.len(), tasks)?;
        let mut ring = Self { peers, own, tasks, deaths: death::count(), broken: None };
        // Each end is dropped here as soon as its child has a copy, so that the death of a peer closes its pipes.
        for ((at, &cpu), end) in cpus.iter().enumerate().zip(ends) {
            let made = end.and_then(|end| match tasks {
                Tasks::Threads => ring.peers.add_thread(cpu, end, work(at)),
                Tasks::Processes => ring.peers.add_process(cpu, end, work(at)),
            });
            if let Err(refusal) = made {
                return Err(ring.stopped_at(at + 1, cpus.len() + 1, refusal));
            }
        }
        ring.peers.wait_ready(cpus)?;
        ring.peers.check()?;
        ring.laps(2, || ())?;
        Ok(ring)
    }

    /// Sends the token around `laps` times and calls `work` each time it is back. This is the timed part.
    ///
    /// # Errors
    /// The death of a peer, or the system's error, after which the ring stays broken.
    #[inline]
    pub fn laps(&mut self, laps: u64, mut work: impl FnMut()) -> Result<(), Refusal> {
        if let Some(refusal) = &self.broken {
            return Err(refusal.clone());
        }
        let mut trouble = Ok(());
        for _ in 0..laps {
            trouble = self.own.give.give();
            if trouble.is_ok() {
                trouble = self.take();
            }
            if trouble.is_err() {
                break;
            }
            work();
        }
        match trouble {
            Ok(()) => Ok(()),
            Err(errno) => Err(self.break_off(errno)),
        }
    }

    /// Sends the token, which [`Ring::receive`] waits for.
    ///
    /// # Errors
    /// As [`Ring::laps`].
    #[inline]
    pub(crate) fn send(&mut self) -> Result<(), Refusal> {
        if let Some(refusal) = &self.broken {
            return Err(refusal.clone());
        }
        self.own.give.give().map_err(|errno| self.break_off(errno))
    }

    /// Waits until the token is back.
    ///
    /// # Errors
    /// As [`Ring::laps`].
    pub(crate) fn receive(&mut self) -> Result<(), Refusal> {
        self.take().map_err(|errno| self.break_off(errno))
    }

    #[inline]
    fn take(&mut self) -> Passed {
        loop {
            // A peer that died before the sleep cannot give, and its signal came too early to interrupt it.
            if death::count() != self.deaths {
                self.check_peers()?;
            }
            match self.own.take.take() {
                Err(libc::EINTR) => self.check_peers()?,
                taken => return taken,
            }
        }
    }

    #[cold]
    fn check_peers(&mut self) -> Passed {
        self.deaths = death::count();
        match self.peers.check() {
            Ok(()) => Ok(()),
            Err(refusal) => {
                self.broken = Some(refusal);
                Err(libc::ECHILD)
            }
        }
    }

    #[cold]
    fn break_off(&mut self, errno: i32) -> Refusal {
        let why = || {
            let error = io::Error::from_raw_os_error(errno);
            self.peers.death().unwrap_or_else(|| refusal("passing the token", &error))
        };
        let refusal = self.broken.clone().unwrap_or_else(why);
        self.broken = Some(refusal.clone());
        refusal
    }

    /// The refusal with the number of tasks that had started.
    #[cold]
    fn stopped_at(&self, made: usize, wanted: usize, refusal: Refusal) -> Refusal {
        let with = |text: String| format!("{text}; {made} of the ring's {wanted} tasks had started");
        match refusal {
            Refusal::Skip { reason, enable } => Refusal::Skip { reason: with(reason), enable },
            Refusal::Failed(reason) => Refusal::Failed(with(reason)),
        }
    }

    /// Sends the token around once; each peer stores its count of context switches when it takes it. Returns their sum
    /// since the ring was opened.
    ///
    /// # Errors
    /// As [`Ring::laps`].
    pub fn census(&mut self, work: impl FnMut()) -> Result<u64, Refusal> {
        self.peers.order_census();
        self.laps(1, work)?;
        Ok(self.peers.switches())
    }

    /// An error if a peer process has died. Makes one system call for each peer.
    ///
    /// # Errors
    /// How it died.
    pub fn check(&mut self) -> Result<(), Refusal> {
        match self.check_peers() {
            Ok(()) => Ok(()),
            Err(errno) => Err(self.break_off(errno)),
        }
    }

    /// A counter of the context switches of all tasks of the ring, starting now.
    pub fn switches(&self) -> Switches {
        Switches::new(&self.peers.numbers())
    }

    /// Thread numbers of all tasks, 0 for the calling one.
    pub fn task_numbers(&self) -> Vec<libc::pid_t> {
        std::iter::once(0).chain(self.peers.numbers().into_iter().map(|(_, thread)| thread)).collect()
    }

    /// How many tokens the peers have taken since the ring was opened.
    pub fn served(&self) -> u64 {
        self.peers.served()
    }
}

impl<M: Medium> Drop for Ring<M> {
    fn drop(&mut self) {
        if self.tasks == Tasks::Threads {
            // One last token goes around and ends each task that it wakes.
            self.peers.stop();
            let _ = self.own.give.give();
        }
    }
}
