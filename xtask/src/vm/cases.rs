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
    line: "tollgate run --quick --budget-ms 2000 --patience-ms 40000 --seed 1 --no-save --json",
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

pub(super) static CASES: &[Case] = &[
    PLAIN,
    Case { name: "one-cpu", line: Line::V6_1, cpus: 1, ..PLAIN },
    Case { name: "pti-forced", line: Line::V6_1, cpus: 1, boot: "pti=on", ..PLAIN },
];
