//! What caches and translation buffers hold, for who shows it.

use super::super::tlb::Tlb;
use super::Memory;
use tollgate_riscv::cache::Cache;

impl Memory {
    /// The caches that there are, by name.
    pub(in super::super) fn caches(&self) -> impl Iterator<Item = (&'static str, &Cache)> {
        let all = [("L1I", &self.l1i), ("L1D", &self.l1d), ("L2", &self.l2)];
        all.into_iter().filter_map(|(name, cache)| Some((name, cache.as_ref()?)))
    }

    /// The translation buffers that there are, by name.
    pub(in super::super) fn buffers(&self) -> impl Iterator<Item = (&'static str, &Tlb)> {
        let all = [("ITLB", &self.itlb), ("DTLB", &self.dtlb)];
        all.into_iter().filter_map(|(name, tlb)| Some((name, tlb.as_ref()?)))
    }
}
