//! Several runs of one command: medians, and what each run gave.

use crate::account::{Account, End};
use crate::count::{Counts, Kind, Source, Stamped, Tally};
use crate::counted::{Counted, Extras, Repeat};
use crate::run::{Wanted, run};
use crate::signals::Signals;
use crate::start::StartError;
use crate::watch::Limits;
use std::collections::BTreeSet;
use std::ffi::OsString;
use tollgate_record::{Warning, warning};

/// Runs a command several times, each counted. With ptrace the first is counted, and the others are timed. A signal that asks for
/// the end ends the series: the run that it ended counts only if it is the first. `begin` is called before each run with its number
/// from zero.
///
/// # Errors
/// The command cannot be started.
pub fn repeat(
    command: &[OsString],
    wanted: Wanted,
    limits: Limits,
    times: usize,
    mut begin: impl FnMut(usize),
) -> Result<Counted, StartError> {
    let again = Again::start()?;
    let (mut runs, mut wanted, mut end): (Vec<Counted>, _, _) = (Vec::new(), wanted, None);
    while runs.len() < times {
        begin(runs.len());
        let Some(counted) = again.run(command, wanted, limits)? else { break };
        end = end.filter(|end| *end != End::Exited(0)).or(Some(counted.account.end));
        if again.was_interrupted() && !runs.is_empty() {
            end = Some(counted.account.end);
            break;
        }
        wanted =
            Wanted::Only(if counted.source == Source::Ptrace { Source::Accounts } else { counted.source });
        runs.push(counted);
        if again.was_interrupted() {
            break;
        }
    }
    if runs.is_empty() {
        return Err(StartError::Interrupted);
    }
    let asked_for = runs.len() == times;
    let mut counted = merged(runs);
    counted.account.end = end.unwrap_or(counted.account.end);
    if !asked_for {
        let text = format!("interrupted after {} of {times} runs", counted.repeats.len().max(1));
        counted.warnings.push(Warning::new(warning::NOT_COUNTED, text));
    }
    Ok(counted)
}

/// Runs commands one after the other until a signal asks for the end. A file on standard input is read from the same place by
/// each.
pub(crate) struct Again {
    signals: Signals,
    input: Option<libc::off_t>,
}

impl Again {
    pub(crate) fn start() -> Result<Self, StartError> {
        // SAFETY: a descriptor and numbers; the place stays as it is.
        let at = unsafe { libc::lseek(0, 0, libc::SEEK_CUR) };
        Ok(Self { signals: Signals::hold()?, input: (at >= 0).then_some(at) })
    }

    /// Runs a command; `None` if a signal asked for the end before it had begun.
    pub(crate) fn run(
        &self,
        command: &[OsString],
        wanted: Wanted,
        limits: Limits,
    ) -> Result<Option<Counted>, StartError> {
        if let Some(at) = self.input {
            // SAFETY: a descriptor and numbers.
            unsafe { libc::lseek(0, at, libc::SEEK_SET) };
        }
        match run(command, wanted, limits, Extras::default()) {
            Err(StartError::Interrupted) => Ok(None),
            counted => counted.map(Some),
        }
    }

    pub(crate) fn was_interrupted(&self) -> bool {
        self.signals.was_interrupted()
    }
}

/// The medians of the runs.
fn merged(mut runs: Vec<Counted>) -> Counted {
    let repeats: Vec<Repeat> = runs.iter().map(Repeat::of).collect();
    let mut first = runs.remove(0);
    if runs.is_empty() {
        return first;
    }
    if let Some(warning) = differing(&repeats) {
        first.warnings.push(warning);
    }
    for warning in runs.iter_mut().flat_map(|it| it.warnings.drain(..)) {
        if first.warnings.iter().all(|there| there.code != warning.code) {
            first.warnings.push(warning);
        }
    }
    let is_traced = first.source == Source::Ptrace;
    // A traced run is slower than the others.
    let timed: Vec<Account> = repeats.iter().skip(usize::from(is_traced)).map(|it| it.account).collect();
    let account = median_account(&timed);
    if is_traced {
        first.slowdown = Some(first.account.wall.as_secs_f64() / account.wall.as_secs_f64().max(1e-9));
        if let Some(counts) = &mut first.counts {
            counts.take_switches(&account);
        }
    } else if let Some(counts) = repeats.iter().map(|it| it.counts.as_ref()).collect::<Option<Vec<_>>>() {
        first.counts = Some(median_counts(&counts));
    }
    let overheads = runs.iter().filter_map(|run| run.overhead);
    first.overhead = first.overhead.map(|first| overheads.fold(first, |all, next| all.spanned(&next)));
    Counted { account, repeats, ..first }
}

