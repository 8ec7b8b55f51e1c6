//! A row of a list: what is known of a mechanism, and the function that opens it.

use tollgate_measure::clock::Now;
use tollgate_measure::dissection::Dissection;
use tollgate_measure::stamps::Span;
use tollgate_measure::{Crossing, Facts, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::Per;

/// An open probe, or why there is none.
pub(crate) type Opened = Result<Box<dyn Crossing>, Refusal>;

/// A mechanism of this host.
pub(crate) struct Mechanism {
    /// A static with a name if another row has the same: a reference to it is then the same, too.
    pub(crate) meta: &'static Meta,
    /// [`Probe::open`]; receives `meta`.
    pub(crate) open: fn(&'static Meta, &Site) -> Opened,
}

impl Probe for Mechanism {
    fn meta(&self) -> &Meta {
        self.meta
    }

    fn open(&self, site: &Site) -> Opened {
        (self.open)(self.meta, site)
    }
}

/// The defaults of most rows: one crossing a pass, on the measured CPU.
pub(crate) const ROW: Meta = Meta {
    id: "",
    what: "",
    per: Per::Call,
    crossings_per_pass: 1,
    least_passes: 1,
    placement: Placement::One,
    proof: &[],
};

/// A probe whose single crossings are also taken apart: its batches are those of `plain`.
pub(crate) struct Apart<P: ?Sized, C> {
    pub(crate) plain: Box<P>,
    pub(crate) cuts: C,
}

/// How the crossings of `P` are taken apart.
pub(crate) trait Cuts<P: ?Sized> {
    /// [`Crossing::dissection`].
    fn dissection(&self) -> Dissection;

    /// [`Crossing::dissect`].
    fn dissect(
        &mut self,
        plain: &mut P,
        count: u32,
        now: Now,
        lanes: &mut [Vec<Span>],
    ) -> Result<(), Refusal>;
}

impl<P: Crossing + ?Sized, C: Cuts<P>> Crossing for Apart<P, C> {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        self.plain.prepare(passes)
    }

    #[inline]
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.plain.cross(passes)
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.plain.prove(counts)
    }

    fn most_passes(&self) -> u64 {
        self.plain.most_passes()
    }

    fn dissection(&self) -> Option<Dissection> {
        Some(self.cuts.dissection())
    }

    fn dissect(&mut self, count: u32, now: Now, lanes: &mut [Vec<Span>]) -> Result<(), Refusal> {
        self.cuts.dissect(&mut self.plain, count, now, lanes)
    }

    fn facts(&self) -> Facts {
        self.plain.facts()
    }
}
