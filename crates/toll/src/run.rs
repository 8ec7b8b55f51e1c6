//! One bill's run of the command, and which source counts. A command runs once unless `repeat` is called.

use crate::account::Account;
use crate::attach::Process;
use crate::bpf::Bpf;
use crate::count::Source;
use crate::counted::{Counted, Extras};
use crate::signals::Signals;
use crate::sources::{self, Calibrated, Opened};
use crate::start::StartError;
use crate::watch::{Limits, watch};
use std::ffi::OsString;
use std::io;
use std::time::Instant;
use tollgate_record::{Warning, warning};

/// Which source is to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The best that works here.
    Auto,
    /// This one, or none.
    Only(Source),
}

impl Wanted {
    /// The names of the command line, with what each means.
    pub const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("auto", Self::Auto, "the first of these that works here"),
        ("bpf", Self::Only(Source::Bpf), "counts and times, by small programs in the kernel (as root)"),
        (
            "perf",
            Self::Only(Source::Perf),
            "counts, by records that the kernel writes while the command runs (needs tracefs)",
        ),
        (
            "ptrace",
            Self::Only(Source::Ptrace),
            "counts, without any privilege: the command is stopped before and after each system call, and takes longer",
        ),
        (
            "none",
            Self::Only(Source::Accounts),
            "no counts of calls: what the kernel accounts for every process",
        ),
    ];

    /// The sources to try, before the run without counts.
    fn sources(&self) -> &[Source] {
        match self {
            Self::Auto => &[Source::Bpf, Source::Perf],
            Self::Only(source) => std::slice::from_ref(source),
        }
    }
}

/// Runs a command, and counts with the best source of those that are wanted and work here.
///
/// # Errors
/// The command cannot be started.
pub fn run(
    command: &[OsString],
    wanted: Wanted,
    limits: Limits,
    extras: Extras,
) -> Result<Counted, StartError> {
    // From here on, because the child that measures has to live, whatever its group receives.
    let _signals = Signals::hold()?;
    let mut warnings = Vec::new();
    let text = "the timeline is skipped: only BPF can read the counts while the program runs";
    let mut no_timeline = extras.timeline.then(|| Warning::new(warning::NOT_COUNTED, text));
    let mut sources = wanted.sources().iter();
    loop {
        let source = sources.next().copied().unwrap_or(Source::Accounts);
        if source != Source::Bpf {
            warnings.extend(no_timeline.take());
        }
        if source == Source::Accounts && wanted == Wanted::Auto {
            warnings.push(Warning::new(warning::NOT_COUNTED, UNCOUNTED));
        }
        let why = match sources::open(source, extras)? {
            Ok(mut opened) => match watch(command, limits, opened.counter()) {
                // The command has not begun.
                Err(StartError::Refused { what, error }) if source != Source::Accounts => {
                    sources::refused(what, &error)
                }
                watched => {
                    let mut counted = opened.close(watched?)?;
                    warnings.append(&mut counted.warnings);
                    return Ok(Counted { warnings, ..counted });
                }
            },
            Err(why) => why,
        };
        let kind = if source == Source::Ptrace { warning::NOT_COUNTED } else { warning::COUNTED_LESS };
        warnings.push(Warning::new(kind, why));
    }
}

const UNCOUNTED: &str = "calls were not counted; --count ptrace counts them by name, with signals and new tasks, and stops the \
                         command twice at each call: that takes 10 to 100 times as long as a call";

/// Counts a process that runs already, with what it starts, until it ends, the time is up or a signal arrives. `attached` is called
/// when its tasks are counted.
///
/// # Errors
/// There is no such process, or BPF is refused.
pub fn join(
    pid: libc::pid_t,
    limits: Limits,
    extras: Extras,
    attached: impl FnOnce(),
) -> Result<Counted, StartError> {
    let signals = Signals::hold()?;
    let what = "count a process that runs already";
    let mut source = Calibrated::<Bpf>::open(extras)?
        .map_err(|error| StartError::System { what, error: io::Error::other(error) })?;
    let process = Process::open(pid)?;
    source.counter.join(&process)?;
    attached();
    let started = Instant::now();
    let counter = source.counter();
    signals.begin();
    process.wait(&signals, limits.time, counter.period(), || {
        counter.sample();
        counter.period()
    });
    counter.ended(pid);
    Box::new(source).close(Account::of_other(started.elapsed()))
}
