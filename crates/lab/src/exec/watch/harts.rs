//! Several harts, which take turns: each has a task of its own, whose calls continue when it is its turn again, and a core of its
//! own.

use std::mem::swap;

use tollgate_cores::Timed;

use super::Watch;

/// A hart's share of the bill.
pub(in crate::exec) struct Share<'a> {
    /// Instructions of each key; keys of other harts may be missing at the end.
    pub(in crate::exec) instructions: &'a [u64],
    pub(in crate::exec) clock: Option<&'a Timed<(), ()>>,
}

impl Watch {
    /// Switches to another hart: the next events are on it.
    pub(super) fn turn(&mut self, hart: usize) {
        if hart == self.hart {
            return;
        }
        self.exchange(self.hart);
        self.exchange(hart);
        self.hart = hart;
        self.set_context();
    }

    /// Exchanges what runs with what is parked at a place.
    fn exchange(&mut self, hart: usize) {
        let parked = &mut self.parked[hart];
        swap(&mut self.now, &mut parked.now);
        swap(&mut self.next, &mut parked.next);
        swap(&mut self.alone, &mut parked.alone);
        swap(&mut self.returns_to, &mut parked.returns_to);
        swap(&mut self.last, &mut parked.last);
        swap(&mut self.epoch, &mut parked.epoch);
        swap(&mut self.runs, &mut parked.runs);
        swap(&mut self.parts, &mut parked.parts);
        swap(&mut self.instructions, &mut parked.instructions);
        swap(&mut self.clock, &mut parked.clock);
        swap(&mut self.at, &mut parked.at);
        swap(&mut self.owner, &mut parked.owner);
    }

    /// The shares of all harts, by their numbers.
    pub(in crate::exec) fn shares(&self) -> impl Iterator<Item = Share<'_>> {
        self.parked.iter().enumerate().map(|(hart, parked)| {
            let (instructions, clock) = match hart == self.hart {
                true => (&self.instructions, &self.clock),
                false => (&parked.instructions, &parked.clock),
            };
            Share { instructions, clock: clock.as_ref() }
        })
    }

    /// Cycles on the cores of all harts so far.
    pub(in crate::exec) fn cycles(&self) -> Option<u64> {
        self.clock.as_ref()?;
        Some(self.shares().filter_map(|share| share.clock).map(Timed::cycles).sum())
    }

    /// Lines that the first-level caches of the cores missed: of instructions and of data.
    pub(in crate::exec) fn misses(&self) -> Option<[u64; 2]> {
        self.clock.as_ref()?;
        let counts = self.shares().filter_map(|share| share.clock).map(|clock| clock.counts().memory);
        Some(counts.fold([0; 2], |[code, data], of| [code + of.l1i_misses, data + of.l1d_misses]))
    }
}
