//! A signal that is read from a signalfd.
//!
//! Each signal for a thread of this process wakes all threads that sleep in the `read` of a signalfd, whichever signal they
//! wait for. So the thread of a row that is not being measured must sleep elsewhere: at a gate, which the first message of a
//! row opens, outside the clock like all first passes. The row that was measured before closes then.

use super::descriptor::two_threads;
use crate::task::media::{End, Ends, Give, Medium, Passed, Take, errno, futex};
use crate::task::{Blocked, Tasks, death, only, refusal};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::{io, ptr, thread};
use tollgate_measure::Refusal;

/// Ignored if it is not blocked, so that one which arrives late does no harm; no other probe sends it.
const SIGNAL: i32 = libc::SIGWINCH;

/// `tgkill`, and a blocking `read` of a signalfd.
pub(super) enum Signalfd {}

/// The two threads of a row.
#[derive(Default)]
struct Gate {
    /// Their numbers: the measuring thread, then the other.
    threads: [AtomicI32; 2],
    /// Zero where the other thread must not sleep in `read`.
    open: AtomicU32,
    /// The other thread sleeps at the gate, or will next.
    is_reached: AtomicBool,
}

/// The gate that is open.
static OPEN: Mutex<Weak<Gate>> = Mutex::new(Weak::new());

impl Gate {
    fn signal(&self, to: usize) -> Passed {
        let to = self.threads[to].load(Ordering::Acquire);
        // SAFETY: integers only.
        match unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), to, SIGNAL) } {
            0 => Ok(()),
            _ => Err(errno()),
        }
    }

    /// Opens this gate and closes the one that is open.
    #[cold]
    fn turn(self: &Arc<Self>) -> Passed {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = open.upgrade() {
            before.open.store(0, Ordering::Release);
            // A thread that has ended gets no signal. One that never came would be a silence, which the supervisor ends.
            let is_alive = before.signal(1).is_ok();
            while is_alive && !before.is_reached.load(Ordering::Acquire) {
                thread::yield_now();
            }
        }
        self.is_reached.store(false, Ordering::Relaxed);
        self.open.store(1, Ordering::Release);
        *open = Arc::downgrade(self);
        futex::wake(&self.open, libc::FUTEX_PRIVATE_FLAG)
    }

    /// Sleeps while the gate is closed.
    #[cold]
    fn wait(&self) -> Passed {
        self.is_reached.store(true, Ordering::Release);
        while self.open.load(Ordering::Acquire) == 0 {
            futex::wait(&self.open, 0, libc::FUTEX_PRIVATE_FLAG)?;
        }
        Ok(())
    }
}

pub(super) struct Sender {
    gate: Arc<Gate>,
    to: usize,
}

pub(super) struct Reader {
    gate: Arc<Gate>,
    at: usize,
    fd: OwnedFd,
    /// It went through the gate for the first time, for which there is no signal to read.
    is_in: bool,
    /// Blocked where it is read, from [`Take::enter`] on.
    blocked: Option<Blocked>,
}

impl Medium for Signalfd {
    type Give = Sender;
    type Take = Reader;

    fn ring(len: usize, tasks: Tasks) -> Result<Ends<Self>, Refusal> {
        two_threads(len, tasks)?;
        // Checked before there is a peer: if signals are refused, it could not be ended.
        // SAFETY: signal 0 is not sent, only permitted or refused.
        if unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), death::own_thread(), 0) } != 0 {
            return Err(refusal("tgkill", &io::Error::last_os_error()));
        }
        let gate = Arc::<Gate>::default();
        let end = |at: usize| {
            // SAFETY: the set is initialized; the descriptor is new and nobody else's.
            let fd = match unsafe { libc::signalfd(-1, &only(SIGNAL), libc::SFD_CLOEXEC) } {
                -1 => return Err(refusal("signalfd", &io::Error::last_os_error())),
                // SAFETY: as above.
                fd => unsafe { OwnedFd::from_raw_fd(fd) },
            };
            let give = Sender { gate: Arc::clone(&gate), to: 1 - at };
            Ok(End { take: Reader { gate: Arc::clone(&gate), at, fd, is_in: false, blocked: None }, give })
        };
        Ok(Box::new([end(0)?, end(1)?].map(Ok).into_iter()))
    }
}

