//! Raises the limits on descriptors and tasks where that is allowed, and names them where it is not.

use super::spec::Spec;
use std::{fs, mem};
use tollgate_measure::Refusal;

/// Descriptors that a worker has open besides those of its rings.
const OTHER_DESCRIPTORS: u64 = 64;

/// Raises the soft limits to what the ring needs, the hard ones too where the process may.
pub(super) fn raise(spec: &Spec) {
    // Other rings, none of them larger, are open at the same time.
    raise_one(libc::RLIMIT_NOFILE, 2 * descriptors(spec));
    raise_one(libc::RLIMIT_NPROC, u64::MAX);
}

/// Open files that the worker needs for this ring. Links of processes move to their tasks one by one; those of threads
/// all stay in this process.
fn descriptors(spec: &Spec) -> u64 {
    let links = if spec.threads { u64::from(spec.procs) } else { 2 };
    links * spec.link.descriptors() + OTHER_DESCRIPTORS
}

fn raise_one(resource: libc::__rlimit_resource_t, need: u64) {
    let Some(now) = read(resource) else { return };
    if now.rlim_cur >= need {
        return;
    }
    // First with a higher hard limit, which only a privileged process may set, then up to the current one.
    for hard in [now.rlim_max.max(need), now.rlim_max] {
        let wanted = libc::rlimit { rlim_cur: need.min(hard), rlim_max: hard };
        // SAFETY: the structure is valid; the limit is this process's own.
        if unsafe { libc::setrlimit(resource, &wanted) } == 0 {
            return;
        }
    }
}

fn read(resource: libc::__rlimit_resource_t) -> Option<libc::rlimit> {
    // SAFETY: rlimit is plain data that the call fills.
    let mut limit: libc::rlimit = unsafe { mem::zeroed() };
    // SAFETY: the structure is valid.
    (unsafe { libc::getrlimit(resource, &mut limit) } == 0).then_some(limit)
}

/// A limit of this system on the tasks or descriptors of a process: its name, what it allows and what is needed.
type Limit = (&'static str, u64, u64);

/// The refusal of a ring, with the names and values of the limits that it met.
pub(super) fn named(refusal: Refusal, spec: &Spec) -> Refusal {
    let Refusal::Skip { reason, enable } = refusal else { return refusal };
    let limits = limits(spec);
    let too_low: Vec<&Limit> = limits.iter().filter(|(_, allows, needed)| allows < needed).collect();
    let shown = if too_low.is_empty() { limits.iter().collect() } else { too_low };
    let list: Vec<String> = shown
        .iter()
        .map(|(name, allows, needed)| format!("{name} is {allows} and {needed} are needed"))
        .collect();
    if list.is_empty() {
        return Refusal::Skip { reason, enable };
    }
    Refusal::Skip { reason: format!("{reason} ({})", list.join("; ")), enable }
}

/// The limits that apply to this ring, as far as the system shows them.
fn limits(spec: &Spec) -> Vec<Limit> {
    let soft = |resource| read(resource).map(|limit| limit.rlim_cur).filter(|&it| it != libc::RLIM_INFINITY);
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let tasks = u64::from(spec.procs);
    let found = [
        ("RLIMIT_NOFILE", soft(libc::RLIMIT_NOFILE), descriptors(spec)),
        ("RLIMIT_NPROC", soft(libc::RLIMIT_NPROC), tasks),
        ("the cgroup's pids.max", number("/sys/fs/cgroup/pids.max"), tasks),
        ("kernel.threads-max", number("/proc/sys/kernel/threads-max"), tasks),
        ("kernel.pid_max", number("/proc/sys/kernel/pid_max"), tasks),
    ];
    found.into_iter().filter_map(|(name, allows, needed)| Some((name, allows?, needed))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_is_too_low_is_named_alone() {
        let spec = Spec::like_lmbench(u32::MAX, 0, 0);
        let Refusal::Skip { reason, enable } = named(Refusal::skip("fork: no", "raise it"), &spec) else {
            panic!("still a skip");
        };
        assert!(reason.starts_with("fork: no (") && reason.contains("kernel.pid_max is "), "{reason}");
        assert!(!reason.contains("RLIMIT_NOFILE"), "processes need few descriptors: {reason}");
        assert_eq!(enable, "raise it");
        let failed = Refusal::Failed("broken".into());
        assert_eq!(named(failed.clone(), &spec), failed);
    }

    #[test]
    fn threads_keep_all_descriptors_and_processes_few() {
        let mut spec = Spec { threads: true, ..Spec::like_lmbench(1000, 0, 0) };
        assert_eq!(descriptors(&spec), 2064);
        spec.threads = false;
        assert!(descriptors(&spec) < 100);
    }
}
