//! The first read of fresh memory, which maps the page of zeroes, and the write after it.

use super::kind::{Counted, MAPPED, MINOR, Pages, read_each, write_each};
use super::map::Map;
use tollgate_measure::{Crossing, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::Per;

/// The probe `fault/zero-page`.
pub(crate) struct ZeroPage;

/// The probe `fault/after-zero-page`.
pub(crate) struct AfterZeroPage;

static READ: Meta = Meta {
    id: "fault/zero-page",
    what: "first read of a page of anonymous memory: the one page of zeroes is mapped",
    per: Per::Touch,
    crossings_per_pass: 1,
    placement: Placement::One,
    proof: &[MINOR, MAPPED],
};

static WRITE: Meta = Meta {
    id: "fault/after-zero-page",
    what: "write to a page of anonymous memory that was only read: the page of zeroes is replaced",
    per: Per::Touch,
    crossings_per_pass: 1,
    placement: Placement::One,
    proof: &[MINOR],
};

/// Pages of the region: as many as `fault/anonymous` has.
const PAGES: usize = 512;

struct Zero {
    map: Map,
    write: bool,
}

impl Pages for Zero {
    fn arm(&mut self, passes: usize) -> Result<(), Refusal> {
        self.map.forget(0, passes)?;
        if self.write {
            // SAFETY: the mapping has PAGES pages, and `passes` is no more.
            unsafe { read_each(self.map.page(0), self.map.page_bytes(), passes) };
        }
        Ok(())
    }

    fn touch(&mut self, passes: usize) -> Result<(), Refusal> {
        // SAFETY: the mapping has PAGES pages, readable and writable, and `passes` is no more.
        unsafe {
            if self.write {
                write_each(self.map.page(0), self.map.page_bytes(), passes);
            } else {
                read_each(self.map.page(0), self.map.page_bytes(), passes);
            }
        }
        Ok(())
    }

    fn most(&self) -> usize {
        PAGES
    }

    fn mapped(&self) -> Option<u64> {
        self.map.present_count(PAGES)
    }
}

fn open(write: bool, meta: &'static Meta) -> Result<Box<dyn Crossing>, Refusal> {
    let map = Map::private(PAGES)?;
    map.small_pages()?;
    Counted::open(Zero { map, write }, meta.proof)
}

impl Probe for ZeroPage {
    fn meta(&self) -> &Meta {
        &READ
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        open(false, &READ)
    }
}

impl Probe for AfterZeroPage {
    fn meta(&self) -> &Meta {
        &WRITE
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        open(true, &WRITE)
    }
}
