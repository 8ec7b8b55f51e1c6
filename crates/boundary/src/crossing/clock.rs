//! The system call `clock_gettime` in two parts: the kernel reads the clock in the middle and returns the time.

use crate::mechanism::{Apart, Cuts, Mechanism};
use crate::syscall::{self, raw};
use tollgate_measure::clock::Now;
use tollgate_measure::dissection::{Dissection, Part, Term};
use tollgate_measure::stamps::Span;
use tollgate_measure::{Probe, Refusal};
use tollgate_record::{Evidence, phase};

pub(super) static SPLIT: Mechanism = Mechanism {
    meta: &syscall::CLOCK_META,
    open: |_, site| Ok(Box::new(Apart { plain: syscall::CLOCK_GETTIME.open(site)?, cuts: ClockCuts })),
};

struct ClockCuts;

/// The parts of the call; `first` is the lane of the entry.
pub(super) fn parts(first: usize) -> Vec<Part> {
    vec![
        Part::lane(phase::ENTRY, Evidence::KernelTimestamp, first),
        Part::lane(phase::RETURN, Evidence::KernelTimestamp, first + 1),
    ]
}

/// One stamped call: before, in the kernel, after. `None` if the kernel refuses it.
#[inline(always)]
pub(super) fn stamped(now: Now) -> Option<(u64, u64, u64)> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let place = (&raw mut time).expose_provenance();
    let before = now();
    // SAFETY: `place` is the address of `time`, to which the kernel writes.
    let result = unsafe { raw::call2(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC_RAW as usize, place) };
    let after = now();
    // The compiler does not see the kernel's write.
    // SAFETY: a plain read of our own variable.
    let time = unsafe { std::ptr::read_volatile(&time) };
    (result == 0).then(|| (before, time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64, after))
}

/// Adds one crossing to the lanes of entry and return.
pub(super) fn cut(stamps: (u64, u64, u64), lanes: &mut [Vec<Span>]) {
    let (before, inside, after) = stamps;
    if let [into, out] = lanes {
        into.push(Span::into_kernel(before, inside));
        out.push(Span::out_of_kernel(inside, after));
    }
}

impl<P: ?Sized> Cuts<P> for ClockCuts {
    fn dissection(&self) -> Dissection {
        let (total, instrumented) = (Term::Batches, Vec::new());
        Dissection { lanes: 2, parts: parts(0), total, instrumented, mapped: vec![(0, 1), (1, -1)] }
    }

    fn dissect(&mut self, _: &mut P, count: u32, now: Now, lanes: &mut [Vec<Span>]) -> Result<(), Refusal> {
        for _ in 0..count {
            let stamps = stamped(now).ok_or_else(|| Refusal::Failed("clock_gettime was refused".into()))?;
            cut(stamps, lanes);
        }
        Ok(())
    }
}
