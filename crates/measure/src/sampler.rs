//! The sampler: owns loops, warm-up, order and stopping.
//!
//! A run is a number of *epochs*. Each begins with a bench started anew (a fresh process with a fresh
//! address space) in which every probe still active is opened and warmed until it is steady. The epoch
//! then makes *rounds*: in each, every active probe is visited once, in an order shuffled by the seed; after the first rounds
//! one that has taken twice its share of the time waits until the others have caught up.
//! A visit crosses a few times outside the clock and times one batch. Whatever drifts on the machine
//! thus affects all probes alike, and differences between processes appear between epochs.

mod pair;
mod plan;
mod side;

pub use pair::run_pair;
pub use plan::{Event, Plan};

use crate::bench::{Bench, Lost};
use crate::probe::Meta;
use crate::samples::{ProbeState, RunSamples};
use crate::summary::relative_half_width;
use plan::FEWEST_ROUNDS;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use side::{Halt, Side};
use std::ops::ControlFlow;

/// Runs a plan on a bench. `states` says which probes to measure; without an entry a probe is measured. `tell`
/// receives events, and may stop it.
///
/// # Errors
/// [`Lost`] if the bench was gone before anything was sampled; later, the samples until then are
/// returned with [`RunSamples::lost`].
pub fn run(
    bench: &mut impl Bench,
    metas: &[&Meta],
    states: Vec<ProbeState>,
    plan: &Plan,
    tell: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
) -> Result<RunSamples, Lost> {
    let side = Side::new(bench, metas, states, plan);
    let mut sampler = Sampler { side, plan, rng: ChaCha8Rng::seed_from_u64(plan.seed), tell };
    let end = sampler.epochs();
    let Sampler { side, .. } = sampler;
    side.finish(end.err())
}

struct Sampler<'a> {
    side: Side<'a>,
    plan: &'a Plan,
    rng: ChaCha8Rng,
    tell: &'a mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
}

impl Sampler<'_> {
    fn epochs(&mut self) -> Result<(), Halt> {
        let start = self.elapsed();
        // The end of an epoch, after its rounds, takes time, too: as long as in the epoch before.
        let (mut closing, mut begun) = (0, start);
        for epoch in 0..self.plan.most_epochs {
            let now = self.elapsed();
            if epoch > 0 && self.plan.is_overdrawn(now - start, now - begun) {
                break;
            }
            begun = now;
            let words = format!("epoch {} of at most {}", epoch + 1, self.plan.most_epochs);
            self.say(|_| Event::Epoch(words))?;
            self.side.begin_epoch()?;
            // The first is made whole, however long it takes.
            let last = if epoch > 0 { start + self.plan.most_ns() } else { u64::MAX };
            self.open_all(last)?;
            self.say(|_| Event::Sampling)?;
            let now = self.elapsed();
            let deadline = now + self.plan.rounds_ns(epoch, now - start, now - begun, closing);
            self.rounds(start, deadline, last)?;
            let rounds_ended = self.elapsed();
            if rounds_ended < last {
                self.side.singles()?;
            } else {
                self.side.forget_without_batch();
            }
            self.side.core()?;
            closing = self.elapsed() - rounds_ended;
            if epoch + 1 >= self.plan.epochs {
                for (meta, probe) in self.side.metas.iter().zip(&mut self.side.samples.probes) {
                    probe.precise |=
                        relative_half_width(meta, probe).is_some_and(|it| it <= self.plan.target);
                }
            }
            self.say(|samples| Event::Ended(samples))?;
            if self.side.active().is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn elapsed(&self) -> u64 {
        self.side.bench.elapsed_ns()
    }

    fn say(&mut self, event: impl for<'h> FnOnce(&'h [&'h RunSamples]) -> Event<'h>) -> Result<(), Halt> {
        match (self.tell)(event(&[&self.side.samples])) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Halt::Stopped),
        }
    }

    /// Opens every active probe, finds its batch length if it has none yet, and warms it. None is opened after `last`.
    fn open_all(&mut self, last: u64) -> Result<(), Halt> {
        let mut order = self.side.active();
        order.shuffle(&mut self.rng);
        for probe in order {
            if self.elapsed() >= last {
                break;
            }
            self.say(|_| Event::Warming(probe))?;
            let Some(most) = self.side.begin(probe)? else { continue };
            if self.side.fit(probe, most)? {
                self.side.warm(probe)?;
            }
        }
        Ok(())
    }

    /// Rounds until the deadline, a few at least, and then of the probes that have no batch yet; nothing after `last`.
    fn rounds(&mut self, start: u64, deadline: u64, last: u64) -> Result<(), Halt> {
        let mut round = 0;
        while self.elapsed() < last {
            let is_over = round >= FEWEST_ROUNDS && self.elapsed() >= deadline;
            let mut order = self.side.active();
            let fair = if round < FEWEST_ROUNDS { u64::MAX } else { self.side.fair_ns(&order) };
            order.retain(|&probe| {
                let side = &mut self.side;
                side.takes_part(probe)
                    && if is_over { side.wants_batch(probe) } else { side.used_ns(probe) <= fair }
            });
            if order.is_empty() {
                break;
            }
            order.shuffle(&mut self.rng);
            // A neighbor on the core that slows a batch also slows the yardsticks beside it; a moment later it may be gone.
            let mut before = self.side.yardsticks()?;
            for probe in order {
                if !self.side.open[probe] {
                    continue;
                }
                if self.elapsed() >= last {
                    break;
                }
                let Some((batch, after)) = self.side.sample(probe, round, true)? else {
                    before = self.side.yardsticks()?;
                    continue;
                };
                if batch.is_some() {
                    self.side.beside(probe, &before, &after);
                }
                before = after;
            }
            round += 1;
            let share = self.plan.share(self.elapsed() - start);
            self.say(|samples| Event::Round(share, samples))?;
        }
        Ok(self.side.moment()?)
    }
}
