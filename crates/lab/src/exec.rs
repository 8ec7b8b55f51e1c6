//! A program of the user's inside a real kernel, or alone: every instruction between its `execve` and its end, charged to the
//! program, its libraries and the kernel.
//!
//! The figures are exact: the same program on the same kernel takes the same instructions, and on a core the same cycles, on every
//! host and every time.

mod bill;
mod calls;
mod code;
mod linux;
mod proxy;
mod tree;
mod watch;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tollgate_cores::{Core, CoreError};
use tollgate_record::Measurement;
use tollgate_record::family::ProgramAsked;
use tollgate_riscv::Isa;

pub use code::ObjectError;
pub use linux::{Linux, Ready};
pub use tree::TreeError;

use crate::boot::KernelError;
use crate::kernel::BillError;
use tree::Rooted;
use watch::Watch;

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct ExecJob {
    /// The program: a file of this host, or of the root.
    pub program: String,
    /// Its arguments, without its name.
    pub arguments: Vec<String>,
    /// Its environment, as `NAME=VALUE`.
    pub environment: Vec<String>,
    /// A directory or an archive of tar whose files are all in the guest.
    pub root: Option<PathBuf>,
    /// Where libraries come from without a root.
    pub sysroot: PathBuf,
    /// More files that it may read.
    pub files: Vec<PathBuf>,
    /// Its standard input.
    pub input: Vec<u8>,
    /// The core whose cycles count.
    pub core: Option<Core>,
    /// When to stop a program that does not end.
    pub max_instructions: u64,
}

/// A program alone: its machine.
#[derive(Clone, Copy, Debug)]
pub struct Alone {
    /// The machine's instructions.
    pub isa: Isa,
    /// Its RAM; a multiple of 2 MiB, at most 1 GiB.
    pub ram_bytes: u64,
    /// Seed of what the program gets as random.
    pub seed: u64,
}

/// Why a program was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum ExecError {
    #[error("{0}")]
    Kernel(#[from] KernelError),
    #[error("{0}")]
    Bill(#[from] BillError),
    #[error("{0}")]
    Core(#[from] CoreError),
    #[error("{0}")]
    Tree(#[from] TreeError),
    #[error("interrupted before the program began")]
    Interrupted,
    #[error(
        "the kernel did not start the first process; it needs support of an initial RAM disk (CONFIG_BLK_DEV_INITRD) and a serial \
         console; its last lines:\n{0}"
    )]
    NoProcess(String),
    #[error("the kernel ended before the program; its last lines:\n{0}")]
    KernelEnded(String),
    #[error(
        "not a machine that waits for a program; save one by `tollgate riscv exec --kernel Image --save FILE -- PROGRAM`"
    )]
    NotReady,
    #[error("the program's files do not fit into the machine's memory; give it more with --memory")]
    NoRoom,
    #[error("the guest cannot unpack the program's files (errno {0})")]
    Unpack(u64),
    #[error("the kernel does not start {program}: {why}", why = why_refused(*error))]
    Refused { program: String, error: u64 },
    #[error(
        "{0} is linked to be loaded by {1}: without a kernel only static programs run; link it with -static, or give --kernel"
    )]
    Dynamic(String, String),
    #[error("{0}")]
    Alone(String),
    #[error(
        "the bill does not add up: {counted} instructions by function, {retired} by the machine's counter"
    )]
    Sum { counted: u64, retired: u64 },
}

fn why_refused(error: u64) -> String {
    match error {
        2 => "it, or the interpreter that it names, is not in the guest (ENOENT)".into(),
        8 => "it is not in a format that this kernel executes (ENOEXEC)".into(),
        12 => "it needs more memory than the machine has (ENOMEM); give it more with --memory".into(),
        13 => "it is not executable (EACCES)".into(),
        error => format!("errno {error}"),
    }
}

/// Limits of a run.
pub struct Limits<'a> {
    /// The most instructions of the program with what the kernel does meanwhile.
    pub instructions: u64,
    /// Whether somebody interrupts.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// Why a program was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its instructions were used up.
    Budget,
    /// Somebody interrupted it.
    Interrupted,
    /// It waits for something that cannot come.
    Waits,
    /// The kernel ended, or gave up.
    KernelEnded,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this status.
    Exited(u8),
    /// By a signal.
    Killed(u8),
    /// It was stopped.
    Stopped(Outcome),
}

impl Ended {
    /// From the status that `wait` gives (wait(2)).
    fn of_wait(status: u64) -> Self {
        match (status & 0x7f, status >> 8 & 0xff) {
            (0, code) => Self::Exited(code as u8),
            (signal, _) => Self::Killed(signal as u8),
        }
    }

