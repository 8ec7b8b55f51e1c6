//! How a program is run on the embedded machine.

use std::path::{Path, PathBuf};

use tollgate_record::family::ProgramAsked;
use tollgate_record::file;
use tollgate_riscv::cache::Geometry;
use tollgate_riscv::{ConfigError, Extension, LoadError, Privilege};

use super::options::{PlanError, check_budget, core, isa, one_of, program, read};
use crate::program::{GuestTime, Job, Outcome, ProgramError, Shapes, Watch};
use crate::tier::Tier;
use crate::trace::{Filter, Trace};

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

    /// A directory in which the program on the proxy kernel may read, create and write files; its working directory is this one
    #[arg(long, value_name = "DIR", requires = "pk")]
    pub allow_write: Option<PathBuf>,

    /// Answer semihosting calls: SYS_WRITE0, SYS_WRITEC, SYS_WRITE, SYS_EXIT, SYS_EXIT_EXTENDED
    #[arg(long)]
    pub semihosting: bool,

    /// Stop a program that has not ended after so many instructions
    #[arg(long, default_value_t = 10_000_000_000, value_name = "N")]
    pub max_instructions: u64,

    /// What the program's mcycle counts on a core
    #[arg(long, value_parser = one_of(GuestTime::NAMES), value_name = "TIME")]
    pub guest_time: Option<GuestTime>,

    /// How instructions are executed when nothing is watched, or caches alone; what the program does is the same
    #[arg(long, value_parser = one_of(Tier::NAMES), default_value = "auto", value_name = "TIER")]
    pub tier: Tier,
}

/// A program with everything that it needs.
#[derive(Debug)]
pub struct ProgramPlan<'a> {
    /// What to run.
    pub job: Job,
    request: &'a ProgramRequest,
    signature: Option<&'a Path>,
}

/// What is watched while a program runs.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct WatchRequest {
    /// Write every instruction to standard error
    #[arg(long, value_parser = one_of(Trace::NAMES), value_name = "KIND", conflicts_with = "profile")]
    pub trace: Option<Trace>,

    /// Trace only what happens in these modes: u, s, m, as u,s
    #[arg(long, value_parser = one_of(MODES), value_name = "MODES", value_delimiter = ',', requires = "trace")]
    pub trace_mode: Vec<Privilege>,

    /// Trace only this address space: its identifier, or the whole value of satp, as 0x8000000000080205
    #[arg(long, value_parser = number, value_name = "SPACE", requires = "trace")]
    pub trace_space: Option<u64>,

    /// Print and save a profile afterwards: instructions by function, by phase and by system call
    #[arg(long)]
    pub profile: bool,

    /// Count cycles on this core as well: a preset, or a file that ends in .toml. Print and save the profile with
    /// cycles by function and cause
    #[arg(long, value_name = "CORE", conflicts_with = "trace")]
    pub core: Option<String>,

    /// Count an instruction cache: sets, ways and bytes of a line, as in Spike; the counts go to standard error
    #[arg(long, value_name = "S:W:B", conflicts_with_all = ["trace", "profile", "core"])]
    pub ic: Option<Geometry>,

    /// Count a data cache
    #[arg(long, value_name = "S:W:B", conflicts_with_all = ["trace", "profile", "core"])]
    pub dc: Option<Geometry>,

    /// Count a cache behind those two
    #[arg(long, value_name = "S:W:B", conflicts_with_all = ["trace", "profile", "core"])]
    pub l2: Option<Geometry>,

    /// Warn of code that is executed after it was written without fence.i in between
    #[arg(long, conflicts_with_all = ["trace", "profile", "core"])]
    pub check_fence: bool,

    /// Write the memory between begin_signature and end_signature to this file, as compliance suites want it; +signature=FILE
    /// does the same
    #[arg(long, value_name = "FILE")]
    pub signature: Option<PathBuf>,

    /// Bytes in a line of the signature: 1, 2, 4, 8 or 16; also +signature-granularity=N
    #[arg(long, default_value_t = 16, value_name = "N")]
    pub signature_granularity: u64,
}

