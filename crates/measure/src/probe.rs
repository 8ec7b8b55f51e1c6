//! The contract between boundaries and the sampler.
//!
//! A probe *opens* (sets up, or refuses with a reason), *crosses* n times (the only thing inside the
//! clock), *proves* (counts since the last proof), and *closes* (is dropped). It has no
//! loop of batches, no clock and no statistics.

use crate::clock::Now;
use crate::dissection::Dissection;
use crate::refusal::Refusal;
use crate::stamps::Span;
use serde::{Deserialize, Serialize};
use tollgate_record::family::{ProbeAsked, ProbeFound};
use tollgate_record::{Asked, Found, Per};

/// The static facts of a probe. The list, the docs index and the help come from them.
#[derive(Clone, Copy, Debug)]
pub struct Meta {
    /// `family/mechanism`; the family names the boundary.
    pub id: &'static str,
    /// One sentence, no full stop: what one crossing does.
    pub what: &'static str,
    /// The unit of one figure.
    pub per: Per,
    /// How many `per` one pass makes: a ping-pong round trip makes two switches.
    pub crossings_per_pass: u32,
    /// Passes of a batch at the least, where one pass in many takes longer than the others (the kernel's list of free pages is
    /// refilled): with fewer, favorable batches are those without such a pass.
    pub least_passes: u32,
    /// Which CPUs it needs.
    pub placement: Placement,
    /// The counts of [`Crossing::prove`], in the order of its slice.
    pub proof: &'static [Claim],
}

/// Which CPUs a probe needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Everything runs on the measured CPU.
    One,
    /// The other side runs on the peer CPU.
    Pair,
    /// The other side runs on another hardware thread of the measured CPU's core.
    Sibling,
}

/// One count that shows that the crossing happened.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The key in the record: `switches-per-crossing`, `minor-per-touch`.
    pub key: &'static str,
    /// The count that each crossing must have.
    pub per_crossing: f64,
    /// Relative difference that is allowed; 0 for counts that must be exact.
    pub tolerance: f64,
    /// When the count disagrees, divide the time by it, so that the figure is per counted event.
    pub divides: bool,
}

impl Claim {
    /// A count that must be exactly one for each crossing.
    pub const fn exact(key: &'static str) -> Self {
        Self { key, per_crossing: 1.0, tolerance: 0.0, divides: false }
    }

    /// One context switch for each crossing, within 2.5 %; otherwise the figure is per counted switch.
    pub const fn switches() -> Self {
        Self { key: "switches-per-crossing", per_crossing: 1.0, tolerance: 0.025, divides: true }
    }
}

/// Where a probe runs. The measuring thread is already pinned to `cpu` when the probe is opened, and
/// threads and processes that it makes inherit that.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The measured CPU.
    pub cpu: usize,
    /// The CPU of the other side, where there is one.
    pub peer: Option<usize>,
}

/// The facts of an open probe, for the record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The choices of the user or the plan.
    pub asked: Asked,
    /// The facts that the probe found on this host.
    pub found: Found,
    /// Events that it counted, in a run of its own that is not timed.
    pub counted: Vec<CounterReading>,
}

impl Facts {
    /// The facts of a mechanism of this host: `asked` and `found`; a side without a field is left out.
    pub fn of_probe(asked: ProbeAsked, found: ProbeFound) -> Self {
        let nothing = asked == ProbeAsked::default();
        let asked = if nothing { Asked::Nothing } else { Asked::Probe(asked) };
        let found = if found == ProbeFound::default() { Found::Nothing } else { Found::Probe(found) };
        Self { asked, found, counted: Vec::new() }
    }
}

/// A counter's key in the record, and its events for each crossing or why it has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterReading {
    /// The key: `cache-misses:u`.
    pub name: String,
    /// Events for each crossing, or the reason.
    pub per_crossing: Result<f64, String>,
}

/// The measurement of one mechanism.
pub trait Probe: Sync {
    /// Its static facts.
    fn meta(&self) -> &Meta;

    /// Sets up everything that one pass needs. Called on the measuring thread, pinned to `site.cpu`.
    ///
    /// # Errors
    /// [`Refusal::Skip`] when this host cannot do it, [`Refusal::Failed`] when it should have worked.
    fn open(&self, site: &Site) -> Result<Box<dyn Crossing>, Refusal>;
}

/// A probe that is open. Dropping it ends every thread and process that it made and waits for them.
pub trait Crossing {
    /// Prepares exactly `passes` passes, outside the clock (unmaps pages, say). Called before each
    /// [`Crossing::cross`] with the same number.
    ///
    /// # Errors
    /// Whatever stops the probe.
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        let _ = passes;
        Ok(())
    }

    /// Makes `passes` passes: the only thing inside the clock.
    ///
    /// # Errors
    /// Whatever stops the probe. An error is noted in the loop and returned after it, so that the path
    /// of success is the only one timed.
    fn cross(&mut self, passes: u64) -> Result<(), Refusal>;

    /// Writes what was counted since the last call (or since opening), one number for each claim of
    /// [`Meta::proof`]. Counts that are not available on this host stay `None`.
    ///
    /// # Errors
    /// Whatever stops the probe.
    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal>;

    /// The most passes that one call of [`Crossing::cross`] can make (the size of a prepared region).
    fn most_passes(&self) -> u64 {
        u64::MAX
    }

    /// How single crossings are taken apart; `None` for a probe that gives a total only.
    fn dissection(&self) -> Option<Dissection> {
        None
    }

    /// Makes about `count` single crossings, each stamped at its cuts, and adds the spans between the
    /// stamps to the lanes of [`Crossing::dissection`]. `now` is the clock of user mode.
    ///
    /// # Errors
    /// A skip when the cuts cannot be seen here; the total is still good then.
    fn dissect(&mut self, count: u32, now: Now, lanes: &mut [Vec<Span>]) -> Result<(), Refusal> {
        let _ = (count, now, lanes);
        Ok(())
    }

    /// The facts of the record beside the figures: sizes, choices, findings.
    fn facts(&self) -> Facts {
        Facts::default()
    }
}
