//! A signal of a thread to itself, in two parts: to the handler, and back.

use crate::mechanism::{Apart, Cuts, Mechanism};
use crate::signal::{META, OWN, entered, stamp_with};
use tollgate_measure::clock::Now;
use tollgate_measure::dissection::{Dissection, Part, Term};
use tollgate_measure::stamps::Span;
use tollgate_measure::{Crossing, Probe, Refusal};
use tollgate_record::{Evidence, phase};

pub(super) static SPLIT: Mechanism = Mechanism {
    meta: &META,
    open: |_, site| Ok(Box::new(Apart { plain: OWN.open(site)?, cuts: SignalCuts { stamped: [None] } })),
};

struct SignalCuts {
    /// Handler runs of stamped signals, which the proof does not count.
    stamped: [Option<u64>; 1],
}

impl<P: Crossing + ?Sized> Cuts<P> for SignalCuts {
    fn dissection(&self) -> Dissection {
        let parts = vec![
            Part::lane(phase::KILL_TO_HANDLER, Evidence::Measured, 0),
            Part::lane(phase::HANDLER_TO_RETURN, Evidence::Measured, 1),
        ];
        let (total, instrumented, mapped) = (Term::Batches, Vec::new(), Vec::new());
        Dissection { lanes: 2, parts, total, instrumented, mapped }
    }

    fn dissect(
        &mut self,
        plain: &mut P,
        count: u32,
        now: Now,
        lanes: &mut [Vec<Span>],
    ) -> Result<(), Refusal> {
        let [to_handler, from_handler] = lanes else { return Ok(()) };
        stamp_with(Some(now));
        let mut outcome = Ok(());
        for _ in 0..count {
            let before = now();
            outcome = plain.cross(1);
            let after = now();
            if outcome.is_err() {
                break;
            }
            to_handler.push(Span::user(before, entered()));
            from_handler.push(Span::user(entered(), after));
        }
        stamp_with(None);
        // The visit before was proved when it ended, so these runs are of stamped signals only.
        plain.prove(&mut self.stamped)?;
        outcome
    }
}
