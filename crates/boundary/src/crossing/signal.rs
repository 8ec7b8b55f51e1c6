//! A signal of a thread to itself, in two parts: to the handler, and back.

use crate::mechanism::Mechanism;
use crate::signal::{META, OWN, entered, stamp_with};
use tollgate_measure::clock::Now;
use tollgate_measure::dissection::{Dissection, Part, Term};
use tollgate_measure::stamps::Span;
use tollgate_measure::{Crossing, Facts, Probe, Refusal};
use tollgate_record::{Evidence, phase};

pub(super) static SPLIT: Mechanism = Mechanism {
    meta: &META,
    open: |_, site| Ok(Box::new(StampedSignal { plain: OWN.open(site)?, stamped: [None] })),
};

struct StampedSignal {
    plain: Box<dyn Crossing>,
    /// Handler runs of stamped signals, which the proof does not count.
    stamped: [Option<u64>; 1],
}

impl Crossing for StampedSignal {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        self.plain.prepare(passes)
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.plain.cross(passes)
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.plain.prove(counts)
    }

    fn dissection(&self) -> Option<Dissection> {
        let parts = vec![
            Part::lane(phase::KILL_TO_HANDLER, Evidence::Measured, 0),
            Part::lane(phase::HANDLER_TO_RETURN, Evidence::Measured, 1),
        ];
        let (total, instrumented, mapped) = (Term::Batches, Vec::new(), Vec::new());
        Some(Dissection { lanes: 2, parts, total, instrumented, mapped })
    }

    fn dissect(&mut self, count: u32, now: Now, lanes: &mut [Vec<Span>]) -> Result<(), Refusal> {
        let [to_handler, from_handler] = lanes else { return Ok(()) };
        stamp_with(Some(now));
        let mut outcome = Ok(());
        for _ in 0..count {
            let before = now();
            outcome = self.plain.cross(1);
            let after = now();
            if outcome.is_err() {
                break;
            }
            to_handler.push(Span::user(before, entered()));
            from_handler.push(Span::user(entered(), after));
        }
        stamp_with(None);
        // The visit before was proved when it ended, so these runs are of stamped signals only.
        self.plain.prove(&mut self.stamped)?;
        outcome
    }

    fn facts(&self) -> Facts {
        self.plain.facts()
    }
}
