//! `tollgate riscv icache`: instruction caches under a program, in several builds side by side.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::icache::{self, IcacheError};
use tollgate_lab::plan::{IcachePlan, IcacheRequest};
use tollgate_measure::host;
use tollgate_supervise::Stop;

use crate::args::{Destination, Usage};
use crate::session::Session;

/// `tollgate riscv icache`.
#[derive(Args)]
#[command(after_help = "Without a program it takes the one that the lab page is about.\n\nExamples:\n  \
                        tollgate riscv icache\n  \
                        tollgate riscv icache --opt-level 1 --icache 4:1:8 --count cycle\n  \
                        tollgate riscv icache program.c --isa rv64im,rv64imc --sweep\n  \
                        tollgate riscv icache one.elf other.elf --icache 64:4:64 --policy plru")]
pub(super) struct IcacheArgs {
    #[command(flatten)]
    request: IcacheRequest,

    #[command(flatten)]
    destination: Destination,
}

/// Measures each build.
pub(super) fn run(args: &IcacheArgs) -> Result<ExitCode> {
    let IcachePlan { builds, settings } = IcachePlan::new(&args.request).map_err(Usage::error)?;
    let mut session = Session::open(&args.destination, host::here(), args.request.seed)?;
    let stop = Stop::on_signal()?;
    for (done, build) in builds.iter().enumerate() {
        if stop.is_set() {
            break;
        }
        session.progress.show(done as f64 / builds.len() as f64, &build.name);
        let report = icache::run(build, &settings).map_err(|error| match error {
            IcacheError::Trapped { .. } | IcacheError::Waits { .. } => error.into(),
            error => Usage::error(error),
        })?;
        session.run.results.extend(icache::record::measured(&report));
    }
    session.finish_unless(&stop)
}
