//! Counts by perf events: each system call and signal is a record in a ring that this process reads meanwhile.

use crate::account::End;
use crate::calibrate::{Overhead, Pair, Yardstick};
use crate::call::{Call, plain};
use crate::count::{Counts, Kind, Tally};
use crate::images::Images;
use crate::rings::{Record, Rings, Stack, Wanted, What};
use crate::sites::{Place, Sites};
use crate::start::StartError;
use crate::trace::{IGNORED, signal_name};
use crate::watch::Counter;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

/// Where the kernel describes its tracepoints.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"];
const CALLS: &str = "raw_syscalls/sys_enter";
const SIGNALS: &str = "signal/signal_deliver";
const SENT: &str = "signal/signal_generate";

/// A ring for the records of a fast program in this time is still small.
const PERIOD: Duration = Duration::from_millis(1);
/// As many call sites are told apart; what comes from others is counted without them.
const PLACES: usize = 1 << 16;

/// The source.
pub(crate) struct Perf {
    points: [u64; 3],
    stacks: bool,
    command: libc::pid_t,
    rings: Option<Rings>,
    counted: Counted,
}

/// The counts from the records.
#[derive(Default)]
struct Counted {
    calls: BTreeMap<Call, Calls>,
    counts: Counts,
    samples: u64,
    read: u64,
    lost: u64,
    ended: u64,
    fatal: Fatal,
    /// Processes that have executed a program which has made no call yet.
    executed: BTreeSet<libc::pid_t>,
    images: Images,
    places: BTreeMap<(Place, Call), u64>,
}

#[derive(Clone, Copy, Default)]
struct Calls {
    count: u64,
    one_byte: u64,
    /// Whether it ends the other threads of its process.
    ends: bool,
}

/// Which signals killed. The kernel ends the threads of a process by SIGKILLs of its own: at `exit_group`, at `execve`, and at a
/// signal that kills, which never arrives under its own name.
#[derive(Default)]
struct Fatal {
    /// Processes that end their threads, with the thread that called for it, or zero after a signal.
    ending: BTreeMap<libc::pid_t, libc::pid_t>,
    /// The last signal that was sent to a task and has not arrived.
    sent: BTreeMap<libc::pid_t, libc::c_int>,
    /// Processes that were killed, by which signal if it came from a task that is counted.
    killed: Vec<(libc::pid_t, Option<libc::c_int>)>,
}

impl Fatal {
    fn call(&mut self, record: &Record, ends: bool) {
        if ends {
            self.ending.insert(record.pid, record.tid);
        } else if self.ending.get(&record.pid) == Some(&record.tid) {
            // The execution has failed.
            self.ending.remove(&record.pid);
        }
    }

    fn sent(&mut self, signal: libc::c_int, task: libc::pid_t) {
        if kills(signal) {
            self.sent.insert(task, signal);
        }
    }

    /// Whether the program receives it.
    fn arrived(&mut self, record: &Record, signal: libc::c_int, is_default: bool) -> bool {
        let target = [record.tid, record.pid].into_iter().find(|task| self.sent.contains_key(task));
        let sent = target.and_then(|task| self.sent.remove(&task));
        let is_first = (signal == libc::SIGKILL || is_default && kills(signal))
            && self.ending.insert(record.pid, 0).is_none();
        if is_first && signal == libc::SIGKILL {
            self.killed.push((record.pid, sent));
        }
        signal != libc::SIGKILL
    }

    /// A process begins, or executes another program.
    fn begins(&mut self, pid: libc::pid_t) {
        self.ending.remove(&pid);
        self.sent.remove(&pid);
    }
}

/// Whether a signal ends a process that neither handles nor ignores it (signal(7)).
fn kills(signal: libc::c_int) -> bool {
    !(IGNORED.contains(&signal)
        || [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&signal))
}

