//! Tries a system call in a child process, because some filters end the process that makes a forbidden call
//! (a systemd unit with `SystemCallFilter=` does, unless `SystemCallErrorNumber=` is set).

use std::io;

/// The result of trying a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It did what it should.
    Works,
    /// It did nothing, without an error.
    Idle,
    /// It was refused with this error number.
    Refused(i32),
    /// A filter ends the process that makes it.
    Killed,
}

impl Attempt {
    /// The rest of a sentence that begins with the name of the call; `None` when it works.
    #[must_use]
    pub fn words(self) -> Option<String> {
        match self {
            Self::Works => None,
            Self::Idle => Some("does nothing".into()),
            Self::Refused(errno) => Some(format!("is refused: {}", io::Error::from_raw_os_error(errno))),
            Self::Killed => Some("ends the process that calls it (SIGSYS)".into()),
        }
    }
}

/// A child's exit status if the call did nothing; no error has this number.
pub(super) const IDLE: u8 = 254;

/// Runs `act` in a child process and waits for it. `act` answers 0, `IDLE` or an error number, and must only
/// make system calls. `None` if fork fails.
pub fn in_child(act: fn() -> u8) -> Option<Attempt> {
    // SAFETY: the child makes system calls only and ends without returning.
    let child = unsafe { libc::fork() };
    match child {
        -1 => None,
        0 => {
            // No core file is written when a filter ends it.
            // SAFETY: an option that takes a number, and the end of the process.
            unsafe {
                libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
                libc::_exit(act().into())
            }
        }
        child => {
            let mut status = 0;
            loop {
                // SAFETY: the status is valid for writing; the child is ours.
                if unsafe { libc::waitpid(child, &mut status, 0) } == child {
                    break;
                }
                if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                    return None;
                }
            }
            if libc::WIFSIGNALED(status) {
                return Some(Attempt::Killed);
            }
            Some(match libc::WEXITSTATUS(status) {
                0 => Attempt::Works,
                code if code == i32::from(IDLE) => Attempt::Idle,
                code => Attempt::Refused(code),
            })
        }
    }
}

/// The answer for what a system call returned.
pub(super) fn answer(result: libc::c_long) -> u8 {
    if result < 0 { errno() } else { 0 }
}

/// The last error, as a child may answer it.
pub(super) fn errno() -> u8 {
    io::Error::last_os_error().raw_os_error().and_then(|code| code.try_into().ok()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_answers_by_its_status() {
        assert_eq!(in_child(|| 0), Some(Attempt::Works));
        assert_eq!(in_child(|| IDLE), Some(Attempt::Idle));
        assert_eq!(in_child(|| libc::EPERM as u8), Some(Attempt::Refused(libc::EPERM)));
        // SAFETY: ends the calling process.
        assert_eq!(in_child(|| unsafe { libc::abort() }), Some(Attempt::Killed));
    }

    #[test]
    fn what_does_not_work_has_words() {
        assert_eq!(Attempt::Works.words(), None);
        assert!(Attempt::Refused(libc::EPERM).words().unwrap().contains("not permitted"));
        assert!(Attempt::Killed.words().unwrap().contains("SIGSYS"));
    }
}
