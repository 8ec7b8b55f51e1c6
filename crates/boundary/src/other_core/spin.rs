//! `core/spin`: one cache line that goes back and forth between two spinning CPUs.

use crate::mechanism::Mechanism;
use crate::task::{OnCall, no_peer_cpu};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tollgate_measure::{Claim, Crossing, Meta, Placement, Refusal};
use tollgate_record::Per;

/// The line, which counts messages: odd ones go there, even ones back. Alone on two lines, because
/// some CPUs fetch neighboring lines together.
#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

impl Line {
    /// Waits for message `number` and sends the next. No pause instruction: it would add its own length (140 cycles
    /// on some CPUs), and under a hypervisor it may exit.
    #[inline]
    fn answer(&self, number: u64) {
        while self.0.load(Ordering::Acquire) != number {}
        self.0.store(number + 1, Ordering::Release);
    }
}

pub(crate) static SPIN: Mechanism = Mechanism {
    meta: &Meta {
        id: "core/spin",
        what: "two CPUs pass one cache line back and forth, both spinning",
        per: Per::Message,
        crossings_per_pass: 2,
        placement: Placement::Pair,
        proof: &[Claim::exact("messages_per_crossing")],
    },
    open: |_, site| {
        let line = Arc::new(Line::default());
        let theirs = Arc::clone(&line);
        let answer = move |passes: u64| (0..passes).for_each(|pass| theirs.answer(2 * pass + 1));
        let peer = OnCall::open(site.peer.ok_or_else(no_peer_cpu)?, answer)?;
        Ok(Box::new(SpinningPair { peer, line, messages: 0 }))
    },
};

struct SpinningPair {
    peer: OnCall,
    line: Arc<Line>,
    /// Messages of earlier batches, not yet proved.
    messages: u64,
}

impl SpinningPair {
    /// Adds the line's count and clears it. The peer is idle.
    fn collect(&mut self) {
        self.messages += self.line.0.swap(0, Ordering::AcqRel);
    }
}

impl Crossing for SpinningPair {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        self.peer.wait_idle();
        self.collect();
        self.peer.call(passes);
        Ok(())
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        for pass in 0..passes {
            self.line.0.store(2 * pass + 1, Ordering::Release);
            while self.line.0.load(Ordering::Acquire) != 2 * pass + 2 {}
        }
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.peer.wait_idle();
        self.collect();
        counts[0] = Some(std::mem::take(&mut self.messages));
        Ok(())
    }
}
