//! Which engine ran a guest, from the evidence.

use std::path::Path;

/// A pair of stamps in ring 0 this many times as long as one in ring 3 was executed by software. Hardware
/// gives 1; an emulated ring 0 gave more than 80.
pub const EMULATED_RATIO: f64 = 5.0;

/// The engine of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// KVM over Intel's VMX.
    KvmIntel,
    /// KVM over AMD's SVM.
    KvmAmd,
    /// KVM without hardware virtualization: ring 0 of the guest is emulated.
    KvmPvm,
    /// KVM without a known module.
    Kvm,
    /// QEMU's translator; its clock is the host's time.
    QemuTcg,
    /// QEMU's translator; its clock counts instructions.
    QemuTcgIcount,
}

impl Engine {
    /// The name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KvmIntel => "kvm-intel",
            Self::KvmAmd => "kvm-amd",
            Self::KvmPvm => "kvm-pvm",
            Self::Kvm => "kvm",
            Self::QemuTcg => "qemu-tcg",
            Self::QemuTcgIcount => "qemu-tcg-icount",
        }
    }

    /// Which KVM this is, by the modules (or built-in parts) of the kernel. `modules` is `/sys/module`.
    #[must_use]
    pub fn of_kvm(modules: &Path) -> Self {
        Self::among(modules, amd())
    }

    /// `kvm_pvm` is loaded only where the hardware modules cannot work, so it is in use if it is present.
    /// The modules of both vendors can be built in; the processor's vendor then decides.
    fn among(modules: &Path, amd: bool) -> Self {
        let there = |name: &str| modules.join(name).is_dir();
        match (there("kvm_pvm"), there("kvm_intel"), there("kvm_amd")) {
            (true, _, _) => Self::KvmPvm,
            (_, true, true) if amd => Self::KvmAmd,
            (_, true, _) => Self::KvmIntel,
            (_, _, true) => Self::KvmAmd,
            _ => Self::Kvm,
        }
    }

    /// Why figures of this engine are not the hardware's; `None` if they are. `ring_ratio` is
    /// [`Visit::ring_ratio`](crate::Visit::ring_ratio), `processor` the name that the host's hypervisor reports.
    #[must_use]
    pub fn emulated(self, ring_ratio: Option<f64>, processor: Option<&str>) -> Option<String> {
        match self {
            Self::QemuTcg => {
                return Some(
                    "QEMU translates the guest's code: the figures are its own, not a processor's".into(),
                );
            }
            Self::QemuTcgIcount => {
                return Some("these are counts of instructions that QEMU executed, not times".into());
            }
            Self::KvmIntel | Self::KvmAmd | Self::KvmPvm | Self::Kvm => {}
        }
        if let Some(ratio) = ring_ratio.filter(|ratio| *ratio >= EMULATED_RATIO) {
            return Some(format!(
                "ring 0 of the guest is emulated: a pair of stamps there takes {ratio:.0} times as long as in ring 3"
            ));
        }
        if self == Self::KvmPvm {
            return Some("this KVM (kvm_pvm) emulates ring 0 of its guests".into());
        }
        processor
            .filter(|name| name.to_ascii_uppercase().contains("TCG"))
            .map(|name| format!("the host itself is emulated ({name})"))
    }
}

/// Whether the processor is AMD's or Hygon's, by the first letters of leaf 0 (AMD APM volume 3, E.3.1).
#[cfg(target_arch = "x86_64")]
fn amd() -> bool {
    let letters = std::arch::x86_64::__cpuid(0).ebx.to_le_bytes();
    matches!(&letters, b"Auth" | b"Hygo")
}

#[cfg(not(target_arch = "x86_64"))]
fn amd() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::Engine;
    use std::fs;

    #[test]
    fn modules_name_the_engine() {
        let root = tempfile::tempdir().unwrap();
        let load = |name| fs::create_dir(root.path().join(name)).unwrap();
        let found = |amd| Engine::among(root.path(), amd);
        assert_eq!((found(true), found(false)), (Engine::Kvm, Engine::Kvm));
        load("kvm_amd");
        assert_eq!((found(true), found(false)), (Engine::KvmAmd, Engine::KvmAmd));
        load("kvm_intel");
        assert_eq!((found(true), found(false)), (Engine::KvmAmd, Engine::KvmIntel));
        load("kvm_pvm");
        assert_eq!((found(true), found(false)), (Engine::KvmPvm, Engine::KvmPvm));
    }

    #[test]
    fn figures_are_the_hardware_s_only_without_evidence_of_emulation() {
        assert_eq!(Engine::KvmIntel.emulated(Some(1.1), Some("KVM")), None);
        assert_eq!(Engine::Kvm.emulated(None, None), None);
        assert!(Engine::KvmIntel.emulated(Some(84.0), None).unwrap().contains("84 times"));
        assert!(Engine::Kvm.emulated(Some(84.0), None).is_some());
        // The module alone is enough evidence, and so is the translator, however short its times are.
        assert!(Engine::KvmPvm.emulated(Some(1.0), None).is_some());
        assert!(Engine::QemuTcg.emulated(Some(1.0), None).is_some());
        assert!(Engine::QemuTcgIcount.emulated(Some(1.0), None).is_some());
        assert!(Engine::KvmAmd.emulated(Some(1.0), Some("QEMU TCG")).is_some());
    }
}
