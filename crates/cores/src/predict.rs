//! Branch prediction: direction, targets, returns.

mod plain;

use super::core::Core;
use super::history::{History, Targets};
use super::keys::Predictor;
use super::passage::Stage;
use super::seen::Seen;
use tollgate_riscv::{Class, Insn};

/// What the front end does behind an instruction that may jump: bubbles that it costs.
#[derive(Clone, Debug)]
pub(super) struct Predict {
    predictor: Predictor,
    history: Option<History>,
    targets: Option<Targets>,
    ahead: bool,
    odd_calls: bool,
    in_memory: bool,
    /// Where the front end was sent last, by a jump or a redirection.
    pub(super) landed: u64,
    /// Where the last indirect jump was predicted to go, if anything was known of it, and whether the front end found that out only
    /// after it had gone on in sequence.
    predicted: Option<(u64, bool)>,
    /// Whether the front end knows that it is on a wrong path, because it went on in sequence behind a jump of whose target
    /// it knew nothing. Until it is redirected nothing leaves a mark.
    wrong: bool,
    /// Where the last call went.
    called: u64,
    counters: Vec<u8>,
    /// Address and target.
    btb: Vec<(u64, u64)>,
    entries: u32,
    btb_mask: usize,
    returns: Vec<u64>,
    depth: usize,
    settle: u32,
    mispredict: u32,
    taken: u32,
    jump: u32,
    indirect: u32,
    pub(super) mispredicts: u64,
}

/// A branch or jump before it is executed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pc: u64,
    /// The address behind it.
    sequential: u64,
    kind: Turning,
    /// Whether it is a branch.
    branches: bool,
    /// The entry of the direction's table.
    entry: u32,
    /// Whether its fetch may enter its word in the middle.
    half: bool,
}

impl Turn {
    /// The address of its last two bytes.
    fn last(&self) -> u64 {
        self.sequential.wrapping_sub(2)
    }

    pub(super) fn pc(&self) -> u64 {
        self.pc
    }

    pub(super) fn is_branch(&self) -> bool {
        self.branches
    }

    /// The address of the last two bytes of a jump that is not a branch.
    pub(super) fn jumps_at(&self) -> Option<u64> {
        (!self.branches).then(|| self.last())
    }
}

#[derive(Clone, Copy, Debug)]
enum Turning {
    Branch { backward: bool },
    Jump { pushes: bool },
    Indirect { pops: bool, pushes: bool },
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

const NONE: (u64, u64) = (1, 0);

// The outcome of a prediction, in two bits.
const RIGHT: u64 = 0;
/// A branch went the other way.
const WRONG: u64 = 1;
/// The direction was right or there is none, but the target was not known.
const OTHER: u64 = 2;
/// The return stack knew the target, the target buffer did not know the return.
const LATE: u64 = 3;

impl Predict {
    pub(super) fn new(core: &Core) -> Self {
        let b = &core.branch;
        Predict {
            predictor: b.predictor,
            history: (b.predictor == Predictor::History).then(|| History::new(b.counters)),
            targets: b.btb_associative.then(|| Targets::new(b.btb)),
            ahead: b.fetch_queue > 0,
            odd_calls: b.odd_calls,
            in_memory: b.found_in_memory,
            landed: NONE.0,
            predicted: None,
            wrong: false,
            called: NONE.0,
            // Weakly not taken.
            counters: vec![1; if b.predictor == Predictor::Bimodal { b.counters as usize } else { 0 }],
            btb: vec![NONE; if b.btb_associative { 0 } else { b.btb as usize }],
            entries: b.counters,
            btb_mask: (b.btb as usize).wrapping_sub(1),
            returns: Vec::new(),
            depth: b.return_stack as usize,
            settle: b.settle,
            mispredict: b.mispredict,
            taken: b.taken,
            jump: b.jump,
            indirect: b.indirect,
            mispredicts: 0,
        }
    }

    /// Forgets what was learned, and keeps the counts.
    pub(super) fn forget(&mut self, core: &Core) {
        *self = Predict { mispredicts: self.mispredicts, ..Predict::new(core) };
    }

