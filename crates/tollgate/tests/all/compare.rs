//! A slow-down that was put in is found, and nothing is found where nothing was: whole runs on a scripted clock,
//! with the noise that real ones have, compared pair by pair. Seeded, so that it comes out the same everywhere.

#![allow(clippy::print_stdout, reason = "how often it was found is what METHOD.md quotes")]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use tollgate_judge::{Options, Verdict, compare};
use tollgate_measure::arch::MULTIPLY_CYCLES;
use tollgate_measure::bench::{Bench, Lost, Reply, Request};
use tollgate_measure::clock::{Clock, Moment, Scripted, Source};
use tollgate_measure::local::Local;
use tollgate_measure::sampler::{self, Plan};
use tollgate_measure::yardstick::YARDSTICKS;
use tollgate_measure::{Crossing, Meta, Placement, Probe, Refusal, Site, summary};
use tollgate_record::{Host, Per, Run, Tool};

/// Pairs of runs.
const PAIRS: u64 = 100;
/// The probe that is slowed down, of [`PROBES`].
const SLOWED: usize = 4;
/// By how much.
const SPIN: f64 = 0.03;
/// Ticks of the clock in a second.
const HZ: f64 = 2e9;
/// The core's frequency on average.
const CORE_HZ: f64 = 3e9;

/// The noise, as standard deviations of logarithms. The first is what runs of one host were seen to differ by in
/// METHOD.md, nearly all of it common to all probes; the others are at or above what quiet runs show.
const FREQUENCY_OF_RUN: f64 = 0.019;
const FREQUENCY_OF_EPOCH: f64 = 0.005;
const READING_OF_FREQUENCY: f64 = 0.0005;
const PROBE_IN_RUN: f64 = 0.003;
const PROBE_IN_EPOCH: f64 = 0.004;
const BATCH: f64 = 0.004;
/// One batch in so many is hit by something else and takes up to half as long again.
const HIT: f64 = 12.0;

std::thread_local! {
    static CLOCK: Scripted = Scripted::default();
    static RANDOM: RefCell<ChaCha8Rng> = RefCell::new(ChaCha8Rng::seed_from_u64(9));
    /// The core's frequency over [`CORE_HZ`].
    static SPEED: Cell<f64> = const { Cell::new(1.0) };
}

fn uniform() -> f64 {
    RANDOM.with_borrow_mut(|rng| rng.random())
}

/// Normal, by the transform of Box and Muller.
fn normal() -> f64 {
    (-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
}

const NAMES: [&str; 16] = [
    "call/a",
    "call/b",
    "syscall/a",
    "syscall/b",
    "syscall/c",
    "syscall/d",
    "fault/a",
    "fault/b",
    "signal/a",
    "vdso/a",
    "fiber/a",
    "fiber/b",
    "vm/a",
    "syscall/e",
    "fault/c",
    "signal/b",
];

struct Known {
    meta: Meta,
    /// Core cycles of a pass in this run.
    cycles: f64,
}

struct Open {
    cycles: f64,
}

impl Probe for Known {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        Ok(Box::new(Open { cycles: self.cycles * (PROBE_IN_EPOCH * normal()).exp() }))
    }
}

impl Crossing for Open {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let hit = if uniform() * HIT < 1.0 { 1.0 + uniform() / 2.0 } else { 1.0 };
        // What disturbs a batch makes it longer.
        let noise = hit * (BATCH * normal().abs()).exp();
        let cycles = 60.0 + passes as f64 * self.cycles * noise;
        CLOCK.with(|clock| clock.advance((cycles * HZ / CORE_HZ / SPEED.get()) as u64));
        Ok(())
    }

    fn prove(&mut self, _: &mut [Option<u64>]) -> Result<(), Refusal> {
        Ok(())
    }
}

/// [`Local`] on the scripted clock, on a core whose frequency wanders.
struct Scene<'p> {
    local: Local<'p, Scripted>,
    speed_of_run: f64,
}

impl Bench for Scene<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, Lost> {
        let now = CLOCK.with(Clock::now);
        match request {
            Request::Moment => Ok(Reply::Moment(Moment { ticks: now, ns: now / 2, width: 0 })),
            Request::Core => {
                CLOCK.with(|clock| clock.advance(1_000_000));
                let seen = SPEED.get() * (READING_OF_FREQUENCY * normal()).exp();
                let multiply = MULTIPLY_CYCLES.unwrap_or(1.0) * HZ / (CORE_HZ * seen);
                let add = multiply / MULTIPLY_CYCLES.unwrap_or(1.0);
                Ok(Reply::Core {
                    multiply: vec![multiply],
                    add: vec![add],
                    thousand: vec![1.0],
                    pair: vec![30],
                })
            }
            // Work of a known number of cycles.
            Request::Yardsticks => {
                let ticks = || 1e5 * (BATCH * normal().abs()).exp() * HZ / CORE_HZ / SPEED.get();
                let all: Vec<u64> = YARDSTICKS.iter().map(|_| ticks() as u64).collect();
                CLOCK.with(|clock| clock.advance(all.iter().sum()));
                Ok(Reply::Yardsticks(all.into_iter().map(Some).collect()))
            }
            _ => self.local.ask(request),
        }
    }

    fn restart(&mut self) -> Result<(), Lost> {
        SPEED.set(self.speed_of_run * (FREQUENCY_OF_EPOCH * normal()).exp());
        self.local.restart()
    }

    fn elapsed_ns(&self) -> u64 {
        CLOCK.with(Clock::now) / 2
    }
}

