//! Events of the kernel stamped by a BPF program on their own tracepoint, for processes that may load one (CAP_BPF and
//! CAP_PERFMON).

use super::event::ahead;
use super::program::{HEAD, STAMP, stamp_events};
use super::{Anchor, KernelStamp, Mapping, Stamper, Taken};
use crate::bpf::RawTracepoint;
use crate::clock::monotonic_ns;
use crate::refusal::Refusal;
use std::ffi::CStr;
use std::sync::atomic::Ordering;

/// Stamps that fit between two calls of [`Stamper::take`].
const ROOM: usize = 1024;
const BYTES: usize = HEAD + ROOM * STAMP;

/// Which event is stamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracedEvent {
    /// A page fault of user mode just after the entry, earlier and with less added than a software event; its address is
    /// that which faulted (arch/x86/include/asm/trace/exceptions.h).
    Fault,
    /// A task is about to be woken; its address is the task's in the kernel (include/trace/events/sched.h).
    Waking,
    /// A CPU switches to another task; its address is that task's in the kernel (include/trace/events/sched.h).
    Switch,
}

impl TracedEvent {
    /// The tracepoint, and which of its arguments is the address.
    fn place(self) -> (&'static CStr, i16) {
        match self {
            Self::Fault => (c"page_fault_user", 0),
            Self::Waking => (c"sched_waking", 0),
            Self::Switch => (c"sched_switch", 2),
        }
    }
}

/// Events with an address in a range, on all CPUs, stamped while it is on. Attaching waits for the kernel's readers, up to
/// fifteen milliseconds, so switch it on seldom.
pub struct Tracepoint {
    point: RawTracepoint,
    /// The kernel stamps with CLOCK_MONOTONIC: a moment known on both of its clocks, when it was switched on.
    since: Option<Anchor>,
    mapping: Option<Mapping>,
    /// Nanoseconds by which this time namespace is ahead of the kernel's own clock.
    ahead: i64,
}

impl Tracepoint {
    /// Loads the program for addresses from `start` on, `bytes` of them, switched off.
    ///
    /// # Errors
    /// A skip where the kernel refuses it.
    pub fn open(event: TracedEvent, start: usize, bytes: usize) -> Result<Self, Refusal> {
        let (name, argument) = event.place();
        let point = RawTracepoint::load(name, BYTES, |map| stamp_events(map, argument, ROOM as i32))?;
        point.word(1).store(start as u64, Ordering::Relaxed);
        point.word(2).store(bytes as u64, Ordering::Relaxed);
        Ok(Self { point, since: None, mapping: None, ahead: ahead() })
    }
}

impl Stamper for Tracepoint {
    fn enable(&mut self) -> Result<(), Refusal> {
        self.point.attach()?;
        self.point.word(0).store(0, Ordering::Relaxed);
        self.since = Anchor::now(monotonic_ns);
        Ok(())
    }

    fn disable(&mut self) -> Result<(), Refusal> {
        let until = Anchor::now(monotonic_ns);
        self.point.detach();
        self.mapping = self.since.take().zip(until).and_then(|(since, until)| Mapping::between(since, until));
        Ok(())
    }

    fn take(&mut self) -> Taken {
        let seen = self.point.word(0).swap(0, Ordering::Acquire) as usize;
        let Some(mapping) = self.mapping.take() else {
            return Taken { broken: seen > 0, ..Taken::default() };
        };
        let stamp = |at: usize| {
            let word = |offset| self.point.word((HEAD + at * STAMP) / 8 + offset).load(Ordering::Relaxed);
            let ns = word(0).wrapping_add_signed(self.ahead);
            KernelStamp { ns: mapping.ns(ns).round() as u64, address: word(1) }
        };
        let stamps = (0..seen.min(ROOM)).map(stamp).collect();
        Taken { stamps, lost: seen.saturating_sub(ROOM) as u64, broken: false }
    }
}
