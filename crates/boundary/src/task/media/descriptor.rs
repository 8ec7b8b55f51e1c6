//! A token of one byte through a descriptor: a pipe, or a Unix stream socket.

use super::{End, Ends, Give, Medium, Passed, Take, closed, errno};
use crate::task::{Tasks, refusal};
use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    os::unix::net::UnixStream,
    sync::Arc,
};
use tollgate_measure::Refusal;

/// One byte through a pipe: `write` and a blocking `read`.
pub struct Pipe;

impl Medium for Pipe {
    type Give = ByteOut;
    type Take = ByteIn;

    fn ring(len: usize, _: Tasks) -> Result<Ends<Self>, Refusal> {
        let link = |_| {
            let (read, write) = io::pipe().map_err(|error| refusal("pipe2", &error))?;
            Ok((ByteOut(Arc::new(write.into())), ByteIn(Arc::new(read.into()))))
        };
        closed(len, link)
    }
}

/// One byte through a Unix stream socket: `write` and a blocking `read`.
///
/// Two tasks share one pair and use it both ways, as programs do; each then sleeps on the socket that it
/// also writes to, and is woken once more when the other side has consumed its byte (the socket has
/// become writable). In a longer ring every link is a pair of its own, used one way, and that extra
/// wake-up does not happen.
pub struct Socketpair;

impl Medium for Socketpair {
    type Give = ByteOut;
    type Take = ByteIn;

    fn ring(len: usize, _: Tasks) -> Result<Ends<Self>, Refusal> {
        let pair = || {
            let (one, other) = UnixStream::pair().map_err(|error| refusal("socketpair", &error))?;
            Ok([one, other].map(|socket| Arc::new(OwnedFd::from(socket))))
        };
        if len == 2 {
            let end = |socket: Arc<OwnedFd>| End { take: ByteIn(Arc::clone(&socket)), give: ByteOut(socket) };
            return Ok(Box::new(pair()?.map(end).map(Ok).into_iter()));
        }
        closed(len, move |_| pair().map(|[one, other]| (ByteOut(one), ByteIn(other))))
    }
}

/// A descriptor that a byte is written to. Counted, because a socket is both ends at once.
pub struct ByteOut(Arc<OwnedFd>);

/// A descriptor that a byte is read from.
pub struct ByteIn(Arc<OwnedFd>);

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