impl Perf {
    /// Finds the tracepoints, and measures on the yardstick what recording adds, if it is permitted.
    pub(crate) fn open(
        yardstick: &mut Yardstick,
        bare: Option<Pair>,
        stacks: bool,
    ) -> io::Result<(Self, Option<Overhead>)> {
        let events = TRACEFS.iter().map(Path::new).find(|path| path.join(CALLS).is_dir());
        let events = events.ok_or_else(|| io::Error::other("tracefs is not mounted or not readable"))?;
        let points = [CALLS, SIGNALS, SENT].map(|point| id(&events.join(point)));
        let [calls, signals, sent] = points;
        let points = [calls?, signals?, sent?];
        let mut rings = Rings::open(yardstick.pid, Wanted { points: &points, stacks, now: true })?;
        // Reading during the calibration makes room for more records, as it does for the command.
        let counted = yardstick.measure_while(|| _ = rings.read());
        let overhead =
            bare.zip(counted).map(|(bare, counted)| Overhead { bare, counted, inside: Pair::NONE });
        let counted = Counted::default();
        Ok((Self { points, stacks, command: 0, rings: None, counted }, overhead))
    }

    /// The counts of a command with this end, and its call sites if they are wanted.
    pub(crate) fn counts(self, end: End) -> (Counts, Option<Sites>) {
        let Counted { calls, mut counts, samples, read, lost, ended, images, places, fatal, .. } =
            self.counted;
        for (pid, signal) in fatal.killed {
            let of_end = match end {
                End::Killed(signal) if pid == self.command => Some(signal),
                End::TimeUp if pid == self.command => Some(libc::SIGTERM),
                _ => None,
            };
            let name = signal.or(of_end).map_or_else(|| "unknown signal".into(), signal_name);
            counts.add(Kind::Signal, &name, 1);
        }
        for (call, calls) in &calls {
            let one_byte = Some(calls.one_byte).filter(|_| call.moves());
            *counts.at(Kind::Call, call.name()) = Tally { count: calls.count, one_byte, ..Tally::default() };
        }
        // The events count also what did not fit into the ring.
        counts.unnamed = lost.max(samples.saturating_sub(read));
        counts.add(Kind::Call, "unknown calls", samples.saturating_sub(read));
        // The call that began the command was entered before it was counted.
        counts.at(Kind::Call, Call::native(libc::SYS_execve).name()).count += 1;
        let began = 1 + counts.total(Kind::Task);
        counts.left_running = began.saturating_sub(ended + counts.hidden);
        let sites = self.stacks.then(|| {
            let sites = places.into_iter().map(|((place, call), count)| {
                (place, Kind::Call, call.name(), Tally { count, ..Tally::default() })
            });
            Sites::of(sites, &images)
        });
        (counts, sites)
    }
}

impl Counted {
    fn take(&mut self, records: Vec<Record>, [calls, _, sent]: [u64; 3]) {
        for record in records {
            self.images.apply(&record);
            self.read += u64::from(matches!(record.what, What::Point { .. }));
            let counts = &mut self.counts;
            match record.what {
                What::Point { id, words: [number, _, _, length, ..], is_compat, ref stack }
                    if u64::from(id) == calls =>
                {
                    if !self.executed.is_empty() {
                        self.executed.remove(&record.pid);
                    }
                    let call = Call::new(number, is_compat);
                    let calls = self.calls.entry(call).or_insert_with(|| Calls {
                        ends: ["exit_group", "execve", "execveat"].contains(&plain(&call.name())),
                        ..Calls::default()
                    });
                    calls.count += 1;
                    calls.one_byte += u64::from(length == 1);
                    self.fatal.call(&record, calls.ends);
                    if let Some(stack) = stack {
                        self.place(record.pid, call, stack);
                    }
                }
                // The fields of signal_generate: the signal, two numbers, 16 characters, the task, whether its process was meant, what
                // became of the signal (TRACE_SIGNAL_DELIVERED is zero).
                What::Point { id, words: [signal, _, _, task, result, ..], .. } if u64::from(id) == sent => {
                    if halves(result)[1] == 0 {
                        self.fatal.sent(halves(signal)[0], halves(task)[1]);
                    }
                }
                // Those of signal_deliver: the signal, two numbers, its handler.
                What::Point { words: [signal, _, handler, ..], .. } => {
                    let signal = halves(signal)[0];
                    if self.fatal.arrived(&record, signal, handler == libc::SIG_DFL as u64) {
                        counts.add(Kind::Signal, &signal_name(signal), 1);
                    }
                }
                What::Process(_) => {
                    self.fatal.begins(record.pid);
                    counts.add(Kind::Task, "process", 1);
                }
                What::Thread => counts.add(Kind::Task, "thread", 1),
                // The kernel ends the events of a set-uid program right after its execution, and reports an exit.
                What::Exit if self.executed.remove(&record.pid) => counts.hidden += 1,
                What::Exit => self.ended += 1,
                What::Exec => {
                    self.executed.insert(record.pid);
                    self.fatal.begins(record.pid);
                    counts.add(Kind::Exec, "exec", 1);
                }
                What::Voluntary => counts.add(Kind::Switch, "voluntary", 1),
                What::Involuntary => counts.add(Kind::Switch, "involuntary", 1),
                What::Lost(records) => self.lost += records,
                What::Map { .. } => {}
            }
        }
    }

