//! `spawn/fork`: a process forked, which exits at once, and waited for.

use super::{ROW, exited_with, nursery};
use crate::mechanism::Mechanism;
use crate::task::process;
use std::io;
use tollgate_measure::{Claim, Meta};

/// Not zero, so that it cannot occur by chance.
const STATUS: i32 = 42;

pub(crate) static FORK: Mechanism = Mechanism {
    meta: &Meta {
        id: "spawn/fork",
        what: "a small process forks, its child exits at once and is waited for",
        proof: &[Claim::exact("exits-per-crossing")],
        ..ROW
    },
    open: |_, site| {
        // SAFETY: `one` refers to nothing and makes three system calls.
        let open = unsafe { nursery::Nursery::open("fork", site.cpu, None, one) }?;
        Ok(Box::new(open))
    },
};

#[inline]
fn one() -> io::Result<bool> {
    // SAFETY: the child only exits.
    match unsafe { process::clone(libc::SIGCHLD) } {
        // SAFETY: ends the child without running anything of the parent's.
        0 => unsafe { libc::_exit(STATUS) },
        -1 => Err(io::Error::last_os_error()),
        child => exited_with(child, STATUS),
    }
}
