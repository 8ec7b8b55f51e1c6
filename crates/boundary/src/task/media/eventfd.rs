//! A count of one through an eventfd.

use super::{Ends, Give, Medium, Passed, Take, closed, errno};
use crate::task::{Tasks, refusal};
use rustix::event::{EventfdFlags, eventfd};
use std::{
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::Arc,
};
use tollgate_measure::Refusal;

/// A count of one through an eventfd: `write` and a blocking `read` of eight bytes.
pub struct Eventfd;

/// Either end: an eventfd has only one descriptor.
pub struct Counter(Arc<OwnedFd>);

impl Medium for Eventfd {
    type Give = Counter;
    type Take = Counter;

    fn ring(len: usize, _: Tasks) -> Result<Ends<Self>, Refusal> {
        let link = |_| {
            let fd = eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| refusal("eventfd", &error.into()))?;
            let fd = Arc::new(fd);
            Ok((Counter(Arc::clone(&fd)), Counter(fd)))
        };
        closed(len, link)
    }
}

impl Give for Counter {
    #[inline]
    fn give(&mut self) -> Passed {
        let one = 1_u64;
        // SAFETY: eight bytes of a local are read.
        match unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) } {
            8 => Ok(()),
            _ => Err(errno()),
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.0.as_raw_fd())
    }
}

impl Take for Counter {
    #[inline]
    fn take(&mut self) -> Passed {
        let mut count = 0_u64;
        // SAFETY: eight bytes are written to a local of eight bytes.
        match unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) } {
            8 => Ok(()),
            _ => Err(errno()),
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.0.as_raw_fd())
    }
}
