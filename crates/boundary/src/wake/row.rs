//! A row: a message there and one back, and the CPU time that both sides use for one.

use super::parts::{Parts, PeerStamp, Ways};
use crate::mechanism::ROW;
use crate::task::{PingPong, Proof, Tasks, media::Medium};
use std::mem;
use std::sync::Arc;
use tollgate_measure::clock::Now;
use tollgate_measure::dissection::Dissection;
use tollgate_measure::stamps::Span;
use tollgate_measure::{CounterReading, Crossing, Facts, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::{Per, counter};

/// A message over the medium `M`, and one back.
pub(super) struct Wake<M> {
    row: PingPong<M>,
    /// Whether the receiver sleeps, so that the kernel wakes it.
    sleeps: bool,
    /// Whether another thread is between sender and receiver, whose work has no stamps.
    is_through_another: bool,
}

impl<M: Medium> Wake<M> {
    /// Both threads on the measured CPU.
    pub(super) const fn here(id: &'static str, what: &'static str) -> Self {
        let meta = Meta { id, what, per: Per::Message, ..ROW };
        Self::new(meta, Proof::MessagesAndSwitches)
    }

    /// The other thread on the peer CPU.
    pub(super) const fn apart(id: &'static str, what: &'static str) -> Self {
        Self::on(Placement::Pair, id, what)
    }

    /// The other thread on another hardware thread of the measured CPU's core.
    pub(super) const fn sibling(id: &'static str, what: &'static str) -> Self {
        Self::on(Placement::Sibling, id, what)
    }

    const fn on(placement: Placement, id: &'static str, what: &'static str) -> Self {
        let meta = Meta { id, what, per: Per::Message, placement, ..ROW };
        Self::new(meta, Proof::Messages)
    }

    const fn new(meta: Meta, proof: Proof) -> Self {
        let row = PingPong::new(meta, Tasks::Threads, proof);
        Self { row, sleeps: true, is_through_another: false }
    }

    /// The receiver does not sleep.
    pub(super) const fn awake(self) -> Self {
        Self { sleeps: false, ..self }
    }

    /// Another thread passes the message on.
    pub(super) const fn through_another(self) -> Self {
        Self { is_through_another: true, ..self }
    }
}

impl<M: Medium> Probe for Wake<M> {
    fn meta(&self) -> &Meta {
        self.row.meta()
    }

    fn open(&self, site: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        let peer = Arc::<PeerStamp>::default();
        let theirs = Arc::clone(&peer);
        let mut open = self.row.open_with(site, move || theirs.stamp())?;
        let messages = PASSES * u64::from(self.meta().crossings_per_pass);
        let used = used(open.as_mut())?.map(|ns| ns as f64 / messages as f64);
        // The messages so far do not belong to a batch.
        let claims = self.meta().proof.len();
        open.prove(&mut vec![None; claims])?;
        let reading = CounterReading {
            name: counter::CPU_TIME.into(),
            per_crossing: used.ok_or_else(|| "the system shows no CPU time of threads".to_owned()),
        };
        let facts = Facts { counted: vec![reading], ..Facts::default() };
        let parts = self.sleeps.then(|| Parts::new(self.meta().placement != Placement::One));
        let is_through_another = self.is_through_another;
        Ok(Box::new(OpenWake { open, claims, facts, peer, parts, is_through_another }))
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
    claims: usize,
    facts: Facts,
    peer: Arc<PeerStamp>,
    parts: Option<Parts>,
    is_through_another: bool,
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

    fn dissection(&self) -> Option<Dissection> {
        self.parts.as_ref().map(Parts::dissection)
    }

    fn dissect(&mut self, count: u32, now: Now, lanes: &mut [Vec<Span>]) -> Result<(), Refusal> {
        let Some(parts) = &mut self.parts else { return Ok(()) };
        if self.is_through_another {
            let reason = "a kernel thread passes the message on, and its work has no stamps";
            return Err(Refusal::skip(reason, "'wake/io_uring-read-core' has a bill"));
        }
        let (open, claims) = (self.open.as_mut(), self.claims);
        parts.dissect((open, claims), (&self.peer, Ways::ThereAndBack), (count, now), lanes)
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_measure::clock::{Clock, Os};
    use tollgate_measure::stamps::Stamp;
    use tollgate_measure::{Claim, placement};

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

    /// The stamps of one row, or `None` where the kernel refuses BPF programs.
    fn taken_apart(row: &dyn Probe, site: Site) -> Option<Vec<Vec<Span>>> {
        let mut open = match row.open(&site) {
            Ok(open) => open,
            Err(Refusal::Skip { .. }) => return None,
            Err(refusal) => panic!("{}: {refusal:?}", row.meta().id),
        };
        let mut lanes = vec![Vec::new(); open.dissection().unwrap().lanes];
        // Those of another row may have ended a moment ago.
        while lanes.iter().all(Vec::is_empty) {
            match open.dissect(80, Os.stamper().unwrap(), &mut lanes) {
                Ok(()) => std::thread::sleep(std::time::Duration::from_millis(5)),
                Err(Refusal::Skip { .. }) => return None,
                Err(refusal) => panic!("{}: {refusal:?}", row.meta().id),
            }
        }
        let (mut counts, before) = (vec![None; row.meta().proof.len()], lanes.clone());
        open.prove(&mut counts).unwrap();
        assert_eq!(counts[0], Some(0), "what was taken apart belongs to no batch");
        open.dissect(80, Os.stamper().unwrap(), &mut lanes).unwrap();
        assert_eq!(lanes, before, "once in each process");
        Some(lanes)
    }

    #[test]
    fn messages_are_taken_apart_where_the_kernel_allows_it() {
        use super::super::{idle::IdleWake, uring::Read};
        use crate::task::media::{Eventfd, Futex};
        use crate::wake::descriptor::{Count, Through};
        let here = Wake::<Futex>::here("wake/futex", "");
        let apart = Wake::<Eventfd>::apart("wake/eventfd-core", "");
        let ring = Wake::<Through<Count, Read>>::apart("wake/io_uring-read-core", "");
        let idle = IdleWake::<Futex>::row("wake/futex-idle-100us", "", std::time::Duration::from_millis(1));
        let allowed = placement::allowed().unwrap();
        placement::pin(allowed[0]).unwrap();
        let site = Site { cpu: allowed[0], peer: allowed.get(1).copied() };
        for row in [&here as &dyn Probe, &apart, &ring, &idle] {
            let Some(lanes) = taken_apart(row, site) else { continue };
            let ticks: Vec<u64> = lanes
                .iter()
                .map(|lane| match lane[..] {
                    [Span { from: Stamp::User(from), to: Stamp::User(to) }] => to - from,
                    _ => panic!("{}: {lane:?}", row.meta().id),
                })
                .collect();
            // On one CPU there is a switch to each receiver, even if it is not asleep.
            let switched = ticks[1..3].iter().all(|part| *part > ticks[3]);
            assert!(switched || row.meta().placement != Placement::One, "{}: {ticks:?}", row.meta().id);
        }
        for (row, why) in [
            (
                &Wake::<Eventfd>::apart("wake/eventfd-core", "").through_another() as &dyn Probe,
                "a kernel thread",
            ),
            (&IdleWake::<Futex>::row("wake/futex-idle-0", "", std::time::Duration::ZERO), "still runs"),
        ] {
            let mut open = match row.open(&site) {
                Ok(open) => open,
                Err(refusal) => {
                    tollgate_testkit::skip_case!(row.meta().id, "{refusal}");
                    continue;
                }
            };
            let mut lanes = vec![Vec::new(); open.dissection().unwrap().lanes];
            match open.dissect(80, Os.stamper().unwrap(), &mut lanes) {
                Err(Refusal::Skip { reason, .. }) if reason.contains(why) => {}
                other => panic!("{}: {other:?}", row.meta().id),
            }
        }
        let awake = Wake::<Futex>::here("wake/futex", "").awake();
        assert!(awake.open(&site).is_ok_and(|open| open.dissection().is_none()));
    }

    #[test]
    fn a_row_counts_messages_on_both_cpus_and_switches_on_one() {
        use crate::task::media::Futex;
        let keys = |probe: &dyn Probe| probe.meta().proof.iter().map(|it: &Claim| it.key).collect::<Vec<_>>();
        assert_eq!(keys(&Wake::<Futex>::here("", "")), ["messages-per-crossing", "switches-per-crossing"]);
        assert_eq!(keys(&Wake::<Futex>::apart("", "")), ["messages-per-crossing"]);
    }
}
