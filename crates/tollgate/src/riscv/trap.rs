//! `tollgate riscv trap`: the bill of a trap.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::DESIGNS;
use tollgate_lab::plan::{TrapPlan, TrapRequest};
use tollgate_measure::host;

use crate::args::{Destination, Usage};
use crate::output::Sink;
use crate::session::Session;

/// `tollgate riscv trap`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tollgate riscv trap\n  tollgate riscv trap --core cva6-like\n  tollgate riscv trap \
                  --kernel all --core rocket-like\n  tollgate riscv trap --workload chase --every 10000 \
                  --kernel-touch 0,16,64 --core cva6-like"
)]
pub(super) struct TrapArgs {
    /// How the kernel takes the trap; `all` compares every design, `list` names them
    #[arg(long, default_value = "full", value_name = "K")]
    kernel: String,

    /// Calls to measure, by name or number, as getpid,64
    #[arg(long, value_name = "CALLS", value_delimiter = ',')]
    calls: Option<Vec<String>>,

    /// Crossings in the loop, after the single one
    #[arg(long, default_value_t = 1000, value_name = "N")]
    iterations: u64,

    /// What counts: embedded, spike, qemu, or all of them side by side
    #[arg(long, default_value = "embedded", value_name = "E")]
    engine: String,

    /// Count cycles on this core: a preset, or a file that ends in .toml
    #[arg(long, value_name = "CORE")]
    core: Option<String>,

    #[command(flatten)]
    workload: super::workload::WorkloadArgs,

    #[command(flatten)]
    destination: Destination,
}

/// Measures what the command line asks for.
pub(super) fn run(args: &TrapArgs) -> Result<ExitCode> {
    if args.kernel == "list" {
        let list: String = DESIGNS.iter().map(|it| format!("{:<15}{}\n", it.name, it.about)).collect();
        return Sink::open(&args.destination.output)?.deliver(&list);
    }
    if let Some(plan) = args.workload.plan(args.core.as_deref())? {
        return super::workload::run(&plan, &args.destination);
    }
    let plan = TrapPlan::new(&TrapRequest {
        kernel: &args.kernel,
        calls: args.calls.as_deref(),
        iterations: args.iterations,
        engine: &args.engine,
        core: args.core.as_deref(),
    })
    .map_err(Usage::error)?;
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    let results = plan.measure(|share, design| session.progress(share, design));
    if let Some(why) = plan.failure(&results) {
        session.fail(why);
    }
    session.run.results = results;
    session.run.complete = true;
    session.finish()
}
