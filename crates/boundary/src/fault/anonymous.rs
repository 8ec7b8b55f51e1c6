//! Fresh anonymous memory: the first write, the first read, and the write after a read.

use super::kind::{Counted, MINOR, Pages, SteadyPages, TOUCH, read_each, write_each};
use crate::map::Map;
use crate::mechanism::Mechanism;
use tollgate_measure::{Facts, Meta, Refusal};
use tollgate_record::family::{ProbeAsked, ProbeFound};

/// Pages of the region: a batch is half of it, so that batches of twice as many passes fit too. 64 pages (256 KiB) are as many
/// as a control group is charged for at once (`MEMCG_CHARGE_BATCH`), and leave room in a second-level cache for the other side
/// of a pair: with 512 pages, two processes of one program differed by 1.3 to 3.5 %, with 128 by 0.4 to 0.5 %.
const PAGES: usize = 128;

/// Which touch faults.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FreshTouch {
    /// The first write.
    Write,
    /// The first read.
    Read,
    /// The first write after a read.
    WriteAfterRead,
}

/// Anonymous memory that is mapped anew before each batch, so that what its place in memory costs differs from batch to
/// batch, and not only from process to process: of those there are few. The page before it and the page behind it stay, and
/// with them its page tables.
pub(crate) struct FreshMemory {
    map: Map,
    touch: FreshTouch,
}

impl FreshMemory {
    pub(crate) fn new(touch: FreshTouch) -> Result<Self, Refusal> {
        let map = Map::private(1 + PAGES + 1)?;
        map.small_pages()?;
        // SAFETY: both pages are in the mapping, which is writable.
        unsafe { write_each(map.page(0), (1 + PAGES) * map.page_bytes(), 2) };
        Ok(Self { map, touch })
    }

    /// Maps the region anew.
    fn fresh(&mut self) -> Result<(), Refusal> {
        self.map.renew(1, PAGES)?;
        self.map.small_pages()
    }
}

impl Pages for FreshMemory {
    fn arm(&mut self, passes: usize) -> Result<(), Refusal> {
        if self.touch != FreshTouch::Read {
            // Each page is used and given back once, outside the clock: otherwise it depends on what ran since the batch before
            // whether the pages that the kernel clears are in the caches, and with it half of the figure.
            self.fresh()?;
            // SAFETY: as below.
            unsafe { write_each(self.first(), self.map.page_bytes(), passes) };
        }
        self.fresh()?;
        if self.touch == FreshTouch::WriteAfterRead {
            // SAFETY: as below.
            unsafe { read_each(self.first(), self.map.page_bytes(), passes) };
        }
        Ok(())
    }

    #[inline]
    fn touch(&mut self, passes: usize) -> Result<(), Refusal> {
        let (first, step) = (self.first(), self.map.page_bytes());
        // SAFETY: PAGES pages are readable and writable, and `passes` is no more.
        unsafe {
            match self.touch {
                FreshTouch::Read => read_each(first, step, passes),
                FreshTouch::Write | FreshTouch::WriteAfterRead => write_each(first, step, passes),
            }
        }
        Ok(())
    }

    fn most(&self) -> usize {
        PAGES
    }

    fn mapped(&self) -> Option<u64> {
        // The read before the write has mapped every page.
        if self.touch == FreshTouch::WriteAfterRead { None } else { self.map.resident_count(1 + PAGES) }
    }

    fn facts(&self) -> Facts {
        let region_pages = (self.touch == FreshTouch::Write).then_some(PAGES as u64);
        let page_bytes = Some(self.map.page_bytes() as u64);
        Facts::of_probe(
            ProbeAsked { region_pages, ..ProbeAsked::default() },
            ProbeFound { page_bytes, ..ProbeFound::default() },
        )
    }
}

impl SteadyPages for FreshMemory {
    fn first(&self) -> *mut u8 {
        self.map.page(1)
    }

    fn step(&self) -> usize {
        self.map.page_bytes()
    }

    fn writes(&self) -> bool {
        self.touch != FreshTouch::Read
    }
}

pub(crate) static FIRST_WRITE: Meta = Meta {
    id: "fault/anonymous",
    what: "first write to a page of anonymous memory: a page is found, cleared and mapped",
    least_passes: 64,
    proof: &[MINOR],
    ..TOUCH
};

