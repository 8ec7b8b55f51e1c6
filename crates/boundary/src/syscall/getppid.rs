//! The cheapest system call that does something: it reads one number of the task.

use super::{ROW, raw, seccomp};
use crate::mechanism::Mechanism;
use std::mem;
use tollgate_measure::{Crossing, Facts, Meta, Refusal};
use tollgate_record::family::ProbeAsked;

pub(crate) static GETPPID: Mechanism = Mechanism {
    meta: &Meta {
        id: "syscall/getppid",
        what: "system call getppid, which no library answers from a copy",
        ..ROW
    },
    open: |_, _| {
        // SAFETY: getppid has no arguments and changes nothing.
        let ask = || unsafe { raw::call0(libc::SYS_getppid) };
        Ok(Box::new(ParentCalls::new(ask, || parent() as isize)))
    },
};

/// The parent's number, as the C library gives it.
pub(super) fn parent() -> libc::pid_t {
    // SAFETY: getppid has no arguments and cannot fail.
    unsafe { libc::getppid() }
}

/// System calls that `ask` for the number of the parent.
pub(super) struct ParentCalls<N, F> {
    ask: F,
    known: fn() -> N,
    parent: N,
    right: u64,
}

impl<N, F> ParentCalls<N, F> {
    pub(super) fn new(ask: F, known: fn() -> N) -> Self {
        Self { ask, known, parent: known(), right: 0 }
    }
}

impl<N: Copy + PartialEq, F: Fn() -> N> Crossing for ParentCalls<N, F> {
    fn prepare(&mut self, _: u64) -> Result<(), Refusal> {
        // The parent may have ended since; then another process takes its place.
        self.parent = (self.known)();
        Ok(())
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let (parent, mut right) = (self.parent, 0);
        for _ in 0..passes {
            right += u64::from((self.ask)() == parent);
        }
        self.right += right;
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.right));
        Ok(())
    }

    fn facts(&self) -> Facts {
        Facts::of_probe(ProbeAsked::default(), seccomp())
    }
}

#[cfg(test)]
mod tests {
    use super::{ParentCalls, raw};
    use tollgate_measure::Crossing;

    #[test]
    fn another_number_than_the_parents_is_not_counted() {
        // SAFETY: getppid has no arguments and changes nothing.
        let ask = || unsafe { raw::call0(libc::SYS_getppid) };
        let mut open = ParentCalls::new(ask, || -5);
        open.cross(10).unwrap();
        let mut counts = [None];
        open.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(0)]);
    }
}
