//! Two benches at once, whose batches alternate within milliseconds: A B B A.
//!
//! A state of the machine that lasts for longer than a millisecond affects both batches of a pair alike and cancels in
//! their
//! ratio. Which side is first in each epoch (started, opened and warmed) and in each visit is drawn by the seed: if the
//! two programs are the same, the labels A and B are arbitrary, and the ratio of an epoch is as likely above as below 1.

use super::plan::{Event, FEWEST_ROUNDS, Plan};
use super::side::{Halt, Side};
use crate::bench::{Bench, Lost};
use crate::probe::Meta;
use crate::samples::{Batch, Pair, ProbeState, RunSamples};
use crate::stats::FEWEST_GROUPS;
use crate::summary::{headline, paired, variation_of_pairs};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use tollgate_judge::is_decided;

/// Probes that progress names.
const SHOWN: usize = 3;
/// A probe whose single pairs vary by this much is visited once in a round; others in proportion to their variance, which
/// takes as many pairs to average out.
const VARIATION_OF_ONE: f64 = 0.01;
/// With this many visits, the difference between processes outweighs that between pairs.
const MOST_VISITS: f64 = 16.0;
/// The weight of the earlier epochs against the last one.
const MEMORY: f64 = 0.75;

/// Runs a plan on two benches in pairs. `states` says for each bench which probes to measure; a probe that only one
/// of them has is measured there without pairs. The plan is one [`for_pair`](Plan::for_pair). With `until`, a probe takes
/// part only until its change is known to be above, below or within that margin.
///
/// # Errors
/// [`Lost`] if a bench was gone before anything was sampled; later, the samples until then are
/// returned with [`RunSamples::lost`].
pub fn run_pair(
    benches: [&mut dyn Bench; 2],
    metas: &[&Meta],
    states: [Vec<ProbeState>; 2],
    plan: &Plan,
    until: Option<f64>,
    tell: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
) -> Result<[RunSamples; 2], Lost> {
    let ([a, b], [states_a, states_b]) = (benches, states);
    let sides = [Side::new(a, metas, states_a, plan), Side::new(b, metas, states_b, plan)];
    let rng = ChaCha8Rng::seed_from_u64(plan.seed);
    let variances = vec![0.0; metas.len()];
    let mut sampler = PairSampler { sides, order: [0, 1], plan, until, variances, rng, tell };
    let halt = sampler.epochs().err();
    let PairSampler { sides: [a, b], .. } = sampler;
    Ok([a.finish(halt.clone())?, b.finish(halt)?])
}

struct PairSampler<'a> {
    /// A, then B.
    sides: [Side<'a>; 2],
    /// The side that is first in this epoch, then the other.
    order: [usize; 2],
    plan: &'a Plan,
    until: Option<f64>,
    /// By how much the pairs of each probe vary, squared, over the epochs so far; 0 until it is known.
    variances: Vec<f64>,
    rng: ChaCha8Rng,
    tell: &'a mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
}

