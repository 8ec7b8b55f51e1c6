//! `spawn/fork`: a process forked, which exits at once, and waited for.

use super::{Open, ROW, exited_with};
use std::{fs, io};
use tollgate_measure::{Claim, Crossing, Meta, Probe, Refusal, Site};

/// The row.
pub(crate) struct Fork;

static META: Meta = Meta {
    id: "spawn/fork",
    what: "a process is forked, exits at once and is waited for",
    proof: &[Claim::exact("exits_per_crossing")],
    ..ROW
};

/// Not zero, so that it cannot come about by chance.
const STATUS: i32 = 42;

impl Probe for Fork {
    fn meta(&self) -> &Meta {
        &META
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        let mut open = Open::tried("fork", one)?;
        open.params.extend(resident_kib().map(|size| ("resident_kib", size.to_string())));
        Ok(Box::new(open))
    }
}

/// How much memory this process has in its page tables, which is what a fork copies.
fn resident_kib() -> Option<u64> {
    let sizes = fs::read_to_string("/proc/self/statm").ok()?;
    // SAFETY: no memory is involved.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some(sizes.split(' ').nth(1)?.parse::<u64>().ok()? * page / 1024)
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
