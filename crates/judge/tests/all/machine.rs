//! Separate runs on a machine that slows down for some processes of a run, simulated: intervals hold, changes are found
//! that are not seen without yardsticks, and yardsticks that explain nothing make nothing worse.

#![allow(clippy::print_stdout, reason = "the shares are what METHOD.md quotes")]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::slice::from_ref;
use tollgate_judge::{BatchBeside, Comparison, Options, Verdict, compare, median, regression};
use tollgate_record::{
    EpochFigure, Estimate, Host, KERNEL_YARDSTICK, Measurement, Per, Run, Status, Tool, TypicalFigure,
    Yardstick,
};

const EPOCHS: usize = 12;
const BATCHES: usize = 12;
const PAIRS: usize = 40;
/// The probe that changes, of [`FOLLOWS`].
const CHANGED: usize = 5;
/// The power of the machine's slow-down that each probe follows.
const FOLLOWS: [f64; 12] = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 1.2];
/// Standard deviation of a process of a probe, and of its runs, in logarithms.
const OWN: (f64, f64) = (0.006, 0.003);
/// The same of a batch of an epoch.
const OF_BATCH: f64 = 0.01;

/// The yardsticks, and the powers by which they follow what the machine does.
const WORK: [(&str, f64); 4] = [("multiply", 0.0), ("add", 1.3), ("l1-walk", 0.7), ("getppid", 0.9)];

/// What the machine does to a run.
#[derive(Clone, Copy, PartialEq)]
enum Scene {
    /// One process in four meets a neighbor that takes a sixth of the speed; one run in four meets it in three of four.
    Bursts,
    /// The same, but the yardsticks vary by themselves.
    OfNoUse,
    /// One run in two is slow in all of its processes, where it enters the kernel.
    Whole,
    /// Nothing happens.
    Quiet,
}

struct Random(ChaCha8Rng);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// The sum of twelve uniform values: nearly normal, variance 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// The same, but one in thirty is five times as far away.
    fn noise(&mut self) -> f64 {
        let far = if self.uniform() < 1.0 / 30.0 { 5.0 } else { 1.0 };
        far * self.normal()
    }

    /// What a yardstick takes that is slowed down to this level.
    fn work(&mut self, scene: Scene, level: f64) -> f64 {
        let level = if scene == Scene::OfNoUse { 0.1 * self.uniform() } else { level };
        30_000.0 * (level + 0.003 * self.noise()).exp()
    }

    fn run(&mut self, id: &str, scene: Scene, change: f64) -> Run {
        let tool = Tool { version: String::new(), commit: String::new() };
        let host = Host { name: "here".into(), ..Host::default() };
        let mut run = Run::begin(id.into(), String::new(), tool, Vec::new(), host, 0);
        run.complete = true;
        let restless = if scene == Scene::Whole { 0.5 } else { 0.25 };
        let share = if self.uniform() < restless { 0.75 } else { 0.25 };
        let mut slow = || match scene {
            Scene::Quiet => 0.0,
            Scene::Whole if share < 0.5 => 0.0,
            Scene::Whole => 0.16 + 0.01 * self.uniform(),
            _ if self.uniform() < share => 0.16 + 0.04 * self.uniform(),
            _ => 0.0,
        };
        let levels: Vec<f64> = (0..EPOCHS).map(|_| slow()).collect();
        let work = WORK.map(|(name, power)| {
            let of_kernel = scene != Scene::Whole || name == KERNEL_YARDSTICK;
            (name, if of_kernel { power } else { 0.0 })
        });
        for (name, power) in work {
            let epochs = levels.iter().map(|level| Some(self.work(scene, power * level))).collect();
            run.yardsticks.push(Yardstick { name: name.into(), epochs });
        }
        for (place, power) in FOLLOWS.into_iter().enumerate() {
            let of_run = OWN.1 * self.normal() + if place == CHANGED { change.ln_1p() } else { 0.0 };
            let mut row =
                Measurement::empty(&format!("syscall/{place}"), "host", Per::Syscall, Status::Measured);
            let batches: Vec<Vec<BatchBeside>> = levels
                .iter()
                .map(|level| {
                    let of_epoch = (100.0_f64).ln() + of_run + power * level + OWN.0 * self.noise();
                    let batch = |_| BatchBeside {
                        probe: of_epoch + OF_BATCH * self.noise(),
                        yardsticks: work.map(|(_, power)| self.work(scene, power * level).ln()).into(),
                    };
                    (0..BATCHES).map(batch).collect()
                })
                .collect();
            let (regression, typical) = regression(&batches, WORK.len()).unwrap();
            row.regression = Some(regression);
            let least = |epoch: &Vec<BatchBeside>| {
                epoch.iter().map(|batch| batch.probe).fold(f64::INFINITY, f64::min)
            };
            let epoch = |(batches, typical): (&Vec<BatchBeside>, Option<BatchBeside>)| EpochFigure {
                ns: least(batches).exp(),
                core_hz: Some(1e9),
                typical: typical.map(|it| TypicalFigure {
                    ns: it.probe.exp(),
                    yardsticks: it.yardsticks.iter().map(|log| log.exp()).collect(),
                }),
                paired: None,
            };
            row.epochs = batches.iter().zip(typical).map(epoch).collect();
            let ns = median(&row.epochs.iter().map(|epoch| epoch.ns).collect::<Vec<_>>());
            row.ns = Some(Estimate::within(ns, [0.99 * ns, 1.01 * ns]));
            run.results.push(row);
        }
        run
    }

    fn pair(&mut self, scene: Scene, change: f64) -> [Run; 2] {
        [self.run("a", scene, 0.0), self.run("b", scene, change)]
    }
}

