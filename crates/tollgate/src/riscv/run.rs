//! `tollgate riscv run`: a user's program on the embedded machine.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::program::{self, GuestTime, Job, Outcome, ProgramError, Shapes, Watch};
use tollgate_lab::status::EXIT_STATUS;
use tollgate_lab::{Filter, Tier, Trace, record};
use tollgate_progress::Console;
use tollgate_record::family::ProgramAsked;
use tollgate_record::file;
use tollgate_riscv::cache::Geometry;
use tollgate_riscv::{ConfigError, Extension, LoadError, Privilege};
use tollgate_supervise::Stop;

use super::options::{MODES, check_budget, core, executable, explained, isa, number, program, read};
use crate::args::{Destination, Usage, one_of};
use crate::output::{reader_gone, say};
use crate::session::Session;

/// `tollgate riscv run`.
#[derive(Args)]
#[command(
    after_help = format!("Assembly needs no tool, C a compiler for RISC-V; 'printf' and a few other functions are there. A static \
                        Linux program runs on the proxy kernel: --pk names it, and the program comes before its own arguments.\n\n{EXIT_STATUS}\n\nExamples:\n  tollgate riscv run hello.s\n  tollgate riscv run program.elf --profile\n  \
                        tollgate riscv run program.elf --core rocket\n  \
                        tollgate riscv run program.elf --core cva6 --json --out profile.json && \
                        tollgate export profile.json --format folded --out program.folded\n  \
                        tollgate riscv run program.elf --trace commit 2> trace.txt")
)]
pub(super) struct RunArgs {
    /// The program: a source that ends in .s, .S or .c, or an ELF file
    #[arg(value_name = "PROGRAM")]
    elf: PathBuf,

    /// Its arguments, with --pk; those that begin with a dash after --
    args: Vec<String>,

    /// The instruction set: rv64gc, rv64gcv_zvl256b, rva23u64, ...; docs/reference/isa.md lists the names
    #[arg(long, default_value = "rv64gc", value_name = "ISA")]
    isa: String,

    /// Execute misaligned loads and stores instead of trapping, as 'zicclsm' in --isa does
    #[arg(long, hide_short_help = true)]
    misaligned: bool,

    /// Memory map and devices: spike or virt
    #[arg(long, hide_short_help = true, default_value = "spike", value_name = "MACHINE")]
    machine: String,

    /// RAM in MiB
    #[arg(long, hide_short_help = true, default_value_t = 128, value_name = "MIB")]
    memory: u64,

    /// The kernel's command line in the device tree
    #[arg(long, hide_short_help = true, default_value = "", hide_default_value = true, value_name = "TEXT")]
    bootargs: String,

    /// Run the program on this proxy kernel (riscv-pk)
    #[arg(long, value_name = "PK")]
    pk: Option<PathBuf>,

    /// A file that the program may read; can be repeated
    #[arg(long, value_name = "FILE")]
    allow: Vec<PathBuf>,

    /// A directory that the program may read and write
    ///
    /// It is the working directory of the program on the proxy kernel.
    #[arg(long, value_name = "DIR", requires = "pk")]
    allow_write: Option<PathBuf>,

    /// Answer semihosting calls: SYS_WRITE0, SYS_WRITEC, SYS_WRITE, SYS_EXIT, SYS_EXIT_EXTENDED
    #[arg(long, hide_short_help = true)]
    semihosting: bool,

    /// Stop the program after N instructions
    #[arg(long, hide_short_help = true, default_value_t = 10_000_000_000, value_name = "N")]
    max_instructions: u64,

    /// What the program's mcycle counts on a core [default: functional]
    #[arg(long, hide_short_help = true, value_parser = one_of(GuestTime::NAMES), value_name = "TIME")]
    guest_time: Option<GuestTime>,

    /// How instructions are executed if nothing is watched, or only caches are; the results are the same
    #[arg(long, hide_short_help = true, value_parser = one_of(Tier::NAMES), default_value = "auto", value_name = "TIER")]
    tier: Tier,

    /// Write every instruction to standard error
    #[arg(long, value_parser = one_of(Trace::NAMES), value_name = "KIND", conflicts_with = "profile")]
    trace: Option<Trace>,

    /// Trace only these modes, as u,s
    #[arg(long, hide_short_help = true, value_parser = one_of(MODES), value_name = "MODES", value_delimiter = ',', requires = "trace")]
    trace_mode: Vec<Privilege>,

    /// Trace only this address space: its identifier, or the value of satp, as 0x8000000000080205
    #[arg(long, hide_short_help = true, value_parser = number, value_name = "SPACE", requires = "trace")]
    trace_space: Option<u64>,

