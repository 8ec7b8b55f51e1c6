//! Measures cells: the ring and its baselines, side by side in worker processes.

use super::bill::Cell;
use super::events::{MOST_COUNTED, take_counters};
use super::probe::RingProbe;
use super::spec::Spec;
use std::ops::ControlFlow;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tollgate_measure::bench::{Bench as _, Lost, Reply, Request};
use tollgate_measure::clock::Source;
use tollgate_measure::remote::Remote;
use tollgate_measure::sampler::{self, Event, Plan};
use tollgate_measure::samples::{ProbeState, RunSamples};
use tollgate_measure::stats::median;
use tollgate_measure::{Meta, Probe, Site, summary};
use tollgate_record::{Asked, Measurement, Per, Run, Status, Warning, warning};

/// Starts a worker process on this site that answers for these rings.
pub type StartWorker<'a> = &'a (dyn Fn(Site, &[Spec]) -> Command + Sync);

/// Where and how cells are measured.
#[derive(Clone)]
pub struct CellRunner<'a> {
    /// The measured CPU.
    pub site: Site,
    /// The clock.
    pub source: Source,
    /// Seed of the order in which rings take turns.
    pub seed: u64,
    /// Time for one cell, in nanoseconds.
    pub budget_ns: u64,
    /// Epochs of a small ring; a large ring takes longer to make than to measure and gets fewer.
    pub epochs: u32,
    /// Seconds of silence after which a ring counts as stuck; without it, chosen by the number of tasks.
    pub watchdog_s: Option<u16>,
    /// The command that starts a worker.
    pub worker: StartWorker<'a>,
}

/// The result of one cell.
#[derive(Clone, Debug)]
pub struct MeasuredCell {
    /// Its record.
    pub result: Measurement,
    /// One task that passes the token to itself and walks over its array: lmbench's overhead.
    pub overhead_us: Option<f64>,
    /// A hop less that overhead: lmbench's figure.
    pub switch_us: Option<f64>,
}

/// Watchdog seconds for opening a ring, for each task.
const SECONDS_EACH: f64 = 0.005;
/// The watchdog for a small ring, in seconds.
const PATIENCE_S: f64 = 10.0;
/// How often the caller receives the state of a cell that is being measured.
const REPORT_EVERY: Duration = Duration::from_millis(700);

