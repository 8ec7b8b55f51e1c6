//! The sampler: owns loops, warm-up, order and stopping.
//!
//! A run is a number of *epochs*. Each begins with a bench started anew (a fresh process with a fresh
//! address space) in which every probe still active is opened and warmed until it is steady. The epoch
//! then makes *rounds*: in each, every active probe is visited once, in an order shuffled by the seed.
//! A visit crosses a few times outside the clock and times one batch. Whatever drifts on the machine
//! thus meets all probes alike, and what differs from process to process shows between epochs.

use crate::bench::{Bench, Lost, Reply, Request};
use crate::clock::{Moment, Scale};
use crate::dissection::Dissection;
use crate::probe::{Facts, Meta};
use crate::stats::{is_steady, median};
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

/// What became of a probe so far.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It gave samples, or is about to.
    Active,
    /// It cannot be measured here.
    Skipped {
        /// Why.
        reason: String,
        /// What would make it measurable.
        enable: String,
    },
    /// It failed.
    Failed(String),
}

/// A timed batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batch {
    /// Passes made.
    pub passes: u64,
    /// Ticks taken, the clock's own cost included.
    pub ticks: u64,
}

/// What one probe gave in one epoch.
#[derive(Clone, Debug, Default)]
pub struct Epoch {
    /// Batches of the usual length.
    pub batches: Vec<Batch>,
    /// Batches of twice that length, for the second estimator.
    pub doubles: Vec<Batch>,
    /// Ticks of empty batches: the clock and the call.
    pub empty: Vec<u64>,
    /// Counts of the proof.
    pub counts: Vec<Option<u64>>,
    /// Passes that those counts cover.
    pub passes: u64,
    /// Visits in which another task took the CPU.
    pub interrupted: u64,
    /// Visits that ended on another CPU than they began on.
    pub migrated: u64,
    /// Visits in all.
    pub visits: u64,
    /// Single passes, in ticks, the clock's cost included.
    pub singles: Vec<u64>,
    /// Empty passes timed the same way.
    pub singles_empty: Vec<u64>,
    /// Whether warming up reached a steady state.
    pub steady: bool,
    /// For each lane of the dissection the median ticks of each group of stamped crossings.
    pub lanes: Vec<Vec<f64>>,
    /// How far the kernel's stamps were from the counter at the most, in ticks.
    pub doubt: f64,
}

/// What one probe gave in all.
#[derive(Clone, Debug)]
pub struct Collected {
    /// What became of it.
    pub outcome: Outcome,
    /// What it says about itself, for the record.
    pub facts: Facts,
    /// Passes of a batch, found by calibration.
    pub passes: u64,
    /// One entry for each epoch it took part in.
    pub epochs: Vec<Epoch>,
    /// Whether it reached the target and was left out of further epochs.
    pub done: bool,
    /// How its crossings are taken apart, where they are.
    pub dissection: Option<Dissection>,
    /// Why they were not, after all, and what would enable it.
    pub undissected: Option<(String, String)>,
}

/// Frequencies, as measured at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Core {
    /// Ticks for each dependent multiply.
    pub multiply: f64,
    /// Ticks for each dependent addition.
    pub add: f64,
    /// Ticks of 1,000 dependent multiplies timed as a batch is.
    pub thousand: f64,
    /// Median ticks of an empty clock pair.
    pub pair: f64,
}

/// Everything that a run collected.
#[derive(Clone, Debug)]
pub struct Harvest {
    /// One entry for each probe.
    pub probes: Vec<Collected>,
    /// The clock against the system's, first and last.
    pub moments: Vec<Moment>,
    /// The core's frequency, once at the start of each epoch and once at the end.
    pub core: Vec<Core>,
    /// Whether it ended by itself.
    pub complete: bool,
    /// Why the bench could not be started any more, when that ended it.
    pub lost: Option<Lost>,
}

impl Harvest {
    /// The clock's rate over the whole run so far.
    pub fn scale(&self) -> Option<Scale> {
        self.moments.first()?.scale_until(self.moments.last()?)
    }
}

