//! One byte through a pipe.

use super::{
    Ends, Medium, closed,
    descriptor::{ByteIn, ByteOut},
};
use crate::task::{Tasks, refusal};
use std::{
    io,
    os::fd::{FromRawFd, OwnedFd},
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
            let mut ends = [0; 2];
            // SAFETY: the array has room for the two descriptors.
            if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
                return Err(refusal("pipe2", &io::Error::last_os_error()));
            }
            // SAFETY: both descriptors were just opened and nothing else owns them.
            let [read, write] = ends.map(|end| Arc::new(unsafe { OwnedFd::from_raw_fd(end) }));
            Ok((ByteOut(write), ByteIn(read)))
        };
        closed(len, link)
    }
}
