//! Data accesses: single ones, those of a block, and with which stores they overlap.

use tollgate_riscv::{Access, Several, Touch};

/// With which of the latest stores the loads of a block overlap, in two bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Overlaps([u64; 2]);

impl Overlaps {
    /// As many loads as there are bits for.
    pub(super) const MOST: u16 = 64;
    pub(super) const NONE: Overlaps = Overlaps([0; 2]);

    #[inline(always)]
    pub(super) fn add(&mut self, place: &Place, overlap: u8) {
        if overlap != 0 {
            self.0[usize::from(place.load / 32 % 2)] |= u64::from(overlap) << (place.load % 32 * 2);
        }
    }

    /// Those of one load.
    pub(super) fn of(&self, place: &Place) -> u8 {
        (self.0[usize::from(place.load / 32 % 2)] >> (place.load % 32 * 2) & 3) as u8
    }

    /// Whether one of these overlaps that may matter.
    #[inline(always)]
    pub(super) fn meets(&self, others: &Overlaps) -> bool {
        self.0[0] & others.0[0] | self.0[1] & others.0[1] != 0
    }

    /// Those of the first loads.
    pub(super) fn first(self, loads: u8) -> Overlaps {
        let all = u128::from(self.0[1]) << 64 | u128::from(self.0[0]);
        let first = all & !u128::MAX.checked_shl(2 * u32::from(loads)).unwrap_or(0);
        Overlaps([first as u64, (first >> 64) as u64])
    }

    /// A hash of them.
    #[inline(always)]
    pub(super) fn mixed(&self) -> u64 {
        self.0[0] ^ self.0[1].rotate_left(31)
    }
}

/// An instruction of a block that accesses memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Which.
    pub(super) at: u8,
    pub(super) size: u8,
    pub(super) store: bool,
    /// How many loads come before it.
    pub(super) load: u8,
}

impl Place {
    /// Its access, known by where that was.
    pub(super) fn data(&self, several: &Several, touch: &Touch) -> Data {
        Data { va: several.outside(touch.va), pa: touch.pa(), size: self.size, store: self.store }
    }
}

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
