//! System calls that a sandbox refuses: each is a skip or a failure with a sentence, never a figure that
//! is wrong.

use crate::case::{CASE, Case, go_through};
use crate::json;
use crate::places::done;
use crate::scene::Scene;

#[test]
fn refused_system_calls() {
    go_through("e2e::refused::refused_system_calls", CASES);
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "io_uring forbidden",
        args: "run null syscall/io_uring-nop --quick --budget-ms 300 --json --no-save",
        scene: |scene| refuse(scene, &[Rule::all(libc::SYS_io_uring_setup, libc::EPERM)]),
        then: |outcome| one_skipped(outcome, "syscall/io_uring-nop", "io_uring", "allows io_uring_setup"),
        ..CASE
    },
    Case {
        name: "io_uring unknown to the kernel",
        args: "run null syscall/io_uring-nop --quick --budget-ms 300 --json --no-save",
        scene: |scene| refuse(scene, &[Rule::all(libc::SYS_io_uring_setup, libc::ENOSYS)]),
        then: |outcome| one_skipped(outcome, "syscall/io_uring-nop", "io_uring", ""),
        ..CASE
    },
    Case {
        name: "perf forbidden",
        args: "run null syscall/getppid --quick --budget-ms 300 --json --no-save",
        scene: |scene| refuse(scene, &[Rule::all(libc::SYS_perf_event_open, libc::EACCES)]),
        then: |outcome| {
            let run = outcome.printed();
            assert_eq!(json::statuses(&run), ["measured"; 2]);
            assert_eq!(run["host"]["pmu"]["present"], false);
            assert!(run["host"]["pmu"]["reason"].as_str().unwrap().len() > 10, "{}", run["host"]["pmu"]);
        },
        ..CASE
    },
    Case {
        name: "perf unknown to the kernel, for the doctor",
        args: "doctor",
        prints: &["[no-pmu]", "no hardware counters", "[seccomp]"],
        scene: |scene| refuse(scene, &[Rule::all(libc::SYS_perf_event_open, libc::ENOSYS)]),
        ..CASE
    },
    Case {
        name: "pinning forbidden",
        args: "run null --quick --store {dir}/store",
        exit: 1,
        says: &["pin to cpu", "Operation not permitted", "nothing is measured without a pin", "--cpu"],
        scene: |scene| refuse(scene, &[Rule::all(libc::SYS_sched_setaffinity, libc::EPERM)]),
        then: |outcome| assert!(outcome.stdout.is_empty()),
        ..CASE
    },
    Case {
        name: "pinning forbidden, for the doctor",
        args: "doctor",
        prints: &["pin to cpu", "[pin]", "sandbox"],
        scene: |scene| refuse(scene, &[Rule::all(libc::SYS_sched_setaffinity, libc::EPERM)]),
        ..CASE
    },
    Case {
        name: "pinning forbidden, for the list",
        args: "list",
        exit: 1,
        says: &["pin to cpu", "nothing is measured without a pin"],
        scene: |scene| refuse(scene, &[Rule::all(libc::SYS_sched_setaffinity, libc::EPERM)]),
        ..CASE
    },
    Case {
        name: "seccomp forbidden, for exec: the command is counted less and runs",
        args: "exec --count auto --price none --no-save -- false",
        exit: 1,
        says: &["exit status 1"],
        scene: |scene| {
            let all = [libc::SYS_seccomp, libc::SYS_bpf, libc::SYS_ptrace];
            refuse(scene, &all.map(|call| Rule::all(call, libc::EPERM)))
        },
        ..CASE
    },
    Case {
        name: "every new process forbidden",
        args: "run null --quick --no-save",
        exit: 1,
        says: &["the worker process could not be started: Operation not permitted", "outside the sandbox"],
        scene: |scene| refuse(scene, &TASKS.map(|call| Rule::all(call, libc::EPERM))),
        ..CASE
    },
    Case {
        name: "fork forbidden to the probes",
        args: "run null process/futex spawn/fork --quick --budget-ms 300 --json --no-save",
        scene: |scene| {
            // What starts a program shares its memory until then (CLONE_VM); what forks does not. The
            // flags of clone3 are out of a filter's sight, so the C library is sent to clone.
            let clone = Rule { unless: libc::CLONE_VM as u32, ..Rule::all(libc::SYS_clone, libc::EPERM) };
            refuse(scene, &[Rule::all(libc::SYS_clone3, libc::ENOSYS), clone])
        },
        then: |outcome| {
            let run = outcome.printed();
            assert_eq!(json::statuses(&run), ["measured", "skipped", "skipped"]);
            for result in &run["results"].as_array().unwrap()[1..] {
                assert!(result["enable"].as_str().unwrap().contains("sandbox"), "{result}");
            }
        },
        ..CASE
    },
    Case {
        name: "signals forbidden to the probes",
        args: "run null signal/self --quick --budget-ms 300 --json --no-save",
        scene: |scene| refuse(scene, &[Rule::all(libc::SYS_tgkill, libc::EPERM)]),
        exit: crate::case::ANY,
        then: |outcome| {
            let run = outcome.printed();
            let signal = json::result(&run, "signal/self");
            assert_ne!(signal["status"], "measured", "{signal}");
            assert!(signal["reason"].as_str().unwrap().contains("not permitted"), "{signal}");
            assert_eq!(run["results"][0]["status"], "measured");
        },
        ..CASE
    },
];

