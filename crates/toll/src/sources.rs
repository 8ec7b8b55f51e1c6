//! The sources of counts, from the best to the one that counts nothing: each opens or says why it cannot, counts while the command
//! runs, and makes what it counted of the account.

use crate::account::{Account, End, stolen};
use crate::accounts;
use crate::bpf::{Bpf, BpfError};
use crate::calibrate::{Overhead, Yardstick};
use crate::count::{Counts, Kind, Source};
use crate::counted::{Counted, Extras};
use crate::filter;
use crate::perf::Perf;
use crate::start::StartError;
use crate::trace::Tracer;
use crate::watch::{Counter, Uncounted};
use std::io;
use std::time::Duration;
use tollgate_record::number::time;
use tollgate_record::{Estimate, Warning, warning};

/// A source that is ready to count one run.
pub(crate) trait Opened {
    /// The counter while the command runs.
    fn counter(&mut self) -> &mut dyn Counter;

    /// The counts of a run that has ended.
    fn close(self: Box<Self>, account: Account) -> Result<Counted, StartError>;
}

/// Opens a source, or says why it is refused.
pub(crate) fn open(source: Source, extras: Extras) -> Result<Result<Box<dyn Opened>, String>, StartError> {
    fn boxed<O: Opened + 'static>(opened: O) -> Box<dyn Opened> {
        Box::new(opened)
    }
    Ok(match source {
        Source::Bpf => Calibrated::<Bpf>::open(extras)?.map(boxed).map_err(|error| error.to_string()),
        Source::Perf => Calibrated::<Perf>::open(extras.stacks)?.map(boxed),
        Source::Ptrace if filter::ends_tracer() => {
            Err(refused("trace", &io::ErrorKind::PermissionDenied.into()))
        }
        Source::Ptrace => Ok(boxed(Tracer::new(extras.stacks))),
        Source::Accounts => Ok(boxed(Uncounted)),
    })
}

/// Why the kernel refused a source when the command was about to begin.
pub(crate) fn refused(what: &str, error: &io::Error) -> String {
    format!("crossings were not counted: cannot {what}: {error}")
}

/// A counter, and the child that measures its cost.
pub(crate) struct Calibrated<C> {
    pub(crate) counter: C,
    yardstick: Yardstick,
    overhead: Option<Overhead>,
    /// What the hypervisor had taken before counting began.
    stolen: Option<Duration>,
}

impl Calibrated<Bpf> {
    pub(crate) fn open(extras: Extras) -> Result<Result<Self, BpfError>, StartError> {
        let mut yardstick = Yardstick::start()?;
        let bare = yardstick.measure();
        Ok(Bpf::open(extras.stacks).map(|mut counter| {
            let overhead = bare.and_then(|bare| counter.calibrate(&mut yardstick, bare));
            if extras.windows {
                counter.start_windows();
            }
            if extras.timeline {
                counter.start_timeline();
            }
            Self { counter, yardstick, overhead, stolen: stolen() }
        }))
    }
}

impl Opened for Calibrated<Bpf> {
    fn counter(&mut self) -> &mut dyn Counter {
        &mut self.counter
    }

    /// Detaches the programs. The machine may have changed its speed meanwhile, so it is measured again.
    fn close(mut self: Box<Self>, mut account: Account) -> Result<Counted, StartError> {
        let mut counts = self.counter.take_counts();
        if let (Some(accounted), Some(after)) = (&mut counts.accounted, stolen()) {
            let before = self.stolen.unwrap_or_default();
            // Both readings are whole periods.
            let taken = after.saturating_sub(before) + Duration::from_millis(10);
            accounted.stolen_ns = taken.as_nanos() as u64;
        }
        let contradictions = accounts::check(&mut account, Some(&counts));
        let (timeline, sites) = (self.counter.take_timeline(), self.counter.take_sites());
        let unseen = counts.unseen as f64 / counts.total(Kind::Call).max(1) as f64;
        if let Some(overhead) = &mut self.overhead
            && let Some(again) = self.counter.calibrate_again(&mut self.yardstick, overhead, unseen)
        {
            *overhead = again;
        }
        drop(self.counter);
        let overhead = measured_again(self.overhead, &mut self.yardstick);
        let mut warnings = Vec::from_iter(unsteady(overhead.as_ref(), &counts, account.cpu));
        warnings.extend(contradictions);
        warnings.extend(lost(counts.lost, "tasks were not counted: too many run at once"));
        warnings.extend(lost(counts.sites_lost, SITES_LOST));
        let counted = Counted::of(Source::Bpf, account, Some(counts));
        Ok(Counted { overhead, timeline, sites, warnings, ..counted })
    }
}

