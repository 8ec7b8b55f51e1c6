//! io_uring: waiting for a descriptor through a ring, and messages from ring to ring.

use super::descriptor::{Wait, Wire, two_threads};
use crate::syscall::io_uring_refusal;
use crate::task::Tasks;
use crate::task::media::{End, Ends, Give, Medium, Passed, Take};
use io_uring::{Builder, IoUring, opcode, squeue, types};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use tollgate_measure::Refusal;

/// Entries of each ring: one operation is in flight at a time.
const ENTRIES: u32 = 4;

/// How a ring is set up.
pub(super) trait Setup: Default + Send + 'static {
    fn of(builder: &mut Builder);
}

fn ring<S: Setup>() -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    S::of(&mut builder);
    builder.build(ENTRIES)
}

/// Whether this host makes such a ring.
fn check<S: Setup>(needs: &str) -> Result<(), Refusal> {
    match ring::<S>() {
        Ok(_) => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            Err(Refusal::skip("this kernel's io_uring has no such mode", needs))
        }
        Err(error) => Err(io_uring_refusal(&error)),
    }
}

/// Submits the operation and waits for its completion; the operation's result.
#[inline]
fn complete(ring: &mut IoUring, entry: &squeue::Entry) -> Result<i32, i32> {
    // SAFETY: what the operation refers to outlives it: this function returns when it has completed.
    if unsafe { ring.submission().push(entry) }.is_err() {
        return Err(libc::EBUSY);
    }
    let mut entered = ring.submit_and_wait(1);
    loop {
        if let Some(done) = ring.completion().next() {
            return Ok(done.result());
        }
        // A signal ends the wait and leaves the operation in flight, so the wait continues.
        match entered.as_ref().map_err(io::Error::raw_os_error) {
            Ok(_) | Err(Some(libc::EINTR)) => entered = ring.submit_and_wait(1),
            Err(error) => return Err(error.unwrap_or(libc::EIO)),
        }
    }
}

fn passed(result: i32, wanted: impl Fn(i32) -> bool) -> Passed {
    match result {
        error @ ..0 => Err(-error),
        result if wanted(result) => Ok(()),
        _ => Err(libc::EBADMSG),
    }
}

/// A ring as it is by default.
#[derive(Default)]
pub(super) struct Plain;

impl Setup for Plain {
    fn of(_: &mut Builder) {}
}

/// `IORING_OP_POLL_ADD`, then a system call to receive.
#[derive(Default)]
pub(super) struct Polled(Option<IoUring>);

impl Wait for Polled {
    fn check() -> Result<(), Refusal> {
        check::<Plain>("Linux 5.1 or newer")
    }

    fn enter(&mut self, _: RawFd) -> Passed {
        self.0 = Some(ring::<Plain>().map_err(number)?);
        Ok(())
    }

    #[inline]
    fn take<W: Wire>(&mut self, input: RawFd) -> Passed {
        let ring = self.0.as_mut().ok_or(libc::EBADF)?;
        let poll = opcode::PollAdd::new(types::Fd(input), libc::POLLIN as u32).build();
        passed(complete(ring, &poll)?, |ready| ready & i32::from(libc::POLLIN) != 0)?;
        W::get(input)
    }
}

/// `IORING_OP_READ`.
pub(super) type Read = Reading<Plain>;
/// The same, with completions handled by the task when it asks for them.
pub(super) type Deferred = Reading<Defer>;
/// The same, submitted by a kernel thread.
pub(super) type Submitted = Reading<SubmissionThread>;

/// DEFER_TASKRUN, which needs SINGLE_ISSUER.
#[derive(Default)]
pub(super) struct Defer;

impl Setup for Defer {
    fn of(builder: &mut Builder) {
        builder.setup_single_issuer().setup_defer_taskrun();
    }
}

/// SQPOLL: the milliseconds for which a kernel thread polls for submissions before it sleeps.
#[derive(Default)]
pub(super) struct SubmissionThread;

const SUBMISSION_IDLE_MS: u32 = 1;

impl Setup for SubmissionThread {
    fn of(builder: &mut Builder) {
        builder.setup_sqpoll(SUBMISSION_IDLE_MS);
    }
}

#[derive(Default)]
pub(super) struct Reading<S> {
    ring: Option<IoUring>,
    setup: S,
}

impl<S: Setup> Wait for Reading<S> {
    fn check() -> Result<(), Refusal> {
        check::<S>("Linux 6.1 or newer")
    }

    fn enter(&mut self, _: RawFd) -> Passed {
        let _ = &self.setup;
        self.ring = Some(ring::<S>().map_err(number)?);
        Ok(())
    }

    #[inline]
    fn take<W: Wire>(&mut self, input: RawFd) -> Passed {
        let ring = self.ring.as_mut().ok_or(libc::EBADF)?;
        let mut token = 0_u64;
        let read = opcode::Read::new(types::Fd(input), (&raw mut token).cast(), 8).build();
        passed(complete(ring, &read)?, |bytes| bytes == 8)
    }
}

fn number(error: io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// A completion that one task posts into the other's ring (`IORING_OP_MSG_RING`).
pub(super) enum MessageRing {}

pub(super) struct Poster {
    own: IoUring,
    /// The other's ring.
    to: OwnedFd,
}

pub(super) struct Collector(IoUring);

/// The message's name, which the completion repeats.
const MESSAGE: u64 = 0x746f_6c6c;

impl Medium for MessageRing {
    type Give = Poster;
    type Take = Collector;

    fn ring(len: usize, tasks: Tasks) -> Result<Ends<Self>, Refusal> {
        two_threads(len, tasks)?;
        let ring = || ring::<Plain>().map_err(|error| io_uring_refusal(&error));
        let inboxes = [ring()?, ring()?];
        let mut posters = Vec::new();
        for to in inboxes.iter().rev() {
            // SAFETY: the ring lives and keeps its descriptor.
            let to = unsafe { BorrowedFd::borrow_raw(to.as_raw_fd()) };
            let to = to.try_clone_to_owned().map_err(|error| Refusal::of("dup", &error))?;
            posters.push(Poster { own: ring()?, to });
        }
        let mut collectors = inboxes.map(Collector);
        // The kernel may know io_uring and not this operation.
        let passed = posters.iter_mut().zip(collectors.iter_mut().rev());
        for (poster, collector) in passed {
            match poster.give().and_then(|()| collector.take()) {
                Ok(()) => {}
                Err(libc::EINVAL | libc::EOPNOTSUPP) => {
                    return Err(Refusal::skip(
                        "this kernel's io_uring has no MSG_RING",
                        "Linux 5.18 or newer",
                    ));
                }
                Err(error) => return Err(io_uring_refusal(&io::Error::from_raw_os_error(error))),
            }
        }
        let ends = collectors.into_iter().zip(posters).map(|(take, give)| Ok(End { take, give }));
        Ok(Box::new(ends))
    }
}

impl Give for Poster {
    #[inline]
    fn give(&mut self) -> Passed {
        let post = opcode::MsgRingData::new(types::Fd(self.to.as_raw_fd()), 0, MESSAGE, None).build();
        passed(complete(&mut self.own, &post)?, |result| result == 0)
    }
}

impl Take for Collector {
    #[inline]
    fn take(&mut self) -> Passed {
        loop {
            if let Some(done) = self.0.completion().next() {
                return if done.user_data() == MESSAGE {
                    passed(done.result(), |_| true)
                } else {
                    Err(libc::EBADMSG)
                };
            }
            self.0.submit_and_wait(1).map_err(number)?;
        }
    }
}
