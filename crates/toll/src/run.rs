//! One bill's run of the command, and which source counts. A command runs once unless `repeat` is called.

use crate::account::{Account, End};
use crate::accounts;
use crate::attach::Process;
use crate::bpf::{Bpf, BpfError, Overhead};
use crate::calibrate::{Pair, Yardstick};
use crate::count::{Counts, Kind, Source};
use crate::filter;
use crate::perf::Perf;
use crate::price::Prices;
use crate::signals::Signals;
use crate::sites::Sites;
use crate::start::StartError;
use crate::timeline::Timeline;
use crate::trace::Tracer;
use crate::watch::{Counter, Limits, Uncounted, watch};
use std::ffi::OsString;
use std::io;
use std::time::{Duration, Instant};
use tollgate_record::number::time;
use tollgate_record::{Estimate, Warning, warning};

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
}

/// What is wanted beside the bill, and takes more of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// When the program crossed.
    pub timeline: bool,
    /// Where it crossed from.
    pub stacks: bool,
    /// Calls are timed in windows only, however few they are. Without that, BPF does so if the program calls too often.
    pub windows: bool,
}

/// What one run of a command gave, or the medians of several.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The run that was timed. One that was counted by ptrace alone is the traced one.
    pub account: Account,
    /// What counted.
    pub source: Source,
    /// The counts, unless nothing counted.
    pub counts: Option<Counts>,
    /// What a call and a fault took beside the command, uncounted.
    pub(crate) beside: Option<Pair>,
    /// What counting added, where it was in the run that was timed.
    pub overhead: Option<Overhead>,
    /// Wall time of the run that was traced over that of those that were not, where there are both.
    pub slowdown: Option<f64>,
    /// Each run, if there are several.
    pub repeats: Vec<Repeat>,
    /// When it crossed, if that was wanted and the source can say it.
    pub timeline: Option<Timeline>,
    /// Where it crossed from, if that was wanted.
    pub sites: Option<Sites>,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
}

/// One of several runs.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// What it used, and how it ended.
    pub account: Account,
    /// What it crossed. Runs beside a traced one are not counted.
    pub counts: Option<Counts>,
    /// Whether it was traced, so that its times are not those of the others.
    pub is_traced: bool,
}

impl Repeat {
    pub(crate) fn of(run: &Counted) -> Self {
        Self { account: run.account, counts: run.counts.clone(), is_traced: run.source == Source::Ptrace }
    }

    /// How often it crossed a boundary, if it was counted.
    pub(crate) fn crossings(&self, kind: &str, name: &str) -> Option<u64> {
        let counts = &self.counts.as_ref()?.boundaries;
        let found = counts.iter().find(|((of, it), _)| of.name() == kind && it == name);
        Some(found.map_or(0, |(_, tally)| tally.count))
    }
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
    // From here on, because the child that measures has to live, whatever its group receives.
    let _signals = Signals::hold()?;
    let mut warnings = Vec::new();
    let wants = |source| match wanted {
        Wanted::Auto => [Source::Bpf, Source::Perf].contains(&source),
        Wanted::Only(only) => only == source,
    };
    if wants(Source::Bpf) {
        match Counting::open(extras)? {
            Ok(mut counting) => {
                let account = watch(command, limits, &mut counting.bpf)?;
                let counts = counting.bpf.take_counts();
                return Ok(counting.close(account, counts));
            }
            Err(error) => warnings.push(Warning::new(warning::COUNTED_LESS, error.to_string())),
        }
    }
    if extras.timeline {
        let text = "the timeline is skipped: only BPF can read the counts while the program runs";
        warnings.push(Warning::new(warning::NOT_COUNTED, text));
    }
    if wants(Source::Perf) {
        match by_perf(command, limits, extras)? {
            Ok(mut counted) => {
                warnings.append(&mut counted.warnings);
                return Ok(Counted { warnings, ..counted });
            }
            Err(text) => warnings.push(Warning::new(warning::COUNTED_LESS, text)),
        }
    }
    if wants(Source::Ptrace) {
        let mut tracer = Tracer::new(extras.stacks);
        let watched = match filter::ends_tracer() {
            true => Err(StartError::Refused { what: "trace", error: io::ErrorKind::PermissionDenied.into() }),
            false => watch(command, limits, &mut tracer),
        };
        match unless_refused(watched)? {
            Ok(mut account) => {
                if account.end == End::Killed(libc::SIGKILL) {
                    tracer.killed();
                }
                let (mut counts, sites) = tracer.counts();
                counts.take_faults(&account);
                warnings.extend(accounts::check(&mut account, None));
                let beside = Yardstick::start()?.measure();
                let counted = Counted::of(Source::Ptrace, account, Some(counts));
                return Ok(Counted { beside, sites, warnings, ..counted });
            }
            Err(text) => warnings.push(Warning::new(warning::NOT_COUNTED, text)),
        }
    }
    if wanted == Wanted::Auto {
        let text = "calls were not counted; --count ptrace counts them by name, with signals and new tasks, and stops the command \
                    twice at each call: that takes 10 to 100 times as long as a call";
        warnings.push(Warning::new(warning::NOT_COUNTED, text));
    }
    let mut account = watch(command, limits, &mut Uncounted)?;
    warnings.extend(accounts::check(&mut account, None));
    Ok(Counted { warnings, ..Counted::of(Source::Accounts, account, None) })
}

