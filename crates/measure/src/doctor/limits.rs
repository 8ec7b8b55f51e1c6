//! Limits and shortages.

use super::check::{Check, Look, View};

pub(super) static CHECKS: &[Check] = &[
    Check {
        code: "cpu-quota",
        effect: "When the quota of a period is used up all our tasks stop until the next one, in the middle of a batch too.",
        look: cpu_quota,
    },
    Check {
        code: "memory-limit",
        effect: "Near the limit each fault pays for reclaiming memory, and above it the process is killed.",
        look: memory_limit,
    },
    Check {
        code: "tasks-limit",
        effect: "Probes that start threads or processes fail to start them.",
        look: tasks_limit,
    },
    Check {
        code: "process-limit",
        effect: "Probes that start threads or processes fail to start them; other tasks of the user count too.",
        look: processes,
    },
    Check {
        code: "open-files",
        effect: "Probes with many pipes or sockets cannot open them.",
        look: open_files,
    },
    Check {
        code: "address-space",
        effect: "Probes that map memory or files, and threads with their stacks, find no room.",
        look: address_space,
    },
    Check {
        code: "file-size",
        effect: "Faults on files are skipped, and a long run cannot be saved.",
        look: file_size,
    },
    Check {
        code: "locked-memory",
        effect: "The rings of io_uring, and those for the kernel's time stamps, may not fit.",
        look: locked,
    },
    Check {
        code: "low-memory",
        effect: "Page faults wait for memory to be reclaimed, and the page cache that file probes rely on is thrown out.",
        look: memory,
    },
    Check {
        code: "swap",
        effect: "Memory that was written out comes back through a major fault, a thousand times slower than a minor one.",
        look: swap,
    },
];

const MIB: u64 = 1 << 20;
/// Bytes that the probes of faults and files need without memory pressure.
const MEMORY: u64 = 512 * MIB;
/// Tasks of one run at its widest, the ring of 96 processes included, with room for the tool's own.
const TASKS: u64 = 128;
/// The same for a limit that counts everything that the user runs.
const USER_TASKS: u64 = 512;
/// The largest file that a probe makes, and records beside it.
const FILE: u64 = 32 * MIB;
/// Rings of all probes together.
const LOCKED: u64 = MIB;
/// Files of a ring of 96 pipes, and the tool's own.
const FILES: u64 = 256;

fn cpu_quota(view: &View<'_>) -> Look {
    let group = &view.host.cgroup;
    let fix = "lift it (docker run without --cpus; systemctl set-property --runtime UNIT CPUQuota=)";
    match group.cpu_max {
        // Two CPUs are the most that is ever kept busy.
        Some(cpus) if cpus < 2.0 && cpus < view.host.cpu.allowed.len().max(1) as f64 => {
            Look::Spoils(format!("the control group may use {cpus:.2} CPUs"), fix.into())
        }
        Some(cpus) if cpus < 1.0 + f64::EPSILON && view.host.cpu.allowed.len() == 1 => {
            // A quota of exactly the one CPU never runs out but for rounding at the period's end.
            Look::Info(format!("the control group may use {cpus:.2} CPUs"), Some(fix.into()))
        }
        Some(cpus) => Look::Ok(format!("the control group may use {cpus:.2} CPUs, which is enough")),
        None if group.version.is_some() => {
            Look::Ok("the control group sets no CPU quota that can be seen".into())
        }
        None => Look::Unknown,
    }
}

fn memory_limit(view: &View<'_>) -> Look {
    let what = |bytes| format!("the control group may use {} MiB of memory", bytes / MIB);
    let fix = format!("raise it to {} MiB or more (docker run --memory; memory.max)", MEMORY / MIB);
    Look::of_amount(view.host.cgroup.memory_max, MEMORY, what, fix)
}

fn tasks_limit(view: &View<'_>) -> Look {
    let what = |tasks| format!("the control group may have {tasks} tasks");
    let fix = format!("raise it to {TASKS} or more (docker run --pids-limit; pids.max)");
    Look::of_amount(view.host.cgroup.pids_max, TASKS, what, fix)
}

fn processes(view: &View<'_>) -> Look {
    // The limit does not bind privileged processes.
    let binds = !(view.may("sys_resource") || view.may("sys_admin") || view.host.uid == 0);
    let what = |limit| format!("the user may have {limit} processes and threads");
    let fix = format!("ulimit -u {USER_TASKS} (or nproc in /etc/security/limits.conf)");
    Look::of_amount(view.host.limits.processes, if binds { USER_TASKS } else { 0 }, what, fix)
}

fn open_files(view: &View<'_>) -> Look {
    let what = |limit| format!("the process may open {limit} files");
    Look::of_amount(view.host.limits.open_files, FILES, what, format!("ulimit -n {}", 4 * FILES))
}

fn address_space(view: &View<'_>) -> Look {
    let what = |bytes| format!("the process may map {} MiB of memory", bytes / MIB);
    let fix = "ulimit -v unlimited (or as in /etc/security/limits.conf)";
    Look::of_amount(view.host.limits.address_space_bytes, 4 * MEMORY, what, fix)
}

fn file_size(view: &View<'_>) -> Look {
    let what = |bytes| match bytes {
        ..FILE => format!("the process may write files of {} KiB at most", bytes >> 10),
        _ => format!("the process may write files of {} MiB", bytes / MIB),
    };
    let fix = "ulimit -f unlimited (or fsize in /etc/security/limits.conf)";
    Look::of_amount(view.host.limits.file_bytes, FILE, what, fix)
}

fn locked(view: &View<'_>) -> Look {
    let Some(bytes) = view.host.limits.locked_bytes else { return Look::Unknown };
    let what = format!("the process may lock {} KiB of memory", bytes >> 10);
    // The limit does not bind privileged processes.
    if bytes < LOCKED && !view.may("ipc_lock") {
        return Look::Info(what, Some(format!("ulimit -l {}", LOCKED >> 10)));
    }
    Look::Ok(what)
}

fn memory(view: &View<'_>) -> Look {
    let what = |bytes| format!("{} MiB of memory are available", bytes / MIB);
    let fix = "end what uses it (ps aux --sort=-rss | head), or measure on a machine with more";
    Look::of_amount(view.host.memory_available_bytes, MEMORY, what, fix)
}

fn swap(view: &View<'_>) -> Look {
    match (view.host.swap_bytes, view.host.swap_used_bytes) {
        (Some(0), _) => Look::ok("there is no swap"),
        (Some(_), Some(0)) => Look::ok("no swap is in use"),
        (Some(_), Some(used)) => {
            Look::info(format!("{} MiB are swapped out", used.div_ceil(MIB)), "sudo swapoff -a")
        }
        _ => Look::Unknown,
    }
}