    /// The turn of an instruction at an address; `None` when it goes nowhere else.
    pub(super) fn turn(&self, pc: u64, insn: &Insn) -> Option<Turn> {
        let (rd, rs1) = (is_link(insn.rd), is_link(insn.rs1));
        let rd = if self.odd_calls { insn.rd & 1 == 1 } else { rd };
        let kind = match insn.row().class {
            Class::Branch => Turning::Branch { backward: insn.imm < 0 },
            Class::Jump => Turning::Jump { pushes: rd },
            // Unprivileged specification, table 2.1: hints for the return stack.
            Class::JumpReg => {
                Turning::Indirect { pops: rs1 && (!rd || insn.rd != insn.rs1 && !self.odd_calls), pushes: rd }
            }
            _ => return None,
        };
        let sequential = pc.wrapping_add(u64::from(insn.len));
        let entry = match self.predictor {
            Predictor::History => History::entry(self.entries, sequential),
            _ => (pc >> 1) as u32 & self.entries.wrapping_sub(1),
        };
        let branches = matches!(kind, Turning::Branch { .. });
        Some(Turn { pc, sequential, kind, branches, entry, half: pc & 2 != 0 && insn.len == 2 })
    }

    /// A branch or jump went to `next`, a branch because it was `taken`. Learns, and yields what
    /// [`bubbles`](Self::bubbles) makes the bubbles of.
    pub(super) fn foresee(&mut self, turn: &Turn, next: u64, taken: bool) -> u64 {
        self.foresee_all(&[(0, *turn, next)], taken, || next)
    }

    /// The same for one after the other, of which the last one `leaves` if it is a branch; the codes in two bits each, that
    /// of the first on top. `target` is where an indirect jump goes.
    #[inline(always)]
    pub(super) fn foresee_all(
        &mut self,
        turns: &[(u8, Turn, u64)],
        leaves: bool,
        target: impl Fn() -> u64,
    ) -> u64 {
        let mut codes = 0;
        for (i, (_, turn, next)) in turns.iter().enumerate() {
            let taken = leaves && i + 1 == turns.len();
            let code = match turn.kind {
                _ if turn.branches => self.branch(turn, *next, taken),
                Turning::Indirect { .. } => self.jump(turn, target()),
                _ => self.jump(turn, *next),
            };
            codes = codes << 2 | code;
        }
        codes
    }

    #[inline(always)]
    fn branch(&mut self, turn: &Turn, next: u64, taken: bool) -> u64 {
        let middle = self.enters(turn, if taken { next } else { NONE.0 });
        let right = if let Some(history) = &mut self.history {
            history.branch(turn.pc, turn.entry, next, taken, self.wrong)
        } else if let Some(counter) = self.counters.get_mut(turn.entry as usize) {
            let before = *counter;
            *counter = if taken { (before + 1).min(3) } else { before.saturating_sub(1) };
            (before >= 2) == taken
        } else {
            let backward = matches!(turn.kind, Turning::Branch { backward: true });
            (backward && self.predictor == Predictor::BackwardTaken) == taken
        };
        let known = !taken || self.target(turn, next, middle, !right);
        if !right {
            self.mispredicts += 1;
            self.redirect();
            self.landed = if taken { next } else { turn.sequential };
            return WRONG;
        }
        if known { RIGHT } else { OTHER }
    }

    /// Whether the fetch enters the word of a turn in the middle: a target buffer finds nothing then. The next instruction
    /// is entered at `next`, if not in sequence.
    #[inline(always)]
    fn enters(&mut self, turn: &Turn, next: u64) -> bool {
        std::mem::replace(&mut self.landed, next) == turn.pc && turn.half
    }

    #[inline(never)]
    fn jump(&mut self, turn: &Turn, next: u64) -> u64 {
        let middle = self.enters(turn, next);
        match turn.kind {
            Turning::Branch { .. } => 0,
            Turning::Jump { pushes } => {
                if pushes && !self.wrong {
                    self.push(turn.sequential);
                    self.called = next;
                }
                if self.target(turn, next, middle, false) { RIGHT } else { OTHER }
            }
            Turning::Indirect { pops, pushes } => self.jump_reg(turn, pops, pushes, next, middle),
        }
    }

    /// Further cycles in EX.
    #[inline(always)]
    pub(super) fn settling(&self, turn: &Turn, code: u64) -> u32 {
        match (code, turn.kind) {
            (WRONG, Turning::Branch { .. }) => self.settle,
            _ => 0,
        }
    }

    /// The bubbles that a code stands for.
    pub(super) fn bubbles(&self, turn: &Turn, code: u64) -> u32 {
        match (code, turn.kind) {
            (RIGHT, _) => 0,
            (WRONG, _) => self.mispredict,
            (LATE, _) => self.taken,
            (_, Turning::Branch { .. }) => self.taken,
            (_, Turning::Jump { .. }) => self.jump,
            (_, Turning::Indirect { .. }) => self.indirect,
        }
    }

