//! The sampler: owns loops, warm-up, order and stopping.
//!
//! A run is a number of *epochs*. Each begins with a bench started anew (a fresh process with a fresh
//! address space) in which every probe still active is opened and warmed until it is steady. The epoch
//! then makes *rounds*: in each, every active probe is visited once, in an order shuffled by the seed.
//! A visit crosses a few times outside the clock and times one batch. Whatever drifts on the machine
//! thus meets all probes alike, and what differs from process to process shows between epochs.

use crate::bench::{Bench, Lost, Reply, Request};
use crate::clock::Nanos;
use crate::probe::Meta;
use crate::samples::{Batch, CoreReading, EpochSamples, ProbeSamples, ProbeState, RunSamples};
use crate::stats::{is_steady, median};
use crate::summary::relative_half_width;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;

/// How to sample.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seed of the order of visits.
    pub seed: u64,
    /// Epochs that are always made.
    pub epochs: u32,
    /// Epochs at the most.
    pub most_epochs: u32,
    /// Time for all epochs, in nanoseconds.
    pub budget_ns: u64,
    /// Length of a batch, in nanoseconds: far under a scheduler tick.
    pub batch_ns: u64,
    /// A probe whose interval's half width is at most this share of its figure needs no further epoch.
    pub target: f64,
    /// Time for single passes of each probe in an epoch, in nanoseconds.
    pub singles_ns: u64,
}

/// What the caller hears between two requests, when nothing is being timed.
#[derive(Debug)]
pub enum Event<'a> {
    /// An epoch begins: its number from 0, and how many there will be at the most.
    Epoch(u32, u32),
    /// A probe is about to be calibrated or warmed.
    Warming(usize),
    /// Every active probe is open and warm: sampling begins.
    Sampling,
    /// A round has ended; share of the budget used, and everything so far.
    Round(f64, &'a RunSamples),
    /// An epoch has ended.
    Ended(&'a RunSamples),
}

/// Runs a plan on a bench. `states` says which probes to measure; without an entry a probe is measured. `tell`
/// hears what goes on, and may stop it.
///
/// # Errors
/// [`Lost`] when the bench was gone before anything was sampled; later than that, what was sampled is
/// returned with [`RunSamples::lost`].
pub fn run(
    bench: &mut impl Bench,
    metas: &[&Meta],
    states: Vec<ProbeState>,
    plan: &Plan,
    tell: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
) -> Result<RunSamples, Lost> {
    let mut probes = vec![ProbeSamples::default(); metas.len()];
    probes.iter_mut().zip(states).for_each(|(probe, state)| probe.state = state);
    let samples = RunSamples { probes, ..RunSamples::default() };
    let rng = ChaCha8Rng::seed_from_u64(plan.seed);
    let (open, used_ns) = (vec![false; metas.len()], vec![0; metas.len()]);
    let mut sampler = Sampler { bench, metas, plan, samples, rng, tell, open, used_ns, allowed_ns: u64::MAX };
    match sampler.epochs() {
        Ok(()) => sampler.samples.complete = true,
        Err(Halt::Stopped) => {}
        Err(Halt::Lost(lost)) if sampler.samples.probes.iter().all(|probe| probe.epochs.is_empty()) => {
            return Err(lost);
        }
        Err(Halt::Lost(lost)) => sampler.samples.lost = Some(lost),
    }
    Ok(sampler.samples)
}

/// Why a run does not go on.
enum Halt {
    /// The caller asked for it.
    Stopped,
    /// The bench cannot be started any more.
    Lost(Lost),
}

struct Sampler<'a, B> {
    bench: &'a mut B,
    metas: &'a [&'a Meta],
    plan: &'a Plan,
    samples: RunSamples,
    rng: ChaCha8Rng,
    tell: &'a mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    open: Vec<bool>,
    /// Time that each probe took in this epoch.
    used_ns: Vec<u64>,
    /// Time that one probe may take in this epoch.
    allowed_ns: u64,
}

