//! Measures rows: builds, calibrates, then runs each row once per epoch in a fresh process, in an order that
//! the seed shuffles.

use crate::cache::{self, BuildError, Cache};
use crate::needs::{self, Tried};
use crate::pace::{Pace, Turn};
use crate::process::{self, Fate, Limits};
use crate::room::Room;
pub use crate::row::{Chosen, Row, State};
use crate::sources::Sources;
use crate::table::Runtime;
use crate::transcript::{self, Asked, Refused, Transcript};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{slice, thread};
use tollgate_measure::bench::{Bench, Reply, Request};
use tollgate_measure::clock::{Counter, Os, Source};
use tollgate_measure::local::Local;
use tollgate_measure::samples::{CoreReading, RunSamples};
use tollgate_measure::stats::median;
use tollgate_measure::{Site, placement};

/// How to sample.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seed of the order.
    pub seed: u64,
    /// Processes in which each row is measured.
    pub epochs: u32,
    /// Time for further processes of the rows whose interval is wide after that, the widest first.
    pub further: Duration,
    /// Half the width of an interval that is not wide, as a share of the figure.
    pub target: f64,
    /// Length of a batch in nanoseconds, unless a round is longer.
    pub batch_ns: f64,
    /// Time for the batches of one process, in nanoseconds.
    pub epoch_ns: f64,
    /// Minimum and maximum of the warm-up in milliseconds.
    pub warm_ms: (u64, u64),
    /// Switches timed one at a time, in each process.
    pub singles: u64,
    /// All switches of a row, instead of those that `epoch_ns` allows.
    pub iterations: Option<u64>,
    /// Time for all rows once they are built, if it is limited. A row whose turn would be later is skipped.
    pub time: Option<Duration>,
}

/// Time of a rough answer, whatever the number of rows.
const QUICK: Duration = Duration::from_secs(5);

impl Plan {
    /// How much a rough, a fine or the usual answer takes; less for each row of a curve, which has many.
    pub fn usual(quick: bool, thorough: bool, is_curve: bool) -> Self {
        let (epochs, epoch_ms, warm_ms, singles) = match (quick, thorough) {
            (true, _) => (1, 20.0, (5, 40), 300),
            (_, true) => (12, 400.0, (50, 1_500), 2_000),
            _ if is_curve => (2, 60.0, (5, 300), 300),
            _ => (6, 80.0, (10, 400), 1_000),
        };
        let (epoch_ns, time) = (epoch_ms * 1e6, quick.then_some(QUICK));
        let (further, target, iterations) = (Duration::ZERO, 0.0, None);
        Self {
            seed: 0,
            epochs,
            further,
            target,
            batch_ns: 300e3,
            epoch_ns,
            warm_ms,
            singles,
            iterations,
            time,
        }
    }

    /// The same for borders: most calls are shorter than a reading of the clock, and there are many rows, so batches and
    /// warm-up are short. Of nine processes one may be slow without widening the interval; where more are, more are started.
    pub fn borders(quick: bool, thorough: bool) -> Self {
        let usual = Self { singles: 0, ..Self::usual(quick, thorough, false) };
        match (quick, thorough) {
            (true, _) => Self { batch_ns: 100e3, epoch_ns: 6e6, ..usual },
            (_, true) => usual,
            _ => {
                let further = Duration::from_secs(8);
                let plan = Self { epochs: 9, further, target: 0.015, ..usual };
                Self { batch_ns: 100e3, epoch_ns: 4e6, warm_ms: (3, 150), ..plan }
            }
        }
    }
}

impl Plan {
    /// What it has for each row.
    fn turn(&self) -> Turn {
        // A switch takes some 100 ns.
        let asked = self.iterations.map(|switches| switches as f64 * 100e-9 / f64::from(self.epochs));
        Turn {
            epochs: self.epochs,
            warm_ms: self.warm_ms.0,
            batches_s: asked.unwrap_or(self.epoch_ns / 1e9),
            further_s: self.further.as_secs_f64(),
        }
    }
}

