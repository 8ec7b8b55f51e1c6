//! Mappings, anonymous or of a file. They show which of their pages are in the page table.

use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr;
use tollgate_measure::{Refusal, leave_room};

/// A mapping of whole pages, unmapped when dropped.
pub(crate) struct Map {
    base: *mut u8,
    bytes: usize,
    page: usize,
    /// `/proc/self/pagemap`, opened at the first look, if it may be read.
    pagemap: OnceCell<Option<File>>,
}

/// The kernel's bit for "this page is in memory and mapped" (Documentation/admin-guide/mm/pagemap.rst).
const PRESENT: u64 = 1 << 63;

impl Map {
    /// Private memory; no page is mapped yet.
    pub(crate) fn private(pages: usize) -> Result<Self, Refusal> {
        Self::new(pages, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, None, true)
    }

    /// Memory that can be shared with a child.
    pub(crate) fn shared(pages: usize) -> Result<Self, Refusal> {
        Self::new(pages, libc::MAP_SHARED | libc::MAP_ANONYMOUS, None, true)
    }

    /// The first pages of a file, to read.
    pub(crate) fn of_file(file: &File, pages: usize) -> Result<Self, Refusal> {
        Self::new(pages, libc::MAP_SHARED, Some(file), false)
    }

    /// With these flags of `mmap(2)`; anonymous without a file.
    pub(crate) fn new(
        pages: usize,
        flags: libc::c_int,
        file: Option<&File>,
        writable: bool,
    ) -> Result<Self, Refusal> {
        let page = page_bytes();
        let bytes = pages * page;
        let protection = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
        let descriptor = file.map_or(-1, AsRawFd::as_raw_fd);
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing of ours.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, descriptor, 0) };
        if base == libc::MAP_FAILED {
            return Err(Refusal::os(&format!("map {pages} pages")));
        }
        let map = Self { base: base.cast(), bytes, page, pagemap: OnceCell::new() };
        leave_room()?;
        Ok(map)
    }

    /// The size of a page in bytes.
    pub(crate) fn page_bytes(&self) -> usize {
        self.page
    }

    /// How many pages there are.
    pub(crate) fn pages(&self) -> usize {
        self.bytes / self.page
    }

    /// Address of a page, which may be the end.
    pub(crate) fn page(&self, index: usize) -> *mut u8 {
        assert!(index <= self.pages(), "page {index} of {}", self.pages());
        // SAFETY: inside the mapping or one past its end, checked above.
        unsafe { self.base.add(index * self.page) }
    }

    /// Advice about some pages, as the system answers it.
    pub(crate) fn try_advise(&self, first: usize, pages: usize, advice: libc::c_int) -> io::Result<()> {
        assert!(first + pages <= self.pages(), "{pages} pages from {first} of {}", self.pages());
        // SAFETY: the range is inside our own mapping, checked above. Advice may discard the contents, plain
        // bytes that nobody holds a reference to.
        match unsafe { libc::madvise(self.page(first).cast(), pages * self.page, advice) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Advice about some pages; `what` says what for.
    pub(crate) fn advise(
        &self,
        first: usize,
        pages: usize,
        advice: libc::c_int,
        what: &str,
    ) -> Result<(), Refusal> {
        self.try_advise(first, pages, advice).map_err(|error| Refusal::Failed(format!("{what}: {error}")))
    }

    /// Takes pages out of the page table; private ones are lost.
    pub(crate) fn forget(&self, first: usize, pages: usize) -> Result<(), Refusal> {
        self.advise(first, pages, libc::MADV_DONTNEED, "give pages back")
    }

    /// Replaces some pages of private memory by new memory at the same addresses, of which no page is mapped.
    pub(crate) fn renew(&mut self, first: usize, pages: usize) -> Result<(), Refusal> {
        assert!(first + pages <= self.pages(), "{pages} pages from {first} of {}", self.pages());
        let (how, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED);
        // SAFETY: the range is inside our own mapping, checked above: plain bytes that nobody holds a reference to.
        match unsafe { libc::mmap(self.page(first).cast(), pages * self.page, how, kind, -1, 0) } {
            libc::MAP_FAILED => Err(Refusal::os("map memory anew")),
            _ => Ok(()),
        }
    }

    /// Forbids all access to a page.
    #[cfg_attr(
        not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")),
        allow(dead_code, reason = "used where a touch and a fiber switch are written")
    )]
    pub(crate) fn forbid(&mut self, index: usize) -> Result<(), Refusal> {
        assert!(index < self.pages(), "page {index} of {}", self.pages());
        // SAFETY: the page is inside our own mapping, checked above; nobody holds a reference into it.
        match unsafe { libc::mprotect(self.page(index).cast(), self.page, libc::PROT_NONE) } {
            0 => Ok(()),
            _ => Err(Refusal::os("forbid all access to a page")),
        }
    }

    /// One fault must be one page. A kernel without huge pages does not know the advice.
    pub(crate) fn small_pages(&self) -> Result<(), Refusal> {
        match self.try_advise(0, self.pages(), libc::MADV_NOHUGEPAGE) {
            Err(error) if error.raw_os_error() != Some(libc::EINVAL) => {
                Err(Refusal::Failed(format!("switch huge pages off: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// How many of the first `pages` pages of private anonymous memory are mapped. Needs no /proc.
    pub(crate) fn resident_count(&self, pages: usize) -> Option<u64> {
        let mut resident = vec![0_u8; pages.min(self.pages())];
        let bytes = resident.len() * self.page;
        // SAFETY: the range is inside our own mapping, and there is a byte for each page.
        let asked = unsafe { libc::mincore(self.base.cast(), bytes, resident.as_mut_ptr()) };
        (asked == 0).then(|| resident.iter().filter(|&&byte| byte & 1 == 1).count() as u64)
    }

    /// Which of the first `pages` pages are in the page table; `None` if the kernel does not say.
    pub(crate) fn present(&self, pages: usize) -> Option<Vec<bool>> {
        let mut entries = vec![0_u8; pages.min(self.pages()) * 8];
        let at = self.base as u64 / self.page as u64 * 8;
        let pagemap = self.pagemap.get_or_init(|| File::open("/proc/self/pagemap").ok());
        pagemap.as_ref()?.read_exact_at(&mut entries, at).ok()?;
        let entry = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        Some(entries.chunks_exact(8).map(|bytes| entry(bytes) & PRESENT != 0).collect())
    }

    /// How many of them.
    pub(crate) fn present_count(&self, pages: usize) -> Option<u64> {
        self.present(pages).map(|pages| pages.iter().filter(|&&there| there).count() as u64)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that was made; nothing refers to it any more.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

/// The size of a page on this system.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: sysconf has no memory arguments.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}
