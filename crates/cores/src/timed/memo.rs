//! The times of blocks, by the state in which the core comes to them.
//!
//! A block that begins in a state that occurred before, and whose fetches and accesses find everything where the last ones were,
//! takes the same cycles for the same causes and ends in the same state: times are sums and maxima of times. So a core's state is
//! a number while it goes from one such block to the next, and becomes stages and registers again when something else happens.

use tollgate_riscv::{Map, Pass};

use super::Described;
use super::batch::{Batch, PassedAll, step_of, take};
use crate::ledger::{Cause, Causes};
use crate::microarchitecture::{Block, BlockRun, InBlock, Microarchitecture, RelativeState, Resolved, Step};
use crate::slot::Slot;

/// No state has this number.
const NONE: u32 = u32::MAX;

/// States, and runs of blocks, that are remembered at most; a power of two.
const STATES: usize = 1 << 16;
const RUNS: usize = 1 << 13;

/// All that the time of a run of a block depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    /// The number of the state in which it begins.
    state: u32,
    /// The place of its first instruction.
    place: u16,
    /// The part of its accesses, and of its operands.
    accesses: u16,
    operands: u32,
}

impl Key {
    /// Where a run with this key is, if it is remembered.
    #[inline(always)]
    fn index(&self) -> usize {
        let place = u64::from(self.state) << 16 | u64::from(self.place);
        let rest = u64::from(self.operands) << 16 | u64::from(self.accesses);
        let mixed = (place ^ rest.wrapping_mul(0xff51_afd7_ed55_8ccd)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 40) as usize % RUNS
    }
}

/// A run of a block.
#[derive(Clone, Copy, Debug)]
struct Run {
    key: Key,
    cycles: u32,
    /// The number of the state in which it ended, before its jump.
    end: u32,
    /// The numbers of the states behind that, by how the jump was resolved.
    behind: [u32; 3],
    /// What the first instruction waited for the redirected fetch.
    refill: Option<(Cause, u32)>,
    /// The other cycles.
    charges: [u32; Cause::COUNT],
}

impl Run {
    const NONE: Run = Run {
        key: Key { state: NONE, place: 0, accesses: 0, operands: 0 },
        cycles: 0,
        end: NONE,
        behind: [NONE; 3],
        refill: None,
        charges: [0; Cause::COUNT],
    };

    /// The state behind a jump that was resolved in this way. (A misprediction changes other things as well.)
    #[inline(always)]
    fn behind(&mut self, resolved: Resolved) -> Option<&mut u32> {
        self.behind.get_mut(resolved as usize)
    }
}

/// What was charged before a run.
#[derive(Clone, Copy, Debug)]
struct Before {
    cycles: u64,
    charges: Causes,
    issued: u64,
    refill_phase: u8,
}

/// What is remembered.
pub(super) struct Memo {
    /// The block that begins at each place, if somebody has asked.
    blocks: Vec<Option<Block>>,
    states: Vec<RelativeState>,
    numbers: Map<RelativeState, u32>,
    runs: Vec<Run>,
    /// The number of the core's state, if it is known.
    state: u32,
    /// Whether the core is in that state, as it always is between batches: otherwise it only knows when its last instruction was
    /// there.
    entered: bool,
}

impl Memo {
    pub(super) fn new() -> Self {
        Memo {
            blocks: Vec::new(),
            states: Vec::new(),
            numbers: Map::default(),
            runs: Vec::new(),
            state: NONE,
            entered: true,
        }
    }

    /// Forgets all blocks: other instructions will be in their places.
    pub(super) fn forget_blocks(&mut self) {
        self.blocks.clear();
        self.runs.clear();
    }

    /// Something may have happened to the core since the last batch.
    pub(super) fn begin(&mut self) {
        if self.states.len() > STATES {
            self.states.clear();
            self.numbers.clear();
            self.runs.clear();
        }
        self.runs.resize(RUNS, Run::NONE);
        self.state = NONE;
    }

