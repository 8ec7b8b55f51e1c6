//! What is needed of blocks in a steady state.

use super::block::Block;
use super::lines::Lines;

/// Entries of a [`HotBlocks`], a power of two: the lowest bits of [`Pass::number`](crate::Pass::number) choose one.
pub(super) const HOT_BLOCKS: usize = 1 << 12;

/// Blocks by the runs that they are.
pub(super) type HotBlocks = [HotBlock; HOT_BLOCKS];

/// A copy of what is needed of a block, which is in one line of the host's cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct HotBlock {
    /// The number of a run, with the mode above it.
    pub(super) key: u64,
    /// As in [`Lines`].
    pub(super) settled: u64,
    pub(super) page: u64,
    /// Its number.
    pub(super) block: u32,
    /// Whether it has jumps, and whether all of them [settle](super::predict::Turn::settles).
    pub(super) jumps: bool,
    pub(super) settles: bool,
    /// Where the latest results are, by whether the last jump was mispredicted.
    pub(super) latest: [Remembered; 2],
}

/// Where a result is. That is known before the state is: so one run does not wait for the next one's result.
#[derive(Clone, Copy)]
pub(super) struct Remembered {
    pub(super) predictions: u64,
    pub(super) state: u32,
    pub(super) place: u32,
}

impl Remembered {
    pub(super) const NONE: Remembered = Remembered { predictions: 0, state: u32::MAX, place: 0 };
}

impl HotBlock {
    /// No block.
    pub(super) const NONE: HotBlock = HotBlock {
        key: u64::MAX,
        settled: Lines::UNSETTLED,
        page: 0,
        block: 0,
        jumps: false,
        settles: false,
        latest: [Remembered::NONE; 2],
    };

    pub(super) fn new(key: u64, number: u32, block: &Block) -> Self {
        HotBlock {
            key,
            settled: block.lines.settled,
            page: block.lines.page,
            block: number,
            jumps: !block.jumps.is_empty(),
            settles: block.settles,
            latest: [Remembered::NONE; 2],
        }
    }
}
