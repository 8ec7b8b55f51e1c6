//! One byte through a Unix stream socket.

use super::{
    End, Ends, Medium, closed,
    descriptor::{ByteIn, ByteOut},
};
use crate::task::{Tasks, refusal};
use std::{
    io,
    os::fd::{FromRawFd, OwnedFd},
    sync::Arc,
};
use tollgate_measure::Refusal;

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
        if len == 2 {
            let end = |socket: Arc<OwnedFd>| End { take: ByteIn(Arc::clone(&socket)), give: ByteOut(socket) };
            return Ok(Box::new(pair()?.map(end).map(Ok).into_iter()));
        }
        let link = |_| pair().map(|[one, other]| (ByteOut(one), ByteIn(other)));
        closed(len, link)
    }
}

fn pair() -> Result<[Arc<OwnedFd>; 2], Refusal> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for the two descriptors.
    let made = unsafe {
        libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0, ends.as_mut_ptr())
    };
    if made != 0 {
        return Err(refusal("socketpair", &io::Error::last_os_error()));
    }
    // SAFETY: both descriptors were just opened and nothing else owns them.
    Ok(ends.map(|end| Arc::new(unsafe { OwnedFd::from_raw_fd(end) })))
}
