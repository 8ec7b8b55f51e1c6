//! The ways to pass a token from one task to the next.

mod condvar;
mod descriptor;
mod eventfd;
pub(crate) mod futex;
mod signal;

pub use condvar::Condvar;
pub use descriptor::{Pipe, Socketpair};
pub use eventfd::Eventfd;
pub use futex::Futex;
pub use signal::Signal;

use std::os::fd::RawFd;
use tollgate_measure::Refusal;

/// The kind of the tasks of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tasks {
    /// Threads of this process.
    Threads,
    /// Processes, forked from this one.
    Processes,
}

/// The result of one step: done, or the error number.
pub type Passed = Result<(), i32>;

/// The end of a link that a token is put into. Moved to its task before use.
pub trait Give: Send + 'static {
    /// Passes the token and wakes the task at the other end.
    ///
    /// # Errors
    /// The system's error number.
    fn give(&mut self) -> Passed;

    /// The descriptor that the end needs in its process.
    fn descriptor(&self) -> Option<RawFd> {
        None
    }
}

/// The end of a link that a token comes out of. Moved to its task before use.
pub trait Take: Send + 'static {
    /// Called once, on the task that will take, before anything is given. Must be async-signal-safe:
    /// it runs in a child after fork.
    ///
    /// # Errors
    /// The system's error number.
    fn enter(&mut self) -> Passed {
        Ok(())
    }

    /// Sleeps until the token is there and takes it. `EINTR` leaves the link as it was.
    ///
    /// # Errors
    /// The system's error number; `EPIPE` when the giving side is gone.
    fn take(&mut self) -> Passed;

    /// The descriptor that the end needs in its process.
    fn descriptor(&self) -> Option<RawFd> {
        None
    }
}

/// The two link ends of one task.
pub struct End<M: Medium> {
    /// Where the token comes from.
    pub take: M::Take,
    /// Where it goes.
    pub give: M::Give,
}

/// A way to pass a token.
pub trait Medium: Sized + 'static {
    /// The giving end of a link.
    type Give: Give;
    /// The taking end of a link.
    type Take: Take;

    /// The ends of a ring of `len` tasks: end `i` gives to end `i + 1`, and the last to the first. The iterator makes
    /// ends one by one, so a caller that passes each to its task at once never holds more than a few descriptors.
    ///
    /// # Errors
    /// The system's refusal, or that this medium does not work between such tasks.
    fn ring(len: usize, tasks: Tasks) -> Result<Ends<Self>, Refusal>;
}

/// The ends of a ring, in the order of its tasks.
pub type Ends<M> = Box<dyn Iterator<Item = Result<End<M>, Refusal>>>;

/// The ring of `len` tasks in which task `i` gives into the link that `link(i)` makes.
fn closed<M: Medium>(
    len: usize,
    mut link: impl FnMut(usize) -> Result<(M::Give, M::Take), Refusal> + 'static,
) -> Result<Ends<M>, Refusal> {
    let Some(last) = len.checked_sub(1) else { return Ok(Box::new(std::iter::empty())) };
    // The last link is made first: the first task takes from it, and its other end waits for the last.
    let (give, take) = link(last)?;
    let (mut closing, mut before) = (Some(give), Some(take));
    Ok(Box::new((0..len).map(move |at| {
        let (give, after) = match if at == last { closing.take() } else { None } {
            Some(give) => (give, None),
            None => link(at).map(|(give, take)| (give, Some(take)))?,
        };
        let take = std::mem::replace(&mut before, after);
        let take = take.ok_or_else(|| Refusal::Failed("a link of the ring is missing".into()))?;
        Ok(End { take, give })
    })))
}

/// The error number of the call that just failed. Allocates nothing.
pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
