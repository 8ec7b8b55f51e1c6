//! `tollgate run --against`: two programs, or two settings, in one session, epoch by epoch in turn.

use crate::args::Usage;
use crate::output::Sink;
use crate::run::Args;
use crate::sampled::Sampled;
use crate::session::{self, Session};
use crate::worker::List;
use anyhow::anyhow;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use tollgate_boundary::select;
use tollgate_measure::other::{OtherProgram, Protocol, Renumbered, skip_missing};
use tollgate_measure::remote::Remote;
use tollgate_measure::turns::{AlternatingBench, Alternation};

/// `tollgate protocol`: what another tollgate asks before it sends a request to this one's worker.
pub(crate) fn protocol() -> anyhow::Result<ExitCode> {
    let text = serde_json::to_string(&Protocol::of(session::tool(), &List::Ladder.metas()))? + "\n";
    Sink::text(None, "")?.deliver(&text)
}

/// Measures both, saves both, and prints the comparison.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let sampling = &args.sampling;
    let wanted = select(&args.patterns).map_err(Usage::error)?;
    let metas = List::Ladder.metas();
    let (program, before) = (args.baseline.against.as_deref(), args.baseline.against_with.as_deref());
    let other = OtherProgram::named(program, before, &metas).map_err(Usage::error)?;
    let (mut ours, sampled) = Sampled::open(sampling, List::Ladder, wanted)?;
    let mut theirs = ours.twin();
    // Each run says with which it took turns, and which program it measured with.
    theirs.run.interleaved_with = Some(ours.run.id.clone());
    ours.run.interleaved_with = Some(theirs.run.id.clone());
    theirs.run.tool = other.tool.clone();
    let turns = Alternation::default();
    let side = |me: usize, session: &mut Session| {
        let begins = AtomicBool::new(false);
        let own: Vec<Option<usize>> = (0..metas.len()).map(Some).collect();
        let places = if me == 0 { &other.places } else { &own };
        let worker = || if me == 0 { other.worker(&sampled.worker()) } else { sampled.worker() };
        let bench = Renumbered { bench: Remote::new(worker, sampled.patience_ms), places };
        let mut bench = AlternatingBench::new(bench, &turns, me, &begins);
        let mut states = sampled.states();
        skip_missing(&mut states, places);
        let begin = || begins.store(true, Ordering::Relaxed);
        sampled.measure_on(&mut bench, states, session, &begin, &mut |_, _| {})
    };
    let (done_theirs, done_ours) = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| side(0, &mut theirs));
        let ours = side(1, &mut ours);
        (theirs.join().unwrap_or_else(|_| Err(anyhow!("the thread of the other side panicked"))), ours)
    });
    done_theirs.map_err(|error| error.context("the other side"))?;
    done_ours?;
    ours.finish_with(|b, sink| {
        theirs.finish_with(|a, _| args.judging.show(std::slice::from_ref(a), std::slice::from_ref(b), sink))
    })
}
