//! Runs a user's program on the embedded machine: bare, or a static Linux program on the proxy kernel.

mod caches;
mod diagnosis;
mod fence;
#[cfg(unix)]
mod files;
mod input;
mod signature;
mod trail;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tollgate_cores::{Core, CoreError};
use tollgate_record::number::{self, count};
use tollgate_riscv::cache::CacheError;
use tollgate_riscv::tier::Counter;
use tollgate_riscv::{
    Access, Config, ConfigError, Elf, HostCalls, Isa, LoadError, Machine, MachineKind, MemoryFiles, Observer,
    Refused, Retired, Stop, Trap, aside, ram_below,
};

pub use caches::Shapes;
pub(crate) use diagnosis::{FOR_LINUX, STARTS_LINUX};
#[cfg(unix)]
pub use input::Input;
pub use input::Source;

use crate::ledger::ProgramLedger;
use crate::profile::Profile;
use crate::sections::executable_sections;
use crate::source::Executable;
use crate::symbols::Symbols;
use crate::tier::{Tier, TierError};
use crate::trace::{Filter, FirstTrap, Trace, Tracer};

use caches::Caches;
use diagnosis::{Diagnosis, semihosting};
use fence::Fence;
#[cfg(unix)]
use files::{Directory, Files};

/// What to run, on what.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// The machine's instructions.
    pub isa: Isa,
    /// Its memory map.
    pub machine: MachineKind,
    /// Its RAM.
    pub ram_bytes: u64,
    /// The kernel command line in its device tree.
    pub bootargs: String,
    /// The program's file, and what is known of its source.
    pub program: Executable,
    /// The proxy kernel's file, if the program needs one.
    pub proxy_kernel: Option<Vec<u8>>,
    /// The program's name and arguments; the proxy kernel opens the program under the first.
    pub arguments: Vec<String>,
    /// Files that the program may read, by path.
    pub files: Vec<(String, Vec<u8>)>,
    /// A directory in which the program may create and write files.
    pub writable: Option<PathBuf>,
    /// Whether semihosting calls are answered.
    pub semihosting: bool,
    /// When to stop a program that does not end.
    pub max_instructions: u64,
    /// What executes it if nothing is watched, or caches alone.
    pub tier: Tier,
    /// Bytes in a line of the signature, if it is wanted.
    pub signature: Option<usize>,
}

/// What `mcycle` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestTime {
    /// Instructions.
    Functional,
    /// The cycles of the core.
    Model,
}

impl GuestTime {
    /// The names on a command line, with what each means.
    pub const NAMES: [(&'static str, Self, &'static str); 2] =
        [("functional", Self::Functional, "Instructions"), ("model", Self::Model, "The core's cycles")];
}

/// What to watch while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Nothing, at full speed.
    Nothing,
    /// Every instruction that passes a filter, as lines.
    Trace(Trace, Filter),
    /// Instructions by function, phase and system call.
    Profile,
    /// The same, and cycles on a core by function and cause.
    Ledger(Box<Core>, GuestTime),
    /// Accesses to caches, and with `fence` code that is executed without `fence.i` after it was written.
    Beside {
        /// The caches.
        caches: Shapes,
        /// Whether to look for such code.
        fence: bool,
    },
}

impl Watch {
    /// Whether a profile follows.
    pub fn is_profile(&self) -> bool {
        matches!(self, Self::Profile | Self::Ledger(..))
    }
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this status.
    Exited(i32),
    /// It was stopped: its instructions were used up.
    Budget,
    /// Somebody interrupted it.
    Interrupted,
    /// It cannot continue, with the reason.
    Stuck(String),
}

/// How a program ran.
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Instructions that retired.
    pub instructions: u64,
    /// Traps and waits, which use up the instructions that a program may execute, too.
    pub others: u64,
    /// Files that it tried to open and that were not allowed.
    pub refused: Vec<Refused>,
    /// The directory in which it may write.
    pub writable: Option<PathBuf>,
    /// Where its instructions went, when that was watched.
    pub profile: Option<Profile>,
    /// Where its cycles went, when a core was watched.
    pub ledger: Option<ProgramLedger>,
    /// Where it was when its instructions were used up.
    pub at: Option<String>,
    /// What somebody who watched stores and fetches should know.
    pub warning: Option<String>,
    /// The signature, of a program that ended by itself.
    pub signature: Option<String>,
}

