//! `thread/yield`: two threads that only yield to each other.

use crate::mechanism::{Mechanism, ROW};
use crate::task::{OnCall, Switches, give_way};
use tollgate_measure::{Claim, Crossing, Meta, Refusal};
use tollgate_record::Per;

pub(crate) static ROTATION: Mechanism = Mechanism {
    meta: &Meta {
        id: "thread/yield",
        what: "two threads on one CPU rotate by sched_yield",
        per: Per::Switch,
        crossings_per_pass: 2,
        proof: &[Claim::switches()],
        ..ROW
    },
    open: |_, site| {
        // The first yield returns the CPU to `prepare`; the last switch is not a yield but the sleep after it.
        let peer = OnCall::open(site.cpu, |passes| (0..passes).for_each(|_| give_way()))?;
        let switches = Switches::new(&[peer.numbers()]);
        Ok(Box::new(OpenRotation { peer, switches }))
    },
};

struct OpenRotation {
    peer: OnCall,
    switches: Switches,
}

impl Crossing for OpenRotation {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        self.switches.pause();
        self.peer.call(passes);
        self.switches.skip();
        self.switches.begin();
        Ok(())
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        for _ in 0..passes {
            give_way();
        }
        // Usually the peer has finished. If a third task ran in between, wait: otherwise the peer would run in the batch
        // of another probe.
        self.peer.wait_idle();
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = self.switches.count();
        Ok(())
    }
}
