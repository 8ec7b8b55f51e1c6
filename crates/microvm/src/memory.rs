//! The guest's memory: a mapping of its own, zero at first.

use crate::RunError;
use std::ptr;

/// Zeroed memory that a guest may write while this process does not read it.
pub(crate) struct Memory {
    start: *mut u8,
    bytes: usize,
}

impl Memory {
    pub(crate) fn new(bytes: usize) -> Result<Self, RunError> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address that the kernel chooses touches nothing that exists.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(RunError::host("map the guest's memory")(std::io::Error::last_os_error()));
        }
        Ok(Self { start: start.cast(), bytes })
    }

    pub(crate) fn address(&self) -> u64 {
        self.start as u64
    }

    pub(crate) fn len(&self) -> u64 {
        self.bytes as u64
    }

    /// Copies bytes to an offset; `false` if they do not fit.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) -> bool {
        let fits = at.checked_add(bytes.len()).is_some_and(|end| end <= self.bytes);
        if fits {
            // SAFETY: the range is inside the mapping (checked above), which is ours and writable; `bytes` is not part of it.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(at), bytes.len()) };
        }
        fits
    }

    /// A copy of a range; empty if part of it is outside. The guest must not run meanwhile.
    pub(crate) fn read(&self, range: std::ops::Range<usize>) -> Vec<u8> {
        let mut copy = vec![0; range.len()];
        if range.end > self.bytes {
            return Vec::new();
        }
        // SAFETY: the range is inside the mapping (checked above), and the stopped guest does not write to it.
        unsafe { ptr::copy_nonoverlapping(self.start.add(range.start), copy.as_mut_ptr(), copy.len()) };
        copy
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping of `new`; the virtual machine, which used it, was dropped before.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
