//! `clock_gettime` as a system call, past the vDSO.

use super::{PROOF, raw, seccomp};
use std::mem;
use tollgate_measure::{Crossing, Facts, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::Per;
use tollgate_record::family::ProbeAsked;

/// The probe `syscall/clock_gettime`.
pub(crate) struct ClockGettime;

static META: Meta = Meta {
    id: "syscall/clock_gettime",
    what: "system call clock_gettime, past the vDSO that would answer it in user mode",
    per: Per::Syscall,
    crossings_per_pass: 1,
    placement: Placement::One,
    proof: &PROOF,
};

/// The clock that `vdso/clock_gettime` reads, too.
const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC_RAW;

impl Probe for ClockGettime {
    fn meta(&self) -> &Meta {
        &META
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        let mut open = ClockCalls { last: (0, 0), right: 0 };
        open.cross(1)?;
        if mem::take(&mut open.right) != 1 {
            return Err(Refusal::skip(
                "the kernel refuses the system call clock_gettime",
                "run without the seccomp filter that refuses it",
            ));
        }
        Ok(Box::new(open))
    }
}

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
