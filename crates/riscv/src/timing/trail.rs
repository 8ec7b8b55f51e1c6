//! The way of the front end through code that is not executed, and what is known of such ways.

use super::predict::{Guess, Passed, Predict, Seen, Turn};
use super::timed::Model;

/// What the front end looks up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Look {
    /// A branch or jump, and where it goes if it is a branch or `jal`.
    Turn(Turn, u64),
    /// A word without space, and in which halves the end of a known jump would be a misread.
    Word(u64, [bool; 2]),
}

/// The way of the front end through code that is not executed.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    pub(super) seen: Seen,
    /// The result of each look, and how many of them are known before they are done.
    guesses: Vec<Guess>,
    /// What that found, and whether nothing else leaves a mark.
    pub(super) way: Vec<Passed>,
    pub(super) plain: bool,
    known: usize,
    done: usize,
    /// The looks themselves, and which lines were looked for in the instruction cache, if they are kept.
    keeps: bool,
    looks: Vec<Look>,
    lines: Vec<(u64, bool)>,
}

impl Trail {
    /// With what the front end has seen so far.
    pub(super) fn new(seen: Seen) -> Self {
        Trail { seen, ..Trail::default() }
    }

    /// The same without further memory.
    pub(super) fn begin(&mut self, predict: &Predict) {
        predict.see(&mut self.seen);
        self.guesses.clear();
        self.way.clear();
        self.plain = !self.seen.is_lost();
        self.restart(false);
    }

    /// Begins anew, up to here with the same guesses.
    pub(super) fn restart(&mut self, keeps: bool) {
        (self.known, self.done, self.keeps) = (self.guesses.len(), 0, keeps);
        self.looks.clear();
        self.lines.clear();
    }

    /// Looks something up, unless that was done before.
    pub(super) fn look(&mut self, predict: &mut Predict, look: Look) -> Guess {
        if self.keeps {
            self.looks.push(look);
        }
        self.done += 1;
        if self.done <= self.known {
            return self.guesses[self.done - 1];
        }
        self.look_anew(predict, look)
    }

    #[inline(always)]
    fn look_anew(&mut self, predict: &mut Predict, look: Look) -> Guess {
        let guess = match look {
            Look::Turn(turn, target) => {
                let guess = predict.guess(&turn, target, &mut self.seen);
                let passed = Passed::turn(&turn, guess);
                self.plain &= passed.is_some();
                self.way.extend(passed);
                guess
            }
            Look::Word(word, halves) => {
                if predict.misreads(word, halves) {
                    self.seen.lose();
                    self.plain = false;
                }
                self.way.push(Passed::word(word, halves));
                Guess::Sequential
            }
        };
        self.guesses.push(guess);
        guess
    }

    /// It depends on whether a line is there.
    pub(super) fn line(&mut self, pa: u64, there: bool) {
        if self.keeps && self.lines.last() != Some(&(pa, there)) {
            self.lines.push((pa, there));
        }
    }
}

/// What comes behind a look.
const UNSEEN: u32 = u32::MAX;
const END: u32 = u32::MAX - 1;

/// The ways of the front end behind one access of a run of instructions, from one state of the pipe: each look, and where it goes
/// on by the result of that.
#[derive(Clone, Debug)]
pub(super) struct Trails {
    /// Whether the access goes through the pipe again at all.
    again: bool,
    first: u32,
    looks: Vec<(Look, Vec<(Guess, u32)>)>,
    /// The lines that this depends on, and at which [`Memory::fills`](super::memory::Memory::fills) they were as noted here.
    lines: Vec<(u64, bool)>,
    fills: u64,
}

impl Trails {
    pub(super) const UNKNOWN: Trails =
        Trails { again: false, first: UNSEEN, looks: Vec::new(), lines: Vec::new(), fills: 0 };