    /// A run of instructions, block by block.
    #[inline(always)]
    pub(super) fn pass<C: Microarchitecture>(
        &mut self,
        core: &mut C,
        ops: &[Described<C::Op>],
        pass: &Pass,
        batch: &mut Batch,
        slot: &mut Slot,
    ) {
        let (start, end) = (usize::from(pass.start()), usize::from(pass.end()));
        let mut place = start;
        while place < end {
            let block = self.block(core, ops, place, end);
            // What cannot be in a block is alone.
            let to = end.min(place + usize::from(block.len).max(1));
            let insns = batch.several.insns.get(place..to).unwrap_or_default();
            let here = BlockRun { several: batch.several, block: &block, insns, goes_on: place != start };
            let key = if to - place == usize::from(block.len) {
                self.key(core, ops, &here, place, batch)
            } else {
                None
            };
            let known = key.map(|key| key.index()).filter(|&at| self.runs.get(at).map(|run| run.key) == key);
            let (jumps, run) = if let Some(run) = known {
                self.repeat(core, &here, run, batch, slot);
                (block.jumps, known)
            } else {
                self.enter(core);
                self.state = NONE;
                let before = key.map(|_| Before::new(core, batch, slot));
                let all = batch.pass(core, ops, (pass, place..to), slot);
                let run = match (key, before) {
                    (Some(key), Some(before)) if all.quick => {
                        self.remember(core, key, &before, &all, batch, slot)
                    }
                    _ => None,
                };
                (all.jumps, run)
            };
            if jumps && let (Some(at), Some(described)) = (insns.last(), ops.get(to - 1)) {
                let next = if to < end { batch.several.insns.get(to) } else { None };
                self.jump(core, &step_of(batch.several, pass, at, next, &described.op), run);
            }
            place = to;
        }
    }

    /// The block that begins at a place. What is described of a run of instructions ends at an `end`.
    #[inline(always)]
    fn block<C: Microarchitecture>(
        &mut self,
        core: &C,
        ops: &[Described<C::Op>],
        place: usize,
        end: usize,
    ) -> Block {
        match self.blocks.get(place) {
            Some(Some(block)) => *block,
            _ => self.find_block(core, ops, place, end),
        }
    }

    #[cold]
    #[inline(never)]
    fn find_block<C: Microarchitecture>(
        &mut self,
        core: &C,
        ops: &[Described<C::Op>],
        place: usize,
        end: usize,
    ) -> Block {
        let mut block = Block::default();
        for described in ops.get(place..end).unwrap_or_default().iter().take(Block::INSNS) {
            let kind = core.in_block(&described.op);
            let accesses = block.loads + block.stores;
            let full = accesses == Block::ACCESSES && described.size > 0
                || block.operands == Block::OPERANDS && described.by_operands
                || usize::from(block.lines) == Block::LINES && !described.same_line;
            if kind == InBlock::No || full {
                break;
            }
            if !described.same_line {
                block.enters_line[usize::from(block.lines)] = block.len;
                block.lines += 1;
            }
            if described.size > 0 {
                block.last_access = block.len;
                block.sizes |= u32::from(described.size & 15) << (4 * accesses);
                *if described.store { &mut block.stores } else { &mut block.loads } += 1;
            }
            block.operands += u8::from(described.by_operands);
            block.len += 1;
            block.jumps = kind == InBlock::Last;
            if block.jumps {
                break;
            }
        }
        if self.blocks.len() <= place {
            self.blocks.resize(place + 1, None);
        }
        self.blocks[place] = Some(block);
        block
    }

    /// All that a run of a block depends on, if it is not more than a key can say.
    #[inline(always)]
    fn key<C: Microarchitecture>(
        &mut self,
        core: &mut C,
        ops: &[Described<C::Op>],
        here: &BlockRun,
        place: usize,
        batch: &Batch,
    ) -> Option<Key> {
        let accesses = core.finds_block(here, batch.accesses.get(..here.block.accesses())?)?;
        let mut operands = 0;
        if here.block.operands > 0 {
            let mut values = batch.operands.iter();
            for described in ops.get(place..place + here.insns.len())?.iter().filter(|it| it.by_operands) {
                let cycles = i8::try_from(core.operand_cycles(&described.op, *values.next()?)).ok()?;
                operands = operands << 8 | u32::from(cycles.cast_unsigned());
            }
        }
        if self.state == NONE {
            self.state = self.number(core);
        }
        (self.state != NONE).then_some(Key { state: self.state, place: place as u16, accesses, operands })
    }

    /// The number of a core's state, if it has one.
    #[inline(never)]
    fn number<C: Microarchitecture>(&mut self, core: &mut C) -> u32 {
        let Some(state) = core.relative_state() else { return NONE };
        let states = &mut self.states;
        *self.numbers.entry(state).or_insert_with(|| {
            states.push(state);
            (states.len() - 1) as u32
        })
    }

