//! Control groups in which a scan has little memory: version 2, version 1, or a scope of systemd, whichever is
//! allowed. Each is removed when the scan ends; the next start removes one that a killed program left.

use crate::ScanError;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tollgate_supervise::Prepare;

/// Prefix of a group's name, before the process id.
const NAME: &str = "tollgate-scan-";
/// A program cannot start with less.
const LEAST: u64 = 4 << 20;

/// The memory that a scan may use, and what enforces it.
#[derive(Clone, Debug)]
pub(crate) struct MemoryLimit {
    pub(crate) bytes: u64,
    enforcer: Enforcer,
}

#[derive(Clone, Debug)]
enum Enforcer {
    /// A group in this directory, with this version's files.
    Group(PathBuf, Version),
    /// `systemd-run --scope`, of the user's own manager or of the system's.
    Systemd { user: bool },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Version {
    One,
    Two,
}

impl MemoryLimit {
    /// The mechanism that enforces it, for the record.
    pub(crate) fn enforcer(&self) -> &'static str {
        match self.enforcer {
            Enforcer::Group(_, Version::Two) => "cgroup v2",
            Enforcer::Group(_, Version::One) => "cgroup v1",
            Enforcer::Systemd { user: true } => "systemd-run --user --scope",
            Enforcer::Systemd { user: false } => "systemd-run --scope",
        }
    }

    /// The control group that one process joins, unless systemd makes it.
    pub(crate) fn group(&self) -> io::Result<Option<Group>> {
        match &self.enforcer {
            Enforcer::Group(parent, version) => Group::make(parent, *version, self.bytes).map(Some),
            Enforcer::Systemd { .. } => Ok(None),
        }
    }

    /// The words of the command that runs `program` under the limit.
    pub(crate) fn words(&self, program: &[OsString]) -> Vec<OsString> {
        let Enforcer::Systemd { user } = &self.enforcer else { return program.to_vec() };
        let before = systemd(*user, self.bytes);
        before.into_iter().map(Into::into).chain(program.iter().cloned()).collect()
    }
}

/// The words before a command that runs in a scope of systemd's with a limit.
fn systemd(user: bool, bytes: u64) -> Vec<String> {
    let mut words = vec!["systemd-run".to_owned()];
    words.extend(user.then(|| "--user".to_owned()));
    words.extend(["--scope", "--quiet", "--collect", "-p"].map(str::to_owned));
    words.extend([format!("MemoryMax={bytes}"), "--".to_owned()]);
    words
}

/// A control group, removed when dropped.
pub(crate) struct Group {
    directory: PathBuf,
    version: Version,
    procs: Arc<File>,
}

impl Group {
    fn make(parent: &Path, version: Version, bytes: u64) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = parent.join(format!("{NAME}{}-{number}", std::process::id()));
        fs::create_dir(&directory)?;
        let file = match version {
            Version::Two => "memory.max",
            Version::One => "memory.limit_in_bytes",
        };
        let limited = OpenOptions::new()
            .write(true)
            .open(directory.join(file))
            .and_then(|mut limit| limit.write_all(bytes.to_string().as_bytes()))
            .and_then(|()| OpenOptions::new().write(true).open(directory.join("cgroup.procs")));
        match limited {
            Ok(procs) => Ok(Self { directory, version, procs: Arc::new(procs) }),
            Err(error) => {
                let _ = fs::remove_dir(&directory);
                Err(error)
            }
        }
    }

    /// Moves the process that calls it into the group.
    pub(crate) fn join(&self) -> Prepare {
        let procs = Arc::clone(&self.procs);
        Arc::new(move || {
            // SAFETY: write(2) of one valid byte; "0" means the process that writes.
            match unsafe { libc::write(procs.as_raw_fd(), b"0".as_ptr().cast(), 1) } {
                1 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        })
    }

    /// How many processes of the group the out-of-memory killer has ended.
    pub(crate) fn killed(&self) -> u64 {
        let file = match self.version {
            Version::Two => "memory.events",
            Version::One => "memory.oom_control",
        };
        let text = fs::read_to_string(self.directory.join(file)).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group is busy for a moment after its last process was waited for.
        for _ in 0..100 {
            match fs::remove_dir(&self.directory) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                _ => break,
            }
        }
    }
}

