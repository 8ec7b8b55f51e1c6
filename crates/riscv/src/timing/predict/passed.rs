//! What the front end has seen on a way through code that is not executed, and what of that stays.

use super::{Guess, Predict, Seen, Turn, Turning};
use crate::timing::history::History;

/// A place that the front end passed, and what it found there.
#[derive(Clone, Copy, Debug)]
pub(in crate::timing) struct Passed {
    /// The address of the last half of a jump, or of a word.
    pc: u64,
    /// The entry of a branch.
    entry: u32,
    /// Whether a branch was predicted taken, and whether the target was known. Of a word, in which halves the end of a known
    /// jump would be a misread.
    found: [bool; 2],
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Branch,
    Jump,
    Word,
}

impl Passed {
    pub(in crate::timing) const NOTHING: Passed =
        Passed { pc: 0, entry: 0, found: [false; 2], kind: Kind::Word };

    /// A branch or jump, if it leaves no mark but in the history.
    pub(in crate::timing) fn turn(turn: &Turn, guess: Guess) -> Option<Self> {
        let kind = match turn.kind {
            Turning::Branch { .. } => Kind::Branch,
            Turning::Jump { pushes: false } => Kind::Jump,
            Turning::Jump { .. } | Turning::Indirect { .. } => return None,
        };
        let taken = guess != Guess::Sequential;
        let known = matches!(guess, Guess::To { known: true, .. });
        Some(Passed { pc: turn.last(), entry: turn.entry, found: [taken, known], kind })
    }

    /// A word without space that was not misread.
    pub(in crate::timing) fn word(pc: u64, halves: [bool; 2]) -> Self {
        Passed { pc, entry: 0, found: halves, kind: Kind::Word }
    }
}

impl Predict {
    /// What the front end has seen of calls and branches, before a redirection because it has `mispredicted`, or another one.
    pub(in crate::timing) fn seen(&self, mispredicted: bool) -> Seen {
        Seen {
            returns: self.returns.clone(),
            latest: self.history.as_ref().map_or(0, History::latest),
            wrong: self.wrong && !mispredicted,
        }
    }

    /// What the front end has seen of calls and branches, before something comes again.
    pub(in crate::timing) fn see(&self, seen: &mut Seen) {
        seen.returns.clone_from(&self.returns);
        seen.latest = self.history.as_ref().map_or(0, History::latest);
        seen.wrong = self.wrong;
    }

    /// What the front end has seen on its way stays.
    pub(in crate::timing) fn keep(&mut self, seen: &mut Seen) {
        std::mem::swap(&mut self.returns, &mut seen.returns);
        let over = self.returns.len().saturating_sub(self.depth);
        if over > 0 {
            self.returns.drain(..over);
        }
        if let Some(history) = &mut self.history {
            history.keep(seen.latest);
        }
    }

    /// If the front end passes these places and finds there what it found before, what it has seen there stays; whether it does.
    #[inline(always)]
    pub(in crate::timing) fn keep_way(&mut self, way: &[Passed]) -> bool {
        let (Some(history), Some(targets)) = (&mut self.history, &self.targets) else { return false };
        if self.wrong {
            return false;
        }
        let mut latest = history.latest();
        for passed in way {
            let [first, second] = passed.found;
            let same = match passed.kind {
                Kind::Branch => {
                    history.guess(passed.entry, &mut latest) == first
                        && (!first || targets.find(passed.pc).is_some() == second)
                }
                Kind::Jump => targets.find(passed.pc).is_some() == second,
                Kind::Word => {
                    targets.half(passed.pc).is_none_or(|upper| if upper { !second } else { !first })
                }
            };
            if !same {
                return false;
            }
        }
        history.keep(latest);
        true
    }
}
