//! The sampler from end to end on a scripted clock: probes with known answers, and probes that misbehave.

use std::cell::Cell;
use std::ops::ControlFlow;
use tollgate_measure::bench::{Bench, Lost, Reply, Request};
use tollgate_measure::clock::{Clock, Moment, Scale, Scripted};
use tollgate_measure::local::Local;
use tollgate_measure::noise::BatchNoise;
use tollgate_measure::sampler::{self, Event, Plan};
use tollgate_measure::samples::{ProbeState, RunSamples};
use tollgate_measure::summary::{self, Units};
use tollgate_measure::yardstick::YARDSTICKS;
use tollgate_measure::{Claim, Crossing, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::{Measurement, Per, Status, warning};

/// Ticks of the first yardstick; the next takes one more.
const YARDSTICK: u64 = 50_000;
/// Ticks that an empty call of `cross` takes.
const CALL: u64 = 30;

std::thread_local! {
    static CLOCK: Scripted = Scripted::default();
}

fn now() -> u64 {
    CLOCK.with(Clock::now)
}

fn advance(ticks: u64) {
    CLOCK.with(|clock| clock.advance(ticks));
}

/// A probe whose pass takes `ticks`, and which counts `switches` for each ten passes.
struct Known {
    meta: Meta,
    ticks: u64,
    switches: u64,
    behavior: Behavior,
}

#[derive(Clone, Copy, PartialEq)]
enum Behavior {
    Works,
    CannotOpen,
    FailsAfter(u64),
    /// The first passes after opening take longer, as in a runtime that compiles while it runs.
    WarmsUp,
    /// A batch costs this much besides its passes.
    Overhead(u64),
    /// Each batch costs this much, an empty one too.
    Asks(u64),
    /// From the moment on other tasks hold the CPUs: a pass takes so many times as long.
    WaitsFrom {
        moment: u64,
        times: u64,
    },
    /// Opened from this moment on, it can make 100 passes at once; before, 200.
    LessFrom(u64),
}

struct OpenKnown {
    ticks: u64,
    switches: u64,
    behavior: Behavior,
    made: Cell<u64>,
    counted: u64,
    most: u64,
}

const fn known(id: &'static str, ticks: u64, switches: u64, behavior: Behavior) -> Known {
    const PROOF: &[Claim] = &[Claim::switches()];
    let meta = Meta {
        id,
        what: "takes a known time",
        per: Per::Switch,
        crossings_per_pass: 2,
        least_passes: 1,
        placement: Placement::One,
        proof: PROOF,
    };
    Known { meta, ticks, switches, behavior }
}

impl Probe for Known {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        if self.behavior == Behavior::CannotOpen {
            return Err(Refusal::skip("it is forbidden here", "allow it"));
        }
        let Self { ticks, switches, behavior, .. } = *self;
        let most = match behavior {
            Behavior::LessFrom(moment) if now() < moment => 200,
            Behavior::LessFrom(_) => 100,
            _ => u64::MAX,
        };
        Ok(Box::new(OpenKnown { ticks, switches, behavior, made: Cell::new(0), counted: 0, most }))
    }
}

impl Crossing for OpenKnown {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        if passes > self.most { Err(Refusal::Failed(format!("{passes} are too many"))) } else { Ok(()) }
    }

    fn most_passes(&self) -> u64 {
        self.most
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        advance(CALL);
        for _ in 0..passes {
            let made = self.made.get();
            advance(match self.behavior {
                Behavior::WarmsUp if made < 1_000 => 10 * self.ticks * (1_000 - made) / 1_000,
                Behavior::WaitsFrom { moment, times } if now() >= moment => times * self.ticks,
                _ => self.ticks,
            });
            self.made.set(made + 1);
        }
        if let Behavior::Asks(ticks) = self.behavior {
            advance(ticks);
        }
        if let (Behavior::Overhead(ticks), true) = (self.behavior, passes > 0) {
            advance(ticks);
        }
        match self.behavior {
            Behavior::FailsAfter(passes) if self.made.get() > passes => {
                Err(Refusal::Failed("the peer died".into()))
            }
            _ => Ok(()),
        }
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        let total = self.made.get() * self.switches / 10;
        counts[0] = Some(total - self.counted);
        self.counted = total;
        Ok(())
    }
}

