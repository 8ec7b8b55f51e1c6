//! One bench with its samples: all requests to a probe, and their time limits.

use super::plan::{FEWEST_ROUNDS, Plan};
use crate::bench::{Bench, Lost, Reply, Request};
use crate::clock::Nanos;
use crate::probe::Meta;
use crate::samples::{Batch, CoreReading, EpochSamples, Pair, ProbeSamples, ProbeState, RunSamples, Split};
use crate::stats::{is_steady, mean_of_crossings, median};
use std::slice;

/// Batches that a warm-up may take at the most.
const MOST_WARM: usize = 24;
/// Batches of a warm-up that are asked for at once, since a request takes as long as a batch: half of what [`is_steady`] looks at.
const WARM_AT_ONCE: u64 = 4;
/// Nanoseconds that a warm-up may take at the most: a probe whose single pass takes
/// milliseconds (a wake-up on a busy machine, or of a thread that is left to sleep before) must not hold up all others.
const MOST_WARM_NS: u64 = 9_000_000;
/// The factor by which a batch with a least number of passes may exceed its planned time.
const MOST_BATCH_TIME: f64 = 8.0;
/// Nanoseconds of the passes before a batch at the start of an epoch, beyond which passes are counted anew.
const MOST_BEFORE_BATCH_NS: u64 = 2_400_000;
/// The passes before a batch, since caches and predictors are those of another probe: a share of its passes, and at least
/// this many nanoseconds.
const BEFORE_BATCH: (f64, f64) = (0.125, 25e3);
/// The most that a probe may take of an epoch, as a multiple of its equal share.
const MOST_OF_SHARE: u64 = 8;
/// A probe may take this long with any share: a few slices of the scheduler on a busy machine, so that a short budget alone
/// cuts nothing.
const LEAST_ALLOWED_NS: u64 = 200_000_000;
/// One of this many rounds times batches of double length, and one of them also empty ones.
const DOUBLE_EVERY: u64 = 8;
/// The index of the one with double length: not one of the first, because an epoch of few rounds needs all of its batches.
const DOUBLE: u64 = FEWEST_ROUNDS;
/// The index of the one with empty batches.
const EMPTY: u64 = 1;
/// Single passes of an epoch: at least and at most.
const SINGLES: (u32, u32) = (8, 2_000);
/// Stamped crossings of a visit: at least and at most.
const STAMPED: (u64, u64) = (8, 256);

/// The power of two that is nearest by ratio. Two runs that are fitted at another speed of the machine have batches of the same
/// length then, on which some figures depend (`thread/condvar`); and long batches are whole turns of the unrolled loops of probes of
/// a few cycles: how a processor predicts the loop of the rest depends on its length, and made all of one run's calls 1.5 % more
/// expensive than another's.
fn power_of_two(passes: f64) -> u64 {
    1 << (passes.max(1.0).log2().round() as u32).min(u64::BITS - 2)
}

/// The most passes of a batch of a probe with a limit: half of the limit, so that a double batch fits.
fn most_of_batch(most: u64) -> u64 {
    1 << (most / 2).max(1).ilog2()
}

/// Ticks of each yardstick, as the bench replied.
type Yardsticks = Vec<Option<u64>>;

/// Why a run does not go on.
#[derive(Clone)]
pub(super) enum Halt {
    /// The caller asked for it.
    Stopped,
    /// The bench cannot be started any more.
    Lost(Lost),
}

impl From<Lost> for Halt {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

pub(super) struct Side<'a> {
    pub(super) bench: &'a mut dyn Bench,
    pub(super) metas: &'a [&'a Meta],
    plan: &'a Plan,
    pub(super) samples: RunSamples,
    pub(super) open: Vec<bool>,
    /// Time that each probe took in this epoch.
    used_ns: Vec<u64>,
    /// Time that one probe may take in this epoch.
    allowed_ns: u64,
}

