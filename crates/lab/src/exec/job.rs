//! What is run, how it ended, and why it did not run.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tollgate_cores::{Core, CoreError};
use tollgate_riscv::Isa;

use super::calls;
use super::crossing::Crossing;
use super::tree::TreeError;
use super::watch::Watch;
use crate::boot::KernelError;
use crate::kernel::BillError;

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
    /// What else to write about it.
    pub views: Views,
}

/// What to write about a run besides its bill.
#[derive(Clone, Debug, Default)]
pub struct Views {
    /// Keep when the program was where, for [`Ran::timeline`].
    pub timeline: bool,
    /// Write instructions and accesses to this file, in DynamoRIO's format drmemtrace.
    pub drmemtrace: Option<PathBuf>,
}

impl Views {
    /// Adds them to what watches the run.
    pub(super) fn attach(&self, watch: &mut Watch) -> Result<(), ExecError> {
        let trace = self.drmemtrace.as_deref();
        watch
            .add_views(self.timeline, trace)
            .map_err(|error| ExecError::Trace(self.drmemtrace.clone().unwrap_or_default(), error))
    }
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
         console; {}", last_words(.0)
    )]
    NoProcess(String),
    #[error("the kernel ended before the program; {}", last_words(.0))]
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
        "the machine has {0} harts, and --drmemtrace writes the trace of one; leave it out, or use a machine that was booted with \
         --harts 1"
    )]
    Harts(usize),
    #[error("{0}: cannot write the trace: {1}")]
    Trace(PathBuf, io::Error),
    #[error(
        "the bill does not add up: {counted} instructions by function, {retired} by the machine's counter"
    )]
    Sum { counted: u64, retired: u64 },
    #[error("the bill does not add up: {charged} cycles by function, {cycles} on the core")]
    Cycles { charged: u64, cycles: u64 },
}

/// Memory for each task of a program; one with more tasks forks for ever. Linux permits about four times as many.
pub(super) const TASK_BYTES: u64 = 512 << 10;

fn last_words(lines: &str) -> String {
    if lines.trim().is_empty() { "it printed nothing".into() } else { format!("its last lines:\n{lines}") }
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
    /// Receives the output while the program runs; without it, all of it is in [`Ran`].
    pub output: Option<PassOn<'a>>,
}

/// Who receives the output of a program that runs.
#[derive(Clone, Copy)]
pub struct PassOn<'a> {
    /// Receives a piece of standard output if the first argument is 0, of standard error if it is 1.
    pub to: &'a dyn Fn(usize, &[u8]),
    /// The least time between two looks at the output of a program inside of Linux.
    pub every: Duration,
}

/// Why a program was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its instructions were used up.
    Budget,
    /// Somebody interrupted it.
    Interrupted,
    /// It has this number of processes and threads at once.
    Tasks(u64),
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
    pub(super) fn of_wait(status: u64) -> Self {
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
            Self::Stopped(Outcome::Budget | Outcome::Tasks(_)) => 124,
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
            Self::Stopped(Outcome::Tasks(tasks)) => format!(
                "stopped: it has {tasks} processes and threads, more than one for each {} KiB of memory; --memory gives it more",
                TASK_BYTES >> 10
            ),
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
    pub(super) watch: Watch,
    /// Instructions that the machine retired meanwhile.
    pub(super) instructions: u64,
    /// How it ended.
    pub ended: Ended,
    /// What it wrote to standard output, without what [`Limits::output`] received.
    pub output: Vec<u8>,
    /// The same of standard error.
    pub errors: Vec<u8>,
    /// The last lines of the kernel.
    pub console: String,
    pub(super) kernel: Option<String>,
}

impl Ran {
    pub(super) fn new(watch: Watch, instructions: u64) -> Self {
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

    /// How many harts the machine has.
    #[must_use]
    pub fn harts(&self) -> usize {
        self.watch.shares().count()
    }

    /// What a program that did not end well may have needed.
    #[must_use]
    pub fn missing(&self) -> Option<&'static str> {
        let calls_network = |crossing: &Crossing| match crossing {
            Crossing::Call(number) => matches!(calls::name(*number), Some("connect" | "sendto" | "sendmsg")),
            _ => false,
        };
        match self.ended {
            Ended::Exited(0) => None,
            Ended::Killed(9) if self.console.contains("Out of memory") => {
                Some("the guest ran out of memory; --memory gives it more")
            }
            _ if self.watch.counts.keys().any(|(_, _, crossing)| calls_network(crossing)) => {
                Some("it called another host or process by a socket, and the guest has no network")
            }
            _ => None,
        }
    }

    /// When the program was where, as the JSON of Chrome's trace events, and the number of stretches beyond the limit;
    /// `None` unless the job asks for it.
    pub fn timeline(&mut self) -> Option<(String, u64)> {
        let mut timeline = self.watch.timeline.take()?;
        let unit = match self.watch.cycles() {
            Some(cycles) => {
                timeline.now = cycles;
                "cycles"
            }
            None => "instructions",
        };
        Some(timeline.json(unit, |task| self.watch.is_program(task)))
    }

    /// On a core, lines that its first-level caches missed meanwhile, those of other tasks too: of instructions and of data.
    #[must_use]
    pub fn misses(&self) -> Option<[u64; 2]> {
        self.watch.misses()
    }

    /// Ends the trace of instructions, if the job asks for one; yields the number of instructions beyond its limit.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish_trace(&mut self) -> io::Result<Option<u64>> {
        self.watch.recorder.take().map(|recorder| recorder.finish()).transpose()
    }
}