/// [`Local`] on the scripted clock, on a machine with nobody else; time passes for the budget as well.
struct Scene<'p> {
    local: Local<'p, Scripted>,
    restarts: u32,
    /// Whether each visit ends on another CPU.
    migrates: bool,
}

impl Bench for Scene<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, Lost> {
        let now = now();
        match request {
            // One tick is half a nanosecond.
            Request::Moment => Ok(Reply::Moment(Moment { ticks: now, ns: now / 2, width: 0 })),
            Request::Core => {
                advance(1_000_000);
                Ok(Reply::Core {
                    multiply: vec![2.0],
                    add: vec![2.0 / 3.0],
                    thousand: vec![2_000.0],
                    pair: vec![CALL],
                })
            }
            Request::Yardsticks => {
                advance(YARDSTICK);
                Ok(Reply::Yardsticks((0..).zip(YARDSTICKS).map(|(kind, _)| Some(YARDSTICK + kind)).collect()))
            }
            // The scheduler of the machine that tests has no part in the scene.
            _ => Ok(match self.local.ask(request)? {
                Reply::Visited { ticks, counts, passes, .. } => {
                    let noise = BatchNoise { involuntary: Some(2), migrated: Some(self.migrates) };
                    Reply::Visited { ticks, counts, passes, noise }
                }
                other => other,
            }),
        }
    }

    fn restart(&mut self) -> Result<(), Lost> {
        self.restarts += 1;
        self.local.restart()
    }

    fn elapsed_ns(&self) -> u64 {
        now() / 2
    }
}

const UNITS: Units = Units { scale: Scale { hz: 2e9 }, ticks: true, core: None, core_spread: 0.0 };

const PLAN: Plan = Plan {
    seed: 42,
    epochs: 6,
    most_epochs: 6,
    budget_ns: 500_000_000,
    batch_ns: 300_000,
    target: 0.0,
    singles_ns: 100_000,
};

fn measure(
    probes: &[Known],
    plan: &Plan,
    tell: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
) -> (RunSamples, u32) {
    let list: Vec<&dyn Probe> = probes.iter().map(|probe| probe as &dyn Probe).collect();
    let metas: Vec<&Meta> = probes.iter().map(|probe| &probe.meta).collect();
    let local = Local::new(CLOCK.with(Clone::clone), &list, Site { cpu: 0, peer: None });
    let mut scene = Scene { local, restarts: 0, migrates: false };
    let samples = sampler::run(&mut scene, &metas, Vec::new(), plan, tell).unwrap();
    (samples, scene.restarts)
}

