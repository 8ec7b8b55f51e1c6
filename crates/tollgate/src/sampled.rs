//! A list of probes measured by the sampler in worker processes, for the commands whose rows grow together.

use crate::args::Sampling;
use crate::session::Session;
use crate::worker::{self, List};
use anyhow::anyhow;
use std::ops::ControlFlow;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tollgate_boundary::LADDER;
use tollgate_measure::bench::Lost;
use tollgate_measure::clock::Source;
use tollgate_measure::noise::{self, SpanNoise, Watch};
use tollgate_measure::remote::Remote;
use tollgate_measure::sampler::{self, Event, Plan};
use tollgate_measure::samples::{ProbeState, RunSamples};
use tollgate_measure::{Meta, Placement, Site, summary};
use tollgate_record::Run;

/// Time between two saves of an unfinished run.
pub(crate) const SAVE_EVERY: Duration = Duration::from_millis(700);

/// A selection of probes with the CPUs and the plan of their run.
pub(crate) struct Sampled {
    list: List,
    /// The numbers of the probes that were asked for.
    wanted: Vec<usize>,
    pub(crate) site: Site,
    pub(crate) source: Source,
    pub(crate) patience_ms: i32,
    pub(crate) plan: Plan,
}

impl Sampled {
    /// Places the run, and opens its session.
    pub(crate) fn open(args: &Sampling, list: List, wanted: Vec<usize>) -> anyhow::Result<(Session, Self)> {
        let (host, site) = args.place()?;
        let session = Session::open(&args.destination, host, args.seed())?;
        let plan = plan(args, list, &wanted, session.run.seed);
        let (source, patience_ms) = (args.clock.source(), args.patience_ms());
        Ok((session, Self { list, wanted, site, source, patience_ms, plan }))
    }

    /// [`Sampled::open`] for every probe of a list.
    pub(crate) fn open_all(args: &Sampling, list: List) -> anyhow::Result<(Session, Self)> {
        Self::open(args, list, (0..list.probes().len()).collect())
    }

    /// The command that starts a worker.
    pub(crate) fn worker(&self) -> Command {
        worker::of_list(self.site, self.source, self.list)
    }

    /// The state of each probe of the list: selected, or the reason why not.
    pub(crate) fn states(&self) -> Vec<ProbeState> {
        let metas = self.list.metas().into_iter().enumerate();
        metas.map(|(probe, meta)| ProbeState::new(meta, self.wanted.contains(&probe), self.site)).collect()
    }

    /// Measures in worker processes. `amend` changes the record each time that it is written anew from the samples.
    pub(crate) fn measure(
        &self,
        session: &mut Session,
        amend: &mut dyn FnMut(&mut Run, &RunSamples),
    ) -> anyhow::Result<()> {
        session.progress.expect(self.plan.likely());
        let mut bench = Remote::new(|| self.worker(), self.patience_ms);
        let metas = self.list.metas();
        self.observe(&mut [session], amend, |tell| {
            Ok(vec![sampler::run(&mut bench, &metas, self.states(), &self.plan, tell)?])
        })
    }