/// What the caller is told between two requests, when nothing is being timed.
#[derive(Debug)]
pub enum Event<'a> {
    /// An epoch begins: its number from 0, and how many there will be at the most.
    Epoch(u32, u32),
    /// A probe is about to be calibrated or warmed.
    Warming(usize),
    /// Every active probe is open and warm: sampling begins.
    Sampling,
    /// A round has ended; share of the budget used, and everything so far.
    Round(f64, &'a Harvest),
    /// An epoch has ended.
    Ended(&'a Harvest),
}

/// Judges whether a probe is precise enough, from what was collected: half width of the interval as a
/// share of the figure.
pub type Judge<'a> = &'a dyn Fn(&Meta, &Collected) -> Option<f64>;

/// Runs a plan on a bench. `tell` hears what goes on, and may stop it.
///
/// # Errors
/// [`Lost`] when the bench was gone before anything was sampled; later than that, what was sampled is
/// returned with [`Harvest::lost`].
pub fn run(
    bench: &mut impl Bench,
    metas: &[&Meta],
    refused: Vec<Option<Outcome>>,
    plan: &Plan,
    judge: Judge<'_>,
    tell: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
) -> Result<Harvest, Lost> {
    let probes = (0..metas.len())
        .map(|probe| Collected {
            outcome: refused.get(probe).cloned().flatten().unwrap_or(Outcome::Active),
            facts: Facts::default(),
            passes: 0,
            epochs: Vec::new(),
            done: false,
            dissection: None,
            undissected: None,
        })
        .collect();
    let harvest = Harvest { probes, moments: Vec::new(), core: Vec::new(), complete: false, lost: None };
    let rng = ChaCha8Rng::seed_from_u64(plan.seed);
    let mut run = Running { bench, metas, plan, harvest, rng, tell, open: vec![false; metas.len()] };
    match run.epochs(judge) {
        Ok(()) => run.harvest.complete = true,
        Err(Halt::Stopped) => {}
        Err(Halt::Lost(lost)) if run.harvest.probes.iter().all(|probe| probe.epochs.is_empty()) => {
            return Err(lost);
        }
        Err(Halt::Lost(lost)) => run.harvest.lost = Some(lost),
    }
    Ok(run.harvest)
}

/// Why a run does not go on.
enum Halt {
    /// The caller asked for it.
    Stopped,
    /// The bench cannot be started any more.
    Lost(Lost),
}

struct Running<'a, B> {
    bench: &'a mut B,
    metas: &'a [&'a Meta],
    plan: &'a Plan,
    harvest: Harvest,
    rng: ChaCha8Rng,
    tell: &'a mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    open: Vec<bool>,
}

/// Batches that a warm-up may take at the most.
const MOST_WARM: usize = 24;
/// Time that a warm-up may take at the most, in planned batches: a probe whose single pass takes
/// milliseconds (a wake-up on a busy machine) must not hold up all others.
const MOST_WARM_TIME: f64 = 30.0;
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