/// A run with its own frequency and its own level of each probe; one probe may spin besides.
fn run(id: u64, epochs: u32, spin: f64) -> Run {
    let probes: Vec<Known> = NAMES
        .iter()
        .enumerate()
        .map(|(place, &id)| {
            let meta = Meta {
                id,
                what: "takes a known time",
                per: Per::Syscall,
                crossings_per_pass: 1,
                least_passes: 1,
                placement: Placement::One,
                proof: &[],
            };
            let spin = if place == SLOWED { spin } else { 0.0 };
            let cycles = 300.0 * (place + 1) as f64 * (1.0 + spin) * (PROBE_IN_RUN * normal()).exp();
            Known { meta, cycles }
        })
        .collect();
    let list: Vec<&dyn Probe> = probes.iter().map(|probe| probe as &dyn Probe).collect();
    let metas: Vec<&Meta> = probes.iter().map(|probe| &probe.meta).collect();
    let local = Local::new(CLOCK.with(Clone::clone), &list, Site { cpu: 0, peer: None });
    let mut scene = Scene { local, speed_of_run: (FREQUENCY_OF_RUN * normal()).exp() };
    let plan = Plan {
        seed: id,
        epochs,
        most_epochs: epochs,
        // About twenty batches of each probe in an epoch.
        budget_ns: u64::from(epochs) * 20 * 330_000 * NAMES.len() as u64,
        batch_ns: 300_000,
        target: 0.0,
        singles_ns: 0,
    };
    let go_on = &mut |_: sampler::Event<'_>| ControlFlow::Continue(());
    let samples = sampler::run(&mut scene, &metas, Vec::new(), &plan, go_on).unwrap();
    let mut run = Run::begin(
        id.to_string(),
        String::new(),
        Tool { version: String::new(), commit: String::new() },
        Vec::new(),
        Host::default(),
        id,
    );
    summary::record_run(&mut run, &metas, &samples, Source::Counter);
    assert!(run.complete && run.results.iter().all(|result| result.epochs.len() == epochs as usize));
    run
}

/// Of all pairs: how often the slowed probe was found worse, and how often others were found worse or better.
fn pairs(epochs: u32, spin: f64) -> (u64, u64, u64, u64) {
    let (mut found, mut worse, mut better, mut others) = (0, 0, 0, 0);
    for pair in 0..PAIRS {
        let (a, b) = (run(2 * pair, epochs, 0.0), run(2 * pair + 1, epochs, spin));
        let seen = compare(&[a], &[b], &Options::default()).unwrap();
        for row in &seen.rows {
            if row.probe == NAMES[SLOWED] && spin > 0.0 {
                found += u64::from(row.verdict == Verdict::Worse);
                continue;
            }
            others += 1;
            worse += u64::from(row.verdict == Verdict::Worse);
            better += u64::from(row.verdict == Verdict::Better);
        }
    }
    (found, worse, better, others)
}

#[test]
fn a_slow_down_of_three_per_cent_is_found_and_nothing_else() {
    if MULTIPLY_CYCLES.is_none() {
        return tollgate_testkit::skip!("the core's frequency cannot be measured on this architecture");
    }
    let (found, worse, better, others) = pairs(12, SPIN);
    println!(
        "found in {found} of {PAIRS} pairs; of {others} others {worse} were called worse, {better} better"
    );
    assert!(found >= 95, "found in {found} of {PAIRS}");
    assert!(
        (worse + better) * 100 <= others,
        "{worse} worse and {better} better of {others} that had not changed"
    );
}

#[test]
fn two_quick_runs_of_the_same_thing_do_not_differ() {
    if MULTIPLY_CYCLES.is_none() {
        return tollgate_testkit::skip!("the core's frequency cannot be measured on this architecture");
    }
    let (_, worse, better, others) = pairs(6, 0.0);
    println!("of {others} probes {worse} were called worse and {better} better");
    assert!((worse + better) * 100 <= others, "{worse} worse and {better} better of {others}");
    // As often the one as the other: within three standard deviations of a fair coin.
    let (sum, difference) = ((worse + better) as f64, worse.abs_diff(better) as f64);
    assert!(difference <= 3.0 * sum.sqrt() + 1.0, "{worse} worse and {better} better");
}

#[test]
fn probes_that_are_judged_by_their_names_exist() {
    for name in tollgate_judge::FROM_THE_KERNEL.iter().chain(&tollgate_judge::CONTROLS_ACROSS) {
        assert!(
            tollgate_boundary::select(&[name.to_string()]).is_ok(),
            "no probe is called {name}: correct the list in report's compare/spread.rs"
        );
    }
}
