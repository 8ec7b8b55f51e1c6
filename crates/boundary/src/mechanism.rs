//! A row of a list: what is known of a mechanism, and the function that opens it.

use tollgate_measure::{Crossing, Meta, Placement, Probe, Refusal, Site};
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

/// What most rows have in common: one crossing a pass, on the measured CPU.
pub(crate) const ROW: Meta =
    Meta { id: "", what: "", per: Per::Call, crossings_per_pass: 1, placement: Placement::One, proof: &[] };
