//! The kernel's own accounts: of a task that is still there, and whether they agree with what was counted.

use crate::account::{Account, End, tick};
use crate::count::{Counts, Kind};
use std::fs;
use std::thread;
use std::time::Duration;
use tollgate_record::number::time;
use tollgate_record::{Warning, warning};

/// The kernel's account of one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskAccount {
    pub(crate) ran_ns: u64,
    pub(crate) switches: u64,
    pub(crate) faults: u64,
}

impl TaskAccount {
    /// `None` if there is no such task, or it is a zombie, which runs no more.
    pub(crate) fn of(tid: libc::pid_t) -> Option<Self> {
        let read = |name: &str| fs::read_to_string(format!("/proc/{tid}/task/{tid}/{name}")).ok();
        Self::parse(&read("schedstat")?, &read("status")?, &read("stat")?)
    }

    /// From files of proc(5).
    fn parse(schedstat: &str, status: &str, stat: &str) -> Option<Self> {
        let ran_ns = schedstat.split_whitespace().next()?.parse().ok()?;
        let value = |key: &str| -> Option<u64> {
            status.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok()
        };
        let switches = value("voluntary_ctxt_switches:")? + value("nonvoluntary_ctxt_switches:")?;
        // The name, in parentheses, may contain anything. Behind it the state is field 3, the faults are 10 and 12.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        if ["Z", "X"].contains(fields.first()?) {
            return None;
        }
        let fault = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self { ran_ns, switches, faults: fault(10)? + fault(12)? })
    }
}

/// A larger difference is a contradiction, as a share of what the kernel has accounted.
const APART: f64 = 0.1;
/// The stamps of a switch and the kernel's own differ by as much, in nanoseconds.
const SWITCH_NS: f64 = 1_000.0;
/// The kernel fills the first pages of a new program itself, and accounts these faults, too.
const PREPARED: f64 = 64.0;
/// As many switches at the beginning and the end of a task may be on either side.
const ENDS: f64 = 2.0;
/// The same of perf events: they begin in the middle of the execution, and the kernel takes them away early in the end.
const EVENT_ENDS: f64 = 20.0;

/// Compares what was counted with the kernel's own accounts of the same tasks, and warns of each part that contradicts them. The
/// CPU time is that of all tasks, also of those that nobody waited for.
pub(crate) fn check(account: &mut Account, counts: Option<&Counts>) -> Vec<Warning> {
    let mut found = Vec::new();
    found.extend(check_stamps(account, counts));
    found.extend(check_cpu(account, counts));
    found.extend(check_switches(account, counts));
    found.extend(check_faults(account, counts));
    found
}

fn contradicted(text: String) -> Warning {
    Warning::new(warning::CONTRADICTED, text)
}

/// The time stamps of BPF.
fn check_stamps(account: &Account, counts: Option<&Counts>) -> Option<Warning> {
    let counts = counts?;
    let (stamped, accounted) = (counts.stamped?, counts.accounted?);
    let (ours, theirs) = (stamped.cpu_ns as f64, accounted.ran_ns as f64);
    // A task that is on a CPU is accounted at its next tick: at the end, and where tasks ran already when counting began.
    let at_begin =
        if account.end == End::Watched { thread::available_parallelism().map_or(1, usize::from) } else { 0 };
    let ticks = (tick().as_nanos() as u64 * (1 + accounted.running + at_begin as u64)) as f64;
    let error = APART * theirs + SWITCH_NS * counts.switches() as f64 + ticks + accounted.stolen_ns as f64;
    ((ours - theirs).abs() > error).then(|| {
        contradicted(format!(
            "CPU time: the time stamps of the bill have {}, the kernel's accounts of the same tasks {}",
            time(ours),
            time(theirs)
        ))
    })
}

/// The accounts of a process contain those of children that it has waited for.
fn check_cpu(account: &mut Account, counts: Option<&Counts>) -> Option<Warning> {
    let all = match counts.and_then(|counts| counts.accounted) {
        Some(accounted) => Duration::from_nanos(accounted.ran_ns),
        None => account.tree_cpu?,
    };
    if account.end == End::Watched {
        account.cpu = all;
        return None;
    }
    let waited_for = account.cpu;
    let error = waited_for.mul_f64(APART) + 2 * tick();
    if all > waited_for + error || counts.is_some_and(|counts| counts.accounted.is_some()) {
        account.cpu = all;
    }
    let is_left = counts.is_some_and(|counts| counts.left_running > 0);
    (all > waited_for + error && !is_left).then(|| {
        contradicted(format!(
            "user and kernel time: the command and the children that it waited for used {}, all of its tasks {}; the share of user \
             mode is that of the first",
            time(waited_for.as_nanos() as f64),
            time(all.as_nanos() as f64)
        ))
    })
}

