//! Tasks that are created, run to their end and collected.

mod fork;
mod lean;
mod nursery;
mod posix_spawn;
mod thread;
mod tiny_program;

use crate::mechanism;
use crate::task::process;
use std::{io, mem};
use tollgate_measure::{Crossing, Meta, Refusal};
use tollgate_record::Per;

pub(crate) use {
    fork::FORK,
    posix_spawn::{POSIX_SPAWN, explain},
    thread::THREAD,
};

/// The defaults of the rows.
const ROW: Meta = Meta { per: Per::Task, ..mechanism::ROW };

/// An open probe that makes one task at a time and counts those that ended as they should.
struct Spawner<F> {
    what: &'static str,
    one: F,
    /// Tasks collected that ended as they should, not yet proved.
    collected: u64,
}

impl<F: FnMut() -> io::Result<bool>> Spawner<F> {
    /// Makes one task first, so that a refusal comes before anything is measured.
    fn tried(what: &'static str, one: F) -> Result<Self, Refusal> {
        let mut open = Self { what, one, collected: 0 };
        open.cross(1)?;
        match mem::take(&mut open.collected) {
            1 => Ok(open),
            _ => Err(Refusal::Failed(format!("{what}: the task did not end as it should"))),
        }
    }
}

impl<F: FnMut() -> io::Result<bool>> Crossing for Spawner<F> {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let (mut trouble, mut collected) = (Ok(()), 0);
        for _ in 0..passes {
            match (self.one)() {
                Ok(as_it_should) => collected += u64::from(as_it_should),
                Err(error) => {
                    trouble = Err(error);
                    break;
                }
            }
        }
        self.collected += collected;
        trouble.map_err(|error| crate::task::task_refusal(self.what, &error))
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.collected));
        Ok(())
    }
}

/// Waits for the child; true if it exited with `status`.
#[inline]
fn exited_with(pid: libc::pid_t, status: i32) -> io::Result<bool> {
    process::wait(pid).map(|how| libc::WIFEXITED(how) && libc::WEXITSTATUS(how) == status)
}
