//! The contents of caches and translation buffers, for views.

use super::Memory;
use tollgate_riscv::cache::Cache;

/// A translation buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslationBuffer {
    /// `ITLB` or `DTLB`.
    pub name: &'static str,
    /// How many translations fit.
    pub capacity: usize,
    /// Those that are there, the most recent first.
    pub translations: Vec<Translation>,
}

/// A translation in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The first virtual address of the page.
    pub page: u64,
    /// Its size as a power of two.
    pub shift: u32,
    /// The value of `satp` that it belongs to; 0 in a core without address space identifiers.
    pub space: u64,
}

impl Memory {
    /// The caches that there are, by name.
    pub(crate) fn caches(&self) -> Vec<(&'static str, &Cache)> {
        let all = [("L1I", &self.l1i), ("L1D", &self.l1d), ("L2", &self.l2)];
        all.into_iter().filter_map(|(name, cache)| Some((name, cache.as_ref()?))).collect()
    }

    /// The translation buffers that there are.
    pub(crate) fn translation_buffers(&self) -> Vec<TranslationBuffer> {
        let all = [("ITLB", &self.itlb), ("DTLB", &self.dtlb)];
        let buffer = |(name, tlb): (&'static str, &Option<super::Tlb>)| {
            let tlb = tlb.as_ref()?;
            let translation = |entry: &super::tlb::Entry| Translation {
                page: entry.page << entry.shift,
                shift: entry.shift,
                space: entry.space,
            };
            let translations = tlb.entries.iter().map(translation).collect();
            Some(TranslationBuffer { name, capacity: tlb.capacity, translations })
        };
        all.into_iter().filter_map(buffer).collect()
    }
}