/// Every call that makes a process or a thread.
#[cfg(target_arch = "x86_64")]
const TASKS: [libc::c_long; 4] = [libc::SYS_clone3, libc::SYS_clone, libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const TASKS: [libc::c_long; 2] = [libc::SYS_clone3, libc::SYS_clone];

fn one_skipped(outcome: &crate::scene::Outcome, probe: &str, reason: &str, enable: &str) {
    let run = outcome.printed();
    assert_eq!(json::statuses(&run), ["measured", "skipped"]);
    let result = json::result(&run, probe);
    assert!(result["reason"].as_str().unwrap().contains(reason), "{result}");
    let remedy = result["enable"].as_str().unwrap();
    assert!(!remedy.is_empty() && remedy.contains(enable), "{result}");
}

/// A call that is refused.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    call: libc::c_long,
    /// What the kernel does instead.
    action: u32,
    /// Bits of the first argument that let it pass.
    unless: u32,
}

impl Rule {
    pub(crate) const fn all(call: libc::c_long, error: i32) -> Self {
        Self { call, action: libc::SECCOMP_RET_ERRNO | error as u32, unless: 0 }
    }

    /// Ends the process that makes the call.
    pub(crate) const fn kill(call: libc::c_long) -> Self {
        Self { call, action: libc::SECCOMP_RET_KILL_PROCESS, unless: 0 }
    }
}

/// Starts the program, and all that it starts, behind a filter.
pub(crate) fn refuse(scene: &mut Scene, rules: &[Rule]) -> Result<(), String> {
    let filter = filter(rules).ok_or("the filter is written for x86-64 and aarch64")?;
    scene.in_child(move || {
        let program =
            libc::sock_fprog { len: filter.len() as libc::c_ushort, filter: filter.as_ptr().cast_mut() };
        // SAFETY: the first call takes integers; the program of the second is valid for its length and
        // only read.
        done(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
        // SAFETY: as above.
        done(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) })
    });
    Ok(())
}

/// The rules as a program of the kernel's classic packet filter.
fn filter(rules: &[Rule]) -> Option<Vec<libc::sock_filter>> {
    /// AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h.
    const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
        Some(0xc000_003e)
    } else if cfg!(target_arch = "aarch64") {
        Some(0xc000_00b7)
    } else {
        None
    };
    /// Where `struct seccomp_data` has the call's number, the architecture, and the low half of the
    /// first argument.
    const PLACES: [u32; 3] = [0, 4, 16];
    let step = |code, k, jt, jf| libc::sock_filter { code: code as u16, k, jt, jf };
    let load = |place| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, place, 0, 0);
    let give = |value| step(libc::BPF_RET | libc::BPF_K, value, 0, 0);
    let equal = |value, skip| step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, 0, skip);
    let any_bit = |bits, skip| step(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, bits, skip, 0);
    let mut program = vec![load(PLACES[1]), equal(ARCHITECTURE?, 0)];
    for rule in rules {
        program.extend([
            load(PLACES[0]),
            equal(rule.call as u32, 3),
            load(PLACES[2]),
            any_bit(rule.unless, 1),
        ]);
        program.push(give(rule.action));
    }
    program.push(give(libc::SECCOMP_RET_ALLOW));
    Some(program)
}
