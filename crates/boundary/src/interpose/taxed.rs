//! A crossing with something in its way, and the same crossing without it.

use crate::mechanism::Opened;
use tollgate_measure::clock::Now;
use tollgate_measure::dissection::{Dissection, Part, Term};
use tollgate_measure::stamps::{Span, pair_ticks};
use tollgate_measure::{Crossing, Facts, Refusal};
use tollgate_record::{Evidence, phase};

/// Crossings without the interposition that one span stands for: the first ones after a reading of the clock take longer,
/// and 16 system calls together 8 % more for each than a batch.
const TOGETHER: u64 = 64;

struct Taxed {
    with: Box<dyn Crossing>,
    plain: Box<dyn Crossing>,
    /// How many counts `with` and `plain` prove.
    claims: [usize; 2],
    /// Plain crossings that one span stands for.
    together: u64,
}

/// The crossing `with`, whose bill is that of `plain` and the tax, with the number of counts that each proves.
pub(super) fn taxed(with: Opened, plain: Opened, claims: [usize; 2]) -> Opened {
    taxed_together(with, plain, claims, TOGETHER)
}

/// The same for system calls that a thread makes which is asked to: asking takes as long as forty calls, and varies.
pub(super) fn taxed_servants(with: Opened, plain: Opened) -> Opened {
    taxed_together(with, plain, [1, 1], 512)
}

/// The same with this many plain crossings in a span: for those that are short against an empty batch.
pub(super) fn taxed_together(with: Opened, plain: Opened, claims: [usize; 2], together: u64) -> Opened {
    Ok(Box::new(Taxed { with: with?, plain: plain?, claims, together }))
}

impl Crossing for Taxed {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        self.with.prepare(passes)
    }

    #[inline]
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.with.cross(passes)
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.with.prove(counts)
    }

    fn most_passes(&self) -> u64 {
        self.with.most_passes()
    }

    fn dissection(&self) -> Option<Dissection> {
        Some(Dissection {
            lanes: 1,
            parts: vec![
                Part::lane(phase::PLAIN, Evidence::Measured, 0),
                Part::sum(phase::TAX, Evidence::Difference, &[(1, Term::Batches), (-1, Term::Lane(0))]),
            ],
            total: Term::Batches,
            instrumented: Vec::new(),
            mapped: Vec::new(),
        })
    }

    /// Single crossings would be lost in the clock's own time, so each span is the mean of a few, without what an empty
    /// batch takes.
    fn dissect(&mut self, count: u32, now: Now, lanes: &mut [Vec<Span>]) -> Result<(), Refusal> {
        let together = self.together.min(self.plain.most_passes());
        let pair = pair_ticks(now);
        // Not timed: what follows another probe's batch, which left other caches and a sleeping child behind, takes longer
        // than what follows this.
        self.plain.prepare(together)?;
        self.plain.cross(together)?;
        for _ in 0..(u64::from(count) / together).clamp(2, 8) {
            let mut times = [0_u64; 2];
            for (passes, time) in [together, 0].into_iter().zip(&mut times) {
                self.plain.prepare(passes)?;
                let begin = now();
                self.plain.cross(passes)?;
                *time = now().saturating_sub(begin);
            }
            let one = (times[0] as f64 - times[1] as f64) / together as f64;
            // The reader of spans takes off the clock's own time.
            lanes[0].push(Span::user(0, (one + pair).max(0.0).round() as u64));
        }
        self.plain.prove(&mut vec![None; self.claims[1]])?;
        // The plain crossings have increased the kernel's counts of the thread.
        self.with.prove(&mut vec![None; self.claims[0]])
    }

    fn facts(&self) -> Facts {
        self.with.facts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    thread_local! {
        /// The time of a test: crossings and the clock itself move it.
        static TIME: AtomicU64 = const { AtomicU64::new(0) };
    }

    fn pass(ticks: u64) -> u64 {
        TIME.with(|time| time.fetch_add(ticks, Ordering::Relaxed))
    }

    fn now() -> u64 {
        pass(3)
    }

    /// Takes so many ticks for a batch, and so many for each crossing.
    struct Takes(u64, u64);

    impl Crossing for Takes {
        fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
            pass(self.0 + passes * self.1);
            Ok(())
        }

        fn prove(&mut self, _: &mut [Option<u64>]) -> Result<(), Refusal> {
            Ok(())
        }
    }

    #[test]
    fn a_span_is_one_plain_crossing_and_the_clock() {
        let mut open = taxed(Ok(Box::new(Takes(0, 500))), Ok(Box::new(Takes(70, 40))), [0, 0]).unwrap();
        let mut lanes = vec![Vec::new()];
        open.dissect(256, now, &mut lanes).unwrap();
        // 40 ticks a crossing and 3 of the clock; what an empty batch takes is not in it.
        assert_eq!(lanes[0], vec![Span::user(0, 43); 4]);
    }

    /// Takes longer when it is made for the first time.
    struct Cold(bool);

    impl Crossing for Cold {
        fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
            let cold = if std::mem::take(&mut self.0) { 9_000 } else { 0 };
            pass(cold + passes * 40);
            Ok(())
        }

        fn prove(&mut self, _: &mut [Option<u64>]) -> Result<(), Refusal> {
            Ok(())
        }
    }

    #[test]
    fn the_first_plain_crossings_are_not_timed() {
        let mut open = taxed(Ok(Box::new(Takes(0, 500))), Ok(Box::new(Cold(true))), [0, 0]).unwrap();
        let mut lanes = vec![Vec::new()];
        open.dissect(8, now, &mut lanes).unwrap();
        assert_eq!(lanes[0], vec![Span::user(0, 43); 2]);
    }

    #[test]
    fn plain_and_tax_are_the_total_by_definition() {
        let open = taxed(Ok(Box::new(Takes(0, 1))), Ok(Box::new(Takes(0, 1))), [0, 0]).unwrap();
        let bill = open.dissection().unwrap();
        let signs = |term: Term| -> i8 {
            let terms = bill.parts.iter().flat_map(|part| &part.terms);
            terms.filter(|(_, of)| *of == term).map(|(sign, _)| sign).sum()
        };
        assert_eq!((signs(Term::Batches), signs(Term::Lane(0))), (1, 0));
    }
}
