//! `tollgate fault kinds`: every kind of fault in one run.

use crate::args::Sampling;
use crate::sampled::{self, Effort, Sampled};
use crate::session::Session;
use crate::worker::List;
use std::process::ExitCode;
use tollgate_boundary::fault;
use tollgate_measure::sampler::Plan;

pub(crate) fn kinds(args: &Sampling) -> anyhow::Result<ExitCode> {
    let (host, site) = args.place()?;
    let mut session = Session::open(&args.destination, host, args.seed())?;
    let plan = plan(args, session.run.seed);
    let sampled = Sampled::all(List::Faults, site, args, plan);
    sampled.measure(&mut session, &mut |run, _| fault::arrange(&mut run.results))?;
    session.finish()
}

/// Like the ladder's plan, with fewer epochs: each has files to write.
fn plan(args: &Sampling, seed: u64) -> Plan {
    let quick = Effort::new(3, 3, 3.0, 0.0, 500_000);
    let usual = Effort::new(8, 10, 30.0, 0.005, 2_000_000);
    let thorough = Effort::new(20, 24, 180.0, 0.002, 4_000_000);
    sampled::plan(args, seed, [quick, usual, thorough])
}