/// Where to measure, and with which means.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The measured CPU.
    pub cpu: usize,
    /// The clock with which the core's rate is found.
    pub source: Source,
    /// Milliseconds that a program may be silent beyond the time of its work.
    pub patience_ms: u64,
    /// The memory that may be used.
    pub room: Room,
    /// Where runtimes are built.
    pub cache: Cache,
    /// Where they come from.
    pub sources: Sources,
}

/// What the session reports while it does not time anything.
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

/// What all epochs of a session share.
struct Turns<'a> {
    plan: &'a Plan,
    setting: &'a Setting,
    stop: &'a AtomicBool,
    start: Instant,
    /// What the last row of each mechanism took.
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
        self.build(setting, stop, tell)?;
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
                match self.visit_together(&group, is_first, plan, setting, stop) {
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

    /// One epoch of several rows, in one process.
    fn visit_together(
        &mut self,
        group: &[usize],
        is_first: bool,
        plan: &Plan,
        setting: &Setting,
        stop: &AtomicBool,
    ) -> Result<(), Halt> {
        let run = |rows: &[Row], ask: &dyn Fn(&Row) -> Asked, warm| {
            let rows: Vec<&Row> = group.iter().map(|&at| &rows[at]).collect();
            let asked: Vec<Asked> = rows.iter().map(|row| ask(row)).collect();
            run(&rows, &asked, warm, setting, stop)
        };
        if is_first {
            let said = run(&self.rows, &short, short_warm(1, plan))?;
            group.iter().zip(&said).for_each(|(&at, said)| fit(&mut self.rows[at], plan, said));
        }
        let said = run(&self.rows, &|row| long(row, plan), long_warm(&self.rows[group[0]], plan))?;
        group.iter().zip(said).for_each(|(&at, said)| self.rows[at].epochs.push(said));
        Ok(())
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

    /// Finds or builds what the rows need. Runtimes of one folder share its build.
    fn build(&mut self, setting: &Setting, stop: &AtomicBool, tell: Tell<'_>) -> Result<(), BuildError> {
        type Built = Result<PathBuf, State>;
        let mut by_runtime: BTreeMap<String, Built> = BTreeMap::new();
        let mut failed: BTreeMap<String, State> = BTreeMap::new();
        let mut tried = Tried::new();
        for row in &mut self.rows {
            if row.state != State::Active || row.folder.is_some() {
                continue;
            }
            let name = row.name();
            let runtime = &row.runtime;
            if !by_runtime.contains_key(&runtime.id) {
                let built: Built = if let Some(missing) = needs::missing(runtime, &mut tried, stop) {
                    Err(State::Skipped(missing.reason, missing.enable))
                } else if let Some(state) = failed.get(&build_of(runtime)) {
                    Err(state.clone())
                } else {
                    // The flag ends the build if the user wants to stop.
                    let mut say = |line| {
                        let _ = tell(Event::Building(line));
                    };
                    match setting.cache.folder(runtime, &setting.sources, stop, &mut say) {
                        Ok(folder) => Ok(folder),
                        Err(
                            error @ (BuildError::Cache(..) | BuildError::Unsafe(..) | BuildError::Home(..)),
                        ) => {
                            return Err(error);
                        }
                        Err(BuildError::Stopped) => return Ok(()),
                        Err(error) => {
                            row.state = State::Failed(error.to_string());
                            // The reason is long; the other rows of the build refer to it.
                            let state = State::Failed(format!("its build failed: see {name}"));
                            failed.insert(build_of(runtime), state.clone());
                            by_runtime.insert(runtime.id.clone(), Err(state));
                            continue;
                        }
                    }
                };
                by_runtime.insert(runtime.id.clone(), built);
            }
            match by_runtime.get(&runtime.id) {
                Some(Ok(folder)) => row.folder = Some(folder.clone()),
                Some(Err(state)) => row.state = state.clone(),
                None => {}
            }
        }
        Ok(())
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

/// The key that runtimes with a common build share.
fn build_of(runtime: &Runtime) -> String {
    format!("{}\0{:?}", runtime.folder, runtime.build)
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

enum Halt {
    Stopped,
    State(State),
}

impl Halt {
    fn state(self) -> State {
        match self {
            Self::Stopped => State::Failed("stopped".into()),
            Self::State(state) => state,
        }
    }
}

/// From this many tasks on, a round is long enough to be a batch without calibration.
const MANY: u64 = 100_000;

/// A short run that finds how long a batch must be.
fn calibrate(row: &mut Row, plan: &Plan, setting: &Setting, stop: &AtomicBool) -> Result<Transcript, Halt> {
    let said = run_one(row, &short(row), short_warm(row.tasks, plan), setting, stop)?;
    fit(row, plan, &said);
    Ok(said)
}

/// What is asked for in a short run.
fn short(row: &Row) -> Asked {
    let few = if row.tasks >= MANY { 1 } else { 8 };
    asked(row, few, row.tasks * (256 / row.tasks).max(1), 0)
}

/// As long as the real warm-up may take: a batch that is calibrated on cold code is too short for warm code.
fn short_warm(tasks: u64, plan: &Plan) -> (u64, u64) {
    if tasks >= MANY { (0, 1) } else { (1, plan.warm_ms.1) }
}

/// The calls of a batch share what the batch itself costs: a reading of the clock, or that a thread is woken that makes them.
const FEWEST_CALLS: u64 = 20;

/// The batches of a call so long that [`FEWEST_CALLS`] decides: it makes system calls, so its batches differ among themselves,
/// and the headline is nearly the quickest of each process.
const FEWEST_BATCHES: u64 = 100;

/// Chooses the batches of a row by what a short run said.
fn fit(row: &mut Row, plan: &Plan, said: &Transcript) {
    let times: Vec<f64> = said.samples.iter().map(|sample| sample.ns / sample.switches as f64).collect();
    let ns = median(&times).max(0.01);
    row.guess = ns;
    let rounds = |switches: f64| ((switches / row.tasks as f64).ceil() as u64).max(1) * row.tasks;
    row.batch = rounds(plan.batch_ns / ns);
    let is_long_call = row.runtime.is_border() && row.batch < FEWEST_CALLS;
    if is_long_call {
        row.batch = FEWEST_CALLS;
    }
    match plan.iterations {
        None => {
            let fewest = match row.batch as f64 * ns {
                20e6.. => 6,
                _ if is_long_call => FEWEST_BATCHES,
                _ => 20,
            };
            row.batches = ((plan.epoch_ns / (row.batch as f64 * ns)) as u64).clamp(fewest, 2_000);
        }
        Some(iterations) => {
            let each = iterations.div_ceil(u64::from(plan.epochs));
            row.batch = row.batch.min(rounds(each as f64 / 20.0));
            row.batches = each.div_ceil(row.batch);
        }
    }
    // Printing a long list of figures would take longer than the measurement.
    const MOST_BATCHES: u64 = 100_000;
    if row.batches > MOST_BATCHES {
        let total = row.batches * row.batch;
        row.batch = rounds(total as f64 / MOST_BATCHES as f64);
        row.batches = total.div_ceil(row.batch);
    }
}

/// One epoch of a row.
fn visit(row: &mut Row, plan: &Plan, setting: &Setting, stop: &AtomicBool) -> Result<(), Halt> {
    let said = run_one(row, &long(row, plan), long_warm(row, plan), setting, stop)?;
    row.epochs.push(said);
    Ok(())
}

/// What is asked for in an epoch.
fn long(row: &Row, plan: &Plan) -> Asked {
    let singles = if row.tasks >= MANY { 0 } else { plan.singles };
    asked(row, row.batches, row.batch, singles)
}

/// The warm-up of an epoch.
fn long_warm(row: &Row, plan: &Plan) -> (u64, u64) {
    let least = row.runtime.warm_min_ms;
    (plan.warm_ms.0.max(least), plan.warm_ms.1.max(least))
}

fn asked(row: &Row, batches: u64, batch: u64, singles: u64) -> Asked {
    Asked { tasks: row.tasks, batches, batch, singles, tolerance: row.mechanism.tolerance }
}

fn run_one(
    row: &Row,
    asked: &Asked,
    warm: (u64, u64),
    setting: &Setting,
    stop: &AtomicBool,
) -> Result<Transcript, Halt> {
    let said = run(&[row], slice::from_ref(asked), warm, setting, stop)?;
    said.into_iter().next().ok_or_else(|| Halt::State(State::Failed(Refused::Silent.to_string())))
}

/// Runs rows of one runtime in one process, one after the other.
fn run(
    rows: &[&Row],
    asked: &[Asked],
    (least, most): (u64, u64),
    setting: &Setting,
    stop: &AtomicBool,
) -> Result<Vec<Transcript>, Halt> {
    let failed = |why: String| Halt::State(State::Failed(why));
    let Some(row) = rows.first() else { return Ok(Vec::new()) };
    let list = |of: &dyn Fn(usize) -> String| (0..rows.len()).map(of).collect::<Vec<_>>().join(",");
    let arguments = [
        format!("runtime={}", row.runtime.id),
        format!("mechanism={}", list(&|at| rows[at].mechanism.id.clone())),
        format!("tasks={}", row.tasks),
        format!("batches={}", list(&|at| asked[at].batches.to_string())),
        format!("batch={}", list(&|at| asked[at].batch.to_string())),
        format!("warm_min_ms={least}"),
        format!("warm_max_ms={most}"),
        format!("singles={}", list(&|at| asked[at].singles.to_string())),
        format!("memory={}", setting.room.bytes),
        "seed=1".into(),
    ];
    let command = || {
        let mut command = cache::command(&row.runtime.run, &row.runtime, row.folder.as_deref());
        command.args(&arguments);
        command
    };
    // Ten times the expected time, and an allowance for making each task.
    let work =
        rows.iter().zip(asked).map(|(row, asked)| (asked.batches * asked.batch) as f64 * row.guess / 1e6);
    let work = (10.0 * work.sum::<f64>()) as u64;
    let lines = asked.iter().map(Asked::lines).sum();
    let limits = Limits {
        patience_ms: setting.patience_ms + most * rows.len() as u64 + work + row.tasks / 10,
        lines,
        bytes: lines * 64 + 4_096,
        memory: Some(setting.room.bytes.max(row.runtime.base_bytes)),
        cpu: Some(setting.cpu),
    };
    let done = process::run(command, &limits, stop)
        .map_err(|error| failed(format!("'{}' cannot be started: {error}", row.runtime.run.join(" "))))?;
    match done.fate {
        Some(Fate::Stopped) => return Err(Halt::Stopped),
        Some(fate) => return Err(failed(format!("{fate}{}", cache::last_words(&done.stderr)))),
        None => {}
    }
    transcript::read_each(&done.stdout, asked).map_err(|refused| match refused {
        Refused::Skip(why) => {
            let (reason, enable) = why.split_once(": ").unwrap_or((&why, "what it asks for"));
            Halt::State(State::Skipped(reason.into(), enable.into()))
        }
        other => failed(format!("{other}{}", cache::last_words(&done.stderr))),
    })
}

/// Runs a mechanism once and checks its answer, for the conformance test.
///
/// # Errors
/// The state of the row: skipped or failed, with the reason.
pub fn once(row: &Row, asked: &Asked, setting: &Setting) -> Result<Transcript, State> {
    run_one(row, asked, (1, 200), setting, &AtomicBool::new(false)).map_err(Halt::state)
}

/// The same for several rows of one runtime, in one process.
///
/// # Errors
/// The state of the first row that was skipped or failed.
pub fn once_together(rows: &[&Row], asked: &[Asked], setting: &Setting) -> Result<Vec<Transcript>, State> {
    run(rows, asked, (1, 200), setting, &AtomicBool::new(false)).map_err(Halt::state)
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
