//! Branch prediction: directions from the history of the latest branches, a target buffer that compares all its entries, a return
//! stack. The front end works with it alone, also on wrong paths, whose calls and returns nobody takes back.

use tollgate_riscv::{Class, Insn};

use super::history::{History, Targets};
use crate::keys::Branches;

/// No instruction has this address.
const NOWHERE: u64 = 1;

/// Where an instruction may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jump {
    None,
    Branch,
    Direct { call: bool },
    Indirect { returns: bool, call: bool },
}

impl Jump {
    pub(super) fn of(insn: &Insn) -> Self {
        // rtl: jump.coroutine: a destination with an odd number makes it a call, an even one may return.
        let call = insn.rd & 1 == 1;
        match insn.row().class {
            Class::Branch => Jump::Branch,
            Class::Jump => Jump::Direct { call },
            Class::JumpReg => Jump::Indirect { returns: !call && matches!(insn.rs1, 1 | 5), call },
            _ => Jump::None,
        }
    }
}

/// A branch or jump at an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) jump: Jump,
    pub(super) pc: u64,
    /// The address behind it.
    pub(super) sequential: u64,
    /// Whether its fetch may enter its word in the middle.
    half: bool,
}

impl Turn {
    pub(super) fn new(jump: Jump, pc: u64, len: u8) -> Self {
        Turn { jump, pc, sequential: pc.wrapping_add(len.into()), half: pc & 2 != 0 && len == 2 }
    }

    /// The address of its last two bytes.
    fn last(&self) -> u64 {
        self.sequential.wrapping_sub(2)
    }
}

/// How a prediction came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Right,
    /// The front end found out in IF where the fetch goes on.
    Late,
    /// The back end found out in EX.
    Wrong,
}

/// Where the fetch goes behind a branch or jump that is not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guess {
    Sequential,
    /// To a target, which the target buffer knew.
    To {
        target: u64,
        known: bool,
    },
    /// On in sequence, because nothing is known about the target.
    Unknown,
}

/// Branches on a path that the front end may be on by mistake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    /// The outcomes of the latest branches.
    pub(super) latest: u8,
    /// Knows that it is on a wrong path: nothing leaves a mark there.
    pub(super) wrong: bool,
}

/// The predictor.
#[derive(Clone, Debug)]
pub(super) struct Predictor {
    history: History,
    targets: Targets,
    returns: Vec<u64>,
    depth: usize,
    entries: u32,
    /// Where the front end was sent last, by a jump or a redirection.
    pub(super) landed: u64,
    /// Where the last indirect jump was predicted to go, if anything was known of it, and whether the front end found that out only
    /// after it had gone on in sequence.
    pub(super) predicted: Option<(u64, bool)>,
    /// Whether the front end knows that it is on a wrong path, because it went on in sequence behind a jump of whose target
    /// it knew nothing. Until it is redirected nothing leaves a mark.
    wrong: bool,
    /// Where the last call went.
    called: u64,
    pub(super) mispredicts: u64,
}

impl Predictor {
    pub(super) fn new(keys: &Branches) -> Self {
        Predictor {
            history: History::new(keys.counters),
            targets: Targets::new(keys.btb),
            returns: Vec::new(),
            depth: keys.return_stack as usize,
            entries: keys.counters,
            landed: NOWHERE,
            predicted: None,
            wrong: false,
            called: NOWHERE,
            mispredicts: 0,
        }
    }

    /// A branch or jump went to `next`, a branch because it was `taken`. The predictor learns.
    #[inline(always)]
    pub(super) fn resolve(&mut self, turn: &Turn, next: u64, taken: bool) -> Outcome {
        match turn.jump {
            Jump::Branch => self.branch(turn, next, taken),
            _ => self.jump(turn, next),
        }
    }

    #[inline(always)]
    fn branch(&mut self, turn: &Turn, next: u64, taken: bool) -> Outcome {
        let middle = self.enters(turn, if taken { next } else { NOWHERE });
        let entry = History::entry(self.entries, turn.sequential);
        let right = self.history.branch(turn.pc, entry, next, taken, self.wrong);
        let known = !taken || self.target(turn, next, middle, !right);
        if !right {
            self.mispredicts += 1;
            self.redirected();
            self.landed = if taken { next } else { turn.sequential };
            return Outcome::Wrong;
        }
        if known { Outcome::Right } else { Outcome::Late }
    }

    /// Whether the fetch enters the word of a turn in the middle: the target buffer finds nothing then. The next instruction is
    /// entered at `next`, if not in sequence.
    #[inline(always)]
    fn enters(&mut self, turn: &Turn, next: u64) -> bool {
        std::mem::replace(&mut self.landed, next) == turn.pc && turn.half
    }

    #[inline(never)]
    fn jump(&mut self, turn: &Turn, next: u64) -> Outcome {
        let middle = self.enters(turn, next);
        match turn.jump {
            Jump::None | Jump::Branch => Outcome::Right,
            Jump::Direct { call } => {
                if call && !self.wrong {
                    self.call(turn.sequential, next);
                }
                if self.target(turn, next, middle, false) { Outcome::Right } else { Outcome::Late }
            }
            Jump::Indirect { returns, call } => self.indirect(turn, returns, call, next, middle),
        }
    }

