//! Translation buffers.

/// A translation: address space, page number, size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) space: u64,
    pub(super) page: u64,
    pub(super) shift: u32,
}

/// A fully associative translation buffer, most recent first.
#[derive(Clone, Debug)]
pub(super) struct Tlb {
    pub(super) entries: Vec<Entry>,
    pub(super) capacity: usize,
}

/// The page that was translated last: finding it there needs no walk and does not change the order of the buffer.
/// Invalid when the address space changes, or what is in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latest {
    pub(super) page: u64,
    pub(super) mask: u64,
}

impl Latest {
    /// Matches nothing: no masked address has low bits.
    pub(super) const NONE: Latest = Latest { page: 1, mask: !0xfff };
    pub(super) const ALL: Latest = Latest { page: 0, mask: 0 };

    pub(super) fn of(tlb: &Option<Tlb>, space: u64) -> Self {
        match tlb.as_ref().and_then(|t| t.entries.first()) {
            Some(e) if e.space == space => Latest { page: e.page << e.shift, mask: u64::MAX << e.shift },
            _ => Latest::NONE,
        }
    }

    #[inline(always)]
    pub(super) fn has(self, va: u64) -> bool {
        va & self.mask == self.page
    }
}

impl Tlb {
    #[inline]
    pub(super) fn find(&self, space: u64, va: u64) -> Option<usize> {
        self.entries.iter().position(|e| e.page == va >> e.shift && e.space == space)
    }

    /// Whether the translation is there; it becomes the most recent.
    pub(super) fn touch(&mut self, space: u64, va: u64) -> bool {
        match self.find(space, va) {
            Some(at) => {
                // (The library's rotation is optimized for long slices.)
                for i in (0..at).rev() {
                    self.entries.swap(i, i + 1);
                }
                true
            }
            None => false,
        }
    }

    pub(super) fn fill(&mut self, space: u64, va: u64, shift: u32) {
        if self.entries.len() == self.capacity {
            self.entries.pop();
        }
        self.entries.insert(0, Entry { space, page: va >> shift, shift });
    }
}
