//! The sampler from end to end on a scripted clock: probes with known answers, and probes that misbehave.

use std::cell::Cell;
use std::ops::ControlFlow;
use tollgate_measure::bench::{Bench, Lost, Reply, Request};
use tollgate_measure::clock::{Clock, Moment, Scale, Scripted};
use tollgate_measure::local::Local;
use tollgate_measure::noise::BatchNoise;
use tollgate_measure::sampler::{self, Event, Harvest, Outcome, Plan};
use tollgate_measure::summary::{self, Units};
use tollgate_measure::{Claim, Crossing, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::{Measurement, Per, Status, warning};

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
    behaviour: Behaviour,
}

#[derive(Clone, Copy, PartialEq)]
enum Behaviour {
    Works,
    CannotOpen,
    FailsAfter(u64),
    /// The first passes after opening take longer, as in a runtime that compiles while it runs.
    WarmsUp,
    /// A batch costs this much besides its passes.
    Overhead(u64),
}

struct Open {
    ticks: u64,
    switches: u64,
    behaviour: Behaviour,
    made: Cell<u64>,
    counted: u64,
}

const fn known(id: &'static str, ticks: u64, switches: u64, behaviour: Behaviour) -> Known {
    const PROOF: &[Claim] = &[Claim::switches()];
    let meta = Meta {
        id,
        what: "takes a known time",
        per: Per::Switch,
        crossings_per_pass: 2,
        placement: Placement::One,
        proof: PROOF,
    };
    Known { meta, ticks, switches, behaviour }
}

impl Probe for Known {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        if self.behaviour == Behaviour::CannotOpen {
            return Err(Refusal::skip("it is forbidden here", "allow it"));
        }
        let Self { ticks, switches, behaviour, .. } = *self;
        Ok(Box::new(Open { ticks, switches, behaviour, made: Cell::new(0), counted: 0 }))
    }
}