struct Seen {
    found: usize,
    /// Rows that did not change and are called better or worse, and those whose interval misses 1.
    alarms: [usize; 2],
    misses: usize,
    rows: usize,
    relative: usize,
    /// The smallest change seen: median, over all rows.
    sees: f64,
}

fn seen(all: &[Comparison]) -> Seen {
    let mut seen = Seen { found: 0, alarms: [0; 2], misses: 0, rows: 0, relative: 0, sees: 0.0 };
    let mut sees = Vec::new();
    for row in all.iter().flat_map(|it| &it.rows) {
        sees.extend(row.smallest_seen);
        seen.relative += usize::from(row.relative.is_some());
        if row.probe == format!("syscall/{CHANGED}") {
            seen.found += usize::from(row.verdict == Verdict::Worse);
            continue;
        }
        seen.rows += 1;
        seen.alarms[0] += usize::from(row.verdict == Verdict::Better);
        seen.alarms[1] += usize::from(row.verdict == Verdict::Worse);
        seen.misses += usize::from(row.interval.is_some_and(|[low, high]| low > 1.0 || high < 1.0));
    }
    sees.sort_by(f64::total_cmp);
    seen.sees = sees[sees.len() / 2];
    seen
}

/// The same pairs of runs with their yardsticks and without.
fn both(seed: u64, scene: Scene, change: f64) -> [Seen; 2] {
    let mut random = Random(ChaCha8Rng::seed_from_u64(seed));
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let [mut a, mut b] = random.pair(scene, change);
        with.push(compare(&[a.clone()], &[b.clone()], &Options::default()).unwrap());
        (a.yardsticks, b.yardsticks) = (Vec::new(), Vec::new());
        without.push(compare(&[a], &[b], &Options::default()).unwrap());
    }
    let both = [seen(&with), seen(&without)];
    for (seen, name) in both.iter().zip(["with yardsticks", "without"]) {
        println!(
            "{name}: a change of {:.0} % found {} of {PAIRS}, {:?} of {} others named, {} intervals miss, {} rows relative, \
             sees {:.1} %",
            100.0 * change,
            seen.found,
            seen.alarms,
            seen.rows,
            seen.misses,
            seen.relative,
            100.0 * seen.sees
        );
    }
    both
}

