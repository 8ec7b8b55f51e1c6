//! Which CPUs there are to measure on.

use super::check::{Check, Look, View};
use crate::placement::{Relation, list, relation_in};
use tollgate_record::host::Cpu;

pub(super) static CHECKS: &[Check] = &[
    Check {
        code: "one-cpu",
        effect: "Probes that need two CPUs are skipped, and everything else on the machine shares the measured CPU.",
        look: one_cpu,
    },
    Check {
        code: "cpu-set",
        effect: "Only the CPUs of the set can be measured, which may not be the quiet ones.",
        look: cpu_set,
    },
    Check {
        code: "smt-sibling",
        effect: "Work on the other hardware thread takes execution units and cache from the measured one: figures rise, by half and more, while it lasts.",
        look: smt,
    },
    Check {
        code: "peer-is-sibling",
        effect: "Figures across CPUs are between two threads of one core, which share its caches: lower than between cores.",
        look: peer_is_sibling,
    },
];

fn one_cpu(view: &View<'_>) -> Look {
    let cpu = &view.host.cpu;
    match cpu.allowed.len() {
        0 => Look::Unknown,
        1 => Look::Info(format!("this process may use one CPU only: cpu {}", cpu.allowed[0]), another(cpu)),
        count => Look::Ok(format!("{count} CPUs can be used: {}", list(&cpu.allowed))),
    }
}

/// How a process with one CPU gets another, where there is one.
fn another(cpu: &Cpu) -> Option<String> {
    if cpu.online.len() > 1 {
        return Some(format!("give it another (taskset -c {}; docker run --cpuset-cpus)", list(&cpu.online)));
    }
    let off = cpu.present.iter().find(|present| !cpu.online.contains(present))?;
    Some(format!("echo 1 | sudo tee /sys/devices/system/cpu/cpu{off}/online"))
}

fn cpu_set(view: &View<'_>) -> Look {
    let cpu = &view.host.cpu;
    if cpu.allowed.is_empty() || cpu.online.len() <= cpu.allowed.len() {
        return Look::Unknown;
    }
    Look::Info(
        format!(
            "this process may use {} of the {} CPUs online: {}",
            cpu.allowed.len(),
            cpu.online.len(),
            list(&cpu.allowed)
        ),
        Some("widen the set (taskset, cpuset.cpus of the control group, docker run --cpuset-cpus)".into()),
    )
}

fn smt(view: &View<'_>) -> Look {
    let Some(cpu) = view.cpu else { return Look::Unknown };
    let Some(core) = view.host.cpu.cores.iter().find(|core| core.contains(&cpu)) else {
        return Look::Unknown;
    };
    let others: Vec<usize> = core.iter().copied().filter(|&other| other != cpu).collect();
    let Some(sibling) = others.first() else {
        return Look::Ok(format!("cpu {cpu} has its core to itself"));
    };
    Look::Info(
        format!("cpu {cpu} shares its core with cpu {}", list(&others)),
        Some(format!(
            "echo 0 | sudo tee /sys/devices/system/cpu/cpu{sibling}/online (echo 1 brings it back)"
        )),
    )
}

fn peer_is_sibling(view: &View<'_>) -> Look {
    let (Some(cpu), Some(peer)) = (view.cpu, view.peer) else { return Look::Unknown };
    match relation_in(&view.host.cpu.cores, cpu, peer) {
        Relation::Unknown => Look::Unknown,
        Relation::OtherCore => Look::Ok(format!("cpu {cpu} and its peer, cpu {peer}, are two cores")),
        Relation::Sibling => {
            let outside = view
                .host
                .cpu
                .allowed
                .iter()
                .find(|&&other| relation_in(&view.host.cpu.cores, cpu, other) == Relation::OtherCore);
            Look::Info(
                format!("cpu {cpu} and its peer, cpu {peer}, are threads of one core"),
                Some(outside.map_or_else(
                    || "let this process use a CPU of another core".into(),
                    |other| format!("--peer-cpu {other}"),
                )),
            )
        }
    }
}