    /// Profile the instructions by function, phase and call
    ///
    /// The profile is printed and saved.
    #[arg(long)]
    profile: bool,

    /// Profile the cycles of this core by function and cause
    ///
    /// A core is a preset, or a file that ends in .toml. The profile is printed and saved.
    #[arg(long, value_name = "CORE", conflicts_with = "trace")]
    core: Option<String>,

    /// Functions that are printed; the record has all
    #[arg(long, value_name = "N", default_value_t = 20, allow_hyphen_values = true)]
    top: u64,

    /// Count an instruction cache: sets, ways, bytes a line
    ///
    /// This is Spike's option; the counts go to standard error.
    #[arg(long, value_name = "S:W:B", conflicts_with_all = ["trace", "profile", "core"])]
    ic: Option<Geometry>,

    /// Count a data cache
    #[arg(long, value_name = "S:W:B", conflicts_with_all = ["trace", "profile", "core"])]
    dc: Option<Geometry>,

    /// Count a second-level cache
    #[arg(long, value_name = "S:W:B", conflicts_with_all = ["trace", "profile", "core"])]
    l2: Option<Geometry>,

    /// Warn of written code that runs without a fence.i
    #[arg(long, conflicts_with_all = ["trace", "profile", "core"])]
    check_fence: bool,

    /// Write the memory from begin_signature to end_signature to this file, for compliance suites; also +signature=FILE
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    signature: Option<PathBuf>,

    /// Bytes in a line of the signature: 1, 2, 4, 8 or 16; also +signature-granularity=N
    #[arg(long, hide_short_help = true, default_value_t = 16, value_name = "N")]
    signature_granularity: u64,

    #[command(flatten)]
    destination: Destination,
}

/// Runs the program, watched as its options say.
pub(super) fn run(mut args: RunArgs) -> Result<ExitCode> {
    args.take_words()?;
    let (watch, job) = (args.watch()?, args.job()?);
    let profiled = watch.is_profile();
    let session = Session::of_profile(profiled, &args.destination)?;
    let mut console = Console::of_guest("the program runs", args.destination.output.json);
    let stop = Stop::on_signal()?;
    let stopped = || stop.is_set();
    let mut input = program::Input { interrupted: &stopped };
    let done = program::run(&job, watch, &mut input, &mut console, &mut io::stderr(), &stopped);
    let outcome = match done {
        Ok(outcome) => outcome,
        Err(error @ ProgramError::Output(_)) => return Err(reader_gone(error)),
        Err(error) => return Err(args.explain(&error).into()),
    };
    drop(console);
    if let Some(mut session) = session {
        session.run.results.extend(record::program(&outcome, args.asked()));
        session.finish_unless(&stop)?;
    }
    args.save(&outcome)?;
    outcome.remarks().for_each(say);
    // A person wants to know; a script wants the program's own output and nothing else.
    if !outcome.is_success() || io::stderr().is_terminal() || profiled {
        say(outcome.verdict());
    }
    Ok(ExitCode::from(stop.status(outcome.exit_status())))
}

impl RunArgs {
    /// Moves Spike's words that begin with `+signature` from the program's words to their options.
    fn take_words(&mut self) -> Result<(), Usage> {
        let (elf, args) = (std::mem::take(&mut self.elf), std::mem::take(&mut self.args));
        let bare = self.pk.is_none();
        let mut left = Vec::new();
        for word in std::iter::once(elf.into_os_string()).chain(args.into_iter().map(Into::into)) {
            match word.to_str().and_then(|word| word.strip_prefix("+signature")) {
                Some(option) if bare || left.is_empty() => self.take_word(option)?,
                _ => left.push(word),
            }
        }
        let mut left = left.into_iter();
        self.elf = left.next().ok_or_else(|| Usage::new("give a program"))?.into();
        self.args = left.map(|word| word.to_string_lossy().into_owned()).collect();
        Ok(())
    }

    fn take_word(&mut self, option: &str) -> Result<(), Usage> {
        let refused = |why: &str| Usage::option(&format!("+signature{option}"), why);
        match option.split_once('=') {
            Some(("", file)) if !file.is_empty() => self.signature = Some(file.into()),
            Some(("-granularity", n)) => {
                self.signature_granularity = n.parse().map_err(|_| refused("give a number"))?;
            }
            _ => return Err(refused("give +signature=FILE or +signature-granularity=N")),
        }
        Ok(())
    }

