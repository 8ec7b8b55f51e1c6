//! Reads of file pages that are in the page cache: one page, with those around it, a large folio.

use super::kind::{Counted, Pages, SteadyPages, TOUCH, read_each};
use super::scratch;
use crate::map::{Map, page_bytes};
use crate::mechanism::{Mechanism, Opened};
use std::ptr;
use tollgate_measure::{Facts, Meta, Refusal, Site};
use tollgate_record::family::{ProbeAsked, ProbeFound};

/// Pages that a fault on a file maps around the touched one, unless `fault_around_bytes` in debugfs was changed.
const WINDOW: usize = 16;

/// Single pages: one in each window.
struct Single {
    map: Map,
    touches: usize,
}

impl Pages for Single {
    fn arm(&mut self, passes: usize) -> Result<(), Refusal> {
        (0..passes).try_for_each(|touch| self.map.forget(touch * WINDOW, 1))
    }

    fn touch(&mut self, passes: usize) -> Result<(), Refusal> {
        // SAFETY: there are `touches` windows, and `passes` is no more.
        unsafe { read_each(self.map.page(0), WINDOW * self.map.page_bytes(), passes) };
        Ok(())
    }

    fn most(&self) -> usize {
        self.touches
    }

    fn mapped(&self) -> Option<u64> {
        self.map.present_count(self.map.pages())
    }
}

pub(crate) static ONE_PAGE: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/cached-page",
        what: "read of a cached file page whose neighbors are mapped: that one page is mapped",
        ..TOUCH
    },
    open: |meta, _| {
        const TOUCHES: usize = 256;
        let file = scratch::file(TOUCHES * WINDOW * page_bytes(), page_bytes())?;
        let map = Map::of_file(&file, TOUCHES * WINDOW)?;
        // SAFETY: every page is mapped and readable. All of them are in the page table after this.
        unsafe { read_each(map.page(0), map.page_bytes(), map.pages()) };
        Counted::open(Single { map, touches: TOUCHES }, meta.proof)
    },
};

/// A file in memory, touched at such distances that no touch maps the page of another.
pub(crate) struct MemoryFile {
    map: Map,
    step: usize,
}

impl MemoryFile {
    /// Touches of the file.
    const TOUCHES: usize = 256;
    /// Bytes that a fault maps around the touched page, in aligned windows (`fault_around_bytes`).
    const AROUND: usize = 64 << 10;

    pub(crate) fn new() -> Result<Self, Refusal> {
        let step = Self::AROUND.max(page_bytes());
        let file = scratch::in_memory(Self::TOUCHES * step)?;
        let map = Map::of_file(&file, Self::TOUCHES * step / page_bytes())?;
        map.small_pages()?;
        Ok(Self { map, step })
    }
}

impl Pages for MemoryFile {
    fn arm(&mut self, _: usize) -> Result<(), Refusal> {
        self.map.forget(0, self.map.pages())
    }

    #[inline]
    fn touch(&mut self, passes: usize) -> Result<(), Refusal> {
        // SAFETY: there are TOUCHES windows, and `passes` is no more.
        unsafe { read_each(self.map.page(0), self.step, passes) };
        Ok(())
    }

    fn most(&self) -> usize {
        Self::TOUCHES
    }

    fn facts(&self) -> Facts {
        let asked = ProbeAsked {
            file: Some("in memory (memfd)".into()),
            bytes_between_touches: Some(self.step as u64),
            ..ProbeAsked::default()
        };
        let page_bytes = Some(self.map.page_bytes() as u64);
        Facts::of_probe(asked, ProbeFound { page_bytes, ..ProbeFound::default() })
    }
}

impl SteadyPages for MemoryFile {
    fn first(&self) -> *mut u8 {
        self.map.page(0)
    }

    fn step(&self) -> usize {
        self.step
    }

    fn writes(&self) -> bool {
        false
    }
}

/// Pages whose touches each map a further part of the file.
struct Spread {
    map: Map,
    touched: Vec<usize>,
}

impl Spread {
    /// Finds them by trying: only the kernel knows how much a fault maps.
    fn new(map: Map) -> Result<Self, Refusal> {
        let blind = || {
            Refusal::skip(
                "/proc/self/pagemap cannot be read, which shows what a fault has mapped",
                "mount /proc, and allow this program to read its own pagemap",
            )
        };
        map.forget(0, map.pages())?;
        let mut touched = Vec::new();
        let mut next = Some(0);
        while let Some(page) = next {
            // SAFETY: the page is inside the mapping, which is readable.
            unsafe { ptr::read_volatile(map.page(page)) };
            touched.push(page);
            let present = map.present(map.pages()).ok_or_else(blind)?;
            next = (page + 1..map.pages()).find(|&page| !present[page]);
        }
        Ok(Self { map, touched })
    }

    fn pages_each(&self) -> f64 {
        self.map.pages() as f64 / self.touched.len() as f64
    }
}

impl Pages for Spread {
    fn arm(&mut self, _: usize) -> Result<(), Refusal> {
        self.map.forget(0, self.map.pages())
    }

    fn touch(&mut self, passes: usize) -> Result<(), Refusal> {
        for &page in &self.touched[..passes] {
            // SAFETY: the page is inside the mapping, which is readable.
            unsafe { ptr::read_volatile(self.map.page(page)) };
        }
        Ok(())
    }

    fn most(&self) -> usize {
        self.touched.len()
    }

    fn mapped(&self) -> Option<u64> {
        self.map.present_count(self.map.pages())
    }

    fn facts(&self) -> Facts {
        let found = ProbeFound { pages_per_fault: Some(self.pages_each()), ..ProbeFound::default() };
        Facts::of_probe(ProbeAsked::default(), found)
    }
}

pub(crate) static AROUND: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/around",
        what: "read of a cached file page: it is mapped, and those around it with it",
        ..TOUCH
    },
    open: |meta, _| {
        const PAGES: usize = 128 * WINDOW;
        // Written page by page, so that the page cache holds single pages.
        let file = scratch::file(PAGES * page_bytes(), page_bytes())?;
        let spread = Spread::new(Map::of_file(&file, PAGES)?)?;
        Counted::open(spread, meta.proof)
    },
};

pub(crate) static LARGE_FOLIO: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/large-folio",
        what: "read of a page of a large folio in the page cache: the whole folio is mapped",
        ..TOUCH
    },
    open: open_large_folio,
};

fn open_large_folio(meta: &'static Meta, _: &Site) -> Opened {
    const BYTES: usize = 16 << 20;
    let file = scratch::file(BYTES, 2 << 20)?;
    let spread = Spread::new(Map::of_file(&file, BYTES / page_bytes())?)?;
    if spread.pages_each() <= WINDOW as f64 {
        return Err(Refusal::skip(
            format!(
                "a fault maps {:.0} pages even of a file that was written in large pieces",
                spread.pages_each()
            ),
            "a kernel that maps whole folios (6.18), TMPDIR on a file system with large folios (xfs, btrfs, ext4), and \
             free memory that is not fragmented: the kernel takes small folios where it finds no large one",
        ));
    }
    Counted::open(spread, meta.proof)
}
