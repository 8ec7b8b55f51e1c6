//! `core/spin` and `core/cas`: one cache line that goes back and forth between two spinning CPUs.

use crate::mechanism::Mechanism;
use crate::task::{OnCall, no_peer_cpu};
use std::marker::PhantomData;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tollgate_measure::{Claim, Crossing, Meta, Placement, Refusal, Site};
use tollgate_record::Per;

/// The line, which counts messages: odd ones go there, even ones back. Alone on two lines, because
/// some CPUs fetch neighboring lines together.
#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

/// How a thread waits for a message and sends the next. No pause instruction: it would add its own length (140 cycles
/// on some CPUs), and under a hypervisor it may exit.
trait Way: 'static {
    fn answer(line: &AtomicU64, number: u64);
}

/// Loads until the message is there, then stores.
enum LoadAndStore {}

impl Way for LoadAndStore {
    #[inline]
    fn answer(line: &AtomicU64, number: u64) {
        while line.load(Ordering::Acquire) != number {}
        line.store(number + 1, Ordering::Release);
    }
}

/// Exchanges until that succeeds. The line is requested for writing from the start.
enum CompareAndSwap {}

impl Way for CompareAndSwap {
    #[inline]
    fn answer(line: &AtomicU64, number: u64) {
        while line.compare_exchange(number, number + 1, Ordering::Relaxed, Ordering::Relaxed).is_err() {}
    }
}

const META: Meta = Meta {
    id: "core/spin",
    what: "two CPUs pass one cache line back and forth, both spinning",
    per: Per::Message,
    crossings_per_pass: 2,
    least_passes: 1,
    placement: Placement::Pair,
    proof: &[Claim::exact("messages-per-crossing")],
};

pub(crate) static SPIN: Mechanism =
    Mechanism { meta: &META, open: |_, site| SpinningPair::<LoadAndStore>::open(site) };

pub(crate) static CAS: Mechanism = Mechanism {
    meta: &Meta { id: "core/cas", what: "two CPUs take one cache line in turn by compare-and-swap", ..META },
    open: |_, site| SpinningPair::<CompareAndSwap>::open(site),
};

struct SpinningPair<W> {
    peer: OnCall,
    line: Arc<Line>,
    /// Messages of earlier batches, not yet proved.
    messages: u64,
    way: PhantomData<W>,
}

impl<W: Way> SpinningPair<W> {
    fn open(site: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        let line = Arc::new(Line::default());
        let theirs = Arc::clone(&line);
        let answer = move |passes: u64| (0..passes).for_each(|pass| W::answer(&theirs.0, 2 * pass + 1));
        let peer = OnCall::open(site.peer.ok_or_else(no_peer_cpu)?, answer)?;
        Ok(Box::new(Self { peer, line, messages: 0, way: PhantomData }))
    }

    /// Adds the line's count and clears it. The peer is idle.
    fn collect(&mut self) {
        self.messages += self.line.0.swap(0, Ordering::AcqRel);
    }
}

impl<W: Way> Crossing for SpinningPair<W> {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        self.peer.wait_idle();
        self.collect();
        self.peer.call(passes);
        Ok(())
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let line = &self.line.0;
        (0..passes).for_each(|pass| W::answer(line, 2 * pass));
        while line.load(Ordering::Acquire) != 2 * passes {}
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.peer.wait_idle();
        self.collect();
        counts[0] = Some(std::mem::take(&mut self.messages));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_measure::{Probe, placement};

    #[test]
    fn each_way_passes_two_messages_in_a_pass() {
        let allowed = placement::allowed().expect("the mask can be read");
        let [cpu, peer, ..] = allowed[..] else {
            return tollgate_testkit::skip!("it needs two CPUs: give the process a second one");
        };
        for probe in [&SPIN, &CAS] {
            let mut open = probe.open(&Site { cpu, peer: Some(peer) }).expect("it opens");
            for passes in [1, 20] {
                open.prepare(passes).expect("prepared");
                open.cross(passes).expect("the line comes back");
                let mut counts = [None];
                open.prove(&mut counts).expect("proved");
                assert_eq!(counts, [Some(2 * passes)], "{}", probe.meta().id);
            }
        }
    }

    #[test]
    fn a_compare_and_swap_takes_only_the_message_that_it_waits_for() {
        let line = AtomicU64::new(4);
        CompareAndSwap::answer(&line, 4);
        assert_eq!(line.into_inner(), 5);
    }
}