/// Batches that a warm-up may take at the most.
const MOST_WARM: usize = 24;
/// Time that a warm-up may take at the most, in planned batches: a probe whose single pass takes
/// milliseconds (a wake-up on a busy machine) must not hold up all others.
const MOST_WARM_TIME: f64 = 30.0;
/// A batch may take so many times as long as planned; beyond that its passes are counted anew.
const MOST_BATCH_TIME: f64 = 8.0;
/// A probe may take so many times its equal share of an epoch.
const MOST_OF_SHARE: u64 = 8;
/// However small that share is, a probe may take so long: a few slices of the scheduler on a busy machine, so that a
/// short budget alone cuts nothing.
const LEAST_ALLOWED_NS: u64 = 200_000_000;
/// One round in so many times batches of double length; the round after it empty ones as well.
const DOUBLE_EVERY: u64 = 4;
/// Percent of the budget after which no further epoch is begun, even when fewer were made than planned:
/// on a machine that is overloaded a rough answer is better than none.
const MOST_OVERDRAFT: u64 = 115;
/// Rounds of an epoch at the least, however short the budget.
const FEWEST_ROUNDS: u64 = 4;
/// Single passes of an epoch: at least and at most.
const SINGLES: (u64, u64) = (8, 2_000);
/// Stamped crossings of a visit: at least and at most.
const STAMPED: (u64, u64) = (8, 256);

