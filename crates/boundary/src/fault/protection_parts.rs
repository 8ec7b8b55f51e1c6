//! A touch of a protected page, taken apart: the way into the kernel, to the handler, and back.

use super::matched::{FaultStamp, Occasional, Window, cut, watch};
use super::protected_page::ProtectedPage;
use super::protection::META;
use super::touch::touch;
use crate::mechanism::{Apart, Cuts, Mechanism, Opened};
use tollgate_measure::clock::Now;
use tollgate_measure::dissection::{Dissection, Part, Term};
use tollgate_measure::stamps::{KernelEvent, KernelEvents, Span, Stamper, TracedEvent, Tracepoint};
use tollgate_measure::{Crossing, Meta, Refusal};
use tollgate_record::{Evidence, phase};

pub(crate) static PROTECTION_PARTS: Mechanism =
    Mechanism { meta: &META, open: |_, _| open(FaultStamp::Event) };

pub(crate) static PROTECTION_TRACEPOINT: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/protection-tracepoint",
        what: "write to a protected page, handled, its entry stamped by a BPF program",
        ..META
    },
    open: |_, _| open(FaultStamp::Tracepoint),
};

fn open(by: FaultStamp) -> Opened {
    let plain = Box::new(ProtectedPage::new()?);
    let stamper: Result<Box<dyn Stamper>, Refusal> = match by {
        FaultStamp::Event => KernelEvents::open(KernelEvent::Fault).map(|it| Box::new(it) as _),
        FaultStamp::Tracepoint => {
            Ok(Box::new(Tracepoint::open(TracedEvent::Fault, plain.plan.bad.addr(), WITHIN)?))
        }
    };
    Ok(Box::new(Apart { plain, cuts: ProtectionCuts { by, stamper, occasional: Occasional::default() } }))
}

struct ProtectionCuts {
    by: FaultStamp,
    stamper: Result<Box<dyn Stamper>, Refusal>,
    occasional: Occasional,
}

/// The touch is of the page's first byte, so the size of the page does not matter.
const WITHIN: usize = 1;

/// One touch: when it began, when the handler began, when the touch was over.
fn stamped(page: &mut ProtectedPage, now: Now) -> (Window, u64) {
    let plan = &raw mut *page.plan;
    // SAFETY: the plan is ours and valid, the handler is in place and the pages are mapped as long as `page` lives; the
    // plan is reached only through this pointer.
    unsafe {
        let bad = (*plan).bad;
        let before = now();
        touch(bad, plan);
        let after = now();
        (Window { before, after, page: bad.addr() }, (*plan).entered)
    }
}

impl Cuts<ProtectedPage> for ProtectionCuts {
    /// Lanes: to the handler, from the handler; to the stamp of the kernel's entry, and the whole with it.
    fn dissection(&self) -> Dissection {
        let instrument = match self.by {
            FaultStamp::Event => "page-faults-event",
            FaultStamp::Tracepoint => "page_fault_user_tracepoint",
        };
        Dissection {
            lanes: 4,
            parts: vec![
                Part::lane(phase::ENTRY, Evidence::KernelTimestamp, 2),
                Part::sum(phase::DELIVERY, Evidence::Difference, &[(1, Term::Lane(0)), (-1, Term::Lane(2))]),
                Part::lane(phase::SIGRETURN, Evidence::Measured, 1),
            ],
            total: Term::Batches,
            instrumented: vec![(3, instrument.into())],
            mapped: vec![(2, 1)],
        }
    }

    fn dissect(
        &mut self,
        plain: &mut ProtectedPage,
        count: u32,
        now: Now,
        lanes: &mut [Vec<Span>],
    ) -> Result<(), Refusal> {
        let stamper = self.stamper.as_mut().map_err(|refusal| refusal.clone())?;
        if self.by == FaultStamp::Tracepoint && !self.occasional.is_due() {
            return Ok(());
        }
        plain.prepare(u64::from(count))?;
        let runs = plain.plan.runs;
        let [to_handler, from_handler, to_entry, whole] = lanes else { return Ok(()) };
        plain.plan.now = Some(now);
        for _ in 0..count / 2 {
            let (window, entered) = stamped(plain, now);
            to_handler.push(Span::user(window.before, entered));
            from_handler.push(Span::user(entered, window.after));
        }
        // The stamp of the entry alone.
        plain.plan.now = None;
        let mut windows = vec![Window { page: 1, ..Window::default() }; (count / 2).max(1) as usize];
        let found = watch(&mut **stamper, now, WITHIN, || {
            for window in &mut windows {
                *window = stamped(plain, now).0;
            }
            windows
        });
        // These touches do not belong to the batches that are proved.
        plain.plan.runs = runs;
        cut(&found?, Some(to_entry), None, Some(whole));
        Ok(())
    }
}
