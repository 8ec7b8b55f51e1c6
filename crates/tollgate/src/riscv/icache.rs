//! `tollgate riscv icache`: instruction caches under a program, in several builds side by side.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::icache::{self, Build, Count, IcacheError, Settings};
use tollgate_lab::source::{Language, SourceError};
use tollgate_measure::host;
use tollgate_riscv::cache::{Cache, Geometry, Policy, WritePolicy};
use tollgate_riscv::{Elf, Isa, LoadError, Xlen};
use tollgate_supervise::Stop;

use super::options::{self, read};
use crate::args::{Destination, Usage, one_of};
use crate::session::Session;

const COUNTING: [(&str, Count, &str); 2] = [
    ("fetch", Count::Fetch, "One for each instruction"),
    ("cycle", Count::Cycle, "One for each cycle of a five-stage pipeline"),
];

/// `tollgate riscv icache`.
#[derive(Args)]
#[command(after_help = "Without a program it takes the one that the lab page is about.\n\nExamples:\n  \
                        tollgate riscv icache\n  \
                        tollgate riscv icache --opt-level 1 --icache 4:1:8 --count cycle\n  \
                        tollgate riscv icache program.c --isa rv64im,rv64imc --sweep\n  \
                        tollgate riscv icache one.elf other.elf --icache 64:4:64 --policy plru")]
pub(super) struct IcacheArgs {
    /// A source that ends in .s, .S or .c, or ELF programs: bare, or with --pk static ones for Linux
    #[arg(value_name = "PROG")]
    programs: Vec<PathBuf>,

    /// Instruction sets of the source [default: rv32im,rv32imc]
    ///
    /// For ELF programs it is the instruction set of the machine.
    #[arg(long, value_name = "ISA", value_delimiter = ',')]
    isa: Vec<String>,

    /// Run the programs on this proxy kernel (riscv-pk)
    ///
    /// The fetches of the programs are counted, not those of the kernel.
    #[arg(long, value_name = "PK", requires = "programs")]
    pk: Option<PathBuf>,

    /// An argument of the programs on the proxy kernel; can be repeated
    #[arg(
        long = "arg",
        hide_short_help = true,
        value_name = "ARG",
        requires = "pk",
        allow_hyphen_values = true
    )]
    args: Vec<String>,

    /// The caches, as sets:ways:bytes of a line
    #[arg(long, value_name = "S:W:L", value_delimiter = ',', default_value = "8:1:8")]
    icache: Vec<Geometry>,

    /// Replacement: lru, plru, fifo, random, lfsr or lfsr16
    #[arg(long, value_name = "P", default_value = "lru")]
    policy: Policy,

    /// Seed of the random policy
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// An access for each instruction as in Spike, or for each cycle as in Ripes
    #[arg(long, value_parser = one_of(COUNTING), default_value = "fetch")]
    count: Count,

    /// Cycles that a miss costs
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    miss_latency: u32,

    /// Show the misses of 1,056 shapes as well
    #[arg(long)]
    sweep: bool,

    /// Build the source at eight places in memory
    ///
    /// They are one instruction's alignment apart: the place where a loop begins decides how many lines it needs.
    #[arg(long)]
    alignments: bool,

    /// Optimization of the source
    #[arg(long, value_name = "LEVEL", default_value = "2", value_parser = ["0", "1", "2", "3", "s"])]
    opt_level: String,

    /// Stop a program after N instructions
    #[arg(long, hide_short_help = true, default_value_t = 100_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_instructions: u64,

    #[command(flatten)]
    destination: Destination,
}

/// Measures each build.
pub(super) fn run(args: &IcacheArgs) -> Result<ExitCode> {
    let IcachePlan { builds, settings } = IcachePlan::new(args)?;
    let mut session = Session::open(&args.destination, host::here(), args.seed)?;
    let stop = Stop::on_signal()?;
    for (done, build) in builds.iter().enumerate() {
        if stop.is_set() {
            break;
        }
        session.progress.show(done as f64 / builds.len() as f64, &build.name);
        let report = icache::run(build, &settings).map_err(|error| match error {
            IcacheError::Trapped { .. } | IcacheError::Waits { .. } => error.into(),
            error => Usage::error(error),
        })?;
        session.run.results.extend(icache::record::measured(&report));
    }
    session.finish_unless(&stop)
}

/// Programs and caches.
#[derive(Debug)]
struct IcachePlan {
    /// The programs.
    builds: Vec<Build>,
    /// The caches and what to count.
    settings: Settings,
}

impl IcachePlan {
    /// Plans a args, and compiles what has to be compiled.
    fn new(args: &IcacheArgs) -> Result<Self, Usage> {
        let policy = match args.policy {
            Policy::Random { .. } => Policy::Random { seed: args.seed },
            other => other,
        };
        for &geometry in &args.icache {
            Cache::new(geometry, policy, WritePolicy::default())
                .map_err(|error| Usage::value("--policy", policy, error))?;
        }
        let settings = Settings {
            caches: args.icache.clone(),
            policy,
            count: args.count,
            sweep: args.sweep,
            miss_latency: args.miss_latency,
            max_instructions: args.max_instructions,
            proxy_kernel: args.pk.as_deref().map(read).transpose()?,
            arguments: args.args.clone(),
        };
        Ok(Self { builds: builds(args)?, settings })
    }
}

/// A program at several places.
type Builds = Result<Vec<Build>, IcacheError>;

