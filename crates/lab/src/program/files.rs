//! The files of a program on a proxy kernel: those that it may read, and a directory in which it may also write.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, mkdirat, openat, renameat, statat, unlinkat};
use tollgate_riscv::{Errno, HostCalls, MemoryFiles, Refused, Stat};

/// Open flags with the values of Linux on RISC-V.
const O_ACCMODE: u64 = 3;
const O_WRONLY: u64 = 1;
const O_RDWR: u64 = 2;
const FLAGS: [(u64, OFlags); 4] =
    [(0o100, OFlags::CREATE), (0o200, OFlags::EXCL), (0o1000, OFlags::TRUNC), (0o2000, OFlags::APPEND)];
const AT_REMOVEDIR: u64 = 0x200;
/// Numbers of files of the directory; those in memory come before.
const FIRST: u64 = 1000;
const MOST_OPEN: u64 = 256;

/// Files in memory, and those of a directory on this host.
pub(super) struct Files {
    memory: MemoryFiles,
    directory: Option<Directory>,
    open: BTreeMap<u64, File>,
}

impl Files {
    /// Files in memory, and a directory in which a program may do what it likes.
    pub(super) fn new(memory: MemoryFiles, directory: Option<Directory>) -> Self {
        Self { memory, directory, open: BTreeMap::new() }
    }

    /// Does something in the directory; what leads out of it is refused.
    fn inside<T>(
        &mut self,
        path: &str,
        write: bool,
        act: impl FnOnce(&Directory, &str) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        let done = match &self.directory {
            Some(directory) => act(directory, path),
            None => Err(rustix::io::Errno::LOOP),
        };
        done.map_err(|error| match error {
            // A link, or '..'.
            rustix::io::Errno::LOOP => self.memory.refuse(path, write),
            error => Errno(error.raw_os_error() as u16),
        })
    }

    fn file(&mut self, fd: u64) -> Result<&mut File, Errno> {
        self.open.get_mut(&fd).ok_or(Errno::EBADF)
    }

    /// Whether the path is that of a file in memory, or there is nothing else.
    fn is_memory(&self, path: &str) -> bool {
        self.directory.is_none() || self.memory.contains(path)
    }
}

/// A directory that no path leads out of.
pub(super) struct Directory {
    descriptor: OwnedFd,
    /// As it was given, and without links.
    names: [PathBuf; 2],
}

impl Directory {
    /// Opens it.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = openat(CWD, path, flags, Mode::empty())?;
        Ok(Self { descriptor, names: [path.to_owned(), path.canonicalize()?] })
    }

    /// The names on the way to a path. The program's working directory and root are this directory; a path may also begin with
    /// the directory's own name.
    fn names<'a>(&self, path: &'a str) -> rustix::io::Result<Vec<&'a str>> {
        let own = |name: &PathBuf| Path::new(path).strip_prefix(name).ok().and_then(Path::to_str);
        let rest = self.names.iter().find_map(own).unwrap_or(path);
        let names: Vec<&str> = rest.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        if names.contains(&"..") { Err(rustix::io::Errno::LOOP) } else { Ok(names) }
    }

    /// The directory in which the last name of a path is, and that name. One step at a time without links, so that nothing
    /// that is changed meanwhile leads out.
    fn parent<'a>(&self, path: &'a str) -> rustix::io::Result<(OwnedFd, &'a str)> {
        let names = self.names(path)?;
        let (last, way) = names.split_last().map_or((".", &[][..]), |(last, way)| (*last, way));
        let mut at = self.descriptor.try_clone().map_err(|_| rustix::io::Errno::MFILE)?;
        for &name in way {
            no_link(&at, name)?;
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            at = openat(&at, name, flags, Mode::empty()).map_err(|error| match error {
                // A path of the host, not of this directory.
                rustix::io::Errno::NOENT if path.starts_with('/') => rustix::io::Errno::LOOP,
                error => error,
            })?;
        }
        Ok((at, last))
    }

    fn file(&self, path: &str, flags: u64, mode: u64) -> rustix::io::Result<File> {
        let (at, name) = self.parent(path)?;
        // A pipe would block, and a device is not a file of the directory.
        match statat(&at, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::RegularFile) | Err(_) => {}
            Ok(FileType::Directory) => return Err(rustix::io::Errno::ISDIR),
            Ok(_) => return Err(rustix::io::Errno::LOOP),
        }
        let mut how = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        how |= match flags & O_ACCMODE {
            O_WRONLY => OFlags::WRONLY,
            O_RDWR => OFlags::RDWR,
            _ => OFlags::RDONLY,
        };
        for (flag, ours) in FLAGS {
            if flags & flag != 0 {
                how |= ours;
            }
        }
        let file = openat(&at, name, how, Mode::from_raw_mode(mode as u32 & 0o777))?;
        match FileType::from_raw_mode(fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            _ => Err(rustix::io::Errno::LOOP),
        }
    }

    fn stat(&self, path: &str) -> rustix::io::Result<Stat> {
        let (at, name) = self.parent(path)?;
        no_link(&at, name)?;
        let stat = statat(&at, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Stat { mode: stat.st_mode, size: stat.st_size as u64 })
    }
}

