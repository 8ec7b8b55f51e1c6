//! Every source counts the small programs of `tests/bin/programs.rs` exactly.

use std::ffi::OsString;
use std::process::{Child, Command};
use tollgate_testkit::skip_case;
use tollgate_toll::Kind::{Call, Exec, Fault, Signal, Switch, Task};
use tollgate_toll::{Counted, End, Extras, Kind, Limits, Source, Wanted, run};

/// A program, how many crossings it is asked for, and what must be counted for each: kind, name, count.
type Program = (&'static str, u64, &'static [(Kind, &'static str, u64)]);

const PROGRAMS: &[Program] = &[
    ("getppid", 1000, &[(Call, "getppid", 1)]),
    ("read-byte", 300, &[(Call, "read", 1)]),
    ("read-page", 300, &[(Call, "read", 1)]),
    ("write-byte", 300, &[(Call, "write", 1)]),
    ("open-close", 200, &[(Call, "openat", 1), (Call, "close", 1)]),
    ("failing-open", 200, &[(Call, "openat", 1)]),
    ("filtered", 200, &[(Call, "getppid", 1)]),
    ("bad-call", 100, &[(Call, "call 999", 1)]),
    ("mmap-munmap", 200, &[(Call, "mmap", 1), (Call, "munmap", 1), (Call, "madvise", 1)]),
    ("yield", 200, &[(Call, "sched_yield", 1)]),
    ("sleep", 50, &[(Call, "clock_nanosleep", 1), (Switch, "voluntary", 1)]),
    ("anonymous", 1000, &[(Fault, "minor", 1), (Fault, "anonymous", 1)]),
    ("zero-page", 1000, &[(Fault, "minor", 1), (Fault, "zero page", 1)]),
    ("copy-on-write", 500, &[(Fault, "minor", 2), (Fault, "zero page", 1), (Fault, "copy on write", 1)]),
    ("file", 300, &[(Fault, "minor", 1), (Fault, "file", 1)]),
    ("major", 100, &[(Fault, "major", 1)]),
    ("huge", 20, &[(Fault, "minor", 1), (Fault, "huge", 1)]),
    ("protection", 200, &[(Call, "mprotect", 2), (Signal, "SIGSEGV", 1), (Fault, "protection", 1)]),
    ("signal", 200, &[(Signal, "SIGUSR1", 1), (Call, "rt_sigreturn", 1)]),
    ("fork", 50, &[(Task, "process", 1), (Signal, "SIGCHLD", 0)]),
    ("thread", 50, &[(Task, "thread", 1), (Call, "clone3", 1)]),
    ("exec", 10, &[(Exec, "exec", 1), (Call, "execve", 1)]),
    // The thread that executes takes the number of the first one.
    ("exec-in-thread", 10, &[(Exec, "exec", 1), (Call, "execve", 1), (Task, "thread", 1)]),
    ("ping-pong", 200, &[(Call, "read", 2), (Call, "write", 2)]),
];

/// Programs begin at the same addresses each time, and run on one CPU: otherwise there is a fault more or less.
fn steady() {
    // SAFETY: properties of this process that programs inherit; the set of CPUs is valid for its size.
    unsafe {
        libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        let mut cpus: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut cpus);
        libc::sched_setaffinity(0, size_of_val(&cpus), &cpus);
    }
}

fn count(wanted: Source, name: &str, n: u64) -> Counted {
    count_with(Extras::default(), wanted, name, n)
}

fn count_with(extras: Extras, wanted: Source, name: &str, n: u64) -> Counted {
    let command: Vec<OsString> =
        vec![env!("CARGO_BIN_EXE_toll-programs").into(), name.into(), n.to_string().into()];
    run(&command, Wanted::Only(wanted), Limits::default(), extras).unwrap()
}

/// The kinds of faults that the kernel's accounts tell apart.
fn is_account(kind: Kind, name: &str) -> bool {
    kind != Fault || ["minor", "major"].contains(&name)
}

/// Not faults of kinds that a source does not tell apart, or tells apart only where the processor has the event.
fn is_counted(source: Source, kind: Kind, name: &str) -> bool {
    // Each stop of a tracer is a switch.
    let is_known = kind != Switch || source != Source::Ptrace;
    is_known && ((source == Source::Bpf) != is_account(kind, name) || kind != Fault || name == "major")
}

/// As many attempts for a program: on a crowded machine the start of a process has a fault or a switch more or less.
const ATTEMPTS: usize = 4;

fn exact(source: Source) {
    exact_with(Extras::default(), source);
}

fn exact_with(extras: Extras, source: Source) {
    steady();
    let mut wrong = Vec::new();
    for program in PROGRAMS {
        let mut differences = Vec::new();
        for _ in 0..ATTEMPTS {
            differences = differing(extras, source, program);
            if differences.is_empty() {
                break;
            }
        }
        wrong.append(&mut differences);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is not counted as often as it happens.
fn differing(extras: Extras, source: Source, &(name, n, expected): &Program) -> Vec<String> {
    let (none, all) = (count_with(extras, source, name, 0), count_with(extras, source, name, n));
    if all.source != source {
        skip_case!(name, "{} is refused here: {:?}", source.name(), all.warnings);
        return Vec::new();
    }
    let counted = expected.iter().filter(|(kind, boundary, _)| is_counted(source, *kind, boundary));
    let difference = |&(kind, boundary, each): &(Kind, &str, u64)| {
        let of = |counted: &Counted| counted.counts.as_ref().map_or(0, |counts| counts.count(kind, boundary));
        let (got, due) = (of(&all) as i64 - of(&none) as i64, (n * each) as i64);
        (got != due).then(|| format!("{name}: {got} of {boundary} where {due} are due"))
    };
    counted.filter_map(difference).collect()
}

#[test]
fn the_tracer_counts_exactly() {
    exact(Source::Ptrace);
}

#[test]
fn perf_events_count_exactly() {
    exact(Source::Perf);
}

#[test]
fn bpf_counts_exactly() {
    exact(Source::Bpf);
}

/// Calls are timed in windows only, of which the first opens after most of these programs have ended.
const WINDOWS: Extras = Extras { timeline: false, stacks: false, windows: true };

#[test]
fn bpf_counts_exactly_by_the_exits_of_calls_alone() {
    exact_with(WINDOWS, Source::Bpf);
}

/// Through many switches, also those to tasks that are not counted, and through windows.
#[test]
fn bpf_counts_two_million_calls_exactly() {
    steady();
    for extras in [Extras::default(), WINDOWS] {
        let differences = differing(extras, Source::Bpf, &("getppid", 2_000_000, &[(Call, "getppid", 1)]));
        assert!(differences.is_empty(), "{extras:?}: {differences:?}");
    }
}

/// Two tasks that wait for each other, through windows and between them.
#[test]
fn windows_lose_no_call_and_no_time() {
    const N: u64 = 100_000;
    steady();
    let counted = count_with(WINDOWS, Source::Bpf, "ping-pong", N);
    if counted.source != Source::Bpf {
        return tollgate_testkit::skip!("{:?}", counted.warnings);
    }
    let counts = counted.counts.as_ref().unwrap();
    let stamped = counts.stamped.unwrap();
    if counts.windows == 0 {
        return tollgate_testkit::skip!("this kernel has no windows");
    }
    assert!(counts.unseen > 0, "{counts:?}");
    for name in ["read", "write"] {
        assert!((2 * N..2 * N + 100).contains(&counts.count(Call, name)), "{name}: {counts:?}");
    }
    // Each nanosecond on the CPU is somewhere, and only there.
    let of = |kind| -> u64 {
        let tallies = counts.boundaries.iter().filter(|((of, _), _)| *of == kind);
        tallies.filter_map(|(_, tally)| tally.kernel_ns).sum()
    };
    let in_kernel = of(Call) + of(Fault) + stamped.interrupts_ns + stamped.birth_ns;
    let parts = stamped.user_ns + in_kernel as i64;
    let apart = parts.abs_diff(stamped.cpu_ns as i64) as f64 / stamped.cpu_ns as f64;
    assert!(apart < 0.01, "{parts} of {}: {counts:?}", stamped.cpu_ns);
}

/// A task that never sleeps, until it is dropped.
struct Spinner(Child);

impl Spinner {
    fn start() -> Self {
        Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// A task that never waits is ready to run while another has its CPU, also if it loses the CPU inside a call.
#[test]
fn a_task_that_lost_its_cpu_inside_a_call_did_not_wait() {
    steady();
    let _spinner = Spinner::start();
    let counted = count(Source::Bpf, "getppid", 3_000_000);
    if counted.source != Source::Bpf {
        return tollgate_testkit::skip!("{:?}", counted.warnings);
    }
    let counts = counted.counts.unwrap();
    let waited = counts.boundaries[&(Call, "getppid".to_owned())].waiting_ns;
    assert_eq!(waited, Some(0), "of {} ns in all", counts.stamped.unwrap().preempted_ns);
    assert!(counts.stamped.unwrap().preempted_ns > 0);
}

/// The names and states of the processes that this thread traces.
fn traced() -> Vec<String> {
    // SAFETY: a call without arguments.
    let mine = format!("\nTracerPid:\t{}\n", unsafe { libc::gettid() });
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let status = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("status")).ok());
    status
        .filter(|it| it.contains(&mine))
        .map(|it| it.lines().take(3).collect::<Vec<_>>().join(", "))
        .collect()
}

#[test]
fn nothing_that_a_command_leaves_behind_stays_stopped() {
    // The children are new when the command ends: the tracer has not seen all of them stop.
    let command: Vec<OsString> =
        ["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do (sleep 1; sleep 1) & done"].map(OsString::from).into();
    for _ in 0..10 {
        let counted =
            run(&command, Wanted::Only(Source::Ptrace), Limits::default(), Extras::default()).unwrap();
        if counted.source != Source::Ptrace {
            return tollgate_testkit::skip!("{:?}", counted.warnings);
        }
        assert_eq!(traced(), [""; 0]);
    }
}

#[test]
fn a_filter_of_the_command_kills_it_as_it_does_uncounted() {
    for source in [Source::Accounts, Source::Ptrace, Source::Perf, Source::Bpf] {
        let counted = count(source, "refused", 1);
        assert_eq!(counted.account.end, End::Killed(libc::SIGSYS), "{source:?}");
    }
}

#[test]
fn the_slices_of_the_timeline_sum_to_the_bill() {
    let command: Vec<OsString> =
        [env!("CARGO_BIN_EXE_toll-programs"), "sleep", "300"].map(OsString::from).into();
    let extras = Extras { timeline: true, ..Extras::default() };
    let counted = run(&command, Wanted::Auto, Limits::default(), extras).unwrap();
    let Some(timeline) = &counted.timeline else {
        assert!(counted.warnings.iter().any(|it| it.text.contains("timeline is skipped")));
        return tollgate_testkit::skip!("{:?}", counted.warnings);
    };
    let counts = counted.counts.as_ref().unwrap();
    for ((kind, name), tally) in &counts.boundaries {
        assert_eq!(timeline.crossings(*kind, name).iter().sum::<u64>(), tally.count, "{kind:?} {name}");
    }
    // 300 sleeps of 200 microseconds are in many slices, the calls that start a program in the first ones.
    let sleeps = timeline.crossings(Call, "clock_nanosleep");
    assert!(sleeps.iter().filter(|count| **count > 0).count() >= 3, "{sleeps:?}");
    assert!(sleeps.iter().all(|count| *count < 300), "{sleeps:?}");
}
