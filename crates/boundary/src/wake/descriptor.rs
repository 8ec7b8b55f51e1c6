//! A token through a descriptor, and the ways to wait for it.

use crate::task::media::{End, Ends, Give, Medium, Passed, Take, errno};
use crate::task::{Tasks, refusal};
use rustix::event::{EventfdFlags, eventfd};
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use tollgate_measure::Refusal;

pub(super) type Fd = Arc<OwnedFd>;

/// The descriptors of one task.
pub(super) struct Ports {
    pub(super) input: Fd,
    pub(super) output: Fd,
}

impl Ports {
    /// Two ends that are used both ways, as of a socket.
    pub(super) fn of_ends(one: OwnedFd, other: OwnedFd) -> [Self; 2] {
        [one, other].map(Arc::new).map(|fd| Self { input: Arc::clone(&fd), output: fd })
    }

    /// Two objects, one for each direction.
    pub(super) fn of_objects(there: OwnedFd, back: OwnedFd) -> [Self; 2] {
        let (there, back) = (Arc::new(there), Arc::new(back));
        [Self { input: Arc::clone(&back), output: Arc::clone(&there) }, Self { input: there, output: back }]
    }
}

/// A channel of the token.
pub(super) trait Wire: 'static {
    /// The descriptors of the two tasks; they do not block if `waited` is by readiness.
    fn pair() -> Result<[Ports; 2], Refusal>;

    /// Sends a token.
    #[inline]
    fn put(output: RawFd) -> Passed {
        let token = 1_u64;
        // SAFETY: eight bytes of a local are read.
        match unsafe { libc::write(output, (&raw const token).cast(), 8) } {
            8 => Ok(()),
            _ => Err(errno()),
        }
    }

    /// Receives a token.
    #[inline]
    fn get(input: RawFd) -> Passed {
        let mut token = 0_u64;
        // SAFETY: eight bytes are written to a local of eight bytes.
        match unsafe { libc::read(input, (&raw mut token).cast(), 8) } {
            8 => Ok(()),
            // The other end is closed.
            0 => Err(libc::EPIPE),
            _ => Err(errno()),
        }
    }
}

/// How a task waits for a token.
pub(super) trait Wait: Default + Send + 'static {
    /// Whether this host supports this way to wait, checked before a thread needs it.
    fn check() -> Result<(), Refusal> {
        Ok(())
    }

    /// Called once, on the task that waits.
    fn enter(&mut self, input: RawFd) -> Passed {
        let _ = input;
        Ok(())
    }

    /// Sleeps until a token is there and receives it.
    fn take<W: Wire>(&mut self, input: RawFd) -> Passed;
}

/// In the receiving call itself.
#[derive(Default)]
pub(super) struct Blocking;

impl Wait for Blocking {
    #[inline]
    fn take<W: Wire>(&mut self, input: RawFd) -> Passed {
        W::get(input)
    }
}

/// Two tasks that pass a token through `W` and wait by `H`.
pub(super) struct Through<W, H>(PhantomData<fn() -> (W, H)>);

pub(super) struct Output<W> {
    fd: Fd,
    wire: PhantomData<fn() -> W>,
}

pub(super) struct Input<W, H> {
    fd: Fd,
    how: H,
    wire: PhantomData<fn() -> W>,
}

impl<W: Wire, H: Wait> Medium for Through<W, H> {
    type Give = Output<W>;
    type Take = Input<W, H>;

    fn ring(len: usize, tasks: Tasks) -> Result<Ends<Self>, Refusal> {
        two_threads(len, tasks)?;
        H::check()?;
        let end = |ports: Ports| End {
            take: Input { fd: ports.input, how: H::default(), wire: PhantomData },
            give: Output { fd: ports.output, wire: PhantomData },
        };
        Ok(Box::new(W::pair()?.map(end).map(Ok).into_iter()))
    }
}

/// The media of this family connect two threads.
pub(super) fn two_threads(len: usize, tasks: Tasks) -> Result<(), Refusal> {
    match (len, tasks) {
        (2, Tasks::Threads) => Ok(()),
        _ => Err(Refusal::Failed(format!("{len} {tasks:?} over a medium for two threads"))),
    }
}

impl<W: Wire> Give for Output<W> {
    #[inline]
    fn give(&mut self) -> Passed {
        W::put(self.fd.as_raw_fd())
    }
}

impl<W: Wire, H: Wait> Take for Input<W, H> {
    fn enter(&mut self) -> Passed {
        self.how.enter(self.fd.as_raw_fd())
    }

    #[inline]
    fn take(&mut self) -> Passed {
        self.how.take::<W>(self.fd.as_raw_fd())
    }
}

/// A count of one through an eventfd.
pub(super) enum Count {}

impl Wire for Count {
    fn pair() -> Result<[Ports; 2], Refusal> {
        let make = || eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| refusal("eventfd", &error.into()));
        Ok(Ports::of_objects(make()?, make()?))
    }
}
