//! How a program is run on the embedded machine.

use std::path::{Path, PathBuf};

use tollgate_record::family::ProgramAsked;
use tollgate_riscv::{ConfigError, Extension, LoadError};

use super::options::{PlanError, check_budget, core, isa, read};
use crate::program::{GuestTime, Job, ProgramError, Watch};
use crate::tier::Tier;
use crate::trace::Trace;

/// What a command line asks for.
#[derive(Clone, Copy, Debug)]
pub struct ProgramRequest<'a> {
    /// The program.
    pub elf: &'a Path,
    /// Its arguments.
    pub arguments: &'a [String],
    /// The machine's instructions.
    pub isa: &'a str,
    /// Whether misaligned accesses of memory are done, whatever the ISA string says.
    pub misaligned: bool,
    /// The machine's memory map.
    pub machine: &'a str,
    /// RAM in MiB.
    pub memory: u64,
    /// The kernel's command line.
    pub bootargs: &'a str,
    /// The proxy kernel.
    pub pk: Option<&'a Path>,
    /// Files that the program may read.
    pub allow: &'a [PathBuf],
    /// When to stop the program.
    pub max_instructions: u64,
    /// What executes it if nothing is watched.
    pub tier: Tier,
}

/// A program with everything that it needs.
#[derive(Debug)]
pub struct ProgramPlan<'a> {
    /// What to run.
    pub job: Job,
    request: ProgramRequest<'a>,
}

/// What to watch: `time` is what `mcycle` counts on a core, functional unless it says otherwise.
///
/// # Errors
/// An unknown or invalid core, or a time without a core.
pub fn watch(
    trace: Option<Trace>,
    profile: bool,
    on: Option<&str>,
    time: Option<GuestTime>,
) -> Result<Watch, PlanError> {
    match (trace, on, profile) {
        (None, Some(name), _) => {
            Ok(Watch::Ledger(Box::new(core(name)?), time.unwrap_or(GuestTime::Functional)))
        }
        _ if time.is_some() => Err(PlanError::option("--guest-time", "there is no core; add --core CORE")),
        (Some(trace), ..) => Ok(Watch::Trace(trace)),
        (None, None, true) => Ok(Watch::Profile),
        (None, None, false) => Ok(Watch::Nothing),
    }
}

impl<'a> ProgramPlan<'a> {
    /// Plans a request.
    pub fn new(request: ProgramRequest<'a>) -> Result<Self, PlanError> {
        check_budget(request.max_instructions)?;
        if request.pk.is_none() && !request.arguments.is_empty() {
            let why = "a bare program takes no arguments; add --pk PK to run it on a proxy kernel, which passes them";
            return Err(PlanError::conflict(why));
        }
        let allowed = request.allow.iter().map(|path| Ok((path.to_string_lossy().into_owned(), read(path)?)));
        let files = allowed.collect::<Result<_, PlanError>>()?;
        let name = request.elf.to_string_lossy().into_owned();
        let job = Job {
            isa: if request.misaligned {
                isa(request.isa)?.with(Extension::Zicclsm)
            } else {
                isa(request.isa)?
            },
            machine: request.machine.parse().map_err(|error| PlanError::option("--machine", error))?,
            ram_bytes: request.memory.saturating_mul(1 << 20),
            bootargs: request.bootargs.to_owned(),
            program: read(request.elf)?,
            proxy_kernel: request.pk.map(read).transpose()?,
            arguments: std::iter::once(name).chain(request.arguments.iter().cloned()).collect(),
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
            isa: self.request.isa.to_owned(),
            machine: self.request.machine.to_owned(),
            core: None,
            top,
        }
    }