impl Calibrated<Perf> {
    fn open(stacks: bool) -> Result<Result<Self, String>, StartError> {
        if filter::ends_events() {
            return Ok(Err(
                "a filter of this sandbox ends the process that opens perf events (SIGSYS)".into()
            ));
        }
        let mut yardstick = Yardstick::start()?;
        let bare = yardstick.measure();
        let opened = Perf::open(&mut yardstick, bare, stacks);
        let opened = opened.map(|(counter, overhead)| Self { counter, yardstick, overhead, stolen: None });
        Ok(opened.map_err(|error| {
            format!(
                "perf events are refused: {error}; they need a readable tracefs, and CAP_PERFMON or kernel.perf_event_paranoid at -1"
            )
        }))
    }
}

impl Opened for Calibrated<Perf> {
    fn counter(&mut self) -> &mut dyn Counter {
        &mut self.counter
    }

    fn close(mut self: Box<Self>, mut account: Account) -> Result<Counted, StartError> {
        let (mut counts, sites) = self.counter.counts(account.end);
        let overhead = measured_again(self.overhead, &mut self.yardstick);
        counts.take_faults(&account);
        let contradictions = accounts::check(&mut account, Some(&counts));
        let mut warnings = Vec::from_iter(unsteady(overhead.as_ref(), &counts, account.cpu));
        warnings.extend(contradictions);
        warnings.extend(lost(
            counts.unnamed,
            "records of the kernel were lost, because the program was faster than this one read them: the counts by name are too small by as many",
        ));
        warnings.extend(lost(
            counts.hidden,
            "set-uid programs were not counted: the kernel ends perf events at their execution (--count bpf counts them)",
        ));
        warnings.extend(lost(counts.sites_lost, SITES_LOST));
        Ok(Counted { overhead, sites, warnings, ..Counted::of(Source::Perf, account, Some(counts)) })
    }
}

impl Opened for Tracer {
    fn counter(&mut self) -> &mut dyn Counter {
        self
    }

    fn close(mut self: Box<Self>, mut account: Account) -> Result<Counted, StartError> {
        if account.end == End::Killed(libc::SIGKILL) {
            self.killed();
        }
        let (mut counts, sites) = self.counts();
        counts.take_faults(&account);
        let warnings = accounts::check(&mut account, None);
        let beside = Yardstick::start()?.measure();
        Ok(Counted { beside, sites, warnings, ..Counted::of(Source::Ptrace, account, Some(counts)) })
    }
}

impl Opened for Uncounted {
    fn counter(&mut self) -> &mut dyn Counter {
        self
    }

    fn close(self: Box<Self>, mut account: Account) -> Result<Counted, StartError> {
        let warnings = accounts::check(&mut account, None);
        Ok(Counted { warnings, ..Counted::of(Source::Accounts, account, None) })
    }
}

/// The overhead with what a call and a fault take now: the machine may have changed its speed meanwhile.
fn measured_again(overhead: Option<Overhead>, yardstick: &mut Yardstick) -> Option<Overhead> {
    let mut overhead = overhead?;
    if let Some(after) = yardstick.measure() {
        overhead.bare = overhead.bare.spanned(&after);
    }
    Some(overhead)
}

const SITES_LOST: &str = "crossings have no call site: there are too many different ones";

/// Warns of what is missing in the counts.
fn lost(count: u64, what: &str) -> Option<Warning> {
    (count > 0).then(|| Warning::new(warning::NOT_COUNTED, format!("{count} {what}")))
}

/// A larger half interval of a crossing's time, as a share of it, is a warning.
const STEADY: f64 = 0.2;
/// If all of them together are so uncertain by more than this share of the CPU time.
const MATTERS: f64 = 0.01;

/// Warns where the measurements before and after the command differ, or those of one of them.
fn unsteady(overhead: Option<&Overhead>, counts: &Counts, cpu: Duration) -> Option<Warning> {
    let overhead = overhead?;
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

/// Counts from the accounts of a run, for sources that do not count them.
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
            unsteady(Some(&overhead), &counts, Duration::from_millis(100)).map(|warning| warning.text)
        };
        assert_eq!((text(40.0, 1_000_000), text(60.0, 10_000)), (None, None));
        let text = text(60.0, 20_000).unwrap();
        assert!(text.contains("a call took 140 ns to 260 ns;"), "{text}");
    }
}