impl Outcome {
    /// Whether it ended by itself, with status 0.
    pub fn is_success(&self) -> bool {
        self.ending == Ending::Exited(0)
    }

    /// Sentences about what it did beside ending.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        let refused = self.refused.iter().map(|Refused { path, write }| match (write, &self.writable) {
            (true, None) => {
                format!(
                    "the program wanted to write {path}, which it may not; --allow-write DIR lets it create and write files in DIR"
                )
            }
            (_, Some(directory)) => {
                let directory = directory.display();
                format!("the program asked for {path}, which is not in the directory of --allow-write {directory}")
            }
            (false, None) if !Path::new(path).exists() => {
                format!("the program asked for {path}, which does not exist")
            }
            (false, None) => {
                format!("the program asked for {path}, which it may not read; --allow {path} lets it")
            }
        });
        refused.chain(self.warning.clone())
    }

    /// How it ended and after how many instructions, as a sentence.
    pub fn verdict(&self) -> String {
        let count = count(self.instructions);
        match &self.ending {
            Ending::Exited(0) => format!("ended after {count} instructions"),
            Ending::Exited(status) => {
                format!("the program ended with status {status} after {count} instructions")
            }
            Ending::Budget => {
                let others = match self.others {
                    0 => String::new(),
                    n => format!(" and {} traps and waits", number::count(n)),
                };
                let at = self.at.as_ref().map_or_else(String::new, |at| format!("; it is at {at}"));
                format!(
                    "stopped: the program has not ended after {count} instructions{others}; --max-instructions gives it more{at}"
                )
            }
            Ending::Interrupted => format!("interrupted after {count} instructions"),
            Ending::Stuck(how) => format!("stopped after {count} instructions: {how}"),
        }
    }
}