impl Crossing for Open {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        advance(CALL);
        for _ in 0..passes {
            let made = self.made.get();
            let slow = self.behaviour == Behaviour::WarmsUp && made < 1_000;
            advance(if slow { 10 * self.ticks * (1_000 - made) / 1_000 } else { self.ticks });
            self.made.set(made + 1);
        }
        if let (Behaviour::Overhead(ticks), true) = (self.behaviour, passes > 0) {
            advance(ticks);
        }
        match self.behaviour {
            Behaviour::FailsAfter(passes) if self.made.get() > passes => {
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
            // The scheduler of the machine that tests has no part in the scene.
            _ => Ok(match self.local.ask(request)? {
                Reply::Visited { ticks, counts, passes, .. } => {
                    let noise = BatchNoise { involuntary: Some(0), migrated: Some(false) };
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
) -> (Harvest, u32) {
    let list: Vec<&dyn Probe> = probes.iter().map(|probe| probe as &dyn Probe).collect();
    let metas: Vec<&Meta> = probes.iter().map(|probe| &probe.meta).collect();
    let local = Local::new(CLOCK.with(Clone::clone), &list, Site { cpu: 0, peer: None });
    let mut scene = Scene { local, restarts: 0 };
    let harvest =
        sampler::run(&mut scene, &metas, Vec::new(), plan, &summary::relative_half_width, tell).unwrap();
    (harvest, scene.restarts)
}

fn go_on(_: Event<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn results(probes: &[Known], plan: &Plan) -> Vec<Measurement> {
    let (harvest, _) = measure(probes, plan, &mut go_on);
    assert!(harvest.complete);
    let units = Units { scale: Scale { hz: 2e9 }, ticks: true, core: None, core_spread: 0.0 };
    probes
        .iter()
        .zip(&harvest.probes)
        .map(|(probe, collected)| summary::measurement(&probe.meta, collected, &units))
        .collect()
}

#[test]
fn a_known_cost_is_found_exactly_and_the_call_is_taken_off() {
    let result = &results(&[known("a", 1_000, 20, Behaviour::Works)], &PLAN)[0];
    let ticks = result.ticks.unwrap();
    // A pass of 1,000 ticks makes two crossings.
    assert_eq!((ticks.estimate, ticks.ci, ticks.min, ticks.p99), (500.0, [500.0, 500.0], 500.0, 500.0));
    assert_eq!(result.ns.unwrap().estimate, 250.0);
    assert_eq!(result.proof["switches_per_crossing"], 1.0);
    assert_eq!(result.status, Status::Measured);
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
    let single = result.single.unwrap();
    assert_eq!((single.p50, single.p99, single.pair_overhead_ns), (250.0, 250.0, CALL as f64 / 2.0));
}

#[test]
fn the_interval_holds_at_the_other_rates_of_the_core() {
    let probes = [known("a", 1_000, 20, Behaviour::Works)];
    let (harvest, _) = measure(&probes, &PLAN, &mut go_on);
    let units = Units { scale: Scale { hz: 2e9 }, ticks: true, core: None, core_spread: 0.03 };
    let ticks = summary::measurement(&probes[0].meta, &harvest.probes[0], &units).ticks.unwrap();
    assert_eq!((ticks.estimate, ticks.ci), (500.0, [485.0, 515.0]));
}

#[test]
fn a_clock_that_runs_backwards_is_a_failure_and_no_figure() {
    let probe = known("a", 0, 20, Behaviour::Works);
    let list: Vec<&dyn Probe> = vec![&probe];
    for request in [
        Request::Visit { probe: 0, warm: 0, passes: vec![1] },
        Request::Singles { probe: 0, count: 1 },
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
    let (harvest, _) = measure(&[known("a", 700, 20, Behaviour::Works)], &PLAN, &mut go_on);
    let passes = harvest.probes[0].passes;
    // 0.3 ms at 2 GHz are 600,000 ticks.
    assert!((600_000 / 700 - 20..=600_000 / 700 + 20).contains(&passes), "{passes}");
}

#[test]
fn a_switch_that_happens_twice_is_divided_by_what_was_counted() {
    let result = &results(&[known("a", 1_000, 40, Behaviour::Works)], &PLAN)[0];
    assert_eq!(result.proof["switches_per_crossing"], 2.0);
    assert_eq!(result.ticks.unwrap().estimate, 250.0);
    assert!(result.has_warning(warning::PER_COUNTED));
}

#[test]
fn a_switch_that_never_happens_is_no_figure_to_trust() {
    let result = &results(&[known("a", 1_000, 0, Behaviour::Works)], &PLAN)[0];
    assert!(result.has_warning(warning::PROOF_DISAGREES), "{:?}", result.warnings);
}

#[test]
fn skipped_and_failed_probes_leave_the_others_alone() {
    let probes = [
        known("a", 1_000, 20, Behaviour::Works),
        known("b", 1_000, 20, Behaviour::CannotOpen),
        known("c", 1_000, 20, Behaviour::FailsAfter(5_000)),
        known("d", 3_000, 20, Behaviour::Works),
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
    let result = &results(&[known("a", 1_000, 20, Behaviour::WarmsUp)], &PLAN)[0];
    assert_eq!(result.ticks.unwrap().p99, 500.0, "a slow pass got into the samples");
    assert!(!result.has_warning(warning::NOT_STEADY));
}

#[test]
fn a_cost_of_the_batch_itself_is_found_by_the_second_estimator() {
    let result = &results(&[known("a", 1_000, 20, Behaviour::Overhead(60_000))], &PLAN)[0];
    assert!(result.has_warning(warning::ESTIMATORS_DISAGREE), "{:?}", result.warnings);
}

#[test]
fn each_epoch_starts_anew_and_the_budget_is_kept() {
    let start = now();
    let (_, restarts) = measure(&[known("a", 1_000, 20, Behaviour::Works)], &PLAN, &mut go_on);
    let elapsed_ns = (now() - start) / 2;
    assert_eq!(restarts, 6);
    assert!(elapsed_ns < PLAN.budget_ns + PLAN.budget_ns / 10, "{elapsed_ns}");
}

#[test]
fn a_probe_that_is_exact_enough_needs_no_further_epoch() {
    let plan = Plan { most_epochs: 40, target: 0.01, ..PLAN };
    let (harvest, restarts) = measure(&[known("a", 1_000, 20, Behaviour::Works)], &plan, &mut go_on);
    assert_eq!((restarts, harvest.probes[0].epochs.len()), (6, 6));
}

#[test]
fn stopping_keeps_what_there_is() {
    let mut rounds = 0;
    let mut tell = |event: Event<'_>| {
        rounds += usize::from(matches!(event, Event::Round(..)));
        if rounds == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let probes = [known("a", 1_000, 20, Behaviour::Works)];
    let (harvest, _) = measure(&probes, &PLAN, &mut tell);
    assert!(!harvest.complete);
    let units = Units { scale: Scale { hz: 2e9 }, ticks: true, core: None, core_spread: 0.0 };
    let result = summary::measurement(&probes[0].meta, &harvest.probes[0], &units);
    assert_eq!(result.ticks.unwrap().estimate, 500.0);
    assert!(result.has_warning(warning::FEW_EPOCHS));
}

#[test]
fn the_seed_decides_the_order() {
    let order = |seed| {
        let mut warmed = Vec::new();
        let probes: Vec<Known> =
            ["a", "b", "c", "d", "e", "f"].map(|id| known(id, 1_000, 20, Behaviour::Works)).into();
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
        known("a", 1_000, 20, Behaviour::Works),
        known("b", 1_000, 20, Behaviour::Works),
        known("c", 2_000, 20, Behaviour::Works),
    ];
    let list: Vec<&dyn Probe> = probes.iter().map(|probe| probe as &dyn Probe).collect();
    let metas: Vec<&Meta> = probes.iter().map(|probe| &probe.meta).collect();
    let local = Local::new(CLOCK.with(Clone::clone), &list, Site { cpu: 0, peer: None });
    let mut bench = Fragile(Scene { local, restarts: 0 });
    let harvest = sampler::run(&mut bench, &metas, Vec::new(), &PLAN, &|_, _| None, &mut go_on).unwrap();
    assert_eq!(
        harvest.probes[1].outcome,
        Outcome::Failed("the worker process was ended by signal 11".into())
    );
    for probe in [0, 2] {
        assert_eq!(harvest.probes[probe].outcome, Outcome::Active);
        assert_eq!(harvest.probes[probe].epochs.len(), 6);
    }
    assert_eq!(bench.0.restarts, 7);
}

/// A bench whose worker dies for good after so many visits.
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
    let probes = [known("a", 1_000, 20, Behaviour::Works)];
    let list: Vec<&dyn Probe> = probes.iter().map(|probe| probe as &dyn Probe).collect();
    let metas: Vec<&Meta> = probes.iter().map(|probe| &probe.meta).collect();
    let run = |visits| {
        let local = Local::new(CLOCK.with(Clone::clone), &list, Site { cpu: 0, peer: None });
        let mut bench = Mortal(Scene { local, restarts: 0 }, visits);
        sampler::run(&mut bench, &metas, Vec::new(), &PLAN, &|_, _| None, &mut go_on)
    };
    let lost = Lost("no process may be made".into());
    assert_eq!(run(0).unwrap_err(), lost);
    let harvest = run(60).unwrap();
    assert!(!harvest.complete);
    assert_eq!(harvest.lost, Some(lost));
    assert!(harvest.probes[0].epochs[0].batches.len() > 10);
}
