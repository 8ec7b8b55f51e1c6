//! Branch prediction from plain tables: two-bit counters or a static rule, a direct-mapped target buffer, a return stack.

use tollgate_riscv::{Class, Insn};

use crate::keys::{self, Branches};

/// Where an instruction may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Jump {
    None,
    Branch { backward: bool },
    Direct { call: bool },
    Indirect { returns: bool, call: bool },
}

impl Jump {
    pub(crate) fn of(insn: &Insn) -> Self {
        let (rd, rs1) = (is_link(insn.rd), is_link(insn.rs1));
        match insn.row().class {
            Class::Branch => Jump::Branch { backward: insn.imm < 0 },
            Class::Jump => Jump::Direct { call: rd },
            // Unprivileged specification, table 2.1: hints for the return stack.
            Class::JumpReg => Jump::Indirect { returns: rs1 && (!rd || insn.rd != insn.rs1), call: rd },
            _ => Jump::None,
        }
    }
}

fn is_link(register: u8) -> bool {
    register == 1 || register == 5
}

/// How a prediction came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Right,
    /// A branch went the other way.
    Direction,
    /// The direction was right or there is none, but the target was unknown or wrong.
    Target,
}

/// How the direction of a branch is predicted.
#[derive(Clone, Debug)]
enum Direction {
    NotTaken,
    /// Taken if the target is behind the branch.
    BackwardTaken,
    /// Two-bit counters, indexed by address: taken from 2 on.
    Bimodal(Vec<u8>),
}

impl Direction {
    fn new(keys: &Branches) -> Self {
        match keys.predictor {
            keys::Predictor::BackwardTaken => Direction::BackwardTaken,
            // Weakly not taken.
            keys::Predictor::Bimodal => Direction::Bimodal(vec![1; keys.counters as usize]),
            keys::Predictor::NotTaken => Direction::NotTaken,
        }
    }

    /// Whether a branch is predicted correctly; learns its outcome.
    #[inline(always)]
    fn resolve(&mut self, pc: u64, backward: bool, taken: bool) -> bool {
        match self {
            Direction::NotTaken => !taken,
            Direction::BackwardTaken => backward == taken,
            Direction::Bimodal(counters) => {
                let last = counters.len().wrapping_sub(1);
                let Some(counter) = counters.get_mut((pc >> 1) as usize & last) else { return !taken };
                let before = *counter;
                *counter = if taken { (before + 1).min(3) } else { before.saturating_sub(1) };
                (before >= 2) == taken
            }
        }
    }
}

/// A direct-mapped branch target buffer.
#[derive(Clone, Debug)]
struct TargetBuffer {
    /// Address and target.
    entries: Vec<(u64, u64)>,
}

impl TargetBuffer {
    /// No instruction has this address.
    const EMPTY: (u64, u64) = (1, 0);

    /// True if the target was known; afterwards it is.
    #[inline(always)]
    fn resolve(&mut self, pc: u64, target: u64) -> bool {
        let last = self.entries.len().wrapping_sub(1);
        let entry = self.entries.get_mut((pc >> 1) as usize & last);
        entry.is_some_and(|entry| std::mem::replace(entry, (pc, target)) == (pc, target))
    }
}

/// Return addresses; a call to a full stack loses the oldest one.
#[derive(Clone, Debug)]
struct ReturnStack {
    addresses: Vec<u64>,
    depth: usize,
}

impl ReturnStack {
    fn push(&mut self, address: u64) {
        if self.addresses.len() == self.depth {
            if self.depth == 0 {
                return;
            }
            self.addresses.remove(0);
        }
        self.addresses.push(address);
    }
}

/// A predictor.
#[derive(Clone, Debug)]
pub(crate) struct Predictor {
    direction: Direction,
    targets: TargetBuffer,
    returns: ReturnStack,
    /// Branches and indirect jumps that were mispredicted.
    pub(crate) mispredicts: u64,
}

impl Predictor {
    pub(crate) fn new(keys: &Branches) -> Self {
        Predictor {
            direction: Direction::new(keys),
            targets: TargetBuffer { entries: vec![TargetBuffer::EMPTY; keys.btb as usize] },
            returns: ReturnStack { addresses: Vec::new(), depth: keys.return_stack as usize },
            mispredicts: 0,
        }
    }

    /// Forgets what it learned and keeps its counts.
    pub(crate) fn forget(&mut self, keys: &Branches) {
        *self = Predictor { mispredicts: self.mispredicts, ..Predictor::new(keys) };
    }