fn go_on(_: Event<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn results(probes: &[Known], plan: &Plan) -> Vec<Measurement> {
    let (samples, _) = measure(probes, plan, &mut go_on);
    assert!(samples.complete);
    probes
        .iter()
        .zip(&samples.probes)
        .map(|(probe, samples)| summary::measurement(&probe.meta, samples, &UNITS))
        .collect()
}

#[test]
fn a_known_cost_is_found_exactly_and_the_call_is_taken_off() {
    let result = &results(&[known("a", 1_000, 20, Behavior::Works)], &PLAN)[0];
    let ticks = result.ticks.unwrap();
    // A pass of 1,000 ticks makes two crossings.
    assert_eq!((ticks.estimate, ticks.ci, ticks.min, ticks.p99), (500.0, [500.0, 500.0], 500.0, 500.0));
    assert_eq!(result.ns.unwrap().estimate, 250.0);
    assert_eq!(result.proof["switches-per-crossing"], 1.0);
    assert_eq!(result.status, Status::Measured);
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
    let single = result.single.unwrap();
    assert_eq!((single.p50, single.p99, single.pair_overhead_ns), (250.0, 250.0, CALL as f64 / 2.0));
}

#[test]
fn the_interval_holds_at_the_other_rates_of_the_core() {
    let probes = [known("a", 1_000, 20, Behavior::Works)];
    let (samples, _) = measure(&probes, &PLAN, &mut go_on);
    let units = Units { scale: Scale { hz: 2e9 }, ticks: true, core: None, core_spread: 0.03 };
    let ticks = summary::measurement(&probes[0].meta, &samples.probes[0], &units).ticks.unwrap();
    assert_eq!((ticks.estimate, ticks.ci), (500.0, [485.0, 515.0]));
}

#[test]
fn a_clock_that_runs_backwards_is_a_failure_and_no_figure() {
    let probe = known("a", 0, 20, Behavior::Works);
    let list: Vec<&dyn Probe> = vec![&probe];
    for request in [
        Request::Visit { probe: 0, warm: 0, passes: vec![1], most_ticks: u64::MAX },
        Request::Singles { probe: 0, count: (1, 1), ticks: u64::MAX, most_ticks: u64::MAX },
        Request::Core,
    ] {
        let mut local = Local::new(Scripted::reading(&[100, 50]), &list, Site { cpu: 0, peer: None });
        local.ask(&Request::Open { probe: 0 }).unwrap();
        let reply = local.ask(&request).unwrap();
        assert_eq!(reply, Reply::Failed { reason: "the clock ran backwards by 50 ticks".into() });
    }
}

#[test]
fn a_batch_is_about_as_long_as_planned() {
    let (samples, _) = measure(&[known("a", 700, 20, Behavior::Works)], &PLAN, &mut go_on);
    let passes = samples.probes[0].passes;
    // 0.3 ms at 2 GHz are 600,000 ticks, and 857 passes: 1,024 are nearer to that than 512.
    assert_eq!(passes, 1_024);
}

#[test]
fn a_switch_that_happens_twice_is_divided_by_what_was_counted() {
    let result = &results(&[known("a", 1_000, 40, Behavior::Works)], &PLAN)[0];
    assert_eq!(result.proof["switches-per-crossing"], 2.0);
    assert_eq!(result.ticks.unwrap().estimate, 250.0);
    assert!(result.has_warning(warning::PER_COUNTED));
}

#[test]
fn a_switch_that_never_happens_is_no_figure_to_trust() {
    let result = &results(&[known("a", 1_000, 0, Behavior::Works)], &PLAN)[0];
    assert!(result.has_warning(warning::PROOF_DISAGREES), "{:?}", result.warnings);
}

#[test]
fn skipped_and_failed_probes_leave_the_others_alone() {
    let probes = [
        known("a", 1_000, 20, Behavior::Works),
        known("b", 1_000, 20, Behavior::CannotOpen),
        known("c", 1_000, 20, Behavior::FailsAfter(5_000)),
        known("d", 3_000, 20, Behavior::Works),
    ];
    let results = results(&probes, &PLAN);
    let status: Vec<Status> = results.iter().map(|result| result.status).collect();
    assert_eq!(status, [Status::Measured, Status::Skipped, Status::Failed, Status::Measured]);
    assert_eq!(results[1].enable.as_deref(), Some("allow it"));
    assert_eq!(results[2].reason.as_deref(), Some("the peer died"));
    assert_eq!(results[3].ticks.unwrap().estimate, 1_500.0);
}

#[test]
fn warm_up_is_waited_for() {
    let result = &results(&[known("a", 1_000, 20, Behavior::WarmsUp)], &PLAN)[0];
    assert_eq!(result.ticks.unwrap().p99, 500.0, "a slow pass got into the samples");
    assert!(!result.has_warning(warning::NOT_STEADY));
}

#[test]
fn a_cost_of_the_batch_itself_is_found_by_the_second_estimator() {
    let result = &results(&[known("a", 1_000, 20, Behavior::Overhead(60_000))], &PLAN)[0];
    assert!(result.has_warning(warning::ESTIMATORS_DISAGREE), "{:?}", result.warnings);
}

#[test]
fn a_visit_that_ends_on_another_cpu_is_a_warning() {
    let probe = known("a", 1_000, 20, Behavior::Works);
    let list: Vec<&dyn Probe> = vec![&probe];
    let local = Local::new(CLOCK.with(Clone::clone), &list, Site { cpu: 0, peer: None });
    let mut scene = Scene { local, restarts: 0, migrates: true };
    let samples = sampler::run(&mut scene, &[&probe.meta], Vec::new(), &PLAN, &mut go_on).unwrap();
    let result = summary::measurement(&probe.meta, &samples.probes[0], &UNITS);
    let visits: u64 = samples.probes[0].epochs.iter().map(|epoch| epoch.visits).sum();
    assert!(samples.probes[0].epochs.iter().all(|epoch| epoch.interrupted == epoch.visits));
    let warning = result.warnings.iter().find(|it| it.code == warning::MIGRATED).expect("it migrated");
    assert_eq!(
        warning.text,
        format!("moved to another CPU in {visits} of {visits} visits, in spite of the pin")
    );
}

#[test]
fn a_probe_that_is_not_asked_for_is_never_opened() {
    let probes = [known("a", 1_000, 20, Behavior::Works), known("b", 1_000, 20, Behavior::CannotOpen)];
    let list: Vec<&dyn Probe> = probes.iter().map(|probe| probe as &dyn Probe).collect();
    let metas: Vec<&Meta> = probes.iter().map(|probe| &probe.meta).collect();
    let local = Local::new(CLOCK.with(Clone::clone), &list, Site { cpu: 0, peer: None });
    let mut scene = Scene { local, restarts: 0, migrates: false };
    let states = vec![ProbeState::Active, ProbeState::NotAsked];
    let samples = sampler::run(&mut scene, &metas, states, &PLAN, &mut go_on).unwrap();
    assert_eq!(samples.probes[0].epochs.len(), 6);
    assert_eq!(samples.probes[1].state, ProbeState::NotAsked);
    let mut run = tollgate_record::Run::begin(
        "a".into(),
        String::new(),
        tollgate_record::Tool { version: String::new(), commit: String::new() },
        Vec::new(),
        tollgate_record::Host::default(),
        0,
    );
    summary::record_run(&mut run, &metas, &samples, tollgate_measure::clock::Source::Os);
    assert_eq!(run.results.iter().map(|result| result.probe.as_str()).collect::<Vec<_>>(), ["a"]);
    assert!(run.complete);
    // One figure for each epoch, at half a nanosecond a tick.
    let figures: Vec<_> = run.yardsticks.iter().map(|it| (it.name.as_str(), it.epochs.as_slice())).collect();
    assert_eq!(figures.len(), YARDSTICKS.len());
    assert_eq!(figures[0], (YARDSTICKS[0], &[Some(25_000.0); 6][..]));
    assert_eq!(figures[1], (YARDSTICKS[1], &[Some(25_000.5); 6][..]));
    for epoch in &run.results[0].epochs {
        let beside = &epoch.typical.as_ref().unwrap().yardsticks;
        assert!((beside[0] - 25_000.0).abs() < 1e-6 && (beside[1] - 25_000.5).abs() < 1e-6, "{beside:?}");
    }
}

/// A scene whose yardsticks take 1,000 ticks more each time.
struct Slowing<'p>(Scene<'p>, u64);