fn builds(args: &IcacheArgs) -> Result<Vec<Build>, Usage> {
    let default = ["rv32im", "rv32imc"];
    let names: Vec<&str> = match &args.isa[..] {
        [] => default.to_vec(),
        given => given.iter().map(String::as_str).collect(),
    };
    let isas = names.into_iter().map(|name| Ok((name, options::isa(name)?)));
    let isas = isas.collect::<Result<Vec<(&str, Isa)>, Usage>>()?;
    let each = |build: &dyn Fn(&str, Isa) -> Result<Build, IcacheError>| {
        isas.iter().map(|(name, isa)| build(name, *isa).map_err(Usage::new)).collect()
    };
    let places = |build: &dyn Fn(&str, Isa) -> Builds| {
        let builds = isas.iter().map(|(name, isa)| build(name, *isa).map_err(Usage::new));
        Ok(builds.collect::<Result<Vec<_>, Usage>>()?.concat())
    };
    match &args.programs[..] {
        [] if args.alignments => places(&|name, isa| icache::bundled_aligned(name, isa, &args.opt_level)),
        [] => each(&|name, isa| icache::bundled(name, isa, &args.opt_level)),
        [program] if args.pk.is_none() => {
            let bytes = read(program)?;
            match Language::of(program, &bytes) {
                Ok(Language::Elf) | Err(SourceError::Unknown | SourceError::Empty) => {
                    Ok(vec![built(program, bytes, args, &isas)?])
                }
                Ok(_) if args.alignments => {
                    places(&|name, isa| icache::aligned(program, name, isa, &args.opt_level))
                }
                Ok(_) => each(&|name, isa| icache::compile(program, name, isa, &args.opt_level)),
                Err(error) => Err(Usage::new(error)),
            }
        }
        programs => {
            programs.iter().map(|program| built(program, file(program, args)?, args, &isas)).collect()
        }
    }
}

/// The file of one of several programs, or of one on the proxy kernel, which may be a source.
fn file(program: &Path, args: &IcacheArgs) -> Result<Vec<u8>, Usage> {
    let bytes = read(program)?;
    match Language::of(program, &bytes) {
        Ok(Language::Assembly | Language::C) if args.pk.is_some() => {
            Ok(options::executable(program, "rv64gc", Isa::default(), true)?.elf)
        }
        _ => Ok(bytes),
    }
}

/// A program that is built already.
fn built(path: &Path, elf: Vec<u8>, args: &IcacheArgs, isas: &[(&str, Isa)]) -> Result<Build, Usage> {
    if args.alignments {
        let why = "a program that is built already has its place; --alignments takes a source";
        return Err(Usage::file(path, why));
    }
    let isa = match (&args.isa[..], isas) {
        ([], _) => widest(&elf).map_err(|error| {
            let why = match error {
                LoadError::NotElf if args.pk.is_some() => {
                    format!("{error}; with --pk give a source (.c, .s, .S) or a static program for Linux")
                }
                LoadError::NotElf if args.programs.len() > 1 => {
                    format!("{error}; several programs must be built already, a source comes alone")
                }
                LoadError::NotElf => format!("{error}, and not a source (.c, .s, .S) either"),
                error => error.to_string(),
            };
            Usage::file(path, why)
        })?,
        ([_], [(_, isa)]) => *isa,
        _ => {
            let why = "programs that are built already run on one machine: give one --isa";
            return Err(Usage::new(why));
        }
    };
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(Build { name, isa, object_text: None, elf })
}

/// The general-purpose ISA of a program's width.
fn widest(elf: &[u8]) -> Result<Isa, LoadError> {
    let name = match Elf::parse(elf)?.xlen {
        Xlen::Rv32 => "rv32gc",
        Xlen::Rv64 => "rv64gc",
    };
    // Both names are valid; the default is RV64GC.
    Ok(name.parse().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::riscv::options::parsed;

    fn image(name: &str) -> PathBuf {
        let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guests/riscv/images");
        images.join(format!("{name}.elf"))
    }

    fn plan(words: &[&str]) -> Result<IcachePlan, Usage> {
        IcachePlan::new(&parsed(words))
    }

    #[test]
    fn a_built_program_runs_on_the_widest_machine_unless_an_isa_is_given() {
        let program = image("icache-rv32im-O1");
        let program = program.to_str().unwrap();
        let isa = |words: &[&str]| plan(words).unwrap().builds[0].isa;
        assert_eq!(isa(&[program]), "rv32gc".parse().unwrap());
        assert_eq!(isa(&[program, "--isa", "rv32im"]), "rv32im".parse().unwrap());
        let error = plan(&[program, "--isa", "rv32im,rv32imc"]).unwrap_err().to_string();
        assert!(error.ends_with("give one --isa"), "{error}");
        let error = plan(&[program, "--alignments"]).unwrap_err().to_string();
        assert!(error.ends_with("--alignments takes a source"), "{error}");
    }

    #[test]
    fn the_bundled_program_is_compared_with_and_without_the_c_extension() {
        let names: Vec<String> = plan(&[]).unwrap().builds.into_iter().map(|build| build.name).collect();
        assert_eq!(names, ["rv32im", "rv32imc"]);
    }

    #[test]
    fn the_seed_belongs_to_the_random_policy_and_the_policy_must_fit_the_cache() {
        let planned = |policy| plan(&["--icache", "8:3:8", "--seed", "7", "--policy", policy]);
        assert_eq!(planned("random").unwrap().settings.policy, Policy::Random { seed: 7 });
        let error = planned("plru").unwrap_err().to_string();
        assert!(error.starts_with("--policy plru: ") && error.contains("tree-PLRU"), "{error}");
    }
}
