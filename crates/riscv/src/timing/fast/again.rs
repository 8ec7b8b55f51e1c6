//! Predictions of runs with accesses that go through the pipe again, so that the front end comes twice to what is behind them.

use super::Fast;
use super::before::{Before, Recent, Waited};
use crate::observer::{Pass, Several};
use crate::timing::access::Overlaps;
use crate::timing::known::Known;
use crate::timing::memory::Waits;
use crate::timing::trail::{Trail, Trails};

impl<const PIPE: bool> Fast<PIPE> {
    /// Whether an access of a run may go through the pipe again, although it misses nothing, with a jump behind it.
    #[inline(always)]
    pub(super) fn may_come_again(&mut self, number: usize, overlaps: Overlaps) -> bool {
        let block = &self.blocks[number];
        block.marked
            && (overlaps != Overlaps::NONE
                || self.misses.iter().any(|(_, waits)| waits.soils)
                || block.marked_early && self.model.core.memory.tag_update && self.is_soiled())
    }

    /// Whether the next access finds the tags taken.
    #[inline(always)]
    fn is_soiled(&mut self) -> bool {
        let state = self.number() as usize;
        self.soiled[state]
    }

    /// The front end comes to what is behind the accesses of a run that go through the pipe again. Yields the predictions of
    /// the run unless they come behind all that.
    #[inline(always)]
    pub(super) fn mark_all(
        &mut self,
        number: usize,
        overlaps: Overlaps,
        misses: Option<[u64; 2]>,
        several: &Several,
        pass: &Pass,
    ) -> Option<u64> {
        let translated = self.model.memory.fetch_walks(several.privilege);
        let entered = Known::entered(number, self.number()) | u64::from(translated);
        let waited = misses.map(|misses| Waited { entered, misses, overlaps });
        if let Some(waited) = &waited
            && self.recents[waited.place()].leave(waited, &mut self.model)
        {
            return None;
        }
        self.mark_anew(number, overlaps, waited, several, pass)
    }

    /// The same without what is known.
    #[inline(never)]
    fn mark_anew(
        &mut self,
        number: usize,
        overlaps: Overlaps,
        waited: Option<Waited>,
        several: &Several,
        pass: &Pass,
    ) -> Option<u64> {
        self.find_again(number, overlaps);
        if self.again.is_empty() {
            if let Some(waited) = waited {
                self.recents[waited.place()] = Recent::nothing(waited);
            }
            return None;
        }
        Some(self.foresee_again(number, overlaps, waited, several, pass))
    }

    /// Finds the accesses of a run that may go through the pipe again with a jump behind them.
    fn find_again(&mut self, number: usize, overlaps: Overlaps) {
        let soiled = self.blocks[number].marked_early && self.is_soiled();
        let block = &self.blocks[number];
        let misses = &self.misses;
        let waits =
            |at: u8, by: fn(&Waits) -> bool| misses.iter().any(|(other, waits)| *other == at && by(waits));
        let again = block.memory.iter().filter(|place| {
            place.turns
                && !waits(place.at, |waits| waits.walk > 0 || waits.miss > 0)
                && (soiled && place.at < 2
                    || !place.store && overlaps.of(place) != 0
                    || (1..=2).any(|back| place.at >= back && waits(place.at - back, |waits| waits.soils)))
        });
        self.again.clear();
        self.again.extend(again.map(|place| place.at));
    }

    /// The predictions of a run with accesses that may go through the pipe again, which leave marks.
    fn foresee_again(
        &mut self,
        number: usize,
        overlaps: Overlaps,
        waited: Option<Waited>,
        several: &Several,
        pass: &Pass,
    ) -> u64 {
        let entered = Known::entered(number, self.number());
        let target = || several.outside(pass.target);
        let (mut predictions, mut done) = (0_u64, 0);
        let mut recent = waited.map(|waited| (waited, Recent::begin(waited, &self.model)));
        let mut any = false;
        for access in 0..=self.again.len() {
            let at = self.again.get(access).copied();
            let jumps = &self.blocks[number].jumps;
            let upto = match at {
                Some(at) => jumps.iter().position(|jump| jump.0 > at).unwrap_or(jumps.len()),
                None => jumps.len(),
            };
            let codes = self.model.predict.foresee_all::<false>(
                &jumps[done..upto],
                at.is_none() && pass.taken(),
                target,
            );
            predictions = predictions.checked_shl(2 * (upto - done) as u32).unwrap_or(0) | codes;
            done = upto;
            if let Some(at) = at {
                let left = 2 * (jumps.len() - upto) as u32;
                let before = waited.map(|waited| waited.before(predictions, at));
                let predictions = predictions.checked_shl(left).unwrap_or(0);
                let known = Known { entered, predictions, overlaps, ..super::UNKNOWN };
                let again = self.mark(before, &known, at, several, pass);
                any |= again;
                recent = recent.filter(|_| upto == 0);
                recent = recent.and_then(|(waited, mut recent)| {
                    (!again || recent.add(&self.trail)).then_some((waited, recent))
                });
            } else if let Some((waited, recent)) = recent {
                let recent = if any { recent } else { Recent::nothing(waited) };
                self.recents[waited.place()] = recent;
            }
        }
        predictions
    }

    /// The front end comes to what is behind an access, if that goes through the pipe again; whether it does.
    fn mark(
        &mut self,
        before: Option<Before>,
        known: &Known,
        at: u8,
        several: &Several,
        pass: &Pass,
    ) -> bool {
        let mut trail = std::mem::take(&mut self.trail);
        trail.begin(&self.model.predict);
        let again = match before {
            Some(before) => {
                let number = self.number_reach(before);
                if !self.reaches[number].follow(&mut self.model, &mut trail) {
                    let again = self.find_trail(known, at, several, pass, &mut trail);
                    self.reaches[number].add(&trail, again);
                    self.note_size();
                }
                self.reaches[number].comes_again()
            }
            None => self.find_trail(known, at, several, pass, &mut trail),
        };
        self.model.leave_marks(&mut trail, again);
        self.trail = trail;
        again
    }

    /// The number of what is known about that.
    #[inline(always)]
    fn number_reach(&mut self, before: Before) -> usize {
        let (known, number) = &mut self.latest_reaches[before.place()];
        if *known != before {
            let reaches = &mut self.reaches;
            *known = before;
            *number = *self.reach_numbers.entry(before).or_insert_with(|| {
                reaches.push(Trails::UNKNOWN);
                reaches.len() - 1
            });
        }
        *number
    }

    /// Passes a run up to an access, and goes the way of the front end from there.
    #[cold]
    fn find_trail(
        &mut self,
        known: &Known,
        at: u8,
        several: &Several,
        pass: &Pass,
        trail: &mut Trail,
    ) -> bool {
        let (state, write) = (self.number(), self.write);
        let (mut again, mut left) = (false, at);
        self.replay(known, several, pass, |model, step, shape, costs| {
            let here = left == 0;
            left = left.saturating_sub(1);
            if here {
                again = model.find_trail(step, shape, costs, trail);
            }
            !here
        });
        (self.state, self.write) = (state, write);
        again
    }
}
