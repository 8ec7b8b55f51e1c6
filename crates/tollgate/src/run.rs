//! `tollgate run`: plan, measure, save, show.

use crate::cli::{Sampling, Usage};
use crate::sampled::{self, Effort, List, Sampled};
use crate::session::Session;
use std::process::ExitCode;
use tollgate_boundary::select;
use tollgate_measure::sampler::Plan;

pub(crate) fn run(args: &Sampling, patterns: &[String]) -> anyhow::Result<ExitCode> {
    let wanted = select(patterns).map_err(Usage::error)?;
    let (host, site) = args.place()?;
    let mut session = Session::open(&args.destination, host, args.seed())?;
    let plan = plan(args, session.run.seed);
    Sampled::new(List::Ladder, wanted, site, args, plan).measure(&mut session, &mut |_, _| {})?;
    session.finish()
}

/// The ladder's plan.
pub(crate) fn plan(args: &Sampling, seed: u64) -> Plan {
    let quick = Effort::new(6, 6, 3.6, 0.0, 1_000_000);
    let usual = Effort::new(12, 20, 32.0, 0.005, 2_000_000);
    let thorough = Effort::new(30, 40, 240.0, 0.002, 4_000_000);
    sampled::plan(args, seed, [quick, usual, thorough])
}