/// Finds what can enforce a limit here, and tries it.
///
/// # Errors
/// A limit that is too small, or the reason why nothing can enforce one.
pub(crate) fn find(bytes: u64) -> Result<MemoryLimit, ScanError> {
    if bytes < LEAST {
        return Err(ScanError::Wrong(format!(
            "--memory-limit {bytes} is too small to run at all; give at least {}M, better 16M",
            LEAST >> 20
        )));
    }
    let mut refusals = Vec::new();
    for (parent, version) in parents() {
        match Group::make(&parent, version, bytes) {
            Ok(_) => return Ok(MemoryLimit { bytes, enforcer: Enforcer::Group(parent, version) }),
            Err(error) => refusals.push(format!("{}: {error}", parent.display())),
        }
    }
    for user in [true, false] {
        let words = systemd(user, 64 << 20);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("true").stdin(Stdio::null());
        match command.output() {
            Ok(output) if output.status.success() => {
                return Ok(MemoryLimit { bytes, enforcer: Enforcer::Systemd { user } });
            }
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr);
                let said = text.lines().next().unwrap_or("it failed").to_owned();
                refusals.push(format!("systemd-run{}: {said}", if user { " --user" } else { "" }));
            }
            Err(error) => refusals.push(format!("systemd-run: {error}")),
        }
    }
    refusals.dedup();
    Err(ScanError::Refused(format!(
        "--memory-limit needs a control group, and none can be made here ({}); run it as root, or in a login \
         session of a system with systemd, or without --memory-limit on a file larger than memory",
        refusals.join("; ")
    )))
}

/// Removes the groups that killed programs have left.
pub(crate) fn remove_leftovers() {
    for (parent, _) in parents() {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let owner = name.to_str().and_then(owner);
            if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
                // The call fails for a group that still has processes.
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

/// The process that made a group of this name.
fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(NAME)?.split('-').next()?.parse().ok()
}

/// The directories in which groups with a limit of memory may be made.
fn parents() -> Vec<(PathBuf, Version)> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    parents_of(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
        .into_iter()
        .filter(|(parent, version)| {
            // In version 2 a group has only the controllers that its parent enables for it.
            *version == Version::One
                || fs::read_to_string(parent.join("cgroup.subtree_control"))
                    .is_ok_and(|text| text.split_whitespace().any(|name| name == "memory"))
        })
        .collect()
}

fn parents_of(groups: &str, mounts: &str) -> Vec<(PathBuf, Version)> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let version = if controllers.is_empty() { Version::Two } else { Version::One };
        if version == Version::One && !controllers.split(',').any(|name| name == "memory") {
            continue;
        }
        let Some((root, point)) = mounts.lines().find_map(|line| mount(line, version)) else { continue };
        let inside = path.strip_prefix(root.trim_end_matches('/')).unwrap_or("");
        let own = Path::new(point).join(inside.trim_start_matches('/'));
        // In version 2 a group with processes cannot have groups with limits below it, so create a sibling.
        let sibling = own.parent().filter(|parent| parent.starts_with(point)).map(Path::to_owned);
        found.push((own, version));
        found.extend(sibling.filter(|_| version == Version::Two).map(|sibling| (sibling, version)));
    }
    found.sort_by_key(|(_, version)| *version == Version::One);
    found
}

/// Root and mount point in a line of mountinfo, if it is the hierarchy that limits memory.
fn mount(line: &str, version: Version) -> Option<(&str, &str)> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(3);
    let (root, point) = (left.next()?, left.next()?);
    let mut right = right.split(' ');
    let (kind, options) = (right.next()?, right.nth(1)?);
    let fits = match version {
        Version::Two => kind == "cgroup2",
        Version::One => kind == "cgroup" && options.split(',').any(|option| option == "memory"),
    };
    fits.then_some((root, point))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(groups: &str, mounts: &str) -> Vec<(String, Version)> {
        let all = parents_of(groups, mounts);
        all.into_iter().map(|(path, version)| (path.to_string_lossy().into_owned(), version)).collect()
    }

    #[test]
    fn version_two_is_tried_in_this_group_and_beside_it() {
        let mounts = "31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw";
        let two = |path: &str| (path.to_owned(), Version::Two);
        assert_eq!(
            found("0::/user.slice/app.slice/x.scope\n", mounts),
            [two("/sys/fs/cgroup/user.slice/app.slice/x.scope"), two("/sys/fs/cgroup/user.slice/app.slice")]
        );
        assert_eq!(found("0::/\n", mounts), [two("/sys/fs/cgroup/")]);
    }

    #[test]
    fn version_one_is_found_by_its_controller_behind_a_mount_that_shows_a_part() {
        let mounts = "9 1 0:2 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      32 31 0:29 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory";
        assert_eq!(
            found("5:cpu:/docker/abc\n4:memory:/docker/abc/job\n0::/\n", mounts),
            [("/sys/fs/cgroup/memory/job".to_owned(), Version::One)]
        );
        assert_eq!(found("", mounts), []);
    }

    #[test]
    fn only_groups_of_this_program_have_an_owner() {
        assert_eq!(owner("tollgate-scan-123-4"), Some(123));
        assert_eq!(owner("tollgate-scan-x"), None);
        assert_eq!(owner("user.slice"), None);
    }
}