impl Bench for Slowing<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, Lost> {
        if *request != Request::Yardsticks {
            return self.0.ask(request);
        }
        self.1 += 1_000;
        Ok(Reply::Yardsticks(vec![Some(self.1); YARDSTICKS.len()]))
    }

    fn restart(&mut self) -> Result<(), Lost> {
        self.0.restart()
    }

    fn elapsed_ns(&self) -> u64 {
        self.0.elapsed_ns()
    }
}

#[test]
fn each_batch_has_beside_it_the_less_that_the_work_took_before_or_after() {
    let probes = [known("a", 1_000, 20, Behavior::Works), known("b", 1_000, 20, Behavior::Works)];
    let list: Vec<&dyn Probe> = probes.iter().map(|probe| probe as &dyn Probe).collect();
    let metas: Vec<&Meta> = probes.iter().map(|probe| &probe.meta).collect();
    let local = Local::new(CLOCK.with(Clone::clone), &list, Site { cpu: 0, peer: None });
    let mut bench = Slowing(Scene { local, restarts: 0, migrates: false }, 0);
    let samples = sampler::run(&mut bench, &metas, Vec::new(), &PLAN, &mut go_on).unwrap();
    for epoch in samples.probes.iter().flat_map(|probe| &probe.epochs) {
        let beside = &epoch.yardsticks[0];
        assert_eq!(beside.len(), epoch.batches.len());
        // Of the three times of a round each takes more than the one before: the last is never the less.
        assert!(beside.iter().all(|ticks| matches!(ticks % 3_000, 1_000 | 2_000)), "{beside:?}");
        assert!(beside.is_sorted_by(|one, next| one < next), "{beside:?}");
    }
}

