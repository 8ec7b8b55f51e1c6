//! The hidden command that runs in the worker process.

use crate::cli::WorkerArgs;
use std::process::ExitCode;
use tollgate_boundary::ring::{RingProbe, Spec};
use tollgate_measure::{Probe, Site, worker};

pub(crate) fn worker(args: &WorkerArgs) -> anyhow::Result<ExitCode> {
    let site = Site { cpu: args.cpu, peer: args.peer };
    let Some(rings) = &args.rings else {
        let list = if args.faults { tollgate_boundary::FAULT_KINDS } else { tollgate_boundary::PROBES };
        worker::serve(list, site, args.clock.source(), args.parent)?;
        return Ok(ExitCode::SUCCESS);
    };
    let specs: Vec<Spec> = serde_json::from_str(rings)?;
    let rings: Vec<RingProbe> = specs.into_iter().map(RingProbe::new).collect();
    let probes: Vec<&dyn Probe> = rings.iter().map(|ring| ring as &dyn Probe).collect();
    worker::serve(&probes, site, args.clock.source(), args.parent)?;
    Ok(ExitCode::SUCCESS)
}
