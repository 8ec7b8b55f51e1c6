//! Prediction from plain tables: a counter for each branch, and a place for each target.

use super::{OTHER, Predict, Predictor, RIGHT, Turn, Turning, WRONG};

impl Predict {
    /// Whether a table has each target by its address, and no history is kept.
    pub(in crate::timing) fn is_plain(&self) -> bool {
        self.targets.is_none() && self.history.is_none()
    }

    /// [`foresee_all`](Self::foresee_all) of a predictor that is plain.
    #[inline(always)]
    pub(in crate::timing) fn foresee_plainly(
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
                false => self.jump(turn, *next),
            };
            codes = codes << 2 | code;
        }
        let code = match last.kind {
            _ if last.branches => self.branch_plainly(last, *next, leaves),
            Turning::Indirect { .. } => self.jump(last, target()),
            _ => self.jump(last, *next),
        };
        codes << 2 | code
    }

    #[inline(always)]
    fn branch_plainly(&mut self, turn: &Turn, next: u64, taken: bool) -> u64 {
        let right = match self.counters.get_mut(turn.entry as usize) {
            Some(counter) => {
                let before = *counter;
                // The counter after 0, 1, 2 and 3, in two bits each.
                let after = if taken { 0b11_11_10_01_u8 } else { 0b10_01_00_00 };
                *counter = after >> (2 * before) & 3;
                (before >= 2) == taken
            }
            None => {
                let backward = matches!(turn.kind, Turning::Branch { backward: true });
                (backward && self.predictor == Predictor::BackwardTaken) == taken
            }
        };
        let known = !taken || self.target(turn, next, false, !right);
        if !right {
            self.mispredicts += 1;
            return WRONG;
        }
        if known { RIGHT } else { OTHER }
    }
}

impl Turn {
    /// Whether, once it was predicted right by a plain predictor, doing the same again changes nothing there: its counter has gone as
    /// far as it goes, and its target is known. Calls and returns change the return stack.
    pub(in crate::timing) fn settles(&self) -> bool {
        matches!(self.kind, Turning::Branch { .. } | Turning::Jump { pushes: false })
    }
}