impl PairSampler<'_> {
    fn epochs(&mut self) -> Result<(), Halt> {
        let start = self.elapsed();
        let (mut closing, mut begun) = (0, 0);
        for epoch in 0..self.plan.most_epochs {
            let used = self.elapsed() - start;
            let is_spent = match self.until {
                Some(_) => used >= self.plan.budget_ns,
                None => self.plan.is_overdrawn(used, used - begun),
            };
            if epoch > 0 && is_spent {
                break;
            }
            begun = used;
            let words = self.words(epoch);
            self.say(|_| Event::Epoch(words))?;
            self.order = self.draw();
            for side in self.order {
                self.sides[side].begin_epoch()?;
            }
            self.open_all()?;
            self.say(|_| Event::Sampling)?;
            let now = self.elapsed();
            let length = match self.until {
                Some(_) => self.plan.rounds_of_open_ns(self.active().len(), now - start),
                None => self.plan.rounds_ns(epoch, now - start, now - start - used, closing),
            };
            self.rounds(start, now + length)?;
            let rounds_ended = self.elapsed();
            for side in self.order {
                self.sides[side].singles()?;
                self.sides[side].core()?;
            }
            closing = self.elapsed() - rounds_ended;
            self.learn();
            self.say(|samples| Event::Ended(samples))?;
            if self.active().is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// The epoch that begins, and which changes are not known yet.
    fn words(&self, epoch: u32) -> String {
        let number = format!("epoch {}", epoch + 1);
        if self.until.is_none() {
            return format!("{number} of {}", self.plan.most_epochs);
        }
        let open = self.active();
        let names: Vec<&str> = open.iter().take(SHOWN).map(|&probe| self.sides[0].metas[probe].id).collect();
        let more = open.len() - names.len();
        let more = if more > 0 { format!(", {more} more") } else { String::new() };
        format!("{number}, still open: {}{more}", names.join(", "))
    }

    /// Learns from the epoch that has ended: how often each probe is visited in the next, which depends on how much its
    /// pairs vary and not on which side is slower; and whose change is known, so that it takes no further part.
    fn learn(&mut self) {
        for probe in self.active() {
            let samples = &self.sides[1].samples.probes[probe];
            if let Some(variation) = variation_of_pairs(samples) {
                let (before, last) = (&mut self.variances[probe], variation.powi(2));
                *before = if *before == 0.0 { last } else { MEMORY * *before + (1.0 - MEMORY) * last };
            }
            let Some(margin) = self.until else { continue };
            let logs: Vec<f64> = paired(samples).into_iter().flatten().map(|it| it.ratio.ln()).collect();
            let crossings = f64::from(self.sides[1].metas[probe].crossings_per_pass);
            let is_nothing = || headline(samples, crossings).is_none_or(|it| it.is_zero_within_error());
            // A probe that only one side has, or that takes no time, can never be decided.
            let is_hopeless = logs.len() >= FEWEST_GROUPS && is_nothing()
                || logs.is_empty()
                    && self.sides.iter().any(|side| side.samples.probes[probe].epochs.len() >= FEWEST_GROUPS);
            if is_hopeless || is_decided(&logs, margin) {
                self.sides.iter_mut().for_each(|side| side.samples.probes[probe].precise = true);
            }
        }
    }

    fn elapsed(&self) -> u64 {
        self.sides[0].bench.elapsed_ns()
    }

    fn say(&mut self, event: impl for<'h> FnOnce(&'h [&'h RunSamples]) -> Event<'h>) -> Result<(), Halt> {
        match (self.tell)(event(&self.sides.each_ref().map(|side| &side.samples))) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Halt::Stopped),
        }
    }

    /// Which side is first.
    fn draw(&mut self) -> [usize; 2] {
        if self.rng.random() { [0, 1] } else { [1, 0] }
    }

    /// Probes that are active on either side.
    fn active(&self) -> Vec<usize> {
        let all: BTreeSet<usize> = self.sides.iter().flat_map(Side::active).collect();
        Vec::from_iter(all)
    }

    /// Opens every active probe on both sides, with one batch length, and warms it.
    fn open_all(&mut self) -> Result<(), Halt> {
        let mut probes = self.active();
        probes.shuffle(&mut self.rng);
        for probe in probes {
            self.say(|_| Event::Warming(probe))?;
            for side in self.order {
                self.share_passes(probe);
                let side = &mut self.sides[side];
                if side.active().contains(&probe)
                    && let Some(most) = side.begin(probe)?
                {
                    side.fit(probe, most)?;
                }
            }
            self.share_passes(probe);
            for side in self.order {
                if self.sides[side].open[probe] {
                    self.sides[side].warm(probe)?;
                }
            }
        }
        Ok(())
    }

    /// Gives both sides batches of one length, the shorter: the fixed cost of a batch is then the same.
    fn share_passes(&mut self, probe: usize) {
        let passes = self.sides.each_ref().map(|side| side.samples.probes[probe].passes);
        let Some(least) = passes.into_iter().filter(|&passes| passes > 0).min() else { return };
        for side in &mut self.sides {
            side.samples.probes[probe].passes = least;
        }
    }

    /// Rounds until the deadline, and then of the probes that have no batch yet.
    fn rounds(&mut self, start: u64, deadline: u64) -> Result<(), Halt> {
        let mut round = 0;
        loop {
            let is_over = round >= FEWEST_ROUNDS && self.elapsed() >= deadline;
            let mut probes = self.active();
            probes.retain(|&probe| {
                self.takes_part(probe) && (!is_over || self.sides.iter().any(|side| side.wants_batch(probe)))
            });
            if probes.is_empty() {
                break;
            }
            let once = probes.len();
            // A short epoch has no time for more than one visit.
            if round >= FEWEST_ROUNDS && !Side::is_double(round) {
                let visits = |probe| std::iter::repeat_n(probe, self.visits(probe));
                probes = probes.into_iter().flat_map(visits).collect();
            }
            // A round of many visits can be longer than the rest of the epoch.
            let may_end = probes.len() > once && !is_over;
            probes.shuffle(&mut self.rng);
            for probe in probes {
                if may_end && self.elapsed() >= deadline {
                    break;
                }
                self.visit(probe, round)?;
            }
            round += 1;
            let share = self.plan.share(self.elapsed() - start);
            self.say(|samples| Event::Round(share, samples))?;
        }
        for side in self.order {
            self.sides[side].moment()?;
        }
        Ok(())
    }

    /// How often a probe is visited in a round.
    fn visits(&self, probe: usize) -> usize {
        (self.variances[probe] / VARIATION_OF_ONE.powi(2)).round().clamp(1.0, MOST_VISITS) as usize
    }

    /// Whether each side on which the probe is open has time left for it.
    fn takes_part(&mut self, probe: usize) -> bool {
        let open = self.sides.each_mut().map(|side| side.open[probe].then(|| side.takes_part(probe)));
        open.contains(&Some(true)) && !open.contains(&Some(false))
    }

    /// Batches in the order A B B A or B A A B; one of each side if they are of double length.
    fn visit(&mut self, probe: usize, round: u64) -> Result<(), Halt> {
        let [first, second] = self.draw();
        let pairs: &[[usize; 2]] =
            if Side::is_double(round) { &[[first, second]] } else { &[[first, second], [second, first]] };
        for &pair in pairs {
            let mut batches: [Option<Batch>; 2] = [None; 2];
            for side in pair {
                if self.sides[side].open[probe] {
                    batches[side] =
                        self.sides[side].sample(probe, round, false)?.and_then(|(batch, _)| batch);
                }
            }
            self.share_passes(probe);
            let [Some(a), Some(b)] = batches else { continue };
            if a.passes == b.passes {
                self.sides[0].pair(probe, Pair { own: a, other: b });
                self.sides[1].pair(probe, Pair { own: b, other: a });
            }
        }
        Ok(())
    }
}
