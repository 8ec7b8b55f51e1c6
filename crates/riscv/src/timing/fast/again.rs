//! Predictions of runs with accesses that go through the pipe again, so that the front end comes twice to what is behind them.

use super::Fast;
use super::before::Before;
use crate::observer::{Pass, Several};
use crate::timing::access::Overlaps;
use crate::timing::known::Known;
use crate::timing::trail::{Trail, Trails};

impl<const PIPE: bool> Fast<PIPE> {
    /// Finds the accesses of a run that may go through the pipe again with a jump behind them.
    #[inline(always)]
    pub(super) fn find_again(&mut self, number: usize, overlaps: Overlaps) -> bool {
        let block = &self.blocks[number];
        if !block.marked || self.misses.is_empty() && overlaps == Overlaps::NONE && !block.marked_early {
            return false;
        }
        self.find_again_in(number, overlaps)
    }

    #[inline(never)]
    fn find_again_in(&mut self, number: usize, overlaps: Overlaps) -> bool {
        self.number();
        let block = &self.blocks[number];
        let soiled = block.marked_early && self.states[self.state as usize].is_soiled();
        let misses = &self.misses;
        let again = block.memory.iter().filter(|place| {
            let waits = |at: u8, by: fn(&crate::timing::memory::Waits) -> bool| {
                misses.iter().any(|(other, waits)| *other == at && by(waits))
            };
            place.turns
                && (soiled && place.at < 2
                    || !place.store && overlaps.of(place) != 0
                    || waits(place.at, |waits| waits.walk > 0 || waits.miss > 0)
                    || (1..=2).any(|back| place.at >= back && waits(place.at - back, |waits| waits.soils)))
        });
        self.again.clear();
        self.again.extend(again.map(|place| place.at));
        !self.again.is_empty()
    }

    /// The predictions of a run with accesses that may go through the pipe again, which leave marks.
    #[inline(never)]
    pub(super) fn foresee_again(
        &mut self,
        number: usize,
        overlaps: Overlaps,
        misses: Option<[u64; 2]>,
        several: &Several,
        pass: &Pass,
    ) -> u64 {
        let entered = Known::entered(number, self.number());
        let translated = self.model.memory.fetch_walks(several.privilege);
        let target = || several.outside(pass.target);
        let (mut predictions, mut done) = (0_u64, 0);
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
                let before = Before { entered, misses: [0; 2], overlaps, predictions, at, translated };
                let before = misses.map(|misses| Before { misses, ..before });
                let predictions = predictions.checked_shl(left).unwrap_or(0);
                let known = Known { entered, predictions, overlaps, ..super::UNKNOWN };
                self.mark(before, &known, at, several, pass);
            }
        }
        predictions
    }

    /// The front end comes to what is behind an access, if that goes through the pipe again.
    fn mark(&mut self, before: Option<Before>, known: &Known, at: u8, several: &Several, pass: &Pass) {
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
