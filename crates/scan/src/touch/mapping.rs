//! The mapping of the scanned file, and the device below it.

use crate::ScanError;
use crate::plan::{Advice, mix, page_bytes};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::{io, ptr};
use tollgate_measure::clock::monotonic_raw_ns;

/// A read-only mapping. It lives as long as the process.
pub(super) struct Mapped {
    pub(super) base: *const u8,
    bytes: usize,
}

impl Mapped {
    pub(super) fn new(file: &File, bytes: u64) -> Result<Self, ScanError> {
        let bytes = usize::try_from(bytes)
            .map_err(|_| ScanError::Wrong(format!("{bytes} bytes are more than an address can name")))?;
        let descriptor = file.as_raw_fd();
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing of ours.
        let base =
            unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, descriptor, 0) };
        if base == libc::MAP_FAILED {
            return Err(ScanError::system("map the file")(io::Error::last_os_error()));
        }
        Ok(Self { base: base.cast_const().cast(), bytes })
    }

    pub(super) fn advise(&self, advice: Advice) -> Result<(), ScanError> {
        let advice = match advice {
            Advice::Normal => libc::MADV_NORMAL,
            Advice::Random => libc::MADV_RANDOM,
            Advice::Sequential => libc::MADV_SEQUENTIAL,
        };
        // SAFETY: our own mapping; none of these changes its contents.
        match unsafe { libc::madvise(self.base.cast_mut().cast(), self.bytes, advice) } {
            0 => Ok(()),
            _ => Err(ScanError::system("advise the kernel about the file")(io::Error::last_os_error())),
        }
    }

    /// Pages of the mapping in the page cache. The kernel reports them only for files that the caller owns or
    /// may write; for all others it reports every page as resident (mincore(2)).
    pub(super) fn resident(&self, file: &File) -> Option<u64> {
        // SAFETY: no arguments.
        let user = unsafe { libc::geteuid() };
        if user != 0 && file.metadata().ok()?.uid() != user {
            return None;
        }
        const AT_ONCE: usize = 1 << 16;
        let page = page_bytes() as usize;
        let mut residency = vec![0_u8; AT_ONCE.min(self.bytes.div_ceil(page))];
        let mut count = 0;
        for at in (0..self.bytes).step_by(AT_ONCE * page) {
            let bytes = (self.bytes - at).min(AT_ONCE * page);
            // SAFETY: a part of our own mapping, and a byte for each of its pages.
            let status =
                unsafe { libc::mincore(self.base.add(at).cast_mut().cast(), bytes, residency.as_mut_ptr()) };
            if status != 0 {
                return None;
            }
            count += residency[..bytes.div_ceil(page)].iter().filter(|&&byte| byte & 1 == 1).count() as u64;
        }
        Some(count)
    }
}

/// Reads that measure the device.
const DIRECT_READS: u64 = 48;

/// Times of single reads of a random page past the page cache, in nanoseconds: what the device takes. Empty where
/// the file system does not support O_DIRECT.
pub(super) fn direct_reads(file: &File, bytes: u64, seed: u64) -> Vec<u64> {
    let page = page_bytes() as usize;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let Ok(direct) = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path) else {
        return Vec::new();
    };
    let mut buffer = vec![0_u8; 2 * page];
    let aligned = buffer.as_ptr().align_offset(page);
    let pages = (bytes / page as u64).max(1);
    let mut times = Vec::new();
    for read in 0..DIRECT_READS {
        let at = (u128::from(mix(!seed ^ read)) * u128::from(pages)) >> 64;
        let start = monotonic_raw_ns();
        // SAFETY: a whole page of the buffer is behind `aligned`.
        let got = unsafe {
            let to = buffer.as_mut_ptr().add(aligned);
            libc::pread(direct.as_raw_fd(), to.cast(), page, (at as usize * page) as libc::off_t)
        };
        if got <= 0 {
            break;
        }
        times.push(monotonic_raw_ns() - start);
    }
    times
}
