//! What decides how far the front end comes behind an access that goes through the pipe again, and the ways that it went last.

use crate::timing::access::Overlaps;
use crate::timing::predict::Passed;
use crate::timing::timed::Model;
use crate::timing::trail::Trail;

/// All that it depends on how far the front end comes behind an access, but for predictions on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Before {
    pub(super) entered: u64,
    pub(super) misses: [u64; 2],
    pub(super) overlaps: Overlaps,
    /// Those in the run so far.
    pub(super) predictions: u64,
    /// Which access.
    pub(super) at: u8,
}

/// Entries of the tables of those that were looked for last.
pub(super) const LATEST_BITS: u32 = 12;
pub(super) const RECENT_BITS: u32 = 10;

impl Before {
    pub(super) const NONE: Before =
        Before { entered: u64::MAX, misses: [0; 2], overlaps: Overlaps::NONE, predictions: 0, at: 0 };

    /// Where it is in the table.
    #[inline(always)]
    pub(super) fn place(&self) -> usize {
        let [first, second] = self.misses;
        let mixed = self.entered ^ self.predictions ^ u64::from(self.at) << 56;
        let others =
            (first ^ second.rotate_left(21) ^ self.overlaps.mixed()).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        ((mixed ^ others).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LATEST_BITS)) as usize
    }
}

/// The most places on a way that is kept.
const MOST: usize = 6;

/// What decides it behind which accesses of a run the front end comes to something: the same for all of them, but for the
/// predictions in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waited {
    /// As in [`Known::entered`](crate::timing::known::Known::entered), with the lowest bit set if fetches are translated.
    pub(super) entered: u64,
    pub(super) misses: [u64; 2],
    pub(super) overlaps: Overlaps,
}

impl Waited {
    const NONE: Waited = Waited { entered: u64::MAX, misses: [0; 2], overlaps: Overlaps::NONE };

    /// Where it is in the table.
    #[inline(always)]
    pub(super) fn place(&self) -> usize {
        let mixed = self.entered ^ self.misses[0].rotate_left(13) ^ self.overlaps.mixed();
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - RECENT_BITS)) as usize
    }

    /// The same for one access, with the predictions before it.
    pub(super) fn before(&self, predictions: u64, at: u8) -> Before {
        let Waited { entered, misses, overlaps } = *self;
        Before { entered, misses, overlaps, predictions, at }
    }
}

/// The way that the front end went last behind the accesses of a run that go through the pipe again, if there are branches and
/// jumps only on it that leave their marks in the history.
#[derive(Clone, Copy)]
pub(super) struct Recent {
    waited: Waited,
    /// At which [`Memory::fills`](crate::timing::memory::Memory::fills) it went there.
    fills: u64,
    /// How many places there are on it; `None` if no access goes through the pipe again.
    len: Option<u8>,
    way: [Passed; MOST],
}

impl Recent {
    pub(super) const NONE: Recent =
        Recent { waited: Waited::NONE, fills: 0, len: None, way: [Passed::NOTHING; MOST] };

    /// No access goes through the pipe again.
    pub(super) fn nothing(waited: Waited) -> Self {
        Recent { waited, ..Self::NONE }
    }

    /// The same with accesses that do.
    pub(super) fn begin(waited: Waited, model: &Model) -> Self {
        Recent { waited, fills: model.memory.fills, len: Some(0), ..Self::NONE }
    }

    /// Adds the way behind one; whether it fits.
    pub(super) fn add(&mut self, trail: &Trail) -> bool {
        let Some(len) = &mut self.len else { return false };
        for &passed in &trail.way {
            let Some(place) = self.way.get_mut(usize::from(*len)) else { return false };
            (*place, *len) = (passed, *len + 1);
        }
        trail.plain
    }

    /// Leaves the marks of this way, if the front end goes it now; whether it does.
    #[inline(always)]
    pub(super) fn leave(&self, waited: &Waited, model: &mut Model) -> bool {
        if self.waited != *waited {
            return false;
        }
        let Some(len) = self.len else { return true };
        self.fills == model.memory.fills
            && model.predict.keep_way(self.way.get(..usize::from(len)).unwrap_or_default())
    }
}