    /// The stage in which this is found. In IF the front end corrects it by itself, while earlier instructions may still
    /// wait.
    pub(super) fn found(&self, turn: &Turn, code: u64) -> Stage {
        let early = match turn.kind {
            Turning::Branch { .. } | Turning::Jump { .. } => code == OTHER,
            Turning::Indirect { .. } => code == LATE,
        };
        match (self.ahead, self.in_memory) {
            (true, _) if early => Stage::Fetch,
            (_, true) if !early => Stage::Memory,
            _ => Stage::Execute,
        }
    }

    /// Whether a wrong path is fetched behind an instruction that goes to `next`, as far as that is known before.
    pub(super) fn astray(&self, turn: &Turn, next: u64) -> bool {
        match turn.kind {
            Turning::Branch { .. } if self.predictor == Predictor::BackwardTaken => {
                self.leads(turn) != (next != turn.sequential)
            }
            Turning::Jump { .. } => false,
            _ => true,
        }
    }

    /// Whether the fetch is certain to leave the sequence behind an instruction.
    pub(super) fn leads(&self, turn: &Turn) -> bool {
        match turn.kind {
            Turning::Jump { .. } => true,
            Turning::Branch { backward } => backward && self.predictor == Predictor::BackwardTaken,
            Turning::Indirect { .. } => false,
        }
    }

    /// Where the last indirect jump was predicted to go, if anything was known of it, and whether the front end found that out only
    /// after it had gone on in sequence.
    pub(super) fn was_sent(&self) -> Option<(u64, bool)> {
        self.predicted
    }

    /// Whether the target of a branch or jump is known.
    pub(super) fn knows(&self, turn: &Turn) -> bool {
        self.targets.as_ref().is_some_and(|targets| targets.find(turn.last()).is_some())
    }

    /// The front end is redirected: from now on it is not known to be on a wrong path.
    #[inline(always)]
    pub(super) fn redirect(&mut self) {
        self.wrong = false;
    }

    /// Whether a code stands for a jump behind which the fetch was on a wrong path until EX.
    pub(super) fn strays(&self, turn: &Turn, code: u64) -> bool {
        self.bubbles(turn, code) > 0 && self.found(turn, code) != Stage::Fetch
    }

    /// A word that found no space is looked up in the target buffer all the same, and what is known of it is compared with the
    /// data of the word before. If a jump is known that ends in a half that is [misread], the front end empties the target
    /// buffer, and takes what follows for a wrong path.
    pub(super) fn misreads(&mut self, word: u64, halves: [bool; 2]) -> bool {
        let wrong = self.would_misread(word, halves);
        if let Some(targets) = self.targets.as_mut().filter(|_| wrong) {
            targets.flush();
        }
        wrong
    }

    /// Whether it would do so.
    pub(super) fn would_misread(&self, word: u64, halves: [bool; 2]) -> bool {
        let half = self.targets.as_ref().and_then(|targets| targets.half(word));
        half.is_some_and(|upper| halves[usize::from(upper)])
    }

    /// Whether the target of a jump is known whose last half is at one of these addresses.
    pub(super) fn knows_any(&self, places: &[u64]) -> bool {
        self.targets.as_ref().is_some_and(|targets| places.iter().any(|&pc| targets.find(pc).is_some()))
    }

    /// Whether one of these jumps of a run, a bit each in `count`, is a branch that is mispredicted although it is not taken; perhaps
    /// also if two others are.
    pub(super) fn strays_inside(&self, turns: &[(u8, Turn, u64)], count: u32) -> bool {
        let branches = turns.iter().zip(0..).filter(|((_, turn, _), _)| turn.branches);
        let branches = branches.map(|((_, turn, next), at)| {
            (turn.pc, turn.entry, *next, count.checked_shr(at).unwrap_or(1) & 1 != 0)
        });
        self.history.as_ref().is_none_or(|history| history.takes_one(branches, self.wrong))
    }

    /// How often the places of the jumps changed whose targets are known.
    #[inline(always)]
    pub(super) fn target_changes(&self) -> u64 {
        self.targets.as_ref().map_or(0, |targets| targets.changes)
    }

    /// What the front end has seen of calls and branches.
    pub(super) fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        self.see(&mut seen);
        seen
    }

