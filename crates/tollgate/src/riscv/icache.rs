//! `tollgate riscv icache`: instruction caches under a program, in several builds side by side.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use tollgate_lab::icache::{self, BUNDLED, Build, Count, IcacheError, Plan, SOURCE};
use tollgate_measure::host;
use tollgate_riscv::cache::{Cache, Geometry, Policy, WritePolicy};
use tollgate_riscv::{Elf, Isa, LoadError, Xlen};

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
    /// A C source, built for each ISA; or bare programs that are built already
    #[arg(value_name = "PROG")]
    programs: Vec<PathBuf>,

    /// What to build the source for [default: rv32im,rv32imc]; for programs that are built, the machine
    #[arg(long, value_name = "ISA", value_delimiter = ',')]
    isa: Vec<String>,

    /// The caches, as sets:ways:bytes of a line
    #[arg(long, value_name = "S:W:L", value_delimiter = ',', default_value = "8:1:8")]
    icache: Vec<Geometry>,

    /// Who has to leave a full set: lru, plru, fifo or random
    #[arg(long, value_name = "P", default_value = "lru")]
    policy: Policy,

    /// Seed of the random policy
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// What an access is: one for each instruction as in Spike, or one for each cycle as in Ripes
    #[arg(long, value_enum, default_value_t = Counting::Fetch)]
    count: Counting,

    /// Cycles that a miss costs the pipeline which is timed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    miss_latency: u32,

    /// Show the misses of 1,056 shapes as well
    #[arg(long)]
    sweep: bool,

    /// Optimisation of a source: 0, 1, 2, 3 or s
    #[arg(long, value_name = "LEVEL", default_value = "2", value_parser = ["0", "1", "2", "3", "s"])]
    opt_level: String,

    /// Stop a program that has not ended after so many instructions
    #[arg(long, default_value_t = 100_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_instructions: u64,

    #[command(flatten)]
    destination: Destination,
}

#[derive(Clone, Copy, ValueEnum)]
enum Counting {
    /// One for each instruction
    Fetch,
    /// One for each cycle of a five-stage pipeline
    Cycle,
}

/// Measures each build.
pub(super) fn run(args: &IcacheArgs) -> Result<ExitCode> {
    let plan = plan(args)?;
    let mut session = Session::open(&args.destination, host::here(), args.seed)?;
    let builds = builds(args)?;
    for (done, build) in builds.iter().enumerate() {
        session.progress(done as f64 / builds.len() as f64, &build.name);
        let report = icache::run(build, &plan).map_err(|error| match error {
            IcacheError::Trapped { .. } | IcacheError::Waits { .. } => error.into(),
            error => Usage::error(error),
        })?;
        session.run.results.extend(icache::record::measured(&report));
    }
    session.run.complete = true;
    session.finish()
}

fn plan(args: &IcacheArgs) -> Result<Plan> {
    let policy = match args.policy {
        Policy::Random { .. } => Policy::Random { seed: args.seed },
        other => other,
    };
    for &geometry in &args.icache {
        Cache::new(geometry, policy, WritePolicy::default())
            .map_err(|error| Usage::error(format!("--policy {policy}: {error}")))?;
    }
    Ok(Plan {
        caches: args.icache.clone(),
        policy,
        count: match args.count {
            Counting::Fetch => Count::Fetch,
            Counting::Cycle => Count::Cycle,
        },
        sweep: args.sweep,
        miss_latency: args.miss_latency,
        max_instructions: args.max_instructions,
    })
}

fn builds(args: &IcacheArgs) -> Result<Vec<Build>> {
    let isas: Vec<(String, Isa)> = if args.isa.is_empty() {
        ["rv32im", "rv32imc"].iter().map(|isa| parsed(isa)).collect::<Result<_>>()?
    } else {
        args.isa.iter().map(|isa| parsed(isa)).collect::<Result<_>>()?
    };
    let [program] = &args.programs[..] else {
        return match &args.programs[..] {
            [] => bundled(&isas, &args.opt_level),
            programs => programs.iter().map(|program| built(program, read(program)?, args, &isas)).collect(),
        };
    };
    let bytes = read(program)?;
    let source = ["c", "S", "s"].iter().any(|known| program.extension() == Some(OsStr::new(known)));
    if source && !bytes.starts_with(b"\x7fELF") {
        return compiled(program, &isas, &args.opt_level);
    }
    Ok(vec![built(program, bytes, args, &isas)?])
}

fn parsed(isa: &str) -> Result<(String, Isa)> {
    Ok((isa.to_owned(), isa.parse().map_err(|error| Usage::error(format!("--isa: {error}")))?))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| Usage::error(format!("{}: {error}", path.display())))
}

/// The program of the tree; for what it was not built for, its source.
fn bundled(isas: &[(String, Isa)], opt: &str) -> Result<Vec<Build>> {
    let known = |isa: &str| BUNDLED.iter().find(|bundled| bundled.isa == isa && bundled.opt == opt);
    let mut folder = None;
    isas.iter()
        .map(|(isa, parsed)| match known(isa) {
            Some(bundled) => Ok(bundled.build()),
            None => {
                let folder = match &folder {
                    Some(folder) => folder,
                    None => folder.insert(tempfile::tempdir().context("no temporary folder can be made")?),
                };
                let source = folder.path().join("icache.c");
                fs::write(&source, SOURCE).context("the source cannot be written to a temporary folder")?;
                compile(&source, isa, *parsed, opt)
            }
        })
        .collect()
}

fn compiled(source: &Path, isas: &[(String, Isa)], opt: &str) -> Result<Vec<Build>> {
    isas.iter().map(|(isa, parsed)| compile(source, isa, *parsed, opt)).collect()
}

fn compile(source: &Path, isa: &str, parsed: Isa, opt: &str) -> Result<Build> {
    icache::compile(source, isa, parsed, opt).map_err(Usage::error)
}

/// A program that is built already.
fn built(path: &Path, elf: Vec<u8>, args: &IcacheArgs, isas: &[(String, Isa)]) -> Result<Build> {
    let name = path.display().to_string();
    let short = path.file_name().map_or_else(|| name.clone(), |file| file.to_string_lossy().into_owned());
    let isa = match (&args.isa[..], isas) {
        ([], _) => {
            let program = Elf::parse(&elf).map_err(|error| match error {
                LoadError::NotElf if args.programs.len() > 1 => Usage::error(format!(
                    "{name}: {error}; several programs must be built already, a source comes alone"
                )),
                LoadError::NotElf => {
                    Usage::error(format!("{name}: {error}, and no C source (.c, .s, .S) either"))
                }
                error => Usage::error(format!("{name}: {error}")),
            })?;
            match program.xlen {
                Xlen::Rv32 => "rv32gc",
                Xlen::Rv64 => "rv64gc",
            }
            .parse()?
        }
        ([_], [(_, isa)]) => *isa,
        _ => return Err(Usage::error("programs that are built already run on one machine: give one --isa")),
    };
    Ok(Build { name: short, isa, object_text: None, elf })
}
