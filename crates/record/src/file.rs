//! Files that a user names: read within bounds, and replaced whole or not at all.

use crate::number::bytes as bytes_of;
use crate::trust;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// The bytes of a file that is read whole: a regular one of at most `most` bytes, or the pipe of a shell's `<(...)`.
///
/// # Errors
/// Whatever the system reports; also devices and named pipes, whose end may never come, and larger files
/// ([`io::ErrorKind::FileTooLarge`]). Each reads as a clause after the file's name.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let there = fs::metadata(path)?;
    let kind = there.file_type();
    // A shell's pipe has a path (`/dev/fd/63`) that leads out of the file system.
    if !(kind.is_fifo() && fs::canonicalize(path).is_err()) {
        check_end(&there, most)?;
    }
    // A file of the kernel may wait for events instead of ending.
    let flags = if kind.is_file() { libc::O_NONBLOCK } else { 0 };
    read_from(File::options().read(true).custom_flags(flags).open(path)?, most)
}

/// The same of a regular file that no other user can change.
///
/// # Errors
/// As [`read`] and [`trust::open`].
pub fn read_trusted(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = trust::open(path)?;
    check_end(&file.metadata()?, most)?;
    read_from(file, most)
}

/// Refuses what may never end, or not begin, and what is too large.
fn check_end(there: &Metadata, most: u64) -> io::Result<()> {
    if there.is_file() && there.len() > most {
        return Err(too_large(most));
    }
    if there.is_file() || there.is_dir() {
        return Ok(());
    }
    let why = "is a device or a pipe; copy its contents to a file, and give that";
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// All bytes of a reader, which are at most `most`.
///
/// # Errors
/// As [`read`].
pub fn read_from(reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
}

fn too_large(most: u64) -> io::Error {
    let why = format!("has more than the {} that are read", bytes_of(most as f64));
    io::Error::new(io::ErrorKind::FileTooLarge, why)
}

/// Replaces the file at `path`, or what the symbolic link there points to, by `content`. What is not a regular file (a
/// device, a pipe) is written to.
///
/// # Errors
/// Whatever the system reports, without the name of the temporary file.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    if is_special(path) {
        return fs::OpenOptions::new().write(true).open(path)?.write_all(content);
    }
    let path = target(path)?;
    let mut file = beside(&path)?;
    file.write_all(content).and_then(|()| file.as_file().sync_all()).map_err(plain)?;
    file.persist(path).map(drop).map_err(|error| plain(error.error))
}

/// Tries whether [`replace`] could write there.
///
/// # Errors
/// As [`replace`].
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    // A pipe whose writer closes it has ended for its reader, so that only files are tried.
    if is_special(path) { Ok(()) } else { beside(&target(path)?).map(drop) }
}

/// A new file, renamed or removed later, in the directory of `path`.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A file that exists keeps its permissions, but not those that another user gave it.
    let there = fs::metadata(path).ok().filter(trust::is_own);
    let permissions = there.map(|there| there.permissions());
    temporary(directory, ("", ""), permissions)
}

/// A new file in `directory`, with a prefix and a suffix to its name. Without `permissions` the umask decides.
pub(crate) fn temporary(
    directory: &Path,
    (prefix, suffix): (&str, &str),
    permissions: Option<Permissions>,
) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.permissions(permissions.unwrap_or_else(|| Permissions::from_mode(0o666)));
    if !prefix.is_empty() {
        builder.prefix(prefix).suffix(suffix);
    }
    builder.tempfile_in(directory).map_err(plain)
}

/// The error without the name of the temporary file.
pub fn plain(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((what, _)) => io::Error::new(error.kind(), what),
        None => error,
    }
}

fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file())
}

/// The target of a symbolic link. A link of another user is an error: it would choose the file that is replaced.
fn target(path: &Path) -> io::Result<PathBuf> {
    trust::check_link(path)?;
    Ok(fs::canonicalize(path).unwrap_or_else(|_| path.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, chown, lchown};

    #[test]
    fn what_may_have_no_end_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let [file, fifo] = ["file", "fifo"].map(|name| dir.path().join(name));
        fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert_eq!(read(&file, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        // Files of procfs have no length beforehand.
        assert!(!read(Path::new("/proc/self/stat"), 10_000).unwrap().is_empty());
        assert_eq!(read(Path::new("/proc/self/stat"), 10).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read(dir.path(), 10).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(read(&dir.path().join("gone"), 10).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for endless in [fifo.as_path(), Path::new("/dev/zero"), Path::new("/dev/tty")] {
            let error = read(endless, 10).unwrap_err();
            assert!(error.to_string().starts_with("is a device or a pipe"), "{error}");
        }
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"piped").unwrap();
        drop(writer);
        let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        assert_eq!(read(Path::new(&path), 5).unwrap(), b"piped");
    }

    #[test]
    fn a_file_is_replaced_through_its_link_and_keeps_its_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "before").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        check_replaceable(&link).unwrap();
        replace(&link, b"after").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"after");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn a_link_or_permissions_of_another_user_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (victim, link, file) =
            (dir.path().join("victim"), dir.path().join("link"), dir.path().join("file"));
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        fs::write(&file, "theirs").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        if lchown(&link, Some(65_534), None).is_err() {
            return tollgate_testkit::skip!("only root can give a file to another user");
        }
        chown(&file, Some(65_534), None).unwrap();
        // As in /tmp, where another user can take a name first.
        for refused in [replace(&link, b"new").unwrap_err(), check_replaceable(&link).unwrap_err()] {
            assert!(refused.to_string().contains("(65534)"), "{refused}");
        }
        assert_eq!(fs::read(&victim).unwrap(), b"mine");
        replace(&file, b"new").unwrap();
        let found = fs::metadata(&file).unwrap();
        assert_eq!((found.uid(), found.mode() & 0o002), (0, 0));
    }

    #[test]
    fn an_error_does_not_name_the_temporary_file() {
        let error = replace(Path::new("/does/not/exist"), b"").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains("/does/not"), "{error}");
        check_replaceable(Path::new("/dev/null")).unwrap();
        replace(Path::new("/dev/null"), b"x").unwrap();
    }
}
