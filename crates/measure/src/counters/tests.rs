//! Recorded readings through the real checks: every way in which a counter can mislead.

use super::*;
use std::collections::VecDeque;
use std::io;

/// The result of each opening and each reading, in order.
#[derive(Default)]
struct Recorded {
    opens: VecDeque<Result<usize, Refused>>,
    reads: VecDeque<io::Result<Reading>>,
    opened: Vec<(Vec<Counter>, i32)>,
    closed: usize,
}

impl Counters for Recorded {
    fn open(&mut self, group: &[Counter], task: i32) -> Result<usize, Refused> {
        self.opened.push((group.to_vec(), task));
        self.opens.pop_front().unwrap_or(Ok(self.opened.len() - 1))
    }

    fn read(&mut self, _: usize) -> io::Result<Reading> {
        self.reads.pop_front().expect("a recorded reading")
    }

    fn close(&mut self) {
        self.closed += 1;
    }
}

fn reading(enabled: u64, running: u64, values: &[u64]) -> io::Result<Reading> {
    Ok(Reading { enabled, running, values: values.to_vec() })
}

fn pair(events: [Event; 2]) -> Vec<Vec<Counter>> {
    vec![events.map(|event| Counter { event, mode: Mode::User }).to_vec()]
}

const CLOCKS: [Event; 2] = [Event::Instructions, Event::Cycles];
const CACHE: [Event; 2] = [Event::CacheReferences, Event::CacheMisses];

/// One task, 100 crossings, the two readings given.
fn counted(events: [Event; 2], before: io::Result<Reading>, after: io::Result<Reading>) -> Vec<Counted> {
    let mut recorded = Recorded { reads: [before, after].into(), ..Recorded::default() };
    let counted = count(&mut recorded, &pair(events), &[0], || Ok::<u64, ()>(100));
    assert_eq!(recorded.closed, 1);
    counted.expect("the run goes well")
}

fn trouble(events: [Event; 2], before: io::Result<Reading>, after: io::Result<Reading>) -> CounterError {
    let counted = counted(events, before, after);
    let first = counted[0].per_crossing.clone().expect_err("not to be believed");
    assert!(counted.iter().all(|counter| counter.per_crossing.as_ref() == Err(&first)));
    first
}

#[test]
fn a_good_group_gives_events_for_each_crossing() {
    let counted = counted(CLOCKS, reading(10, 10, &[1_000, 500]), reading(90, 90, &[41_000, 12_345]));
    assert_eq!(counted[0].per_crossing, Ok(400.0));
    assert_eq!(counted[1].per_crossing, Ok(118.45));
    assert_eq!(counted[1].counter.name(), "cycles:u");
}

#[test]
fn the_tasks_of_a_ring_are_summed() {
    let reads = [
        reading(0, 0, &[0, 0]),
        reading(0, 0, &[0, 0]),
        reading(5, 5, &[300, 30]),
        reading(7, 7, &[100, 10]),
    ];
    let mut recorded = Recorded { reads: reads.into(), ..Recorded::default() };
    let counted = count(&mut recorded, &pair(CACHE), &[0, 77], || Ok::<u64, ()>(100)).expect("it runs");
    assert_eq!(counted[0].per_crossing, Ok(4.0));
    assert_eq!(recorded.opened.iter().map(|(_, task)| *task).collect::<Vec<_>>(), [0, 77]);
}

#[test]
fn every_refusal_has_its_reason() {
    for (errno, word) in [
        (libc::ENOENT, "no such event"),
        (libc::EOPNOTSUPP, "exposed"),
        (libc::ENODEV, "exposed"),
        (libc::EACCES, "perf_event_paranoid"),
        (libc::EPERM, "security module"),
        (libc::EINVAL, "together with the others"),
        (libc::ENOSYS, "seccomp"),
        (libc::EMFILE, "files are open"),
        (libc::EBUSY, "reserved"),
        (libc::ESRCH, "gone"),
        (libc::EIO, "refused"),
    ] {
        let opens = [Err(Refused { counter: 1, errno }), Err(Refused { counter: 0, errno })].into();
        let mut recorded = Recorded { opens, ..Recorded::default() };
        let run = || -> Result<u64, ()> { panic!("nothing is run for a group that was refused") };
        let counted = count(&mut recorded, &pair(CLOCKS), &[0], run).expect("a refusal is not an error");
        let why = counted[0].per_crossing.clone().expect_err("refused").to_string();
        assert!(why.contains(word), "{errno}: {why}");
    }
}

#[test]
fn one_group_refused_leaves_the_others() {
    let groups = [pair(CLOCKS), pair(CACHE)].concat();
    let refused = || Err(Refused { counter: 0, errno: libc::ENOENT });
    let opens = [refused(), refused(), Ok(0)].into();
    let reads = [reading(0, 0, &[0, 0]), reading(1, 1, &[100, 50])].into();
    let mut recorded = Recorded { opens, reads, ..Recorded::default() };
    let counted = count(&mut recorded, &groups, &[0], || Ok::<u64, ()>(50)).expect("it runs");
    assert!(counted[0].per_crossing.is_err() && counted[1].per_crossing.is_err());
    assert_eq!(counted[2].per_crossing, Ok(2.0));
}

