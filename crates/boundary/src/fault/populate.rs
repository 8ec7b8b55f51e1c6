//! Pages mapped in advance, many in one call: the cost of a fault without the exception.

use super::kind::{Counted, MAPPED, Pages, TOUCH};
use super::scratch;
use crate::map::{Map, page_bytes};
use crate::mechanism::{Mechanism, Opened};
use tollgate_measure::{Meta, Refusal};

/// Pages of a region.
const PAGES: usize = 512;

/// An address range in which the mapping is made again for each batch.
struct Fresh {
    place: Map,
}

impl Pages for Fresh {
    fn arm(&mut self, passes: usize) -> Result<(), Refusal> {
        self.place.forget(0, passes)
    }

    fn touch(&mut self, passes: usize) -> Result<(), Refusal> {
        if passes == 0 {
            return Ok(());
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_POPULATE;
        let (start, bytes) = (self.place.page(0).cast(), passes * self.place.page_bytes());
        // SAFETY: it replaces the first pages of our own mapping, to which no reference exists.
        let made = unsafe { libc::mmap(start, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if made == libc::MAP_FAILED { Err(Refusal::os("map with MAP_POPULATE")) } else { Ok(()) }
    }

    fn most(&self) -> usize {
        // Less than a huge page, so that none is made.
        PAGES / 2
    }

    fn mapped(&self) -> Option<u64> {
        self.place.present_count(PAGES)
    }
}

pub(crate) static MAP_POPULATE: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/map-populate",
        what: "one page of a mapping made with MAP_POPULATE: found, cleared and mapped with no exception",
        ..TOUCH
    },
    open: |meta, _| {
        let place = Map::private(PAGES)?;
        place.small_pages()?;
        Counted::open(Fresh { place }, meta.proof)
    },
};

struct Advised {
    map: Map,
    advice: libc::c_int,
}

impl Pages for Advised {
    fn arm(&mut self, _: usize) -> Result<(), Refusal> {
        // A fault on a file may have mapped pages around those of the batch.
        self.map.forget(0, self.map.pages())
    }

    fn touch(&mut self, passes: usize) -> Result<(), Refusal> {
        if passes == 0 {
            return Ok(());
        }
        self.map.advise(0, passes, self.advice, "populate pages")
    }

    fn most(&self) -> usize {
        PAGES
    }

    fn mapped(&self) -> Option<u64> {
        self.map.present_count(PAGES)
    }
}

fn advised(map: Map, advice: libc::c_int, meta: &'static Meta) -> Opened {
    match map.try_advise(0, 1, advice) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            Err(Refusal::skip("this kernel does not know MADV_POPULATE", "Linux 5.14 or later"))
        }
        Err(error) => Err(Refusal::Failed(format!("populate a page: {error}"))),
        Ok(()) => Counted::open(Advised { map, advice }, meta.proof),
    }
}

pub(crate) static POPULATE_WRITE: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/populate-write",
        what: "one page of anonymous memory given to MADV_POPULATE_WRITE: found, cleared and mapped",
        ..TOUCH
    },
    open: |meta, _| {
        let map = Map::private(PAGES)?;
        map.small_pages()?;
        advised(map, libc::MADV_POPULATE_WRITE, meta)
    },
};

pub(crate) static POPULATE_READ: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/populate-read",
        what: "one page of a cached file given to MADV_POPULATE_READ: mapped with those around it",
        proof: &[MAPPED],
        ..TOUCH
    },
    open: |meta, _| {
        let file = scratch::file(PAGES * page_bytes(), page_bytes())?;
        advised(Map::of_file(&file, PAGES)?, libc::MADV_POPULATE_READ, meta)
    },
};
