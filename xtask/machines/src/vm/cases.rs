//! The machines to try tollgate on, one row each.

use super::arch::{AMD64, ARM64, Arch};
use super::checks;
use super::console::Script;
use super::debian::{Line, V6_1, V6_12};
use super::output::CaseOutput;
use anyhow::Result;
use tollgate_record::Severity::{self, Info, Ok as Well, Spoils};

/// A machine, what runs on it, and what that must print.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What is special about the machine, for the table.
    pub(super) what: &'static str,
    pub(super) arch: &'static Arch,
    pub(super) line: Line,
    /// QEMU's name of the processor, with its features.
    pub(super) cpu: &'static str,
    pub(super) cpus: u32,
    pub(super) memory_mib: u32,
    /// More arguments of QEMU.
    pub(super) machine: &'static [&'static str],
    /// More words of the kernel's command line.
    pub(super) boot: &'static str,
    /// What the guest runs, in this order.
    pub(super) scripts: &'static [Script],
    /// Number of boots, one after the other, which must all print the same.
    pub(super) boots: usize,
    /// Seconds for one boot, if it is not the limit of the command line.
    pub(super) limit: Option<u64>,
    pub(super) ends: Ending,
    /// Exactly these probes of `run` are skipped, each with a reason that contains this. A `*` at the end stands for the
    /// rest of the name.
    pub(super) skips: &'static [(&'static str, &'static str)],
    /// Doctor has these findings, and the sentence of each contains this.
    pub(super) doctor: &'static [(&'static str, Severity, &'static str)],
    /// Anything else: the error is a sentence.
    pub(super) check: fn(&CaseOutput) -> Result<()>,
}

/// How a guest must end. Guests that fail on purpose test that failures are reported and cleaned up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It runs its scripts and powers off.
    Off,
    /// Its kernel panics.
    Panics,
    /// It never ends.
    Hangs,
}

const DOCTOR: Script = Script { name: "doctor", line: "tollgate doctor --json" };
const RUN: Script = Script {
    name: "run",
    line: "tollgate run --quick --budget-ms 1000 --patience-ms 40000 --seed 1 --no-save --json",
};
const NOBODY: &[Script] = &[
    Script { name: "doctor", line: "su -s /bin/sh nobody -c 'tollgate doctor --json'" },
    Script {
        name: "run",
        line: "su -s /bin/sh nobody -c 'tollgate run --quick --budget-ms 1000 --patience-ms 40000 --seed 1 \
               --no-save --json'",
    },
];

/// `--clock tsc` because the time-stamp counter of an emulator has no constant rate and is not chosen by default; the bare
/// guest has no other clock.
const CROSSING: Script = Script {
    name: "crossing",
    line: "tollgate crossing --clock tsc --quick --budget-ms 100 --patience-ms 40000 --seed 1 --no-save --json",
};
const LOAD_KVM: &str = "for name in irqbypass kvm kvm-amd; do test ! -e /mod/$name.ko || insmod /mod/$name.ko || exit; done; \
                        cat /sys/module/kvm_amd/parameters/npt";
const LOAD_KVM_WITHOUT_NESTED: &str = "for name in irqbypass kvm; do test ! -e /mod/$name.ko || insmod /mod/$name.ko || exit; done; \
                        insmod /mod/kvm-amd.ko npt=0 && cat /sys/module/kvm_amd/parameters/npt";

const STATIC: (&str, &str) = ("call/dynamic", "statically linked");
const ONE_CPU: (&str, &str) = ("core/*", "it needs two CPUs");
const EMULATED: (&str, Severity, &str) = ("emulated-cpu", Spoils, "emulated in software");
const NO_PMU: (&str, Severity, &str) = ("no-pmu", Info, "no counters exposed by the hypervisor");

/// A plain x86 machine.
const X86: Case = Case {
    name: "",
    what: "",
    arch: &AMD64,
    line: V6_12,
    cpu: "EPYC",
    cpus: 1,
    memory_mib: 1024,
    machine: &[],
    // Without these, the load of the host decides whether the guest's kernel trusts its clock and its timer.
    boot: "no_timer_check tsc=reliable",
    scripts: &[DOCTOR, RUN],
    boots: 1,
    limit: None,
    ends: Ending::Off,
    skips: &[STATIC, ONE_CPU],
    doctor: &[],
    check: |_| Ok(()),
};