impl<B: Bench> Sampler<'_, B> {
    fn epochs(&mut self) -> Result<(), Halt> {
        let start = self.bench.elapsed_ns();
        // What an epoch does after its rounds takes time, too; the one before tells how much.
        let mut closing = 0;
        for epoch in 0..self.plan.most_epochs {
            let overdrawn = self.bench.elapsed_ns() - start > self.plan.budget_ns / 100 * MOST_OVERDRAFT;
            if overdrawn && epoch > 0 {
                break;
            }
            self.say(|_| Event::Epoch(epoch, self.plan.most_epochs))?;
            self.restart()?;
            self.used_ns.fill(0);
            let share = self.plan.budget_ns / u64::from(self.plan.most_epochs);
            let fair = share * MOST_OF_SHARE / self.active().len().max(1) as u64;
            self.allowed_ns = fair.max(LEAST_ALLOWED_NS);
            self.core()?;
            self.open_all()?;
            self.say(|_| Event::Sampling)?;
            // An equal share of what is left for the epochs that must still be made, so that a slow
            // start takes from all of them alike.
            let used = self.bench.elapsed_ns() - start;
            let left = self.plan.budget_ns.saturating_sub(used);
            let to_come = u64::from(self.plan.most_epochs - epoch);
            self.rounds(start, self.bench.elapsed_ns() + (left / to_come).saturating_sub(closing))?;
            let rounds_ended = self.bench.elapsed_ns();
            self.singles()?;
            self.core()?;
            closing = self.bench.elapsed_ns() - rounds_ended;
            if epoch + 1 >= self.plan.epochs {
                for (meta, probe) in self.metas.iter().zip(&mut self.samples.probes) {
                    probe.precise |=
                        relative_half_width(meta, probe).is_some_and(|it| it <= self.plan.target);
                }
            }
            self.say(Event::Ended)?;
            if self.active().is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn say<'h>(&'h mut self, event: impl FnOnce(&'h RunSamples) -> Event<'h>) -> Result<(), Halt> {
        match (self.tell)(event(&self.samples)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Halt::Stopped),
        }
    }

    fn active(&self) -> Vec<usize> {
        let probes = self.samples.probes.iter().enumerate();
        probes
            .filter(|(_, probe)| probe.state == ProbeState::Active && !probe.precise)
            .map(|(i, _)| i)
            .collect()
    }

    fn restart(&mut self) -> Result<(), Halt> {
        self.open.fill(false);
        self.bench.restart().map_err(Halt::Lost)
    }

    /// Asks something that concerns no probe. A bench that is lost is started anew, once.
    fn ask(&mut self, request: &Request) -> Result<Reply, Halt> {
        if let Ok(reply) = self.bench.ask(request) {
            return Ok(reply);
        }
        self.recover()?;
        self.bench.ask(request).map_err(Halt::Lost)
    }

    /// Starts the bench anew and opens what was open.
    fn recover(&mut self) -> Result<(), Halt> {
        let were_open: Vec<usize> = (0..self.open.len()).filter(|&probe| self.open[probe]).collect();
        self.restart()?;
        for probe in were_open {
            self.open(probe)?;
        }
        Ok(())
    }

    /// Asks something of a probe. `None` when the probe is out: it refused, failed, or took the bench
    /// with it, in which case the bench is started anew with the others open.
    fn ask_probe(&mut self, probe: usize, request: &Request) -> Result<Option<Reply>, Halt> {
        let start = self.bench.elapsed_ns();
        let reply = self.bench.ask(request);
        self.used_ns[probe] += self.bench.elapsed_ns() - start;
        match reply {
            Ok(Reply::Skipped { reason, enable }) if matches!(request, Request::Dissect { .. }) => {
                self.samples.probes[probe].undissected = Some((reason, enable));
            }
            Ok(Reply::Skipped { reason, enable }) => self.out(probe, ProbeState::Skipped { reason, enable }),
            Ok(Reply::Failed { reason }) => self.out(probe, ProbeState::Failed(reason)),
            Ok(reply) => return Ok(Some(reply)),
            Err(Lost(reason)) => {
                self.out(probe, ProbeState::Failed(reason));
                self.recover()?;
            }
        }
        Ok(None)
    }

    fn out(&mut self, probe: usize, state: ProbeState) {
        self.samples.probes[probe].state = state;
        self.open[probe] = false;
    }

    /// The most passes that the probe can make at once; `None` when it is out.
    fn open(&mut self, probe: usize) -> Result<Option<u64>, Halt> {
        let Some(Reply::Opened { most_passes, facts, dissection }) =
            self.ask_probe(probe, &Request::Open { probe })?
        else {
            return Ok(None);
        };
        self.open[probe] = true;
        self.samples.probes[probe].dissection = dissection;
        self.samples.probes[probe].facts = *facts;
        Ok(Some(most_passes))
    }

    fn moment(&mut self) -> Result<(), Halt> {
        if let Reply::Moment(moment) = self.ask(&Request::Moment)? {
            self.samples.moments.push(moment);
        }
        Ok(())
    }

    /// The frequencies of clock and core.
    fn core(&mut self) -> Result<(), Halt> {
        self.moment()?;
        if let Reply::Core { multiply, add, thousand, pair } = self.ask(&Request::Core)? {
            let pair: Vec<f64> = pair.iter().map(|&ticks| ticks as f64).collect();
            let [multiply, add, thousand, pair] =
                [multiply, add, thousand, pair].map(|values| median(&values));
            self.samples.core.push(CoreReading { multiply, add, thousand, pair });
        }
        self.moment()
    }

    /// Opens every active probe, finds its batch length if it has none yet, and warms it.
    fn open_all(&mut self) -> Result<(), Halt> {
        let mut order = self.active();
        order.shuffle(&mut self.rng);
        for probe in order {
            self.say(|_| Event::Warming(probe))?;
            let Some(most) = self.open(probe)? else { continue };
            self.samples.probes[probe].epochs.push(EpochSamples::default());
            if self.fit(probe, most)? {
                self.warm(probe)?;
            }
        }
        Ok(())
    }

    fn ticks(&self, ns: u64) -> f64 {
        self.samples.scale().map_or(ns as f64, |scale| scale.ticks(Nanos(ns as f64)).0)
    }

    fn batch_ticks(&self) -> f64 {
        self.ticks(self.plan.batch_ns)
    }

    /// Ticks after which the bench gives up a request of one probe.
    fn most_ticks(&self) -> u64 {
        self.ticks(self.allowed_ns / 4) as u64
    }

    fn has_time(&self, probe: usize) -> bool {
        self.used_ns[probe] < self.allowed_ns
    }

    /// Finds the number of passes that fills a batch, and checks the one of an earlier epoch. False when the probe
    /// is out.
    fn fit(&mut self, probe: usize, most: u64) -> Result<bool, Halt> {
        let passes = self.samples.probes[probe].passes;
        if passes == 0 {
            // A batch that was fitted to a cold probe is too short for a warm one.
            return Ok(self.calibrate(probe, most)? && self.warm(probe)? && self.calibrate(probe, most)?);
        }
        // If other tasks hold the CPUs now, whole batches of a probe that waits take the time of all others.
        let Some(ticks) = self.visit(probe, 0, vec![(passes / 8).max(1)])? else { return Ok(false) };
        let slow = ticks.iter().any(|&ticks| ticks as f64 > MOST_BATCH_TIME * self.batch_ticks());
        if slow && passes > 1 { self.calibrate(probe, most) } else { Ok(true) }
    }

    /// Finds the number of passes that fills a batch, by trying longer ones. False when the probe is out.
    fn calibrate(&mut self, probe: usize, most: u64) -> Result<bool, Halt> {
        let wanted = self.batch_ticks();
        let mut passes = 1_u64;
        loop {
            // Two batches: the second has no first-time costs.
            let Some(ticks) = self.visit(probe, 0, vec![passes, passes])? else { return Ok(false) };
            let ticks = ticks.get(1).map_or(1.0, |&ticks| ticks as f64).max(1.0);
            if ticks >= wanted / 8.0 || passes >= most {
                let fitting = (passes as f64 * wanted / ticks).round().max(1.0) as u64;
                // Half of what the probe allows, so that a double batch fits.
                self.samples.probes[probe].passes = fitting.min((most / 2).max(1));
                return Ok(true);
            }
            passes = passes.saturating_mul(4).min(most);
        }
    }

    /// Times batches until they no longer fall or rise. False when the probe is out.
    fn warm(&mut self, probe: usize) -> Result<bool, Halt> {
        let passes = self.samples.probes[probe].passes;
        let mut times: Vec<f64> = Vec::new();
        let most_ticks = MOST_WARM_TIME * self.batch_ticks();
        while times.len() < MOST_WARM && !is_steady(&times) && times.iter().sum::<f64>() < most_ticks {
            let Some(ticks) = self.visit(probe, 0, vec![passes])? else { return Ok(false) };
            times.extend(ticks.iter().map(|&ticks| ticks as f64));
        }
        let steady = is_steady(&times);
        if let Some(epoch) = self.samples.probes[probe].epochs.last_mut() {
            // What was counted while warming does not belong to the samples.
            *epoch = EpochSamples { steady, ..EpochSamples::default() };
        }
        Ok(true)
    }

    /// One visit: adds its counts to the epoch and returns the ticks of its batches. There are none if the passes
    /// before them took too long already.
    fn visit(&mut self, probe: usize, warm: u64, passes: Vec<u64>) -> Result<Option<Vec<u64>>, Halt> {
        // A single pass cannot be shortened, and without it a probe on a busy machine would have no sample.
        let epoch = self.samples.probes[probe].epochs.last();
        let has_batch = epoch.is_some_and(|epoch| !epoch.batches.is_empty());
        let most_ticks = if warm == 1 && !has_batch { u64::MAX } else { self.most_ticks() };
        let request = Request::Visit { probe, warm, passes, most_ticks };
        let Some(reply) = self.ask_probe(probe, &request)? else { return Ok(None) };
        let Reply::Visited { ticks, counts, passes, noise } = reply else { return Ok(None) };
        if let Some(epoch) = self.samples.probes[probe].epochs.last_mut() {
            epoch.visits += 1;
            epoch.interrupted += u64::from(noise.involuntary.is_some_and(|times| times > 0));
            epoch.migrated += u64::from(noise.migrated == Some(true));
            epoch.passes += passes;
            if epoch.counts.is_empty() {
                epoch.counts = counts;
            } else {
                for (sum, count) in epoch.counts.iter_mut().zip(counts) {
                    *sum = sum.zip(count).map(|(sum, count)| sum + count);
                }
            }
        }
        Ok(Some(ticks))
    }

    /// Rounds until the deadline.
    fn rounds(&mut self, start: u64, deadline: u64) -> Result<(), Halt> {
        let mut round = 0;
        while round < FEWEST_ROUNDS || self.bench.elapsed_ns() < deadline {
            let mut order = self.active();
            order.retain(|&probe| self.takes_part(probe));
            if order.is_empty() {
                break;
            }
            order.shuffle(&mut self.rng);
            for probe in order {
                if self.open[probe] {
                    self.sample(probe, round)?;
                }
            }
            round += 1;
            let used = (self.bench.elapsed_ns() - start) as f64 / self.plan.budget_ns as f64;
            self.say(|samples| Event::Round(used.min(1.0), samples))?;
        }
        self.moment()
    }

    /// Whether the probe is open and has time left in this epoch, or no batch yet.
    fn takes_part(&mut self, probe: usize) -> bool {
        let has_time = self.has_time(probe);
        let Some(epoch) = self.samples.probes[probe].epochs.last_mut() else { return false };
        epoch.cut = !has_time && !epoch.batches.is_empty();
        self.open[probe] && !epoch.cut
    }

    /// The visit of one round.
    fn sample(&mut self, probe: usize, round: u64) -> Result<(), Halt> {
        let usual = self.samples.probes[probe].passes;
        let kinds: &[u64] = match round % DOUBLE_EVERY {
            0 if self.has_time(probe) => &[2],
            1 => &[1, 0],
            _ => &[1],
        };
        let passes: Vec<u64> = kinds.iter().map(|kind| kind * usual).collect();
        let Some(ticks) = self.visit(probe, (usual / 8).max(1), passes)? else { return Ok(()) };
        let samples = &mut self.samples.probes[probe];
        if let Some(epoch) = samples.epochs.last_mut() {
            if ticks.is_empty() {
                // Batches of one epoch have one length.
                samples.passes = (usual / 8).max(1);
                epoch.batches.clear();
                epoch.doubles.clear();
            }
            for (kind, ticks) in kinds.iter().zip(ticks) {
                match kind {
                    0 => epoch.empty.push(ticks),
                    1 => epoch.batches.push(Batch { passes: usual, ticks }),
                    _ => epoch.doubles.push(Batch { passes: 2 * usual, ticks }),
                }
            }
        }
        if samples.dissection.is_some() && samples.undissected.is_none() {
            self.dissect(probe)
        } else {
            Ok(())
        }
    }

    /// As many stamped crossings as make about a batch.
    fn dissect(&mut self, probe: usize) -> Result<(), Halt> {
        let count = self.samples.probes[probe].passes.clamp(STAMPED.0, STAMPED.1) as u32;
        let reply = self.ask_probe(probe, &Request::Dissect { probe, count })?;
        if let (Some(Reply::Dissected { lanes, doubt }), Some(epoch)) =
            (reply, self.samples.probes[probe].epochs.last_mut())
        {
            epoch.lanes.resize(lanes.len().max(epoch.lanes.len()), Vec::new());
            for (all, lane) in epoch.lanes.iter_mut().zip(lanes).filter(|(_, lane)| !lane.is_empty()) {
                all.push(median(&lane));
            }
            epoch.doubt = epoch.doubt.max(doubt);
        }
        Ok(())
    }

    /// Single passes of every active probe.
    fn singles(&mut self) -> Result<(), Halt> {
        for probe in self.active() {
            if !self.open[probe] {
                continue;
            }
            let in_time = self.plan.singles_ns * self.samples.probes[probe].passes / self.plan.batch_ns;
            let count = in_time.clamp(SINGLES.0, SINGLES.1) as u32;
            let request = Request::Singles { probe, count, most_ticks: self.most_ticks() };
            let reply = self.ask_probe(probe, &request)?;
            if let (Some(Reply::Singles { ticks, empty }), Some(epoch)) =
                (reply, self.samples.probes[probe].epochs.last_mut())
            {
                epoch.singles = ticks;
                epoch.singles_empty = empty;
            }
        }
        Ok(())
    }
}