impl<'a> Side<'a> {
    /// A bench on which nothing is open. Without a state a probe is measured.
    pub(super) fn new(
        bench: &'a mut dyn Bench,
        metas: &'a [&'a Meta],
        states: Vec<ProbeState>,
        plan: &'a Plan,
    ) -> Self {
        let mut probes = vec![ProbeSamples::default(); metas.len()];
        probes.iter_mut().zip(states).for_each(|(probe, state)| probe.state = state);
        let samples = RunSamples { probes, ..RunSamples::default() };
        let (open, used_ns) = (vec![false; metas.len()], vec![0; metas.len()]);
        Self { bench, metas, plan, samples, open, used_ns, allowed_ns: u64::MAX }
    }

    /// The samples of a run that ended or was halted.
    pub(super) fn finish(mut self, halt: Option<Halt>) -> Result<RunSamples, Lost> {
        match halt {
            None => self.samples.complete = true,
            Some(Halt::Stopped) => {}
            Some(Halt::Lost(lost)) if self.samples.probes.iter().all(|it| it.epochs.is_empty()) => {
                return Err(lost);
            }
            Some(Halt::Lost(lost)) => self.samples.lost = Some(lost),
        }
        Ok(self.samples)
    }

    /// A fresh bench, on which each probe may take a multiple of its share of the epoch.
    pub(super) fn begin_epoch(&mut self) -> Result<(), Lost> {
        self.restart()?;
        self.used_ns.fill(0);
        let share = self.plan.budget_ns / u64::from(self.plan.most_epochs);
        let fair = share * MOST_OF_SHARE / self.active().len().max(1) as u64;
        self.allowed_ns = fair.max(LEAST_ALLOWED_NS);
        self.samples.yardsticks.push(Default::default());
        self.core()
    }

    pub(super) fn active(&self) -> Vec<usize> {
        let probes = self.samples.probes.iter().enumerate();
        probes
            .filter(|(_, probe)| probe.state == ProbeState::Active && !probe.precise)
            .map(|(i, _)| i)
            .collect()
    }

    fn restart(&mut self) -> Result<(), Lost> {
        self.open.fill(false);
        self.bench.restart()
    }

    /// Asks something that concerns no probe. A bench that is lost is started anew, once.
    fn ask(&mut self, request: &Request) -> Result<Reply, Lost> {
        if let Ok(reply) = self.bench.ask(request) {
            return Ok(reply);
        }
        self.recover()?;
        self.bench.ask(request)
    }

    /// Starts the bench anew and opens what was open.
    fn recover(&mut self) -> Result<(), Lost> {
        let were_open: Vec<usize> = (0..self.open.len()).filter(|&probe| self.open[probe]).collect();
        self.restart()?;
        for probe in were_open {
            self.open(probe)?;
        }
        Ok(())
    }

    /// Asks something of a probe. `None` when the probe is out: it refused, failed, or took the bench
    /// with it, in which case the bench is started anew with the others open.
    fn ask_probe(&mut self, probe: usize, request: &Request) -> Result<Option<Reply>, Lost> {
        Ok(self.ask_all(probe, slice::from_ref(request))?.map(|(reply, _)| reply))
    }

    /// The same, and what follows at once; the replies to that come second.
    fn ask_all(&mut self, probe: usize, requests: &[Request]) -> Result<Option<(Reply, Vec<Reply>)>, Lost> {
        let start = self.bench.elapsed_ns();
        let replies = self.bench.ask_all(requests);
        self.used_ns[probe] += self.bench.elapsed_ns() - start;
        let mut replies = match replies {
            Ok(replies) => replies.into_iter(),
            Err(Lost(reason)) => {
                self.out(probe, ProbeState::Failed(reason));
                self.recover()?;
                return Ok(None);
            }
        };
        match replies.next() {
            Some(Reply::Skipped { reason, enable }) if matches!(requests, [Request::Dissect { .. }]) => {
                self.samples.probes[probe].undissected = Some((reason, enable));
            }
            Some(Reply::Skipped { reason, enable }) => {
                self.out(probe, ProbeState::Skipped { reason, enable });
            }
            Some(Reply::Failed { reason }) => self.out(probe, ProbeState::Failed(reason)),
            Some(reply) => return Ok(Some((reply, replies.collect()))),
            None => {}
        }
        Ok(None)
    }

    fn out(&mut self, probe: usize, state: ProbeState) {
        self.samples.probes[probe].state = state;
        self.open[probe] = false;
    }

    /// The most passes that the probe can make at once; `None` when it is out.
    fn open(&mut self, probe: usize) -> Result<Option<u64>, Lost> {
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

    /// Opens a probe for a new epoch: the most passes that it can make at once; `None` when it is out.
    pub(super) fn begin(&mut self, probe: usize) -> Result<Option<u64>, Lost> {
        let most = self.open(probe)?;
        if most.is_some() {
            self.samples.probes[probe].epochs.push(EpochSamples::default());
        }
        Ok(most)
    }

    pub(super) fn moment(&mut self) -> Result<(), Lost> {
        if let Reply::Moment(moment) = self.ask(&Request::Moment)? {
            self.samples.moments.push(moment);
        }
        Ok(())
    }

    /// Times each yardstick once, in this epoch.
    pub(super) fn yardsticks(&mut self) -> Result<Yardsticks, Lost> {
        let Reply::Yardsticks(ticks) = self.ask(&Request::Yardsticks)? else { return Ok(Vec::new()) };
        self.keep_yardsticks(&ticks);
        Ok(ticks)
    }

    fn keep_yardsticks(&mut self, ticks: &[Option<u64>]) {
        let Some(epoch) = self.samples.yardsticks.last_mut() else { return };
        for (all, ticks) in epoch.iter_mut().zip(ticks) {
            all.extend(ticks.filter(|&ticks| ticks > 0));
        }
    }

    /// Keeps the less that each yardstick took before a batch or after it: a disturbance of one of them is seldom one of the batch.
    pub(super) fn beside(&mut self, probe: usize, before: &[Option<u64>], after: &[Option<u64>]) {
        let Some(epoch) = self.samples.probes[probe].epochs.last_mut() else { return };
        for (all, (before, after)) in epoch.yardsticks.iter_mut().zip(before.iter().zip(after)) {
            all.extend(before.zip(*after).map(|(before, after)| before.min(after)));
        }
    }

    /// The frequencies of clock and core.
    pub(super) fn core(&mut self) -> Result<(), Lost> {
        self.moment()?;
        if let Reply::Core { multiply, add, thousand, pair } = self.ask(&Request::Core)? {
            let pair: Vec<f64> = pair.iter().map(|&ticks| ticks as f64).collect();
            let [multiply, add, thousand, pair] =
                [multiply, add, thousand, pair].map(|values| median(&values));
            self.samples.core.push(CoreReading { multiply, add, thousand, pair });
        }
        self.moment()
    }

    fn ticks(&self, ns: u64) -> f64 {
        self.samples.scale().map_or(ns as f64, |scale| scale.ticks(Nanos(ns as f64)).0)
    }

    fn batch_ticks(&self) -> f64 {
        self.ticks(self.plan.batch_ns)
    }

    /// Passes before a batch, from its number of passes.
    fn before_batch(&self, passes: u64) -> u64 {
        let share = (BEFORE_BATCH.1 / self.plan.batch_ns as f64).clamp(BEFORE_BATCH.0, 1.0);
        ((passes as f64 * share) as u64).max(1)
    }

    /// Ticks after which the bench gives up a request of one probe.
    fn most_ticks(&self) -> u64 {
        self.ticks(self.allowed_ns / 4) as u64
    }

    fn has_time(&self, probe: usize) -> bool {
        self.used_ns[probe] < self.allowed_ns
    }

    /// Finds the number of passes that fills a batch, and checks the one of an earlier epoch or another bench. False
    /// when the probe is out.
    pub(super) fn fit(&mut self, probe: usize, most: u64) -> Result<bool, Lost> {
        let samples = &mut self.samples.probes[probe];
        samples.passes = samples.passes.min(most_of_batch(most));
        let passes = samples.passes;
        if passes == 0 {
            // A batch that was fitted to a cold probe is too short for a warm one.
            return Ok(self.calibrate(probe, most)? && self.warm(probe)? && self.calibrate(probe, most)?);
        }
        // If other tasks hold the CPUs now, whole batches of a probe that waits take the time of all others.
        let (before, most_ticks) = (vec![self.before_batch(passes)], self.most_ticks());
        let Some((ticks, _)) = self.visit(probe, 0, before, most_ticks, false)? else { return Ok(false) };
        let slow = ticks.iter().any(|&ticks| ticks as f64 > self.ticks(MOST_BEFORE_BATCH_NS));
        if slow && passes > 1 { self.calibrate(probe, most) } else { Ok(true) }
    }

    /// Finds the number of passes that fills a batch, by trying longer ones. False when the probe is out.
    fn calibrate(&mut self, probe: usize, most: u64) -> Result<bool, Lost> {
        let wanted = self.batch_ticks();
        let mut passes = 1_u64;
        loop {
            // The first has first-time costs, and one of the next two may be disturbed. What an empty batch takes is not the passes'
            // (a thread that is asked to make them takes as long as forty system calls).
            let (batches, most_ticks) = (vec![passes, passes, passes, 0], self.most_ticks());
            let Some((ticks, _)) = self.visit(probe, 0, batches, most_ticks, false)? else {
                return Ok(false);
            };
            let ticks = match ticks[..] {
                [_, one, other, empty] => one.min(other).saturating_sub(empty).max(1),
                // They took so long that the time was up.
                [.., last] => last,
                [] => 1,
            } as f64;
            if ticks >= wanted / 8.0 || passes >= most {
                let fitting = passes as f64 * wanted / ticks;
                let least =
                    u64::from(self.metas[probe].least_passes).min(power_of_two(MOST_BATCH_TIME * fitting));
                self.samples.probes[probe].passes = power_of_two(fitting).max(least).min(most_of_batch(most));
                return Ok(true);
            }
            passes = passes.saturating_mul(4).min(most);
        }
    }

    /// Times batches until they no longer fall or rise. False when the probe is out.
    pub(super) fn warm(&mut self, probe: usize) -> Result<bool, Lost> {
        let passes = self.samples.probes[probe].passes;
        let mut times: Vec<f64> = Vec::new();
        let until = self.used_ns[probe] + MOST_WARM_NS;
        let begun = self.used_ns[probe];
        while times.len() < MOST_WARM && !is_steady(&times) && self.used_ns[probe] < until {
            // Only as many at once as the time is expected to last for.
            let each = (self.used_ns[probe] - begun) / times.len().max(1) as u64;
            let left = until - self.used_ns[probe];
            let count = left.checked_div(each).map_or(1, |fitting| fitting.clamp(1, WARM_AT_ONCE));
            let (batches, most_ticks) = (vec![passes; count as usize], self.ticks(left) as u64);
            let Some((ticks, _)) = self.visit(probe, 0, batches, most_ticks, false)? else {
                return Ok(false);
            };
            times.extend(ticks.iter().map(|&ticks| ticks as f64));
        }
        let steady = is_steady(&times);
        if let Some(epoch) = self.samples.probes[probe].epochs.last_mut() {
            // Counts of the warm-up do not belong to the samples.
            *epoch = EpochSamples { steady, ..EpochSamples::default() };
        }
        Ok(true)
    }

    /// One visit: adds its counts to the epoch and returns the ticks of the batches that were begun in time, and of the yardsticks
    /// after them if they are wanted.
    fn visit(
        &mut self,
        probe: usize,
        warm: u64,
        passes: Vec<u64>,
        most_ticks: u64,
        yardsticks: bool,
    ) -> Result<Option<(Vec<u64>, Yardsticks)>, Lost> {
        let request = Request::Visit { probe, warm, passes, most_ticks };
        let requests = if yardsticks { vec![request, Request::Yardsticks] } else { vec![request] };
        let Some((reply, others)) = self.ask_all(probe, &requests)? else { return Ok(None) };
        let Reply::Visited { ticks, counts, passes, noise } = reply else { return Ok(None) };
        let yardsticks = match others.into_iter().next() {
            Some(Reply::Yardsticks(ticks)) => ticks,
            _ => Vec::new(),
        };
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
        self.keep_yardsticks(&yardsticks);
        Ok(Some((ticks, yardsticks)))
    }

    /// Time that the probe took in this epoch.
    pub(super) fn used_ns(&self, probe: usize) -> u64 {
        self.used_ns[probe]
    }

    /// Twice the mean time that each of these took in this epoch.
    pub(super) fn fair_ns(&self, probes: &[usize]) -> u64 {
        let used: u64 = probes.iter().map(|&probe| self.used_ns[probe]).sum();
        2 * used / probes.len().max(1) as u64
    }

    /// Whether the probe is open and has time left in this epoch, or no batch yet.
    pub(super) fn takes_part(&mut self, probe: usize) -> bool {
        let has_time = self.has_time(probe);
        let Some(epoch) = self.samples.probes[probe].epochs.last_mut() else { return false };
        epoch.cut = !has_time && !epoch.batches.is_empty();
        self.open[probe] && !epoch.cut
    }

    /// Whether the probe is open and has no batch in this epoch. Its batches become shorter at each visit until one is
    /// made, so this ends.
    pub(super) fn wants_batch(&self, probe: usize) -> bool {
        let epoch = self.samples.probes[probe].epochs.last();
        self.open[probe] && epoch.is_some_and(|epoch| epoch.batches.is_empty())
    }

    /// Takes the epoch from each probe that has no batch in it.
    pub(super) fn forget_without_batch(&mut self) {
        for probe in &mut self.samples.probes {
            probe.epochs.pop_if(|epoch| epoch.batches.is_empty());
        }
    }

    /// The visit of one round: its batch of the usual length, if it has one, and the yardsticks after it, if they are wanted. `None`
    /// when the probe is out.
    pub(super) fn sample(
        &mut self,
        probe: usize,
        round: u64,
        yardsticks: bool,
    ) -> Result<Option<(Option<Batch>, Yardsticks)>, Lost> {
        let usual = self.samples.probes[probe].passes;
        let kinds: &[u64] = match round % DOUBLE_EVERY {
            DOUBLE if self.has_time(probe) => &[2],
            EMPTY => &[1, 0],
            _ => &[1],
        };
        let passes: Vec<u64> = kinds.iter().map(|kind| kind * usual).collect();
        let before = self.before_batch(usual);
        // A single pass cannot be shortened, and without it a probe on a busy machine would have no sample.
        let epoch = self.samples.probes[probe].epochs.last();
        let has_batch = epoch.is_some_and(|epoch| !epoch.batches.is_empty());
        let most_ticks = if before == 1 && !has_batch { u64::MAX } else { self.most_ticks() };
        let Some((ticks, yardsticks)) = self.visit(probe, before, passes, most_ticks, yardsticks)? else {
            return Ok(None);
        };
        let samples = &mut self.samples.probes[probe];
        let mut batch = None;
        if let Some(epoch) = samples.epochs.last_mut() {
            if ticks.is_empty() {
                // Batches of one epoch have one length.
                samples.passes = (usual / 8).max(1);
                epoch.batches.clear();
                epoch.yardsticks = Default::default();
                epoch.rounds.clear();
                epoch.doubles.clear();
            }
            for (kind, ticks) in kinds.iter().zip(ticks) {
                match kind {
                    0 => epoch.empty.push(ticks),
                    1 => {
                        epoch.batches.push(*batch.insert(Batch { passes: usual, ticks }));
                        epoch.rounds.push(round);
                    }
                    _ => epoch.doubles.push((epoch.batches.len(), Batch { passes: 2 * usual, ticks })),
                }
            }
        }
        if let Some(batch) = batch
            && samples.dissection.is_some()
            && samples.undissected.is_none()
        {
            self.dissect(probe, batch)?;
        }
        Ok(Some((batch, yardsticks)))
    }

    /// Whether a round times batches of double length.
    pub(super) fn is_double(round: u64) -> bool {
        round % DOUBLE_EVERY == DOUBLE
    }

    /// Keeps a pair of the epoch.
    pub(super) fn pair(&mut self, probe: usize, pair: Pair) {
        if let Some(epoch) = self.samples.probes[probe].epochs.last_mut() {
            epoch.pairs.push(pair);
        }
    }

    /// As many stamped crossings as make about a batch, right after one.
    fn dissect(&mut self, probe: usize, batch: Batch) -> Result<(), Lost> {
        let count = self.samples.probes[probe].passes.clamp(STAMPED.0, STAMPED.1) as u32;
        let reply = self.ask_probe(probe, &Request::Dissect { probe, count })?;
        if let (Some(Reply::Dissected { lanes, doubt }), Some(epoch)) =
            (reply, self.samples.probes[probe].epochs.last_mut())
        {
            // The mean, as a batch is one: some crossings always take longer than most (a refill of the kernel's list of
            // free pages).
            let lanes: Vec<Option<f64>> = lanes.iter().map(|lane| mean_of_crossings(lane)).collect();
            if lanes.iter().any(Option::is_some) {
                epoch.splits.push(Split { batch, lanes });
            }
            epoch.doubt = epoch.doubt.max(doubt);
        }
        Ok(())
    }

    /// Single passes of every active probe.
    pub(super) fn singles(&mut self) -> Result<(), Lost> {
        for probe in self.active() {
            if !self.open[probe] {
                continue;
            }
            let request = Request::Singles {
                probe,
                count: SINGLES,
                ticks: self.ticks(self.plan.singles_ns) as u64,
                most_ticks: self.most_ticks(),
            };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_powers_of_two() {
        let fitting = [0.2, 1.0, 1.4, 1.5, 5.6, 5.7, 90.0, 91.0, f64::INFINITY];
        assert_eq!(fitting.map(power_of_two), [1, 1, 1, 2, 4, 8, 64, 128, 1 << 62]);
    }
}