/// Why a program was not run, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum ProgramError {
    #[error("{0}")]
    Program(LoadError),
    #[error("as the proxy kernel: {0}")]
    ProxyKernel(LoadError),
    #[error("the proxy kernel needs Spike's devices: use --machine spike")]
    ProxyKernelMachine,
    #[error(
        "the program is linked at {0:#x}, and the machine virt has RAM from {RAM_BASE:#x}: use --machine spike, which has RAM where \
         the program is, or link it at {RAM_BASE:#x} (-Wl,-Ttext-segment={RAM_BASE:#x})"
    )]
    BelowRam(u64),
    #[error("{0}")]
    Machine(#[from] ConfigError),
    #[error("{0}")]
    Core(#[from] CoreError),
    #[error("{0}")]
    Tier(#[from] TierError),
    #[error("{0}")]
    Cache(#[from] CacheError),
    #[error("{0}")]
    Directory(io::Error),
    #[error("the program has no signature: no memory between the symbols begin_signature and end_signature")]
    NoSignature,
    #[error("cannot read the program's input: {0}")]
    Input(io::Error),
    #[error("cannot write the program's output: {0}")]
    Output(#[from] io::Error),
}

/// Where RAM usually begins, and the room that is left above a stack at its end.
const RAM_BASE: u64 = 0x8000_0000;
pub(crate) const ABOVE_STACK: u64 = 16;
/// Steps between two looks at the console: a few milliseconds.
const SLICE: u64 = 1 << 20;
/// The same with a line for each instruction, which must not pile up.
const TRACED_SLICE: u64 = 1 << 12;

/// A machine with everything loaded, before its first step.
pub(crate) struct Booted {
    pub(crate) machine: Machine,
    pub(crate) program: Elf,
    pub(crate) kernel: Option<Elf>,
}

/// Builds the machine that a job asks for.
pub(crate) fn boot(job: &Job) -> Result<Booted, ProgramError> {
    let program = Elf::parse(&job.program.elf).map_err(ProgramError::Program)?;
    let kernel =
        job.proxy_kernel.as_deref().map(Elf::parse).transpose().map_err(ProgramError::ProxyKernel)?;
    let config = Config {
        isa: job.isa,
        machine: job.machine,
        ram_bytes: job.ram_bytes,
        bootargs: job.bootargs.clone(),
        ..Config::default()
    };
    let config = match &kernel {
        None if config.machine != MachineKind::Spike => {
            let below = program.segments.first().filter(|segment| segment.address < RAM_BASE);
            if let Some(segment) = below {
                return Err(ProgramError::BelowRam(segment.address));
            }
            config
        }
        None => with_ram_at(config, &program),
        Some(_) => config,
    };
    let mut machine = Machine::new(config)?;
    let mut files = MemoryFiles::new();
    for (path, bytes) in &job.files {
        files.insert(path.as_str(), bytes.clone());
    }
    match &kernel {
        None => {
            machine.load(&program).map_err(ProgramError::Program)?;
            set_stack(&mut machine, &program, job.program.needs_stack);
            machine.answer_ecalls();
            machine.exit_behind(ends_of_code(&job.program.elf));
        }
        Some(_) if job.machine != MachineKind::Spike => return Err(ProgramError::ProxyKernelMachine),
        Some(kernel) => {
            // The proxy kernel would only panic.
            if program.xlen != job.isa.xlen() {
                let (found, expected) = (program.xlen, job.isa.xlen());
                return Err(ProgramError::Program(LoadError::WrongWidth { found, expected }));
            }
            if let Some(path) = job.arguments.first() {
                files.insert(path.as_str(), job.program.elf.clone());
            }
            // As in Spike, the first argument is the proxy kernel itself, which skips it.
            machine.set_args(std::iter::once("pk").chain(job.arguments.iter().map(String::as_str)));
            machine.load(kernel).map_err(ProgramError::ProxyKernel)?;
        }
    }
    machine.set_host(host_calls(files, job.writable.as_deref()).map_err(ProgramError::Directory)?);
    if job.semihosting {
        machine.semihost();
    }
    Ok(Booted { machine, program, kernel })
}

/// The files of a program: those in memory, and a directory in which it may also write.
#[cfg(unix)]
fn host_calls(files: MemoryFiles, writable: Option<&Path>) -> io::Result<Box<dyn HostCalls>> {
    Ok(Box::new(Files::new(files, writable.map(Directory::open).transpose()?)))
}

/// The same where there are no directories.
#[cfg(not(unix))]
fn host_calls(files: MemoryFiles, writable: Option<&Path>) -> io::Result<Box<dyn HostCalls>> {
    match writable {
        None => Ok(Box::new(files)),
        Some(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Spike's machine with its RAM where a bare program is, if that is below the usual RAM and no device is in the way.
pub(crate) fn with_ram_at(config: Config, program: &Elf) -> Config {
    let first = program.segments.first().map_or(RAM_BASE, |segment| segment.address);
    let end = program.segments.last().map_or(RAM_BASE, |last| last.address + last.memory_size);
    match ram_below(first, end, config.ram_bytes) {
        Some((ram_base, ram_bytes)) => Config { ram_base, ram_bytes, ..config },
        None => config,
    }
}

/// Where sections of instructions end.
fn ends_of_code(program: &[u8]) -> Vec<u64> {
    let sections = executable_sections(program);
    sections.iter().map(|(address, data)| address.wrapping_add(data.len() as u64)).collect()
}

/// Gives a program without start-up code for this machine, as one below the usual RAM, a stack and its global pointer.
fn set_stack(machine: &mut Machine, program: &Elf, needs_stack: bool) {
    let Config { ram_base, ram_bytes, .. } = *machine.config();
    if needs_stack || ram_base != RAM_BASE {
        machine.set_x(2, ram_base + ram_bytes - ABOVE_STACK);
        machine.set_x(3, program.symbol("__global_pointer$").unwrap_or(0));
    }
}

/// Runs a job until the program ends, its instructions are used up, or `interrupted` says so. What the program reads comes from
/// `input`, what it writes goes to `console`, a trace to `trace`.
pub fn run(
    job: &Job,
    watch: Watch,
    input: &mut dyn Source,
    console: &mut dyn Write,
    trace: &mut dyn Write,
    interrupted: &dyn Fn() -> bool,
) -> Result<Outcome, ProgramError> {
    let Booted { mut machine, program, kernel } = boot(job)?;
    machine.open_input();
    let mut terminal = Terminal { input, open: true, has_read: false, console, interrupted };
    let terminal = &mut terminal;
    let place =
        job.signature.map(|_| signature::place(&program).ok_or(ProgramError::NoSignature)).transpose()?;
    match (&watch, job.tier) {
        (Watch::Trace(..) | Watch::Beside { fence: true, .. }, Tier::Translate) => {
            return Err(TierError::Watched.into());
        }
        (Watch::Trace(..) | Watch::Beside { fence: true, .. }, _) => {}
        (_, tier) => tier.prepare(&mut machine)?,
    }
    let (mut profile, mut ledger, mut warning) = (None, None, None);
    let symbols = &mut Symbols::new(&program, kernel.as_ref());
    let ending = match watch {
        Watch::Nothing => {
            drive(&mut machine, (&mut *symbols, &program), job, &mut (), SLICE, terminal, &mut nothing)?
        }
        Watch::Trace(kind, filter) => {
            let mut tracer = Tracer::new(kind, job.isa).filtered(filter);
            let mut flush = |tracer: &mut Tracer| trace.write_all(tracer.take().as_bytes());
            drive(
                &mut machine,
                (&mut *symbols, &program),
                job,
                &mut tracer,
                TRACED_SLICE,
                terminal,
                &mut flush,
            )?
        }
        Watch::Profile => {
            let mut counts = Profile::new(&program, kernel.as_ref());
            let ending = drive(
                &mut machine,
                (&mut *symbols, &program),
                job,
                &mut counts,
                SLICE,
                terminal,
                &mut nothing,
            )?;
            profile = Some(counts);
            ending
        }
        Watch::Ledger(core, time) => {
            let profile = Profile::new(&program, kernel.as_ref());
            let mut watch = ProgramLedger::new(profile, &core, &machine.code())?;
            let ending = match time {
                GuestTime::Model => {
                    watch = watch.with_guest_cycles();
                    drive(
                        &mut machine,
                        (&mut *symbols, &program),
                        job,
                        &mut watch,
                        SLICE,
                        terminal,
                        &mut nothing,
                    )
                }
                GuestTime::Functional => aside(&mut watch, |watch| {
                    drive(&mut machine, (&mut *symbols, &program), job, watch, SLICE, terminal, &mut nothing)
                }),
            }?;
            watch.end();
            ledger = Some(watch);
            ending
        }
        Watch::Beside { caches, fence } => {
            let mut watch = Beside { caches: Caches::new(&caches)?, fence: fence.then(Fence::default) };
            let ending = drive(
                &mut machine,
                (&mut *symbols, &program),
                job,
                &mut watch,
                SLICE,
                terminal,
                &mut nothing,
            )?;
            trace.write_all(watch.caches.tell().as_bytes())?;
            warning = watch.fence.and_then(|fence| fence.tell(symbols));
            ending
        }
    };
    let signature = match (&ending, place, job.signature) {
        (Ending::Exited(_), Some(place), Some(line)) => {
            Some(signature::read(&machine, place, line).ok_or(ProgramError::NoSignature)?)
        }
        _ => None,
    };
    let refused = machine.host().refused().to_vec();
    let instructions = machine.instret();
    let others = if ending == Ending::Budget { job.max_instructions.saturating_sub(instructions) } else { 0 };
    let writable = job.writable.clone();
    let source = &job.program;
    let mut why = Diagnosis { machine: &machine, symbols, program: &program, source, replay: &|_| None };
    let at = (ending == Ending::Budget).then(|| why.place(why.machine.pc()));
    Ok(Outcome { at, ending, instructions, others, refused, writable, profile, ledger, warning, signature })
}

/// Who watches stores and fetches.
struct Beside {
    caches: Caches,
    fence: Option<Fence>,
}

impl Observer for Beside {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    const TRAP: bool = true;

    fn counter(&mut self) -> Option<&mut dyn Counter> {
        if self.fence.is_some() { None } else { self.caches.counter() }
    }

    fn trap(&mut self, trap: &Trap) {
        self.caches.trap(trap);
    }

    fn retire(&mut self, retired: &Retired) {
        self.caches.retire(retired);
        if let Some(fence) = &mut self.fence {
            fence.retire(retired);
        }
    }

    fn access(&mut self, access: &Access) {
        Observer::access(&mut self.caches, access);
        if let Some(fence) = &mut self.fence {
            fence.access(access);
        }
    }
}

/// What a program reads and writes, and who stops it.
struct Terminal<'a> {
    input: &'a mut dyn Source,
    /// Whether the input has not ended.
    open: bool,
    /// Whether the program was given some of it.
    has_read: bool,
    console: &'a mut dyn Write,
    interrupted: &'a dyn Fn() -> bool,
}

impl Terminal<'_> {
    /// Passes on what the program has written.
    fn show(&mut self, machine: &mut Machine) -> io::Result<()> {
        let written = machine.take_console();
        if written.is_empty() {
            return Ok(());
        }
        self.console.write_all(&written)?;
        self.console.flush()
    }

    /// Types what the program waits for.
    fn answer(&mut self, machine: &mut Machine) -> Result<(), ProgramError> {
        let mut bytes = [0; 4096];
        match self.input.read(&mut bytes) {
            Ok(0) => {
                self.open = false;
                machine.end_input();
            }
            Ok(n) => {
                self.has_read = true;
                machine.type_in(&bytes[..n]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ProgramError::Input(error)),
        }
        Ok(())
    }
}

/// For an observer that passes nothing on while the program runs.
fn nothing<O>(_: &mut O) -> io::Result<()> {
    Ok(())
}

/// Steps in which a program is looked at whether it repeats itself, and how many slices apart.
const LOOK: u64 = 4096;
const LOOKS: u64 = 64;

/// Runs to the end, passing on what the program reads and writes in between.
fn drive<O: Observer>(
    machine: &mut Machine,
    (symbols, program): (&mut Symbols, &Elf),
    job: &Job,
    watch: &mut O,
    slice: u64,
    terminal: &mut Terminal<'_>,
    between: &mut dyn FnMut(&mut O) -> io::Result<()>,
) -> Result<Ending, ProgramError> {
    let mut left = job.max_instructions;
    let mut first = FirstTrap::default();
    for turn in 1_u64.. {
        let before = machine.instret();
        // Soon after the start, then rarely, and at the end.
        let looks = left <= LOOK || turn.is_power_of_two() && turn <= LOOKS || turn.is_multiple_of(LOOKS);
        let watches = &mut (&mut first, &mut *watch);
        let (stop, steps, repeat) = match looks {
            true => machine.run_to_repeat(left.min(LOOK), watches),
            false => {
                let budget = slice.min(left - LOOK);
                (machine.run(budget, watches), budget, None)
            }
        };
        between(watch)?;
        terminal.show(machine)?;
        left -= if stop == Stop::Input { (machine.instret() - before).min(steps) } else { steps };
        // What it has read, and files that it wrote, would not be the same.
        let alike = !terminal.has_read && job.writable.is_none() && job.proxy_kernel.is_none();
        let again = || boot(job).ok().filter(|_| alike);
        let replay = |instructions| trail::follow(again()?.machine, program, instructions);
        let mut why = Diagnosis { machine, symbols, program, source: &job.program, replay: &replay };
        match stop {
            Stop::Exit { code } => return Ok(Ending::Exited(code)),
            Stop::Idle if !terminal.open || !why.machine.listens() => {
                return Ok(Ending::Stuck(format!(
                    "the program waits for an interrupt that cannot come{}",
                    why.ends()
                )));
            }
            Stop::Semihosting { call } => {
                return Ok(Ending::Stuck(format!(
                    "the program makes the semihosting call {}, and only SYS_WRITE0, SYS_WRITEC, SYS_WRITE, SYS_EXIT, \
                     SYS_EXIT_EXTENDED and SYS_OPEN of ':tt' are answered",
                    semihosting(call)
                )));
            }
            _ => {}
        }
        let own = first.in_a_row().filter(|trap| why.is_of_handler(trap));
        if let Some(trap) = first.endless(why.machine.instret()).or(own) {
            return Ok(Ending::Stuck(why.of_trap(trap)));
        }
        if let Some(repeat) = repeat {
            return Ok(Ending::Stuck(why.of_loop(repeat, first.last)));
        }
        if (terminal.interrupted)() {
            return Ok(Ending::Interrupted);
        }
        if left == 0 {
            return Ok(Ending::Budget);
        }
        let listens = terminal.open && machine.listens();
        if matches!(stop, Stop::Input | Stop::Idle) || listens && terminal.input.is_ready() {
            terminal.answer(machine)?;
        }
    }
    Ok(Ending::Budget)
}
