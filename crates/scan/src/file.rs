//! The file that is scanned: one that the user names, or a temporary one.

use crate::ScanError;
use crate::plan::{mix, page_bytes};
use rustix::fs::{FsWord, statfs, statvfs};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// A file that can be scanned.
pub(crate) struct ScannedFile {
    pub(crate) file: File,
    pub(crate) bytes: u64,
    /// The path that the user gave.
    pub(crate) path: Option<PathBuf>,
}

/// Bytes that stay free on the disk beside the temporary file.
const SPARE: u64 = 256 << 20;
/// Bytes written at once.
const PIECE: usize = 1 << 20;

impl ScannedFile {
    /// Opens the named file, or writes a temporary one of `bytes`. `None` if `stop` interrupted the writing.
    pub(crate) fn open(
        path: Option<&Path>,
        bytes: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Self>, ScanError> {
        match path {
            Some(path) => Self::named(path, bytes).map(Some),
            None => Self::temporary(bytes, stop),
        }
    }

    fn named(path: &Path, bytes: u64) -> Result<Self, ScanError> {
        let shown = path.display();
        let wrong = |what: String| ScanError::Wrong(format!("--file {shown} {what}"));
        let metadata = fs::metadata(path).map_err(|error| wrong(format!("cannot be used: {error}")))?;
        if metadata.is_dir() {
            return Err(wrong("is a directory; name a file in it".into()));
        }
        if !metadata.is_file() {
            return Err(wrong("is a device or a pipe; name a regular file".into()));
        }
        if metadata.len() == 0 {
            return Err(wrong("is empty; name one that has at least a page".into()));
        }
        if bytes > metadata.len() {
            return Err(wrong(format!(
                "has {} bytes, which is less than --size {bytes}; use a smaller --size",
                metadata.len()
            )));
        }
        let file = File::open(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let scanned = Self { file, bytes: metadata.len(), path: Some(path.into()) };
        scanned.try_to_map().map_err(|error| {
            wrong(format!("cannot be mapped: {error}; name a file on a disk's file system"))
        })?;
        Ok(scanned)
    }

    /// Maps a page once: sysfs and procfs do not support it.
    fn try_to_map(&self) -> io::Result<()> {
        let (bytes, descriptor) = (page_bytes() as usize, self.file.as_raw_fd());
        // SAFETY: a new mapping at an address of the kernel's choice, unmapped at once and never touched.
        unsafe {
            let made =
                libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, descriptor, 0);
            if made == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            libc::munmap(made, bytes);
        }
        Ok(())
    }

    /// A file without a name, written in full: a hole would not be read from the disk.
    fn temporary(bytes: u64, stop: &AtomicBool) -> Result<Option<Self>, ScanError> {
        let directory = directory()?;
        let shown = directory.display();
        let free = free_bytes(&directory)
            .map_err(ScanError::system("read how much space the directory for temporary files has"))?;
        if bytes.saturating_add(SPARE) > free {
            return Err(ScanError::Wrong(format!(
                "--size needs a file of {} MiB, and {shown} has room for {} MiB beside {} MiB that stay free; use a \
                 smaller --size, set TMPDIR to a directory with more room, or name a --file",
                bytes.div_ceil(1 << 20),
                free.saturating_sub(SPARE) >> 20,
                SPARE >> 20,
            )));
        }
        let failed = |what: &str, error: &io::Error| {
            ScanError::Refused(format!(
                "a file of {bytes} bytes cannot be {what} in {shown}: {error}; set TMPDIR to another \
                 directory, or name a --file"
            ))
        };
        let file = tempfile::tempfile_in(&directory).map_err(|error| failed("made", &error))?;
        let mut piece = vec![0_u8; PIECE];
        let mut at = 0;
        while at < bytes {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            // Different in each piece, for file systems and devices that store equal blocks once.
            for (place, word) in piece.chunks_exact_mut(8).enumerate() {
                word.copy_from_slice(&mix(at + place as u64).to_ne_bytes());
            }
            let now = piece.len().min((bytes - at) as usize);
            file.write_all_at(&piece[..now], at).map_err(|error| failed("written", &error))?;
            at += now as u64;
        }
        file.sync_all().map_err(|error| failed("written", &error))?;
        Ok(Some(Self { file, bytes, path: None }))
    }

    /// Removes the file from the page cache, except for pages that other processes have mapped.
    pub(crate) fn drop_from_cache(&self) -> Result<(), ScanError> {
        // Only clean pages can be dropped.
        let _ = self.file.sync_data();
        // SAFETY: a descriptor and numbers; the call touches no memory of ours.
        match unsafe { libc::posix_fadvise(self.file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) } {
            0 => Ok(()),
            code => Err(ScanError::system("drop the file from the page cache")(
                io::Error::from_raw_os_error(code),
            )),
        }
    }

    /// The read-ahead of the file's device, in KiB.
    pub(crate) fn read_ahead_kib(&self) -> Option<u64> {
        let device = self.file.metadata().ok()?.dev();
        let (major, minor) = (libc::major(device), libc::minor(device));
        let device = format!("/sys/dev/block/{major}:{minor}");
        // The queue of a partition is its disk's, one directory up.
        let text = [format!("{device}/queue/read_ahead_kb"), format!("{device}/../queue/read_ahead_kb")]
            .into_iter()
            .chain([format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb")])
            .find_map(|path| fs::read_to_string(path).ok())?;
        text.trim().parse().ok()
    }
}

/// The directory for the temporary file: TMPDIR or /tmp; if that is in memory, /var/tmp or the working directory.
fn directory() -> Result<PathBuf, ScanError> {
    let usual = std::env::temp_dir();
    if let Err(error) = fs::read_dir(&usual) {
        return Err(ScanError::Wrong(format!(
            "the directory for temporary files, {}, cannot be used: {error}; set TMPDIR to another",
            usual.display()
        )));
    }
    let candidates = [usual, "/var/tmp".into(), ".".into()];
    candidates.into_iter().find(|directory| !in_memory(directory)).ok_or_else(|| {
        ScanError::Wrong(
            "the directories for temporary files are in memory; set TMPDIR to one on a disk, or name a --file".into(),
        )
    })
}

fn in_memory(directory: &Path) -> bool {
    const TMPFS: FsWord = 0x0102_1994;
    const RAMFS: FsWord = 0x8584_58f6;
    statfs(directory).map_or(true, |stat| [TMPFS, RAMFS].contains(&stat.f_type))
}

/// Bytes that a user without privileges may still write there.
fn free_bytes(directory: &Path) -> io::Result<u64> {
    let stat = statvfs(directory)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}