impl<B: Bench> Running<'_, B> {
    fn epochs(&mut self, judge: Judge<'_>) -> Result<(), Halt> {
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
            for (meta, probe) in self.metas.iter().zip(&mut self.harvest.probes) {
                if epoch + 1 >= self.plan.epochs && !probe.done {
                    probe.done = judge(meta, probe).is_some_and(|width| width <= self.plan.target);
                }
            }
            self.say(Event::Ended)?;
            if self.active().is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn say<'h>(&'h mut self, event: impl FnOnce(&'h Harvest) -> Event<'h>) -> Result<(), Halt> {
        match (self.tell)(event(&self.harvest)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Halt::Stopped),
        }
    }

    fn active(&self) -> Vec<usize> {
        let probes = self.harvest.probes.iter().enumerate();
        probes.filter(|(_, probe)| probe.outcome == Outcome::Active && !probe.done).map(|(i, _)| i).collect()
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
        match self.bench.ask(request) {
            Ok(Reply::Skipped { reason, enable }) => self.out(probe, Outcome::Skipped { reason, enable }),
            Ok(Reply::Failed { reason }) => self.out(probe, Outcome::Failed(reason)),
            Ok(reply) => return Ok(Some(reply)),
            Err(Lost(reason)) => {
                self.out(probe, Outcome::Failed(reason));
                self.recover()?;
            }
        }
        Ok(None)
    }

    fn out(&mut self, probe: usize, outcome: Outcome) {
        self.harvest.probes[probe].outcome = outcome;
        self.open[probe] = false;
    }

    fn open(&mut self, probe: usize) -> Result<Option<u64>, Halt> {
        let Some(Reply::Opened { most_passes, facts, dissection }) =
            self.ask_probe(probe, &Request::Open { probe })?
        else {
            return Ok(None);
        };
        self.open[probe] = true;
        self.harvest.probes[probe].dissection = dissection;
        self.harvest.probes[probe].facts = facts;
        Ok(Some(most_passes))
    }

    fn moment(&mut self) -> Result<(), Halt> {
        if let Reply::Moment(moment) = self.ask(&Request::Moment)? {
            self.harvest.moments.push(moment);
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
            self.harvest.core.push(Core { multiply, add, thousand, pair });
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
            self.harvest.probes[probe].epochs.push(Epoch::default());
            if self.harvest.probes[probe].passes == 0 {
                // A batch that was fitted to a cold probe is too short for a warm one.
                if !self.calibrate(probe, most)? || !self.warm(probe)? || !self.calibrate(probe, most)? {
                    continue;
                }
            }
            self.warm(probe)?;
        }
        Ok(())
    }

    fn batch_ticks(&self) -> f64 {
        self.plan.batch_ns as f64 * self.harvest.scale().map_or(1.0, |scale| scale.hz / 1e9)
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
                self.harvest.probes[probe].passes = fitting.min((most / 2).max(1));
                return Ok(true);
            }
            passes = passes.saturating_mul(4).min(most);
        }
    }

    /// Times batches until they no longer fall or rise. False when the probe is out.
    fn warm(&mut self, probe: usize) -> Result<bool, Halt> {
        let passes = self.harvest.probes[probe].passes;
        let mut times: Vec<f64> = Vec::new();
        let most_ticks = MOST_WARM_TIME * self.batch_ticks();
        while times.len() < MOST_WARM && !is_steady(&times) && times.iter().sum::<f64>() < most_ticks {
            let Some(ticks) = self.visit(probe, 0, vec![passes])? else { return Ok(false) };
            times.extend(ticks.iter().map(|&ticks| ticks as f64));
        }
        let steady = is_steady(&times);
        if let Some(epoch) = self.harvest.probes[probe].epochs.last_mut() {
            // What was counted while warming does not belong to the samples.
            *epoch = Epoch { steady, ..Epoch::default() };
        }
        Ok(true)
    }

    /// One visit; its counts are booked, its times returned.
    fn visit(&mut self, probe: usize, warm: u64, passes: Vec<u64>) -> Result<Option<Vec<u64>>, Halt> {
        let request = Request::Visit { probe, warm, passes };
        let Some(reply) = self.ask_probe(probe, &request)? else { return Ok(None) };
        let Reply::Visited { ticks, counts, passes, noise } = reply else { return Ok(None) };
        if let Some(epoch) = self.harvest.probes[probe].epochs.last_mut() {
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
            let mut order: Vec<usize> = self.active().into_iter().filter(|&probe| self.open[probe]).collect();
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
            self.say(|harvest| Event::Round(used.min(1.0), harvest))?;
        }
        self.moment()
    }

    /// The visit of one round.
    fn sample(&mut self, probe: usize, round: u64) -> Result<(), Halt> {
        let usual = self.harvest.probes[probe].passes;
        let kinds: &[u64] = match round % DOUBLE_EVERY {
            0 => &[2],
            1 => &[1, 0],
            _ => &[1],
        };
        let passes: Vec<u64> = kinds.iter().map(|kind| kind * usual).collect();
        let Some(ticks) = self.visit(probe, (usual / 8).max(1), passes)? else { return Ok(()) };
        if let Some(epoch) = self.harvest.probes[probe].epochs.last_mut() {
            for (kind, ticks) in kinds.iter().zip(ticks) {
                match kind {
                    0 => epoch.empty.push(ticks),
                    1 => epoch.batches.push(Batch { passes: usual, ticks }),
                    _ => epoch.doubles.push(Batch { passes: 2 * usual, ticks }),
                }
            }
        }
        self.dissect(probe)
    }

    /// As many stamped crossings as make about a batch. A probe that cannot be taken apart is asked once.
    fn dissect(&mut self, probe: usize) -> Result<(), Halt> {
        let collected = &self.harvest.probes[probe];
        if collected.dissection.is_none() || collected.undissected.is_some() {
            return Ok(());
        }
        let count = collected.passes.clamp(STAMPED.0, STAMPED.1) as u32;
        let reply = match self.bench.ask(&Request::Dissect { probe, count }) {
            Ok(reply) => reply,
            Err(Lost(reason)) => {
                self.out(probe, Outcome::Failed(reason));
                return self.recover();
            }
        };
        let collected = &mut self.harvest.probes[probe];
        match reply {
            Reply::Dissected { lanes, doubt } => {
                if let Some(epoch) = collected.epochs.last_mut() {
                    epoch.lanes.resize(lanes.len().max(epoch.lanes.len()), Vec::new());
                    for (all, lane) in epoch.lanes.iter_mut().zip(lanes).filter(|(_, lane)| !lane.is_empty())
                    {
                        all.push(median(&lane));
                    }
                    epoch.doubt = epoch.doubt.max(doubt);
                }
            }
            Reply::Skipped { reason, enable } => collected.undissected = Some((reason, enable)),
            Reply::Failed { reason } => self.out(probe, Outcome::Failed(reason)),
            _ => {}
        }
        Ok(())
    }

    /// Single passes of every active probe.
    fn singles(&mut self) -> Result<(), Halt> {
        for probe in self.active().into_iter().filter(|&probe| self.open[probe]).collect::<Vec<_>>() {
            let in_time = self.plan.singles_ns * self.harvest.probes[probe].passes / self.plan.batch_ns;
            let count = in_time.clamp(SINGLES.0, SINGLES.1) as u32;
            let Some(reply) = self.ask_probe(probe, &Request::Singles { probe, count })? else { continue };
            if let (Reply::Singles { ticks, empty }, Some(epoch)) =
                (reply, self.harvest.probes[probe].epochs.last_mut())
            {
                epoch.singles = ticks;
                epoch.singles_empty = empty;
            }
        }
        Ok(())
    }
}
