//! A system call while a BPF program looks at all system calls: the raw tracepoint `sys_enter`.

use super::taxed::taxed;
use crate::mechanism::{Mechanism, Opened};
use crate::syscall::{INVALID, INVALID_NUMBER, ROW, raw};
use std::mem;
use tollgate_measure::bpf::CallCounter;
use tollgate_measure::{Claim, Crossing, Meta, Probe, Refusal};

pub(super) static RAW_TRACEPOINT: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/raw-tracepoint",
        what: "an invalid system call, which a BPF program on the raw tracepoint sys_enter counts",
        proof: &[Claim::exact("right-answers-per-syscall"), Claim::exact("hits-per-call")],
        ..ROW
    },
    open: |_, site| taxed(open(), INVALID.open(site), [2, 1]),
};

/// Another number than that of `syscall/invalid`: nobody else makes this call, so the program counts ours only.
const NUMBER: u32 = INVALID_NUMBER as u32 - 1;

fn open() -> Opened {
    Ok(Box::new(Counted { counter: CallCounter::open(NUMBER)?, right: 0 }))
}

/// The program taxes every system call of every process, so it is attached from the first batch of a visit to the visit's
/// proof only. Attaching takes milliseconds, too long for each batch.
struct Counted {
    counter: CallCounter,
    right: u64,
}

impl Crossing for Counted {
    fn prepare(&mut self, _: u64) -> Result<(), Refusal> {
        self.counter.attach()
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        // SAFETY: there is no such call, so it does nothing.
        let call = || unsafe { raw::call0(NUMBER.into()) };
        let right = |_| u64::from(call() == -(libc::ENOSYS as isize));
        self.right += (0..passes).map(right).sum::<u64>();
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.counter.detach();
        counts[0] = Some(mem::take(&mut self.right));
        counts[1] = Some(self.counter.count());
        Ok(())
    }
}
