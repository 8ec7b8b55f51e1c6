//! The phases of the guest, in the order of its list.

/// The meaning of the four stamps of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// Before and after; those between are zero.
    Whole,
    /// Before, first in the handler, last in the handler, after.
    Split,
    /// Before, after the flush, after one read, after a second read of the same page.
    Flush,
    /// Before `hlt`, the deadline of the timer, first in the handler, after `hlt`.
    Wake,
    /// Before the doorbell, zero, first in the handler, after `hlt`.
    Answer,
}

/// One entry of the guest's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseMeta {
    /// Its name, for messages and for [`phase`].
    pub name: &'static str,
    /// The meaning of its samples.
    pub stamps: Stamps,
    /// Why it can be missing on a working machine; `None` if it cannot.
    pub needs: Option<&'static str>,
}

const fn of(name: &'static str, stamps: Stamps) -> PhaseMeta {
    PhaseMeta { name, stamps, needs: None }
}

const fn needing(name: &'static str, stamps: Stamps, needs: &'static str) -> PhaseMeta {
    PhaseMeta { name, stamps, needs: Some(needs) }
}

/// The list; the same order as `phases` in `guests/x86/phases.S`.
pub static PHASES: [PhaseMeta; 21] = [
    of("pair-ring-0", Stamps::Whole),
    of("pair-ring-3", Stamps::Whole),
    of("page-fault", Stamps::Whole),
    of("page-fault-split", Stamps::Split),
    of("undefined", Stamps::Whole),
    of("undefined-split", Stamps::Split),
    of("interrupt", Stamps::Whole),
    of("interrupt-split", Stamps::Split),
    of("syscall", Stamps::Whole),
    of("syscall-split", Stamps::Split),
    of("iretq", Stamps::Whole),
    of("cr3", Stamps::Flush),
    needing("cr3-pcid", Stamps::Flush, "the guest's processor has no PCID"),
    of("invlpg", Stamps::Flush),
    of("exit-cpuid", Stamps::Whole),
    of("exit-port", Stamps::Whole),
    of("exit-mmio", Stamps::Whole),
    needing("exit-ioeventfd", Stamps::Whole, NO_DOORBELLS),
    needing("exit-hypercall", Stamps::Whole, "no hypervisor answers a hypercall"),
    needing("hlt-wake", Stamps::Wake, "the guest has no timer with a TSC deadline"),
    needing("irqfd-wake", Stamps::Answer, NO_DOORBELLS),
];

/// The number of phases, from the first on, that take turns: the guest takes some samples of each, then more of each,
/// because a virtual machine
/// may change its speed every few milliseconds. The same number as in `guests/x86/layout.h`.
pub const IN_TURNS: usize = 18;

const NO_DOORBELLS: &str = "KVM has no ioeventfd, no irqfd, or no interrupt controller in the kernel";

/// The place of a phase in the list.
#[must_use]
pub fn phase(name: &str) -> Option<usize> {
    PHASES.iter().position(|phase| phase.name == name)
}

#[cfg(test)]
mod tests {
    use super::{IN_TURNS, PHASES};

    #[test]
    fn the_guest_has_the_same_numbers() {
        let layout = include_str!("../guests/x86/layout.h");
        for (name, number) in [("PHASES", PHASES.len()), ("IN_TURNS", IN_TURNS)] {
            let mut lines = layout.lines().map(|line| line.split_whitespace().take(3).collect::<Vec<_>>());
            assert!(lines.any(|line| line == ["#define", name, &number.to_string()]), "{name} {number}");
        }
    }
}
