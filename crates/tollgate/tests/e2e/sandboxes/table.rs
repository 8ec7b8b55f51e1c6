//! The table of places.

use super::blocks::{self, Done};
use crate::places::{close, limited, pin_child, program_size, small_disk};
use crate::refused::{Rule, refuse};
use crate::scene::Scene;

/// One place.
pub(crate) struct Place {
    /// Its row in the table.
    pub(crate) name: &'static str,
    /// How it is set up, in the order of the blocks.
    pub(crate) enter: fn(&mut Scene) -> Done,
    /// What cannot be measured there, beside what cannot be measured on this host anyway.
    pub(crate) takes: &'static [Take],
    /// What doctor says there.
    pub(crate) finds: &'static [&'static str],
    /// Commands that end with a sentence instead of a document.
    pub(crate) refuses: &'static [Refused],
    /// The commands that it can change: a filter of one system call that is tried with two errors, or a home, reaches few.
    pub(crate) runs: &'static [&'static str],
    /// Whether it says which CPU there is.
    pub(crate) its_cpu: bool,
    /// What counts for `exec` there, where BPF counts without the place.
    pub(crate) counts: Source,
}

/// What counts for `exec`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Source {
    Bpf,
    /// This one, and the bill says why no other does.
    Only(&'static str, &'static str),
    /// That depends on the moment.
    Any,
    /// Nothing is counted: the exit status, and what standard error says.
    Refused(i32, &'static str),
}

const NO_PRIVILEGE: Source = Source::Only("none", "it needs root, or CAP_BPF and CAP_PERFMON");
const NO_EVENTS: Source = Source::Only("none", "BPF program");
const NO_TYPES: Source = Source::Only("none", "the kernel does not describe its types");

/// Rows that a place removes.
pub(crate) struct Take {
    /// The command, or empty for all.
    pub(crate) command: &'static str,
    /// The rows: probes, each with a star at most, apart by blanks.
    pub(crate) rows: &'static str,
    /// What becomes of them.
    pub(crate) status: &'static str,
    /// What the reason must say.
    pub(crate) reason: &'static str,
    /// What would enable it must say.
    pub(crate) enable: &'static str,
    /// Whether that is so for each such row: otherwise it depends on the moment, and any of them may be
    /// measured.
    pub(crate) always: bool,
}

const fn skip(command: &'static str, rows: &'static str, reason: &'static str, enable: &'static str) -> Take {
    Take { command, rows, status: "skipped", reason, enable, always: true }
}

const fn perhaps(take: Take) -> Take {
    Take { always: false, ..take }
}

const fn failed(command: &'static str, rows: &'static str, reason: &'static str) -> Take {
    Take { command, rows, status: "failed", reason, enable: "", always: true }
}

const NO_STAMPS: Take = Take {
    command: "crossing",
    rows: "fault/*",
    status: "total only",
    reason: "perf",
    enable: "",
    always: false,
};
/// Stamps take a descriptor, too.
const FEW_STAMPS: Take = Take { reason: "ulimit -n", ..NO_STAMPS };
/// What may be missing anywhere, because it depends on the moment.
pub(crate) const ANYWHERE: &[Take] =
    // Memory may be in pieces: then the kernel gives small pages, and the page cache is filled with small folios.
    &[
        perhaps(skip("faults", "fault/huge-page", "instead of 8 huge ones", "fragmented")),
        perhaps(skip("faults", "fault/large-folio", "written in large pieces", "fragmented")),
    ];

const NO_BPF: Take = skip("crossing", "*-tracepoint", "BPF", "CAP_BPF");
const NO_IO_URING: Take = skip("ladder", "syscall/io_uring-nop", "io_uring", "io_uring_setup");
const NO_USERFAULTFD: Take = skip("faults", "fault/userfaultfd*", "userfaultfd is refused", "sandbox");
const NO_PAIR: Take = skip("ladder", "core/*", "it needs two CPUs", "second CPU");
const NO_PAIR_FAULT: Take = skip("faults", "fault/userfaultfd-other-cpu", "it needs two CPUs", "second CPU");
const NO_PROC: Take = skip("ladder", "spawn/posix_spawn", "/proc is not mounted", "mount -t proc");
const NO_PAGEMAP: Take =
    skip("faults", "fault/around fault/large-folio", "/proc/self/pagemap", "mount /proc");