fn check_switches(account: &Account, counts: Option<&Counts>) -> Option<Warning> {
    let counts = counts?;
    let (theirs, whose, ends) = match counts.accounted {
        Some(accounted) => (accounted.switches, "the same tasks", ENDS),
        None => {
            let both = account.voluntary_switches + account.involuntary_switches;
            (both, "the command and what it waited for", EVENT_ENDS)
        }
    };
    let ours = counts.switches();
    let tasks = 1 + counts.total(Kind::Task) + counts.accounted.map_or(0, |accounted| accounted.running);
    let error = ends * tasks as f64 + APART * theirs as f64;
    // Lost or hidden counts are reported elsewhere.
    let is_whole = counts.unnamed == 0 && counts.hidden == 0 && counts.lost == 0;
    (is_whole && (ours as f64 - theirs as f64).abs() > error).then(|| {
        contradicted(format!("switches: {ours} were counted, the kernel accounts {theirs} for {whose}"))
    })
}

/// The kernel also accounts the faults that it takes itself when it pins a page of the program for a call.
fn check_faults(account: &Account, counts: Option<&Counts>) -> Option<Warning> {
    let counts = counts?;
    let (theirs, whose) = match counts.accounted {
        Some(accounted) => (accounted.faults, "the same tasks"),
        None => (account.accounted_faults, "the command and what it waited for"),
    };
    let ours = counts.total(Kind::Fault) - counts.count(Kind::Fault, "protection");
    let programs = 1 + counts.total(Kind::Exec) + counts.count(Kind::Task, "process");
    let error = PREPARED * programs as f64 + APART * theirs as f64;
    (counts.hidden == 0 && counts.lost == 0 && (ours as f64 - theirs as f64).abs() > error).then(|| {
        contradicted(format!(
            "page faults: {ours} were counted, the kernel accounts {theirs} for {whose}, with those that it takes itself"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::{Accounted, Stamped};

    const STATUS: &str = "Name:\tsleep\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t2\n";

    #[test]
    fn accounts_of_a_task_are_those_of_proc() {
        let stat = "12 (a) b) S 1 2 3 4 5 6 100 200 5 300 8 9";
        let account = TaskAccount { ran_ns: 3_000, switches: 9, faults: 105 };
        assert_eq!(TaskAccount::parse("3000 44 9\n", STATUS, stat), Some(account));
        assert_eq!(TaskAccount::parse("3000 44 9\n", STATUS, "12 (a) Z 1 2 3 4 5 6 1 2 3 4 5"), None);
        assert_eq!(TaskAccount::parse("", STATUS, stat), None);
    }

    /// Time stamps and accounts of one command, in milliseconds, with its switches and faults.
    fn parts(cpu: [u64; 2], switches: [u64; 2], faults: [u64; 2]) -> Vec<String> {
        parts_beside(0, cpu, switches, faults)
    }

    /// The same where the hypervisor took some milliseconds.
    fn parts_beside(stolen: u64, cpu: [u64; 2], switches: [u64; 2], faults: [u64; 2]) -> Vec<String> {
        let ns = |ms: u64| ms * 1_000_000;
        let mut counts = Counts {
            stamped: Some(Stamped { cpu_ns: ns(cpu[0]), ..Stamped::default() }),
            accounted: Some(Accounted {
                ran_ns: ns(cpu[1]),
                switches: switches[1],
                faults: faults[1],
                running: 0,
                stolen_ns: ns(stolen),
            }),
            ..Counts::default()
        };
        counts.add(Kind::Switch, "voluntary", switches[0]);
        counts.add(Kind::Fault, "anonymous", faults[0]);
        let mut account = Account::of_other(Duration::from_secs(1));
        let found = check(&mut account, Some(&counts));
        assert_eq!(account.cpu, Duration::from_millis(cpu[1]), "the CPU time is the kernel's");
        assert!(found.iter().all(|it| it.code == warning::CONTRADICTED));
        found.iter().map(|it| it.text.split(':').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_part_that_contradicts_the_accounts_is_named() {
        assert_eq!(parts([1_000, 1_000], [500, 501], [300, 320]), [""; 0]);
        // Eight idle threads, each billed for one second.
        assert_eq!(parts([8_000, 1], [0, 0], [0, 0]), ["CPU time"]);
        assert_eq!(parts([1_000, 2_000], [500, 100], [3_000, 300]), ["CPU time", "switches", "page faults"]);
        // Time that the hypervisor took is in the stamps, and in no account of a task.
        assert_eq!(parts([15_000, 10_000], [500, 501], [300, 320]), ["CPU time"]);
        assert_eq!(parts_beside(4_500, [15_000, 10_000], [500, 501], [300, 320]), [""; 0]);
        // One tick is within the error of a task that has just begun.
        assert_eq!(parts([3, 0], [2, 1], [0, 64]), [""; 0]);
    }

    #[test]
    fn children_that_nobody_waits_for_are_in_the_cpu_time() {
        let mut account = Account {
            end: End::Exited(0),
            cpu: Duration::from_millis(10),
            tree_cpu: Some(Duration::from_millis(100)),
            ..Account::of_other(Duration::from_secs(1))
        };
        let found = check(&mut account, None);
        assert!(found[0].text.starts_with("user and kernel time: ") && found.len() == 1, "{found:?}");
        assert_eq!(account.cpu, Duration::from_millis(100));
        account.cpu = Duration::from_millis(95);
        assert_eq!(check(&mut account, None), []);
        assert_eq!(account.cpu, Duration::from_millis(95), "within the error");
    }
}
