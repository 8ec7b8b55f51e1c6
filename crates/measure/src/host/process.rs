//! This process: its CPUs, tracer, privileges and limits.

use super::files::{Files, value};
use tollgate_record::Host;

/// Capabilities that widen what can be measured, by their bit in the kernel's mask.
const CAPABILITIES: &[(u32, &str)] = &[
    (7, "setuid"),
    (14, "ipc_lock"),
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
    host.user_namespace = files.text("proc/self/uid_map").map(|map| !is_whole(&map));
    let mask = get("CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
    // The capabilities of a user namespace's root do not cover counters and tracing, which belong to the machine.
    let mask = if host.user_namespace == Some(true) { 0 } else { mask };
    host.capabilities = CAPABILITIES
        .iter()
        .filter(|(bit, _)| mask & (1 << bit) != 0)
        .map(|(_, name)| (*name).to_owned())
        .collect();
    let limits = files.text("proc/self/limits").unwrap_or_default();
    host.limits.open_files = soft(&limits, "Max open files");
    host.limits.processes = soft(&limits, "Max processes");
    host.limits.address_space_bytes = soft(&limits, "Max address space");
    host.limits.file_bytes = soft(&limits, "Max file size");
    host.limits.locked_bytes = soft(&limits, "Max locked memory");
    host.proc_options = proc_options(&files.text("proc/self/mountinfo").unwrap_or_default());
    // A process outside a time namespace has offsets, too: of zero.
    let offsets = files.text("proc/self/timens_offsets").unwrap_or_default();
    host.monotonic_offset_s = offsets
        .lines()
        .filter_map(|line| line.strip_prefix("monotonic"))
        .find_map(|rest| rest.split_ascii_whitespace().next()?.parse().ok())
        .filter(|&seconds: &i64| seconds != 0);
}

/// Whether a map of user ids is that of the machine: every number stands for itself.
fn is_whole(map: &str) -> bool {
    map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
}

/// The options of the last /proc mounted that hide processes or files.
fn proc_options(mountinfo: &str) -> Vec<String> {
    let options = mountinfo.lines().rev().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let (kind, options) = (right.next()?, right.nth(1)?);
        (left.split(' ').nth(4)? == "/proc" && kind == "proc").then_some(options)
    });
    let hides = |option: &&str| {
        (option.starts_with("hidepid=") && !matches!(*option, "hidepid=0" | "hidepid=off"))
            || option.starts_with("subset=")
    };
    options.unwrap_or_default().split(',').filter(hides).map(str::to_owned).collect()
}

/// The soft limit in a line of `/proc/self/limits`; `unlimited` means no limit.
fn soft(limits: &str, name: &str) -> Option<u64> {
    limits.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{is_whole, proc_options};

    #[test]
    fn a_user_namespace_shows_in_its_map() {
        assert!(is_whole("         0          0 4294967295\n"));
        assert!(!is_whole("         0       1000          1\n"));
        assert!(!is_whole("0 0 65536\n65536 0 1\n"));
    }

    #[test]
    fn what_proc_hides_is_an_option_of_its_last_mount() {
        let of = |options| {
            proc_options(&format!(
                "25 1 0:22 / /proc rw,relatime - proc proc rw\n\
                 61 25 0:55 / /proc rw,relatime shared:3 - proc proc {options}\n\
                 62 61 0:56 / /proc/sys ro - proc proc rw,hidepid=2\n"
            ))
        };
        assert_eq!(of("rw"), [""; 0]);
        assert_eq!(of("rw,hidepid=0"), [""; 0]);
        assert_eq!(of("rw,hidepid=invisible,subset=pid"), ["hidepid=invisible", "subset=pid"]);
        assert_eq!(proc_options("no such lines"), [""; 0]);
    }
}
