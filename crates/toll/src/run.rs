//! One bill's runs of the command: which source counts, and how many passes that takes.

use crate::account::{Account, End};
use crate::attach::Process;
use crate::bpf::{Bpf, BpfError, Overhead};
use crate::calibrate::Yardstick;
use crate::count::{Counts, Kind, Source};
use crate::filter;
use crate::start::StartError;
use crate::timeline::Timeline;
use crate::trace::Tracer;
use crate::watch::{Counter, Limits, Uncounted, watch};
use std::ffi::OsString;
use std::io;
use std::time::{Duration, Instant};
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
        ("bpf", Self::Only(Source::Bpf), "programs in the kernel, which also time (root)"),
        ("ptrace", Self::Only(Source::Ptrace), "two runs: one stopped at each call, one undisturbed"),
        ("none", Self::Only(Source::Accounts), "the kernel's accounts alone"),
    ];
}

/// What is wanted beside the bill, and takes more of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// When the program crossed.
    pub timeline: bool,
}

/// What the runs of one command gave.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The run that was timed.
    pub account: Account,
    /// What counted.
    pub source: Source,
    /// The counts, unless nothing counted.
    pub counts: Option<Counts>,
    /// What counting added, where it was in the run that was timed.
    pub overhead: Option<Overhead>,
    /// Wall time of the run that was counted over that of the one that was timed, where they are two.
    pub slowdown: Option<f64>,
    /// When it crossed, if that was wanted and the source can say it.
    pub timeline: Option<Timeline>,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
}

/// Runs a command, and counts with the source that is wanted.
///
/// # Errors
/// The command cannot be started.
pub fn run(
    command: &[OsString],
    wanted: Wanted,
    limits: Limits,
    extras: Extras,
) -> Result<Counted, StartError> {
    let mut warnings = Vec::new();
    let wants = |source| match wanted {
        Wanted::Auto => source != Source::Accounts,
        Wanted::Only(only) => only == source,
    };
    if wants(Source::Bpf) {
        match Counting::open(extras)? {
            Ok(mut counting) => {
                let mut account = watch(command, limits, &mut counting.bpf)?;
                let counts = counting.bpf.take_counts();
                let before = counts.stamped.map_or(0, |stamped| stamped.before_ns);
                account.cpu = account.cpu.saturating_sub(Duration::from_nanos(before));
                return Ok(counting.close(account, counts));
            }
            Err(error) => warnings.push(Warning::new(warning::COUNTED_LESS, error.to_string())),
        }
    }
    if extras.timeline {
        let text = "the timeline is skipped: only BPF can read the counts while the program runs";
        warnings.push(Warning::new(warning::NOT_COUNTED, text));
    }
    let mut counted = None;
    if wants(Source::Ptrace) {
        let mut tracer = Tracer::default();
        let watched = match filter::ends_tracer() {
            true => Err(StartError::System { what: "trace", error: io::ErrorKind::PermissionDenied.into() }),
            false => watch(command, limits, &mut tracer),
        };
        match watched {
            Ok(account) => counted = Some((account, tracer.counts())),
            // The tracer was refused, not the command.
            Err(StartError::System { what, error }) => {
                let text = format!("crossings were not counted: cannot {what}: {error}");
                warnings.push(Warning::new(warning::NOT_COUNTED, text));
            }
            Err(error) => return Err(error),
        }
    }
    let account = watch(command, limits, &mut Uncounted)?;
    let Some((first, mut counts)) = counted else {
        return Ok(Counted {
            account,
            source: Source::Accounts,
            counts: None,
            overhead: None,
            slowdown: None,
            timeline: None,
            warnings,
        });
    };
    warnings.extend(not_repeatable(&first, &account));
    add_accounts(&mut counts, &account);
    let slowdown = Some(first.wall.as_secs_f64() / account.wall.as_secs_f64().max(1e-9));
    Ok(Counted {
        account,
        source: Source::Ptrace,
        counts: Some(counts),
        overhead: None,
        slowdown,
        timeline: None,
        warnings,
    })
}

