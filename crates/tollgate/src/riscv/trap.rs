//! `tollgate riscv trap`: the bill of a trap, and with `--workload` what traps cost a program with a working set.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::plan::{TrapPlan, TrapRequest, WorkloadPlan};
use tollgate_lab::{DESIGNS, record, workload};
use tollgate_measure::host;
use tollgate_record::number;
use tollgate_supervise::Stop;

use crate::args::{Destination, Usage};
use crate::output::Sink;
use crate::session::Session;

/// `tollgate riscv trap`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tollgate riscv trap\n  tollgate riscv trap --core cva6\n  tollgate riscv trap \
                  --kernel all --core rocket\n  tollgate riscv trap --workload chase --every 10000 \
                  --kernel-touch 0,16,64 --core cva6"
)]
pub(super) struct TrapArgs {
    #[command(flatten)]
    request: TrapRequest,

    #[command(flatten)]
    destination: Destination,
}

/// Measures what the command line asks for.
pub(super) fn run(args: &TrapArgs) -> Result<ExitCode> {
    if args.request.kernel == "list" {
        let list: String = DESIGNS.iter().map(|it| format!("{:<15}{}\n", it.name, it.about)).collect();
        return Sink::open(&args.destination.output)?.deliver(&list);
    }
    let workload = WorkloadPlan::new(&args.request);
    if let Some(plan) = workload.map_err(Usage::error)? {
        return sweep(&plan, &args.destination);
    }
    let plan = TrapPlan::new(&args.request).map_err(Usage::error)?;
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    let stop = Stop::on_signal()?;
    let results = plan.measure(|share, design| {
        session.progress.show(share, design);
        !stop.is_set()
    });
    if let Some(why) = plan.failure(&results) {
        session.fail(why);
    }
    session.run.results = results;
    session.finish_unless(&stop)
}

/// Measures every point of the sweep.
fn sweep(plan: &WorkloadPlan, destination: &Destination) -> Result<ExitCode> {
    let points = plan.points();
    let mut session = Session::open(destination, host::here(), 0)?;
    let stop = Stop::on_signal()?;
    for (done, point) in points.iter().enumerate() {
        if stop.is_set() {
            break;
        }
        let [set, touch] = [point.set, point.touch].map(|bytes| number::bytes(bytes as f64));
        let what = format!("{} of {set}, the kernel reads {touch}", plan.workload.name);
        session.progress.show(done as f64 / points.len() as f64, what);
        let seen = workload::measure(point, &plan.core)?;
        session.push(record::slowdown(&seen, &plan.core.name));
    }
    session.finish_unless(&stop)
}