const NO_HUGE: Take = skip("faults", "fault/huge-page", "huge page", "/sys");
const NO_FILES: Take = skip("faults", FILES, "cannot be", "TMPDIR");
const FILE_SIZE: Take = skip("faults", FILES, "RLIMIT_FSIZE", "ulimit -f");
/// Which of the others are left depends on the order in which they are opened.
const NO_TASK: Take = perhaps(skip("", "*", "no further task", "ulimit -u"));
const NO_TASK_RING: Take = perhaps(failed("ring", "ring/pipe", "no further task may be created"));

/// The kinds of fault for which a file is made.
const FILES: &str = "fault/around fault/cached-page fault/direct-read fault/large-folio fault/major \
                     fault/populate-read fault/private-file fault/shared-file";

const fn ends(command: &'static str, says: &'static str) -> Refused {
    Refused { command, exit: 1, says }
}

/// A failed pin is a failed measurement.
const UNPINNED: &[Refused] = &[
    ends("ladder", "nothing is measured without a pin"),
    ends("crossing", "nothing is measured without a pin"),
    ends("faults", "nothing is measured without a pin"),
];
const KILLED: &[Refused] = &[ends("ladder", "SIGSYS"), ends("crossing", "SIGSYS"), ends("faults", "SIGSYS")];

/// A command that ends with a sentence.
pub(crate) struct Refused {
    pub(crate) command: &'static str,
    pub(crate) exit: i32,
    /// What standard error must say.
    pub(crate) says: &'static str,
}

/// The commands that use the host.
const HOST: &[&str] = &["ladder", "crossing", "faults", "ring", "doctor"];
/// A simulation uses files and memory only.
const EVERY: &[&str] = &["ladder", "crossing", "faults", "ring", "riscv trap", "doctor"];

/// What a row need not say.
const PLACE: Place = Place {
    name: "",
    enter: |_| Ok(()),
    takes: &[],
    finds: &[],
    refuses: &[],
    runs: HOST,
    its_cpu: false,
    counts: Source::Bpf,
};

