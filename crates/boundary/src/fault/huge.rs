//! The first write to huge pages: transparent ones, and those of hugetlbfs.

use super::kind::{Counted, MINOR, Pages, TOUCH, write_each};
use crate::map::{Map, page_bytes};
use crate::mechanism::{Mechanism, Opened};
use std::fs;
use tollgate_measure::{Facts, Meta, Refusal, Site};
use tollgate_record::family::{ProbeAsked, ProbeFound};

/// Huge pages of a region.
const HUGE: usize = 8;

struct Huge {
    map: Map,
    /// The first page at which a huge page can begin.
    first: usize,
    /// Pages of a huge page.
    each: usize,
    count: usize,
}

impl Pages for Huge {
    fn arm(&mut self, passes: usize) -> Result<(), Refusal> {
        self.map.forget(self.first, passes * self.each)
    }

    fn touch(&mut self, passes: usize) -> Result<(), Refusal> {
        // SAFETY: `count` huge pages from `first` on are inside the mapping, and `passes` is no more.
        unsafe { write_each(self.map.page(self.first), self.each * self.map.page_bytes(), passes) };
        Ok(())
    }

    fn most(&self) -> usize {
        self.count
    }

    fn mapped(&self) -> Option<u64> {
        self.map.present_count(self.map.pages())
    }

    fn facts(&self) -> Facts {
        let bytes = (self.each * self.map.page_bytes()) as u64;
        let found = ProbeFound { huge_page_bytes: Some(bytes), ..ProbeFound::default() };
        Facts::of_probe(ProbeAsked::default(), found)
    }
}

pub(crate) static TRANSPARENT: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/huge-page",
        what: "first write to a transparent huge page: 2 MiB (on x86-64) are found, cleared and mapped",
        ..TOUCH
    },
    open: open_transparent,
};

fn open_transparent(meta: &'static Meta, _: &Site) -> Opened {
    const SETTINGS: &str = "/sys/kernel/mm/transparent_hugepage";
    let size = fs::read_to_string(format!("{SETTINGS}/hpage_pmd_size")).ok();
    let Some(bytes) = size.and_then(|text| text.trim().parse::<usize>().ok()) else {
        return Err(if fs::exists("/sys/kernel").is_ok_and(|there| there) {
            Refusal::skip(
                "this kernel has no transparent huge pages, or their settings are hidden",
                "a kernel with CONFIG_TRANSPARENT_HUGEPAGE, and a container that shows /sys/kernel/mm",
            )
        } else {
            Refusal::skip(
                "/sys is not mounted, which has the size of a huge page",
                "mount it: `mount -t sysfs sysfs /sys`",
            )
        });
    };
    let each = bytes / page_bytes();
    let map = Map::private((HUGE + 1) * each)?;
    let first = (bytes - map.page(0) as usize % bytes) % bytes / map.page_bytes();
    let pages = HUGE * each;
    map.advise(first, pages, libc::MADV_HUGEPAGE, "ask for huge pages")?;
    let mut huge = Huge { map, first, each, count: HUGE };
    huge.arm(HUGE)?;
    huge.touch(HUGE)?;
    // The count of mapped pages after one touch of each shows whether these were huge pages.
    if huge.mapped().is_some_and(|mapped| mapped < pages as u64) {
        return Err(Refusal::skip(
            format!("the kernel gave {:?} pages instead of {HUGE} huge ones", huge.mapped().unwrap_or(0)),
            format!("write madvise to {SETTINGS}/enabled; free memory when it is fragmented"),
        ));
    }
    Counted::open(huge, meta.proof)
}

pub(crate) static HUGETLB: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/hugetlb",
        what: "first write to a huge page that was set aside (hugetlbfs): it is cleared and mapped",
        proof: &[MINOR],
        ..TOUCH
    },
    open: open_hugetlb,
};

fn open_hugetlb(meta: &'static Meta, _: &Site) -> Opened {
    let none = |reason: String| {
        Refusal::skip(
            reason,
            "set huge pages aside: sysctl vm.nr_hugepages=8 (as root), and back to 0 after it",
        )
    };
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let number = |key: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse::<usize>().ok()
    };
    let free = number("HugePages_Free:").unwrap_or(0);
    let reserved = number("HugePages_Rsvd:").unwrap_or(0);
    let count = free.saturating_sub(reserved).min(HUGE);
    let each = number("Hugepagesize:").unwrap_or(0) * 1024 / page_bytes();
    if count == 0 || each == 0 {
        return Err(none("no huge page is set aside on this host".into()));
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB;
    let map = Map::new(count * each, flags, None, true)
        .map_err(|error| none(format!("no huge page is available: {error}")))?;
    // Before Linux 5.18 the pages cannot be given back.
    if map.try_advise(0, each, libc::MADV_DONTNEED).is_err() {
        return Err(Refusal::skip("this kernel does not give huge pages back", "Linux 5.18 or later"));
    }
    Counted::open(Huge { map, first: 0, each, count }, meta.proof)
}
