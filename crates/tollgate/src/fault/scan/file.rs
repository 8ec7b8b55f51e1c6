//! The file that is scanned: somebody's, or one of our own.

use crate::cli::Usage;
use anyhow::{Context, anyhow};
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// A file that can be scanned.
pub(super) struct Scanned {
    pub(super) file: File,
    pub(super) bytes: u64,
    /// Where it is, when it is not our own.
    pub(super) path: Option<PathBuf>,
}

/// Room that is left on the disk beside our file.
const SPARE: u64 = 256 << 20;
/// Bytes written at once.
const PIECE: usize = 1 << 20;

impl Scanned {
    /// Opens the file, or makes one of at least `bytes`. `None` when it was interrupted.
    pub(super) fn open(path: Option<&Path>, bytes: u64, stop: &AtomicBool) -> anyhow::Result<Option<Self>> {
        match path {
            Some(path) => Self::of(path, bytes).map(Some),
            None => Self::own(bytes, stop),
        }
    }

    fn of(path: &Path, bytes: u64) -> anyhow::Result<Self> {
        let shown = path.display();
        let wrong = |what: String| Usage::error(format!("--file {shown} {what}"));
        let there = fs::metadata(path).map_err(|error| wrong(format!("cannot be used: {error}")))?;
        if there.is_dir() {
            return Err(wrong("is a directory; name a file in it".into()));
        }
        if !there.is_file() {
            return Err(wrong("is no file (a device or a pipe); name a regular file".into()));
        }
        if there.len() == 0 {
            return Err(wrong("is empty, so that there is nothing to touch; name one that is not".into()));
        }
        if bytes > there.len() {
            return Err(wrong(format!(
                "has {} bytes, which is less than --size {bytes}; use a smaller --size",
                there.len()
            )));
        }
        let file = File::open(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let scanned = Self { file, bytes: there.len(), path: Some(path.into()) };
        scanned.try_to_map().map_err(|error| {
            wrong(format!("cannot be mapped: {error}; name a file on a disk's file system"))
        })?;
        Ok(scanned)
    }

    /// Some file systems (those of the kernel's own files) cannot map.
    fn try_to_map(&self) -> io::Result<()> {
        let (bytes, descriptor) = (super::args::page_bytes() as usize, self.file.as_raw_fd());
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

    /// A file without a name, of real bytes: a hole would be read from no disk.
    fn own(bytes: u64, stop: &AtomicBool) -> anyhow::Result<Option<Self>> {
        let directory = directory()?;
        let shown = directory.display();
        let free = free_bytes(&directory).with_context(|| format!("ask how much room {shown} has"))?;
        if bytes.saturating_add(SPARE) > free {
            return Err(Usage::error(format!(
                "--size needs a file of {} MiB, and {shown} has room for {} MiB beside {} MiB to spare; use a \
                 smaller --size, set TMPDIR to a directory with more room, or name a --file",
                bytes.div_ceil(1 << 20),
                free.saturating_sub(SPARE) >> 20,
                SPARE >> 20,
            )));
        }
        let failed = |what: &str, error: &io::Error| {
            anyhow!(
                "a file of {bytes} bytes cannot be {what} in {shown}: {error}; set TMPDIR to another \
                 directory, or name a --file"
            )
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
                word.copy_from_slice(&super::touch::mix(at + place as u64).to_ne_bytes());
            }
            let now = piece.len().min((bytes - at) as usize);
            file.write_all_at(&piece[..now], at).map_err(|error| failed("written", &error))?;
            at += now as u64;
        }
        file.sync_all().map_err(|error| failed("written", &error))?;
        Ok(Some(Self { file, bytes, path: None }))
    }

    /// Has the kernel forget what it has of the file. Nothing on the disk changes; pages that others have
    /// mapped stay.
    pub(super) fn drop_from_cache(&self) -> anyhow::Result<()> {
        // What has not been written to the disk yet cannot be dropped.
        let _ = self.file.sync_data();
        // SAFETY: a descriptor and numbers; the call touches no memory of ours.
        match unsafe { libc::posix_fadvise(self.file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) } {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)).context("drop the file from the page cache"),
        }
    }

    /// How far the kernel reads ahead on the file's device, in KiB.
    pub(super) fn read_ahead_kib(&self) -> Option<u64> {
        let device = self.file.metadata().ok()?.dev();
        let (major, minor) = (libc::major(device), libc::minor(device));
        let device = format!("/sys/dev/block/{major}:{minor}");
        // A partition has no queue of its own: the disk's is one directory up.
        let text = [format!("{device}/queue/read_ahead_kb"), format!("{device}/../queue/read_ahead_kb")]
            .into_iter()
            .chain([format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb")])
            .find_map(|path| fs::read_to_string(path).ok())?;
        text.trim().parse().ok()
    }
}

/// Where files without a name are made: TMPDIR or /tmp, unless that is in memory.
fn directory() -> anyhow::Result<PathBuf> {
    let usual = std::env::temp_dir();
    if let Err(error) = fs::read_dir(&usual) {
        return Err(Usage::error(format!(
            "the directory for temporary files, {}, cannot be used: {error}; set TMPDIR to another",
            usual.display()
        )));
    }
    let candidates = [usual, "/var/tmp".into(), ".".into()];
    candidates.into_iter().find(|directory| !in_memory(directory)).ok_or_else(|| {
        Usage::error(
            "the directories for temporary files are in memory here; set TMPDIR to one on a disk, or name a --file",
        )
    })
}

fn in_memory(directory: &Path) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    let Ok(path) = CString::new(directory.as_os_str().as_bytes()) else { return true };
    // SAFETY: statfs is plain data; the path ends with a zero.
    unsafe {
        let mut stat: libc::statfs = mem::zeroed();
        libc::statfs(path.as_ptr(), &mut stat) != 0
            || [TMPFS, RAMFS].contains(&i64::from_ne_bytes((stat.f_type as i64).to_ne_bytes()))
    }
}

/// What somebody without privileges may still write there.
fn free_bytes(directory: &Path) -> io::Result<u64> {
    let path = CString::new(directory.as_os_str().as_bytes())?;
    // SAFETY: statvfs is plain data; the path ends with a zero.
    unsafe {
        let mut stat: libc::statvfs = mem::zeroed();
        match libc::statvfs(path.as_ptr(), &mut stat) {
            0 => Ok((stat.f_bavail as u64).saturating_mul(stat.f_frsize as u64)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
