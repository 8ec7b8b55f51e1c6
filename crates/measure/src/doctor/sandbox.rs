//! System calls that a sandbox refuses, by trying them.

use super::check::{Check, Look, View};
use crate::host::Attempt;

pub(super) static CHECKS: &[Check] = &[
    Check {
        code: "no-perf",
        effect: "There are no counters and no time stamps of the kernel: bills of faults are totals only.",
        look: perf,
    },
    Check { code: "no-io-uring", effect: "Probes of io_uring are skipped.", look: io_uring },
    Check {
        code: "no-userfaultfd",
        effect: "Faults that a thread of the program answers are skipped.",
        look: userfaultfd,
    },
    Check {
        code: "no-affinity",
        effect: "No task can be kept on a CPU, so nothing is measured unless the process was started on one CPU only.",
        look: affinity,
    },
    Check {
        code: "hidden-processes",
        effect: "Disturbances are noticed but not named, and facts of the system are missing.",
        look: hidden,
    },
    Check {
        code: "user-namespace",
        effect: "Being root here opens neither counters of the kernel nor tracing nor other users' tasks.",
        look: user_namespace,
    },
    Check {
        code: "time-namespace",
        effect: "Times of the kernel's log, and of programs outside, are ahead of or behind those read here.",
        look: time,
    },
];

/// How to start it where the call is allowed.
const OUTSIDE: &str = "(docker run --security-opt seccomp=FILE; systemd: SystemCallFilter=)";

/// The check of one call, which needs a kernel with `config`.
fn tried(attempt: Option<Attempt>, call: &str, config: &str) -> Look {
    let Some(attempt) = attempt else { return Look::Unknown };
    let Some(words) = attempt.words() else { return Look::Ok(format!("{call} works")) };
    let what = format!("{call} {words}");
    let fix = if attempt == Attempt::Refused(libc::ENOSYS) {
        format!("allow {call} in the filter that hides it {OUTSIDE}, or use a kernel with {config}")
    } else {
        format!("allow {call} in the filter or security module that refuses it {OUTSIDE}")
    };
    Look::Spoils(what, fix)
}

fn perf(view: &View<'_>) -> Look {
    let refused = |errno| view.watch.attempts.perf == Some(Attempt::Refused(errno));
    // The finding for that setting has the fix.
    let by_level = view.host.kernel.perf_event_paranoid.is_some_and(|level| level > 2);
    if by_level && !view.may("perfmon") && !view.may("sys_admin") && refused(libc::EACCES) {
        return Look::Unknown;
    }
    tried(view.watch.attempts.perf, "perf_event_open", "CONFIG_PERF_EVENTS")
}

fn io_uring(view: &View<'_>) -> Look {
    // The finding for that setting has the fix.
    if view.host.kernel.io_uring_disabled.is_some_and(|setting| setting != 0) {
        return Look::Unknown;
    }
    tried(view.watch.attempts.io_uring, "io_uring_setup", "CONFIG_IO_URING")
}

fn userfaultfd(view: &View<'_>) -> Look {
    tried(view.watch.attempts.userfaultfd, "userfaultfd", "CONFIG_USERFAULTFD")
}

fn affinity(view: &View<'_>) -> Look {
    let Some(words) = view.watch.attempts.affinity.map(Attempt::words) else { return Look::Unknown };
    let Some(words) = words else { return Look::Ok("tasks can be pinned to CPUs".into()) };
    let what = format!("sched_setaffinity {words}");
    let cpu = view.cpu.unwrap_or_default();
    let fix = format!(
        "start it on one CPU from outside (taskset -c {cpu} COMMAND; docker run --cpuset-cpus={cpu}), or allow the call"
    );
    if view.host.cpu.allowed.len() == 1 {
        return Look::Info(format!("{what}; one CPU may be used, so nothing need be pinned"), Some(fix));
    }
    Look::Spoils(what, fix)
}

fn hidden(view: &View<'_>) -> Look {
    let host = view.host;
    if host.unreadable.iter().any(|directory| directory == "/proc") {
        return Look::Unknown;
    }
    // A process that may trace others sees them whatever the option says.
    let sees = |option: &String| option.starts_with("hidepid=") && view.may("sys_ptrace");
    let options: Vec<&str> =
        host.proc_options.iter().filter(|option| !sees(option)).map(String::as_str).collect();
    if options.is_empty() {
        return Look::Ok("processes of others can be seen".into());
    }
    Look::Info(
        format!("/proc is mounted with {}", options.join(",")),
        Some("mount it without that (sudo mount -t proc proc /proc), or run it by sudo".into()),
    )
}

fn user_namespace(view: &View<'_>) -> Look {
    let bad = Look::info(
        "users have other numbers here than on the machine (a user namespace)",
        "run it outside of the rootless container, or in one with the machine's users",
    );
    Look::of_switch(view.host.user_namespace, "users are those of the machine", bad)
}

fn time(view: &View<'_>) -> Look {
    let Some(seconds) = view.host.monotonic_offset_s else { return Look::Unknown };
    let what = format!("the monotonic clock of this time namespace is {seconds} s from the machine's");
    Look::info(what, "figures do not need one; compare times of day instead")
}
