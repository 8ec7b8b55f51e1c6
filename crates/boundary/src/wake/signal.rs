//! A signal that is read from a signalfd.

use super::descriptor::two_threads;
use crate::task::media::{End, Ends, Give, Medium, Passed, Take, errno};
use crate::task::{Blocked, Tasks, death, only, refusal};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::{io, ptr};
use tollgate_measure::Refusal;

/// Ignored if it is not blocked, so that one which arrives late does no harm; no other probe sends it.
const SIGNAL: i32 = libc::SIGWINCH;

/// `tgkill`, and a blocking `read` of a signalfd.
pub(super) enum Signalfd {}

/// The numbers of the two threads.
type Numbers = Arc<[AtomicI32; 2]>;

pub(super) struct Sender {
    numbers: Numbers,
    to: usize,
}

pub(super) struct Reader {
    numbers: Numbers,
    at: usize,
    fd: OwnedFd,
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
        let numbers = Numbers::default();
        let end = |at: usize| {
            // SAFETY: the set is initialized; the descriptor is new and nobody else's.
            let fd = match unsafe { libc::signalfd(-1, &only(SIGNAL), libc::SFD_CLOEXEC) } {
                -1 => return Err(refusal("signalfd", &io::Error::last_os_error())),
                // SAFETY: as above.
                fd => unsafe { OwnedFd::from_raw_fd(fd) },
            };
            let give = Sender { numbers: Arc::clone(&numbers), to: 1 - at };
            Ok(End { take: Reader { numbers: Arc::clone(&numbers), at, fd, blocked: None }, give })
        };
        Ok(Box::new([end(0)?, end(1)?].map(Ok).into_iter()))
    }
}

impl Give for Sender {
    #[inline]
    fn give(&mut self) -> Passed {
        let to = self.numbers[self.to].load(Ordering::Acquire);
        // SAFETY: integers only.
        match unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), to, SIGNAL) } {
            0 => Ok(()),
            _ => Err(errno()),
        }
    }
}

impl Take for Reader {
    fn enter(&mut self) -> Passed {
        self.blocked = Some(Blocked::new(SIGNAL));
        self.numbers[self.at].store(death::own_thread(), Ordering::Release);
        Ok(())
    }

    #[inline]
    fn take(&mut self) -> Passed {
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
