//! Fetches and accesses that find everything where the last one found it.

use super::window::Window;
use super::{Memory, Waits};
use crate::access::Data;
use tollgate_riscv::{Privilege, is_device};

impl Memory {
    /// Whether a fetch is in the line and the page of the last one, or as good as there: then it takes no time and changes nothing but
    /// which line is the last one.
    #[inline(always)]
    pub(crate) fn fetches_latest_line(&mut self, pc: u64, pa: u64, len: u8, privilege: Privilege) -> bool {
        self.window.has(pc, privilege) || self.fetches_near_window(pc, pa, len, privilege)
    }

    /// The same of a fetch outside of the window, or at its end, which may also be in the lines that the last fetches in their sets
    /// found. The window moves there.
    #[inline(never)]
    fn fetches_near_window(&mut self, pc: u64, pa: u64, len: u8, privilege: Privilege) -> bool {
        let end = u64::from(len) - 1;
        let translated = self.itlb.is_none() || self.latest_fetch.has(pc);
        if self.translating(privilege) && !(translated && (pc & 0xfff) + end <= 0xfff) {
            return false;
        }
        let mut one_line = true;
        if let Some(cache) = &mut self.l1i {
            if !cache.is_latest(pa, false) || !cache.is_latest(pa + end, false) {
                return false;
            }
            let lines = [pa, pa + end].map(|pa| pa >> cache.geometry().line_shift());
            for line in lines {
                if line != self.last_line {
                    self.last_line = line;
                    cache.count_hits(1, 0);
                }
            }
            one_line = lines[0] == lines[1];
        }
        self.window = match one_line {
            // Lines and pages are aligned alike in virtual and physical addresses.
            true => Window::around(pc, self.instruction_line_bytes().min(4096), privilege),
            false => Window::NONE,
        };
        true
    }

    /// Whether an aligned word is in the window of the last fetch.
    #[inline(always)]
    pub(crate) fn fetches_latest_word(&self, pc: u64, privilege: Privilege) -> bool {
        self.window.has(pc, privilege)
    }

    /// An aligned word is fetched that is not. The window moves there.
    #[inline]
    pub(crate) fn fetch_word(&mut self, pc: u64, pa: u64, privilege: Privilege) -> Waits {
        let mut waits = Waits::default();
        self.fetch_part(pc, pa, privilege, &mut waits);
        self.window = Window::around(pc, self.instruction_line_bytes().min(4096), privilege);
        waits
    }

    /// The same as [`hits_latest_line`](Self::hits_latest_line) of an access of decoded code: it is aligned, and to RAM.
    #[inline(always)]
    pub(crate) fn hits_latest_of_block(
        &mut self,
        va: u64,
        pa: u64,
        store: bool,
        privilege: Privilege,
    ) -> bool {
        let translated = match privilege {
            Privilege::Machine => va != pa,
            _ => self.satp >> 31 != 0,
        };
        let Some(cache) = self.l1d.as_mut().filter(|_| self.quick) else { return false };
        if translated && !self.latest_data.has(va) || !cache.is_latest(pa, store) {
            return false;
        }
        cache.count_hits(u64::from(!store), u64::from(store));
        true
    }

    /// Whether an access finds its translation and its line where the last one was: then it is counted, takes no time and
    /// changes nothing else.
    #[inline(always)]
    pub(crate) fn hits_latest_line(&mut self, access: &Data, privilege: Privilege) -> bool {
        let &Data { va, pa, size, store } = access;
        if self.dtlb.is_some() && self.translated(access, privilege) && !self.latest_data.has(va)
            || is_device(pa)
        {
            return false;
        }
        let Some(cache) = &mut self.l1d else { return true };
        let hits = (!store || cache.write_policy().back)
            && (pa & self.data_mask) + u64::from(size) <= self.data_mask + 1
            && cache.is_latest(pa, store);
        if hits {
            cache.count_hits(u64::from(!store), u64::from(store));
        }
        hits
    }

    /// Data is stored; nothing waits for it but the translation. Yields the cycles of a walk.
    #[inline(always)]
    pub(crate) fn store(&mut self, access: &Data, privilege: Privilege) -> u32 {
        let &Data { va, pa, size, .. } = access;
        let found = self.dtlb.is_none() || !self.translated(access, privilege) || self.latest_data.has(va);
        let fits = (pa & self.data_mask) + u64::from(size) <= self.data_mask + 1;
        if let Some(cache) = &mut self.l1d
            && (found && fits && !is_device(pa))
            && (!cache.write_policy().back && self.l2.is_none())
        {
            // Nothing below it notices the store.
            cache.look_for(pa >> cache.geometry().line_shift(), true);
            return 0;
        }
        self.data(access, privilege).walk
    }
}
