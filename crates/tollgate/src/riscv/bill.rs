//! `tollgate riscv bill`: what system calls, faults and switches cost in a real kernel, and where.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::plan::{BillPlan, BillRequest};
use tollgate_measure::host;
use tollgate_supervise::Stop;

use crate::args::{Destination, Usage};
use crate::session::Session;

/// `tollgate riscv bill`.
#[derive(Args)]
#[command(after_help = "Examples:\n  tollgate riscv bill --kernel Image\n  \
                        tollgate riscv bill --kernel Image --call getpid --core rocket\n  \
                        tollgate riscv bill --kernel Image --save image.snap --call all\n  \
                        tollgate riscv bill --from image.snap --call switch-process --core rocket\n  \
                        tollgate riscv bill --kernel xv6/kernel/kernel --drive xv6/fs.img --call all")]
pub(super) struct BillArgs {
    #[command(flatten)]
    request: BillRequest,

    #[command(flatten)]
    destination: Destination,
}

/// Boots the kernel or continues, and bills the crossings.
pub(super) fn run(args: &BillArgs) -> Result<ExitCode> {
    let plan = BillPlan::new(&args.request).map_err(Usage::error)?;
    let stop = Stop::on_signal()?;
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    session.progress.wait("booting the kernel");
    let mut unsaved = None;
    let results = plan.measure(&|| stop.is_set(), &mut |error| unsaved = Some(error));
    session.run.results = results.map_err(Usage::error)?;
    if let Some(error) = unsaved {
        session.fail(error.to_string());
    }
    session.finish_unless(&stop)
}
