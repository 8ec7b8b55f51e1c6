//! The exit that needs no privilege: the hypervisor answers a guest's `cpuid`.

use crate::mechanism::{Mechanism, ROW};
use tollgate_measure::{Claim, Meta};
use tollgate_record::Per;

pub(crate) static CPUID: Mechanism = Mechanism {
    meta: &Meta {
        id: "vm/cpuid",
        what: "cpuid: under a hypervisor an exit from the guest and the return to it",
        per: Per::Exit,
        proof: &[Claim::exact("right-answers-per-exit")],
        ..ROW
    },
    open: |_, _| {
        #[cfg(target_arch = "x86_64")]
        {
            Ok(Box::new(x86_64::CpuidExits::new()))
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            Err(tollgate_measure::Refusal::skip(
                "user mode of this architecture has no instruction that makes a guest exit",
                "an x86-64 machine",
            ))
        }
    },
};

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{__cpuid, CpuidResult};
    use std::mem;
    use tollgate_measure::{Crossing, Facts, Refusal};
    use tollgate_record::family::{ProbeAsked, ProbeFound};

    /// Leaf 0: highest leaf and vendor, which never change while a machine runs.
    const LEAF: u32 = 0;

    pub(super) struct CpuidExits {
        expected: CpuidResult,
        hypervisor: String,
        right: u64,
    }

    impl CpuidExits {
        pub(super) fn new() -> Self {
            Self { expected: __cpuid(LEAF), hypervisor: hypervisor(), right: 0 }
        }
    }

    /// The name of who answers. Leaf 1, ecx bit 31 is zero on every processor and set by hypervisors, which give
    /// their name in leaf 0x4000_0000 (AMD APM volume 3, E.3.2 and E.4.1, "Function 4000_0000h").
    fn hypervisor() -> String {
        if __cpuid(1).ecx >> 31 == 0 {
            return "no hypervisor: an ordinary instruction".into();
        }
        let leaf = __cpuid(0x4000_0000);
        let name: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_le_bytes).collect();
        match String::from_utf8_lossy(&name).trim_matches(['\0', ' ']) {
            "" => "present, without a name".into(),
            name => name.to_owned(),
        }
    }

    impl Crossing for CpuidExits {
        fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
            let (expected, mut right) = (self.expected, 0);
            for _ in 0..passes {
                right += u64::from(__cpuid(LEAF) == expected);
            }
            self.right += right;
            Ok(())
        }

        fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
            counts[0] = Some(mem::take(&mut self.right));
            Ok(())
        }

        fn facts(&self) -> Facts {
            let asked = ProbeAsked { leaf: Some(LEAF), ..ProbeAsked::default() };
            let found = ProbeFound { hypervisor: Some(self.hypervisor.clone()), ..ProbeFound::default() };
            Facts::of_probe(asked, found)
        }
    }

    #[cfg(test)]
    mod tests {
        use super::CpuidExits;
        use tollgate_measure::Crossing;

        #[test]
        fn counts_the_right_answers_and_only_those() {
            let (mut open, mut counts) = (CpuidExits::new(), [None]);
            open.cross(100).unwrap();
            open.prove(&mut counts).unwrap();
            assert_eq!(counts, [Some(100)]);
            open.expected.ebx ^= 1;
            open.cross(100).unwrap();
            open.prove(&mut counts).unwrap();
            assert_eq!(counts, [Some(0)]);
        }

        #[test]
        fn the_facts_say_who_answers() {
            let says = CpuidExits::new().facts().found.probe().unwrap().hypervisor.clone().unwrap();
            let flagged = std::fs::read_to_string("/proc/cpuinfo").unwrap().contains(" hypervisor");
            assert_eq!(says.starts_with("no hypervisor"), !flagged, "{says}");
        }
    }
}
