//! The accesses of the runs of a report that are left.

use std::slice;

use super::access::{Data, Place};
use super::memory::{Memory, Waits};
use tollgate_riscv::{LoudTouch, Several, Touch};

/// All of them, or those that are not quiet.
pub(super) enum Touches<'a> {
    All(slice::Iter<'a, Touch>),
    Loud(LoudTouches<'a>),
}

/// Those that are not quiet.
pub(super) struct LoudTouches<'a> {
    rest: slice::Iter<'a, LoudTouch>,
    /// The number of the first run that is left.
    first: usize,
    /// The number of the run in hand, and how many of its accesses came before.
    run: usize,
    before: u16,
}

impl<'a> Touches<'a> {
    pub(super) fn of(several: &Several<'a>) -> Self {
        match several.loud {
            None => Touches::All(several.accesses.iter()),
            Some(loud) => Touches::Loud(LoudTouches { rest: loud.iter(), first: 0, run: 0, before: 0 }),
        }
    }

    /// All that are left; none where only some are known.
    pub(super) fn all(&self) -> &'a [Touch] {
        match self {
            Touches::All(all) => all.as_slice(),
            Touches::Loud(_) => &[],
        }
    }

    /// The next one, of the instruction in a place; `None` if it is quiet.
    pub(super) fn next(&mut self, several: &Several, place: &Place, memory: &Memory) -> Option<Data> {
        match self {
            Touches::All(all) => all.next().map(|touch| place.data(several, touch)),
            Touches::Loud(loud) => {
                let touch = loud.next_of_run(1);
                loud.pass(1);
                touch.map(|touch| memory.loud_data(touch, place))
            }
        }
    }

    /// The run in hand is done.
    #[inline(always)]
    pub(super) fn end_run(&mut self) {
        if let Touches::Loud(loud) = self {
            loud.end_runs(1);
        }
    }
}

impl<'a> LoudTouches<'a> {
    /// The next one of the run in hand if it is among the next accesses of the run, of which there are so many.
    #[inline(always)]
    fn next_of_run(&mut self, accesses: u16) -> Option<&'a LoudTouch> {
        let next = self.rest.as_slice().first()?;
        let is_here = next.run() == self.run && next.access() < self.before + accesses;
        if is_here { self.rest.next() } else { None }
    }

    /// Its number among those accesses.
    #[inline(always)]
    fn number(&self, touch: &LoudTouch) -> usize {
        usize::from(touch.access().wrapping_sub(self.before))
    }

    /// So many accesses of the run in hand are done.
    #[inline(always)]
    fn pass(&mut self, accesses: u16) {
        self.before += accesses;
    }

    /// The run that comes so many behind the first that is left is the one in hand.
    #[inline(always)]
    pub(super) fn go_to(&mut self, at: usize) {
        (self.run, self.before) = (self.first + at, 0);
    }

    /// So many runs are done.
    #[inline(always)]
    pub(super) fn end_runs(&mut self, runs: usize) {
        self.first += runs;
        self.go_to(0);
    }

    /// Which of the runs that are left is the next one that has any.
    #[inline(always)]
    pub(super) fn runs_before(&self) -> usize {
        self.rest.as_slice().first().map_or(usize::MAX, |next| next.run().saturating_sub(self.first))
    }

    /// Does those accesses of the run in hand, and notes what waits. `places` are all accesses that come next in the run.
    #[inline(never)]
    pub(super) fn access(&mut self, memory: &mut Memory, misses: &mut Vec<(u8, Waits)>, places: &[Place]) {
        while let Some(touch) = self.next_of_run(places.len() as u16) {
            if let Some(waits) = memory.wait_for_loud(touch)
                && let Some(place) = places.get(self.number(touch))
            {
                misses.push((place.at, waits));
            }
        }
        self.pass(places.len() as u16);
    }
}