/// The middle one of the values; of an even number, the lower of the two in the middle, so that a count is one that was seen.
pub(crate) fn median<T: Ord + Copy>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}

fn middle<S, T: Ord + Copy + Default>(all: &[S], of: impl Fn(&S) -> T) -> T {
    median(all.iter().map(of)).unwrap_or_default()
}

fn known<S, T: Ord + Copy>(all: &[S], of: impl Fn(&S) -> Option<T>) -> Option<T> {
    median(all.iter().filter_map(of))
}

fn median_account(all: &[Account]) -> Account {
    Account {
        end: all[0].end,
        wall: middle(all, |it| it.wall),
        cpu: middle(all, |it| it.cpu),
        user: middle(all, |it| it.user),
        system: middle(all, |it| it.system),
        minor_faults: middle(all, |it| it.minor_faults),
        major_faults: middle(all, |it| it.major_faults),
        voluntary_switches: middle(all, |it| it.voluntary_switches),
        involuntary_switches: middle(all, |it| it.involuntary_switches),
        accounted_faults: middle(all, |it| it.accounted_faults),
        tree_cpu: known(all, |it| it.tree_cpu),
        migrations: known(all, |it| it.migrations),
        misses: known(all, |it| it.misses),
        resident_bytes: known(all, |it| it.resident_bytes),
    }
}

fn median_counts(all: &[&Counts]) -> Counts {
    let names: BTreeSet<&(Kind, String)> = all.iter().flat_map(|it| it.boundaries.keys()).collect();
    let tally = |name: &(Kind, String)| {
        let of_run = |it: &&Counts| it.boundaries.get(name).copied().unwrap_or_default();
        let tallies: Vec<Tally> = all.iter().map(of_run).collect();
        Tally {
            count: middle(&tallies, |it| it.count),
            errors: known(&tallies, |it| it.errors),
            one_byte: known(&tallies, |it| it.one_byte),
            kernel_ns: known(&tallies, |it| it.kernel_ns),
            kernel_error_ns: middle(&tallies, |it| it.kernel_error_ns),
            waiting_ns: known(&tallies, |it| it.waiting_ns),
        }
    };
    let stamped: Option<Vec<Stamped>> = all.iter().map(|it| it.stamped).collect();
    let stamped = stamped.map(|all| Stamped {
        cpu_ns: middle(&all, |it| it.cpu_ns),
        user_ns: middle(&all, |it| it.user_ns),
        user_error_ns: middle(&all, |it| it.user_error_ns),
        interrupts_ns: middle(&all, |it| it.interrupts_ns),
        preempted_ns: middle(&all, |it| it.preempted_ns),
        birth_ns: middle(&all, |it| it.birth_ns),
        before_ns: middle(&all, |it| it.before_ns),
    });
    Counts {
        boundaries: names.into_iter().map(|name| (name.clone(), tally(name))).collect(),
        stamped,
        accounted: None,
        left_running: middle(all, |it| it.left_running),
        lost: middle(all, |it| it.lost),
        hidden: middle(all, |it| it.hidden),
        unnamed: middle(all, |it| it.unnamed),
        unseen: middle(all, |it| it.unseen),
        windowed: middle(all, |it| it.windowed),
        windows: middle(all, |it| it.windows),
        sites_lost: middle(all, |it| it.sites_lost),
    }
}

/// The largest difference of runs of one program that repeats itself.
const REPEATS: f64 = 0.02;

