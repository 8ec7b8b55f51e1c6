//! A call whose target is written in the instruction.

use super::{PROOF, magnitude};
use std::{hint::black_box, mem};
use tollgate_measure::{Crossing, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::Per;

/// The probe `call/direct`.
pub(crate) struct Direct;

static META: Meta = Meta {
    id: "call/direct",
    what: "call of a trivial function in the same program and its return",
    per: Per::Call,
    crossings_per_pass: 1,
    placement: Placement::One,
    proof: &PROOF,
};

impl Probe for Direct {
    fn meta(&self) -> &Meta {
        &META
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        Ok(Box::new(DirectCalls { counted: 0 }))
    }
}

struct DirectCalls {
    counted: i64,
}

impl Crossing for DirectCalls {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        // The compiler does not know the argument, so it cannot specialize the callee.
        let argument = black_box(-1);
        let mut sum = 0;
        unrolled!(passes, sum += magnitude(argument));
        self.counted += sum;
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = u64::try_from(mem::take(&mut self.counted)).ok();
        Ok(())
    }
}
