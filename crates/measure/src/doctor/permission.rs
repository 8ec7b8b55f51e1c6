//! What is forbidden, or listened to.

use super::{Look, View};

pub(super) fn perf(view: &View<'_>) -> Look {
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

pub(super) fn user_access(view: &View<'_>) -> Look {
    match view.host.kernel.perf_user_access {
        // Without counters the question does not arise.
        Some(_) if !view.host.pmu.present => Look::Unknown,
        None => Look::Unknown,
        Some(0) => Look::Info(
            "kernel.perf_user_access is 0".into(),
            Some("sudo sysctl kernel.perf_user_access=1".into()),
        ),
        Some(level) => Look::Ok(format!("kernel.perf_user_access is {level}")),
    }
}

pub(super) fn io_uring(view: &View<'_>) -> Look {
    let Some(setting) = view.host.kernel.io_uring_disabled else { return Look::Unknown };
    let fix = "sudo sysctl kernel.io_uring_disabled=0";
    match setting {
        0 => Look::Ok("io_uring may be used".into()),
        1 if view.may("sys_admin") => Look::Ok("io_uring may be used by this privileged process".into()),
        1 => Look::Spoils("kernel.io_uring_disabled is 1: for a privileged group only".into(), fix.into()),
        other => Look::Spoils(format!("kernel.io_uring_disabled is {other}: for nobody"), fix.into()),
    }
}

pub(super) fn seccomp(view: &View<'_>) -> Look {
    match view.host.kernel.seccomp {
        None => Look::Unknown,
        Some(false) => Look::Ok("no seccomp filter is in force".into()),
        Some(true) => Look::Spoils(
            "a seccomp filter is in force".into(),
            "start without it (docker run --security-opt seccomp=unconfined; systemd: SystemCallFilter=)"
                .into(),
        ),
    }
}

pub(super) fn tracer(view: &View<'_>) -> Look {
    match view.host.kernel.traced {
        None => Look::Unknown,
        Some(false) => Look::Ok("no tracer is attached".into()),
        Some(true) => Look::Spoils(
            "a debugger or tracer is attached".into(),
            "start it without strace, gdb or the like (/proc/PID/status names the TracerPid)".into(),
        ),
    }
}

pub(super) fn audit(view: &View<'_>) -> Look {
    match view.watch.audit {
        None => Look::Unknown,
        Some(false) => Look::Ok("system calls are not audited".into()),
        Some(true) => Look::Spoils(
            "the kernel's audit system is on".into(),
            "sudo auditctl -e 0, or audit=0 on the kernel's command line (tasks started before keep it)"
                .into(),
        ),
    }
}

pub(super) fn privilege(view: &View<'_>) -> Look {
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
        format!("this process (user {}) lacks {}", view.host.uid, wanted.join(", ")),
        Some(format!("sudo setcap {}=ep $(command -v tollgate), or run it by sudo", wanted.join(","))),
    )
}