    /// The same in place of what was seen before.
    pub(super) fn see(&self, seen: &mut Seen) {
        seen.returns.clone_from(&self.returns);
        seen.latest = self.history.as_ref().map_or(0, History::latest);
        seen.wrong = self.wrong;
    }

    /// The same directly behind a misprediction, that of a branch or that of a jump.
    pub(super) fn see_behind(&self, branch: bool, seen: &mut Seen) {
        seen.returns.clone_from(&self.returns);
        seen.latest = self.history.as_ref().map_or(0, |history| match branch {
            true => history.mispredicted(),
            false => history.latest(),
        });
        seen.wrong = false;
    }

    /// What the front end has pushed and popped on its way stays.
    pub(super) fn keep_returns(&mut self, seen: &mut Seen) {
        std::mem::swap(&mut self.returns, &mut seen.returns);
        let over = self.returns.len().saturating_sub(self.depth);
        self.returns.drain(..over);
    }

    /// What it has seen on its way stays.
    pub(super) fn keep(&mut self, seen: &mut Seen) {
        self.keep_returns(seen);
        if let Some(history) = &mut self.history {
            history.keep(seen.latest);
        }
    }

    /// Where the fetch goes behind a branch or jump that is not executed; `target` is where a branch or `jal` goes.
    pub(super) fn guess(&self, turn: &Turn, target: u64, seen: &mut Seen) -> Guess {
        let known = self.targets.as_ref().and_then(|targets| targets.find(turn.last()));
        match turn.kind {
            Turning::Branch { .. } => {
                let mut latest = seen.latest;
                let taken =
                    self.history.as_ref().is_some_and(|history| history.guess(turn.entry, &mut latest));
                if !seen.wrong {
                    seen.latest = latest;
                }
                if !taken {
                    return Guess::Sequential;
                }
                Guess::To { target, known: known.is_some() }
            }
            Turning::Jump { pushes } => {
                if pushes {
                    seen.push(turn.sequential);
                }
                Guess::To { target, known: known.is_some() }
            }
            Turning::Indirect { pops, pushes } => {
                let target = if pops { seen.pop() } else { None }.or(known);
                if pushes {
                    seen.push(turn.sequential);
                }
                seen.wrong |= target.is_none();
                target.map_or(Guess::Unknown, |target| Guess::To { target, known: known.is_some() })
            }
        }
    }

    fn jump_reg(&mut self, turn: &Turn, pops: bool, pushes: bool, next: u64, middle: bool) -> u64 {
        if self.targets.is_some() {
            return self.jump_or_return(turn, pops, pushes, next, middle);
        }
        let popped = pops && self.depth > 0;
        let predicted = if popped { self.returns.pop() } else { None };
        if pushes {
            self.push(turn.sequential);
        }
        let right = if popped { predicted == Some(next) } else { self.target(turn, next, middle, true) };
        if right {
            RIGHT
        } else {
            self.mispredicts += 1;
            OTHER
        }
    }

    /// With a target buffer that also knows what is a return; the front end looks for those that it does not contain.
    fn jump_or_return(&mut self, turn: &Turn, pops: bool, pushes: bool, next: u64, middle: bool) -> u64 {
        let Some(targets) = &mut self.targets else { return OTHER };
        let known = targets.know(turn.last()).filter(|_| !middle);
        // The fetch directly behind a call does not see what that has pushed.
        let stale = self.called == turn.pc;
        let top = self.returns.last().copied();
        if pops && !self.wrong {
            self.returns.pop();
        }
        let top = if stale && known.is_some() { self.returns.last().copied() } else { top };
        if pushes && !self.wrong {
            self.push(turn.sequential);
            self.called = next;
        }
        let predicted = if pops { top.or(known) } else { known };
        self.predicted = predicted.map(|target| (target, known.is_none()));
        let code = match (predicted, known) {
            (Some(predicted), Some(_)) if predicted == next => RIGHT,
            (Some(predicted), None) if predicted == next => LATE,
            // Nothing is known of its target, but it goes where the fetch goes on.
            (None, _) if next == behind_unknown(turn.sequential) => {
                self.wrong = true;
                return LATE;
            }
            _ => OTHER,
        };
        if let Some(targets) = &mut self.targets
            && known != Some(next)
            && (code == OTHER || !self.wrong)
        {
            targets.learn(turn.last(), next);
        }
        if code == OTHER {
            self.mispredicts += 1;
            self.redirect();
        }
        code
    }

