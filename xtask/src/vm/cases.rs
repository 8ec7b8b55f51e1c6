//! Every case.

use super::arch::Arch;
use super::debian::Line;

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) arch: Arch,
    pub(super) line: Line,
    pub(super) cpu: &'static str,
    pub(super) cpus: u32,
    pub(super) memory_mib: u32,
    pub(super) machine: &'static [&'static str],
    pub(super) boot: &'static str,
    pub(super) scripts: &'static [Script],
}

pub(super) struct Script {
    pub(super) name: &'static str,
    pub(super) line: &'static str,
}

const DOCTOR: Script = Script { name: "doctor", line: "tollgate doctor --json" };
const RUN: Script = Script {
    name: "run",
    line: "tollgate run --quick --budget-ms 1000 --patience-ms 40000 --seed 1 --no-save --json",
};
const USUAL: &[Script] = &[DOCTOR, RUN];

const PLAIN: Case = Case {
    name: "two-cpus",
    what: "",
    arch: Arch::Amd64,
    line: Line::V6_12,
    cpu: "EPYC",
    cpus: 2,
    memory_mib: 512,
    machine: &[],
    boot: "",
    scripts: USUAL,
};


const KVM: &[Script] = &[
    Script { name: "load", line: "for m in irqbypass kvm; do insmod /mod/$m.ko; done; insmod /mod/kvm-amd.ko; ls /dev/kvm" },
    DOCTOR,
    Script {
        name: "crossing",
        line: "tollgate crossing --quick --budget-ms 1000 --patience-ms 40000 --seed 1 --no-save --json",
    },
];
const KVM0: &[Script] = &[
    Script { name: "load", line: "for m in irqbypass kvm; do insmod /mod/$m.ko; done; insmod /mod/kvm-amd.ko npt=0; ls /dev/kvm; cat /sys/module/kvm_amd/parameters/npt" },
    DOCTOR,
    Script {
        name: "crossing",
        line: "tollgate crossing --quick --budget-ms 1000 --patience-ms 40000 --seed 1 --no-save --json",
    },
];
const ICOUNT0: &[&str] = &["-icount", "shift=0,sleep=off"];
const NOBODY: &[Script] = &[
    Script { name: "doctor", line: "su -s /bin/sh nobody -c 'tollgate doctor --json'" },
    Script { name: "run", line: "su -s /bin/sh nobody -c 'tollgate run --quick --budget-ms 1000 --patience-ms 40000 --seed 1 --no-save --json'" },
];
pub(super) static CASES: &[Case] = &[
    PLAIN,
    Case { name: "one-cpu", line: Line::V6_1, cpus: 1, ..PLAIN },
    Case { name: "kvm-amd", line: Line::V6_1, cpus: 1, scripts: KVM, ..PLAIN },
    Case { name: "kvm-amd-icount", line: Line::V6_1, cpus: 1, scripts: KVM, machine: ICOUNT0, ..PLAIN },
    Case { name: "kvm-amd-npt0", line: Line::V6_12, cpus: 1, scripts: KVM0, machine: ICOUNT0, ..PLAIN },
    Case { name: "kvm-amd-nosvm", line: Line::V6_1, cpus: 1, cpu: "EPYC,-svm", scripts: KVM, ..PLAIN },
    Case { name: "maxcpus", boot: "maxcpus=1", ..PLAIN },
    Case { name: "pti-forced", line: Line::V6_1, cpus: 1, boot: "pti=on", ..PLAIN },
    Case { name: "pti-on", line: Line::V6_1, cpus: 1, cpu: "Nehalem", ..PLAIN },
    Case { name: "pti-off", line: Line::V6_1, cpus: 1, cpu: "Nehalem", boot: "nopti", ..PLAIN },
    Case { name: "paranoid-3", cpus: 1, scripts: NOBODY, ..PLAIN },
    Case { name: "paranoid-4", cpus: 1, boot: "sysctl.kernel.perf_event_paranoid=4", scripts: NOBODY, ..PLAIN },
    Case { name: "io-uring", cpus: 1, boot: "sysctl.kernel.io_uring_disabled=2", ..PLAIN },
    Case { name: "no-hypervisor-bit", cpus: 1, cpu: "EPYC,-hypervisor", ..PLAIN },
    Case { name: "small-memory", cpus: 1, memory_mib: 128, ..PLAIN },
];
