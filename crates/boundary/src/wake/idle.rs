//! One message, one way, to a thread on another core that was idle for a given time.

use super::parts::{Parts, PeerStamp, Ways};
use crate::mechanism::ROW;
use crate::task::media::Medium;
use crate::task::{Ring, Tasks, no_peer_cpu};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tollgate_measure::clock::Now;
use tollgate_measure::dissection::Dissection;
use tollgate_measure::stamps::Span;
use tollgate_measure::{Claim, Crossing, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::Per;

/// A message over the medium `M` after `idle`.
pub(super) struct IdleWake<M> {
    meta: Meta,
    idle: Duration,
    medium: PhantomData<fn() -> M>,
}

impl<M: Medium> IdleWake<M> {
    pub(super) const fn row(id: &'static str, what: &'static str, idle: Duration) -> Self {
        let proof = const { &[Claim::exact("messages-per-crossing")] };
        let meta = Meta { id, what, per: Per::Message, placement: Placement::Pair, proof, ..ROW };
        Self { meta, idle, medium: PhantomData }
    }
}

/// How many messages the receiver has taken, on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Taken(AtomicU64);

impl<M: Medium> Probe for IdleWake<M> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn open(&self, site: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        let peer = site.peer.ok_or_else(no_peer_cpu)?;
        let (taken, peer_stamp) = (Arc::<Taken>::default(), Arc::<PeerStamp>::default());
        let work = |_| {
            let (theirs, stamp) = (Arc::clone(&taken), Arc::clone(&peer_stamp));
            move || {
                stamp.stamp();
                theirs.0.fetch_add(1, Ordering::Release);
            }
        };
        let ring = Ring::<M>::open(Tasks::Threads, &[peer], work)?;
        let before = taken.0.load(Ordering::Acquire);
        let (idle, parts) = (self.idle, Parts::new(true));
        Ok(Box::new(OpenIdle {
            messages: Messages { ring, taken, idle, sent: before, proved: before, is_out: false },
            peer: peer_stamp,
            parts,
        }))
    }
}

/// How long the receiver is idle in one run of messages that are stamped.
const STAMPED: Duration = Duration::from_millis(20);

struct OpenIdle<M: Medium> {
    messages: Messages<M>,
    peer: Arc<PeerStamp>,
    parts: Parts,
}

struct Messages<M: Medium> {
    ring: Ring<M>,
    taken: Arc<Taken>,
    idle: Duration,
    sent: u64,
    proved: u64,
    /// Whether the answer has not been received yet.
    is_out: bool,
}

impl<M: Medium> Messages<M> {
    /// Takes the token back, outside the clock.
    fn settle(&mut self) -> Result<(), Refusal> {
        if std::mem::take(&mut self.is_out) { self.ring.receive() } else { Ok(()) }
    }
}

impl<M: Medium> Crossing for Messages<M> {
    /// The receiver sleeps, and its CPU is idle; this one stays awake, so that only the receiver's state matters.
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        self.settle()?;
        let begin = Instant::now();
        while passes > 0 && begin.elapsed() < self.idle {
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// The receiver counts as soon as it runs, and this thread spins on the count: one way, and one cache line back.
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        for _ in 0..passes {
            self.settle()?;
            self.ring.send()?;
            self.is_out = true;
            self.sent += 1;
            while self.taken.0.load(Ordering::Acquire) < self.sent {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.settle()?;
        let taken = self.taken.0.load(Ordering::Acquire);
        counts[0] = Some(taken - std::mem::replace(&mut self.proved, taken));
        Ok(())
    }

    /// The receiver must be idle before each.
    fn most_passes(&self) -> u64 {
        1
    }
}

impl<M: Medium> Crossing for OpenIdle<M> {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        self.messages.prepare(passes)
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.messages.cross(passes)
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.messages.prove(counts)
    }

    fn most_passes(&self) -> u64 {
        self.messages.most_passes()
    }

    fn dissection(&self) -> Option<Dissection> {
        Some(self.parts.dissection())
    }

    fn dissect(&mut self, count: u32, now: Now, lanes: &mut [Vec<Span>]) -> Result<(), Refusal> {
        if self.messages.idle.is_zero() {
            let reason = "the receiver still runs when some of the messages arrive, so their parts are not those of others";
            return Err(Refusal::skip(reason, "the rows with an idle receiver have bills"));
        }
        let in_time = STAMPED.as_nanos() / self.messages.idle.as_nanos();
        let passes = count.min(in_time as u32);
        self.parts.dissect((&mut self.messages, 1), (&self.peer, Ways::There), (passes, now), lanes)
    }
}

impl<M: Medium> Drop for Messages<M> {
    fn drop(&mut self) {
        // The ring ends its tasks by a token that it must hold.
        let _ = self.settle();
    }
}