    /// What to watch: on a core its ledger, whose `mcycle` counts instructions unless `--guest-time` says otherwise.
    fn watch(&self) -> Result<Watch, Usage> {
        let time = self.guest_time;
        if let Some(name) = self.core.as_deref() {
            return Ok(Watch::Ledger(Box::new(core(name)?), time.unwrap_or(GuestTime::Functional)));
        }
        if time.is_some() {
            return Err(Usage::option("--guest-time", "there is no core; add --core CORE"));
        }
        let caches = Shapes { ic: self.ic, dc: self.dc, l2: self.l2 };
        if caches.l2.is_some() && caches.ic.or(caches.dc).is_none() {
            return Err(Usage::option("--l2", "there is no cache in front of it; add --ic or --dc"));
        }
        Ok(match self.trace {
            Some(trace) => {
                let filter = Filter { modes: self.trace_mode.clone(), space: self.trace_space };
                Watch::Trace(trace, filter)
            }
            None if self.profile => Watch::Profile,
            None if self.check_fence || caches != Shapes::default() => {
                Watch::Beside { caches, fence: self.check_fence }
            }
            None => Watch::Nothing,
        })
    }

    /// What to run, with the contents of its files.
    fn job(&self) -> Result<Job, Usage> {
        check_budget(self.max_instructions)?;
        if ![1, 2, 4, 8, 16].contains(&self.signature_granularity) {
            let why = "give 1, 2, 4, 8 or 16";
            return Err(Usage::value("--signature-granularity", self.signature_granularity, why));
        }
        if self.pk.is_none() && !self.args.is_empty() {
            let why = "a bare program takes no arguments; add --pk PK to run it on a proxy kernel, which passes them";
            return Err(Usage::new(why));
        }
        let allowed = |path: &PathBuf| match read(path) {
            Ok(bytes) => Ok((path.to_string_lossy().into_owned(), bytes)),
            Err(error) if path.exists() => Err(Usage::option("--allow", error)),
            Err(error) => {
                let why = format!("{error}; files that the program creates need --allow-write DIR");
                Err(Usage::option("--allow", why))
            }
        };
        let files = self.allow.iter().map(allowed).collect::<Result<_, _>>()?;
        let name = self.elf.to_string_lossy().into_owned();
        let isa = isa(&self.isa)?;
        Ok(Job {
            isa: if self.misaligned { isa.with(Extension::Zicclsm) } else { isa },
            machine: self.machine.parse().map_err(|error| Usage::option("--machine", error))?,
            ram_bytes: self.memory.saturating_mul(1 << 20),
            bootargs: self.bootargs.clone(),
            program: executable(&self.elf, &self.isa, isa, self.pk.is_some())?,
            proxy_kernel: self.pk.as_deref().map(program).transpose()?,
            arguments: std::iter::once(name).chain(self.args.iter().cloned()).collect(),
            files,
            writable: self.allow_write.clone(),
            semihosting: self.semihosting,
            max_instructions: self.max_instructions,
            tier: self.tier,
            signature: self.signature.as_ref().map(|_| self.signature_granularity as usize),
        })
    }

    /// Writes the signature, if there is one.
    fn save(&self, outcome: &Outcome) -> Result<(), Usage> {
        let (Some(path), Some(text)) = (&self.signature, &outcome.signature) else { return Ok(()) };
        file::replace(path, text.as_bytes()).map_err(|error| Usage::file(path, error))
    }

    /// What the record says of the request.
    fn asked(&self) -> ProgramAsked {
        let name = self.elf.file_name().unwrap_or_default();
        ProgramAsked {
            program: name.to_string_lossy().into_owned(),
            isa: self.isa.clone(),
            machine: self.machine.clone(),
            core: None,
            top: Some(self.top),
            command: Vec::new(),
        }
    }

