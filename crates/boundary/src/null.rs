//! An empty pass, whose figure must be zero. It shows what the harness itself adds.

use std::hint::black_box;
use tollgate_measure::{Crossing, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::Per;

/// The empty pass.
pub(crate) struct Null;

static META: Meta = Meta {
    id: "null",
    what: "nothing: what the harness itself adds to every other row",
    per: Per::Pass,
    crossings_per_pass: 1,
    placement: Placement::One,
    proof: &[],
};

impl Probe for Null {
    fn meta(&self) -> &Meta {
        &META
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        Ok(Box::new(Null))
    }
}

impl Crossing for Null {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        unrolled!(passes, black_box(()));
        Ok(())
    }

    fn prove(&mut self, _: &mut [Option<u64>]) -> Result<(), Refusal> {
        Ok(())
    }
}
