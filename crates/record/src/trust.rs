//! Files that other users of the host could change are neither executed nor trusted.
//!
//! The rule is that of sshd's `StrictModes`: this user or root owns the file and every directory above it, and nobody else
//! may write to them. A directory above it may be writable if it is sticky, because its entries are then safe. A symbolic
//! link on the way must belong to this user or root, too.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// As many links are followed in one path as the kernel follows.
const MOST_LINKS: usize = 40;

/// Who else could change a path.
#[derive(Debug, thiserror::Error)]
pub enum Untrusted {
    /// Another user owns it.
    #[error(
        "'{path}' belongs to user {owner}, who could change it for user {me}: name another one, or a copy of your own"
    )]
    Owner {
        /// The file, directory or link.
        path: String,
        /// Its owner, by name and number.
        owner: String,
        /// The user of this process.
        me: String,
    },
    /// Other users may write to it.
    #[error(
        "{writer} may write to '{path}': run 'chmod go-w {path}' if nobody has changed it, or name another one"
    )]
    Writable {
        /// The file or directory.
        path: String,
        /// Every user, or a group.
        writer: String,
    },
    /// The links do not end.
    #[error("'{0}' has too many symbolic links")]
    Links(String),
}

/// The path without links, if no other user can change what it leads to.
///
/// # Errors
/// [`Untrusted`], or what the system reports.
pub fn check(path: &Path) -> io::Result<PathBuf> {
    Judge::here().walk(path)
}

/// Opens a file that no other user can change. It is checked when it is open, so that nobody can replace it after the
/// check.
///
/// # Errors
/// As [`check`].
pub fn open(path: &Path) -> io::Result<File> {
    let judge = Judge::here();
    let plain = judge.walk(path)?;
    // A pipe is opened without waiting for its writer.
    let file =
        OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&plain)?;
    judge.judge(&plain, &file.metadata()?, false)?;
    Ok(file)
}

/// The path without links of a directory, if no other user can change anything in it.
///
/// # Errors
/// As [`check`].
pub fn tree(path: &Path) -> io::Result<PathBuf> {
    let judge = Judge::here();
    let root = judge.walk(path)?;
    // No other user can open the files of a directory that only its owner may search, with any modes.
    let closed = fs::metadata(&root)?.mode() & 0o011 == 0;
    let mut left = vec![root.clone()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            let found = fs::symlink_metadata(&path)?;
            if found.is_symlink() {
                // Its target may be outside.
                match judge.walk(&path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    other => drop(other?),
                }
                continue;
            }
            judge.judge_owner(&path, &found, false)?;
            if !closed {
                judge.judge(&path, &found, false)?;
            }
            if found.is_dir() {
                left.push(path);
            }
        }
    }
    Ok(root)
}

/// Makes a directory that no other user can search, with those above it that are missing; the path without links. What
/// exists of the path is checked before, so that nothing is made where another user wants it.
///
/// # Errors
/// As [`check`].
pub fn make(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    if let Some(there) = path.ancestors().find(|above| fs::symlink_metadata(above).is_ok()) {
        Judge::here().walk_above(there, there != path)?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
    check(&path)
}

/// The directory for temporary files, if no other user can replace what this one makes in it.
///
/// # Errors
/// As [`check`].
pub fn temporary() -> io::Result<PathBuf> {
    Judge::here().walk_above(&std::env::temp_dir(), true)
}

/// Whether an error is [`Untrusted`].
pub fn is_untrusted(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Untrusted>())
}

/// Whether the user of this process may follow a link that is at the end of a path: the kernel's rule for directories
/// that all may write (`fs.protected_symlinks`), which does not apply to a program that reads links itself.
///
/// # Errors
/// [`Untrusted`].
pub fn check_link(path: &Path) -> io::Result<()> {
    let Ok(link) = fs::symlink_metadata(path) else { return Ok(()) };
    if !link.is_symlink() {
        return Ok(());
    }
    Judge::here().judge_owner(path, &link, false)
}

/// Whether this user owns a file.
pub(crate) fn is_own(found: &Metadata) -> bool {
    user() == found.uid()
}

/// The user of this process.
struct Judge {
    me: u32,
    /// How a user namespace shows the owners outside of it, of which root is one.
    outside: Option<u32>,
}

impl Judge {
    fn here() -> Self {
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        let overflow = fs::read_to_string("/proc/sys/kernel/overflowuid").unwrap_or_default();
        Self { me: user(), outside: outside(&map, &overflow) }
    }

    /// Goes along a path from the root, and judges each step.
    fn walk(&self, path: &Path) -> io::Result<PathBuf> {
        self.walk_above(path, false)
    }

