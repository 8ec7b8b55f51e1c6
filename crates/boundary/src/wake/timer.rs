//! A timer that the sender arms and whose expiry the receiver reads.

use super::descriptor::{Ports, Wire};
use crate::task::media::{Passed, errno};
use crate::task::refusal;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::{io, ptr};
use tollgate_measure::Refusal;

/// A timerfd of CLOCK_MONOTONIC, armed with the shortest time.
pub(super) enum Timer {}

impl Wire for Timer {
    fn pair() -> Result<[Ports; 2], Refusal> {
        let make = || {
            // SAFETY: integers only; the descriptor is new and nobody else's.
            match unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) } {
                -1 => Err(refusal("timerfd_create", &io::Error::last_os_error())),
                // SAFETY: as above.
                fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
            }
        };
        Ok(Ports::of_objects(make()?, make()?))
    }

    #[inline]
    fn put(output: RawFd) -> Passed {
        let soon = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: libc::timespec { tv_sec: 0, tv_nsec: 1 },
        };
        // SAFETY: the new value lives; the old one is not asked for.
        match unsafe { libc::timerfd_settime(output, 0, &soon, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(errno()),
        }
    }
}
