//! The memory side as translated code counts and reports it.

use super::Memory;
use super::tlb::{Latest, Tlb};
use crate::access::Data;
use tollgate_riscv::Privilege;
use tollgate_riscv::cache::{Cache, Found};
use tollgate_riscv::tier::{Kind, Quiet, Reported, Sight, View};

impl Memory {
    /// The page that was translated last, if data may be translated.
    fn quiet_page(&self) -> Latest {
        if self.data_walks() { self.latest_data } else { Latest::ALL }
    }

    /// The fetches and data that a count has to observe; `None` if quiet accesses are not all that there is to skip.
    pub(crate) fn sight(&self) -> Option<Sight> {
        let view = |cache: &Option<Cache>, tlb: &Option<Tlb>| View {
            lines: cache.as_ref().map(Cache::line_view),
            pages: self.translates && tlb.is_some(),
        };
        let (fetches, mut data) = (view(&self.l1i, &self.itlb), view(&self.l1d, &self.dtlb));
        // The second level has to see which of its own shorter lines is accessed.
        if let (Some(lines), Some(l2)) = (&mut data.lines, &self.l2) {
            lines.fills &= l2.geometry().line_shift() >= lines.shift;
        }
        (self.quick || self.l1d.is_none()).then_some(Sight { fetches, data, bytes: false })
    }

    /// Which fetches change nothing but counts.
    pub(crate) fn quiet_fetches(&mut self, privilege: Privilege) -> Quiet<'_> {
        let Latest { page, mask } = if self.fetch_walks(privilege) { self.latest_fetch } else { Latest::ALL };
        Quiet { lines: self.l1i.as_mut().map_or(&[], Cache::quiet), page_mask: mask, page }
    }

    /// Which loads and stores change nothing but counts.
    pub(crate) fn quiet_data(&mut self) -> Quiet<'_> {
        let Latest { page, mask } = self.quiet_page();
        Quiet { lines: self.l1d.as_mut().map_or(&[], Cache::quiet), page_mask: mask, page }
    }

    /// Accesses to RAM, each in the page that was translated last, that [`count_hits`](Self::count_hits) will count: what
    /// [`Cache::quiet`] has in advance.
    pub(crate) fn report_noted(&mut self, noted: &[u64]) {
        let Some(cache) = &mut self.l1d else { return };
        let before = cache.counts().writebacks;
        let shift = cache.geometry().line_shift();
        for &noted in noted {
            let found = cache.look_for_noted(noted);
            if let (Found::Filled(old), Some(l2)) = (found, &mut self.l2) {
                if let Some(address) = cache.dirty(old) {
                    l2.access(address, true);
                }
                l2.access(noted >> 2 << shift, noted & 2 != 0);
            }
        }
        self.counts.write_backs += cache.counts().writebacks - before;
    }

    /// An access that [`count_hits`](Self::count_hits) will count, if it is to data.
    #[inline(always)]
    pub(crate) fn report(&mut self, access: &Reported) {
        let &Reported { kind, va, pa, size, privilege } = access;
        if kind == Kind::Fetch {
            self.fetch(va, pa, size, privilege);
        } else {
            self.wait_in_block(&Data { va, pa, size, store: kind == Kind::Store }, privilege);
        }
    }
}