/// How many pages a fault maps is found by trying when its probe is opened, and can be more in a later epoch.
#[test]
fn a_probe_that_can_make_fewer_passes_in_a_later_epoch_gets_shorter_batches() {
    // A tick is half a nanosecond, so this is the middle of the run.
    let probe = known("a", 1_000, 20, Behavior::LessFrom(now() + PLAN.budget_ns));
    let (samples, _) = measure(&[probe], &PLAN, &mut go_on);
    assert_eq!(samples.probes[0].state, ProbeState::Active);
    let longest =
        |epoch: usize| samples.probes[0].epochs[epoch].batches.iter().map(|batch| batch.passes).max();
    // No more than half of what the probe allows, so that a double batch fits.
    assert_eq!((longest(0), longest(5)), (Some(64), Some(32)));
}

#[test]
fn what_an_empty_batch_takes_is_not_taken_for_passes() {
    let (samples, _) = measure(&[known("a", 1_000, 20, Behavior::Asks(200_000))], &PLAN, &mut go_on);
    assert_eq!(samples.probes[0].passes, 512);
}

/// A pass takes 500 ns, so a batch of 300 us has 512 passes.
#[test]
fn a_probe_gets_the_passes_that_it_needs_if_they_do_not_take_too_long() {
    for (least, expected) in [(1, 512), (64, 512), (1_000, 1_000), (100_000, 4_096)] {
        let mut probe = known("a", 1_000, 20, Behavior::Works);
        probe.meta.least_passes = least;
        let (samples, _) = measure(&[probe], &PLAN, &mut go_on);
        let passes: Vec<u64> = samples.probes[0]
            .epochs
            .iter()
            .flat_map(|epoch| &epoch.batches)
            .map(|batch| batch.passes)
            .collect();
        assert!(!passes.is_empty() && passes.iter().all(|&passes| passes == expected), "{least}: {passes:?}");
    }
}

/// A pass of one of ten probes takes as long as seven batches of the others.
#[test]
fn a_probe_of_long_passes_is_visited_less_often_than_the_others() {
    let probe = |at| known("a", if at == 0 { 4_200_000 } else { 1_000 }, 20, Behavior::Works);
    let probes: Vec<Known> = (0..10).map(probe).collect();
    let (samples, _) = measure(&probes, &Plan { budget_ns: 2_000_000_000, ..PLAN }, &mut go_on);
    for epoch in 0..6 {
        let batches = |probe: usize| samples.probes[probe].epochs[epoch].batches.len();
        let (long, others) = (batches(0), batches(1));
        assert!(long >= 3 && 3 * long < others, "{long} and {others}");
        assert!((1..10).all(|probe| batches(probe).abs_diff(others) <= 1));
    }
}

/// Among 20 probes, one begins to wait for other tasks in the first epoch, when its batches have 256 passes or 512.
#[test]
fn a_probe_that_waits_for_other_tasks_does_not_take_the_time_of_the_others() {
    let start = now();
    let probe = |at| match at {
        7 => known("b", 1_000, 20, Behavior::WaitsFrom { moment: start + 100_000_000, times: 3_000 }),
        _ => known("a", 1_000, 20, Behavior::Works),
    };
    let probes: Vec<Known> = (0..20).map(probe).collect();
    let plan = Plan { budget_ns: 2_000_000_000, ..PLAN };
    let (samples, _) = measure(&probes, &plan, &mut go_on);
    let elapsed_ns = (now() - start) / 2;
    // Without a limit each of its batches takes 0.9 s, and a run makes more than 24 of them.
    assert!(elapsed_ns < plan.budget_ns + plan.budget_ns / 4, "{elapsed_ns}");
    assert!(samples.probes[0].epochs.len() >= 5);
    let result = |at: usize| summary::measurement(&probes[at].meta, &samples.probes[at], &UNITS);
    assert_eq!(result(7).status, Status::Measured);
    assert!(result(7).has_warning(warning::CUT_SHORT), "{:?}", result(7).warnings);
    assert!(!result(0).has_warning(warning::CUT_SHORT));
    assert_eq!(result(0).ticks.unwrap().estimate, 500.0);
}

/// In the fifth of six epochs other tasks take all CPUs: each of twenty probes could take 0.2 s of every epoch.
#[test]
fn an_epoch_that_takes_far_longer_than_the_one_before_ends_early() {
    let start = now();
    let busy = Behavior::WaitsFrom { moment: start + 3_200_000_000, times: 1_000 };
    let probes: Vec<Known> = (0..20).map(|_| known("a", 1_000, 20, busy)).collect();
    let plan = Plan { budget_ns: 2_000_000_000, ..PLAN };
    let (samples, _) = measure(&probes, &plan, &mut go_on);
    let elapsed_ns = (now() - start) / 2;
    assert!(elapsed_ns < plan.budget_ns * 3 / 2, "{elapsed_ns}");
    for (probe, samples) in probes.iter().zip(&samples.probes) {
        assert_eq!(summary::measurement(&probe.meta, samples, &UNITS).ticks.unwrap().estimate, 500.0);
    }
}

