//! The limits of the control group, of both versions.
//!
//! The limits of all ancestors bind, so the tightest on the way up is in force. Inside a
//! container only the ancestors that its mount shows can be read.

use super::files::Files;
use tollgate_record::host::Cgroup;

/// A limit at or above this means no limit: version 1 writes the largest number of pages.
const NO_LIMIT: u64 = 1 << 62;

/// Reads the tightest limits; empty without control groups.
pub(super) fn read(files: &Files) -> Cgroup {
    let mount_text = files.text("proc/self/mountinfo").unwrap_or_default();
    let mounts = mounts(&mount_text);
    let mut found = Cgroup::default();
    for line in files.text("proc/self/cgroup").unwrap_or_default().lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if controllers.is_empty() {
            found.version = found.version.or(Some(2));
            let mount = mounts.iter().find(|mount| mount.kind == "cgroup2");
            for directory in ancestors(mount, "/sys/fs/cgroup", path) {
                limits(files, &directory, &mut found);
            }
        } else {
            for controller in controllers.split(',').filter(|name| matches!(*name, "cpu" | "memory" | "pids"))
            {
                // The version is that of the hierarchy with the limits.
                found.version = Some(1);
                let mount = mounts.iter().find(|mount| {
                    mount.kind == "cgroup" && mount.options.split(',').any(|o| o == controller)
                });
                for directory in ancestors(mount, &format!("/sys/fs/cgroup/{controller}"), path) {
                    limits(files, &directory, &mut found);
                }
            }
        }
    }
    found
}

/// One mounted hierarchy.
struct Mount<'a> {
    /// The group that the mount point shows.
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

/// The control group mounts of a mountinfo text.
fn mounts(text: &str) -> Vec<Mount<'_>> {
    text.lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let mut left = left.split(' ').skip(3);
            let mut right = right.split(' ');
            let (root, point) = (left.next()?, left.next()?);
            let (kind, options) = (right.next()?, right.nth(1)?);
            kind.starts_with("cgroup").then_some(Mount { root, point, kind, options })
        })
        .collect()
}

/// The directories of a group and of its ancestors up to the mount point, the group's own first.
fn ancestors(mount: Option<&Mount<'_>>, usual: &str, group: &str) -> Vec<String> {
    let (root, point) = mount.map_or(("/", usual), |mount| (mount.root, mount.point));
    // A group outside of what the mount shows (`/../x`, or another branch): only the mount point is left.
    let inside = match group.strip_prefix(root.trim_end_matches('/')) {
        Some(rest)
            if (rest.is_empty() || rest.starts_with('/')) && !rest.split('/').any(|part| part == "..") =>
        {
            rest
        }
        _ => "",
    };
    let mut directory = format!("{}{}", point, inside.trim_end_matches('/'));
    let mut all = Vec::new();
    while directory.len() > point.len() {
        all.push(directory.clone());
        let Some(cut) = directory.rfind('/') else { break };
        directory.truncate(cut);
    }
    all.push(point.to_owned());
    all
}

/// Tightens what was found by the limits of one group, in the files of either version.
fn limits(files: &Files, directory: &str, found: &mut Cgroup) {
    let path = |file: &str| format!("{directory}/{file}");
    // Version 2 has both numbers in one file, where `max` means no quota.
    let both = files.word(&path("cpu.max")).unwrap_or_default();
    let quota = both.split_once(' ').and_then(|(quota, period)| quota.parse().ok().zip(period.parse().ok()));
    let old = || files.number(&path("cpu.cfs_quota_us")).zip(files.number(&path("cpu.cfs_period_us")));
    if let Some((quota, period)) = quota.or_else(old) {
        cpus(&mut found.cpu_max, quota, period);
    }
    // Above `memory.high` the group is slowed down, which spoils a measurement as surely.
    for file in ["memory.max", "memory.high", "memory.limit_in_bytes"] {
        tighter(&mut found.memory_max, files.number(&path(file)));
    }
    tighter(&mut found.pids_max, files.number(&path("pids.max")));
}

fn tighter(limit: &mut Option<u64>, other: Option<u64>) {
    if let Some(other) = other.filter(|&other| other < NO_LIMIT) {
        *limit = Some(limit.map_or(other, |limit| limit.min(other)));
    }
}

/// A quota of -1 means no limit.
fn cpus(limit: &mut Option<f64>, quota: f64, period: f64) {
    let cpus = quota / period;
    if cpus.is_finite() && cpus > 0.0 {
        *limit = Some(limit.map_or(cpus, |limit| limit.min(cpus)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_up_ends_at_the_mount_point() {
        let mount = |root| Mount { root, point: "/sys/fs/cgroup", kind: "cgroup2", options: "rw" };
        let up = |root, group| ancestors(Some(&mount(root)), "", group);
        assert_eq!(up("/", "/a/b"), ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"]);
        assert_eq!(up("/", "/"), ["/sys/fs/cgroup"]);
        assert_eq!(up("/docker/1", "/docker/1"), ["/sys/fs/cgroup"]);
        assert_eq!(up("/docker/1", "/docker/1/x"), ["/sys/fs/cgroup/x", "/sys/fs/cgroup"]);
        assert_eq!(up("/docker/1", "/docker/12"), ["/sys/fs/cgroup"]);
        assert_eq!(up("/", "/../../x"), ["/sys/fs/cgroup"]);
    }
}
