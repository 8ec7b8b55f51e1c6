//! Prediction from plain tables: a counter for each branch, and a place for each target.

use super::{OTHER, Predict, Predictor, RIGHT, Turn, Turning, WRONG};

impl Predict {
    /// Whether a table has each target by its address, and no history is kept.
    pub(crate) fn is_plain(&self) -> bool {
        self.targets.is_none() && self.history.is_none()
    }

    /// [`foresee_all`](Self::foresee_all) of a predictor that is plain.
    #[inline(always)]
    pub(crate) fn foresee_plainly(
        &mut self,
        turns: &[(u8, Turn, u64)],
        leaves: bool,
        target: impl Fn() -> u64,
    ) -> u64 {
        let Some(((_, last, next), before)) = turns.split_last() else { return 0 };
        let mut codes = 0;
        for (_, turn, next) in before {
            let code = match turn.branches {
                true => self.branch_plainly(turn, *next, false),
                false => self.jump_plainly(turn, *next),
            };
            codes = codes << 2 | code;
        }
        let code = match last.kind {
            _ if last.branches => self.branch_plainly(last, *next, leaves),
            Turning::Indirect { .. } => self.jump_plainly(last, target()),
            _ => self.jump_plainly(last, *next),
        };
        codes << 2 | code
    }

    #[inline(always)]
    fn branch_plainly(&mut self, turn: &Turn, next: u64, taken: bool) -> u64 {
        let wrong = match self.counters.get_mut(turn.entry as usize) {
            Some(counter) => {
                let before = *counter;
                // The counter after 0, 1, 2 and 3, in two bits each.
                let after = if taken { 0b11_11_10_01_u8 } else { 0b10_01_00_00 };
                *counter = after >> (2 * before) & 3;
                (before >= 2) != taken
            }
            None => {
                let backward = matches!(turn.kind, Turning::Branch { backward: true });
                (backward && self.predictor == Predictor::BackwardTaken) != taken
            }
        };
        let known = !taken || self.finds(turn, next);
        // (The host would often mispredict a branch here.)
        let wrong = u64::from(wrong);
        self.mispredicts += wrong;
        let right = if known { RIGHT } else { OTHER };
        (wrong * WRONG) | ((1 - wrong) * right)
    }

    /// The same of a jump that is not a branch.
    #[inline]
    fn jump_plainly(&mut self, turn: &Turn, next: u64) -> u64 {
        let (pops, pushes) = match turn.kind {
            Turning::Branch { .. } => (false, false),
            Turning::Jump { pushes } => (false, pushes),
            Turning::Indirect { pops, pushes } => (pops && self.depth > 0, pushes),
        };
        let popped = if pops { self.returns.pop() } else { None };
        if pushes {
            self.push(turn.sequential);
        }
        let right = if pops { popped == Some(next) } else { self.finds(turn, next) };
        self.mispredicts += u64::from(!right && matches!(turn.kind, Turning::Indirect { .. }));
        if right { RIGHT } else { OTHER }
    }

    /// Whether the place of a turn has this target; afterwards it does.
    #[inline(always)]
    fn finds(&mut self, turn: &Turn, target: u64) -> bool {
        let place = self.btb.get_mut((turn.pc >> 1) as usize & self.btb_mask);
        place.is_some_and(|place| std::mem::replace(place, (turn.pc, target)) == (turn.pc, target))
    }
}

impl Turn {
    /// Whether, once it was predicted right by a plain predictor, doing the same again changes nothing there: its counter has gone as
    /// far as it goes, and its target is known. Calls and returns change the return stack.
    pub(crate) fn settles(&self) -> bool {
        matches!(self.kind, Turning::Branch { .. } | Turning::Jump { pushes: false })
    }
}