/// A probe in a short run of one epoch whose passes take so many times as long from the moment that sampling begins.
fn slow_while_sampling(ticks: u64, times: u64) -> Measurement {
    let plan = Plan { budget_ns: 6_000_000, epochs: 1, most_epochs: 1, ..PLAN };
    let (start, mut sampling) = (now(), 0);
    let _ = measure(&[known("a", ticks, 20, Behavior::Works)], &plan, &mut |event| {
        if let Event::Sampling = event {
            sampling = now() - start;
        }
        ControlFlow::Continue(())
    });
    let busy = [known("b", ticks, 20, Behavior::WaitsFrom { moment: now() + sampling, times })];
    let (samples, _) = measure(&busy, &plan, &mut go_on);
    summary::measurement(&busy[0].meta, &samples.probes[0], &UNITS)
}

/// A pass takes 150 ms: three times as long as a request may.
#[test]
fn a_single_pass_that_takes_longer_than_a_request_may_still_gives_a_sample() {
    let result = slow_while_sampling(100_000, 3_000);
    assert_eq!(result.status, Status::Measured, "{:?}", result.reason);
}

/// A batch of 60,000 passes becomes one of a single pass, which takes 50 ms, only after the rounds that an epoch has.
#[test]
fn a_probe_that_has_no_batch_yet_is_visited_until_it_has_one() {
    let result = slow_while_sampling(10, 10_000_000);
    assert_eq!(result.status, Status::Measured, "{:?}", result.reason);
}

#[test]
fn each_epoch_starts_anew_and_the_budget_is_kept() {
    let start = now();
    let (_, restarts) = measure(&[known("a", 1_000, 20, Behavior::Works)], &PLAN, &mut go_on);
    let elapsed_ns = (now() - start) / 2;
    assert_eq!(restarts, 6);
    assert!(elapsed_ns < PLAN.budget_ns + PLAN.budget_ns / 10, "{elapsed_ns}");
}

#[test]
fn an_epoch_of_few_rounds_has_no_batches_of_double_length() {
    let made = |budget_ns| {
        let probes = [known("a", 1_000, 20, Behavior::Works)];
        let (samples, _) = measure(&probes, &Plan { budget_ns, ..PLAN }, &mut go_on);
        let epoch = &samples.probes[0].epochs[0];
        (epoch.batches.len(), epoch.doubles.len(), epoch.empty.len())
    };
    assert_eq!(made(1), (4, 0, 1), "four rounds are always made");
    let (_, doubles, _) = made(PLAN.budget_ns);
    assert!(doubles >= 2, "as many as the second estimator needs");
}

#[test]
fn a_probe_that_is_exact_enough_needs_no_further_epoch() {
    let plan = Plan { most_epochs: 40, target: 0.01, ..PLAN };
    let (samples, restarts) = measure(&[known("a", 1_000, 20, Behavior::Works)], &plan, &mut go_on);
    assert_eq!((restarts, samples.probes[0].epochs.len()), (6, 6));
}

#[test]
fn stopping_keeps_what_there_is() {
    let mut rounds = 0;
    let mut tell = |event: Event<'_>| {
        rounds += usize::from(matches!(event, Event::Round(..)));
        if rounds == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let probes = [known("a", 1_000, 20, Behavior::Works)];
    let (samples, _) = measure(&probes, &PLAN, &mut tell);
    assert!(!samples.complete);
    let result = summary::measurement(&probes[0].meta, &samples.probes[0], &UNITS);
    assert_eq!(result.ticks.unwrap().estimate, 500.0);
    let few = result.warnings.iter().find(|it| it.code == warning::FEW_EPOCHS).unwrap();
    assert!(few.text.starts_with("1 epoch only"), "{}", few.text);
}

