//! How a program is run on the embedded machine.

use std::path::{Path, PathBuf};

use tollgate_record::family::ProgramAsked;
use tollgate_riscv::{ConfigError, Extension, LoadError};

use super::options::{PlanError, check_budget, core, isa, one_of, read};
use crate::program::{GuestTime, Job, ProgramError, Watch};
use crate::tier::Tier;
use crate::trace::Trace;

/// A program and its machine.
#[derive(clap::Args, Clone, Debug)]
pub struct ProgramRequest {
    /// The program
    pub elf: PathBuf,

    /// Its arguments, on the proxy kernel; behind `--` those that begin with a dash
    pub args: Vec<String>,

    /// The machine's instructions
    #[arg(long, default_value = "rv64gc", value_name = "ISA")]
    pub isa: String,

    /// Do misaligned loads and stores instead of trapping, as 'zicclsm' in --isa says, too
    #[arg(long)]
    pub misaligned: bool,

    /// Memory map and devices: spike or virt
    #[arg(long, default_value = "spike", value_name = "MACHINE")]
    pub machine: String,

    /// RAM in MiB
    #[arg(long, default_value_t = 128, value_name = "MIB")]
    pub memory: u64,

    /// The kernel's command line in the device tree
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TEXT")]
    pub bootargs: String,

    /// Run the program on this proxy kernel (riscv-pk)
    #[arg(long, value_name = "PK")]
    pub pk: Option<PathBuf>,

    /// A file that the program may read, by this path; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub allow: Vec<PathBuf>,

    /// Stop a program that has not ended after so many instructions
    #[arg(long, default_value_t = 10_000_000_000, value_name = "N")]
    pub max_instructions: u64,

    /// What the program's mcycle counts on a core
    #[arg(long, value_parser = one_of(GuestTime::NAMES), value_name = "TIME")]
    pub guest_time: Option<GuestTime>,

    /// How instructions are executed when nothing is watched; what the program does is the same
    #[arg(long, value_parser = one_of(Tier::NAMES), default_value = "auto", value_name = "TIER")]
    pub tier: Tier,
}

/// A program with everything that it needs.
#[derive(Debug)]
pub struct ProgramPlan<'a> {
    /// What to run.
    pub job: Job,
    request: &'a ProgramRequest,
}

impl ProgramRequest {
    /// What to watch: on a core its ledger, whose `mcycle` counts instructions unless `--guest-time` says otherwise.
    ///
    /// # Errors
    /// An unknown or invalid core, or a time without a core.
    pub fn watch(&self, trace: Option<Trace>, profile: bool, on: Option<&str>) -> Result<Watch, PlanError> {
        let time = self.guest_time;
        match (trace, on, profile) {
            (None, Some(name), _) => {
                Ok(Watch::Ledger(Box::new(core(name)?), time.unwrap_or(GuestTime::Functional)))
            }
            _ if time.is_some() => {
                Err(PlanError::option("--guest-time", "there is no core; add --core CORE"))
            }
            (Some(trace), ..) => Ok(Watch::Trace(trace)),
            (None, None, true) => Ok(Watch::Profile),
            (None, None, false) => Ok(Watch::Nothing),
        }
    }
}

impl<'a> ProgramPlan<'a> {
    /// Plans a request.
    pub fn new(request: &'a ProgramRequest) -> Result<Self, PlanError> {
        check_budget(request.max_instructions)?;
        if request.pk.is_none() && !request.args.is_empty() {
            let why = "a bare program takes no arguments; add --pk PK to run it on a proxy kernel, which passes them";
            return Err(PlanError::conflict(why));
        }
        let allowed = request.allow.iter().map(|path| Ok((path.to_string_lossy().into_owned(), read(path)?)));
        let files = allowed.collect::<Result<_, PlanError>>()?;
        let name = request.elf.to_string_lossy().into_owned();
        let job = Job {
            isa: match isa(&request.isa)? {
                isa if request.misaligned => isa.with(Extension::Zicclsm),
                isa => isa,
            },
            machine: request.machine.parse().map_err(|error| PlanError::option("--machine", error))?,
            ram_bytes: request.memory.saturating_mul(1 << 20),
            bootargs: request.bootargs.clone(),
            program: read(&request.elf)?,
            proxy_kernel: request.pk.as_deref().map(read).transpose()?,
            arguments: std::iter::once(name).chain(request.args.iter().cloned()).collect(),
            files,
            max_instructions: request.max_instructions,
            tier: request.tier,
        };
        Ok(Self { job, request })
    }

    /// What the record says of the request; `top` is how many functions are shown.
    pub fn asked(&self, top: Option<u64>) -> ProgramAsked {
        let name = self.request.elf.file_name().unwrap_or_default();
        ProgramAsked {
            program: name.to_string_lossy().into_owned(),
            isa: self.request.isa.clone(),
            machine: self.request.machine.clone(),
            core: None,
            top,
        }
    }