/// Refuses a symbolic link by an error of its own.
fn no_link(at: &OwnedFd, name: &str) -> rustix::io::Result<()> {
    match statat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
            Err(rustix::io::Errno::LOOP)
        }
        _ => Ok(()),
    }
}

fn failed(error: &io::Error) -> Errno {
    Errno(error.raw_os_error().and_then(|number| u16::try_from(number).ok()).unwrap_or(Errno::EINVAL.0))
}

impl HostCalls for Files {
    fn open(&mut self, path: &str, flags: u64, mode: u64) -> Result<u64, Errno> {
        let write = flags & (O_ACCMODE | 0o1100) != 0;
        if self.directory.is_none() || !write && self.memory.contains(path) {
            return self.memory.open(path, flags, mode);
        }
        let fd = (FIRST..FIRST + MOST_OPEN).find(|fd| !self.open.contains_key(fd)).ok_or(Errno::EMFILE)?;
        let file = self.inside(path, write, |directory, path| directory.file(path, flags, mode))?;
        self.open.insert(fd, file);
        Ok(fd)
    }

    fn close(&mut self, fd: u64) -> Result<(), Errno> {
        if fd < FIRST { self.memory.close(fd) } else { self.open.remove(&fd).map(drop).ok_or(Errno::EBADF) }
    }

    fn read(&mut self, fd: u64, at: Option<u64>, buffer: &mut [u8]) -> Result<u64, Errno> {
        if fd < FIRST {
            return self.memory.read(fd, at, buffer);
        }
        let file = self.file(fd)?;
        let read = match at {
            None => file.read(buffer),
            Some(at) => file.read_at(buffer, at),
        };
        read.map(|n| n as u64).map_err(|error| failed(&error))
    }

    fn write(&mut self, fd: u64, at: Option<u64>, bytes: &[u8]) -> Result<u64, Errno> {
        let file = self.file(fd)?;
        let written = match at {
            None => file.write(bytes),
            Some(at) => file.write_at(bytes, at),
        };
        written.map(|n| n as u64).map_err(|error| failed(&error))
    }

