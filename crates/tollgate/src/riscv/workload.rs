//! `tollgate riscv trap --workload`: what traps cost a program with a working set.

use std::borrow::Cow;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::record;
use tollgate_lab::workload::{self, LINE, MOST_BYTES, Point, WORKLOADS, Workload};
use tollgate_record::number;
use tollgate_record::text;

use super::session::open;
use crate::args::{Destination, Usage};

/// The default core: one with caches and translation buffers.
const CORE: &str = "cva6-like";

/// What makes a workload.
#[derive(Args)]
#[command(next_help_heading = "A program with a working set")]
pub(super) struct WorkloadArgs {
    /// Trap again and again into a program: chase, walk or compute, or a C source with a function
    /// 'void work(char *set, unsigned long bytes)', which is called again and again
    #[arg(long, value_name = "PROG", conflicts_with_all = ["kernel", "calls", "iterations", "engine"])]
    pub(super) workload: Option<String>,

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
    /// Refuses what means something with a workload only.
    pub(super) fn refuse_alone(&self) -> Result<()> {
        let alone = [
            ("--every", !self.every.is_empty()),
            ("--set", !self.set.is_empty()),
            ("--kernel-touch", !self.kernel_touch.is_empty()),
            ("--traps", self.traps.is_some()),
        ];
        match alone.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => {
                Err(Usage::error(format!("{option} belongs to a workload: add --workload chase")))
            }
            None => Ok(()),
        }
    }
}

/// Measures every point of the sweep.
pub(super) fn run(args: &WorkloadArgs, core: Option<&str>, destination: &Destination) -> Result<ExitCode> {
    let core = super::core::read(core.unwrap_or(CORE))?;
    let workload = workload(args.workload.as_deref().unwrap_or_default())?;
    let points = points(args, &workload)?;
    let mut session = open(destination)?;
    for (done, point) in points.iter().enumerate() {
        let of = |bytes: u64| number::bytes(bytes as f64);
        let what = format!("{} of {}, the kernel reads {}", workload.name, of(point.set), of(point.touch));
        session.progress(done as f64 / points.len() as f64, what);
        let seen = workload::measure(point, &core)?;
        session.push(record::slowdown(&seen, &core.name));
    }
    session.run.complete = true;
    session.finish()
}

/// A bundled workload, or one that is built from a source.
fn workload(name: &str) -> Result<Cow<'static, Workload>> {
    if Path::new(name).extension().is_some_and(|it| it == "c") {
        let own = Workload::own(Path::new(name));
        return own.map(Cow::Owned).map_err(|error| Usage::error(format!("--workload {name}: {error}")));
    }
    Workload::find(name).map(Cow::Borrowed).ok_or_else(|| {
        let names: Vec<&str> = WORKLOADS.iter().map(|w| &*w.name).collect();
        let nearest = text::suggestion(text::nearest(name, names.iter().copied()));
        Usage::error(format!(
            "--workload {name}: no such program{nearest} (there are {}; a source ends in .c)",
            names.join(", ")
        ))
    })
}

fn points<'w>(args: &WorkloadArgs, workload: &'w Workload) -> Result<Vec<Point<'w>>> {
    const MOST_EVERY: u64 = 100_000_000;
    const MOST_TRAPS: u64 = 100_000;
    let kib = MOST_BYTES / 1024;
    let or = |given: &[u64], usual: &[u64]| if given.is_empty() { usual.to_vec() } else { given.to_vec() };
    let mut points = Vec::new();
    for every in or(&args.every, &[10_000]) {
        if !(10..=MOST_EVERY).contains(&every) {
            return Err(Usage::error(format!("--every {every}: give a number from 10 to {MOST_EVERY}")));
        }
        for set in or(&args.set, &[4, 16, 64]) {
            if !(1..=kib).contains(&set) {
                return Err(Usage::error(format!("--set {set}: give KiB from 1 to {kib}")));
            }
            for touch in or(&args.kernel_touch, &[0, 4, 16, 64, 256]) {
                if touch > kib {
                    return Err(Usage::error(format!("--kernel-touch {touch}: give KiB from 0 to {kib}")));
                }
                let traps = args.traps.unwrap_or_else(|| (1_000_000 / every).clamp(4, 50));
                if !(1..=MOST_TRAPS).contains(&traps) {
                    return Err(Usage::error(format!(
                        "--traps {traps}: give a number from 1 to {MOST_TRAPS}"
                    )));
                }
                let (set, touch) = (set * 1024 / LINE * LINE, touch * 1024);
                points.push(Point { workload, set, every, touch, traps });
            }
        }
    }
    Ok(points)
}
