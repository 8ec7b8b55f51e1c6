//! `tollgate riscv validate`: the timed cores against the RTL of real ones.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::rtl;
use tollgate_measure::host;
use tollgate_supervise::Stop;

use crate::args::{Destination, Usage};
use crate::session::Session;

/// `tollgate riscv validate`.
#[derive(Args)]
#[command(after_help = "Examples:\n  tollgate riscv validate\n  tollgate riscv validate --core rocket")]
pub(super) struct ValidateArgs {
    /// Only this core, with the phases of its traps and each program that differs
    #[arg(long, value_name = "CORE")]
    core: Option<String>,

    #[command(flatten)]
    destination: Destination,
}

/// Runs the programs on the timed cores and compares.
pub(super) fn run(args: &ValidateArgs) -> Result<ExitCode> {
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    let stop = Stop::on_signal()?;
    let results = rtl::validation(args.core.as_deref(), |share, what| {
        session.progress.show(share, what);
        !stop.is_set()
    });
    session.run.results = results.map_err(Usage::error)?;
    session.finish_unless(&stop)
}
