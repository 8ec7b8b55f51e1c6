//! Which programs run on which instruction caches.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tollgate_riscv::cache::{Cache, Policy, WritePolicy};
use tollgate_riscv::{Elf, Isa, LoadError, Xlen};

use super::options::{self, PlanError, read};
use crate::icache::{self, Build, Settings};

/// What a command line asks for.
#[derive(Clone, Debug)]
pub struct IcacheRequest<'a> {
    /// A source, or programs that are built already; none for the bundled program.
    pub programs: &'a [PathBuf],
    /// What to build for, or the machine of built programs.
    pub isa: &'a [String],
    /// The level of optimization, after `-O`.
    pub opt: &'a str,
    /// Seed of the random replacement policy.
    pub seed: u64,
    /// The caches and what to count.
    pub settings: Settings,
}

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
    pub fn new(request: &IcacheRequest<'_>) -> Result<Self, PlanError> {
        let mut settings = request.settings.clone();
        if let Policy::Random { seed } = &mut settings.policy {
            *seed = request.seed;
        }
        let policy = settings.policy;
        for &geometry in &settings.caches {
            Cache::new(geometry, policy, WritePolicy::default())
                .map_err(|error| PlanError::value("--policy", policy, error))?;
        }
        Ok(Self { builds: builds(request)?, settings })
    }
}

fn builds(request: &IcacheRequest<'_>) -> Result<Vec<Build>, PlanError> {
    let default = ["rv32im", "rv32imc"];
    let names: Vec<&str> = match request.isa {
        [] => default.to_vec(),
        given => given.iter().map(String::as_str).collect(),
    };
    let isas = names.into_iter().map(|name| Ok((name, options::isa(name)?)));
    let isas = isas.collect::<Result<Vec<(&str, Isa)>, PlanError>>()?;
    let each = |build: &dyn Fn(&str, Isa) -> Result<Build, icache::IcacheError>| {
        isas.iter().map(|(name, isa)| Ok(build(name, *isa)?)).collect()
    };
    match request.programs {
        [] => each(&|name, isa| icache::bundled(name, isa, request.opt)),
        [program] => {
            let bytes = read(program)?;
            let is_source =
                ["c", "S", "s"].iter().any(|known| program.extension() == Some(OsStr::new(known)));
            if is_source && !bytes.starts_with(b"\x7fELF") {
                return each(&|name, isa| icache::compile(program, name, isa, request.opt));
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
    request: &IcacheRequest<'_>,
    isas: &[(&str, Isa)],
) -> Result<Build, PlanError> {
    let isa = match (request.isa, isas) {
        ([], _) => widest(&elf).map_err(|error| {
            let why = match error {
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

    fn image(name: &str) -> PathBuf {
        let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guests/riscv/images");
        images.join(format!("{name}.elf"))
    }

    fn plan(programs: &[PathBuf], isa: &[&str]) -> Result<IcachePlan, PlanError> {
        let isa: Vec<String> = isa.iter().map(|&name| name.to_owned()).collect();
        let settings = Settings::default();
        IcachePlan::new(&IcacheRequest { programs, isa: &isa, opt: "2", seed: 7, settings })
    }

    #[test]
    fn a_built_program_runs_on_the_widest_machine_unless_an_isa_is_given() {
        let program = [image("icache-rv32im-O1")];
        let isa = |isa: &[&str]| plan(&program, isa).unwrap().builds[0].isa;
        assert_eq!(isa(&[]), "rv32gc".parse().unwrap());
        assert_eq!(isa(&["rv32im"]), "rv32im".parse().unwrap());
        let error = plan(&program, &["rv32im", "rv32imc"]).unwrap_err().to_string();
        assert!(error.ends_with("give one --isa"), "{error}");
    }

    #[test]
    fn the_bundled_program_is_compared_with_and_without_the_c_extension() {
        let names: Vec<String> = plan(&[], &[]).unwrap().builds.into_iter().map(|build| build.name).collect();
        assert_eq!(names, ["rv32im", "rv32imc"]);
    }

    #[test]
    fn the_seed_belongs_to_the_random_policy_and_the_policy_must_fit_the_cache() {
        let planned = |policy| {
            let settings = Settings { caches: vec!["8:3:8".parse().unwrap()], policy, ..Settings::default() };
            IcachePlan::new(&IcacheRequest { programs: &[], isa: &[], opt: "2", seed: 7, settings })
        };
        assert_eq!(planned(Policy::Random { seed: 0 }).unwrap().settings.policy, Policy::Random { seed: 7 });
        let error = planned("plru".parse().unwrap()).unwrap_err().to_string();
        assert!(error.starts_with("--policy plru: ") && error.contains("tree-PLRU"), "{error}");
    }
}