    fn place(&mut self, pid: libc::pid_t, call: Call, stack: &Stack) {
        let image = self.images.current(pid);
        let place = Place { pid, image, frames: stack.frames.clone(), top: stack.top };
        let key = (place, call);
        if let Some(count) = self.places.get_mut(&key) {
            *count += 1;
        } else if self.places.len() < PLACES {
            self.places.insert(key, 1);
        } else {
            self.counts.sites_lost += 1;
        }
    }
}

impl Counter for Perf {
    fn attach(&mut self, pid: libc::pid_t) -> Result<(), StartError> {
        let what = "count the command by perf events";
        let wanted = Wanted { points: &self.points, stacks: self.stacks, now: false };
        let rings = Rings::open(pid, wanted).map_err(|error| StartError::Refused { what, error })?;
        (self.rings, self.command) = (Some(rings), pid);
        Ok(())
    }

    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    fn sample(&mut self) {
        let records = self.rings.as_mut().map(Rings::read).unwrap_or_default();
        self.counted.take(records, self.points);
    }

    fn ended(&mut self, _: libc::pid_t) {
        if let Some(mut rings) = self.rings.take() {
            // Tasks that are left behind continue: their samples are counted until here, their records are not read
            // further.
            let samples = rings.samples();
            self.counted.take(rings.finish(), self.points);
            self.counted.samples = samples;
        }
    }
}

/// Two fields of an event that are one word.
fn halves(word: u64) -> [libc::c_int; 2] {
    let [a, b, c, d, rest @ ..] = word.to_ne_bytes();
    [[a, b, c, d], rest].map(libc::c_int::from_ne_bytes)
}

