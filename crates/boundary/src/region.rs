//! Private memory straight from the kernel, unmapped when dropped.

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
        let page = page_bytes();
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

    /// Forbids all access to page `index`.
    #[cfg_attr(
        not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")),
        allow(dead_code, reason = "used where a touch and a fiber switch are written")
    )]
    pub(crate) fn forbid(&mut self, index: usize) -> Result<(), Refusal> {
        assert!(index < self.pages, "page {index} of {}", self.pages);
        // SAFETY: the page is inside our own mapping, checked above; nobody holds a reference into it.
        match unsafe { libc::mprotect(self.page(index).cast(), self.page, libc::PROT_NONE) } {
            0 => Ok(()),
            _ => Err(Refusal::os("forbid all access to a page")),
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
pub(crate) fn page_bytes() -> usize {
    // SAFETY: sysconf has no memory arguments.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}