/// The modes on a command line.
pub(super) const MODES: [(&str, Privilege, &str); 3] = [
    ("u", Privilege::User, "User mode"),
    ("s", Privilege::Supervisor, "Supervisor mode"),
    ("m", Privilege::Machine, "Machine mode"),
];

/// A number, in hexadecimal behind `0x`.
pub(super) fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "give a number, as 12 or 0x8000000000080205".to_owned())
}

impl WatchRequest {
    /// Moves Spike's words that begin with `+signature` from the program's words to their options.
    ///
    /// # Errors
    /// A granularity that is not a number, or no program.
    pub fn take_words(&mut self, program: &mut ProgramRequest) -> Result<(), PlanError> {
        let elf = std::mem::take(&mut program.elf);
        let bare = program.pk.is_none();
        let words = std::iter::once(elf.into_os_string()).chain(program.args.drain(..).map(Into::into));
        let mut left = Vec::new();
        for word in words {
            match word.to_str().and_then(|word| word.strip_prefix("+signature")) {
                Some(option) if bare || left.is_empty() => self.take_word(option)?,
                _ => left.push(word),
            }
        }
        let mut left = left.into_iter();
        program.elf = left.next().ok_or_else(|| PlanError::conflict("give a program"))?.into();
        program.args = left.map(|word| word.to_string_lossy().into_owned()).collect();
        Ok(())
    }

    fn take_word(&mut self, option: &str) -> Result<(), PlanError> {
        let refused = |why: &str| PlanError::option(&format!("+signature{option}"), why);
        match option.split_once('=') {
            Some(("", file)) if !file.is_empty() => self.signature = Some(file.into()),
            Some(("-granularity", n)) => {
                self.signature_granularity = n.parse().map_err(|_| refused("give a number"))?;
            }
            _ => return Err(refused("give +signature=FILE or +signature-granularity=N")),
        }
        Ok(())
    }
}

impl ProgramRequest {
    /// What to watch: on a core its ledger, whose `mcycle` counts instructions unless `--guest-time` says otherwise.
    ///
    /// # Errors
    /// An unknown or invalid core, or a time without a core.
    pub fn watch(&self, asked: &WatchRequest) -> Result<Watch, PlanError> {
        let time = self.guest_time;
        if let Some(name) = asked.core.as_deref() {
            return Ok(Watch::Ledger(Box::new(core(name)?), time.unwrap_or(GuestTime::Functional)));
        }
        if time.is_some() {
            return Err(PlanError::option("--guest-time", "there is no core; add --core CORE"));
        }
        let caches = Shapes { ic: asked.ic, dc: asked.dc, l2: asked.l2 };
        if caches.l2.is_some() && caches.ic.or(caches.dc).is_none() {
            return Err(PlanError::option("--l2", "there is no cache in front of it; add --ic or --dc"));
        }
        Ok(match asked.trace {
            Some(trace) => {
                let filter = Filter { modes: asked.trace_mode.clone(), space: asked.trace_space };
                Watch::Trace(trace, filter)
            }
            None if asked.profile => Watch::Profile,
            None if asked.check_fence || caches != Shapes::default() => {
                Watch::Beside { caches, fence: asked.check_fence }
            }
            None => Watch::Nothing,
        })
    }
}