    /// Runs a sampler with one bench for each session, shows its progress, and saves its samples.
    pub(crate) fn observe(
        &self,
        sessions: &mut [&mut Session],
        amend: &mut dyn FnMut(&mut Run, &RunSamples),
        sample: impl FnOnce(&mut dyn FnMut(Event<'_>) -> ControlFlow<()>) -> Result<Vec<RunSamples>, Lost>,
    ) -> anyhow::Result<()> {
        let stop = sessions[0].stop_on_signal()?;
        let metas = self.list.metas();
        let watch = Watch::new(self.site.cpu, self.site.peer);
        let (mut mark, mut spans) = (None, Vec::new());
        let (mut share, mut doing, mut epoch) = (0.0, String::new(), String::new());
        let (mut saved, mut took) = (Instant::now(), Duration::ZERO);
        let mut write = |sessions: &mut [&mut Session], samples: &[&RunSamples], spans: &[SpanNoise]| {
            for (session, samples) in sessions.iter_mut().zip(samples) {
                self.record(&mut session.run, &metas, samples, spans);
                amend(&mut session.run, samples);
                session.save();
            }
        };
        let mut observe = |event: Event<'_>| {
            match event {
                Event::Sampling => doing.clone_from(&epoch),
                Event::Epoch(words) => {
                    // The whole epoch: on a crowded machine its batches alone are too short for the kernel's accounts.
                    mark = Some(watch.mark());
                    epoch = words;
                    doing.clone_from(&epoch);
                }
                Event::Warming(probe) => doing = format!("{epoch}, warming {}", metas[probe].id),
                Event::Round(done, samples) => {
                    share = done;
                    if saved.elapsed() >= SAVE_EVERY {
                        write(sessions, samples, &spans);
                        saved = Instant::now();
                    }
                }
                Event::Ended(samples) => {
                    spans.extend(mark.take().map(|mark| watch.span(&mark, &watch.mark())));
                    // A record of hundreds of short epochs takes as long as one of them.
                    if saved.elapsed() >= took * 20 {
                        let began = Instant::now();
                        write(sessions, samples, &spans);
                        (saved, took) = (Instant::now(), began.elapsed());
                    }
                }
            }
            sessions.iter().for_each(|session| session.progress.show(share, doing.as_str()));
            if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let samples = sample(&mut observe).map_err(|lost| anyhow!("nothing could be measured: {lost}"))?;
        write(sessions, &samples.iter().collect::<Vec<_>>(), &spans);
        Ok(())
    }

    /// Writes the record anew: the rows that were asked for, and what else happened on their CPUs.
    fn record(&self, run: &mut Run, metas: &[&Meta], samples: &RunSamples, spans: &[SpanNoise]) {
        run.warnings.clear();
        summary::record_run(run, metas, samples, self.source);
        let with_peer = self.wanted.iter().any(|&probe| metas[probe].placement == Placement::Pair);
        let total = SpanNoise::total(spans).into_iter();
        run.warnings.extend(total.flat_map(|span| noise::warnings(&span, with_peer)));
    }
}

/// The effort of a run: the least and the most epochs; seconds; half the relative width of the interval at which a probe stops;
/// nanoseconds of an epoch for crossings that are timed one by one.
type Effort = (u32, u32, f64, f64, u64);

/// The efforts of `--quick`, of the usual run and of `--thorough`.
fn efforts(list: List) -> [Effort; 3] {
    match list {
        List::Ladder => {
            [(12, 12, 4.6, 0.0, 500_000), (24, 40, 32.0, 0.005, 1_000_000), (60, 80, 240.0, 0.002, 2_000_000)]
        }
        List::Crossings => {
            [(6, 6, 3.0, 0.0, 500_000), (12, 12, 14.0, 0.0, 1_000_000), (30, 30, 120.0, 0.0, 2_000_000)]
        }
        // Fewer epochs than the ladder: each has files to write.
        List::Faults => {
            [(3, 3, 3.0, 0.0, 500_000), (8, 10, 30.0, 0.005, 2_000_000), (20, 24, 180.0, 0.002, 4_000_000)]
        }
    }
}

/// The usual effort of a run with probes outside of the ladder: some sixty of them take less than half a minute, with the start
/// of their processes. Most of them reach their interval after a dozen epochs, and leave the time to the others.
const FAMILY: Effort = (12, 16, 24.0, 0.01, 250_000);

/// Nanoseconds of a batch of the ladder: the level of an epoch is that of its favorable batches, and shorter ones give more of them.
const SHORT_BATCH_NS: u64 = 50_000;
/// Nanoseconds of a batch of a whole and its parts, whose differences are small.
const BATCH_NS: u64 = 300_000;

/// The plan that the options ask for.
fn plan(args: &Sampling, list: List, wanted: &[usize], seed: u64) -> Plan {
    let [quick, usual, thorough] = efforts(list);
    let (epochs, most_epochs, seconds, target, singles_ns) = match (args.quick, args.thorough) {
        (true, _) => quick,
        (_, true) => thorough,
        _ if list == List::Ladder && wanted.iter().any(|&probe| probe >= LADDER.len()) => FAMILY,
        _ => usual,
    };
    let budget_ns = args.budget_ms.map_or((seconds * 1e9) as u64, |ms| u64::from(ms) * 1_000_000);
    let batch_ns = if list == List::Ladder { SHORT_BATCH_NS } else { BATCH_NS };
    Plan { seed, epochs, most_epochs, budget_ns, batch_ns, target, singles_ns }
}
