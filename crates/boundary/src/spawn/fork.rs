//! `spawn/fork`: a process forked, which exits at once, and waited for.

use super::{Open, exited_with, meta};
use std::io;
use tollgate_measure::{Claim, Crossing, Meta, Probe, Refusal, Site};

/// The row.
pub(crate) struct Fork;

static META: Meta = meta(
    "spawn/fork",
    "a process is forked, exits at once and is waited for",
    &[Claim::exact("exits_per_crossing")],
);

/// Not zero, so that it cannot come about by chance.
const STATUS: i32 = 42;

impl Probe for Fork {
    fn meta(&self) -> &Meta {
        &META
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        Ok(Box::new(Open::tried("fork", one)?))
    }
}

#[inline]
fn one() -> io::Result<bool> {
    // SAFETY: the child does nothing but exit.
    match unsafe { libc::fork() } {
        // SAFETY: ends the child without running anything of the parent's.
        0 => unsafe { libc::_exit(STATUS) },
        -1 => Err(io::Error::last_os_error()),
        child => exited_with(child, STATUS),
    }
}
