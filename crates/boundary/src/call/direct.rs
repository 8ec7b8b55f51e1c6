//! A call whose target is written in the instruction.

use super::{ROW, magnitude};
use crate::mechanism::Mechanism;
use std::{hint::black_box, mem};
use tollgate_measure::{Crossing, Meta, Refusal};

pub(crate) static DIRECT: Mechanism = Mechanism {
    meta: &Meta {
        id: "call/direct",
        what: "call of a trivial function in the same program and its return",
        ..ROW
    },
    open: |_, _| Ok(Box::new(DirectCalls { counted: 0 })),
};

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