    fn seek(&mut self, fd: u64, offset: i64, whence: u64) -> Result<u64, Errno> {
        if fd < FIRST {
            return self.memory.seek(fd, offset, whence);
        }
        let to = match whence {
            0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| Errno::EINVAL)?),
            1 => SeekFrom::Current(offset),
            2 => SeekFrom::End(offset),
            _ => return Err(Errno::EINVAL),
        };
        self.file(fd)?.seek(to).map_err(|error| failed(&error))
    }

    fn stat(&mut self, fd: u64) -> Result<Stat, Errno> {
        if fd < FIRST {
            return self.memory.stat(fd);
        }
        let stat = fstat(self.file(fd)?).map_err(|error| Errno(error.raw_os_error() as u16))?;
        Ok(Stat { mode: stat.st_mode, size: stat.st_size as u64 })
    }

    fn stat_path(&mut self, path: &str) -> Result<Stat, Errno> {
        if self.is_memory(path) {
            return self.memory.stat_path(path);
        }
        self.inside(path, false, Directory::stat)
    }

    fn truncate(&mut self, fd: u64, len: u64) -> Result<(), Errno> {
        self.file(fd)?.set_len(len).map_err(|error| failed(&error))
    }

    fn make_directory(&mut self, path: &str, mode: u64) -> Result<(), Errno> {
        self.inside(path, true, |directory, path| {
            let (at, name) = directory.parent(path)?;
            mkdirat(&at, name, Mode::from_raw_mode(mode as u32 & 0o777))
        })
    }

    fn unlink(&mut self, path: &str, flags: u64) -> Result<(), Errno> {
        self.inside(path, true, |directory, path| {
            let (at, name) = directory.parent(path)?;
            let flags = if flags & AT_REMOVEDIR != 0 { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            unlinkat(&at, name, flags)
        })
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        self.inside(from, true, |directory, from| {
            let ((old, from), (new, to)) = (directory.parent(from)?, directory.parent(to)?);
            renameat(&old, from, &new, to)
        })
    }

    fn refused(&self) -> &[Refused] {
        self.memory.refused()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATE: u64 = O_WRONLY | 0o100 | 0o1000;

    #[test]
    fn a_program_writes_in_its_directory_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, outer) = (folder.path().join("inner"), folder.path().join("outer"));
        std::fs::create_dir(&inner).unwrap();
        std::fs::create_dir(&outer).unwrap();
        std::fs::write(outer.join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(&outer, inner.join("link")).unwrap();
        std::os::unix::fs::symlink(outer.join("secret"), inner.join("file-link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(inner.join("pipe")).status().unwrap().success());
        let mut files = Files::new(MemoryFiles::new(), Some(Directory::open(&inner).unwrap()));

        let fd = files.open("a", CREATE, 0o644).unwrap();
        assert_eq!(files.write(fd, None, b"hello"), Ok(5));
        assert_eq!(
            (files.truncate(fd, 4), files.stat(fd).unwrap().size, files.close(fd)),
            (Ok(()), 4, Ok(()))
        );
        assert_eq!(std::fs::read(inner.join("a")).unwrap(), b"hell");
        // The same file by its other names, read.
        let named = [inner.join("a").to_string_lossy().into_owned(), "/a".into(), "./a".into()];
        for name in named {
            let fd = files.open(&name, 0, 0).unwrap();
            let mut bytes = [0; 8];
            assert_eq!((files.read(fd, None, &mut bytes), &bytes[..4]), (Ok(4), &b"hell"[..]), "{name}");
        }
        files.make_directory("deep", 0o755).unwrap();
        files.rename("a", "deep/b").unwrap();
        assert!(inner.join("deep/b").is_file());
        assert_eq!(files.open("missing", 0, 0), Err(Errno::ENOENT));
        assert!(files.refused().is_empty());

        let outside = outer.join("secret").to_string_lossy().into_owned();
        let ways = ["../outer/x", "link/x", "link/secret", "file-link", "deep/../../outer/x", "pipe"];
        for way in ways {
            assert_eq!(files.open(way, CREATE, 0o644), Err(Errno::EACCES), "{way}");
            assert_eq!(files.open(way, 0, 0), Err(Errno::EACCES), "{way}");
        }
        assert_eq!(files.open(&outside, CREATE, 0o644), Err(Errno::EACCES));
        for way in ["../outer/secret", "link/secret"] {
            assert_eq!(files.unlink(way, 0), Err(Errno::EACCES), "{way}");
            assert_eq!(files.rename("deep/b", way), Err(Errno::EACCES), "{way}");
            assert_eq!(files.stat_path(way), Err(Errno::EACCES), "{way}");
        }
        assert_eq!(std::fs::read(outer.join("secret")).unwrap(), b"secret");
        assert_eq!(std::fs::read_dir(&outer).unwrap().count(), 1);
        assert!(files.refused().iter().any(|refused| refused.path == "link/x" && refused.write));
    }

    #[test]
    fn without_a_directory_nothing_is_written() {
        let mut files = Files::new(MemoryFiles::new(), None);
        assert_eq!(files.open("a", CREATE, 0o644), Err(Errno::EACCES));
        assert_eq!(files.make_directory("d", 0), Err(Errno::EACCES));
        assert_eq!(files.refused()[0], Refused { path: "a".into(), write: true });
    }
}
