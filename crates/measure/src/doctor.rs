//! What on this host spoils, or may spoil, a measurement: one row of a table for each thing looked at.
//!
//! Pure: it judges a [`Host`] and what was observed, and changes nothing. What is not known gives no
//! finding, so that a list without a code does not mean that all is well there.

mod kernel;
mod limits;
mod load;
mod machine;
mod permission;
mod place;
mod power;

use crate::noise::SpanNoise;
use tollgate_record::{Finding, Host, Severity};

/// What was seen while the host was watched; empty when nobody watched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observed {
    /// A span in which we did nothing ourselves, a second or more.
    pub span: Option<SpanNoise>,
    /// Whether the kernel audits system calls; `None` where it does not tell.
    pub audit: Option<bool>,
}

/// One thing to look at.
struct Check {
    /// Stable name of the finding.
    code: &'static str,
    /// What it does to a measurement, when it is not well; one sentence.
    effect: &'static str,
    look: fn(&View<'_>) -> Look,
}

/// What a look gives. What spoils must come with what mends it.
enum Look {
    /// The host does not tell, or the question does not arise.
    Unknown,
    Ok(String),
    Info(String, Option<String>),
    Spoils(String, String),
}

/// What a check may look at.
struct View<'a> {
    host: &'a Host,
    watch: &'a Observed,
    /// The measured CPU: as placed, or as it would be by default.
    cpu: Option<usize>,
    /// Its peer, likewise.
    peer: Option<usize>,
}

impl View<'_> {
    fn may(&self, capability: &str) -> bool {
        // Without /proc the capabilities are not known; then the user decides.
        let known = !self.host.unreadable.iter().any(|directory| directory == "/proc");
        if known { self.host.capabilities.iter().any(|name| name == capability) } else { self.host.uid == 0 }
    }
}

static CHECKS: &[Check] = &[
    Check {
        code: "missing-facts",
        effect: "What the system does not show is neither judged here nor kept in the record, and noise cannot be watched.",
        look: machine::missing_facts,
    },
    // Where it runs.
    Check {
        code: "emulated-cpu",
        effect: "An emulator runs the instructions, so figures are those of the emulator and only look like hardware.",
        look: machine::emulated,
    },
    Check {
        code: "virtual-machine",
        effect: "Waking a halted virtual CPU goes through the hypervisor, so wake-ups across CPUs cost 10 us and more, and the hypervisor can take time away unseen.",
        look: machine::virtual_machine,
    },
    Check {
        code: "hidden-hypervisor",
        effect: "The guest's kernel leaves out what it would do for a hypervisor, and vm/cpuid takes an exit for an ordinary instruction.",
        look: machine::hidden,
    },
    Check {
        code: "no-pmu",
        effect: "Hardware counters stay out of the record: no cache, TLB or branch misses beside the figures.",
        look: machine::pmu,
    },
    Check {
        code: "clocksource",
        effect: "Reading the clock costs what its source costs: outside the TSC it may be a system call or a device access, and the vdso figures are those of another path.",
        look: machine::clocksource,
    },
    Check {
        code: "tsc-not-invariant",
        effect: "The time-stamp counter changes its rate or stops with the core, so ticks cannot be turned into nanoseconds.",
        look: machine::tsc,
    },
    Check {
        code: "free-page-reporting",
        effect: "The host takes free memory back, and the first touch of such a page goes through the hypervisor: tens of microseconds instead of one.",
        look: machine::free_page_reporting,
    },
    // Which CPUs.
    Check {
        code: "one-cpu",
        effect: "Probes that need two CPUs are skipped, and everything else on the machine shares the measured CPU.",
        look: place::one_cpu,
    },
    Check {
        code: "cpu-set",
        effect: "Only the CPUs of the set can be measured, which may not be the quiet ones.",
        look: place::cpu_set,
    },
    Check {
        code: "smt-sibling",
        effect: "Work on the other hardware thread takes execution units and cache from the measured one: figures rise, by half and more, while it lasts.",
        look: place::smt,
    },
    Check {
        code: "peer-is-sibling",
        effect: "Figures across CPUs are between two threads of one core, which share its caches: lower than between cores.",
        look: place::peer_is_sibling,
    },
    // Power.
    Check {
        code: "governor",
        effect: "The core's frequency follows the load, so the same crossing takes a different time from one second to the next.",
        look: power::governor,
    },
    Check {
        code: "turbo",
        effect: "The core's frequency depends on temperature and on what other cores do: compare cycles rather than nanoseconds between runs.",
        look: power::turbo,
    },
    Check {
        code: "idle-states",
        effect: "A CPU that waits falls asleep, and wake-ups across CPUs include the time that it needs to come back.",
        look: power::idle,
    },
    Check {
        code: "halt-poll",
        effect: "An idle virtual CPU is given back at once instead of polling for a while, which makes wake-ups across CPUs slow.",
        look: power::halt_poll,
    },
    // What the kernel does at a crossing.
    Check {
        code: "page-table-isolation",
        effect: "Every entry to the kernel and every return switch page tables: each system call, fault and interrupt costs more.",
        look: kernel::isolation,
    },
    Check {
        code: "mitigations",
        effect: "Crossings carry the cost of the defences in force: compare only with hosts that have the same.",
        look: kernel::mitigations,
    },
    Check {
        code: "huge-pages",
        effect: "A first touch may be given 2 MiB instead of one page, so faults are fewer and each is dearer.",
        look: kernel::huge_pages,
    },
    Check {
        code: "autogroup",
        effect: "The scheduler shares the CPU between sessions first, so `nice` does not keep other sessions off the measured CPU.",
        look: kernel::autogroup,
    },
    // What is forbidden.
    Check {
        code: "perf-event-paranoid",
        effect: "Users without privilege get fewer perf events, so bills of a crossing by kernel time stamps and counts in kernel mode are missing.",
        look: permission::perf,
    },
    Check {
        code: "perf-user-access",
        effect: "A counter is read by a system call instead of an instruction, too slowly to bracket one crossing.",
        look: permission::user_access,
    },
    Check {
        code: "io-uring-disabled",
        effect: "Probes of io_uring are skipped.",
        look: permission::io_uring,
    },
    Check {
        code: "seccomp",
        effect: "The filter runs at every system call and is part of each figure, and it may refuse what probes need.",
        look: permission::seccomp,
    },
    Check {
        code: "tracer",
        effect: "The tracer stops the process at signals, system calls or exits, and figures include those stops.",
        look: permission::tracer,
    },
    Check {
        code: "audit",
        effect: "Every system call keeps a record for the audit system and takes the slow way in and out.",
        look: permission::audit,
    },
    Check {
        code: "unprivileged",
        effect: "Kernel tracepoints, BPF and real-time priority are out of reach; every basic figure is measured all the same.",
        look: permission::privilege,
    },
    // What is limited.
    Check {
        code: "cpu-quota",
        effect: "When the quota of a period is used up all our tasks stop until the next one, in the middle of a batch too.",
        look: limits::cpu_quota,
    },
    Check {
        code: "memory-limit",
        effect: "Near the limit each fault pays for reclaiming memory, and beyond it the process is killed.",
        look: limits::memory_limit,
    },
    Check {
        code: "tasks-limit",
        effect: "Probes that start threads or processes fail to start them.",
        look: limits::tasks_limit,
    },
    Check {
        code: "process-limit",
        effect: "Probes that start threads or processes fail to start them; what the user runs elsewhere counts too.",
        look: limits::processes,
    },
    Check {
        code: "open-files",
        effect: "Probes with many pipes or sockets cannot open them.",
        look: limits::open_files,
    },
    Check {
        code: "low-memory",
        effect: "Page faults wait for memory to be reclaimed, and the page cache that file probes rely on is thrown out.",
        look: limits::memory,
    },
    Check {
        code: "swap",
        effect: "Memory that was written out comes back through a major fault, a thousand times dearer than a minor one.",
        look: limits::swap,
    },
    // What goes on.
    Check {
        code: "other-task",
        effect: "Tasks that share the CPU push the measured one off it: percentiles rise first, then the headline.",
        look: load::other_task,
    },
    Check {
        code: "steal",
        effect: "The hypervisor stops the CPU in the middle of batches, and that time is counted as ours.",
        look: load::steal,
    },
    Check {
        code: "interrupts",
        effect: "Each interrupt adds a microsecond or more to the batch that it hits and displaces part of the cache.",
        look: load::interrupts,
    },
];

