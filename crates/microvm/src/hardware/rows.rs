//! The rows of the guest's phases in the record, one each. docs/reference/probes/hardware.md has a section for each.

use tollgate_record::Per;

/// How a row is made of the guest's phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// An empty pair of stamps, in ring 3 and in ring 0. Every other row subtracts it.
    Pair,
    /// A trap and its return, once whole and once with two stamps in the handler.
    Trap {
        /// The phase without stamps in the handler.
        whole: &'static str,
        /// The phase with them.
        split: &'static str,
    },
    /// One instruction of ring 0.
    Instruction(&'static str),
    /// An instruction that flushes translations, and the first read after it.
    Flush(&'static str),
    /// An exit that the host's kernel handles.
    InKernel(&'static str),
    /// A write that the host's kernel notes for the monitor.
    Doorbell(&'static str),
    /// An exit that the monitor handles in user space.
    InMonitor(&'static str),
    /// From the deadline of a timer to the handler in a halted guest.
    Wake(&'static str),
    /// From a doorbell to the instruction behind `hlt`, which the monitor's interrupt ends.
    Answer(&'static str),
    /// An interrupt that the processor hands to the running guest without an exit.
    Posted,
}

impl Shape {
    /// The phases of the guest that the row needs, besides the pairs.
    pub(super) fn phases(self) -> Vec<&'static str> {
        match self {
            Self::Pair | Self::Posted => vec![],
            Self::Trap { whole, split } => vec![whole, split],
            Self::Instruction(phase)
            | Self::Flush(phase)
            | Self::InKernel(phase)
            | Self::InMonitor(phase)
            | Self::Doorbell(phase)
            | Self::Wake(phase)
            | Self::Answer(phase) => vec![phase],
        }
    }

    /// Whether it exits from the guest, so that it cannot be measured without a hypervisor.
    pub(super) fn exits(self) -> bool {
        !matches!(self, Self::Pair | Self::Trap { .. } | Self::Instruction(_) | Self::Flush(_))
    }
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub(super) struct HardwareRow {
    pub(super) probe: &'static str,
    pub(super) per: Per,
    pub(super) shape: Shape,
    /// The remedy if the guest's processor does not support it.
    pub(super) enable: &'static str,
}

const fn trap(probe: &'static str, whole: &'static str, split: &'static str) -> HardwareRow {
    HardwareRow { probe, per: Per::Trap, shape: Shape::Trap { whole, split }, enable: "" }
}

const fn row(probe: &'static str, per: Per, shape: Shape) -> HardwareRow {
    HardwareRow { probe, per, shape, enable: "" }
}

pub(super) static HARDWARE_ROWS: &[HardwareRow] = &[
    row("hardware/pair", Per::Pass, Shape::Pair),
    trap("hardware/page-fault", "page-fault", "page-fault-split"),
    trap("hardware/undefined", "undefined", "undefined-split"),
    trap("hardware/interrupt", "interrupt", "interrupt-split"),
    trap("hardware/syscall", "syscall", "syscall-split"),
    row("hardware/iretq", Per::Instruction, Shape::Instruction("iretq")),
    row("hardware/cr3", Per::Instruction, Shape::Flush("cr3")),
    HardwareRow {
        enable: "a processor with PCID whose KVM offers it to guests",
        ..row("hardware/cr3-pcid", Per::Instruction, Shape::Flush("cr3-pcid"))
    },
    row("hardware/invlpg", Per::Instruction, Shape::Flush("invlpg")),
    row("hardware/exit-cpuid", Per::Exit, Shape::InKernel("exit-cpuid")),
    HardwareRow {
        enable: "a hypervisor below the guest",
        ..row("hardware/exit-hypercall", Per::Exit, Shape::InKernel("exit-hypercall"))
    },
    HardwareRow {
        enable: DOORBELLS,
        ..row("hardware/exit-ioeventfd", Per::Exit, Shape::Doorbell("exit-ioeventfd"))
    },
    row("hardware/exit-port", Per::Exit, Shape::InMonitor("exit-port")),
    row("hardware/exit-mmio", Per::Exit, Shape::InMonitor("exit-mmio")),
    HardwareRow {
        enable: "a KVM with an interrupt controller in the kernel and a timer with a TSC deadline",
        ..row("hardware/hlt-wake", Per::Exit, Shape::Wake("hlt-wake"))
    },
    HardwareRow { enable: DOORBELLS, ..row("hardware/irqfd-wake", Per::Exit, Shape::Answer("irqfd-wake")) },
    HardwareRow {
        enable: "a processor that posts interrupts: APICv (Intel, kvm_intel.enable_apicv=1) or AVIC (AMD, kvm_amd.avic=1)",
        ..row("hardware/irqfd-posted", Per::Exit, Shape::Posted)
    },
];

const DOORBELLS: &str = "a KVM with an interrupt controller in the kernel, ioeventfd and irqfd";

#[cfg(test)]
mod tests {
    use super::HARDWARE_ROWS;
    use crate::{PHASES, phase};

    #[test]
    fn every_phase_of_the_guest_has_its_row_and_every_row_its_phases() {
        let mut used: Vec<&str> = HARDWARE_ROWS.iter().flat_map(|row| row.shape.phases()).collect();
        used.extend(["pair-ring-0", "pair-ring-3"]);
        assert!(used.iter().all(|name| phase(name).is_some()));
        assert!(PHASES.iter().all(|phase| used.contains(&phase.name)));
    }

    #[test]
    fn every_row_has_its_section() {
        let page = include_str!("../../../../docs/reference/probes/hardware.md");
        for row in HARDWARE_ROWS {
            assert!(page.contains(&format!("\n## {}\n", row.probe)), "{}", row.probe);
        }
        let sections = page.lines().filter(|line| line.starts_with("## hardware/")).count();
        assert_eq!(sections, HARDWARE_ROWS.len());
    }
}
