//! A call whose target is in a register: a function pointer, a closure behind `dyn`, a virtual method.

use super::{ROW, magnitude};
use crate::mechanism::Mechanism;
use std::{hint::black_box, mem};
use tollgate_measure::{Crossing, Meta, Refusal};

pub(crate) static INDIRECT: Mechanism = Mechanism {
    meta: &Meta {
        id: "call/indirect",
        what: "call of the same function through a pointer in a register and its return",
        ..ROW
    },
    open: |_, _| Ok(Box::new(IndirectCalls { counted: 0 })),
};

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