/// Counts by perf events, or says why they are refused.
fn by_perf(
    command: &[OsString],
    limits: Limits,
    extras: Extras,
) -> Result<Result<Counted, String>, StartError> {
    if filter::ends_events() {
        return Ok(Err("a filter of this sandbox ends the process that opens perf events (SIGSYS)".into()));
    }
    let mut yardstick = Yardstick::start()?;
    let bare = yardstick.measure();
    let (mut perf, mut overhead) = match Perf::open(&mut yardstick, bare, extras.stacks) {
        Ok(opened) => opened,
        Err(error) => {
            return Ok(Err(format!(
                "perf events are refused: {error}; they need a readable tracefs, and CAP_PERFMON or kernel.perf_event_paranoid at -1"
            )));
        }
    };
    let mut account = match unless_refused(watch(command, limits, &mut perf))? {
        Ok(account) => account,
        Err(text) => return Ok(Err(text)),
    };
    let (mut counts, sites) = perf.counts(account.end);
    // The machine may have changed its speed meanwhile.
    if let (Some(overhead), Some(after)) = (&mut overhead, yardstick.measure()) {
        overhead.bare = overhead.bare.spanned(&after);
    }
    counts.take_faults(&account);
    let contradictions = accounts::check(&mut account, Some(&counts));
    let found = overhead.as_ref().and_then(|it| unsteady(it, &counts, account.cpu));
    let mut warnings = Vec::from_iter(found);
    warnings.extend(contradictions);
    if counts.unnamed > 0 {
        let text = format!(
            "{} records of the kernel were lost, because the program was faster than this one read them: the counts by name are too small by as many",
            counts.unnamed
        );
        warnings.push(Warning::new(warning::NOT_COUNTED, text));
    }
    if counts.hidden > 0 {
        let text = format!(
            "{} set-uid programs were not counted: the kernel ends perf events at their execution (--count bpf counts them)",
            counts.hidden
        );
        warnings.push(Warning::new(warning::NOT_COUNTED, text));
    }
    warnings.extend(sites_lost(&counts));
    Ok(Ok(Counted { overhead, sites, warnings, ..Counted::of(Source::Perf, account, Some(counts)) }))
}

/// Warns of crossings that are in the counts and not in the call sites.
fn sites_lost(counts: &Counts) -> Option<Warning> {
    let text =
        format!("{} crossings have no call site: there are too many different ones", counts.sites_lost);
    (counts.sites_lost > 0).then(|| Warning::new(warning::NOT_COUNTED, text))
}

/// A larger half interval of what a crossing takes, as a share of it, is a warning.
const STEADY: f64 = 0.2;
/// If all of them together are so uncertain by more than this share of the CPU time.
const MATTERS: f64 = 0.01;

/// Warns where the measurements before and after the command differ, or those of one of them.
fn unsteady(overhead: &Overhead, counts: &Counts, cpu: Duration) -> Option<Warning> {
    let figures = [
        ("a call", overhead.bare.call, Kind::Call),
        ("a fault", overhead.bare.fault, Kind::Fault),
        ("a call that is counted", overhead.counted.call, Kind::Call),
        ("a fault that is counted", overhead.counted.fault, Kind::Fault),
    ];
    let is_unsteady = |&(_, ns, kind): &(&str, Estimate, Kind)| {
        let half = ns.half_width();
        half > STEADY * ns.estimate && half * counts.total(kind) as f64 > MATTERS * cpu.as_nanos() as f64
    };
    let words: Vec<String> = figures
        .into_iter()
        .filter(is_unsteady)
        .map(|(name, ns, _)| format!("{name} took {} to {}", time(ns.ci[0]), time(ns.ci[1])))
        .collect();
    let text = format!(
        "the machine was not steady: measured before and after the command, {}; what is computed from that has intervals as wide",
        words.join(", ")
    );
    (!words.is_empty()).then(|| Warning::new(warning::UNSTEADY, text))
}