#[test]
fn a_counter_that_is_refused_costs_its_own_figure_only() {
    // As on a machine that counts cycles and no instructions.
    let opens = [Err(Refused { counter: 0, errno: libc::ENOENT }), Ok(0)].into();
    let reads = [reading(0, 0, &[0]), reading(1, 1, &[700])].into();
    let mut recorded = Recorded { opens, reads, ..Recorded::default() };
    let counted = count(&mut recorded, &pair(CLOCKS), &[0], || Ok::<u64, ()>(100)).expect("it runs");
    let refused = Refused { counter: 0, errno: libc::ENOENT };
    assert_eq!(counted[0].per_crossing, Err(CounterError::Refused(refused)));
    assert_eq!(counted[1].per_crossing, Ok(7.0));
    assert_eq!(recorded.opened[1].0.len(), 1);
    // The second of three: those on both sides stay, each with its own value.
    let group = [Event::ContextSwitches, Event::PageFaults, Event::Migrations];
    let group = vec![group.map(|event| Counter { event, mode: Mode::Both }).to_vec()];
    let opens = [Err(Refused { counter: 1, errno: libc::EINVAL }), Ok(0)].into();
    let reads = [reading(0, 0, &[0, 0]), reading(1, 1, &[100, 300])].into();
    let mut recorded = Recorded { opens, reads, ..Recorded::default() };
    let counted = count(&mut recorded, &group, &[0], || Ok::<u64, ()>(100)).expect("it runs");
    assert_eq!(counted[0].per_crossing, Ok(1.0));
    assert!(counted[1].per_crossing.is_err());
    assert_eq!(counted[2].per_crossing, Ok(3.0));
}

#[test]
fn what_was_multiplexed_is_not_a_count() {
    let found = trouble(CLOCKS, reading(0, 0, &[0, 0]), reading(100, 40, &[9, 9]));
    assert_eq!(found, CounterError::Multiplexed(0.4));
    assert!(found.to_string().contains("40 %"));
}

#[test]
fn what_never_ran_is_not_zero() {
    assert_eq!(trouble(CACHE, reading(0, 0, &[0, 0]), reading(100, 0, &[0, 0])), CounterError::NeverRan);
}

#[test]
fn a_counter_that_opens_and_stays_at_zero_is_false() {
    assert_eq!(trouble(CLOCKS, reading(0, 0, &[0, 0]), reading(9, 9, &[500, 0])), CounterError::Zero);
    // No miss at all is possible.
    let counted = counted(CACHE, reading(0, 0, &[0, 0]), reading(9, 9, &[500, 0]));
    assert_eq!(counted[1].per_crossing, Ok(0.0));
}

#[test]
fn a_counter_that_falls_is_false() {
    assert_eq!(trouble(CLOCKS, reading(0, 0, &[10, 10]), reading(9, 9, &[5, 20])), CounterError::Backwards);
    assert_eq!(trouble(CLOCKS, reading(9, 9, &[0, 0]), reading(5, 5, &[5, 20])), CounterError::Backwards);
}

#[test]
fn more_misses_than_accesses_are_false() {
    assert_eq!(trouble(CACHE, reading(0, 0, &[0, 0]), reading(9, 9, &[10, 11])), CounterError::MoreThanWhole);
}

#[test]
fn a_simulators_cycles_are_found_out() {
    let simulated = counted(CLOCKS, reading(0, 0, &[0, 0]), reading(9, 9, &[40_000, 80_000]));
    // The instructions were executed; only the cycles are made up.
    assert_eq!(simulated[0].per_crossing, Ok(400.0));
    assert_eq!(simulated[1].per_crossing, Err(CounterError::Constant(2)));
    // With few counts an exact ratio may be chance.
    assert!(counted(CLOCKS, reading(0, 0, &[0, 0]), reading(9, 9, &[40, 80]))[0].per_crossing.is_ok());
}

#[test]
fn what_cannot_be_read_says_so() {
    let failed = || Err(io::Error::from_raw_os_error(libc::EIO));
    assert_eq!(trouble(CLOCKS, failed(), reading(1, 1, &[1, 1])), CounterError::Unreadable(libc::EIO));
    assert_eq!(trouble(CLOCKS, reading(0, 0, &[0, 0]), failed()), CounterError::Unreadable(libc::EIO));
}

#[test]
fn the_run_stops_with_what_stopped_it() {
    let mut recorded = Recorded { reads: [reading(0, 0, &[0, 0])].into(), ..Recorded::default() };
    assert_eq!(count(&mut recorded, &pair(CLOCKS), &[0], || Err("killed")), Err("killed"));
}

#[test]
fn no_group_mixes_modes_or_takes_more_than_any_processor_has() {
    for group in groups() {
        assert!(group.iter().all(|counter| counter.mode == group[0].mode));
        assert!(group.len() <= 2 || group.iter().all(|counter| !counter.event.hardware()));
    }
}

#[test]
fn the_kernels_own_counters_can_be_tried_on_any_machine() {
    // Whatever this machine allows, each counter ends in a figure or in a reason.
    let mut kernel = Kernel::new();
    let work = || Ok::<u64, ()>(u64::from(std::hint::black_box((0..100_000_u32).fold(1, |a, b| a ^ b)) | 1));
    let counted = count(&mut kernel, &groups(), &[0], work).expect("the work goes well");
    assert_eq!(counted.len(), groups().concat().len());
    for counter in counted {
        match counter.per_crossing {
            Ok(figure) => assert!(figure >= 0.0),
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
}