    /// Lets the core enter the state that it is in by number.
    #[inline(always)]
    pub(super) fn enter<C: Microarchitecture>(&mut self, core: &mut C) {
        if !self.entered {
            self.enter_state(core);
        }
    }

    #[inline(never)]
    fn enter_state<C: Microarchitecture>(&mut self, core: &mut C) {
        self.entered = true;
        if let Some(state) = self.states.get(self.state as usize) {
            core.enter_state(state);
        }
    }

    /// A block runs as it has before.
    #[inline(always)]
    fn repeat<C: Microarchitecture>(
        &mut self,
        core: &mut C,
        here: &BlockRun,
        run: usize,
        batch: &mut Batch,
        slot: &mut Slot,
    ) {
        let run = &self.runs[run];
        core.repeat_block(here, run.cycles);
        take(&mut batch.accesses, here.block.accesses());
        take(&mut batch.operands, here.block.operands.into());
        if run.cycles == u32::from(here.block.len) {
            // No cycle was lost.
            batch.issued += u64::from(run.cycles);
        } else {
            for (sum, &cycles) in slot.charges.iter_mut().zip(&run.charges) {
                *sum += u64::from(cycles);
            }
            slot.refill = run.refill.map(|(cause, cycles)| (cause, cycles.into()));
            batch.account.refill(batch.account.refill_phase, batch.phase, slot);
        }
        batch.account.refill_phase = batch.phase;
        (self.state, self.entered) = (run.end, false);
    }

    /// A block has run that began as a key says, and took the quick way.
    #[inline(never)]
    fn remember<C: Microarchitecture>(
        &mut self,
        core: &mut C,
        key: Key,
        before: &Before,
        all: &PassedAll,
        batch: &Batch,
        slot: &Slot,
    ) -> Option<usize> {
        self.state = self.number(core);
        let Before { cycles, issued, refill_phase, .. } = *before;
        let mut charges = slot.charges;
        charges[Cause::Issue as usize] += batch.issued - issued;
        if let Some((cause, cycles)) = all.refill.filter(|_| refill_phase == batch.phase) {
            charges[cause as usize] -= cycles;
        }
        let mut run = Run { key, end: self.state, ..Run::NONE };
        run.cycles = (core.cycles() - cycles).try_into().ok()?;
        if let Some((cause, cycles)) = all.refill {
            run.refill = Some((cause, cycles.try_into().ok()?));
        }
        for ((charge, before), after) in run.charges.iter_mut().zip(before.charges).zip(charges) {
            *charge = (after - before).try_into().ok()?;
        }
        let at = key.index();
        *self.runs.get_mut(at).filter(|_| run.end != NONE)? = run;
        Some(at)
    }

    /// The jump at the end of a run has passed.
    #[inline(always)]
    fn jump<C: Microarchitecture>(&mut self, core: &mut C, step: &Step<C::Op>, run: Option<usize>) {
        let resolved = core.resolve(step);
        let behind = run.and_then(|run| self.runs.get_mut(run)?.behind(resolved).copied());
        match behind.filter(|&behind| behind != NONE) {
            Some(behind) if !self.entered => self.state = behind,
            _ => self.follow(core, step, resolved, run),
        }
    }

    /// The core goes on behind a jump, in a state that becomes known.
    #[inline(never)]
    fn follow<C: Microarchitecture>(
        &mut self,
        core: &mut C,
        step: &Step<C::Op>,
        resolved: Resolved,
        run: Option<usize>,
    ) {
        self.enter(core);
        core.follow(step, resolved);
        self.state = NONE;
        if let Some(run) = run {
            self.state = self.number(core);
            if let Some(behind) = self.runs.get_mut(run).and_then(|run| run.behind(resolved)) {
                *behind = self.state;
            }
        }
    }
}

impl Clone for Memo {
    /// A copy of a core remembers nothing yet: that would take longer to copy than to find again.
    fn clone(&self) -> Self {
        Memo::new()
    }
}

impl Before {
    #[inline(always)]
    fn new<C: Microarchitecture>(core: &C, batch: &Batch, slot: &Slot) -> Self {
        Before {
            cycles: core.cycles(),
            charges: slot.charges,
            issued: batch.issued,
            refill_phase: batch.account.refill_phase,
        }
    }
}