#[test]
fn the_seed_decides_the_order() {
    let order = |seed| {
        let mut warmed = Vec::new();
        let probes: Vec<Known> =
            ["a", "b", "c", "d", "e", "f"].map(|id| known(id, 1_000, 20, Behavior::Works)).into();
        measure(&probes, &Plan { seed, ..PLAN }, &mut |event| {
            if let Event::Warming(probe) = event {
                warmed.push(probe);
            }
            ControlFlow::Continue(())
        });
        warmed
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

/// A bench whose worker dies whenever the second probe is visited.
struct Fragile<'p>(Scene<'p>);

impl Bench for Fragile<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, Lost> {
        match request {
            Request::Visit { probe: 1, .. } => Err(Lost("the worker process was ended by signal 11".into())),
            _ => self.0.ask(request),
        }
    }

    fn restart(&mut self) -> Result<(), Lost> {
        self.0.restart()
    }

    fn elapsed_ns(&self) -> u64 {
        self.0.elapsed_ns()
    }
}

#[test]
fn a_probe_that_takes_the_worker_with_it_costs_its_own_row_only() {
    let probes = [
        known("a", 1_000, 20, Behavior::Works),
        known("b", 1_000, 20, Behavior::Works),
        known("c", 2_000, 20, Behavior::Works),
    ];
    let list: Vec<&dyn Probe> = probes.iter().map(|probe| probe as &dyn Probe).collect();
    let metas: Vec<&Meta> = probes.iter().map(|probe| &probe.meta).collect();
    let local = Local::new(CLOCK.with(Clone::clone), &list, Site { cpu: 0, peer: None });
    let mut bench = Fragile(Scene { local, restarts: 0, migrates: false });
    let samples = sampler::run(&mut bench, &metas, Vec::new(), &PLAN, &mut go_on).unwrap();
    assert_eq!(
        samples.probes[1].state,
        ProbeState::Failed("the worker process was ended by signal 11".into())
    );
    for probe in [0, 2] {
        assert_eq!(samples.probes[probe].state, ProbeState::Active);
        assert_eq!(samples.probes[probe].epochs.len(), 6);
    }
    assert_eq!(bench.0.restarts, 7);
}

/// A bench whose worker dies permanently after a number of visits.
struct Mortal<'p>(Scene<'p>, u32);

impl Bench for Mortal<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, Lost> {
        if matches!(request, Request::Visit { .. }) {
            self.1 = self.1.saturating_sub(1);
        }
        if self.1 == 0 { Err(Lost("gone".into())) } else { self.0.ask(request) }
    }

    fn restart(&mut self) -> Result<(), Lost> {
        if self.1 == 0 { Err(Lost("no process may be made".into())) } else { self.0.restart() }
    }

    fn elapsed_ns(&self) -> u64 {
        self.0.elapsed_ns()
    }
}

#[test]
fn what_was_sampled_before_the_bench_was_lost_for_good_is_kept() {
    let probes = [known("a", 1_000, 20, Behavior::Works)];
    let list: Vec<&dyn Probe> = probes.iter().map(|probe| probe as &dyn Probe).collect();
    let metas: Vec<&Meta> = probes.iter().map(|probe| &probe.meta).collect();
    let run = |visits| {
        let local = Local::new(CLOCK.with(Clone::clone), &list, Site { cpu: 0, peer: None });
        let mut bench = Mortal(Scene { local, restarts: 0, migrates: false }, visits);
        sampler::run(&mut bench, &metas, Vec::new(), &PLAN, &mut go_on)
    };
    let lost = Lost("no process may be made".into());
    assert_eq!(run(0).unwrap_err(), lost);
    let samples = run(60).unwrap();
    assert!(!samples.complete);
    assert_eq!(samples.lost, Some(lost));
    assert!(samples.probes[0].epochs[0].batches.len() > 10);
}

#[test]
fn a_pair_has_more_and_shorter_epochs_and_fits_into_a_minute() {
    let pair = |most_epochs, seconds: u64| {
        Plan { most_epochs, budget_ns: seconds * 1_000_000_000, ..PLAN }.for_pair(None)
    };
    // Quick, usual and thorough runs.
    assert_eq!([pair(12, 3), pair(40, 32), pair(80, 240)].map(|it| it.most_epochs), [16, 80, 160]);
    assert!(pair(40, 32).budget_ns < 60_000_000_000 && pair(40, 32).epochs == 80);
    let until = PLAN.for_pair(Some(0.03));
    assert!(until.most_epochs > 1_000_000, "only the time ends it");
}
