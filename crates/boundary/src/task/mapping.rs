//! Memory that a task shares with the threads and processes that it makes.

use super::refusal::refusal;
use std::{io, mem, ops::Deref, ptr, ptr::NonNull};
use tollgate_measure::Refusal;

/// Types that a fresh mapping may hold.
///
/// # Safety
/// All bytes zero must be a valid value, and every access through a shared reference must be sound
/// from several processes at once (atomics).
pub unsafe trait Zeroed: Sync {}

/// A slice of `T` in an anonymous shared mapping: zeroed at first, and the same memory in every process
/// that is forked while it exists.
pub struct Mapping<T: Zeroed> {
    base: NonNull<T>,
    len: usize,
}

// SAFETY: the mapping is only reached through shared references to `T`, which is Sync by `Zeroed`.
unsafe impl<T: Zeroed> Send for Mapping<T> {}
// SAFETY: as above.
unsafe impl<T: Zeroed> Sync for Mapping<T> {}

impl<T: Zeroed> Mapping<T> {
    /// Maps `len` values, all bytes zero.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn new(len: usize) -> Result<Self, Refusal> {
        let bytes = mem::size_of::<T>()
            .checked_mul(len)
            .filter(|&bytes| bytes > 0)
            .ok_or_else(|| Refusal::Failed(format!("a shared mapping of {len} values has no size")))?;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice.
        let at = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(refusal("mmap of shared memory", &io::Error::last_os_error()));
        }
        match NonNull::new(at.cast()) {
            Some(base) => Ok(Self { base, len }),
            None => Err(Refusal::Failed("mmap gave address 0".into())),
        }
    }
}

impl<T: Zeroed> Deref for Mapping<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping holds `len` values, page-aligned, valid when zero by `Zeroed`, and lives
        // as long as `self`.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl<T: Zeroed> Drop for Mapping<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and no reference into it outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len * mem::size_of::<T>()) };
    }
}
