//! `tollgate riscv bill`: what system calls, faults and switches cost in a real kernel, and where.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::plan::{BillPlan, BillRequest};
use tollgate_measure::host;

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
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    session.progress.wait("booting the kernel");
    session.run.results = plan.measure().map_err(Usage::error)?;
    session.run.complete = true;
    session.finish()
}