/// The number of a tracepoint.
fn id(point: &Path) -> io::Result<u64> {
    let path = point.join("id");
    let text = fs::read_to_string(&path)
        .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
    text.trim().parse().map_err(|_| io::Error::other(format!("{} is not a number", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [u64; 3] = [300, 400, 500];

    fn counted(what: &[What], samples: u64) -> Counts {
        let mut counted = Counted::default();
        let record = |what: &What| Record { time: 0, pid: 7, tid: 7, what: what.clone() };
        counted.take(what.iter().map(record).collect(), POINTS);
        counted.samples = samples;
        Perf { points: POINTS, stacks: false, command: 7, rings: None, counted }.counts(End::Exited(0)).0
    }

    fn point(id: u16, words: [u64; 7]) -> What {
        What::Point { id, words, is_compat: false, stack: None }
    }

    fn call(number: libc::c_long, length: u64) -> What {
        point(300, [number as u64, 0, 0, length, 0, 0, 0])
    }

    /// Records of tasks of process 7 and others, after which the command has ended so.
    fn signals(records: &[(libc::pid_t, What)], end: End) -> Vec<(String, u64)> {
        let mut counted = Counted::default();
        let record = |(tid, what): &(libc::pid_t, What)| Record {
            time: 0,
            pid: tid / 10,
            tid: *tid,
            what: what.clone(),
        };
        counted.take(records.iter().map(record).collect(), POINTS);
        let (counts, _) =
            Perf { points: POINTS, stacks: false, command: 7, rings: None, counted }.counts(end);
        let signals = counts.boundaries.iter().filter(|((kind, _), _)| *kind == Kind::Signal);
        signals.map(|((_, name), tally)| (name.clone(), tally.count)).collect()
    }

    /// Two fields of an event, in the order in which they are in memory.
    fn pair(first: libc::c_int, second: libc::c_int) -> u64 {
        let bytes: Vec<u8> = [first.to_ne_bytes(), second.to_ne_bytes()].concat();
        u64::from_ne_bytes(bytes.try_into().unwrap())
    }

    #[test]
    fn what_ends_threads_is_no_signal_and_what_kills_has_its_name() {
        let arrives = |signal: libc::c_int, handler| point(400, [pair(signal, 0), 0, handler, 0, 0, 0, 0]);
        let kill = || arrives(libc::SIGKILL, 0);
        let sent = |signal: libc::c_int, task: libc::c_int| {
            point(500, [pair(signal, 0), 0, 0, pair(0, task), pair(1, 0), 0, 0])
        };
        let one = |name: &str| vec![(name.to_owned(), 1)];
        let exits = [(70, call(libc::SYS_exit_group, 0)), (71, kill()), (72, kill())];
        assert_eq!(signals(&exits, End::Exited(0)), []);
        let executes = [(71, call(libc::SYS_execve, 0)), (70, kill()), (72, kill()), (71, What::Exec)];
        assert_eq!(signals(&executes, End::Exited(0)), []);
        // All threads of the command end, by a signal from elsewhere.
        let killed = [(70, kill()), (71, kill())];
        assert_eq!(signals(&killed, End::Killed(libc::SIGTERM)), one("SIGTERM"));
        let failed =
            [&[(70, call(libc::SYS_execve, 0)), (70, call(libc::SYS_write, 0))], &killed[..]].concat();
        assert_eq!(signals(&failed, End::Killed(libc::SIGTERM)), one("SIGTERM"));
        // A child, by one that is counted or not.
        let child = [(70, sent(libc::SIGHUP, 8)), (80, kill())];
        assert_eq!(signals(&child, End::Exited(0)), one("SIGHUP"));
        assert_eq!(signals(&child[1..], End::Exited(0)), one("unknown signal"));
        // One that is handled, and one that was blocked and then kills the other threads, too.
        let handled = [(70, sent(libc::SIGUSR1, 7)), (70, arrives(libc::SIGUSR1, 0x401000))];
        assert_eq!(signals(&handled, End::Exited(0)), one("SIGUSR1"));
        let late = [(70, arrives(libc::SIGTERM, 0)), (71, kill())];
        assert_eq!(signals(&late, End::Killed(libc::SIGTERM)), one("SIGTERM"));
        let ignored = [(70, arrives(libc::SIGCHLD, 0)), (70, kill())];
        let both = [("SIGCHLD".to_owned(), 1), ("SIGKILL".to_owned(), 1)];
        assert_eq!(signals(&ignored, End::Killed(libc::SIGKILL)), both);
    }

    #[test]
    fn what_did_not_fit_is_counted_without_a_name() {
        let signal = point(400, [libc::SIGUSR1 as u64, 0, 1, 0, 0, 0, 0]);
        let read = call(libc::SYS_read, 1);
        let seen = [What::Exec, read.clone(), read, call(libc::SYS_getppid, 1), signal, What::Exit];
        let all = counted(&seen, 4);
        assert_eq!((all.unnamed, all.hidden, all.left_running), (0, 0, 0));
        assert_eq!((all.count(Kind::Call, "read"), all.count(Kind::Call, "unknown calls")), (2, 0));
        assert_eq!(all.boundaries[&(Kind::Call, "read".into())].one_byte, Some(2));
        assert_eq!(all.boundaries[&(Kind::Call, "getppid".into())].one_byte, None);
        assert_eq!((all.count(Kind::Signal, "SIGUSR1"), all.count(Kind::Call, "execve")), (1, 1));
        let lost = counted(&[&seen[..], &[What::Lost(3)]].concat(), 7);
        assert_eq!((lost.unnamed, lost.count(Kind::Call, "unknown calls")), (3, 3));
        // The kernel reports a loss with the next record only, so that the last one is in the number of samples alone.
        assert_eq!(counted(&seen, 9).unnamed, 5);
    }

    #[test]
    fn a_program_that_ends_before_its_first_call_was_hidden() {
        let hidden = counted(&[What::Exec, What::Exit], 0);
        assert_eq!((hidden.hidden, hidden.left_running), (1, 0));
    }
}
