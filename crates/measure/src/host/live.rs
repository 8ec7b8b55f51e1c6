//! What only system calls and instructions of the running machine tell.

use super::{hypervisor, pmu};
use std::mem;
use tollgate_record::Host;

/// Lays the facts of the running process and machine over those that files gave, and tries the
/// hardware counters. A call that is refused leaves the fact as it was.
pub fn live(host: &mut Host) {
    // The architecture that runs is the one that this was built for, whatever the kernel is.
    host.arch = std::env::consts::ARCH.into();
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
    if let Some(limit) = soft_limit(libc::RLIMIT_NOFILE) {
        host.limits.open_files = limit;
    }
    if let Some(limit) = soft_limit(libc::RLIMIT_NPROC) {
        host.limits.processes = limit;
    }
    for (resource, limit) in [
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

/// The soft limit, `Some(None)` when there is none to it.
fn soft_limit(resource: Resource) -> Option<Option<u64>> {
    // SAFETY: rlimit is plain numbers for which all zeroes is valid.
    let mut limit: libc::rlimit = unsafe { mem::zeroed() };
    // SAFETY: `limit` is valid for the call to fill.
    let got = unsafe { libc::getrlimit(resource, &raw mut limit) };
    (got == 0).then(|| (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as u64))
}
