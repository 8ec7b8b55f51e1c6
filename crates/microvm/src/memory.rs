//! The guest's memory: a mapping of its own, zero at first.

use crate::RunError;
use std::ptr;

/// Zeroed memory that a guest may write while this process looks away.
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

    /// Copies bytes to an offset; `false` when they do not fit.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) -> bool {
        let fits = at.checked_add(bytes.len()).is_some_and(|end| end <= self.bytes);
        if fits {
            // SAFETY: the range was checked to lie in the mapping, which is ours and writable; `bytes` is not part of it.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(at), bytes.len()) };
        }
        fits
    }

    /// A copy of a range, empty when it does not lie inside. The guest must not run meanwhile.
    pub(crate) fn read(&self, range: std::ops::Range<usize>) -> Vec<u8> {
        let mut copy = vec![0; range.len()];
        if range.end > self.bytes {
            return Vec::new();
        }
        // SAFETY: the range was checked to lie in the mapping, and nobody writes it: the guest stands still.
        unsafe { ptr::copy_nonoverlapping(self.start.add(range.start), copy.as_mut_ptr(), copy.len()) };
        copy
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping of `new`; whoever used it (the virtual machine) was dropped before.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
