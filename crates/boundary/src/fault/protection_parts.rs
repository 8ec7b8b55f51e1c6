//! A touch of a protected page, taken apart: the way into the kernel, to the handler, and back.

use super::matched::{FaultStamp, Occasional, Window, cut, watch};
use super::protected_page::ProtectedPage;
use super::protection::META;
use super::touch::touch;
use crate::mechanism::{Mechanism, Opened};
use tollgate_measure::clock::Now;
use tollgate_measure::dissection::{Dissection, Part, Term};
use tollgate_measure::stamps::{KernelEvent, KernelEvents, Span, Stamper, Tracepoint};
use tollgate_measure::{Crossing, Facts, Meta, Refusal};
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
    let plain = ProtectedPage::new()?;
    let stamper: Result<Box<dyn Stamper>, Refusal> = match by {
        FaultStamp::Event => KernelEvents::open(KernelEvent::Fault).map(|it| Box::new(it) as _),
        FaultStamp::Tracepoint => Ok(Box::new(Tracepoint::open(plain.plan.bad.addr(), WITHIN)?)),
    };
    Ok(Box::new(StampedProtection { plain, by, stamper, occasional: Occasional::default() }))
}

struct StampedProtection {
    plain: ProtectedPage,
    by: FaultStamp,
    stamper: Result<Box<dyn Stamper>, Refusal>,
    occasional: Occasional,
}

/// The touch is of the page's first byte, so the size of the page does not matter.
const WITHIN: usize = 1;

impl StampedProtection {
    /// One touch: when it began, when the handler began, when the touch was over.
    fn stamped(&mut self, now: Now) -> (Window, u64) {
        let plan = &raw mut *self.plain.plan;
        // SAFETY: the plan is ours and valid, the handler is in place and the pages are mapped as long as
        // `self.plain` lives; the plan is reached only through this pointer.
        unsafe {
            let bad = (*plan).bad;
            let before = now();
            touch(bad, plan);
            let after = now();
            (Window { before, after, page: bad.addr() }, (*plan).entered)
        }
    }
}

impl Crossing for StampedProtection {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        self.plain.prepare(passes)
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.plain.cross(passes)
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.plain.prove(counts)
    }

    /// Lanes: to the handler, from the handler; to the stamp of the kernel's entry, and the whole with it.
    fn dissection(&self) -> Option<Dissection> {
        let instrument = match self.by {
            FaultStamp::Event => "page_faults_event",
            FaultStamp::Tracepoint => "page_fault_user_tracepoint",
        };
        Some(Dissection {
            lanes: 4,
            parts: vec![
                Part::lane(phase::ENTRY, Evidence::KernelTimestamp, 2),
                Part::sum(phase::DELIVERY, Evidence::Difference, &[(1, Term::Lane(0)), (-1, Term::Lane(2))]),
                Part::lane(phase::SIGRETURN, Evidence::Measured, 1),
            ],
            total: Term::Batches,
            instrumented: vec![(3, instrument.into())],
            mapped: vec![(2, 1)],
        })
    }

    fn dissect(&mut self, count: u32, now: Now, lanes: &mut [Vec<Span>]) -> Result<(), Refusal> {
        if let Err(refusal) = &self.stamper {
            return Err(refusal.clone());
        }
        if self.by == FaultStamp::Tracepoint && !self.occasional.is_due() {
            return Ok(());
        }
        self.plain.prepare(u64::from(count))?;
        let runs = self.plain.plan.runs;
        let [to_handler, from_handler, to_entry, whole] = lanes else { return Ok(()) };
        self.plain.plan.now = Some(now);
        for _ in 0..count / 2 {
            let (window, entered) = self.stamped(now);
            to_handler.push(Span::user(window.before, entered));
            from_handler.push(Span::user(entered, window.after));
        }
        // The stamp of the entry alone.
        self.plain.plan.now = None;
        let mut stamper = std::mem::replace(&mut self.stamper, Err(Refusal::Failed(String::new())))?;
        let mut windows = vec![Window { page: 1, ..Window::default() }; (count / 2).max(1) as usize];
        let found = watch(&mut *stamper, now, WITHIN, || {
            for window in &mut windows {
                *window = self.stamped(now).0;
            }
            windows
        });
        self.stamper = Ok(stamper);
        // What was made here does not belong to the batches that are proved.
        self.plain.plan.runs = runs;
        cut(&found?, Some(to_entry), None, Some(whole));
        Ok(())
    }

    fn facts(&self) -> Facts {
        self.plain.facts()
    }
}