    /// The option or file that caused an error of the run, and what to do.
    pub fn explain(&self, error: &ProgramError) -> PlanError {
        let elf = self.request.elf;
        match error {
            ProgramError::Machine(ConfigError::RamSize(_)) | ProgramError::NoMemory(_) => {
                PlanError::value("--memory", self.request.memory, error)
            }
            ProgramError::Machine(ConfigError::DeviceTree(..)) => PlanError::option("--bootargs", error),
            ProgramError::Tier(_) => PlanError::option("--tier", error),
            ProgramError::ProxyKernel(_) => {
                let pk = self.request.pk.unwrap_or(Path::new(""));
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

    const ELF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/full.elf");

    fn request() -> ProgramRequest<'static> {
        ProgramRequest {
            elf: Path::new(ELF),
            arguments: &[],
            isa: "rv64gc",
            misaligned: false,
            machine: "spike",
            memory: 1,
            bootargs: "",
            pk: None,
            allow: &[],
            max_instructions: 1,
            tier: Tier::Auto,
        }
    }

    #[test]
    fn the_programs_name_comes_before_its_arguments() {
        let arguments = ["-v".to_owned()];
        let request = ProgramRequest { arguments: &arguments, pk: Some(Path::new(ELF)), ..request() };
        let plan = ProgramPlan::new(request).unwrap();
        assert_eq!(plan.job.arguments, [ELF, "-v"]);
        assert_eq!(plan.job.ram_bytes, 1 << 20);
    }

    #[test]
    fn misaligned_is_an_extension_of_the_machine() {
        let has = |misaligned| {
            let plan = ProgramPlan::new(ProgramRequest { misaligned, ..request() }).unwrap();
            plan.job.isa.has(Extension::Zicclsm)
        };
        assert_eq!([has(false), has(true)], [false, true]);
    }

    #[test]
    fn errors_name_the_option_and_a_value_that_works() {
        let arguments = ["-v".to_owned()];
        let cases = [
            (ProgramRequest { arguments: &arguments, ..request() }, "add --pk PK"),
            (ProgramRequest { isa: "x86", ..request() }, "--isa: "),
            (ProgramRequest { machine: "pc", ..request() }, "--machine: "),
            (
                ProgramRequest { elf: Path::new("/dev/zero"), ..request() },
                "/dev/zero: is a device or a pipe; copy",
            ),
            (ProgramRequest { max_instructions: 0, ..request() }, "--max-instructions 0: give at least 1"),
        ];
        for (request, expected) in cases {
            let error = ProgramPlan::new(request).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_core_decides_what_is_watched_and_the_guests_time_needs_one() {
        let model = Some(GuestTime::Model);
        assert!(matches!(watch(None, true, Some("rocket"), model), Ok(Watch::Ledger(_, GuestTime::Model))));
        assert!(matches!(
            watch(None, false, Some("ibex"), None),
            Ok(Watch::Ledger(_, GuestTime::Functional))
        ));
        assert_eq!(watch(None, true, None, None).unwrap(), Watch::Profile);
        assert_eq!(watch(None, false, None, None).unwrap(), Watch::Nothing);
        for (trace, profile) in [(None, false), (None, true), (Some(Trace::Commit), false)] {
            let error = watch(trace, profile, None, model).unwrap_err().to_string();
            assert_eq!(error, "--guest-time: there is no core; add --core CORE");
        }
        assert!(watch(None, true, Some("rockt"), None).unwrap_err().to_string().contains("rocket"));
    }

    /// Opening a pipe that nobody writes to would block, and a sparse file would fill the memory.
    #[test]
    fn pipes_and_endless_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = ProgramPlan::new(ProgramRequest { elf: &pipe, ..request() }).unwrap_err().to_string();
        assert!(
            error.ends_with("is a device or a pipe; copy its contents to a file, and give that"),
            "{error}"
        );
        let sparse = folder.path().join("sparse");
        std::fs::File::create(&sparse).unwrap().set_len(5 << 30).unwrap();
        let error = ProgramPlan::new(ProgramRequest { elf: &sparse, ..request() }).unwrap_err().to_string();
        assert!(error.ends_with("has 5 GiB, more than the 4 GiB that are read"), "{error}");
    }

    #[test]
    fn an_error_of_the_run_names_its_option() {
        let plan = ProgramPlan::new(ProgramRequest { memory: 9, ..request() }).unwrap();
        let error = plan.explain(&ProgramError::NoMemory(9 << 20)).to_string();
        assert!(error.starts_with("--memory 9: "), "{error}");
        assert!(plan.explain(&ProgramError::ProxyKernelMachine).to_string().starts_with(ELF));
    }
}
