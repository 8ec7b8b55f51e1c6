//! A system call that does not exist: entry, check of the number, return.

use super::{ROW, raw, seccomp};
use crate::mechanism::Mechanism;
use std::mem;
use tollgate_measure::{Crossing, Facts, Meta, Refusal};
use tollgate_record::family::ProbeAsked;

/// Far above every number in use (about 500 in 2026, 547 with x32) and below the bits that have a meaning on some
/// architectures. Not -1, which has a meaning for tracers.
pub(crate) const NUMBER: libc::c_long = 0x3fff;

pub(crate) static INVALID: Mechanism = Mechanism {
    meta: &Meta {
        id: "syscall/invalid",
        what: "system call with a number that no call has: entry, refusal (ENOSYS) and return",
        ..ROW
    },
    open: |_, _| {
        let mut open = InvalidCalls { number: NUMBER, right: 0 };
        open.cross(1)?;
        if mem::take(&mut open.right) != 1 {
            return Err(Refusal::skip(
                "an unused system call number is not answered with ENOSYS: something filters system calls",
                "run without the seccomp filter or emulator that answers in the kernel's place",
            ));
        }
        Ok(Box::new(open))
    },
};

struct InvalidCalls {
    number: libc::c_long,
    right: u64,
}

impl Crossing for InvalidCalls {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let (number, mut right) = (self.number, 0);
        for _ in 0..passes {
            // SAFETY: there is no such call, so it does nothing.
            let result = unsafe { raw::call0(number) };
            right += u64::from(result == -(libc::ENOSYS as isize));
        }
        self.right += right;
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.right));
        Ok(())
    }

    fn facts(&self) -> Facts {
        let asked = ProbeAsked { number: Some(self.number), ..ProbeAsked::default() };
        Facts::of_probe(asked, seccomp())
    }
}

#[cfg(test)]
mod tests {
    use super::InvalidCalls;
    use tollgate_measure::Crossing;

    #[test]
    fn a_call_that_exists_is_not_counted() {
        let mut open = InvalidCalls { number: libc::SYS_getpid, right: 0 };
        open.cross(10).unwrap();
        let mut counts = [None];
        open.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(0)]);
    }
}
