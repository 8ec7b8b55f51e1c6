//! `tollgate riscv icache`: instruction caches under a program, in several builds side by side.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::icache::{self, Count, IcacheError, Settings};
use tollgate_lab::plan::{IcachePlan, IcacheRequest};
use tollgate_measure::host;
use tollgate_riscv::cache::{Geometry, Policy};

use crate::args::{Destination, Usage, one_of};
use crate::session::Session;

/// `tollgate riscv icache`.
#[derive(Args)]
#[command(after_help = "Without a program it takes the one that the lab page is about.\n\nExamples:\n  \
                        tollgate riscv icache\n  \
                        tollgate riscv icache --opt-level 1 --icache 4:1:8 --count cycle\n  \
                        tollgate riscv icache program.c --isa rv64im,rv64imc --sweep\n  \
                        tollgate riscv icache one.elf other.elf --icache 64:4:64 --policy plru")]
pub(super) struct IcacheArgs {
    /// A C source, built for each ISA; or bare programs that are built already
    #[arg(value_name = "PROG")]
    programs: Vec<PathBuf>,

    /// What to build the source for [default: rv32im,rv32imc]; for programs that are built, the machine
    #[arg(long, value_name = "ISA", value_delimiter = ',')]
    isa: Vec<String>,

    /// The caches, as sets:ways:bytes of a line
    #[arg(long, value_name = "S:W:L", value_delimiter = ',', default_value = "8:1:8")]
    icache: Vec<Geometry>,

    /// Who has to leave a full set: lru, plru, fifo, random, lfsr or lfsr16
    #[arg(long, value_name = "P", default_value = "lru")]
    policy: Policy,

    /// Seed of the random policy
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// What an access is: one for each instruction as in Spike, or one for each cycle as in Ripes
    #[arg(long, value_parser = one_of(COUNTING), default_value = "fetch")]
    count: Count,

    /// Cycles that a miss costs the pipeline which is timed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    miss_latency: u32,

    /// Show the misses of 1,056 shapes as well
    #[arg(long)]
    sweep: bool,

    /// Optimization of a source: 0, 1, 2, 3 or s
    #[arg(long, value_name = "LEVEL", default_value = "2", value_parser = ["0", "1", "2", "3", "s"])]
    opt_level: String,

    /// Stop a program that has not ended after so many instructions
    #[arg(long, default_value_t = 100_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_instructions: u64,

    #[command(flatten)]
    destination: Destination,
}

const COUNTING: [(&str, Count, &str); 2] = [
    ("fetch", Count::Fetch, "One for each instruction"),
    ("cycle", Count::Cycle, "One for each cycle of a five-stage pipeline"),
];

/// Measures each build.
pub(super) fn run(args: &IcacheArgs) -> Result<ExitCode> {
    let settings = Settings {
        caches: args.icache.clone(),
        policy: args.policy,
        count: args.count,
        sweep: args.sweep,
        miss_latency: args.miss_latency,
        max_instructions: args.max_instructions,
    };
    let (programs, isa, opt) = (&args.programs, &args.isa, &args.opt_level);
    let IcachePlan { builds, settings } =
        IcachePlan::new(&IcacheRequest { programs, isa, opt, seed: args.seed, settings })
            .map_err(Usage::error)?;
    let mut session = Session::open(&args.destination, host::here(), args.seed)?;
    for (done, build) in builds.iter().enumerate() {
        session.progress.show(done as f64 / builds.len() as f64, &build.name);
        let report = icache::run(build, &settings).map_err(|error| match error {
            IcacheError::Trapped { .. } | IcacheError::Waits { .. } => error.into(),
            error => Usage::error(error),
        })?;
        session.run.results.extend(icache::record::measured(&report));
    }
    session.run.complete = true;
    session.finish()
}
