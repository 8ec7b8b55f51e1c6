//! A row: a message there and one back, and the CPU time that both sides use for one.

use crate::mechanism::ROW;
use crate::task::{PingPong, Proof, Tasks, media::Medium};
use std::mem;
use tollgate_measure::{CounterReading, Crossing, Facts, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::{Per, counter};

/// A message over the medium `M`, and one back.
pub(super) struct Wake<M>(PingPong<M>);

impl<M: Medium> Wake<M> {
    /// Both threads on the measured CPU.
    pub(super) const fn here(id: &'static str, what: &'static str) -> Self {
        let meta = Meta { id, what, per: Per::Message, ..ROW };
        Self(PingPong::new(meta, Tasks::Threads, Proof::MessagesAndSwitches))
    }

    /// The other thread on the peer CPU.
    pub(super) const fn apart(id: &'static str, what: &'static str) -> Self {
        let meta = Meta { id, what, per: Per::Message, placement: Placement::Pair, ..ROW };
        Self(PingPong::new(meta, Tasks::Threads, Proof::Messages))
    }
}

impl<M: Medium> Probe for Wake<M> {
    fn meta(&self) -> &Meta {
        self.0.meta()
    }

    fn open(&self, site: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        let mut open = self.0.open(site)?;
        let messages = PASSES * u64::from(self.meta().crossings_per_pass);
        let used = used(open.as_mut())?.map(|ns| ns as f64 / messages as f64);
        // What was passed so far belongs to no batch.
        open.prove(&mut vec![None; self.meta().proof.len()])?;
        let reading = CounterReading {
            name: counter::CPU_TIME.into(),
            per_crossing: used.ok_or_else(|| "the system shows no CPU time of threads".to_owned()),
        };
        Ok(Box::new(OpenWake { open, facts: Facts { counted: vec![reading], ..Facts::default() } }))
    }
}

/// Passes of which the CPU time is taken.
const PASSES: u64 = 20;

/// Nanoseconds of CPU time that all threads of this process use for the passes.
fn used(open: &mut dyn Crossing) -> Result<Option<u64>, Refusal> {
    open.prepare(PASSES)?;
    // The span of all threads contains this thread's, so that the others' time is never negative.
    let all_before = cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID);
    let own_before = cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID);
    open.cross(PASSES)?;
    let own = cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID);
    // The kernel adds up a thread's time when it goes to sleep.
    std::thread::sleep(std::time::Duration::from_micros(100));
    let own_after = cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID);
    let all_after = cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID);
    let difference = || {
        let others = (all_after? - all_before?).checked_sub(own_after? - own_before?)?;
        Some(others + (own? - own_before?))
    };
    Ok(difference())
}

/// A CPU-time clock in nanoseconds.
fn cpu_ns(clock: libc::clockid_t) -> Option<u64> {
    // SAFETY: timespec is plain data, which the call fills.
    unsafe {
        let mut time: libc::timespec = mem::zeroed();
        (libc::clock_gettime(clock, &mut time) == 0)
            .then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

struct OpenWake {
    open: Box<dyn Crossing>,
    facts: Facts,
}

impl Crossing for OpenWake {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        self.open.prepare(passes)
    }

    #[inline]
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.open.cross(passes)
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.open.prove(counts)
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_measure::Claim;

    /// Uses the CPU for as long as the clock says, and sleeps as long.
    struct Burn(u64);

    impl Crossing for Burn {
        fn cross(&mut self, _: u64) -> Result<(), Refusal> {
            let begin = cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap();
            while cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap() < begin + self.0 {}
            std::thread::sleep(std::time::Duration::from_nanos(self.0));
            Ok(())
        }

        fn prove(&mut self, _: &mut [Option<u64>]) -> Result<(), Refusal> {
            Ok(())
        }
    }

    #[test]
    fn cpu_time_is_what_was_used_and_not_what_passed() {
        let used = used(&mut Burn(3_000_000)).unwrap().unwrap();
        assert!(used >= 3_000_000, "{used}");
        // Other tests of this process may use the CPU meanwhile, so there is no upper bound here.
    }

    #[test]
    fn a_row_counts_messages_on_both_cpus_and_switches_on_one() {
        use crate::task::media::Futex;
        let keys = |probe: &dyn Probe| probe.meta().proof.iter().map(|it: &Claim| it.key).collect::<Vec<_>>();
        assert_eq!(keys(&Wake::<Futex>::here("", "")), ["messages_per_crossing", "switches_per_crossing"]);
        assert_eq!(keys(&Wake::<Futex>::apart("", "")), ["messages_per_crossing"]);
    }
}
