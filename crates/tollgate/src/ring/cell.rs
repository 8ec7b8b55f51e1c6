//! Measuring one cell: the ring and its baselines side by side in worker processes.

use crate::cli::Sampling;
use crate::worker;
use std::ops::ControlFlow;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use tollgate_boundary::ring::{Cell, MOST_COUNTED, RingProbe, Spec, take_counters};
use tollgate_measure::bench::{Bench as _, Lost, Reply, Request};
use tollgate_measure::clock::Source;
use tollgate_measure::remote::Remote;
use tollgate_measure::sampler::{self, Event, Harvest, Outcome, Plan};
use tollgate_measure::stats::median_interval;
use tollgate_measure::{Meta, Probe, Site, session, summary};
use tollgate_record::{Measurement, Per, Run, Status, Warning};

/// Where and how cells are measured.
pub(crate) struct Bench {
    site: Site,
    source: Source,
    seed: u64,
    /// Time for one cell in nanoseconds, and its epochs.
    budget_ns: u64,
    epochs: u32,
    watchdog_s: Option<u16>,
}

/// What a cell gave.
pub(crate) struct Measured {
    /// Its record.
    pub(crate) result: Measurement,
    /// One task passing the token to itself and walking over its array: lmbench's overhead.
    pub(crate) overhead_us: Option<f64>,
    /// A hop less that overhead: lmbench's figure.
    pub(crate) switch_us: Option<f64>,
}

/// Time for opening a ring, in watchdog seconds for each task.
const SECONDS_EACH: f64 = 0.005;
/// The watchdog for a small ring, in seconds.
const PATIENCE_S: f64 = 10.0;

impl Bench {
    pub(crate) fn new(site: Site, sampling: &Sampling, seed: u64, watchdog_s: Option<u16>) -> Self {
        let (budget_ns, epochs) = match (sampling.quick, sampling.thorough) {
            (true, _) => (350_000_000, 6),
            (_, true) => (6_000_000_000, 20),
            _ => (850_000_000, 6),
        };
        Self { site, source: sampling.clock.source(), seed, budget_ns, epochs, watchdog_s }
    }

    /// The same with another number of epochs.
    pub(crate) fn epochs(mut self, epochs: u32) -> Self {
        self.epochs = epochs;
        self
    }

    /// The same on another CPU.
    pub(crate) fn on(&self, cpu: usize) -> Self {
        Self { site: Site { cpu, peer: None }, ..*self }
    }

    fn plan(&self, procs: u32) -> Plan {
        // A large ring takes longer to make than to measure.
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

    fn command(&self, rings: &str) -> Command {
        let mut command = worker::command(self.site, self.source);
        command.arg("--rings").arg(rings);
        command
    }

    /// Measures a cell and notes in `run` what concerns the host's clocks. `None` when it was interrupted.
    pub(crate) fn measure(
        &self,
        cell: &Cell,
        run: &mut Run,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<Measured>> {
        let specs = cell.specs();
        let rings = serde_json::to_string(specs)?;
        let probes: Vec<RingProbe> = specs.iter().cloned().map(RingProbe::new).collect();
        let metas: Vec<&Meta> = probes.iter().map(Probe::meta).collect();
        let plan = self.plan(specs[0].procs);
        let mut bench = Remote::new(|| self.command(&rings), self.patience_ms(specs[0].procs));
        let mut tell = |event: Event<'_>| {
            let out = match event {
                // Without its ring a cell has no figure, whatever its baselines give.
                Event::Round(_, harvest) | Event::Ended(harvest) => {
                    harvest.probes[0].outcome != Outcome::Active
                }
                _ => false,
            };
            if out || stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let refused = vec![None; metas.len()];
        let harvest =
            sampler::run(&mut bench, &metas, refused, &plan, &summary::relative_half_width, &mut tell);
        Ok(match harvest {
            Ok(Harvest { lost: Some(lost), .. }) => Some(failed(&specs[0], &lost.to_string())),
            Ok(harvest) if harvest.probes[0].outcome == Outcome::Active && !harvest.complete => None,
            Ok(harvest) => Some(self.evaluate(cell, &metas, &harvest, run)),
            Err(lost) => Some(failed(&specs[0], &format!("nothing could be measured: {lost}"))),
        })
    }

    /// Counts events in the tasks of the cell's ring, in a run of its own that is not timed.
    pub(crate) fn count(&self, cell: &Cell, run: &mut Run, result: &mut Measurement) -> anyhow::Result<()> {
        let spec = Spec { counters: true, ..cell.specs()[0].clone() };
        if spec.procs > MOST_COUNTED || result.status != Status::Measured {
            return Ok(());
        }
        let rings = serde_json::to_string(&[&spec])?;
        let mut bench = Remote::new(|| self.command(&rings), self.patience_ms(spec.procs));
        let opened = bench.restart().and_then(|()| bench.ask(&Request::Open { probe: 0 }));
        let warnings = match opened {
            Ok(Reply::Opened { params, .. }) => take_counters(&params, result),
            Ok(Reply::Skipped { reason, .. } | Reply::Failed { reason }) | Err(Lost(reason)) => {
                vec![Warning::new("counters-absent", format!("no events were counted: {reason}"))]
            }
            Ok(_) => Vec::new(),
        };
        run.warnings.extend(warnings.into_iter().filter(|it| !run.warnings.contains(it)).collect::<Vec<_>>());
        Ok(())
    }

    fn evaluate(&self, cell: &Cell, metas: &[&Meta], harvest: &Harvest, run: &mut Run) -> Measured {
        let Some(units) = session::units(harvest, self.source) else {
            return failed(&cell.specs()[0], "the run ended before the clock was compared");
        };
        let mut scratch = Run { results: Vec::new(), ..run.clone() };
        session::record(&mut scratch, metas, harvest, self.source);
        run.host = scratch.host;
        run.warnings = scratch.warnings;
        let own = summary::measurement(metas[0], &harvest.probes[0], &units);
        let mut result = cell.bill(own, harvest, &units);
        if result.status == Status::Skipped {
            // A cell was asked for by its numbers: a limit that forbids it is a failure of this command.
            let enable = result.enable.take().map_or(String::new(), |enable| format!("; {enable}"));
            result.reason = result.reason.take().map(|reason| reason + &enable);
            result.status = Status::Failed;
        }
        let hot = cell.hot();
        let (total, hot) = (
            summary::levels(&harvest.probes[0], f64::from(cell.specs()[0].procs)),
            summary::levels(&harvest.probes[hot], 1.0),
        );
        let us = |levels: &[f64]| {
            let (median, _) = median_interval(levels)?;
            Some(units.scale.nanos(tollgate_measure::clock::Ticks(median)).0 / 1e3)
        };
        let rest: Vec<f64> = total.iter().zip(&hot).map(|(total, hot)| total - hot).collect();
        Measured { result, overhead_us: us(&hot), switch_us: us(&rest) }
    }
}

/// The record of a cell without a figure.
fn failed(spec: &Spec, why: &str) -> Measured {
    let mut result = Measurement::empty(spec.link.id(), "host", Per::Switch, Status::Failed);
    result.reason = Some(why.into());
    result.params.insert("procs".into(), spec.procs.into());
    result.params.insert("size".into(), spec.bytes.into());
    Measured { result, overhead_us: None, switch_us: None }
}