/// Counts a process that runs already, with what it starts, until it ends, the time is up or a signal arrives.
///
/// # Errors
/// There is no such process, or BPF is refused.
pub fn join(pid: libc::pid_t, limits: Limits, extras: Extras) -> Result<Counted, StartError> {
    let what = "count a process that runs already";
    let mut counting = Counting::open(extras)?
        .map_err(|error| StartError::System { what, error: io::Error::other(error) })?;
    let process = Process::open(pid)?;
    counting.bpf.join(&process.tasks())?;
    let started = Instant::now();
    let period = counting.bpf.period();
    process.wait(limits.time, period, || {
        counting.bpf.sample();
        counting.bpf.period()
    });
    counting.bpf.ended(pid);
    let counts = counting.bpf.take_counts();
    let mut account = Account::of_other(started.elapsed());
    account.cpu = Duration::from_nanos(counts.stamped.map_or(0, |stamped| stamped.cpu_ns));
    Ok(counting.close(account, counts))
}

/// The programs in the kernel, and the child that measures what they add.
struct Counting {
    bpf: Bpf,
    yardstick: Yardstick,
    overhead: Option<Overhead>,
}

impl Counting {
    fn open(extras: Extras) -> Result<Result<Self, BpfError>, StartError> {
        let mut yardstick = Yardstick::start()?;
        let bare = yardstick.measure();
        Ok(Bpf::open().map(|mut bpf| {
            let overhead = bare.and_then(|bare| bpf.calibrate(&mut yardstick, bare));
            if extras.timeline {
                bpf.start_timeline();
            }
            Self { bpf, yardstick, overhead }
        }))
    }

    /// Detaches the programs. The machine may have changed its speed meanwhile, so it is measured again.
    fn close(mut self, account: Account, counts: Counts) -> Counted {
        let timeline = self.bpf.take_timeline();
        drop(self.bpf);
        if let (Some(overhead), Some(after)) = (&mut self.overhead, self.yardstick.measure()) {
            overhead.bare = overhead.bare.spanned(&after);
        }
        let mut warnings = Vec::new();
        if counts.lost > 0 {
            let text = format!("{} tasks were not counted: too many run at once", counts.lost);
            warnings.push(Warning::new(warning::NOT_COUNTED, text));
        }
        let (source, overhead) = (Source::Bpf, self.overhead);
        Counted { account, source, counts: Some(counts), overhead, slowdown: None, timeline, warnings }
    }
}

/// What the accounts of an undisturbed run count.
fn add_accounts(counts: &mut Counts, account: &Account) {
    for (kind, name, count) in [
        (Kind::Fault, "minor", account.minor_faults),
        (Kind::Fault, "major", account.major_faults),
        (Kind::Switch, "voluntary", account.voluntary_switches),
        (Kind::Switch, "involuntary", account.involuntary_switches),
        (Kind::Switch, "to another CPU", account.migrations.unwrap_or(0)),
    ] {
        counts.add(kind, name, count);
    }
}

/// The largest difference of two runs of one program that repeats itself.
const REPEATS: f64 = 0.02;

/// Warns where both passes count the same thing and differ. Switches are left out: each stop of the tracer is one.
fn not_repeatable(first: &Account, second: &Account) -> Option<Warning> {
    let end = |end: End| match end {
        End::Exited(status) => format!("exit status {status}"),
        End::Killed(signal) => format!("signal {signal}"),
        End::TimeUp | End::Watched => "its time was up".into(),
    };
    let faults = |it: &Account| (it.minor_faults + it.major_faults) as f64;
    let (one, two) = (faults(first), faults(second));
    let text = if first.end != second.end {
        format!(
            "the two runs ended differently: {} when counted, {} when timed",
            end(first.end),
            end(second.end)
        )
    } else if (one - two).abs() > REPEATS * two.max(1.0) {
        format!(
            "the two runs differ by more than 2 %: {one} page faults when counted, {two} when timed; the program is not repeatable"
        )
    } else {
        return None;
    };
    Some(Warning::new(warning::NOT_REPEATABLE, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(count: u64) -> Account {
        Account { minor_faults: count, end: End::Exited(0), ..Account::of_other(Duration::from_secs(1)) }
    }

    #[test]
    fn passes_that_differ_by_more_than_two_percent_are_not_repeatable() {
        let warned = |one, two| not_repeatable(&faults(one), &faults(two)).is_some();
        assert!(!warned(1_000, 1_000) && !warned(1_020, 1_000) && !warned(980, 1_000));
        assert!(warned(1_021, 1_000) && warned(979, 1_000));
        let failed = Account { end: End::Exited(1), ..faults(1_000) };
        let text = not_repeatable(&faults(1_000), &failed).unwrap().text;
        assert!(text.contains("exit status 0 when counted, exit status 1 when timed"), "{text}");
    }
}