    /// Whether an instruction is always followed by the fetch of its target.
    pub(crate) fn leads(&self, jump: Jump) -> bool {
        match jump {
            Jump::Direct { .. } => true,
            Jump::Branch { backward } => backward && matches!(self.direction, Direction::BackwardTaken),
            Jump::Indirect { .. } | Jump::None => false,
        }
    }

    /// An instruction of `len` bytes went to `next`, a branch because it was `taken`: compares the prediction and learns.
    #[inline]
    pub(crate) fn resolve(&mut self, jump: Jump, pc: u64, len: u8, next: u64, taken: bool) -> Outcome {
        let sequential = pc.wrapping_add(len.into());
        let outcome = match jump {
            Jump::None => return Outcome::Right,
            Jump::Branch { backward } => {
                let right = self.direction.resolve(pc, backward, taken);
                let known = !taken || self.targets.resolve(pc, next);
                match (right, known) {
                    (false, _) => Outcome::Direction,
                    (true, false) => return Outcome::Target,
                    (true, true) => Outcome::Right,
                }
            }
            Jump::Direct { call } => {
                if call {
                    self.returns.push(sequential);
                }
                return if self.targets.resolve(pc, next) { Outcome::Right } else { Outcome::Target };
            }
            Jump::Indirect { returns, call } => {
                let returns = returns && self.returns.depth > 0;
                let popped = if returns { self.returns.addresses.pop() } else { None };
                if call {
                    self.returns.push(sequential);
                }
                let right = if returns { popped == Some(next) } else { self.targets.resolve(pc, next) };
                if right { Outcome::Right } else { Outcome::Target }
            }
        };
        self.mispredicts += u64::from(outcome != Outcome::Right);
        outcome
    }
}

/// Bubbles behind jumps, by [`Outcome`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct JumpPenalties {
    /// After a branch whose direction was mispredicted.
    pub(crate) mispredict: i64,
    /// After a branch that was predicted taken and whose target was not known.
    pub(crate) taken: i64,
    /// After a direct jump whose target was not known.
    pub(crate) direct: i64,
    /// After an indirect jump whose target was not predicted.
    pub(crate) indirect: i64,
}

impl JumpPenalties {
    #[inline(always)]
    pub(crate) fn of(&self, jump: Jump, outcome: Outcome) -> i64 {
        match (outcome, jump) {
            (Outcome::Right, _) | (_, Jump::None) => 0,
            (Outcome::Direction, _) => self.mispredict,
            (Outcome::Target, Jump::Branch { .. }) => self.taken,
            (Outcome::Target, Jump::Direct { .. }) => self.direct,
            (Outcome::Target, Jump::Indirect { .. }) => self.indirect,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Core;

    fn predictor(toml: &str) -> Predictor {
        Predictor::new(&Core::from_toml(toml).unwrap().branch)
    }

    #[test]
    fn a_forgotten_counter_is_weakly_not_taken_again_and_mispredictions_stay_counted() {
        let toml = "[branch]\npredictor = 'bimodal'\ncounters = 16\nbtb = 8";
        let mut predictor = predictor(toml);
        let jump = Jump::Branch { backward: true };
        let resolve = |predictor: &mut Predictor| predictor.resolve(jump, 0x100, 4, 0x80, true);
        let outcomes = [(); 3].map(|()| resolve(&mut predictor));
        assert_eq!(outcomes, [Outcome::Direction, Outcome::Right, Outcome::Right]);
        predictor.forget(&Core::from_toml(toml).unwrap().branch);
        assert_eq!((resolve(&mut predictor), predictor.mispredicts), (Outcome::Direction, 2));
    }

    #[test]
    fn a_full_return_stack_loses_its_oldest_address() {
        let mut predictor = predictor("[branch]\nreturn-stack = 2");
        for pc in [0x100, 0x200, 0x300] {
            predictor.resolve(Jump::Direct { call: true }, pc, 4, pc + 0x100, false);
        }
        let back = Jump::Indirect { returns: true, call: false };
        let outcomes = [0x304, 0x204, 0x104].map(|to| predictor.resolve(back, 0x400, 2, to, false));
        assert_eq!(outcomes, [Outcome::Right, Outcome::Right, Outcome::Target]);
    }

    #[test]
    fn entries_of_the_target_buffer_displace_each_other() {
        let mut predictor = predictor("[branch]\nbtb = 2");
        let mut go = |pc: u64| predictor.resolve(Jump::Direct { call: false }, pc, 4, pc + 8, false);
        let outcomes = [0x100, 0x100, 0x104, 0x100].map(&mut go);
        let expected = [Outcome::Target, Outcome::Right, Outcome::Target, Outcome::Target];
        assert_eq!(outcomes, expected);
    }
}