impl<'a> ProgramPlan<'a> {
    /// Plans a request.
    pub fn new(request: &'a ProgramRequest, watch: &'a WatchRequest) -> Result<Self, PlanError> {
        check_budget(request.max_instructions)?;
        if request.pk.is_none() && !request.args.is_empty() {
            let why = "a bare program takes no arguments; add --pk PK to run it on a proxy kernel, which passes them";
            return Err(PlanError::conflict(why));
        }
        let allowed = |path: &PathBuf| match read(path) {
            Ok(bytes) => Ok((path.to_string_lossy().into_owned(), bytes)),
            Err(error) if path.exists() => Err(PlanError::option("--allow", error)),
            Err(error) => {
                let why = format!("{error}; files that the program creates need --allow-write DIR");
                Err(PlanError::option("--allow", why))
            }
        };
        let files = request.allow.iter().map(allowed).collect::<Result<_, _>>()?;
        let name = request.elf.to_string_lossy().into_owned();
        let job = Job {
            isa: match isa(&request.isa)? {
                isa if request.misaligned => isa.with(Extension::Zicclsm),
                isa => isa,
            },
            machine: request.machine.parse().map_err(|error| PlanError::option("--machine", error))?,
            ram_bytes: request.memory.saturating_mul(1 << 20),
            bootargs: request.bootargs.clone(),
            program: program(&request.elf)?,
            proxy_kernel: request.pk.as_deref().map(program).transpose()?,
            arguments: std::iter::once(name).chain(request.args.iter().cloned()).collect(),
            files,
            writable: request.allow_write.clone(),
            semihosting: request.semihosting,
            max_instructions: request.max_instructions,
            tier: request.tier,
            signature: watch.signature.as_ref().map(|_| watch.signature_granularity as usize),
        };
        if ![1, 2, 4, 8, 16].contains(&watch.signature_granularity) {
            let why = "give 1, 2, 4, 8 or 16";
            return Err(PlanError::value("--signature-granularity", watch.signature_granularity, why));
        }
        Ok(Self { job, request, signature: watch.signature.as_deref() })
    }

    /// Writes the signature, if there is one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, outcome: &Outcome) -> Result<(), PlanError> {
        let (Some(path), Some(text)) = (self.signature, &outcome.signature) else { return Ok(()) };
        file::replace(path, text.as_bytes()).map_err(|error| PlanError::file(path, error))
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
            ProgramError::Machine(ConfigError::RamSize(_) | ConfigError::NoMemory(_)) => {
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
                PlanError::not_a_program(elf, why)
            }
            ProgramError::Directory(_) => {
                let path = self.request.allow_write.as_deref().unwrap_or(Path::new(""));
                PlanError::value("--allow-write", path.display(), error)
            }
            ProgramError::Program(_) | ProgramError::BelowRam(_) => PlanError::not_a_program(elf, error),
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

