//! The hidden command that runs in the worker process.

use crate::cli::WorkerArgs;
use std::process::ExitCode;
use tollgate_measure::{Site, worker};

pub(crate) fn worker(args: &WorkerArgs) -> anyhow::Result<ExitCode> {
    let site = Site { cpu: args.cpu, peer: args.peer };
    worker::serve(tollgate_boundary::PROBES, site, args.clock.source(), args.parent)?;
    Ok(ExitCode::SUCCESS)
}