/// The account of a run that counts, or why counting was refused: the command has not begun then.
fn unless_refused(passed: Result<Account, StartError>) -> Result<Result<Account, String>, StartError> {
    match passed {
        Ok(account) => Ok(Ok(account)),
        Err(StartError::Refused { what, error }) => {
            Ok(Err(format!("crossings were not counted: cannot {what}: {error}")))
        }
        Err(error) => Err(error),
    }
}

impl Counted {
    /// These prices, if nothing that is known of this run contradicts them.
    #[must_use]
    pub fn believed(&self, prices: &Prices) -> Prices {
        let beside = self.overhead.map(|overhead| overhead.bare).or(self.beside);
        prices.believed(beside, self.account.cpu, self.counts.as_ref())
    }

    /// Whether the times are those of a run that was traced.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.source == Source::Ptrace && self.slowdown.is_none()
    }

    pub(crate) fn of(source: Source, account: Account, counts: Option<Counts>) -> Self {
        let warnings = Vec::new();
        Self {
            account,
            source,
            counts,
            beside: None,
            overhead: None,
            slowdown: None,
            repeats: Vec::new(),
            timeline: None,
            sites: None,
            warnings,
        }
    }
}

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
    let mut counting = Counting::open(extras)?
        .map_err(|error| StartError::System { what, error: io::Error::other(error) })?;
    let process = Process::open(pid)?;
    counting.bpf.join(&process)?;
    attached();
    let started = Instant::now();
    let period = counting.bpf.period();
    signals.begin();
    process.wait(&signals, limits.time, period, || {
        counting.bpf.sample();
        counting.bpf.period()
    });
    counting.bpf.ended(pid);
    let counts = counting.bpf.take_counts();
    let account = Account::of_other(started.elapsed());
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
        Ok(Bpf::open(extras.stacks).map(|mut bpf| {
            let overhead = bare.and_then(|bare| bpf.calibrate(&mut yardstick, bare));
            if extras.windows {
                bpf.start_windows();
            }
            if extras.timeline {
                bpf.start_timeline();
            }
            Self { bpf, yardstick, overhead }
        }))
    }

    /// Detaches the programs. The machine may have changed its speed meanwhile, so it is measured again.
    fn close(mut self, mut account: Account, counts: Counts) -> Counted {
        let contradictions = accounts::check(&mut account, Some(&counts));
        let (timeline, sites) = (self.bpf.take_timeline(), self.bpf.take_sites());
        let unseen = counts.unseen as f64 / counts.total(Kind::Call).max(1) as f64;
        if let Some(overhead) = &mut self.overhead
            && let Some(again) = self.bpf.calibrate_again(&mut self.yardstick, overhead, unseen)
        {
            *overhead = again;
        }
        drop(self.bpf);
        if let (Some(overhead), Some(after)) = (&mut self.overhead, self.yardstick.measure()) {
            overhead.bare = overhead.bare.spanned(&after);
        }
        let found = self.overhead.as_ref().and_then(|it| unsteady(it, &counts, account.cpu));
        let mut warnings = Vec::from_iter(found);
        warnings.extend(contradictions);
        if counts.lost > 0 {
            let text = format!("{} tasks were not counted: too many run at once", counts.lost);
            warnings.push(Warning::new(warning::NOT_COUNTED, text));
        }
        warnings.extend(sites_lost(&counts));
        let overhead = self.overhead;
        Counted { overhead, timeline, sites, warnings, ..Counted::of(Source::Bpf, account, Some(counts)) }
    }
}

/// What the accounts of a run count, for sources that do not count it themselves.
impl Counts {
    fn take_faults(&mut self, account: &Account) {
        self.add(Kind::Fault, "minor", account.minor_faults);
        self.add(Kind::Fault, "major", account.major_faults);
        self.add(Kind::Switch, "to another CPU", account.migrations.unwrap_or(0));
    }

    pub(crate) fn take_switches(&mut self, account: &Account) {
        self.add(Kind::Switch, "voluntary", account.voluntary_switches);
        self.add(Kind::Switch, "involuntary", account.involuntary_switches);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::Pair;

    #[test]
    fn a_machine_that_is_not_steady_is_a_warning_where_it_matters() {
        let pair = |call: f64, half: f64| Pair {
            call: Estimate::within(call, [call - half, call + half]),
            fault: Estimate::point(1_000.0),
        };
        let text = |half, calls| {
            let overhead =
                Overhead { bare: pair(200.0, half), counted: pair(300.0, 3.0), inside: Pair::NONE };
            let mut counts = Counts::default();
            counts.add(Kind::Call, "read", calls);
            unsteady(&overhead, &counts, Duration::from_millis(100)).map(|warning| warning.text)
        };
        assert_eq!((text(40.0, 1_000_000), text(60.0, 10_000)), (None, None));
        let text = text(60.0, 20_000).unwrap();
        assert!(text.contains("a call took 140 ns to 260 ns;"), "{text}");
    }
}
