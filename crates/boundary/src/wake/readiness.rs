//! Waiting until a descriptor is ready, by poll or epoll, and receiving then.

use super::descriptor::{Wait, Wire};
use crate::task::media::{Passed, errno};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// `poll` of one descriptor.
#[derive(Default)]
pub(super) struct Poll;

impl Wait for Poll {
    #[inline]
    fn take<W: Wire>(&mut self, input: RawFd) -> Passed {
        let mut of = libc::pollfd { fd: input, events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which lives.
        match unsafe { libc::poll(&mut of, 1, -1) } {
            1 => W::get(input),
            _ => Err(errno()),
        }
    }
}

/// Ready as long as there is something.
pub(super) type Level = Epoll<0>;
/// Ready when something arrives.
pub(super) type Edge = Epoll<{ libc::EPOLLET as u32 }>;
/// Ready once, until it is armed again.
pub(super) type OneShot = Epoll<{ libc::EPOLLONESHOT as u32 }>;

/// An epoll instance with one descriptor and these flags.
#[derive(Default)]
pub(super) struct Epoll<const FLAGS: u32>(Option<OwnedFd>);

impl<const FLAGS: u32> Epoll<FLAGS> {
    fn control(&self, operation: libc::c_int, input: RawFd) -> Passed {
        let Some(epoll) = &self.0 else { return Err(libc::EBADF) };
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32 | FLAGS, u64: 0 };
        // SAFETY: the event lives.
        match unsafe { libc::epoll_ctl(epoll.as_raw_fd(), operation, input, &mut event) } {
            0 => Ok(()),
            _ => Err(errno()),
        }
    }
}

impl<const FLAGS: u32> Wait for Epoll<FLAGS> {
    fn enter(&mut self, input: RawFd) -> Passed {
        // SAFETY: integers only; the descriptor is new and nobody else's.
        self.0 = match unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) } {
            -1 => return Err(errno()),
            // SAFETY: as above.
            fd => Some(unsafe { OwnedFd::from_raw_fd(fd) }),
        };
        self.control(libc::EPOLL_CTL_ADD, input)
    }

    #[inline]
    fn take<W: Wire>(&mut self, input: RawFd) -> Passed {
        let Some(epoll) = &self.0 else { return Err(libc::EBADF) };
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: there is room for one event.
        match unsafe { libc::epoll_wait(epoll.as_raw_fd(), &mut event, 1, -1) } {
            1 => W::get(input)?,
            _ => return Err(errno()),
        }
        if FLAGS == libc::EPOLLONESHOT as u32 { self.control(libc::EPOLL_CTL_MOD, input) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wake::descriptor::Count;

    /// Readiness after a token was sent but not received: again, no more, or not until it is armed.
    #[test]
    fn the_three_triggers_differ_in_what_they_report_twice() {
        fn reports<const FLAGS: u32>() -> Vec<i32> {
            let [own, other] = Count::pair().unwrap();
            let mut epoll = Epoll::<FLAGS>::default();
            epoll.enter(own.input.as_raw_fd()).unwrap();
            let ready = || {
                let mut event = libc::epoll_event { events: 0, u64: 0 };
                // SAFETY: there is room for one event.
                unsafe { libc::epoll_wait(epoll.0.as_ref().unwrap().as_raw_fd(), &mut event, 1, 0) }
            };
            let put = || Count::put(other.output.as_raw_fd()).unwrap();
            put();
            let mut found = vec![ready(), ready()];
            put();
            found.push(ready());
            found
        }
        assert_eq!(reports::<0>(), [1, 1, 1]);
        assert_eq!(reports::<{ libc::EPOLLET as u32 }>(), [1, 0, 1]);
        assert_eq!(reports::<{ libc::EPOLLONESHOT as u32 }>(), [1, 0, 0]);
    }

    #[test]
    fn a_one_shot_is_armed_again_by_each_take() {
        let [own, other] = Count::pair().unwrap();
        let mut epoll = OneShot::default();
        epoll.enter(own.input.as_raw_fd()).unwrap();
        for _ in 0..3 {
            Count::put(other.output.as_raw_fd()).unwrap();
            epoll.take::<Count>(own.input.as_raw_fd()).unwrap();
        }
    }
}
