//! The way of the fetch on a wrong path: what it has looked up there, so that it is known when it goes there again.

use super::memory::Memory;
use super::predict::{Guess, Predict, Turn};
use super::seen::Seen;

/// What the front end looks up on its way.
#[derive(Clone, Copy, Debug)]
enum Look {
    /// A branch or jump, where it goes if it is a branch or `jal`, and where the fetch goes on.
    Turn(Turn, u64, Guess),
    /// A word without space, and in which halves the end of a known jump would be misread: none is.
    Word(u64, [bool; 2]),
}

/// A way of the fetch.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    /// Whether anything is noted.
    pub(super) keeps: bool,
    /// Whether something else has changed there than what the front end has seen.
    pub(super) changes: bool,
    /// Whether there was a branch or jump.
    pub(super) turns: bool,
    looks: Vec<Look>,
    /// An address in each line, and whether the last one was missed; at which [`Memory::fills`] that was so.
    lines: Vec<u64>,
    missed: bool,
    fills: u64,
}

impl Trail {
    /// Begins anew.
    pub(super) fn begin(&mut self, memory: &Memory) {
        (self.keeps, self.changes, self.turns) = (true, false, false);
        (self.missed, self.fills) = (false, memory.fills);
        self.looks.clear();
        self.lines.clear();
    }

    /// The fetch comes to a branch or jump.
    pub(super) fn guess(&mut self, predict: &Predict, turn: &Turn, target: u64, seen: &mut Seen) -> Guess {
        let guess = predict.guess(turn, target, seen);
        self.turns = true;
        if self.keeps {
            self.looks.push(Look::Turn(*turn, target, guess));
        }
        guess
    }

    /// The fetch looks up a word without space: if that is [misread](Predict::misreads), it is lost.
    pub(super) fn word(&mut self, predict: &mut Predict, word: u64, halves: [bool; 2], seen: &mut Seen) {
        if predict.misreads(word, halves) {
            seen.lose();
            self.changes = true;
        } else if self.keeps {
            self.looks.push(Look::Word(word, halves));
        }
    }

    /// The fetch finds a line, or misses it; then it is filled, or the way ends.
    pub(super) fn line(&mut self, pa: u64, there: bool, fills: bool) {
        self.changes |= !there && fills;
        self.missed |= !there;
        if self.keeps {
            self.lines.push(pa);
        }
    }

    /// Whether the way is always the same, and changes nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.looks.is_empty() && !self.changes && !self.missed
    }

    /// Whether the fetch would go the same way again. If so, it has seen the calls and returns there.
    pub(super) fn follow(&mut self, memory: &Memory, predict: &Predict, seen: &mut Seen) -> bool {
        if self.fills != memory.fills {
            let found = self.lines.len() - usize::from(self.missed);
            let same = |(i, &pa): (usize, &u64)| memory.has_instructions(pa) == (i < found);
            if !self.lines.iter().enumerate().all(same) {
                return false;
            }
            self.fills = memory.fills;
        }
        self.looks.iter().all(|look| match look {
            Look::Turn(turn, target, guess) => predict.guess(turn, *target, seen) == *guess,
            Look::Word(word, halves) => !predict.would_misread(*word, *halves),
        })
    }
}
