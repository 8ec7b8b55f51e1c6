//! What decides how far the front end comes behind an access that goes through the pipe again.

use crate::timing::access::Overlaps;

/// All that it depends on how far the front end comes behind an access, but for predictions on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Before {
    pub(super) entered: u64,
    pub(super) misses: [u64; 2],
    pub(super) overlaps: Overlaps,
    /// Those in the run so far.
    pub(super) predictions: u64,
    pub(super) at: u8,
    pub(super) translated: bool,
}

/// Entries of the table of those that were looked for last.
pub(super) const LATEST_BITS: u32 = 12;

impl Before {
    pub(super) const NONE: Before = Before {
        entered: u64::MAX,
        misses: [0; 2],
        overlaps: Overlaps::NONE,
        predictions: 0,
        at: 0,
        translated: false,
    };

    /// Where it is in that table.
    #[inline(always)]
    pub(super) fn place(&self) -> usize {
        let [first, second] = self.misses;
        let mixed = self.entered ^ self.predictions ^ u64::from(self.at) << 56;
        let others =
            (first ^ second.rotate_left(21) ^ self.overlaps.mixed()).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        ((mixed ^ others).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LATEST_BITS)) as usize
    }
}
