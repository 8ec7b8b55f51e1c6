//! `clock_gettime` as a system call, past the vDSO.

use super::{ROW, raw, seccomp};
use crate::mechanism::Mechanism;
use std::mem;
use tollgate_measure::{Crossing, Facts, Meta, Refusal};
use tollgate_record::family::ProbeAsked;

/// The clock that `vdso/clock_gettime` reads, too.
const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC_RAW;

pub(crate) static META: Meta = Meta {
    id: "syscall/clock_gettime",
    what: "system call clock_gettime, past the vDSO that would answer it in user mode",
    ..ROW
};

pub(crate) static CLOCK_GETTIME: Mechanism = Mechanism {
    meta: &META,
    open: |_, _| {
        let mut open = ClockCalls { last: (0, 0), right: 0 };
        open.cross(1)?;
        if mem::take(&mut open.right) != 1 {
            return Err(Refusal::skip(
                "the kernel refuses the system call clock_gettime",
                "run without the seccomp filter that refuses it",
            ));
        }
        Ok(Box::new(open))
    },
};

struct ClockCalls {
    last: (libc::time_t, libc::c_long),
    right: u64,
}

impl Crossing for ClockCalls {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let place = (&raw mut now).expose_provenance();
        let (mut last, mut right) = (self.last, 0);
        for _ in 0..passes {
            // SAFETY: `place` is the address of `now`, to which the kernel writes the time.
            let result = unsafe { raw::call2(libc::SYS_clock_gettime, CLOCK as usize, place) };
            let time = (now.tv_sec, now.tv_nsec);
            right += u64::from(result == 0 && time >= last);
            last = time;
        }
        self.last = last;
        self.right += right;
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.right));
        Ok(())
    }

    fn facts(&self) -> Facts {
        let asked = ProbeAsked { clock: Some("CLOCK_MONOTONIC_RAW".into()), ..ProbeAsked::default() };
        Facts::of_probe(asked, seccomp())
    }
}

#[cfg(test)]
mod tests {
    use super::ClockCalls;
    use tollgate_measure::Crossing;

    #[test]
    fn time_that_goes_back_is_not_a_right_answer() {
        let mut open = ClockCalls { last: (libc::time_t::MAX, 0), right: 0 };
        open.cross(3).unwrap();
        let mut counts = [None];
        open.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(2)], "the first of the three is earlier than the end of time");
    }
}