pub(crate) static PLACES: &[Place] = &[
    // Filters of system calls.
    Place {
        name: "perf_event_open refused (EPERM)",
        enter: |scene| refuse(scene, &[Rule::all(libc::SYS_perf_event_open, libc::EPERM)]),
        takes: &[NO_STAMPS],
        finds: &["seccomp", "no-perf"],
        counts: NO_EVENTS,
        ..PLACE
    },
    Place {
        name: "perf_event_open unknown (ENOSYS)",
        runs: &["crossing", "doctor"],
        enter: |scene| refuse(scene, &[Rule::all(libc::SYS_perf_event_open, libc::ENOSYS)]),
        takes: &[NO_STAMPS],
        finds: &["seccomp", "no-perf"],
        counts: NO_EVENTS,
        ..PLACE
    },
    Place {
        name: "io_uring_setup refused (EPERM)",
        enter: |scene| refuse(scene, &[Rule::all(libc::SYS_io_uring_setup, libc::EPERM)]),
        takes: &[NO_IO_URING],
        finds: &["seccomp", "no-io-uring"],
        ..PLACE
    },
    Place {
        name: "io_uring_setup unknown (ENOSYS)",
        runs: &["ladder", "doctor"],
        enter: |scene| refuse(scene, &[Rule::all(libc::SYS_io_uring_setup, libc::ENOSYS)]),
        takes: &[NO_IO_URING],
        finds: &["seccomp", "no-io-uring"],
        ..PLACE
    },
    Place {
        name: "userfaultfd refused (EPERM)",
        enter: |scene| refuse(scene, &[Rule::all(libc::SYS_userfaultfd, libc::EPERM)]),
        takes: &[NO_USERFAULTFD],
        finds: &["seccomp", "no-userfaultfd"],
        ..PLACE
    },
    Place {
        name: "userfaultfd unknown (ENOSYS)",
        runs: &["faults", "doctor"],
        enter: |scene| refuse(scene, &[Rule::all(libc::SYS_userfaultfd, libc::ENOSYS)]),
        takes: &[NO_USERFAULTFD],
        finds: &["seccomp", "no-userfaultfd"],
        ..PLACE
    },
    Place {
        name: "sched_setaffinity refused (EPERM)",
        enter: |scene| refuse(scene, &[Rule::all(libc::SYS_sched_setaffinity, libc::EPERM)]),
        takes: &[failed("ring", "*", "taskset -c")],
        finds: &["seccomp", "no-affinity", "pin"],
        refuses: UNPINNED,
        ..PLACE
    },
    Place {
        name: "sched_setaffinity unknown (ENOSYS)",
        enter: |scene| refuse(scene, &[Rule::all(libc::SYS_sched_setaffinity, libc::ENOSYS)]),
        takes: &[failed("ring", "*", "taskset -c")],
        finds: &["seccomp", "no-affinity", "pin"],
        refuses: UNPINNED,
        ..PLACE
    },
    Place {
        name: "sched_setaffinity refused, on one CPU",
        enter: |scene| {
            pin_child(scene, 0);
            refuse(scene, &[Rule::all(libc::SYS_sched_setaffinity, libc::EPERM)])
        },
        its_cpu: true,
        takes: &[NO_PAIR, NO_PAIR_FAULT],
        finds: &["seccomp", "no-affinity", "one-cpu"],
        ..PLACE
    },
    Place {
        name: "a filter that kills (perf, io_uring, userfaultfd)",
        enter: |scene| {
            refuse(
                scene,
                &[libc::SYS_perf_event_open, libc::SYS_io_uring_setup, libc::SYS_userfaultfd].map(Rule::kill),
            )
        },
        takes: &[
            failed("ladder", "syscall/io_uring-nop", "SIGSYS"),
            failed("faults", "fault/userfaultfd*", "SIGSYS"),
            perhaps(failed("crossing", "fault/*", "SIGSYS")),
            perhaps(failed("faults", "*", "SIGSYS")),
        ],
        finds: &["seccomp", "no-perf", "no-io-uring", "no-userfaultfd"],
        counts: Source::Only("none", "a filter of this sandbox"),
        ..PLACE
    },
    Place {
        name: "a filter that kills (sched_setaffinity)",
        enter: |scene| refuse(scene, &[Rule::kill(libc::SYS_sched_setaffinity)]),
        takes: &[failed("ring", "*", "SIGSYS")],
        finds: &["seccomp", "no-affinity", "pin"],
        refuses: KILLED,
        ..PLACE
    },
    Place {
        name: "as in a Docker container",
        runs: EVERY,
        enter: |scene| {
            blocks::own_mounts(scene)?;
            blocks::read_only(scene, "/sys")?;
            blocks::masked(scene, MASKED)?;
            blocks::few_capabilities(scene)?;
            refuse(scene, &docker())
        },
        takes: &[NO_BPF, NO_STAMPS, NO_IO_URING, NO_USERFAULTFD],
        finds: &["seccomp", "no-perf", "no-io-uring", "no-userfaultfd", "missing-facts", "unprivileged"],
        counts: NO_PRIVILEGE,
        ..PLACE
    },
    Place {
        name: "as in a rootless container",
        enter: blocks::own_user,
        finds: &["user-namespace", "unprivileged"],

        takes: &[NO_BPF],
        counts: NO_PRIVILEGE,
        ..PLACE
    },
    // What is mounted.
    Place {
        name: "no /proc",
        enter: |scene| {
            blocks::own_mounts(scene)?;
            blocks::empty(scene, "/proc", "size=4k")
        },
        takes: &[NO_PROC, NO_PAGEMAP],
        finds: &["missing-facts"],
        ..PLACE
    },
    Place {
        name: "no /sys",
        enter: |scene| {
            blocks::own_mounts(scene)?;
            blocks::empty(scene, "/sys", "size=4k")
        },
        takes: &[NO_HUGE],
        finds: &["missing-facts"],
        counts: NO_TYPES,
        ..PLACE
    },
    Place {
        name: "neither /proc nor /sys",
        runs: EVERY,
        enter: |scene| {
            blocks::own_mounts(scene)?;
            blocks::empty(scene, "/sys", "size=4k")?;
            blocks::empty(scene, "/proc", "size=4k")
        },
        takes: &[NO_PROC, NO_PAGEMAP, NO_HUGE],
        finds: &["missing-facts"],
        counts: NO_TYPES,
        ..PLACE
    },
    Place {
        name: "/proc with hidepid=2, as uid 65534",
        runs: &["ladder", "crossing", "doctor"],
        enter: |scene| {
            blocks::own_mounts(scene)?;
            blocks::proc_with(scene, "hidepid=2")?;
            blocks::nobody(scene)
        },
        finds: &["hidden-processes", "unprivileged"],

        takes: &[NO_BPF],
        counts: NO_PRIVILEGE,
        ..PLACE
    },
    Place {
        name: "/proc with subset=pid",
        runs: &["ladder", "faults", "doctor"],
        enter: |scene| {
            blocks::own_mounts(scene)?;
            blocks::proc_with(scene, "subset=pid")
        },
        finds: &["hidden-processes", "missing-facts"],
        ..PLACE
    },
    Place {
        name: "cpuinfo, meminfo, stat and CPU folder masked",
        enter: |scene| {
            blocks::own_mounts(scene)?;
            blocks::masked(
                scene,
                &[
                    "/proc/cpuinfo",
                    "/proc/meminfo",
                    "/proc/stat",
                    "/proc/interrupts",
                    "/proc/softirqs",
                    "/proc/schedstat",
                    "/sys/devices/system/cpu",
                    "/sys/kernel",
                ],
            )
        },
        takes: &[NO_HUGE],
        finds: &["missing-facts"],
        counts: NO_TYPES,
        ..PLACE
    },
    Place {
        name: "an empty /dev",
        runs: &["ladder", "faults", "doctor"],
        enter: |scene| {
            blocks::own_mounts(scene)?;
            blocks::empty(scene, "/dev", "size=4k")
        },
        takes: &[skip("ladder", "syscall/read", "/dev/zero", "/dev/zero")],
        ..PLACE
    },
    Place {
        name: "everything read-only",
        runs: EVERY,
        enter: |scene| {
            blocks::own_mounts(scene)?;
            blocks::read_only(scene, "/")
        },
        takes: &[NO_FILES],
        finds: &["store"],
        ..PLACE
    },
    Place {
        name: "home read-only",
        runs: &["ladder", "doctor"],
        enter: |scene| {
            blocks::own_mounts(scene)?;
            blocks::empty(scene, scene.path("home"), "size=4k,ro")
        },
        finds: &["store"],
        ..PLACE
    },
    Place {
        name: "no HOME",
        runs: &["ladder", "doctor"],
        enter: |scene| {
            scene.env("HOME", None);
            Ok(())
        },
        finds: &["store"],
        ..PLACE
    },
    Place {
        name: "no /tmp and no /dev/shm",
        enter: |scene| {
            scene.env("HOME", Some("/dev/shm/home"));
            blocks::own_mounts(scene)?;
            blocks::empty(scene, "/dev/shm", "size=4k,ro")?;
            blocks::empty(scene, "/tmp", "size=4k,ro")
        },
        takes: &[NO_FILES],
        finds: &["store"],
        ..PLACE
    },
    Place {
        name: "a full disk",
        enter: |scene| {
            let small = scene.path("small");
            let text = small.to_str().map(str::to_owned);
            scene.env("TMPDIR", text.as_deref());
            scene.env("HOME", text.as_deref());
            small_disk(scene, c"size=16k,mode=777")
        },
        takes: &[NO_FILES],
        finds: &["store"],
        ..PLACE
    },
    // Who, and how much.
    Place {
        name: "uid 65534",
        enter: blocks::nobody,
        finds: &["unprivileged"],
        takes: &[NO_BPF],
        counts: NO_PRIVILEGE,
        ..PLACE
    },
    Place {
        name: "uid 65534 without locked memory",
        runs: &["ladder", "crossing", "faults", "doctor"],
        enter: |scene| {
            limited(scene, libc::RLIMIT_MEMLOCK, 0)?;
            blocks::nobody(scene)
        },
        takes: &[NO_BPF, perhaps(skip("ladder", "syscall/io_uring-nop", "locked memory", "ulimit -l"))],
        finds: &["unprivileged", "locked-memory"],
        counts: NO_PRIVILEGE,
        ..PLACE
    },
    Place {
        name: "one CPU by affinity",
        enter: |scene| {
            pin_child(scene, 0);
            Ok(())
        },
        its_cpu: true,
        takes: &[NO_PAIR, NO_PAIR_FAULT],
        finds: &["one-cpu"],
        ..PLACE
    },
    Place {
        name: "one CPU by cpuset",
        runs: &["ladder", "faults", "ring", "doctor"],
        enter: |scene| {
            let mems = [("cpuset.mems", "", "0"), ("cpuset.cpus", "cpuset.cpus", "0")];
            blocks::group(scene, "cpuset", &mems)
        },
        its_cpu: true,
        takes: &[NO_PAIR, NO_PAIR_FAULT],
        finds: &["one-cpu"],
        ..PLACE
    },
    Place {
        name: "a fifth of a CPU by quota",
        enter: |scene| {
            blocks::group(scene, "cpu", &[("cpu.cfs_quota_us", "", "20000"), ("", "cpu.max", "20000 100000")])
        },
        finds: &["cpu-quota"],
        ..PLACE
    },
    Place {
        name: "4 tasks by control group",
        runs: EVERY,
        enter: |scene| blocks::group(scene, "pids", &[("pids.max", "pids.max", "4")]),
        takes: &[NO_TASK, NO_TASK_RING],
        finds: &["tasks-limit"],
        counts: Source::Any,
        ..PLACE
    },
    Place {
        name: "4 processes by limit, as uid 65534",
        enter: |scene| {
            limited(scene, libc::RLIMIT_NPROC, 4)?;
            blocks::nobody(scene)
        },
        takes: &[NO_BPF, NO_TASK, NO_TASK_RING],
        finds: &["process-limit"],
        counts: Source::Any,
        ..PLACE
    },
    Place {
        name: "48 MiB of memory by control group",
        runs: EVERY,
        enter: |scene| blocks::group(scene, "memory", &[("memory.limit_in_bytes", "memory.max", "50331648")]),
        takes: &[perhaps(failed("", "*", "SIGKILL")), perhaps(skip("", "*", "memory", "memory"))],
        finds: &["memory-limit"],
        counts: Source::Any,
        ..PLACE
    },
    Place {
        name: "40 MiB of address space beyond the program",
        runs: EVERY,
        enter: |scene| limited(scene, libc::RLIMIT_AS, program_size() + (40 << 20)),
        takes: &[
            perhaps(skip("", "*", "RLIMIT_AS", "ulimit -v")),
            perhaps(skip("", "*", "no further task", "ulimit -u")),
            Take { command: "", reason: "RLIMIT_AS", ..NO_STAMPS },
        ],
        finds: &["address-space"],
        counts: Source::Any,
        ..PLACE
    },
    Place {
        name: "16 open files",
        runs: EVERY,
        enter: |scene| limited(scene, libc::RLIMIT_NOFILE, 16),
        takes: &[
            perhaps(skip("", "*", "", "ulimit -n")),
            perhaps(failed("ring", "*", "ulimit -n")),
            FEW_STAMPS,
        ],
        finds: &["open-files"],
        // Some of them are taken for each CPU.
        counts: Source::Any,
        ..PLACE
    },
    Place {
        name: "64 open files",
        runs: &["ladder", "crossing", "ring", "doctor"],
        enter: |scene| limited(scene, libc::RLIMIT_NOFILE, 64),
        finds: &["open-files"],
        counts: Source::Any,
        ..PLACE
    },
    Place {
        name: "files of no more than 1 MiB",
        enter: |scene| limited(scene, libc::RLIMIT_FSIZE, 1 << 20),
        takes: &[FILE_SIZE, perhaps(skip("crossing", "fault/cached-file*", "RLIMIT_FSIZE", "ulimit -f"))],
        finds: &["file-size"],
        ..PLACE
    },
    Place {
        name: "a monotonic clock a day ahead",
        runs: &["ladder", "doctor"],
        enter: blocks::other_time,
        finds: &["time-namespace"],
        ..PLACE
    },
    Place {
        name: "standard input and error closed",
        runs: EVERY,
        enter: |scene| {
            close(scene, &[0, 2]);
            Ok(())
        },
        counts: Source::Refused(0, ""),
        ..PLACE
    },
];

/// What container runtimes mask.
const MASKED: &[&str] = &[
    "/proc/asound",
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
];

/// What Docker's default profile refuses a process without capabilities, of what measuring may want.
fn docker() -> Vec<Rule> {
    [
        libc::SYS_perf_event_open,
        libc::SYS_bpf,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_userfaultfd,
        libc::SYS_mount,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_keyctl,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_quotactl,
        libc::SYS_acct,
        libc::SYS_settimeofday,
        libc::SYS_swapon,
        libc::SYS_reboot,
        libc::SYS_open_by_handle_at,
        libc::SYS_move_pages,
        libc::SYS_set_mempolicy,
        libc::SYS_mbind,
    ]
    .map(|call| Rule::all(call, libc::EPERM))
    .into_iter()
    .chain([Rule::all(libc::SYS_clone3, libc::ENOSYS)])
    .collect()
}

/// What the page says that a place removes is tried there.
#[test]
fn a_place_runs_every_command_that_its_row_names() {
    for place in PLACES {
        let taken = place.takes.iter().map(|take| take.command).filter(|command| !command.is_empty());
        for command in taken.chain(place.refuses.iter().map(|refused| refused.command)) {
            assert!(place.runs.contains(&command), "{}: {command}", place.name);
        }
    }
}
