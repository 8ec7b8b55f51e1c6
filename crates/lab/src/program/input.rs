//! The standard input of a program.

use std::io::{self, Read};

#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long it is waited for before the next look whether somebody interrupts.
#[cfg(unix)]
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Standard input, of which a read ends when it is interrupted.
#[cfg(unix)]
pub struct Input<'a> {
    /// Whether somebody interrupts.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// What a program reads.
pub trait Source: Read {
    /// Whether a read would not wait.
    fn is_ready(&mut self) -> bool {
        true
    }
}

impl Source for io::Empty {}
impl Source for &[u8] {}

#[cfg(unix)]
impl Source for Input<'_> {
    fn is_ready(&mut self) -> bool {
        poll(&mut [PollFd::new(&io::stdin(), PollFlags::IN)], Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
            != Ok(0)
    }
}

#[cfg(unix)]
impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Not what the standard library buffers, of which poll(2) does not know.
        let input = io::stdin();
        while !(self.interrupted)() {
            match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&LOOK)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                _ => return Ok(rustix::io::read(&input, &mut *buffer)?),
            }
        }
        Err(io::ErrorKind::Interrupted.into())
    }
}
