//! A token of one byte through a descriptor: shared by pipes and stream sockets.

use super::{Give, Passed, Take, errno};
use std::{
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::Arc,
};

/// A descriptor that a byte is written to. Counted, because a socket is both ends at once.
pub struct ByteOut(pub(super) Arc<OwnedFd>);

/// A descriptor that a byte is read from.
pub struct ByteIn(pub(super) Arc<OwnedFd>);

impl Give for ByteOut {
    #[inline]
    fn give(&mut self) -> Passed {
        // SAFETY: one byte of a static is read.
        match unsafe { libc::write(self.0.as_raw_fd(), [0_u8].as_ptr().cast(), 1) } {
            1 => Ok(()),
            _ => Err(errno()),
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.0.as_raw_fd())
    }
}

impl Take for ByteIn {
    #[inline]
    fn take(&mut self) -> Passed {
        let mut byte = [0_u8];
        // SAFETY: one byte is written to a local of one byte.
        match unsafe { libc::read(self.0.as_raw_fd(), byte.as_mut_ptr().cast(), 1) } {
            1 => Ok(()),
            // End of file: the giving end is closed.
            0 => Err(libc::EPIPE),
            _ => Err(errno()),
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.0.as_raw_fd())
    }
}