impl CellRunner<'_> {
    fn plan(&self, procs: u32) -> Plan {
        let epochs = match procs {
            0..=300 => self.epochs,
            301..=2_000 => self.epochs.min(3),
            _ => 1,
        };
        Plan {
            seed: self.seed,
            epochs,
            most_epochs: epochs,
            budget_ns: self.budget_ns,
            batch_ns: 300_000,
            target: 0.0,
            singles_ns: 200_000,
        }
    }

    fn patience_ms(&self, procs: u32) -> i32 {
        let seconds = match self.watchdog_s {
            Some(seconds) => f64::from(seconds),
            None => PATIENCE_S + SECONDS_EACH * f64::from(procs),
        };
        (seconds * 1000.0) as i32
    }

    /// Measures a cell and writes to `run` what concerns the host's clocks. An interrupted cell is returned with what
    /// it has, `None` if that is nothing. `keep` receives the run with the unfinished cell as its last result, about
    /// once a second.
    pub fn measure(
        &self,
        cell: &Cell,
        run: &mut Run,
        stop: &AtomicBool,
        keep: &mut dyn FnMut(&Run),
    ) -> Option<MeasuredCell> {
        let specs = cell.specs();
        let probes: Vec<RingProbe> = specs.iter().cloned().map(RingProbe::new).collect();
        let metas: Vec<&Meta> = probes.iter().map(Probe::meta).collect();
        let plan = self.plan(specs[0].procs);
        let mut bench = Remote::new(|| (self.worker)(self.site, specs), self.patience_ms(specs[0].procs));
        let mut reported = Instant::now();
        let mut tell = |event: Event<'_>| {
            let (Event::Round(_, &[samples]) | Event::Ended(&[samples])) = event else {
                return proceed(stop.load(Ordering::Relaxed));
            };
            // Without its ring a cell has no figure, whatever its baselines give.
            let lost = samples.probes[0].state != ProbeState::Active;
            if !lost && (matches!(event, Event::Ended(_)) || reported.elapsed() >= REPORT_EVERY) {
                let mut unfinished = Run { complete: false, ..run.clone() };
                let measured = self.evaluate(cell, &metas, samples, &mut unfinished);
                if measured.result.status == Status::Measured {
                    unfinished.results.push(measured.result);
                    keep(&unfinished);
                }
                reported = Instant::now();
            }
            proceed(lost || stop.load(Ordering::Relaxed))
        };
        match sampler::run(&mut bench, &metas, Vec::new(), &plan, &mut tell) {
            Ok(RunSamples { lost: Some(lost), .. }) => Some(failed(&specs[0], &lost.to_string())),
            Ok(samples) => {
                let interrupted = samples.probes[0].state == ProbeState::Active && !samples.complete;
                let measured = self.evaluate(cell, &metas, &samples, run);
                (!interrupted || measured.result.status == Status::Measured).then_some(measured)
            }
            Err(lost) => Some(failed(&specs[0], &format!("nothing could be measured: {lost}"))),
        }
    }

    /// Measures the cell on each of these CPUs at once. `None` if one was interrupted before it had a figure.
    pub fn measure_side_by_side(
        &self,
        spec: &Spec,
        cpus: &[usize],
        run: &mut Run,
        stop: &AtomicBool,
        keep: &mut dyn FnMut(&Run),
    ) -> Option<Vec<MeasuredCell>> {
        if let [_] = cpus {
            return self.measure(&Cell::new(spec.clone()), run, stop, keep).map(|measured| vec![measured]);
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> = cpus
                .iter()
                .map(|&cpu| {
                    let mut run = run.clone();
                    let runner = CellRunner { site: Site { cpu, peer: None }, ..self.clone() };
                    let spec = Spec { cpus: vec![cpu], ..spec.clone() };
                    scope.spawn(move || runner.measure(&Cell::new(spec), &mut run, stop, &mut |_| {}))
                })
                .collect();
            let lost = || Some(failed(spec, "its measuring thread panicked"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect()
        })
    }

    /// Counts events in the tasks of the cell's ring, in a run of its own that is not timed.
    pub fn count(&self, cell: &Cell, run: &mut Run, result: &mut Measurement) {
        let spec = Spec { counters: true, ..cell.specs()[0].clone() };
        if spec.procs > MOST_COUNTED || result.status != Status::Measured {
            return;
        }
        let patience = self.patience_ms(spec.procs);
        let mut bench = Remote::new(|| (self.worker)(self.site, std::slice::from_ref(&spec)), patience);
        let opened = bench.restart().and_then(|()| bench.ask(&Request::Open { probe: 0 }));
        let warnings = match opened {
            Ok(Reply::Opened { facts, .. }) => take_counters(facts.counted, result),
            Ok(Reply::Skipped { reason, .. } | Reply::Failed { reason }) | Err(Lost(reason)) => {
                vec![Warning::new(warning::COUNTERS_ABSENT, format!("no events were counted: {reason}"))]
            }
            Ok(_) => Vec::new(),
        };
        run.warnings.extend(warnings.into_iter().filter(|it| !run.warnings.contains(it)).collect::<Vec<_>>());
    }

    fn evaluate(&self, cell: &Cell, metas: &[&Meta], samples: &RunSamples, run: &mut Run) -> MeasuredCell {
        let Some(units) = summary::units(samples, self.source) else {
            return failed(&cell.specs()[0], "the run ended before the clock was compared");
        };
        let mut scratch = Run { results: Vec::new(), ..run.clone() };
        summary::record_run(&mut scratch, metas, samples, self.source);
        run.host = scratch.host;
        run.warnings = scratch.warnings;
        let own = summary::measurement(metas[0], &samples.probes[0], &units);
        let mut result = cell.bill(own, samples, &units);
        if result.status == Status::Skipped {
            // A cell was asked for by its numbers: a limit that forbids it is a failure of this command.
            let enable = result.enable.take().map_or(String::new(), |enable| format!("; {enable}"));
            result.reason = result.reason.take().map(|reason| reason + &enable);
            result.status = Status::Failed;
        }
        let hot = cell.hot();
        let (total, hot) = (
            summary::levels(&samples.probes[0], f64::from(cell.specs()[0].procs)),
            summary::levels(&samples.probes[hot], 1.0),
        );
        let us = |levels: &[f64]| (!levels.is_empty()).then(|| median(levels) * units.ns_per_tick() / 1e3);
        let rest: Vec<f64> = total.iter().zip(&hot).map(|(total, hot)| total - hot).collect();
        MeasuredCell { result, overhead_us: us(&hot), switch_us: us(&rest) }
    }
}

fn proceed(stop: bool) -> ControlFlow<()> {
    if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The record of a cell without a figure.
fn failed(spec: &Spec, why: &str) -> MeasuredCell {
    let mut result = Measurement::empty(spec.link.id(), "host", Per::Switch, Status::Failed);
    result.reason = Some(why.into());
    result.asked = Asked::Ring(spec.asked());
    MeasuredCell { result, overhead_us: None, switch_us: None }
}
