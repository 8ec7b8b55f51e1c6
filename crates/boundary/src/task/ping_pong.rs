//! The probe of any medium: two tasks and a token that goes there and back.

use super::{
    media::{Medium, Tasks},
    on_call::give_way,
    ring::Ring,
    switches::Switches,
    work::Work,
};
use crate::mechanism::Opened;
use std::marker::PhantomData;
use tollgate_measure::{Claim, Crossing, Meta, Placement, Probe, Refusal, Site, placement};

/// A row of the list: tokens there and back over the medium `M`.
pub(crate) struct PingPong<M> {
    meta: Meta,
    tasks: Tasks,
    proof: Proof,
    medium: PhantomData<fn() -> M>,
}

/// Which counts prove a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Context switches of both tasks.
    Switches,
    /// Tokens taken by both tasks.
    Messages,
    /// Signal handlers run in both tasks, and the switches besides.
    HandlersAndSwitches,
    /// Tokens taken by both tasks; the switches are reported only, since some mechanisms wake more than once.
    MessagesAndSwitches,
}

const MESSAGES: Claim = Claim::exact("messages-per-crossing");

impl Proof {
    const fn claims(self) -> &'static [Claim] {
        match self {
            Self::Switches => const { &[Claim::switches()] },
            Self::Messages => const { &[MESSAGES] },
            Self::HandlersAndSwitches => {
                const { &[Claim::exact("handlers-per-crossing"), Claim { divides: false, ..Claim::switches() }] }
            }
            Self::MessagesAndSwitches => {
                const { &[MESSAGES, Claim { divides: false, tolerance: f64::INFINITY, ..Claim::switches() }] }
            }
        }
    }
}

impl<M: Medium> PingPong<M> {
    /// A row of two crossings a pass; its claims are those of `proof`.
    pub(crate) const fn new(meta: Meta, tasks: Tasks, proof: Proof) -> Self {
        let meta = Meta { crossings_per_pass: 2, proof: proof.claims(), ..meta };
        Self { meta, tasks, proof, medium: PhantomData }
    }
}

impl<M: Medium> Probe for PingPong<M> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn open(&self, site: &Site) -> Opened {
        self.open_with(site, || ())
    }
}

impl<M: Medium> PingPong<M> {
    /// Opens it; the peer does `work` each time it holds the token.
    pub(crate) fn open_with(&self, site: &Site, work: impl Work + Clone) -> Opened {
        let cpu = match self.meta.placement {
            Placement::One => site.cpu,
            Placement::Pair => site.peer.ok_or_else(no_peer_cpu)?,
            Placement::Sibling => sibling(site.cpu)?,
        };
        let ring = Ring::<M>::open(self.tasks, &[cpu], |_| work.clone())?;
        let (switches, served) = (ring.switches(), ring.served());
        let is_apart = self.meta.placement != Placement::One;
        let mut open =
            OpenPingPong { ring, switches, proof: self.proof, passes: 0, is_apart, unsettled: true, served };
        open.settle();
        Ok(Box::new(open))
    }
}

/// Another hardware thread of the core that this process may use.
fn sibling(cpu: usize) -> Result<usize, Refusal> {
    placement::sibling(cpu).ok_or_else(|| {
        Refusal::skip(
            format!("cpu {cpu} shares its core with no other CPU that may be used"),
            "a processor with simultaneous multithreading that is switched on, and both CPUs of a core allowed",
        )
    })
}

/// The refusal of a probe that needs a second CPU.
pub(crate) fn no_peer_cpu() -> Refusal {
    Refusal::skip(
        "it needs a second CPU, and only one may be used",
        "allow another CPU: check `taskset -p $$` and the cgroup's cpuset",
    )
}

struct OpenPingPong<M: Medium> {
    ring: Ring<M>,
    switches: Switches,
    proof: Proof,
    /// Passes made and not yet proved: each is one token taken by this task.
    passes: u64,
    /// Whether the peer has a CPU of its own, on which it needs no help to go to sleep.
    is_apart: bool,
    /// Whether the peer may still be on its way to sleep.
    unsettled: bool,
    /// Tokens that the peer had taken at the last proof.
    served: u64,
}

impl<M: Medium> OpenPingPong<M> {
    /// Lets the peer go to sleep. The wake-up by its last token may have preempted it: it is then still runnable and
    /// would take the CPU in the batch of another probe. The two switches that this takes are not counted.
    fn settle(&mut self) {
        self.unsettled = false;
        if self.is_apart {
            return;
        }
        self.switches.pause();
        give_way();
        self.switches.skip();
    }
}

impl<M: Medium> Crossing for OpenPingPong<M> {
    fn prepare(&mut self, _: u64) -> Result<(), Refusal> {
        self.ring.check()?;
        if self.unsettled {
            self.settle();
        }
        self.switches.begin();
        Ok(())
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.ring.laps(passes, || ())?;
        self.passes += passes;
        self.unsettled = true;
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.ring.check()?;
        let switches = self.switches.count();
        self.settle();
        let served = self.ring.served();
        let taken = std::mem::take(&mut self.passes) + (served - self.served);
        self.served = served;
        let found = match self.proof {
            Proof::Switches => [switches, None],
            Proof::Messages => [Some(taken), None],
            Proof::HandlersAndSwitches | Proof::MessagesAndSwitches => [Some(taken), switches],
        };
        for (count, found) in counts.iter_mut().zip(found) {
            *count = found;
        }
        Ok(())
    }
}
