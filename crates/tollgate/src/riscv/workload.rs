//! `tollgate riscv trap --workload`: what traps cost a program with a working set.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::plan::{WorkloadPlan, WorkloadRequest};
use tollgate_lab::{record, workload};
use tollgate_measure::host;
use tollgate_record::number;

use crate::args::{Destination, Usage};
use crate::session::Session;

/// What makes a workload.
#[derive(Args)]
#[command(next_help_heading = "A program with a working set")]
pub(super) struct WorkloadArgs {
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

impl WorkloadArgs {
    /// The plan; `None` if the command line asks for no workload.
    pub(super) fn plan(&self, core: Option<&str>) -> Result<Option<WorkloadPlan>> {
        WorkloadPlan::new(&WorkloadRequest {
            workload: self.workload.as_deref(),
            every: &self.every,
            set: &self.set,
            kernel_touch: &self.kernel_touch,
            traps: self.traps,
            core,
        })
        .map_err(Usage::error)
    }
}

/// Measures every point of the sweep.
pub(super) fn run(plan: &WorkloadPlan, destination: &Destination) -> Result<ExitCode> {
    let points = plan.points();
    let mut session = Session::open(destination, host::here(), 0)?;
    for (done, point) in points.iter().enumerate() {
        let [set, touch] = [point.set, point.touch].map(|bytes| number::bytes(bytes as f64));
        let what = format!("{} of {set}, the kernel reads {touch}", plan.workload.name);
        session.progress(done as f64 / points.len() as f64, what);
        let seen = workload::measure(point, &plan.core)?;
        session.push(record::slowdown(&seen, &plan.core.name));
    }
    session.run.complete = true;
    session.finish()
}
