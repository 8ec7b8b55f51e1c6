//! What is known of a run of instructions: an entry of the table of results.

use super::access::Overlaps;

/// What a block did from a state.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// Number of the block, and of the state, above 20 bits of zero.
    pub(super) entered: u64,
    pub(super) predictions: u64,
    pub(super) misses: [u64; 2],
    pub(super) overlaps: Overlaps,
    pub(super) next: u32,
    pub(super) cycles: u32,
    /// How often it was used since it was last charged.
    pub(super) count: u64,
}

pub(super) const UNKNOWN: Known = Known {
    entered: u64::MAX,
    predictions: 0,
    misses: [0; 2],
    overlaps: Overlaps::NONE,
    next: 0,
    cycles: 0,
    count: 0,
};

impl Known {
    #[inline(always)]
    pub(super) fn entered(block: usize, state: u32) -> u64 {
        (block as u64) << 40 | u64::from(state) << 20
    }

    pub(super) fn block(&self) -> usize {
        (self.entered >> 40) as usize
    }

    /// What its place depends on.
    #[inline(always)]
    pub(super) fn mixed(&self) -> u64 {
        let [first, second] = self.misses;
        let others = first ^ second.rotate_left(21) ^ self.overlaps.mixed();
        self.entered ^ self.predictions ^ others.wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
    }

    /// Where that is in a table of so many entries, as a power of two.
    #[inline(always)]
    pub(super) fn place(mixed: u64, bits: u32) -> usize {
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
    }

    /// Whether it is what is looked for.
    #[inline(always)]
    pub(super) fn is(&self, wanted: &Known) -> bool {
        self.entered == wanted.entered
            && self.predictions == wanted.predictions
            && self.misses == wanted.misses
            && self.overlaps == wanted.overlaps
    }
}
