//! Permissions, tracers and audit.

use super::check::{Check, Look, View};

pub(super) static CHECKS: &[Check] = &[
    Check {
        code: "perf-event-paranoid",
        effect: "Users without privilege get fewer perf events, so bills of a crossing by kernel time stamps and counts in kernel mode are missing.",
        look: perf,
    },
    Check {
        code: "perf-user-access",
        effect: "A counter is read by a system call instead of an instruction, too slowly to bracket one crossing.",
        look: user_access,
    },
    Check { code: "io-uring-disabled", effect: "Probes of io_uring are skipped.", look: io_uring },
    Check {
        code: "seccomp",
        effect: "The filter runs at every system call and is part of each figure, and it may refuse what probes need.",
        look: seccomp,
    },
    Check {
        code: "tracer",
        effect: "The tracer stops the process at signals, system calls or exits, and figures include those stops.",
        look: tracer,
    },
    Check {
        code: "audit",
        effect: "Every system call keeps a record for the audit system and takes the slow way in and out.",
        look: audit,
    },
    Check {
        code: "unprivileged",
        effect: "Kernel tracepoints, BPF and real-time priority are out of reach; every basic figure is measured all the same.",
        look: privilege,
    },
];

fn perf(view: &View<'_>) -> Look {
    let Some(level) = view.host.kernel.perf_event_paranoid else { return Look::Unknown };
    let what = format!("kernel.perf_event_paranoid is {level}");
    let fix = "sudo sysctl kernel.perf_event_paranoid=1";
    if view.may("perfmon") || view.may("sys_admin") {
        return Look::Ok(format!("{what}, which does not bind this privileged process"));
    }
    match level {
        // Distributions' own levels: events are refused altogether.
        3.. => Look::Spoils(format!("{what}: perf events of all kinds are refused"), fix.into()),
        2 => Look::Info(format!("{what}: events count user mode only"), Some(fix.into())),
        _ => Look::Ok(what),
    }
}

fn user_access(view: &View<'_>) -> Look {
    match view.host.kernel.perf_user_access {
        // Without counters the question does not arise.
        Some(_) if !view.host.pmu.present => Look::Unknown,
        None => Look::Unknown,
        Some(0) => Look::info("kernel.perf_user_access is 0", "sudo sysctl kernel.perf_user_access=1"),
        Some(level) => Look::Ok(format!("kernel.perf_user_access is {level}")),
    }
}

fn io_uring(view: &View<'_>) -> Look {
    let Some(setting) = view.host.kernel.io_uring_disabled else { return Look::Unknown };
    let fix = "sudo sysctl kernel.io_uring_disabled=0";
    match setting {
        0 => Look::Ok("io_uring may be used".into()),
        1 if view.may("sys_admin") => Look::Ok("io_uring may be used by this privileged process".into()),
        1 => Look::Spoils("kernel.io_uring_disabled is 1: for a privileged group only".into(), fix.into()),
        other => Look::Spoils(
            format!("kernel.io_uring_disabled is {other}: io_uring is off for everyone"),
            fix.into(),
        ),
    }
}

fn seccomp(view: &View<'_>) -> Look {
    let fix = "start without it (docker run --security-opt seccomp=unconfined; systemd: SystemCallFilter=)";
    let bad = Look::spoils("a seccomp filter is in force", fix);
    Look::of_switch(view.host.kernel.seccomp, "no seccomp filter is in force", bad)
}

fn tracer(view: &View<'_>) -> Look {
    let fix = "start it without strace, gdb or the like (/proc/PID/status names the TracerPid)";
    let bad = Look::spoils("a debugger or tracer is attached", fix);
    Look::of_switch(view.host.kernel.traced, "no tracer is attached", bad)
}

fn audit(view: &View<'_>) -> Look {
    let fix = "sudo auditctl -e 0, or audit=0 on the kernel's command line (tasks started before keep it)";
    let bad = Look::spoils("the kernel's audit system is on", fix);
    Look::of_switch(view.watch.audit, "system calls are not audited", bad)
}

fn privilege(view: &View<'_>) -> Look {
    if view.may("sys_admin") {
        return Look::Ok("this process is privileged".into());
    }
    let missing: Vec<&str> =
        ["perfmon", "bpf", "sys_nice"].into_iter().filter(|name| !view.may(name)).collect();
    if missing.is_empty() {
        return Look::Ok("this process may trace the kernel".into());
    }
    let wanted: Vec<String> = missing.iter().map(|name| format!("cap_{name}")).collect();
    Look::Info(
        format!("this process (user {}) does not have {}", view.host.uid, wanted.join(", ")),
        Some(format!("sudo setcap {}=ep $(command -v tollgate), or run it by sudo", wanted.join(","))),
    )
}
