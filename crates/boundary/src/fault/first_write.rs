//! The first write to shared memory, to a private and to a shared mapping of a file.

use super::kind::{Counted, Pages, TOUCH, write_each};
use super::scratch;
use crate::map::{Map, page_bytes};
use crate::mechanism::{Mechanism, Opened};
use std::fs::File;
use tollgate_measure::{Meta, Refusal};

/// Pages of each mapping.
const PAGES: usize = 512;

struct First {
    map: Map,
    /// The advice that discards the pages.
    advice: libc::c_int,
    _file: Option<File>,
}

impl Pages for First {
    fn arm(&mut self, passes: usize) -> Result<(), Refusal> {
        self.map.advise(0, passes, self.advice, "give pages back")
    }

    fn touch(&mut self, passes: usize) -> Result<(), Refusal> {
        // SAFETY: the mapping has PAGES pages, all writable, and `passes` is no more.
        unsafe { write_each(self.map.page(0), self.map.page_bytes(), passes) };
        Ok(())
    }

    fn most(&self) -> usize {
        PAGES
    }

    fn mapped(&self) -> Option<u64> {
        self.map.present_count(PAGES)
    }
}

pub(crate) static SHARED_MEMORY: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/shared-memory",
        what: "first write to a page of shared memory: a page is found, cleared, filed and mapped",
        ..TOUCH
    },
    open: |meta, _| {
        let map = Map::shared(PAGES)?;
        map.small_pages()?;
        // The pages belong to the object behind the mapping: only a hole in it removes them.
        Counted::open(First { map, advice: libc::MADV_REMOVE, _file: None }, meta.proof)
    },
};

fn of_file(flags: libc::c_int, meta: &'static Meta) -> Opened {
    let page = page_bytes();
    let file = scratch::file(PAGES * page, page)?;
    let map = Map::new(PAGES, flags, Some(&file), true)?;
    Counted::open(First { map, advice: libc::MADV_DONTNEED, _file: Some(file) }, meta.proof)
}

pub(crate) static PRIVATE_FILE: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/private-file",
        what: "first write to a page of a file mapped privately: a page is found, copied and mapped",
        ..TOUCH
    },
    open: |meta, _| of_file(libc::MAP_PRIVATE, meta),
};

pub(crate) static SHARED_FILE: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/shared-file",
        what: "first write to a cached page of a file mapped shared: the file system is notified, then it is mapped",
        ..TOUCH
    },
    open: |meta, _| of_file(libc::MAP_SHARED, meta),
};
