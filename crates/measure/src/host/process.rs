//! This process: where it may run, what watches it, what it may use.

use super::files::{Files, value};
use tollgate_record::Host;

/// Capabilities that widen what can be measured, by their bit in the kernel's mask.
const CAPABILITIES: &[(u32, &str)] = &[
    (7, "setuid"),
    (19, "sys_ptrace"),
    (21, "sys_admin"),
    (23, "sys_nice"),
    (24, "sys_resource"),
    (38, "perfmon"),
    (39, "bpf"),
];

/// Reads affinity, user, seccomp, tracer, capabilities and limits.
pub(super) fn read(files: &Files, host: &mut Host) {
    let status = files.text("proc/self/status").unwrap_or_default();
    let get = |key| value(&status, key);
    host.cpu.allowed = get("Cpus_allowed_list").map(crate::placement::parse_cpu_list).unwrap_or_default();
    // Real, effective, saved, file system: the effective one decides what is permitted.
    host.uid =
        get("Uid").and_then(|ids| ids.split_ascii_whitespace().nth(1)?.parse().ok()).unwrap_or_default();
    host.kernel.seccomp = get("Seccomp").and_then(|mode| mode.parse::<u32>().ok()).map(|mode| mode != 0);
    host.kernel.traced = get("TracerPid").and_then(|pid| pid.parse::<u32>().ok()).map(|pid| pid != 0);
    let mask = get("CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
    host.capabilities = CAPABILITIES
        .iter()
        .filter(|(bit, _)| mask & (1 << bit) != 0)
        .map(|(_, name)| (*name).to_owned())
        .collect();
    let limits = files.text("proc/self/limits").unwrap_or_default();
    host.limits.open_files = soft(&limits, "Max open files");
    host.limits.processes = soft(&limits, "Max processes");
}

/// The soft limit in a line of `/proc/self/limits`; `unlimited` is none.
fn soft(limits: &str, name: &str) -> Option<u64> {
    limits.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace().next()?.parse().ok()
}