#[test]
fn a_change_is_found_on_a_restless_machine_and_intervals_hold() {
    let [with, without] = both(1, Scene::Bursts, 0.05);
    assert!(with.found * 100 >= PAIRS * 95 && without.found * 2 < with.found);
    assert!(with.sees < 0.7 * without.sees);
    assert!((with.alarms[0] + with.alarms[1]) * 100 <= with.rows && with.misses * 100 <= with.rows);
}

#[test]
fn work_that_explains_nothing_makes_nothing_worse() {
    for scene in [Scene::OfNoUse, Scene::Quiet] {
        let [with, without] = both(2, scene, 0.05);
        assert!(with.relative * 100 <= with.rows, "{} of {}", with.relative, with.rows);
        assert!(with.sees <= 1.02 * without.sees && with.found + 3 >= without.found);
        assert!(with.misses <= without.misses + with.rows / 200);
    }
}

/// Where a run meets the slow machine in all of its processes, no slope is known: what moved no further than the way into the
/// same kernel is not named, and what moved further is.
#[test]
fn a_run_that_is_slow_throughout_is_no_change() {
    let [with, without] = both(4, Scene::Whole, 0.05);
    let alarms = |seen: &Seen| seen.alarms[0] + seen.alarms[1];
    assert!(alarms(&with) * 100 <= with.rows, "{} of {}", alarms(&with), with.rows);
    assert!(alarms(&without) * 10 >= without.rows, "{} of {}", alarms(&without), without.rows);
    let mut random = Random(ChaCha8Rng::seed_from_u64(5));
    let [a, mut b] = loop {
        let [a, b] = random.pair(Scene::Whole, 1.0);
        let getppid = [&a, &b].map(|run| run.yardsticks[3].epochs[0].unwrap());
        if getppid[1] > 1.1 * getppid[0] {
            break [a, b];
        }
    };
    let compare = |b: &Run| compare(from_ref(&a), from_ref(b), &Options::default()).unwrap();
    let found = compare(&b);
    assert!((found.entry_ratio.unwrap().ln() - 0.9 * 0.165).abs() < 0.02, "{:?}", found.entry_ratio);
    assert_eq!((found.count(Verdict::Worse), found.rows[CHANGED].verdict), (1, Verdict::Worse));
    // Another kernel may be slower itself.
    b.host.kernel.release = "7.0".into();
    let found = compare(&b);
    assert!(
        found.entry_ratio.is_none() && found.count(Verdict::Worse) > 2,
        "{}",
        found.count(Verdict::Worse)
    );
}

/// A kernel that got slower slows down the yardstick that calls it: it must not explain that away.
#[test]
fn the_kernel_explains_nothing_if_it_is_another_one() {
    let mut random = Random(ChaCha8Rng::seed_from_u64(3));
    let [mut a, mut b] = random.pair(Scene::Bursts, 0.0);
    // The kernel's work alone follows the machine.
    for run in [&mut a, &mut b] {
        run.yardsticks.retain(|it| it.name == "getppid");
        for row in &mut run.results {
            row.regression = row.regression.as_ref().and_then(|it| it.with(&[WORK.len() - 1]));
            for typical in row.epochs.iter_mut().filter_map(|epoch| epoch.typical.as_mut()) {
                typical.yardsticks.drain(..WORK.len() - 1);
            }
        }
    }
    let relative = |a: &Run, b: &Run| {
        let found = compare(from_ref(a), from_ref(b), &Options::default()).unwrap();
        found.rows.iter().filter(|row| row.relative.is_some()).count()
    };
    assert!(relative(&a, &b) > 3);
    b.host.kernel.release = "7.0".into();
    assert_eq!(relative(&a, &b), 0);
}