    fn push(&mut self, address: u64) {
        if self.depth > 0 {
            if self.returns.len() == self.depth {
                self.returns.remove(0);
            }
            self.returns.push(address);
        }
    }

    /// Whether the target buffer has this target; afterwards it does, unless the front end knows that it is on a wrong path and
    /// does not find out by this jump.
    #[inline(always)]
    fn target(&mut self, turn: &Turn, target: u64, middle: bool, mispredicted: bool) -> bool {
        let (pc, last) = (turn.pc, turn.last());
        if let Some(targets) = &mut self.targets {
            let known = targets.know(last);
            if known != Some(target) && (mispredicted || !self.wrong) {
                targets.learn(last, target);
            }
            return known == Some(target) && !middle;
        }
        match self.btb.get_mut((pc >> 1) as usize & self.btb_mask) {
            Some(entry) if *entry == (pc, target) => true,
            Some(entry) => {
                *entry = (pc, target);
                false
            }
            None => false,
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

fn is_link(register: u8) -> bool {
    register == 1 || register == 5
}

#[cfg(test)]
mod tests {
    use super::{Guess, Predict, misread};
    use crate::Core;
    use tollgate_riscv::Operands;
    use tollgate_riscv::{Insn, Op};

    #[test]
    fn a_fetch_that_runs_on_pops_what_it_comes_to() {
        let core = "[branch]\npredictor = 'history'\ncounters = 8\nbtb = 4\nbtb-associative = true\nreturn-stack = 2";
        let core = Core::from_toml(core).unwrap();
        let mut predict = Predict::new(&core);
        let jump = |predict: &Predict, pc, rd, rs1| {
            let insn = Insn::encode(Op::Jalr, Operands { rd, rs1, ..Default::default() });
            predict
                .turn(pc, &tollgate_riscv::Decoder::new("rv64gc".parse().unwrap()).decode(insn).unwrap())
                .unwrap()
        };
        let [call, back, other] =
            [(0x100, 1, 10), (0x200, 0, 1), (0x300, 0, 10)].map(|(pc, rd, rs1)| jump(&predict, pc, rd, rs1));
        predict.foresee(&call, 0x1f0, false);
        let mut seen = predict.seen();
        assert_eq!(predict.guess(&back, 0, &mut seen), Guess::To { target: 0x104, known: false });
        assert_eq!(predict.guess(&back, 0, &mut seen), Guess::Unknown);
        // Behind a jump of which nothing is known, calls leave no mark.
        assert_eq!(predict.guess(&call, 0, &mut seen), Guess::To { target: 0x1f0, known: true });
        assert_eq!(predict.guess(&other, 0, &mut seen), Guess::Unknown);
        assert_eq!(predict.returns.last().copied(), Some(0x104));
        predict.keep(&mut seen);
        assert_eq!(predict.returns.last().copied(), None);
    }

    #[test]
    fn a_word_without_space_that_is_misread_empties_the_target_buffer() {
        // rtl: Rocket, caller. A jump of two bytes in the lower half of 100 (ends in its lower half), and in the upper half of
        // 200. What is misread begins in the same half of the word before; an instruction that goes on from there has its
        // beginning in the upper half.
        let core = "[branch]\npredictor = 'history'\ncounters = 8\nbtb = 4\nbtb-associative = true";
        let core = Core::from_toml(core).unwrap();
        for (word, partial, long, expected) in [
            (0x100, false, [true, false], true),
            (0x100, false, [false, false], false),
            (0x100, true, [true, true], false),
            (0x200, true, [false, true], true),
            (0x200, false, [true, true], false),
            (0x200, false, [false, true], true),
            (0x200, false, [false, false], false),
            (0x300, false, [true, true], false),
        ] {
            let mut predict = Predict::new(&core);
            for pc in [0x100, 0x202] {
                let insn = Insn { len: 2, ..jump_to(8) };
                let turn = predict.turn(pc, &insn).unwrap();
                predict.foresee(&turn, pc + 8, false);
            }
            assert_eq!(
                predict.misreads(word, misread(partial, long)),
                expected,
                "{word:x} {partial} {long:?}"
            );
            let known = [0x100, 0x202].map(|pc| predict.targets.as_ref().unwrap().find(pc).is_some());
            assert_eq!(known, [!expected; 2]);
        }
    }

    #[test]
    fn a_word_that_is_entered_in_its_middle_is_not_known() {
        let core = "[branch]\npredictor = 'history'\ncounters = 8\nbtb = 4\nbtb-associative = true";
        let mut predict = Predict::new(&Core::from_toml(core).unwrap());
        let turn = predict.turn(0x102, &Insn { len: 2, ..jump_to(8) }).unwrap();
        let codes = [0x100, 0x100, 0x102].map(|from| {
            predict.landed = from;
            predict.foresee(&turn, 0x10a, false)
        });
        assert_eq!(codes, [super::OTHER, super::RIGHT, super::OTHER]);
    }

    fn jump_to(imm: i64) -> Insn {
        let word = Insn::encode(Op::Jal, Operands { imm, ..Default::default() });
        tollgate_riscv::Decoder::new("rv64gc".parse().unwrap()).decode(word).unwrap()
    }

    #[test]
    fn behind_a_jump_of_which_nothing_is_known_nothing_leaves_a_mark_until_a_misprediction() {
        // The jump happens to go where the fetch goes on: the front end still takes that for a wrong path, so that the call
        // there pushes nothing, and the branch there is not one of the latest, until one is mispredicted.
        let core = "[branch]\npredictor = 'history'\ncounters = 8\nbtb = 4\nbtb-associative = true\nreturn-stack = 2";
        let mut predict = Predict::new(&Core::from_toml(core).unwrap());
        let decoder = tollgate_riscv::Decoder::new("rv64gc".parse().unwrap());
        let mut go = |pc, op, rd, rs1, next: u64, taken| {
            let imm = if op == Op::Jalr { 0 } else { next.wrapping_sub(pc).cast_signed() };
            let insn = decoder.decode(Insn::encode(op, Operands { rd, rs1, imm, ..Default::default() }));
            let turn = predict.turn(pc, &insn.unwrap()).unwrap();
            predict.foresee(&turn, next, taken);
            (predict.returns.len(), predict.history.as_ref().unwrap().latest())
        };
        assert_eq!(go(0x100, Op::Jalr, 0, 10, 0x108, false), (0, 0));
        assert_eq!(go(0x108, Op::Jal, 1, 0, 0x200, false), (0, 0));
        // Not taken, as predicted; then taken, against the prediction.
        assert_eq!(go(0x200, Op::Beq, 0, 0, 0x240, false), (0, 0));
        assert_eq!(go(0x204, Op::Beq, 0, 0, 0x280, true), (0, 0x80));
        assert_eq!(go(0x280, Op::Jal, 1, 0, 0x300, false), (1, 0x80));
    }

    #[test]
    fn calls_are_told_by_the_lowest_bit_of_their_destination() {
        // Unprivileged specification, table 2.1: a jump from x5 to x1 pops, then pushes. Rocket only pushes.
        for (odd, depth) in [(false, 1), (true, 2)] {
            let core = format!("[branch]\nbtb = 4\nreturn-stack = 4\nodd-calls = {odd}");
            let mut predict = Predict::new(&Core::from_toml(&core).unwrap());
            let decoder = tollgate_riscv::Decoder::new("rv64gc".parse().unwrap());
            for (pc, rd, rs1) in [(0x100, 1, 10), (0x200, 1, 5)] {
                let insn = Insn::encode(Op::Jalr, Operands { rd, rs1, ..Default::default() });
                let turn = predict.turn(pc, &decoder.decode(insn).unwrap()).unwrap();
                predict.foresee(&turn, 0x400, false);
            }
            assert_eq!(predict.returns.len(), depth);
        }
    }

    #[test]
    fn what_was_learned_can_be_forgotten_and_what_was_counted_stays() {
        let core = Core::from_toml(
            "name = 'predicts'
            [branch]
            predictor = 'bimodal'
            counters = 16
            btb = 8
            mispredict = 3",
        )
        .unwrap();
        let mut predict = Predict::new(&core);
        let insn = Insn::encode(Op::Beq, Operands { imm: -0x80, ..Default::default() });
        let insn = tollgate_riscv::Decoder::new("rv64gc".parse().unwrap()).decode(insn).unwrap();
        let turn = predict.turn(0x100, &insn).unwrap();
        // Weakly not taken at first: wrong once, right from then on.
        let resolve = |predict: &mut Predict| {
            let code = predict.foresee(&turn, 0x80, true);
            predict.bubbles(&turn, code)
        };
        let bubbles: Vec<u32> = (0..3).map(|_| resolve(&mut predict)).collect();
        assert_eq!(bubbles, [3, 0, 0]);
        predict.forget(&core);
        assert_eq!((resolve(&mut predict), predict.mispredicts), (3, 2));
    }
}
