//! What is known of runs of instructions: the table of results.

use super::access::Overlaps;

/// What a block is done with.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// Number of the block, and of the state, above 20 bits: 1 if anything waits or overlaps, else 0.
    pub(super) entered: u64,
    pub(super) predictions: u64,
    pub(super) delays: Delays,
}

/// What waits, and which loads overlap with stores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Delays {
    pub(super) misses: [u64; 2],
    pub(super) overlaps: Overlaps,
}

impl Delays {
    pub(super) const NONE: Delays = Delays { misses: [0; 2], overlaps: Overlaps::NONE };

    /// A hash of them.
    #[inline(always)]
    pub(super) fn mixed(&self) -> u64 {
        let [first, second] = self.misses;
        (first ^ second.rotate_left(21) ^ self.overlaps.mixed()).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
    }
}

impl Wanted {
    pub(super) const NOTHING: Wanted = Wanted { entered: u64::MAX, predictions: 0, delays: Delays::NONE };

    /// A block from a state, where nothing waits.
    #[inline(always)]
    pub(super) fn new(block: usize, state: u32, predictions: u64) -> Self {
        let entered = (block as u64) << 40 | u64::from(state) << 20;
        Wanted { entered, predictions, delays: Delays::NONE }
    }

    /// The same with these delays.
    #[inline(always)]
    pub(super) fn with(self, delays: Delays) -> Self {
        Wanted { entered: self.entered | u64::from(delays != Delays::NONE), delays, ..self }
    }

    pub(super) fn block(&self) -> usize {
        (self.entered >> 40) as usize
    }

    /// What its place depends on.
    #[inline(always)]
    pub(super) fn mixed(&self) -> u64 {
        let mixed = self.entered ^ self.predictions;
        // (Most have none.)
        if self.entered & 1 == 0 { mixed } else { mixed ^ self.delays.mixed() }
    }

    /// Where it is in a table of so many entries, as a power of two.
    #[inline(always)]
    pub(super) fn place(&self, bits: u32) -> usize {
        (self.mixed().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
    }
}

impl PartialEq for Wanted {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.entered == other.entered
            && self.predictions == other.predictions
            && (self.entered & 1 == 0 || self.delays == other.delays)
    }
}

/// What a block did from a state: an entry of the table of results. (The delays are elsewhere: two entries are in a line of the host's
/// cache.)
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// As in [`Wanted`].
    pub(super) entered: u64,
    pub(super) predictions: u64,
    pub(super) next: u32,
    pub(super) cycles: u32,
    /// How often it was used since it was last charged.
    pub(super) count: u64,
}

pub(super) const UNKNOWN: Known = Known { entered: u64::MAX, predictions: 0, next: 0, cycles: 0, count: 0 };

impl Known {
    pub(super) fn block(&self) -> usize {
        (self.entered >> 40) as usize
    }

    /// Whether it is what is looked for, as far as it has that.
    #[inline(always)]
    pub(super) fn may_be(&self, wanted: &Wanted) -> bool {
        self.entered == wanted.entered && self.predictions == wanted.predictions
    }
}