/// An Arm machine whose clocks are its instructions: one takes two nanoseconds, and two cycles.
const ARM: Case = Case {
    arch: &ARM64,
    cpu: "cortex-a57",
    machine: &["-icount", "shift=1,sleep=off", "-rtc", "base=2026-01-01T00:00:00,clock=vm"],
    boot: "nokaslr norandmaps randomize_kstack_offset=off",
    ..X86
};

const COUNTED: Script = Script {
    name: "counted",
    line: "rm -f /tmp/counted; TOLLGATE_COUNTED=/tmp/counted counters --test-threads 1 >&2 && cat /tmp/counted",
};
const ALLOW_DIRECT: Script = Script { name: "allow", line: "echo 1 > /proc/sys/kernel/perf_user_access" };

pub(super) static CASES: &[Case] = &[
    Case {
        name: "two-cpus",
        what: "two CPUs",
        cpus: 2,
        skips: &[STATIC],
        doctor: &[
            EMULATED,
            NO_PMU,
            ("one-cpu", Well, "2 CPUs can be used"),
            ("virtual-machine", Info, "QEMU TCG"),
            ("page-table-isolation", Well, "is off"),
            ("io-uring-disabled", Well, "may be used"),
        ],
        ..X86
    },
    Case {
        name: "one-cpu",
        what: "one CPU",
        line: V6_1,
        doctor: &[EMULATED, ("one-cpu", Info, "one CPU only")],
        check: checks::one_cpu_built_in,
        ..X86
    },
    Case {
        name: "maxcpus-1",
        what: "two CPUs, one of them off (`maxcpus=1`)",
        cpus: 2,
        boot: "no_timer_check tsc=reliable maxcpus=1",
        doctor: &[("one-cpu", Info, "one CPU only")],
        check: checks::the_other_cpu_can_be_switched_on,
        ..X86
    },
    Case {
        name: "pti-on",
        what: "page-table isolation, which the processor needs",
        line: V6_1,
        cpu: "Nehalem",
        doctor: &[("page-table-isolation", Info, "page-table isolation is on")],
        check: |output| checks::meltdown(output, "Mitigation: PTI", true),
        ..X86
    },
    Case {
        name: "pti-off",
        what: "the same processor without it (`nopti`)",
        line: V6_1,
        cpu: "Nehalem",
        boot: "no_timer_check tsc=reliable nopti",
        doctor: &[("page-table-isolation", Info, "is off though this processor needs it")],
        check: |output| checks::meltdown(output, "Vulnerable", false),
        ..X86
    },
    Case {
        name: "pti-forced",
        what: "page-table isolation on a processor that does not need it (`pti=on`)",
        line: V6_1,
        boot: "no_timer_check tsc=reliable pti=on",
        doctor: &[("page-table-isolation", Info, "was forced on")],
        check: |output| checks::meltdown(output, "Not affected", true),
        ..X86
    },
    Case {
        name: "paranoid-3",
        what: "`perf_event_paranoid` 3, no privilege",
        boot: "no_timer_check tsc=reliable sysctl.kernel.perf_event_paranoid=3",
        scripts: NOBODY,
        doctor: &[
            ("no-pmu", Info, "refused: kernel.perf_event_paranoid is 3"),
            ("perf-event-paranoid", Spoils, "is 3: perf events of all kinds are refused"),
            ("unprivileged", Info, "user 65534"),
        ],
        ..X86
    },
    Case {
        name: "paranoid-4",
        what: "`perf_event_paranoid` 4, no privilege",
        line: V6_1,
        boot: "no_timer_check tsc=reliable sysctl.kernel.perf_event_paranoid=4",
        scripts: NOBODY,
        doctor: &[
            ("no-pmu", Info, "refused: kernel.perf_event_paranoid is 4"),
            ("perf-event-paranoid", Spoils, "is 4: perf events of all kinds are refused"),
        ],
        ..X86
    },
    Case {
        name: "io-uring-disabled",
        what: "`kernel.io_uring_disabled` 2",
        boot: "no_timer_check tsc=reliable sysctl.kernel.io_uring_disabled=2",
        skips: &[STATIC, ONE_CPU, ("syscall/io_uring-nop", "io_uring_disabled = 2")],
        doctor: &[("io-uring-disabled", Spoils, "off for everyone")],
        ..X86
    },
    Case {
        name: "no-hypervisor-bit",
        what: "a hypervisor that hides",
        cpu: "EPYC,-hypervisor",
        doctor: &[("virtual-machine", Info, "QEMU"), ("hidden-hypervisor", Info, "hypervisor bit")],
        ..X86
    },
    Case {
        name: "small-memory",
        // Less than the doctor wants, with room for the quickly built program (60 MB) twice, once compressed, while it is unpacked.
        what: "256 MiB of memory",
        memory_mib: 256,
        doctor: &[("low-memory", Spoils, "MiB of memory are available")],
        ..X86
    },
    Case {
        name: "kvm-amd",
        what: "KVM on AMD's SVM, nested paging",
        line: V6_1,
        machine: &["-icount", "shift=2,sleep=off"],
        scripts: &[Script { name: "load", line: LOAD_KVM }, CROSSING],
        check: |output| checks::kvm(output, true),
        ..X86
    },
    Case {
        name: "kvm-amd-shadow",
        what: "the same without nested paging (`npt=0`)",
        machine: &["-icount", "shift=2,sleep=off"],
        scripts: &[Script { name: "load", line: LOAD_KVM_WITHOUT_NESTED }, CROSSING],
        check: |output| checks::kvm(output, false),
        ..X86
    },
    Case {
        name: "kvm-without-svm",
        what: "no virtualization in the processor",
        line: V6_1,
        cpu: "EPYC,-svm",
        scripts: &[Script { name: "load", line: "insmod /mod/kvm-amd.ko || true" }, CROSSING],
        check: checks::no_kvm,
        ..X86
    },
    Case {
        name: "arm-counters",
        what: "Arm PMUv3, two boots alike; `perf_user_access` 0",
        line: V6_1,
        scripts: &[DOCTOR, COUNTED],
        boots: 2,
        doctor: &[
            ("no-pmu", Well, "hardware counters can be read"),
            ("perf-user-access", Info, "kernel.perf_user_access is 0"),
        ],
        check: checks::counters,
        ..ARM
    },
    Case {
        name: "arm-direct-reads",
        what: "the same with `perf_user_access` 1",
        scripts: &[ALLOW_DIRECT, DOCTOR, COUNTED],
        doctor: &[("perf-user-access", Well, "kernel.perf_user_access is 1")],
        check: checks::counters,
        ..ARM
    },
    Case {
        name: "arm-no-instructions",
        what: "cycles without instructions: an event is missing",
        machine: &[],
        scripts: &[DOCTOR, COUNTED, RUN],
        cpus: 2,
        skips: &[STATIC, ("syscall/int80", "instruction of x86"), ("vm/cpuid", "no instruction")],
        doctor: &[("no-pmu", Well, "hardware counters can be read"), ("virtual-machine", Info, "QEMU")],
        check: checks::event_missing,
        ..ARM
    },
    Case {
        name: "panics",
        what: "a guest whose kernel panics, on purpose",
        scripts: &[Script { name: "panic", line: "echo c > /proc/sysrq-trigger" }],
        ends: Ending::Panics,
        ..X86
    },
    Case {
        name: "hangs",
        what: "a guest that never ends, on purpose",
        scripts: &[Script { name: "hang", line: "echo still here > /dev/console; sleep 100000" }],
        limit: Some(15),
        ends: Ending::Hangs,
        ..X86
    },
];

#[cfg(test)]
mod tests {
    use super::CASES;
    use std::collections::BTreeSet;

    #[test]
    fn each_case_has_its_own_name_and_a_description() {
        let names: BTreeSet<&str> = CASES.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), CASES.len());
        for case in CASES {
            assert!(!case.what.is_empty() && !case.scripts.is_empty() && case.boots > 0, "{}", case.name);
        }
    }
}