pub(crate) static ANONYMOUS: Mechanism = Mechanism {
    meta: &FIRST_WRITE,
    open: |meta, _| Counted::open(FreshMemory::new(FreshTouch::Write)?, meta.proof),
};

pub(crate) static FIRST_READ: Meta = Meta {
    id: "fault/zero-page",
    what: "first read of a page of anonymous memory: the shared page of zeroes is mapped",
    ..TOUCH
};

pub(crate) static ZERO_PAGE: Mechanism = Mechanism {
    meta: &FIRST_READ,
    open: |meta, _| Counted::open(FreshMemory::new(FreshTouch::Read)?, meta.proof),
};

pub(crate) static AFTER_ZERO_PAGE: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/after-zero-page",
        what: "write to a page of anonymous memory that was only read: the page of zeroes is replaced",
        proof: &[MINOR],
        ..TOUCH
    },
    open: |meta, _| Counted::open(FreshMemory::new(FreshTouch::WriteAfterRead)?, meta.proof),
};

#[cfg(test)]
mod tests {
    use super::{ANONYMOUS, FreshMemory, FreshTouch, MINOR, PAGES, Pages};
    use crate::fault::kind::{Counted, Usage};
    use crate::testing::alone;
    use tollgate_measure::{Crossing, Probe, Site};

    fn open() -> Box<dyn Crossing> {
        ANONYMOUS.open(&Site { cpu: 0, peer: None }).unwrap()
    }

    #[test]
    fn one_fault_for_each_touch_and_none_for_a_second_touch() {
        let _turn = alone();
        let mut open = open();
        let mut counts = [None];
        for passes in [1, 7, PAGES as u64] {
            open.prepare(passes).unwrap();
            open.cross(passes).unwrap();
            open.cross(passes).unwrap();
            open.prove(&mut counts).unwrap();
            assert_eq!(counts, [Some(passes)]);
        }
        open.cross(PAGES as u64).unwrap();
        open.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(0)], "nothing was unmapped, so nothing may be counted");
    }

    #[test]
    fn pages_are_used_and_given_back_before_a_batch() {
        let _turn = alone();
        for (touch, faults) in
            [(FreshTouch::Write, 64), (FreshTouch::Read, 0), (FreshTouch::WriteAfterRead, 128)]
        {
            let mut pages = FreshMemory::new(touch).unwrap();
            pages.arm(64).unwrap();
            let before = Usage::now(false).unwrap().minor;
            pages.arm(64).unwrap();
            let while_armed = Usage::now(false).unwrap().minor - before;
            assert!((faults..faults + 8).contains(&while_armed), "{while_armed} faults, {faults} expected");
        }
    }

    #[test]
    fn several_batches_before_one_proof_add_up() {
        let _turn = alone();
        let mut open = open();
        let mut counts = [None];
        for passes in [3, 4] {
            open.prepare(passes).unwrap();
            open.cross(passes).unwrap();
        }
        open.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(7)]);
    }

    #[test]
    fn faults_elsewhere_are_not_counted_and_missing_ones_not_made_up() {
        let _turn = alone();
        let (mut open, mut other) = (open(), open());
        other.prepare(PAGES as u64).unwrap();
        open.prepare(5).unwrap();
        open.cross(3).unwrap();
        other.cross(PAGES as u64).unwrap();
        let mut counts = [None];
        open.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(3)]);
    }

    #[test]
    fn a_huge_page_would_show_as_too_few_faults() {
        let _turn = alone();
        let pages = FreshMemory::new(FreshTouch::Write).unwrap();
        let mut open = Counted::new(pages, const { &[MINOR] }).unwrap();
        open.prepare(8).unwrap();
        open.cross(8).unwrap();
        // As if the kernel had mapped all eight at the first touch.
        if let Some(before) = open.batch.as_mut().and_then(|batch| batch.before.as_mut()) {
            before.minor += 7;
        }
        let mut counts = [None];
        open.prove(&mut counts).unwrap();
        assert!(matches!(counts, [Some(1..8)]), "{counts:?}");
    }

    #[test]
    fn more_than_the_region_is_refused() {
        let mut open = open();
        let most = open.most_passes();
        assert!(open.prepare(most).is_ok());
        assert!(open.prepare(most + 1).is_err());
    }
}