    fn planned(request: &ProgramRequest) -> Result<ProgramPlan<'_>, PlanError> {
        const NOTHING: &WatchRequest = &WatchRequest {
            trace: None,
            trace_mode: Vec::new(),
            trace_space: None,
            profile: false,
            core: None,
            ic: None,
            dc: None,
            l2: None,
            check_fence: false,
            signature: None,
            signature_granularity: 16,
        };
        ProgramPlan::new(request, NOTHING)
    }

    #[test]
    fn the_programs_name_comes_before_its_arguments() {
        let request: ProgramRequest = parsed(&[ELF, "--memory", "1", "--pk", ELF, "--", "-v"]);
        let plan = planned(&request).unwrap();
        assert_eq!(plan.job.arguments, [ELF, "-v"]);
        assert_eq!(plan.job.ram_bytes, 1 << 20);
    }

    #[test]
    fn misaligned_is_an_extension_of_the_machine() {
        let has = |words: &[&str]| planned(&request(words)).unwrap().job.isa.has(Extension::Zicclsm);
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
            let error = planned(&parsed(words)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_core_decides_what_is_watched_and_the_guests_time_needs_one() {
        let watch = |words, asked: &[&str]| request(words).watch(&parsed(asked));
        let model = ["--guest-time", "model"];
        let on_rocket = watch(&model, &["--profile", "--core", "rocket"]);
        assert!(matches!(on_rocket, Ok(Watch::Ledger(_, GuestTime::Model))));
        assert!(matches!(watch(&[], &["--core", "ibex"]), Ok(Watch::Ledger(_, GuestTime::Functional))));
        assert_eq!(watch(&[], &["--profile"]).unwrap(), Watch::Profile);
        assert_eq!(watch(&[], &[]).unwrap(), Watch::Nothing);
        for asked in [&[][..], &["--profile"], &["--trace", "commit"], &["--check-fence"]] {
            let error = watch(&model, asked).unwrap_err().to_string();
            assert_eq!(error, "--guest-time: there is no core; add --core CORE");
        }
        assert!(watch(&[], &["--profile", "--core", "rockt"]).unwrap_err().to_string().contains("rocket"));
    }

    #[test]
    fn caches_are_shapes_of_spike_and_one_behind_needs_one_in_front() {
        let watch = |asked: &[&str]| request(&[]).watch(&parsed(asked));
        let shape = |text: &str| Some(text.parse().unwrap());
        let caches = Shapes { ic: shape("64:4:64"), l2: shape("256:8:64"), ..Shapes::default() };
        assert_eq!(
            watch(&["--ic", "64:4:64", "--l2", "256:8:64"]).unwrap(),
            Watch::Beside { caches, fence: false }
        );
        let error = watch(&["--l2", "64:4:64"]).unwrap_err().to_string();
        assert_eq!(error, "--l2: there is no cache in front of it; add --ic or --dc");
    }

    #[test]
    fn words_of_spike_ask_for_a_signature_wherever_they_stand() {
        let taken = |words: &[&str]| {
            let (mut program, mut watch): (ProgramRequest, WatchRequest) = (parsed(words), parsed(&[]));
            watch.take_words(&mut program).map(|()| (program, watch))
        };
        for words in [
            ["+signature=f", "+signature-granularity=4", "a.elf"],
            ["a.elf", "+signature-granularity=4", "+signature=f"],
        ] {
            let (program, watch) = taken(&words).unwrap();
            assert_eq!((program.elf, program.args), (PathBuf::from("a.elf"), vec![]));
            assert_eq!((watch.signature, watch.signature_granularity), (Some("f".into()), 4));
        }
        // Behind a program on a proxy kernel they are its own.
        let (program, watch) = taken(&["--pk", "pk", "a.elf", "+signature=f"]).unwrap();
        assert_eq!((program.args, watch.signature), (vec!["+signature=f".to_owned()], None));
        let error = |words: &[&str]| taken(words).unwrap_err().to_string();
        assert_eq!(error(&["+signature=f"]), "give a program");
        assert_eq!(error(&["a.elf", "+signature-granularity=x"]), "+signature-granularity=x: give a number");
        let watch: WatchRequest = parsed(&["--signature-granularity", "3"]);
        let error = ProgramPlan::new(&request(&[]), &watch).unwrap_err().to_string();
        assert_eq!(error, "--signature-granularity 3: give 1, 2, 4, 8 or 16");
    }

    /// Opening a pipe that nobody writes to would block, and a sparse file would fill the memory.
    #[test]
    fn pipes_and_endless_files_are_refused() {
        let refused = |path: &Path| planned(&parsed(&[path.to_str().unwrap()])).unwrap_err();
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
        assert!(error.ends_with("has more than the 4 GiB that are read"), "{error}");
    }

    #[test]
    fn the_tier_is_automatic_unless_an_option_names_one() {
        let tier = |words: &[&str]| planned(&request(words)).unwrap().job.tier;
        assert_eq!([tier(&[]), tier(&["--tier", "interpret"])], [Tier::Auto, Tier::Interpret]);
    }

    #[test]
    fn an_error_of_the_run_names_its_option() {
        let request = parsed(&[ELF, "--memory", "9"]);
        let plan = planned(&request).unwrap();
        let error = plan.explain(&ProgramError::Machine(ConfigError::NoMemory(9 << 20))).to_string();
        assert!(error.starts_with("--memory 9: "), "{error}");
        assert!(plan.explain(&ProgramError::ProxyKernelMachine).to_string().starts_with(ELF));
    }
}
