//! The first write to shared memory, to a private and to a shared mapping of a file.

use super::kind::{Counted, MAPPED, MINOR, Pages, write_each};
use super::map::Map;
use super::scratch;
use crate::region::page_bytes;
use std::fs::File;
use tollgate_measure::{Crossing, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::Per;

/// The probe `fault/shared-memory`.
pub(crate) struct SharedMemory;

/// The probe `fault/private-file`.
pub(crate) struct PrivateFile;

/// The probe `fault/shared-file`.
pub(crate) struct SharedFile;

static MEMORY: Meta = Meta {
    id: "fault/shared-memory",
    what: "first write to a page of shared memory: a page is found, cleared, filed and mapped",
    per: Per::Touch,
    crossings_per_pass: 1,
    placement: Placement::One,
    proof: &[MINOR, MAPPED],
};

static PRIVATE: Meta = Meta {
    id: "fault/private-file",
    what: "first write to a page of a file mapped privately: a page is found, copied and mapped",
    per: Per::Touch,
    crossings_per_pass: 1,
    placement: Placement::One,
    proof: &[MINOR, MAPPED],
};

static SHARED: Meta = Meta {
    id: "fault/shared-file",
    what: "first write to a cached page of a file mapped shared: the file system is notified, then it is mapped",
    per: Per::Touch,
    crossings_per_pass: 1,
    placement: Placement::One,
    proof: &[MINOR, MAPPED],
};

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

impl Probe for SharedMemory {
    fn meta(&self) -> &Meta {
        &MEMORY
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        let map = Map::shared(PAGES)?;
        map.small_pages()?;
        // The pages belong to the object behind the mapping: only a hole in it removes them.
        Counted::open(First { map, advice: libc::MADV_REMOVE, _file: None }, MEMORY.proof)
    }
}

fn of_file(flags: libc::c_int, meta: &'static Meta) -> Result<Box<dyn Crossing>, Refusal> {
    let page = page_bytes();
    let file = scratch::file(PAGES * page, page)?;
    let map = Map::new(PAGES, flags, Some(&file), true)?;
    Counted::open(First { map, advice: libc::MADV_DONTNEED, _file: Some(file) }, meta.proof)
}

impl Probe for PrivateFile {
    fn meta(&self) -> &Meta {
        &PRIVATE
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        of_file(libc::MAP_PRIVATE, &PRIVATE)
    }
}

impl Probe for SharedFile {
    fn meta(&self) -> &Meta {
        &SHARED
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        of_file(libc::MAP_SHARED, &SHARED)
    }
}
