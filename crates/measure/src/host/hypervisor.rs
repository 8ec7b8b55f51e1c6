//! Whether this is a virtual machine, and of which hypervisor.

use super::files::{Files, value};

/// DMI names of virtual hardware, and their makers. A cloud's bare-metal products have the cloud's name too, so names of
/// both kinds are not here.
const PRODUCTS: &[(&str, &str)] = &[
    ("qemu", "QEMU"),
    ("standard pc (", "QEMU"),
    ("kvm", "KVM"),
    ("openstack", "KVM"),
    ("firecracker", "KVM (Firecracker)"),
    ("google compute engine", "KVM (Google Compute Engine)"),
    ("vmware", "VMware"),
    ("virtualbox", "VirtualBox"),
    ("hvm domu", "Xen"),
    ("virtual machine", "Hyper-V"),
    ("apple virtualization", "Apple Virtualization"),
    ("parallels", "Parallels"),
    ("bhyve", "bhyve"),
];

/// The hypervisor by the files that name one.
pub(super) fn from_files(files: &Files) -> Option<String> {
    // Xen's host domain has this file too, and is a guest of the hypervisor all the same.
    if let Some(kind) = files.word("sys/hypervisor/type") {
        return Some(if kind == "xen" { "Xen".into() } else { kind });
    }
    if let Some(kind) = files.word("proc/device-tree/hypervisor/compatible") {
        return Some(match kind.split('\0').next().unwrap_or_default() {
            "linux,kvm" => "KVM".into(),
            other if other.starts_with("xen") => "Xen".into(),
            other => other.into(),
        });
    }
    let known = ["sys/class/dmi/id/product_name", "sys/class/dmi/id/sys_vendor"]
        .into_iter()
        .filter_map(|path| files.word(path))
        .chain(
            files
                .word("proc/device-tree/compatible")
                .filter(|kind| kind.contains("linux,dummy-virt") || kind.contains("riscv-virtio"))
                .map(|_| "QEMU".into()),
        )
        .find_map(|text| {
            let text = text.to_lowercase();
            PRODUCTS.iter().find(|(part, _)| text.contains(part)).map(|(_, name)| (*name).to_owned())
        });
    if known.is_some() {
        return known;
    }
    let info = files.text("proc/cpuinfo")?;
    value(&info, "flags")?
        .split_ascii_whitespace()
        .any(|flag| flag == "hypervisor")
        .then(|| "unnamed (the processor's hypervisor flag is set)".into())
}

/// The product name of the machine or board.
pub(super) fn machine(files: &Files) -> Option<String> {
    files
        .word("sys/class/dmi/id/product_name")
        .filter(|name| !name.eq_ignore_ascii_case("to be filled by o.e.m."))
        .or_else(|| files.word("proc/device-tree/model"))
}

/// The name that the hypervisor gives itself in cpuid leaf 0x40000000; nothing on bare metal.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub(super) fn from_cpuid() -> Option<String> {
    use raw_cpuid::{CpuId, Hypervisor};
    let cpuid = CpuId::new();
    if !cpuid.get_feature_info()?.has_hypervisor() {
        return None;
    }
    Some(match cpuid.get_hypervisor_info()?.identify() {
        Hypervisor::Xen => "Xen".into(),
        Hypervisor::VMware => "VMware".into(),
        Hypervisor::HyperV => "Hyper-V".into(),
        Hypervisor::KVM => "KVM".into(),
        Hypervisor::QEMU => "QEMU TCG".into(),
        Hypervisor::Bhyve => "bhyve".into(),
        Hypervisor::QNX => "QNX".into(),
        Hypervisor::ACRN => "ACRN".into(),
        Hypervisor::Unknown(b, c, d) => signature([b, c, d]),
    })
}

/// Other architectures have no such instruction.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
pub(super) fn from_cpuid() -> Option<String> {
    None
}

/// The twelve letters of the leaf, as far as they are printable.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn signature(registers: [u32; 3]) -> String {
    let name: String = registers
        .iter()
        .flat_map(|register| register.to_le_bytes())
        .filter(|byte| byte.is_ascii_graphic() || *byte == b' ')
        .map(char::from)
        .collect();
    let name = name.trim();
    if name.is_empty() { "unnamed (cpuid leaf 0x40000000 is blank)".into() } else { name.into() }
}

#[cfg(all(test, any(target_arch = "x86", target_arch = "x86_64")))]
mod tests {
    use super::signature;

    #[test]
    fn an_unknown_hypervisor_is_named_by_its_own_letters() {
        assert_eq!(signature([0x6574_7541, 0x2073_7473, 0x0000_0021]), "Autests !");
        assert_eq!(signature([0, 0, 0]), "unnamed (cpuid leaf 0x40000000 is blank)");
    }
}
