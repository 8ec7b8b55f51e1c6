//! Facts that only system calls and instructions of the running machine give.

use super::{hypervisor, pmu};
use std::mem;
use tollgate_record::Host;

/// Replaces the facts from files by those of the running process and machine, and tries the
/// hardware counters. If a call is refused, the fact stays as it was.
pub fn live(host: &mut Host) {
    // The architecture that runs is the one that this was built for, whatever the kernel is.
    let kernel = mem::replace(&mut host.arch, std::env::consts::ARCH.into());
    translated(host, &kernel);
    if let Some(names) = names() {
        [host.name, host.kernel.release, host.kernel.version] = names;
    }
    if let Ok(allowed) = crate::placement::allowed() {
        host.cpu.allowed = allowed;
    }
    if host.cpu.online.is_empty() {
        // SAFETY: sysconf reads no memory of ours.
        let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        // Without /sys the numbers are not known, only how many; those that may be used are certain.
        host.cpu.online = if host.cpu.allowed.is_empty() {
            (0..count.clamp(0, 65_536) as usize).collect()
        } else {
            host.cpu.allowed.clone()
        };
    }
    // SAFETY: geteuid has no arguments and cannot fail.
    host.uid = unsafe { libc::geteuid() };
    // SAFETY: getauxval reads the vector that the kernel gave the process at its start.
    host.page_bytes = unsafe { libc::getauxval(libc::AT_PAGESZ) } as u64;
    for (resource, limit) in [
        (libc::RLIMIT_NOFILE, &mut host.limits.open_files),
        (libc::RLIMIT_NPROC, &mut host.limits.processes),
        (libc::RLIMIT_AS, &mut host.limits.address_space_bytes),
        (libc::RLIMIT_FSIZE, &mut host.limits.file_bytes),
        (libc::RLIMIT_MEMLOCK, &mut host.limits.locked_bytes),
    ] {
        if let Some(found) = soft_limit(resource) {
            *limit = found;
        }
    }
    host.kernel.seccomp = host.kernel.seccomp.or_else(super::attempt::seccomp);
    // The instruction is closer to the truth than DMI text, which owners of machines can edit.
    if let Some(name) = hypervisor::from_cpuid() {
        host.hypervisor = Some(name);
    }
    host.pmu = pmu::attempt(host);
}

/// How the name of a translator of one program begins.
const TRANSLATOR: &str = "QEMU TCG (a program for ";

/// Whether [`live`] found that only the program is emulated, not the machine.
#[must_use]
pub fn is_translated(host: &Host) -> bool {
    host.hypervisor.as_ref().is_some_and(|name| name.starts_with(TRANSLATOR))
}

/// Whether a program for one architecture runs on a kernel of another, which only an emulator makes possible. The
/// kernel's facts about the processor are then not those of the processor that the program sees.
pub(super) fn translated(host: &mut Host, kernel: &str) {
    const APART: [&str; 3] = ["x86_64", "aarch64", "riscv64"];
    if kernel == host.arch || !APART.contains(&kernel) || !APART.contains(&host.arch.as_str()) {
        return;
    }
    host.hypervisor = Some(format!("{TRANSLATOR}{} on a kernel for {kernel})", host.arch));
    let cpu = &mut host.cpu;
    cpu.model = format!("emulated {}", host.arch);
    cpu.vendor.clear();
    cpu.flags.clear();
    (cpu.family_model_stepping, cpu.microcode, cpu.part, cpu.isa) = (None, None, None, None);
}

/// Node name, release and version.
fn names() -> Option<[String; 3]> {
    // SAFETY: utsname is plain bytes for which all zeroes is valid.
    let mut name: libc::utsname = unsafe { mem::zeroed() };
    // SAFETY: `name` is valid for the call to fill.
    if unsafe { libc::uname(&raw mut name) } != 0 {
        return None;
    }
    Some([&name.nodename[..], &name.release[..], &name.version[..]].map(|field| {
        let bytes: Vec<u8> = field.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as u8).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }))
}

#[cfg(target_env = "gnu")]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
type Resource = libc::c_int;

/// The soft limit; `Some(None)` if there is no limit.
fn soft_limit(resource: Resource) -> Option<Option<u64>> {
    // SAFETY: rlimit is plain numbers for which all zeroes is valid.
    let mut limit: libc::rlimit = unsafe { mem::zeroed() };
    // SAFETY: `limit` is valid for the call to fill.
    let got = unsafe { libc::getrlimit(resource, &raw mut limit) };
    (got == 0).then(|| (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as u64))
}

#[cfg(test)]
mod tests {
    use super::translated;
    use tollgate_record::Host;

    #[test]
    fn a_program_of_another_architecture_is_emulated_and_its_processor_is_not_the_kernels() {
        let mut host = Host { arch: "riscv64".into(), ..Host::default() };
        host.cpu.vendor = "GenuineIntel".into();
        host.cpu.flags = vec!["pcid".into()];
        let before = host.clone();
        translated(&mut host, "riscv64");
        translated(&mut host, "");
        assert_eq!(host, before);
        translated(&mut host, "x86_64");
        assert!(super::is_translated(&host) && !super::is_translated(&before));
        assert!(host.cpu.vendor.is_empty() && host.cpu.flags.is_empty());
    }
}
