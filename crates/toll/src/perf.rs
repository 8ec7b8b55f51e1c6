//! Counts by perf events: each system call and signal is a record in a ring that this process reads meanwhile.

use crate::bpf::Overhead;
use crate::calibrate::{Pair, Yardstick};
use crate::count::{Counts, Kind, Tally, call_name};
use crate::images::Images;
use crate::rings::{Record, Rings, Stack, Wanted, What};
use crate::sites::{Place, Sites};
use crate::start::StartError;
use crate::trace::signal_name;
use crate::watch::Counter;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

/// Where the kernel describes its tracepoints.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"];
const CALLS: &str = "raw_syscalls/sys_enter";
const SIGNALS: &str = "signal/signal_deliver";

/// A ring that holds what a fast program does in this time is still small.
const PERIOD: Duration = Duration::from_millis(1);
/// As many call sites are told apart; what comes from others is counted without them.
const PLACES: usize = 1 << 16;

/// The source.
pub(crate) struct Perf {
    points: [u64; 2],
    stacks: bool,
    rings: Option<Rings>,
    counted: Counted,
}

/// What the records say.
#[derive(Default)]
struct Counted {
    calls: BTreeMap<u64, Calls>,
    counts: Counts,
    samples: u64,
    lost: u64,
    ended: u64,
    /// Processes that have executed a program which has made no call yet.
    executed: BTreeSet<libc::pid_t>,
    images: Images,
    places: BTreeMap<(Place, Kind, u64), u64>,
}

#[derive(Clone, Copy, Default)]
struct Calls {
    count: u64,
    one_byte: u64,
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
        let points = [id(&events.join(CALLS))?, id(&events.join(SIGNALS))?];
        let mut rings = Rings::open(yardstick.pid, Wanted { points: &points, stacks, now: true })?;
        // What is read meanwhile makes room for more, as it does for the command.
        let counted = yardstick.measure_while(|| _ = rings.read());
        let overhead =
            bare.zip(counted).map(|(bare, counted)| Overhead { bare, counted, inside: Pair::NONE });
        Ok((Self { points, stacks, rings: None, counted: Counted::default() }, overhead))
    }

    /// What was counted, and where it came from if that was wanted.
    pub(crate) fn counts(self) -> (Counts, Option<Sites>) {
        let Counted { calls, mut counts, samples, lost, ended, images, places, .. } = self.counted;
        for (number, calls) in &calls {
            let one_byte = Some(calls.one_byte).filter(|_| moves(*number));
            *counts.at(Kind::Call, call_name(*number)) =
                Tally { count: calls.count, one_byte, ..Tally::default() };
        }
        // The events count also what did not fit into the ring.
        let seen = counts.total(Kind::Call) + counts.total(Kind::Signal);
        counts.unnamed = lost.max(samples.saturating_sub(seen));
        counts.add(Kind::Call, "unknown calls", samples.saturating_sub(seen));
        // The call that began the command was entered before it was counted.
        counts.at(Kind::Call, call_name(libc::SYS_execve as u64)).count += 1;
        let began = 1 + counts.total(Kind::Task);
        counts.left_running = began.saturating_sub(ended + counts.hidden);
        let sites = self.stacks.then(|| {
            let sites = places.into_iter().map(|((place, kind, number), count)| {
                (place, kind, call_name(number), Tally { count, ..Tally::default() })
            });
            Sites::of(sites, &images)
        });
        (counts, sites)
    }
}

/// Whether a call moves as many bytes as its third argument says.
fn moves(number: u64) -> bool {
    [libc::SYS_read, libc::SYS_write].contains(&(number as libc::c_long))
}

impl Counted {
    fn take(&mut self, records: Vec<Record>, [calls, _]: [u64; 2]) {
        for record in records {
            self.images.apply(&record);
            let counts = &mut self.counts;
            match record.what {
                What::Point { id, words: [number, _, _, length], stack } if u64::from(id) == calls => {
                    if !self.executed.is_empty() {
                        self.executed.remove(&record.pid);
                    }
                    let calls = self.calls.entry(number).or_default();
                    calls.count += 1;
                    calls.one_byte += u64::from(length == 1);
                    if let Some(stack) = stack {
                        self.place(record.pid, number, *stack);
                    }
                }
                // The signal is the first half of the first word.
                What::Point { words: [word, ..], .. } => {
                    let bytes = word.to_ne_bytes();
                    let signal = libc::c_int::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                    counts.add(Kind::Signal, &signal_name(signal), 1);
                }
                What::Process(_) => counts.add(Kind::Task, "process", 1),
                What::Thread => counts.add(Kind::Task, "thread", 1),
                // The kernel ends the events of a set-uid program right after its execution, and reports an exit.
                What::Exit if self.executed.remove(&record.pid) => counts.hidden += 1,
                What::Exit => self.ended += 1,
                What::Exec => {
                    self.executed.insert(record.pid);
                    counts.add(Kind::Exec, "exec", 1);
                }
                What::Voluntary => counts.add(Kind::Switch, "voluntary", 1),
                What::Involuntary => counts.add(Kind::Switch, "involuntary", 1),
                What::Lost(records) => self.lost += records,
                What::Map { .. } => {}
            }
        }
    }

    fn place(&mut self, pid: libc::pid_t, number: u64, stack: Stack) {
        let image = self.images.current(pid);
        let place = Place { pid, image, frames: stack.frames, top: stack.top };
        let key = (place, Kind::Call, number);
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
        let rings = Rings::open(pid, wanted).map_err(|error| StartError::System { what, error })?;
        self.rings = Some(rings);
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
            // What is left running goes on: its samples are counted up to here, its records are not read further.
            let samples = rings.samples();
            self.counted.take(rings.finish(), self.points);
            self.counted.samples = samples;
        }
    }
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

    const POINTS: [u64; 2] = [300, 400];

    fn counted(what: &[What], samples: u64) -> Counts {
        let mut counted = Counted::default();
        let record = |what: &What| Record { time: 0, pid: 7, what: what.clone() };
        counted.take(what.iter().map(record).collect(), POINTS);
        counted.samples = samples;
        Perf { points: POINTS, stacks: false, rings: None, counted }.counts().0
    }

    fn call(number: libc::c_long, length: u64) -> What {
        What::Point { id: 300, words: [number as u64, 0, 0, length], stack: None }
    }

    #[test]
    fn what_did_not_fit_is_counted_without_a_name() {
        let signal = What::Point { id: 400, words: [libc::SIGUSR1 as u64, 0, 0, 0], stack: None };
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
