//! `tollgate run --against`: two programs, or two settings, in one session, batch by batch in turn.

use crate::args::Usage;
use crate::output::Sink;
use crate::run::{self, Args};
use crate::sampled::Sampled;
use crate::session;
use crate::worker::{self, List};
use std::process::{Command, ExitCode};
use tollgate_boundary::select;
use tollgate_measure::other::{OtherProgram, Protocol, Renumbered, skip_missing};
use tollgate_measure::remote::Remote;
use tollgate_measure::sampler;

/// `tollgate protocol`: what another tollgate asks before it sends a request to this one's worker.
pub(crate) fn protocol() -> anyhow::Result<ExitCode> {
    let text = serde_json::to_string(&Protocol::of(session::tool(), &List::Ladder.metas()))? + "\n";
    Sink::text(None, "")?.deliver(&text)
}

/// Measures both, saves both, and prints the comparison.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let sampling = &args.sampling;
    if run::borders(&args.patterns)?.is_some() {
        let why = "the rows of ffi cannot take turns with another program's; save two runs and use 'tollgate compare'";
        return Err(Usage::error(why));
    }
    let wanted = select(&args.patterns).map_err(Usage::error)?;
    let metas = List::Ladder.metas();
    let (program, before) = (args.baseline.against.as_deref(), args.baseline.against_with.as_deref());
    let other = OtherProgram::named(program, before, &metas).map_err(Usage::error)?;
    let (mut ours, sampled) = Sampled::open(sampling, List::Ladder, wanted)?;
    let mut theirs = ours.twin();
    // Each run says with which it was paired, and which program it measured with.
    theirs.run.interleaved_with = Some(ours.run.id.clone());
    ours.run.interleaved_with = Some(theirs.run.id.clone());
    theirs.run.tool = other.tool.clone();
    (ours.run.same_addresses, theirs.run.same_addresses) = (other.same_addresses, other.same_addresses);
    let placed = |mut command: Command, number: &mut u64| {
        *number += 1;
        if other.same_addresses {
            worker::place(&mut command, sampled.plan.seed, *number);
        }
        command
    };
    let (mut number_theirs, mut number_ours) = (0, 0);
    let start_theirs = || placed(other.worker(&sampled.worker()), &mut number_theirs);
    let bench = Remote::new(start_theirs, sampled.patience_ms);
    let mut bench_theirs = Renumbered { bench, places: &other.places };
    let mut bench_ours = Remote::new(|| placed(sampled.worker(), &mut number_ours), sampled.patience_ms);
    let mut states = [sampled.states(), sampled.states()];
    skip_missing(&mut states[0], &other.places);
    let until = args.baseline.until;
    (theirs.run.until, ours.run.until) = (until, until);
    let plan = sampled.plan.for_pair(until);
    ours.progress.expect(plan.likely());
    sampled.observe(&mut [&mut theirs, &mut ours], &mut |_, _| {}, |tell| {
        sampler::run_pair([&mut bench_theirs, &mut bench_ours], &metas, states, &plan, until, tell)
            .map(Vec::from)
    })?;
    ours.finish_with(|b, sink| {
        theirs.finish_with(|a, _| {
            let name = program.map(|path| path.display().to_string()).or_else(|| before.map(str::to_owned));
            let names = [name.unwrap_or_default(), String::new()];
            args.judging.show([a, b].map(std::slice::from_ref), names, sink)
        })
    })
}
