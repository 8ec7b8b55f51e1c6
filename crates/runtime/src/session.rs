//! Measures rows: builds, calibrates, then runs each row once per epoch in a fresh process, in an order that
//! the seed shuffles.

mod build;
mod plan;
mod turns;

pub use self::plan::Plan;
pub use self::turns::{Setting, once, once_together};
pub use crate::row::{Chosen, Row, State};

use self::turns::{Halt, calibrate, visit, visit_together};
use crate::cache::BuildError;
use crate::pace::Pace;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};
use tollgate_measure::bench::{Bench, Reply, Request};
use tollgate_measure::clock::{Counter, Os, Source};
use tollgate_measure::local::Local;
use tollgate_measure::samples::{CoreReading, RunSamples};
use tollgate_measure::stats::median;
use tollgate_measure::{Site, placement};

/// An event of the session, between measurements.
#[derive(Debug)]
pub enum Event<'a> {
    /// A build step, as text.
    Building(String),
    /// Everything is built; how long the measuring is likely to take.
    Planned(Duration),
    /// A row starts; with the share of the work that is done.
    Running(f64, &'a str),
    /// A row has run once more; worth saving.
    Measured(&'a Session),
}

/// Rows, and the harness's own measurements of the machine.
#[derive(Debug)]
pub struct Session {
    /// Every requested row.
    pub rows: Vec<Row>,
    /// Clock and core; it has no probes.
    pub samples: RunSamples,
}

/// State that all epochs of a session share.
struct Turns<'a> {
    plan: &'a Plan,
    setting: &'a Setting,
    stop: &'a AtomicBool,
    start: Instant,
    /// The time of the last row of each mechanism.
    costs: BTreeMap<String, Duration>,
    pace: Pace,
}

impl Turns<'_> {
    /// The share of the work that is done, as if further processes took all of their time.
    fn share(&self) -> f64 {
        let spent = self.start.elapsed().as_secs_f64();
        let all = self.plan.time.map_or_else(|| self.pace.total_s(), |time| time.as_secs_f64());
        (spent / all).min(1.0)
    }
}

