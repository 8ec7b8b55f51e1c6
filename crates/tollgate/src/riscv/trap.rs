//! `tollgate riscv trap`: the bill of a trap, and with `--workload` what traps cost a program with a working set.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::plan::{TrapPlan, TrapRequest, WorkloadPlan, WorkloadRequest};
use tollgate_lab::{DESIGNS, record, workload};
use tollgate_measure::host;
use tollgate_record::number;

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
    workload: WorkloadArgs,

    #[command(flatten)]
    destination: Destination,
}

/// What makes a workload.
#[derive(Args)]
#[command(next_help_heading = "A program with a working set")]
struct WorkloadArgs {
    /// Trap again and again into a program: chase, walk or compute, or a C source with a function
    /// 'void work(char *set, unsigned long bytes)', which is called again and again
    #[arg(long, value_name = "PROG", conflicts_with_all = ["kernel", "calls", "iterations", "engine"])]
    workload: Option<String>,

    /// Instructions of the program from one trap to the next, as 1000,10000 [default: 10000]
    #[arg(long, value_name = "K", value_delimiter = ',')]
    every: Vec<u64>,

    /// The program's working set in KiB [default: 4,16,64]
    #[arg(long, value_name = "KIB", value_delimiter = ',')]
    set: Vec<u64>,

    /// What the kernel reads in each trap, in KiB [default: 0,4,16,64,256]
    #[arg(long, value_name = "KIB", value_delimiter = ',')]
    kernel_touch: Vec<u64>,

    /// Traps to measure at each point [default: what takes a moment]
    #[arg(long, value_name = "N")]
    traps: Option<u64>,
}

/// Measures what the command line asks for.
pub(super) fn run(args: &TrapArgs) -> Result<ExitCode> {
    if args.kernel == "list" {
        let list: String = DESIGNS.iter().map(|it| format!("{:<15}{}\n", it.name, it.about)).collect();
        return Sink::open(&args.destination.output)?.deliver(&list);
    }
    let workload = WorkloadPlan::new(&WorkloadRequest {
        workload: args.workload.workload.as_deref(),
        every: &args.workload.every,
        set: &args.workload.set,
        kernel_touch: &args.workload.kernel_touch,
        traps: args.workload.traps,
        core: args.core.as_deref(),
    });
    if let Some(plan) = workload.map_err(Usage::error)? {
        return sweep(&plan, &args.destination);
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
    let results = plan.measure(|share, design| session.progress.show(share, design));
    if let Some(why) = plan.failure(&results) {
        session.fail(why);
    }
    session.run.results = results;
    session.run.complete = true;
    session.finish()
}

/// Measures every point of the sweep.
fn sweep(plan: &WorkloadPlan, destination: &Destination) -> Result<ExitCode> {
    let points = plan.points();
    let mut session = Session::open(destination, host::here(), 0)?;
    for (done, point) in points.iter().enumerate() {
        let [set, touch] = [point.set, point.touch].map(|bytes| number::bytes(bytes as f64));
        let what = format!("{} of {set}, the kernel reads {touch}", plan.workload.name);
        session.progress.show(done as f64 / points.len() as f64, what);
        let seen = workload::measure(point, &plan.core)?;
        session.push(record::slowdown(&seen, &plan.core.name));
    }
    session.run.complete = true;
    session.finish()
}
