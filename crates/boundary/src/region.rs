//! Private memory straight from the kernel, unmapped when dropped.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use tollgate_measure::Refusal;

/// A run of whole pages of private anonymous memory.
pub(crate) struct Region {
    base: *mut u8,
    page: usize,
    pages: usize,
}

impl Region {
    /// Maps `pages` readable and writable pages, none of which is populated yet.
    pub(crate) fn new(pages: usize) -> Result<Self, Refusal> {
        let page = page_size();
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing of ours.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                pages * page,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(Refusal::os(&format!("map {pages} pages")));
        }
        Ok(Self { base: base.cast(), page, pages })
    }

    /// Maps `pages` readable pages of a file in memory whose pages are all in the page cache; none of them
    /// is mapped yet.
    pub(crate) fn of_file(pages: usize) -> Result<Self, Refusal> {
        let page = page_size();
        // SAFETY: the name is a string that ends in zero.
        let fd = unsafe { libc::memfd_create(c"tollgate".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(crate::task::refusal("memfd_create", &io::Error::last_os_error()));
        }
        // SAFETY: the descriptor was just opened and nothing else owns it.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut file = File::from(file);
        let block = block(1 << 20, |_| 1)?;
        let mut left = pages * page;
        while left > 0 {
            let some = left.min(block.len());
            file.write_all(&block[..some])
                .map_err(|error| crate::task::refusal("fill a file in memory", &error))?;
            left -= some;
        }
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing of ours.
        let base = unsafe {
            libc::mmap(ptr::null_mut(), pages * page, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(Refusal::os(&format!("map {pages} pages of a file")));
        }
        Ok(Self { base: base.cast(), page, pages })
    }

    /// Size of one page in bytes.
    pub(crate) fn page_bytes(&self) -> usize {
        self.page
    }

    /// How many pages there are.
    pub(crate) fn pages(&self) -> usize {
        self.pages
    }

    /// Address of page `index`, which may be the end (one past the last page).
    pub(crate) fn page(&self, index: usize) -> *mut u8 {
        assert!(index <= self.pages, "page {index} of {}", self.pages);
        // SAFETY: the offset is inside the mapping or one past its end, checked above.
        unsafe { self.base.add(index * self.page) }
    }

    /// Takes all access to page `index` away.
    #[cfg_attr(
        not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")),
        allow(dead_code, reason = "used where a touch and a fiber switch are written")
    )]
    pub(crate) fn forbid(&mut self, index: usize) -> Result<(), Refusal> {
        assert!(index < self.pages, "page {index} of {}", self.pages);
        // SAFETY: the page is inside our own mapping, checked above; nobody holds a reference into it.
        match unsafe { libc::mprotect(self.page(index).cast(), self.page, libc::PROT_NONE) } {
            0 => Ok(()),
            _ => Err(Refusal::os("take all access to a page away")),
        }
    }

    /// Gives the kernel a hint about the first `pages` pages.
    pub(crate) fn advise(&mut self, pages: usize, advice: libc::c_int) -> io::Result<()> {
        assert!(pages <= self.pages, "{pages} of {} pages", self.pages);
        // SAFETY: the range is inside our own mapping, checked above. Advice may discard the contents,
        // which are plain bytes that nobody holds a reference to.
        match unsafe { libc::madvise(self.base.cast(), pages * self.page, advice) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// How many of the first `pages` pages are mapped to memory.
    pub(crate) fn resident(&self, pages: usize) -> io::Result<usize> {
        assert!(pages <= self.pages, "{pages} of {} pages", self.pages);
        let mut present = vec![0u8; pages];
        // SAFETY: the range is inside our own mapping, checked above, and there is a byte for each page.
        match unsafe { libc::mincore(self.base.cast(), pages * self.page, present.as_mut_ptr()) } {
            0 => Ok(present.iter().filter(|&&byte| byte & 1 == 1).count()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `new` made; nothing refers to it any more.
        unsafe { libc::munmap(self.base.cast(), self.pages * self.page) };
    }
}

/// The size of a page on this system.
fn page_size() -> usize {
    // SAFETY: sysconf has no memory arguments.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}

/// A block of bytes by their places, for filling files. Where memory is limited this is a skip; an allocation of this
/// size by the library would end the process.
pub(crate) fn block(bytes: usize, byte: impl Fn(usize) -> u8) -> Result<Vec<u8>, Refusal> {
    let mut block = Vec::new();
    block.try_reserve_exact(bytes).map_err(|_| {
        Refusal::of(&format!("set {bytes} bytes aside"), &io::Error::from_raw_os_error(libc::ENOMEM))
    })?;
    block.extend((0..bytes).map(byte));
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::{Refusal, block};

    #[test]
    fn a_block_that_there_is_no_memory_for_is_a_skip() {
        assert_eq!(block(3, |at| at as u8).unwrap(), [0, 1, 2]);
        let Err(Refusal::Skip { reason, enable }) = block(isize::MAX as usize, |_| 0) else {
            panic!("no machine has so much");
        };
        assert!(reason.contains("RLIMIT_AS") && enable.contains("ulimit -v"), "{reason}; {enable}");
    }
}