impl Give for Sender {
    #[inline]
    fn give(&mut self) -> Passed {
        if self.gate.open.load(Ordering::Relaxed) == 0 {
            self.gate.turn()?;
        }
        self.gate.signal(self.to)
    }
}

impl Take for Reader {
    fn enter(&mut self) -> Passed {
        self.blocked = Some(Blocked::new(SIGNAL));
        self.gate.threads[self.at].store(death::own_thread(), Ordering::Release);
        Ok(())
    }

    #[inline]
    fn take(&mut self) -> Passed {
        if !self.is_in {
            self.gate.wait()?;
            self.is_in = true;
        }
        loop {
            self.read()?;
            // Otherwise the signal was that of the gate. It is read before the gate is reached: left pending, it would be taken
            // for the next message.
            if self.gate.open.load(Ordering::Acquire) != 0 {
                return Ok(());
            }
            self.gate.wait()?;
        }
    }
}

impl Reader {
    #[inline]
    fn read(&mut self) -> Passed {
        const BYTES: usize = mem::size_of::<libc::signalfd_siginfo>();
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        // SAFETY: there is room for one report.
        match unsafe { libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), BYTES) } {
            read if read == BYTES as isize => {
                // SAFETY: the kernel wrote all of it.
                let info = unsafe { ptr::read(info.as_ptr()) };
                // A terminal that changed its size sends the signal, too.
                if info.ssi_code == libc::SI_TKILL { Ok(()) } else { Err(libc::EINTR) }
            }
            0.. => Err(libc::EBADMSG),
            _ => Err(errno()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::mpsc;
    use std::thread::JoinHandle;

    /// The measuring thread's end of a row, and the thread that answers until `stop` is set.
    struct Answered {
        end: End<Signalfd>,
        number: i32,
        stop: Arc<AtomicBool>,
        thread: JoinHandle<()>,
    }

    impl Answered {
        fn new() -> Self {
            let mut ends = Signalfd::ring(2, Tasks::Threads).unwrap();
            let [mut end, mut theirs] = [(); 2].map(|()| ends.next().unwrap().unwrap());
            end.take.enter().unwrap();
            let (stop, (tell, told)) = (Arc::<AtomicBool>::default(), mpsc::channel());
            let stopped = Arc::clone(&stop);
            let thread = thread::spawn(move || {
                theirs.take.enter().unwrap();
                tell.send(death::own_thread()).unwrap();
                while theirs.take.take().is_ok() && !stopped.load(Ordering::Relaxed) {
                    theirs.give.give().unwrap();
                }
            });
            Self { end, number: told.recv().unwrap(), stop, thread }
        }

        fn pass(&mut self) {
            self.end.give.give().unwrap();
            self.end.take.take().unwrap();
        }

        /// How often the other thread went to sleep.
        fn sleeps(&self) -> u64 {
            let status = fs::read_to_string(format!("/proc/self/task/{}/status", self.number)).unwrap();
            let mut words = status.lines().filter_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            words.next().unwrap().trim().parse().unwrap()
        }

        fn end(mut self) {
            self.stop.store(true, Ordering::Relaxed);
            self.end.give.give().unwrap();
            self.thread.join().unwrap();
        }
    }

    #[test]
    fn messages_of_one_row_do_not_wake_the_thread_of_another() {
        let [mut one, mut other] = [Answered::new(), Answered::new()];
        for _ in 0..3 {
            one.pass();
            other.pass();
            let before = one.sleeps();
            (0..50).for_each(|_| other.pass());
            // It may still have been on its way to the gate.
            assert!(one.sleeps() <= before + 1, "{} after {before}", one.sleeps());
        }
        one.end();
        other.pass();
        other.end();
    }
}
