//! Data accesses.

use tollgate_riscv::Access;

/// A data access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Data {
    pub(super) va: u64,
    pub(super) pa: u64,
    pub(super) size: u8,
    pub(super) store: bool,
}

impl Data {
    /// Accesses that it takes because it is misaligned, if each is to so many aligned bytes.
    pub(super) fn further(&self, width: u32) -> u32 {
        match u64::from(width) {
            0 => 0,
            width => {
                let last = u64::from(self.size.saturating_sub(1));
                ((self.va % width + last) / width - last / width) as u32
            }
        }
    }

    #[inline(always)]
    pub(super) fn of(access: &Access) -> Self {
        Data { va: access.va, pa: access.pa, size: access.size, store: access.store }
    }
}