    /// The option or file that caused an error of the run, and what to do.
    fn explain(&self, error: &ProgramError) -> Usage {
        let elf = &self.elf;
        match error {
            ProgramError::Machine(ConfigError::RamSize(_) | ConfigError::NoMemory(_)) => {
                Usage::value("--memory", self.memory, error)
            }
            ProgramError::Machine(ConfigError::DeviceTree(..)) => Usage::option("--bootargs", error),
            ProgramError::Tier(_) => Usage::option("--tier", error),
            ProgramError::ProxyKernel(_) => {
                let pk = self.pk.as_deref().unwrap_or(Path::new(""));
                Usage::value("--pk", pk.display(), error)
            }
            ProgramError::Program(LoadError::OutsideRam { ram_base, address, .. }) if address < ram_base => {
                let why = format!("{error}; a static Linux program needs a proxy kernel: --pk PK");
                Usage::not_a_program(elf, why)
            }
            ProgramError::Directory(_) => {
                let path = self.allow_write.as_deref().unwrap_or(Path::new(""));
                Usage::value("--allow-write", path.display(), error)
            }
            ProgramError::Program(_) | ProgramError::BelowRam(_) => {
                Usage::not_a_program(elf, explained(error))
            }
            _ => Usage::file(elf, error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::riscv::options::parsed;

    const ELF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/full.elf");

    fn asked(words: &[&str]) -> RunArgs {
        parsed(&[&[ELF, "--max-instructions", "1", "--memory", "1"], words].concat())
    }

    #[test]
    fn the_programs_name_comes_before_its_arguments() {
        let job = asked(&["--pk", ELF, "--", "-v"]).job().unwrap();
        assert_eq!(job.arguments, [ELF, "-v"]);
        assert_eq!(job.ram_bytes, 1 << 20);
    }

    #[test]
    fn misaligned_is_an_extension_of_the_machine() {
        let has = |words: &[&str]| asked(words).job().unwrap().isa.has(Extension::Zicclsm);
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
            let error = parsed::<RunArgs>(words).job().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_core_decides_what_is_watched_and_the_guests_time_needs_one() {
        let watch = |words: &[&str], more: &[&str]| asked(&[words, more].concat()).watch();
        let model = ["--guest-time", "model"];
        let on_rocket = watch(&model, &["--profile", "--core", "rocket"]);
        assert!(matches!(on_rocket, Ok(Watch::Ledger(_, GuestTime::Model))));
        assert!(matches!(watch(&[], &["--core", "ibex"]), Ok(Watch::Ledger(_, GuestTime::Functional))));
        assert_eq!(watch(&[], &["--profile"]).unwrap(), Watch::Profile);
        assert_eq!(watch(&[], &[]).unwrap(), Watch::Nothing);
        for more in [&[][..], &["--profile"], &["--trace", "commit"], &["--check-fence"]] {
            let error = watch(&model, more).unwrap_err().to_string();
            assert_eq!(error, "--guest-time: there is no core; add --core CORE");
        }
        assert!(watch(&[], &["--profile", "--core", "rockt"]).unwrap_err().to_string().contains("rocket"));
    }

    #[test]
    fn caches_are_shapes_of_spike_and_one_behind_needs_one_in_front() {
        let watch = |words: &[&str]| asked(words).watch();
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
            let mut args: RunArgs = parsed(words);
            args.take_words().map(|()| args)
        };
        for words in [
            ["+signature=f", "+signature-granularity=4", "a.elf"],
            ["a.elf", "+signature-granularity=4", "+signature=f"],
        ] {
            let args = taken(&words).unwrap();
            assert_eq!((args.elf, args.args), (PathBuf::from("a.elf"), vec![]));
            assert_eq!((args.signature, args.signature_granularity), (Some("f".into()), 4));
        }
        // Behind a program on a proxy kernel they are its own.
        let args = taken(&["--pk", "pk", "a.elf", "+signature=f"]).unwrap();
        assert_eq!((args.args, args.signature), (vec!["+signature=f".to_owned()], None));
        let error = |words: &[&str]| taken(words).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error(&["+signature=f"]), "give a program");
        assert_eq!(error(&["a.elf", "+signature-granularity=x"]), "+signature-granularity=x: give a number");
        let error = asked(&["--signature-granularity", "3"]).job().unwrap_err().to_string();
        assert_eq!(error, "--signature-granularity 3: give 1, 2, 4, 8 or 16");
    }

    /// Opening a pipe that nobody writes to would block, and a sparse file would fill the memory.
    #[test]
    fn pipes_and_endless_files_are_refused() {
        let refused = |path: &Path| parsed::<RunArgs>(&[path.to_str().unwrap()]).job().unwrap_err();
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
        let tier = |words: &[&str]| asked(words).job().unwrap().tier;
        assert_eq!([tier(&[]), tier(&["--tier", "interpret"])], [Tier::Auto, Tier::Interpret]);
    }

    #[test]
    fn an_error_of_the_run_names_its_option() {
        let args: RunArgs = parsed(&[ELF, "--memory", "9"]);
        let error = args.explain(&ProgramError::Machine(ConfigError::NoMemory(9 << 20))).to_string();
        assert!(error.starts_with("--memory 9: "), "{error}");
        assert!(args.explain(&ProgramError::ProxyKernelMachine).to_string().starts_with(ELF));
    }
}