    /// The exit status that a shell sees, as `tollgate exec` has it.
    #[must_use]
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Exited(status) => status,
            Self::Killed(signal) => 128 + signal,
            Self::Stopped(Outcome::Budget) => 124,
            Self::Stopped(_) => crate::status::FAILED,
        }
    }

    /// How it ended, as a sentence without its subject.
    #[must_use]
    pub fn sentence(self) -> String {
        match self {
            Self::Exited(status) => format!("exit status {status}"),
            Self::Killed(signal) => format!("killed by {}", signal_name(signal)),
            Self::Stopped(Outcome::Budget) => {
                "stopped: it has not ended; --max-instructions gives it more".into()
            }
            Self::Stopped(Outcome::Interrupted) => "interrupted".into(),
            Self::Stopped(Outcome::Waits) => {
                "stopped: it waits for something that cannot come (input, a network, another program)".into()
            }
            Self::Stopped(Outcome::KernelEnded) => "stopped: the kernel ended".into(),
        }
    }
}

/// The names of signals with a number (signal(7)).
fn signal_name(number: u8) -> String {
    const NAMES: [(u8, &str); 15] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (5, "SIGTRAP"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (24, "SIGXCPU"),
        (31, "SIGSYS"),
    ];
    let name = NAMES.iter().find(|(known, _)| *known == number);
    name.map_or_else(|| format!("signal {number}"), |(_, name)| format!("signal {number} ({name})"))
}

/// How a program ran.
pub struct Ran {
    watch: Watch,
    /// Instructions that the machine retired meanwhile.
    instructions: u64,
    /// How it ended.
    pub ended: Ended,
    /// What it wrote to standard output.
    pub output: Vec<u8>,
    /// What it wrote to standard error.
    pub errors: Vec<u8>,
    /// The last lines of the kernel.
    pub console: String,
    kernel: Option<String>,
}

impl Ran {
    fn new(watch: Watch, instructions: u64) -> Self {
        Self {
            watch,
            instructions,
            ended: Ended::Stopped(Outcome::Waits),
            output: Vec::new(),
            errors: Vec::new(),
            console: String::new(),
            kernel: None,
        }
    }

    /// The entry of the record.
    ///
    /// # Errors
    /// Parts that do not add up to what the machine counted.
    pub fn record(&self, asked: ProgramAsked) -> Result<Measurement, ExecError> {
        bill::record(self, asked)
    }
}

/// A program with all its files.
pub struct Prepared {
    job: ExecJob,
    rooted: Rooted,
}

impl Prepared {
    /// Collects the files of a program.
    ///
    /// # Errors
    /// What is missing, by name; a program for another machine.
    pub fn new(job: ExecJob) -> Result<Self, ExecError> {
        let rooted = tree::collect(&job.program, job.root.as_deref(), &job.sysroot, &job.files)?;
        Ok(Self { job, rooted })
    }

    /// The program, as it was named.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.job.program
    }

    /// The SHA-256 of the program's file.
    #[must_use]
    pub fn program_hash(&self) -> String {
        hash(self.rooted.tree.file(&self.rooted.program).unwrap_or_default())
    }

    /// That of all its files: their paths, modes and contents.
    #[must_use]
    pub fn files_hash(&self) -> String {
        hash(&self.rooted.tree.archive().unwrap_or_default())
    }

    /// Runs it inside of Linux.
    ///
    /// # Errors
    /// The program cannot be started, or the kernel ended.
    pub fn run(&self, ready: Ready, limits: &Limits<'_>) -> Result<Ran, ExecError> {
        let Self { job, rooted } = self;
        let mut words = format!("{}\0", tree::WORK).into_bytes();
        let arguments = std::iter::once(self.name()).chain(job.arguments.iter().map(String::as_str));
        for (kind, word) in
            arguments.map(|word| ('a', word)).chain(job.environment.iter().map(|word| ('e', word.as_str())))
        {
            words.extend(format!("{kind}{word}\0").bytes());
        }
        ready.run(rooted, &words, &job.input, job.core.as_ref(), limits)
    }

    /// Runs a static program without a kernel; its calls are answered by the host.
    ///
    /// # Errors
    /// A program that is not static, or cannot be loaded.
    pub fn run_alone(&self, machine: Alone, limits: &Limits<'_>) -> Result<Ran, ExecError> {
        proxy::run(&self.rooted, &self.job, self.name(), machine, limits)
    }

    /// The program's name in the guest.
    fn name(&self) -> &str {
        let given = &self.job.program;
        // Who names a program without a slash names one in the search path, and the kernel has none.
        if given.contains('/') && !Path::new(given).is_absolute() { given } else { &self.rooted.program }
    }
}

/// SHA-256 in hexadecimal.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
