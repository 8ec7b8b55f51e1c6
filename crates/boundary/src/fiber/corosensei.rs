//! The switch of the crate corosensei, whose assembly the compiler inlines with the list of live registers.

use super::ROW;
use crate::mechanism::Mechanism;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::cell::Cell;
use std::mem;
use std::rc::Rc;
use tollgate_measure::{Crossing, Facts, Meta, Refusal};
use tollgate_record::family::{ProbeAsked, ProbeFound};

/// Bytes of the coroutine's stack, below which the crate puts a guard page.
const STACK: usize = 64 * 1024;

pub(crate) static COROSENSEI: Mechanism = Mechanism {
    meta: &Meta {
        id: "fiber/corosensei",
        what: "stack switch of the crate corosensei: half of a resume and the yield that answers it",
        ..ROW
    },
    open: |_, _| {
        let stack = DefaultStack::new(STACK)?;
        let arrivals = Rc::new(Cell::new(0));
        let counter = Rc::clone(&arrivals);
        let coroutine = Coroutine::with_stack(stack, move |yielder, mut go_on| {
            while go_on {
                counter.set(counter.get() + 1);
                go_on = yielder.suspend(());
            }
        });
        Ok(Box::new(CountingCoroutine { coroutine, arrivals, back: 0 }))
    },
};

struct CountingCoroutine {
    /// Resumed with true to count, with false to end.
    coroutine: Coroutine<bool, (), ()>,
    arrivals: Rc<Cell<u64>>,
    back: u64,
}

impl Crossing for CountingCoroutine {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let mut back = 0;
        for _ in 0..passes {
            if let CoroutineResult::Yield(()) = self.coroutine.resume(true) {
                back += 1;
            }
        }
        self.back += back;
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(self.arrivals.take() + mem::take(&mut self.back));
        Ok(())
    }

    fn facts(&self) -> Facts {
        let asked = ProbeAsked {
            kept: Some("what the compiler says is live".into()),
            stack_bytes: Some(STACK as u64),
            ..ProbeAsked::default()
        };
        Facts::of_probe(asked, ProbeFound::default())
    }
}

impl Drop for CountingCoroutine {
    fn drop(&mut self) {
        // Lets the coroutine end by itself, so that nothing has to unwind its stack.
        if !self.coroutine.done() {
            self.coroutine.resume(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::COROSENSEI;
    use tollgate_measure::{Probe, Site};

    #[test]
    fn each_pass_arrives_there_and_back() {
        let mut open = COROSENSEI.open(&Site { cpu: 0, peer: None }).unwrap();
        let mut counts = [None];
        for passes in [0, 1, 1000] {
            open.cross(passes).unwrap();
            open.prove(&mut counts).unwrap();
            assert_eq!(counts, [Some(2 * passes)]);
        }
    }
}