/// Warns of runs that ended differently, or see different numbers of page faults.
fn differing(runs: &[Repeat]) -> Option<Warning> {
    let end = |end: End| match end {
        End::Exited(status) => format!("exit status {status}"),
        End::Killed(signal) => format!("signal {signal}"),
        End::TimeUp | End::Watched => "its time was up".into(),
    };
    let first = runs[0].account.end;
    let faults = || runs.iter().map(|it| it.account.minor_faults + it.account.major_faults);
    let (least, most) = (faults().min().unwrap_or(0), faults().max().unwrap_or(0));
    let text = if let Some((number, run)) = runs.iter().enumerate().find(|(_, it)| it.account.end != first) {
        format!(
            "the runs ended differently: {} in the first, {} in run {}",
            end(first),
            end(run.account.end),
            number + 1
        )
    } else if (most - least) as f64 > REPEATS * (least as f64).max(1.0) {
        format!(
            "the runs differ by more than 2 %: {least} to {most} page faults; the program does not repeat itself, or finds its \
             work done"
        )
    } else {
        return None;
    };
    Some(Warning::new(warning::NOT_REPEATABLE, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn faults(count: u64) -> Account {
        Account { minor_faults: count, end: End::Exited(0), ..Account::of_other(Duration::from_secs(1)) }
    }

    fn counted(source: Source, ms: u64, reads: u64) -> Counted {
        let mut counts = Counts::default();
        counts.add(Kind::Call, "read", reads);
        let time = Duration::from_millis(ms);
        let account = Account { wall: time, cpu: time, ..faults(100) };
        Counted::of(source, account, Some(counts).filter(|_| source != Source::Accounts))
    }

    #[test]
    fn several_runs_have_medians_and_keep_each_run() {
        let runs = [(30, 5), (10, 7), (20, 6)].map(|(ms, reads)| counted(Source::Perf, ms, reads));
        let all = merged(runs.to_vec());
        assert_eq!(all.account.wall, Duration::from_millis(20));
        assert_eq!(all.counts.as_ref().unwrap().count(Kind::Call, "read"), 6);
        let each: Vec<u64> =
            all.repeats.iter().map(|it| it.counts.as_ref().unwrap().count(Kind::Call, "read")).collect();
        assert_eq!(each, [5, 7, 6]);
        // A boundary that most runs do not cross.
        let mut runs = runs.to_vec();
        runs[0].counts.as_mut().unwrap().add(Kind::Call, "openat", 9);
        assert_eq!(merged(runs).counts.unwrap().count(Kind::Call, "openat"), 0);
        assert_eq!((median([4, 1, 3, 2]), median([0_u64; 0])), (Some(2), None));
    }

    #[test]
    fn a_traced_run_gives_counts_and_the_others_times() {
        let runs =
            [(Source::Ptrace, 900), (Source::Accounts, 10), (Source::Accounts, 30), (Source::Accounts, 20)];
        let all = merged(runs.map(|(source, ms)| counted(source, ms, 5)).to_vec());
        assert_eq!((all.account.wall, all.slowdown), (Duration::from_millis(20), Some(45.0)));
        assert_eq!(all.counts.as_ref().unwrap().count(Kind::Call, "read"), 5);
        assert!(!all.is_traced() && all.warnings.is_empty());
        let alone = merged(vec![counted(Source::Ptrace, 900, 5)]);
        assert!(alone.is_traced() && alone.repeats.is_empty());
    }

    #[test]
    fn runs_that_differ_by_more_than_two_percent_are_not_repeatable() {
        let warned = |one, two| {
            differing(&[one, two].map(|count| Repeat {
                account: faults(count),
                counts: None,
                is_traced: false,
            }))
            .is_some()
        };
        assert!(!warned(1_000, 1_000) && !warned(1_020, 1_000) && !warned(1_000, 1_020));
        assert!(warned(1_021, 1_000) && warned(1_000, 1_021));
        let failed = Account { end: End::Exited(1), ..faults(1_000) };
        let runs = [faults(1_000), failed].map(|account| Repeat { account, counts: None, is_traced: false });
        let text = differing(&runs).unwrap().text;
        assert!(text.contains("exit status 0 in the first, exit status 1 in run 2"), "{text}");
    }
}
