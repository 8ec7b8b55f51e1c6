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
    open: |_, _| Ok(Box::new(GetppidCalls { parent: parent(), right: 0 })),
};

/// The parent's number, as the C library gives it.
fn parent() -> isize {
    // SAFETY: getppid has no arguments and cannot fail.
    unsafe { libc::getppid() as isize }
}

struct GetppidCalls {
    parent: isize,
    right: u64,
}

impl Crossing for GetppidCalls {
    fn prepare(&mut self, _: u64) -> Result<(), Refusal> {
        // The parent may have ended since; then another process takes its place.
        self.parent = parent();
        Ok(())
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let (parent, mut right) = (self.parent, 0);
        for _ in 0..passes {
            // SAFETY: getppid has no arguments and changes nothing.
            let result = unsafe { raw::call0(libc::SYS_getppid) };
            right += u64::from(result == parent);
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
    use super::GetppidCalls;
    use tollgate_measure::Crossing;

    #[test]
    fn another_number_than_the_parents_is_not_counted() {
        let mut open = GetppidCalls { parent: -5, right: 0 };
        open.cross(10).unwrap();
        let mut counts = [None];
        open.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(0)]);
    }
}