    /// The target buffer also knows what is a return; the front end looks for those that it does not contain.
    fn indirect(&mut self, turn: &Turn, returns: bool, call: bool, next: u64, middle: bool) -> Outcome {
        let known = self.targets.know(turn.last()).filter(|_| !middle);
        // The fetch directly behind a call does not see what that has pushed.
        let stale = self.called == turn.pc;
        let top = self.returns.last().copied();
        if returns && !self.wrong {
            self.returns.pop();
        }
        let top = if stale && known.is_some() { self.returns.last().copied() } else { top };
        if call && !self.wrong {
            self.call(turn.sequential, next);
        }
        let predicted = if returns { top.or(known) } else { known };
        self.predicted = predicted.map(|target| (target, known.is_none()));
        let outcome = match (predicted, known) {
            (Some(predicted), Some(_)) if predicted == next => Outcome::Right,
            (Some(predicted), None) if predicted == next => Outcome::Late,
            // Nothing is known of its target, but it goes where the fetch goes on.
            (None, _) if next == behind_unknown(turn.sequential) => {
                self.wrong = true;
                return Outcome::Late;
            }
            _ => Outcome::Wrong,
        };
        if known != Some(next) && (outcome == Outcome::Wrong || !self.wrong) {
            self.targets.learn(turn.last(), next);
        }
        if outcome == Outcome::Wrong {
            self.mispredicts += 1;
            self.redirected();
        }
        outcome
    }

    fn call(&mut self, address: u64, target: u64) {
        self.returns.push(address);
        self.forget_oldest_returns();
        self.called = target;
    }

    fn forget_oldest_returns(&mut self) {
        let over = self.returns.len().saturating_sub(self.depth);
        self.returns.drain(..over);
    }

    /// Whether the target buffer has this target; afterwards it does, unless the front end knows that it is on a wrong path and
    /// does not find out by this jump.
    #[inline(always)]
    fn target(&mut self, turn: &Turn, target: u64, middle: bool, mispredicted: bool) -> bool {
        let last = turn.last();
        let known = self.targets.know(last);
        if known != Some(target) && (mispredicted || !self.wrong) {
            self.targets.learn(last, target);
        }
        known == Some(target) && !middle
    }

    /// Whether the target of a branch or jump is known.
    pub(super) fn knows(&self, turn: &Turn) -> bool {
        self.targets.find(turn.last()).is_some()
    }

    /// The front end is redirected: from now on it is not known to be on a wrong path.
    #[inline(always)]
    pub(super) fn redirected(&mut self) {
        self.wrong = false;
    }

    /// The branches that the front end has seen where it goes on.
    pub(super) fn sight(&self) -> Sight {
        Sight { latest: self.history.latest(), wrong: self.wrong }
    }

    /// The same behind a misprediction: of a branch, or of a jump.
    pub(super) fn sight_behind(&self, branch: bool) -> Sight {
        let latest = if branch { self.history.mispredicted() } else { self.history.latest() };
        Sight { latest, wrong: false }
    }

    /// The fetch was on a path until it was redirected. Its calls and returns stay.
    pub(super) fn end_path(&mut self) {
        self.forget_oldest_returns();
    }

    /// The same, and what it has seen of branches stays.
    pub(super) fn keep_path(&mut self, sight: Sight) {
        self.forget_oldest_returns();
        self.history.keep(sight.latest);
    }

    /// Where the fetch goes behind a branch or jump that is not executed; `target` is where a branch or `jal` goes.
    pub(super) fn guess(&mut self, turn: &Turn, target: u64, sight: &mut Sight) -> Guess {
        let known = self.targets.find(turn.last());
        match turn.jump {
            Jump::None => Guess::Sequential,
            Jump::Branch => {
                let mut latest = sight.latest;
                let entry = History::entry(self.entries, turn.sequential);
                let taken = self.history.guess(entry, &mut latest);
                if !sight.wrong {
                    sight.latest = latest;
                }
                if taken { Guess::To { target, known: known.is_some() } } else { Guess::Sequential }
            }
            Jump::Direct { call } => {
                if call && !sight.wrong {
                    self.returns.push(turn.sequential);
                }
                Guess::To { target, known: known.is_some() }
            }
            Jump::Indirect { returns, call } => {
                let top = match returns {
                    true if sight.wrong => self.returns.last().copied(),
                    true => self.returns.pop(),
                    false => None,
                };
                if call && !sight.wrong {
                    self.returns.push(turn.sequential);
                }
                let target = top.or(known);
                sight.wrong |= target.is_none();
                target.map_or(Guess::Unknown, |target| Guess::To { target, known: known.is_some() })
            }
        }
    }

    /// Whether the targets of all these jumps, one after the other, are unknown. Nothing changes.
    pub(super) fn knows_none(&mut self, turns: &[Turn]) -> bool {
        if turns.is_empty() {
            return true;
        }
        let (before, mut sight) = (self.returns.clone(), self.sight());
        // Only what a branch or `jal` guesses depends on its target.
        let none = turns.iter().all(|turn| self.guess(turn, 0, &mut sight) == Guess::Unknown);
        self.returns = before;
        none
    }

    /// A word that found no space is looked up in the target buffer all the same, and what is known of it is compared with the
    /// data of the word before. If a jump is known that ends in a half that is [misread], the front end empties the target
    /// buffer, and takes what follows for a wrong path.
    pub(super) fn misreads(&mut self, word: u64, halves: [bool; 2], sight: &mut Sight) {
        if self.targets.half(word).is_some_and(|upper| halves[usize::from(upper)]) {
            self.targets.flush();
            sight.wrong = true;
        }
    }
}

/// Where the fetch goes on behind a jump of which nothing is known, from the address behind it: the word that it has requested
/// meanwhile is dropped, and not requested again.
pub(super) fn behind_unknown(behind: u64) -> u64 {
    (behind.wrapping_sub(2) & !3).wrapping_add(8)
}

/// In which half of a word the end of a known jump is a misread, by the word before: `partial` says whether an instruction goes
/// on from that, `long` which halves of it look like the beginning of four bytes.
pub(super) fn misread(partial: bool, long: [bool; 2]) -> [bool; 2] {
    [!partial && long[0], (partial || !long[0]) && long[1]]
}