    /// The option or file that caused an error of the run, and what to do.
    pub fn explain(&self, error: &ProgramError) -> PlanError {
        let elf = &self.request.elf;
        match error {
            ProgramError::Machine(ConfigError::RamSize(_)) | ProgramError::NoMemory(_) => {
                PlanError::value("--memory", self.request.memory, error)
            }
            ProgramError::Machine(ConfigError::DeviceTree(..)) => PlanError::option("--bootargs", error),
            ProgramError::Tier(_) => PlanError::option("--tier", error),
            ProgramError::ProxyKernel(_) => {
                let pk = self.request.pk.as_deref().unwrap_or(Path::new(""));
                PlanError::value("--pk", pk.display(), error)
            }
            ProgramError::Program(LoadError::OutsideRam { ram_base, address, .. }) if address < ram_base => {
                let why = format!("{error}; a static Linux program needs a proxy kernel: --pk PK");
                PlanError::file(elf, why)
            }
            _ => PlanError::file(elf, error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::options::parsed;

    const ELF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/full.elf");

    fn request(words: &[&str]) -> ProgramRequest {
        parsed(&[&[ELF, "--max-instructions", "1", "--memory", "1"], words].concat())
    }

    #[test]
    fn the_programs_name_comes_before_its_arguments() {
        let request: ProgramRequest = parsed(&[ELF, "--memory", "1", "--pk", ELF, "--", "-v"]);
        let plan = ProgramPlan::new(&request).unwrap();
        assert_eq!(plan.job.arguments, [ELF, "-v"]);
        assert_eq!(plan.job.ram_bytes, 1 << 20);
    }

    #[test]
    fn misaligned_is_an_extension_of_the_machine() {
        let has = |words: &[&str]| ProgramPlan::new(&request(words)).unwrap().job.isa.has(Extension::Zicclsm);
        assert_eq!([has(&[]), has(&["--misaligned"])], [false, true]);
    }

    #[test]
    fn errors_name_the_option_and_a_value_that_works() {
        let cases: [(&[&str], &str); 5] = [
            (&[ELF, "--", "-v"], "add --pk PK"),
            (&[ELF, "--isa", "x86"], "--isa: "),
            (&[ELF, "--machine", "pc"], "--machine: "),
            (&["/dev/zero"], "/dev/zero: is a device or a pipe; copy"),
            (&[ELF, "--max-instructions", "0"], "--max-instructions 0: give at least 1"),
        ];
        for (words, expected) in cases {
            let error = ProgramPlan::new(&parsed(words)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_core_decides_what_is_watched_and_the_guests_time_needs_one() {
        let watch = |words, trace, profile, on| request(words).watch(trace, profile, on);
        let model = ["--guest-time", "model"];
        assert!(matches!(watch(&model, None, true, Some("rocket")), Ok(Watch::Ledger(_, GuestTime::Model))));
        assert!(matches!(watch(&[], None, false, Some("ibex")), Ok(Watch::Ledger(_, GuestTime::Functional))));
        assert_eq!(watch(&[], None, true, None).unwrap(), Watch::Profile);
        assert_eq!(watch(&[], None, false, None).unwrap(), Watch::Nothing);
        for (trace, profile) in [(None, false), (None, true), (Some(Trace::Commit), false)] {
            let error = watch(&model, trace, profile, None).unwrap_err().to_string();
            assert_eq!(error, "--guest-time: there is no core; add --core CORE");
        }
        assert!(watch(&[], None, true, Some("rockt")).unwrap_err().to_string().contains("rocket"));
    }

    /// Opening a pipe that nobody writes to would block, and a sparse file would fill the memory.
    #[test]
    fn pipes_and_endless_files_are_refused() {
        let refused = |path: &Path| ProgramPlan::new(&parsed(&[path.to_str().unwrap()])).unwrap_err();
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = refused(&pipe).to_string();
        assert!(
            error.ends_with("is a device or a pipe; copy its contents to a file, and give that"),
            "{error}"
        );
        let sparse = folder.path().join("sparse");
        std::fs::File::create(&sparse).unwrap().set_len(5 << 30).unwrap();
        let error = refused(&sparse).to_string();
        assert!(error.ends_with("has 5 GiB, more than the 4 GiB that are read"), "{error}");
    }

    #[test]
    fn the_tier_is_automatic_unless_an_option_names_one() {
        let tier = |words: &[&str]| ProgramPlan::new(&request(words)).unwrap().job.tier;
        assert_eq!([tier(&[]), tier(&["--tier", "interpret"])], [Tier::Auto, Tier::Interpret]);
    }

    #[test]
    fn an_error_of_the_run_names_its_option() {
        let request = parsed(&[ELF, "--memory", "9"]);
        let plan = ProgramPlan::new(&request).unwrap();
        let error = plan.explain(&ProgramError::NoMemory(9 << 20)).to_string();
        assert!(error.starts_with("--memory 9: "), "{error}");
        assert!(plan.explain(&ProgramError::ProxyKernelMachine).to_string().starts_with(ELF));
    }
}
