//! The host's side of proxied system calls: which files a guest can see.

use std::collections::BTreeMap;

/// An error number, with the values of Linux on RISC-V.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Errno(pub u16);

impl Errno {
    /// No such file.
    pub const ENOENT: Errno = Errno(2);
    /// Not an open file.
    pub const EBADF: Errno = Errno(9);
    /// No memory.
    pub const ENOMEM: Errno = Errno(12);
    /// Permission denied.
    pub const EACCES: Errno = Errno(13);
    /// A bad address.
    pub const EFAULT: Errno = Errno(14);
    /// An invalid argument.
    pub const EINVAL: Errno = Errno(22);
    /// Too many open files.
    pub const EMFILE: Errno = Errno(24);
    /// Result out of range.
    pub const ERANGE: Errno = Errno(34);
    /// No such system call.
    pub const ENOSYS: Errno = Errno(38);
}

/// The result of `stat` for a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Type and permissions, as in `st_mode`.
    pub mode: u32,
    /// Length in bytes.
    pub size: u64,
}

/// Requests of a guest on the proxy kernel to the host. The machine itself serves the standard streams. Every call is
/// refused unless the implementer allows it; the library has no
/// implementation that touches the host.
pub trait HostCalls: Send {
    /// Opens `path` with Linux's `flags`; yields a number from 3 up.
    fn open(&mut self, _path: &str, _flags: u64, _mode: u64) -> Result<u64, Errno> {
        Err(Errno::EACCES)
    }

    /// Closes a file.
    fn close(&mut self, _fd: u64) -> Result<(), Errno> {
        Err(Errno::EBADF)
    }

    /// Reads from the file's position (`at` is `None`) or from `at`.
    fn read(&mut self, _fd: u64, _at: Option<u64>, _buffer: &mut [u8]) -> Result<u64, Errno> {
        Err(Errno::EBADF)
    }

    /// Writes at the file's position (`at` is `None`) or at `at`.
    fn write(&mut self, _fd: u64, _at: Option<u64>, _bytes: &[u8]) -> Result<u64, Errno> {
        Err(Errno::EBADF)
    }

    /// Moves the file's position; `whence` is 0 from the start, 1 from here, 2 from the end.
    fn seek(&mut self, _fd: u64, _offset: i64, _whence: u64) -> Result<u64, Errno> {
        Err(Errno::EBADF)
    }

    /// Describes an open file.
    fn stat(&mut self, _fd: u64) -> Result<Stat, Errno> {
        Err(Errno::EBADF)
    }

    /// Describes a file by its path.
    fn stat_path(&mut self, _path: &str) -> Result<Stat, Errno> {
        Err(Errno::EACCES)
    }

    /// Cuts an open file, or extends it with zeros.
    fn truncate(&mut self, _fd: u64, _len: u64) -> Result<(), Errno> {
        Err(Errno::EBADF)
    }

    /// Creates a directory.
    fn make_directory(&mut self, _path: &str, _mode: u64) -> Result<(), Errno> {
        Err(Errno::EACCES)
    }

    /// Removes a file, or with Linux's `AT_REMOVEDIR` an empty directory.
    fn unlink(&mut self, _path: &str, _flags: u64) -> Result<(), Errno> {
        Err(Errno::EACCES)
    }

    /// Renames a file or directory.
    fn rename(&mut self, _from: &str, _to: &str) -> Result<(), Errno> {
        Err(Errno::EACCES)
    }

    /// The first few paths that the guest asked for and did not get.
    fn refused(&self) -> &[Refused] {
        &[]
    }
}

/// A path that a guest asked for and did not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// As the guest named it.
    pub path: String,
    /// Whether it would have changed something there.
    pub write: bool,
}

/// No files at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl HostCalls for NoFiles {}

/// Read-only files that the caller holds in memory, under the paths that it names. Everything else is refused,
/// and remembered in [`MemoryFiles::refused`].
///
/// ```
/// use tollgate_riscv::{Errno, HostCalls, MemoryFiles};
/// let mut files = MemoryFiles::new();
/// files.insert("prog", b"\x7fELF".to_vec());
/// let fd = files.open("prog", 0, 0).unwrap();
/// let mut buffer = [0; 2];
/// assert_eq!(files.read(fd, None, &mut buffer), Ok(2));
/// assert_eq!(files.open("/etc/passwd", 0, 0), Err(Errno::EACCES));
/// assert_eq!(files.refused()[0].path, "/etc/passwd");
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    files: BTreeMap<String, Vec<u8>>,
    open: BTreeMap<u64, (String, u64)>,
    refused: Vec<Refused>,
}

