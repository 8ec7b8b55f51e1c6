//! Which programs run on which instruction caches.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tollgate_riscv::cache::{Cache, Geometry, Policy, WritePolicy};
use tollgate_riscv::{Elf, Isa, LoadError, Xlen};

use super::options::{self, PlanError, one_of, read};
use crate::icache::{self, Build, Count, Settings};

/// Programs and instruction caches.
#[derive(clap::Args, Clone, Debug)]
pub struct IcacheRequest {
    /// A C source, built for each ISA; or programs that are built already: bare ones, or with --pk static ones for Linux
    #[arg(value_name = "PROG")]
    pub programs: Vec<PathBuf>,

    /// What to build the source for [default: rv32im,rv32imc]; for programs that are built, the machine
    #[arg(long, value_name = "ISA", value_delimiter = ',')]
    pub isa: Vec<String>,

    /// Run the programs, static ones for Linux, on this proxy kernel (riscv-pk); the fetches of the programs are counted, not
    /// those of the kernel
    #[arg(long, value_name = "PK", requires = "programs")]
    pub pk: Option<PathBuf>,

    /// An argument of the programs on the proxy kernel; may be given more than once
    #[arg(long = "arg", value_name = "ARG", requires = "pk", allow_hyphen_values = true)]
    pub args: Vec<String>,

    /// The caches, as sets:ways:bytes of a line
    #[arg(long, value_name = "S:W:L", value_delimiter = ',', default_value = "8:1:8")]
    pub icache: Vec<Geometry>,

    /// Who has to leave a full set: lru, plru, fifo, random, lfsr or lfsr16
    #[arg(long, value_name = "P", default_value = "lru")]
    pub policy: Policy,

    /// Seed of the random policy
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// What an access is: one for each instruction as in Spike, or one for each cycle as in Ripes
    #[arg(long, value_parser = one_of(COUNTING), default_value = "fetch")]
    pub count: Count,

    /// Cycles that a miss costs the pipeline which is timed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub miss_latency: u32,

    /// Show the misses of 1,056 shapes as well
    #[arg(long)]
    pub sweep: bool,

    /// Build a source at eight places in memory, one instruction's alignment apart: where a loop begins decides which lines it
    /// needs
    #[arg(long)]
    pub alignments: bool,

    /// Optimization of a source: 0, 1, 2, 3 or s
    #[arg(long, value_name = "LEVEL", default_value = "2", value_parser = ["0", "1", "2", "3", "s"])]
    pub opt_level: String,

    /// Stop a program that has not ended after so many instructions
    #[arg(long, default_value_t = 100_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_instructions: u64,
}

const COUNTING: [(&str, Count, &str); 2] = [
    ("fetch", Count::Fetch, "One for each instruction"),
    ("cycle", Count::Cycle, "One for each cycle of a five-stage pipeline"),
];

/// Programs and caches.
#[derive(Debug)]
pub struct IcachePlan {
    /// The programs.
    pub builds: Vec<Build>,
    /// The caches and what to count.
    pub settings: Settings,
}

impl IcachePlan {
    /// Plans a request, and compiles what has to be compiled.
    pub fn new(request: &IcacheRequest) -> Result<Self, PlanError> {
        let policy = match request.policy {
            Policy::Random { .. } => Policy::Random { seed: request.seed },
            other => other,
        };
        for &geometry in &request.icache {
            Cache::new(geometry, policy, WritePolicy::default())
                .map_err(|error| PlanError::value("--policy", policy, error))?;
        }
        let settings = Settings {
            caches: request.icache.clone(),
            policy,
            count: request.count,
            sweep: request.sweep,
            miss_latency: request.miss_latency,
            max_instructions: request.max_instructions,
            proxy_kernel: request.pk.as_deref().map(read).transpose()?,
            arguments: request.args.clone(),
        };
        Ok(Self { builds: builds(request)?, settings })
    }
}

/// A program at several places.
type Builds = Result<Vec<Build>, icache::IcacheError>;

fn builds(request: &IcacheRequest) -> Result<Vec<Build>, PlanError> {
    let default = ["rv32im", "rv32imc"];
    let names: Vec<&str> = match &request.isa[..] {
        [] => default.to_vec(),
        given => given.iter().map(String::as_str).collect(),
    };
    let isas = names.into_iter().map(|name| Ok((name, options::isa(name)?)));
    let isas = isas.collect::<Result<Vec<(&str, Isa)>, PlanError>>()?;
    let each = |build: &dyn Fn(&str, Isa) -> Result<Build, icache::IcacheError>| {
        isas.iter().map(|(name, isa)| Ok(build(name, *isa)?)).collect()
    };
    let places = |build: &dyn Fn(&str, Isa) -> Builds| {
        let builds = isas.iter().map(|(name, isa)| Ok(build(name, *isa)?));
        Ok(builds.collect::<Result<Vec<_>, PlanError>>()?.concat())
    };
    match &request.programs[..] {
        [] if request.alignments => {
            places(&|name, isa| icache::bundled_aligned(name, isa, &request.opt_level))
        }
        [] => each(&|name, isa| icache::bundled(name, isa, &request.opt_level)),
        [program] if request.pk.is_none() => {
            let bytes = read(program)?;
            let is_source =
                ["c", "S", "s"].iter().any(|known| program.extension() == Some(OsStr::new(known)));
            let is_source = is_source && !bytes.starts_with(b"\x7fELF");
            if is_source && request.alignments {
                return places(&|name, isa| icache::aligned(program, name, isa, &request.opt_level));
            }
            if is_source {
                return each(&|name, isa| icache::compile(program, name, isa, &request.opt_level));
            }
            Ok(vec![built(program, bytes, request, &isas)?])
        }
        programs => programs.iter().map(|program| built(program, read(program)?, request, &isas)).collect(),
    }
}

/// A program that is built already.
fn built(
    path: &Path,
    elf: Vec<u8>,
    request: &IcacheRequest,
    isas: &[(&str, Isa)],
) -> Result<Build, PlanError> {
    if request.alignments {
        let why = "a program that is built already has its place; --alignments takes a source";
        return Err(PlanError::file(path, why));
    }
    let isa = match (&request.isa[..], isas) {
        ([], _) => widest(&elf).map_err(|error| {
            let why = match error {
                LoadError::NotElf if request.pk.is_some() => {
                    format!("{error}; with --pk give a static program for Linux that is built already")
                }
                LoadError::NotElf if request.programs.len() > 1 => {
                    format!("{error}; several programs must be built already, a source comes alone")
                }
                LoadError::NotElf => format!("{error}, and no C source (.c, .s, .S) either"),
                error => error.to_string(),
            };
            PlanError::file(path, why)
        })?,
        ([_], [(_, isa)]) => *isa,
        _ => {
            let why = "programs that are built already run on one machine: give one --isa";
            return Err(PlanError::conflict(why));
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
    use crate::plan::options::parsed;

    fn image(name: &str) -> PathBuf {
        let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guests/riscv/images");
        images.join(format!("{name}.elf"))
    }

    fn plan(words: &[&str]) -> Result<IcachePlan, PlanError> {
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