/// Looks at everything that is known, in the order of the table.
#[must_use]
pub fn findings(host: &Host, watch: &Observed) -> Vec<Finding> {
    let chosen = crate::placement::choose(&host.cpu, host.cpu.measured, host.cpu.peer).ok();
    let view = View {
        host,
        watch,
        cpu: host.cpu.measured.or(chosen.map(|site| site.cpu)),
        peer: host.cpu.peer.or(chosen.and_then(|site| site.peer)),
    };
    CHECKS
        .iter()
        .filter_map(|check| {
            let (severity, what, fix) = match (check.look)(&view) {
                Look::Unknown => return None,
                Look::Ok(what) => (Severity::Ok, what, None),
                Look::Info(what, fix) => (Severity::Info, what, fix),
                Look::Spoils(what, fix) => (Severity::Spoils, what, Some(fix)),
            };
            Some(Finding { severity, code: check.code.into(), what, effect: check.effect.into(), fix })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_unique_and_effects_are_sentences() {
        let codes: BTreeSet<_> = CHECKS.iter().map(|check| check.code).collect();
        assert_eq!(codes.len(), CHECKS.len());
        for check in CHECKS {
            assert!(check.code.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", check.code);
            assert!(check.effect.ends_with('.') && check.effect.len() > 20, "{}", check.code);
        }
    }

    #[test]
    fn a_host_that_tells_nothing_is_not_called_well() {
        let host = Host { unreadable: vec!["/proc".into(), "/sys".into()], uid: 1000, ..Host::default() };
        let found = findings(&host, &Observed::default());
        let codes: Vec<_> = found.iter().map(|finding| (finding.severity, finding.code.as_str())).collect();
        assert_eq!(codes, [(Severity::Spoils, "missing-facts"), (Severity::Info, "unprivileged")]);
    }
}