const MAX_OPEN: u64 = 64;
const MAX_REFUSED: usize = 16;
const O_ACCMODE: u64 = 3;
const O_CREAT: u64 = 0o100;
const O_TRUNC: u64 = 0o1000;
const S_IFREG_555: u32 = 0o100_555;

impl MemoryFiles {
    /// No files yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file.
    pub fn insert(&mut self, path: impl Into<String>, bytes: Vec<u8>) {
        self.files.insert(path.into(), bytes);
    }

    /// Whether there is a file at this path.
    pub fn contains(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Remembers that a guest does not get a path; the error for it.
    pub fn refuse(&mut self, path: &str, write: bool) -> Errno {
        let refused = Refused { path: path.chars().take(4096).collect(), write };
        if self.refused.len() < MAX_REFUSED && !self.refused.contains(&refused) {
            self.refused.push(refused);
        }
        Errno::EACCES
    }
}

impl HostCalls for MemoryFiles {
    fn open(&mut self, path: &str, flags: u64, _mode: u64) -> Result<u64, Errno> {
        let write = flags & (O_ACCMODE | O_CREAT | O_TRUNC) != 0;
        if write || !self.files.contains_key(path) {
            return Err(self.refuse(path, write));
        }
        let fd = (3..3 + MAX_OPEN).find(|fd| !self.open.contains_key(fd)).ok_or(Errno::EMFILE)?;
        self.open.insert(fd, (path.to_string(), 0));
        Ok(fd)
    }

    fn close(&mut self, fd: u64) -> Result<(), Errno> {
        self.open.remove(&fd).map(drop).ok_or(Errno::EBADF)
    }

    fn read(&mut self, fd: u64, at: Option<u64>, buffer: &mut [u8]) -> Result<u64, Errno> {
        let (path, position) = self.open.get_mut(&fd).ok_or(Errno::EBADF)?;
        let bytes = self.files.get(path).map_or(&[][..], Vec::as_slice);
        let from = at.unwrap_or(*position).min(bytes.len() as u64) as usize;
        let n = buffer.len().min(bytes.len() - from);
        buffer[..n].copy_from_slice(&bytes[from..from + n]);
        if at.is_none() {
            *position = (from + n) as u64;
        }
        Ok(n as u64)
    }

    fn seek(&mut self, fd: u64, offset: i64, whence: u64) -> Result<u64, Errno> {
        let (path, position) = self.open.get_mut(&fd).ok_or(Errno::EBADF)?;
        let base = match whence {
            0 => 0,
            1 => *position,
            2 => self.files.get(path).map_or(0, Vec::len) as u64,
            _ => return Err(Errno::EINVAL),
        };
        *position = base.checked_add_signed(offset).ok_or(Errno::EINVAL)?;
        Ok(*position)
    }

    fn stat(&mut self, fd: u64) -> Result<Stat, Errno> {
        let (path, _) = self.open.get(&fd).ok_or(Errno::EBADF)?;
        Ok(Stat { mode: S_IFREG_555, size: self.files.get(path).map_or(0, Vec::len) as u64 })
    }

    fn stat_path(&mut self, path: &str) -> Result<Stat, Errno> {
        match self.files.get(path) {
            Some(bytes) => Ok(Stat { mode: S_IFREG_555, size: bytes.len() as u64 }),
            None => Err(self.refuse(path, false)),
        }
    }

    fn make_directory(&mut self, path: &str, _mode: u64) -> Result<(), Errno> {
        Err(self.refuse(path, true))
    }

    fn unlink(&mut self, path: &str, _flags: u64) -> Result<(), Errno> {
        Err(self.refuse(path, true))
    }

    fn rename(&mut self, from: &str, _to: &str) -> Result<(), Errno> {
        Err(self.refuse(from, true))
    }

    fn refused(&self) -> &[Refused] {
        &self.refused
    }
}