    /// Forgets everything if other lines are there than before.
    fn keep_up(&mut self, model: &Model) {
        let fills = model.memory.fills;
        if self.fills != fills {
            if !self.lines.iter().all(|&(pa, there)| model.memory.has_instructions(pa) == there) {
                *self = Trails::UNKNOWN;
            }
            self.fills = fills;
        }
    }

    /// Goes the way of the front end; whether it is known to its end.
    pub(super) fn follow(&mut self, model: &mut Model, trail: &mut Trail) -> bool {
        self.keep_up(model);
        let mut next = self.first;
        while let Some((look, ways)) = self.looks.get(next as usize) {
            let guess = trail.look_anew(&mut model.predict, *look);
            next = ways.iter().find(|way| way.0 == guess).map_or(UNSEEN, |way| way.1);
        }
        next == END
    }

    /// Adds a way that was gone to its end.
    pub(super) fn add(&mut self, trail: &Trail, again: bool) {
        self.again = again;
        for line in &trail.lines {
            if !self.lines.contains(line) {
                self.lines.push(*line);
            }
        }
        // The look and the guess from which it goes on.
        let mut from: Option<(u32, Guess)> = None;
        for (look, &guess) in trail.looks.iter().zip(&trail.guesses) {
            let next = self.next(from);
            let at = if next == UNSEEN { self.looks.len() as u32 } else { next };
            if next == UNSEEN {
                self.looks.push((*look, Vec::new()));
                self.set(from, at);
            }
            from = Some((at, guess));
        }
        self.set(from, END);
    }

    fn next(&self, from: Option<(u32, Guess)>) -> u32 {
        let Some((at, guess)) = from else { return self.first };
        let ways = self.looks.get(at as usize).map_or(&[][..], |look| &look.1);
        ways.iter().find(|way| way.0 == guess).map_or(UNSEEN, |way| way.1)
    }

    fn set(&mut self, from: Option<(u32, Guess)>, next: u32) {
        let Some((at, guess)) = from else {
            self.first = next;
            return;
        };
        if let Some((_, ways)) = self.looks.get_mut(at as usize) {
            ways.retain(|way| way.0 != guess);
            ways.push((guess, next));
        }
    }

    /// Whether the access goes through the pipe again.
    pub(super) fn comes_again(&self) -> bool {
        self.again
    }
}

#[cfg(test)]
mod tests {
    use super::{Guess, Look, Trail, Trails};
    use crate::timing::Core;
    use crate::timing::timed::Model;

    #[test]
    fn a_way_is_known_from_the_second_time_on_until_lines_change() {
        let core = "base = 'rocket'\nl1i.geometry = '4:2:16'";
        let mut model = Model::new(&Core::from_toml(core).unwrap()).unwrap();
        let words = [0x100, 0x104].map(|word| Look::Word(word, [true; 2]));
        let mut reach = Trails::UNKNOWN;
        let mut trail = Trail::default();
        let mut go = |model: &mut Model, words: &[Look], here: bool| {
            trail.begin(&model.predict);
            let known = reach.follow(model, &mut trail);
            if !known {
                // What was looked up is not looked up again.
                let looked = trail.guesses.len();
                trail.restart(true);
                for &word in words {
                    assert_eq!(trail.look(&mut model.predict, word), Guess::Sequential);
                }
                trail.line(0x200, here);
                assert!(trail.guesses.len() == words.len() && looked <= words.len());
                reach.add(&trail, true);
            }
            known && reach.comes_again()
        };
        assert!(!go(&mut model, &words, false));
        assert!(go(&mut model, &words, false));
        // Another line is filled, then the one that it depends on.
        model.memory.fetch(0x300, 0x300, 4, crate::Privilege::Machine);
        assert!(go(&mut model, &words, false));
        model.memory.fetch(0x210, 0x210, 4, crate::Privilege::Machine);
        model.memory.fetch(0x200, 0x200, 4, crate::Privilege::Machine);
        assert!(!go(&mut model, &words[..1], true));
        assert!(go(&mut model, &words, true));
    }
}
