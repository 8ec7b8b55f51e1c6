//! A call whose target is in a register: a function pointer, a closure behind `dyn`, a virtual method.

use super::{PROOF, magnitude};
use std::{hint::black_box, mem};
use tollgate_measure::{Crossing, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::Per;

/// The probe `call/indirect`.
pub(crate) struct Indirect;

static META: Meta = Meta {
    id: "call/indirect",
    what: "call of the same function through a pointer in a register and its return",
    per: Per::Call,
    crossings_per_pass: 1,
    placement: Placement::One,
    proof: &PROOF,
};

impl Probe for Indirect {
    fn meta(&self) -> &Meta {
        &META
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        Ok(Box::new(IndirectCalls { counted: 0 }))
    }
}

struct IndirectCalls {
    counted: i64,
}

impl Crossing for IndirectCalls {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        // The compiler does not know where the pointer leads.
        let callee: extern "C" fn(i64) -> i64 = black_box(magnitude);
        // The compiler does not know the argument, so it cannot specialize the callee.
        let argument = black_box(-1);
        let mut sum = 0;
        unrolled!(passes, sum += callee(argument));
        self.counted += sum;
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = u64::try_from(mem::take(&mut self.counted)).ok();
        Ok(())
    }
}