/// Receives events, and may stop the session.
pub type Tell<'a> = &'a mut dyn FnMut(Event<'_>) -> ControlFlow<()>;

impl Session {
    /// Nothing measured yet.
    pub fn new(rows: Vec<Row>) -> Self {
        Self { rows, samples: RunSamples::default() }
    }

    /// Builds and measures. The failure of a row affects only that row.
    ///
    /// # Errors
    /// The measured CPU cannot be used, or the cache cannot be written.
    pub fn run(
        &mut self,
        plan: &Plan,
        setting: &Setting,
        stop: &AtomicBool,
        tell: Tell<'_>,
    ) -> Result<(), BuildError> {
        // The flag ends the build if the user wants to stop.
        let mut say = |line| _ = tell(Event::Building(line));
        build::build(&mut self.rows, (&setting.cache, &setting.sources), stop, &mut say)?;
        let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
        let pace = Pace::of(&self.rows, plan.turn());
        let likely = plan.time.unwrap_or_else(|| Duration::from_secs_f64(pace.total_s()));
        if tell(Event::Planned(likely)).is_break() {
            return Ok(());
        }
        let (start, costs) = (Instant::now(), BTreeMap::new());
        let mut turns = Turns { plan, setting, stop, start, costs, pace };
        for epoch in 0..plan.epochs {
            self.measure_core(setting);
            let order = self.active(&mut rng);
            if self.epoch(order, epoch == 0, &mut turns, tell).is_break() {
                return Ok(());
            }
        }
        let until = Instant::now() + plan.further;
        let mut spent: BTreeMap<String, Duration> = BTreeMap::new();
        while Instant::now() < until {
            let wide = self.widest(plan.target, &mut rng);
            // Each runtime gets the same time: where a process is short, more processes.
            let time = |at: usize| spent.get(&self.rows[at].runtime.id).copied().unwrap_or_default();
            let Some(first) = wide.iter().copied().min_by_key(|&at| time(at)) else { break };
            let others: Vec<usize> = wide.into_iter().filter(|&at| at != first).collect();
            let begun = Instant::now();
            let group = self.group(first, &others, &[]);
            if self.epoch(group, false, &mut turns, tell).is_break() {
                return Ok(());
            }
            *spent.entry(self.rows[first].runtime.id.clone()).or_default() += begun.elapsed();
        }
        self.measure_core(setting);
        self.samples.complete = true;
        Ok(())
    }

    /// The rows that can be measured, in an order by chance.
    fn active(&self, rng: &mut ChaCha8Rng) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.shuffle(rng);
        order.retain(|&at| self.rows[at].state == State::Active);
        order
    }

    /// The rows whose interval is wider than twice the target, in an order by chance; if none is, those wider than the target and
    /// more than half as wide as the widest.
    fn widest(&self, target: f64, rng: &mut ChaCha8Rng) -> Vec<usize> {
        let widths = self.active(rng).into_iter().filter_map(|at| Some((at, self.rows[at].half_width()?)));
        let mut rows: Vec<(usize, f64)> = widths.collect();
        let widest = rows.iter().map(|&(_, width)| width).fold(0.0, f64::max);
        rows.retain(|&(_, width)| width > (widest / 2.0).clamp(target, 2.0 * target));
        rows.into_iter().map(|(at, _)| at).collect()
    }

    /// One more process of each of these rows; a break if the session is to end.
    fn epoch(
        &mut self,
        mut order: Vec<usize>,
        is_first: bool,
        turns: &mut Turns<'_>,
        tell: Tell<'_>,
    ) -> ControlFlow<()> {
        let Turns { plan, setting, stop, start, .. } = *turns;
        let mut apart: Vec<String> = Vec::new();
        while !order.is_empty() {
            let next = if plan.time.is_some() { self.cheapest(&order, &turns.costs) } else { 0 };
            let at = order.remove(next);
            let left = plan.time.map(|time| time.saturating_sub(start.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                self.rows[at].out_of_time();
                continue;
            }
            let group = self.group(at, &order, &apart);
            let done = turns.share();
            if group.len() > 1 {
                let id = self.rows[at].runtime.id.clone();
                tell(Event::Running(done, &id))?;
                let begun = Instant::now();
                match visit_together(&mut self.rows, &group, is_first, plan, setting, stop) {
                    Ok(()) => {
                        turns.pace.made(group.iter().map(|&at| &self.rows[at]), begun.elapsed());
                        order.retain(|other| !group.contains(other));
                        tell(Event::Measured(self))?;
                        continue;
                    }
                    Err(Halt::Stopped) => return ControlFlow::Break(()),
                    // Each in a process of its own, so that only the row whose fault it is fails.
                    Err(Halt::State(_)) => apart.push(id),
                }
            }
            let name = match self.rows[at].tasks {
                1 => self.rows[at].runtime.row(&self.rows[at].mechanism),
                tasks => format!("{}, {tasks} tasks", self.rows[at].name()),
            };
            tell(Event::Running(done, &name))?;
            let (row, begun) = (&mut self.rows[at], Instant::now());
            // The number of switches that was asked for is made, however long it takes.
            let share =
                left.filter(|_| plan.iterations.is_none()).map(|left| left / (order.len() + 1) as u32);
            let calibrated = if is_first { calibrate(row, plan, setting, stop).map(Some) } else { Ok(None) };
            let done = calibrated.and_then(|said| match said {
                // Another process would take the time of the rows to come.
                Some(said) if share.is_some_and(|share| begun.elapsed() > share / 2) => {
                    row.keep(said);
                    Ok(())
                }
                _ => visit(row, plan, setting, stop),
            });
            turns.costs.insert(row.name(), begun.elapsed());
            turns.pace.made([&*row], begun.elapsed());
            match done {
                Ok(()) => {}
                Err(Halt::Stopped) => return ControlFlow::Break(()),
                Err(Halt::State(state)) => {
                    row.state = state;
                    turns.pace.without(row, if is_first { plan.epochs.saturating_sub(1) } else { 0 });
                }
            }
            tell(Event::Measured(self))?;
        }
        ControlFlow::Continue(())
    }

    /// The rows of `order` that can share a process with this one, in that order.
    fn group(&self, at: usize, order: &[usize], apart: &[String]) -> Vec<usize> {
        let runtime = &self.rows[at].runtime;
        let shares = runtime.together && !apart.contains(&runtime.id);
        let others = order.iter().filter(|&&other| shares && self.rows[other].runtime.id == runtime.id);
        std::iter::once(at).chain(others.copied()).collect()
    }

    /// Which of these rows is likely to take the least time, so that a limited time yields the most rows: `costs` has what
    /// the last row of the same mechanism took.
    fn cheapest(&self, order: &[usize], costs: &BTreeMap<String, Duration>) -> usize {
        let cost = |at: usize| {
            let row = &self.rows[at];
            (costs.get(&row.name()).copied().unwrap_or_default(), row.tasks)
        };
        (0..order.len()).min_by_key(|&place| cost(order[place])).unwrap_or_default()
    }

    /// Measures the rates of clock and core on the measured CPU. If that fails, the record has no cycles.
    fn measure_core(&mut self, setting: &Setting) {
        let site = Site { cpu: setting.cpu, peer: None };
        let source = setting.source;
        // A thread of its own, so that this one does not stay on the measured CPU.
        let looked = thread::scope(|scope| {
            scope
                .spawn(|| {
                    placement::pin(site.cpu).ok()?;
                    match source {
                        Source::Counter => rates(&mut Local::new(Counter, &[], site)),
                        Source::Os => rates(&mut Local::new(Os, &[], site)),
                    }
                })
                .join()
        });
        if let Ok(Some((moments, core))) = looked {
            self.samples.moments.extend(moments);
            self.samples.core.push(core);
        }
    }
}

fn rates(bench: &mut impl Bench) -> Option<([tollgate_measure::clock::Moment; 2], CoreReading)> {
    let mut ask = |request| bench.ask(&request).ok();
    let Reply::Moment(before) = ask(Request::Moment)? else { return None };
    let Reply::Core { multiply, add, thousand, pair } = ask(Request::Core)? else { return None };
    let Reply::Moment(after) = ask(Request::Moment)? else { return None };
    let pair: Vec<f64> = pair.iter().map(|&ticks| ticks as f64).collect();
    let [multiply, add, thousand, pair] = [multiply, add, thousand, pair].map(|values| median(&values));
    Some(([before, after], CoreReading { multiply, add, thousand, pair }))
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