    /// The same for a path that is itself `above` what is wanted.
    fn walk_above(&self, path: &Path, above: bool) -> io::Result<PathBuf> {
        let shown = || crate::text::printable(&path.to_string_lossy()).into_owned();
        let mut left = steps(&std::path::absolute(path)?);
        let mut at = PathBuf::from("/");
        self.judge(&at, &fs::metadata(&at)?, above || !left.is_empty())?;
        let mut links = 0;
        while let Some(name) = left.pop() {
            if name == ".." {
                at.pop();
                continue;
            }
            let here = at.join(&name);
            let found = fs::symlink_metadata(&here)?;
            if !found.is_symlink() {
                self.judge(&here, &found, above || !left.is_empty())?;
                at = here;
                continue;
            }
            self.judge_owner(&here, &found, above || !left.is_empty())?;
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::other(Untrusted::Links(shown())));
            }
            let target = fs::read_link(&here)?;
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            left.extend(steps(&target));
        }
        Ok(at)
    }

    /// Judges a file, or a directory; `above` if it is on the way to another.
    fn judge(&self, path: &Path, found: &Metadata, above: bool) -> io::Result<()> {
        self.judge_owner(path, found, above)?;
        let sticky = above && found.mode() & 0o1000 != 0;
        // Writing to a terminal or to /dev/null does not change later reads.
        if found.mode() & 0o022 == 0 || sticky || found.file_type().is_char_device() {
            return Ok(());
        }
        let writer = match found.mode() & 0o002 {
            0 if self.is_private(found.gid()) => return Ok(()),
            0 => format!("group {}", name(GROUPS, found.gid())),
            _ => "every user".into(),
        };
        Err(io::Error::other(Untrusted::Writable { path: show(path), writer }))
    }

    fn judge_owner(&self, path: &Path, found: &Metadata, above: bool) -> io::Result<()> {
        let owner = found.uid();
        if owner == 0 || owner == self.me || above && Some(owner) == self.outside {
            return Ok(());
        }
        let (owner, me) = (name(USERS, owner), name(USERS, self.me));
        Err(io::Error::other(Untrusted::Owner { path: show(path), owner, me }))
    }

    /// Whether a group has this user alone. Where the umask is 002 it may write to all of the user's files.
    fn is_private(&self, group: u32) -> bool {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        self.me != 0 && is_private(self.me, group, &read(USERS), &read(GROUPS))
    }
}

const USERS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";

/// The effective user of this process.
fn user() -> u32 {
    // SAFETY: no arguments, and it cannot fail.
    unsafe { libc::geteuid() }
}

/// The steps of a path, the first one last.
fn steps(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|step| match step {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    let mut names: Vec<OsString> = names.collect();
    names.reverse();
    names
}

/// The number that owners outside of a user namespace have, if this process is in one that does not map it.
fn outside(map: &str, overflow: &str) -> Option<u32> {
    let overflow: u32 = overflow.trim().parse().ok()?;
    let ranges = map.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().map(|field| field.parse::<u64>().ok());
        let (first, _, count) = (fields.next()??, fields.next()??, fields.next()??);
        Some(first..first.saturating_add(count))
    });
    let ranges: Vec<_> = ranges.collect();
    let mapped = ranges.iter().any(|range| range.contains(&u64::from(overflow)));
    (!ranges.is_empty() && !mapped).then_some(overflow)
}

/// Whether a group has one member, this user, by the lines of passwd(5) and group(5).
fn is_private(user: u32, group: u32, users: &str, groups: &str) -> bool {
    let field = |line: &'_ str, at: usize| line.split(':').nth(at).map(str::to_owned);
    let number = |line: &str, at| field(line, at).and_then(|text| text.parse::<u32>().ok());
    let mine = users.lines().find(|line| number(line, 2) == Some(user) && number(line, 3) == Some(group));
    let Some(mine) = mine.and_then(|line| field(line, 0)) else { return false };
    let primary =
        users.lines().filter(|line| number(line, 3) == Some(group)).filter_map(|line| field(line, 0));
    let Some(line) = groups.lines().find(|line| number(line, 2) == Some(group)) else { return false };
    let listed = field(line, 3).unwrap_or_default();
    let listed = listed.split(',').filter(|name| !name.is_empty()).map(str::to_owned);
    primary.chain(listed).collect::<BTreeSet<String>>() == BTreeSet::from([mine])
}

/// A user or group by name and number.
fn name(file: &str, number: u32) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|line| line.split(':').nth(2) == Some(&number.to_string()));
    match line.and_then(|line| line.split(':').next()) {
        Some(name) => format!("{name} ({number})"),
        None => number.to_string(),
    }
}

fn show(path: &Path) -> String {
    crate::text::printable(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests;
