//! The contract of a timed core: its file says which stage does what, [`Timed`](super::Timed) attaches it to a machine.

use tollgate_riscv::{BlockInsn, Code, Insn, Machine, Privilege, Several, Touch, Trap};

use super::access::Data;
use super::core::{Core, CoreError};
use super::parts::memory::Memory;
use super::passage::Flush;
use super::slot::Slot;

/// A microarchitecture: when each instruction is in each stage, and why it was not there earlier.
///
/// The machine executes, and the core receives in program order what retired and what trapped. It sees addresses and, where
/// [`Op::by_operands`](tollgate_riscv::Op::by_operands) says so, operands, and no other values.
pub(crate) trait Microarchitecture: Clone {
    /// What the core needs to know about an instruction, found once for each place in decoded code.
    type Op: Copy;

    /// A core with an empty pipe and empty caches, of the parameters of `core`.
    fn new(core: &Core) -> Result<Self, CoreError>;

    /// What it needs to know about an instruction.
    fn describe(&self, insn: &Insn) -> Self::Op;

    /// Code was loaded that fetches may reach before, or without, its execution.
    fn load(&mut self, _code: &Code) {}

    /// Which stages it has for stage diagrams, in the order of [`Stage::ALL`](super::Stage::ALL).
    fn stages(&self) -> [bool; 5] {
        [true; 5]
    }

    /// Whether cycles of operations depend on operands ([`Step::operands`]).
    fn depends_on_operands(&self) -> bool;

    /// An instruction retires, with its accesses to memory in order.
    fn retire(&mut self, step: &Step<Self::Op>, accesses: &[Data], slot: &mut Slot);

    /// An instruction of decoded code retires, if nothing about it is unusual: the core need not look at most of what
    /// [`retire`](Self::retire) is given. Without a quick way nothing passes here.
    #[inline(always)]
    fn passes(&mut self, _op: &Self::Op, _here: &Here, _slot: &mut Slot) -> Passed {
        Passed::No
    }

    /// Whether a branch or jump that has [passed](Self::passes) was predicted; the predictor learns.
    #[inline(always)]
    fn resolve(&mut self, _step: &Step<Self::Op>) -> Resolved {
        Resolved::On
    }

    /// The fetch goes on behind a branch or jump that was [resolved](Self::resolve).
    #[inline(always)]
    fn follow(&mut self, _step: &Step<Self::Op>, _resolved: Resolved) {}

    /// Whether the time of blocks may be remembered, and [`Block`] is asked for.
    const REMEMBERS: bool = false;

    /// Whether an instruction may be in a block.
    fn in_block(&self, _op: &Self::Op) -> InBlock {
        InBlock::No
    }

    /// All that the times of later instructions of blocks depend on, relative to the last instruction. `None` while something else
    /// than instructions of blocks is under way.
    fn relative_state(&mut self) -> Option<RelativeState> {
        None
    }

    /// Enters such a state.
    fn enter_state(&mut self, _state: &RelativeState) {}

    /// Whether all fetches and accesses of a block find what they need where the last ones were, so that they change nothing. Yields
    /// what else of the accesses its time depends on.
    fn finds_block(&mut self, _run: &BlockRun, _accesses: &[Touch]) -> Option<u16> {
        None
    }

    /// A block whose fetches and accesses [were found](Self::finds_block) has taken so many cycles.
    fn repeat_block(&mut self, _run: &BlockRun, _cycles: u32) {}

    /// Cycles that the operands of an instruction add, or remove.
    fn operand_cycles(&self, _op: &Self::Op, _operands: [u64; 2]) -> i64 {
        0
    }

    /// A trap is taken. If that takes a slot of the pipe, it is charged as [`Slot::lost`]. Returns whether the slot is that of the
    /// instruction that traps, which stage diagrams show: not for interrupts.
    fn trap(&mut self, trap: &Trap, slot: &mut Slot) -> bool;

    /// Words that a trap or a return has stacked in hardware ([`tollgate_riscv::custom`]) go through the data port. Returns
    /// the cycles of the port, and those of misses.
    fn stack(&mut self, words: &[Data]) -> [u32; 2];

    /// Whether an interrupt, whose line rises in the cycle in which an instruction retires that leaves
    /// [`cycles`](Self::cycles) at `line`, is taken before the next instruction.
    fn interrupts(&mut self, machine: &Machine, line: u64) -> bool;

    /// Fetches behind the last instruction that are squashed, for stage diagrams; `sequential` is the address behind it.
    fn squashed(&self, sequential: u64) -> Vec<Squashed>;

    /// Forgets predictions and whatever else a cold core does not know. Caches and translation buffers are emptied by the caller.
    fn forget_predictions(&mut self);

    /// Cycles until the last instruction has left the pipe; before the first one, the cycles of filling it.
    fn cycles(&self) -> u64;

    /// Branches and indirect jumps that were mispredicted.
    fn mispredicts(&self) -> u64;

    /// Caches, translation buffers and memory.
    fn memory(&self) -> &Memory;

    /// The same, to change it.
    fn memory_mut(&mut self) -> &mut Memory;
}

/// The state of a core that no time but the last instruction's enters: two of them are equal if, and only if, all bits are.
pub(crate) type RelativeState = [u64; 4];

/// How the prediction of a branch or jump came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// Right: the fetch goes on in sequence.
    On,
    /// Right: it goes on elsewhere.
    Away,
    /// The front end found out late where it goes on.
    Late,
    /// The back end found out that it was wrong.
    Wrong,
}

/// Whether an instruction may be in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InBlock {
    No,
    Yes,
    /// As its last one.
    Last,
}

/// Instructions in sequence up to a jump, each of which may take the quick way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    /// How many they are; 0 where the first one cannot be in a block.
    pub(crate) len: u8,
    pub(crate) loads: u8,
    pub(crate) stores: u8,
    /// How many report their operands.
    pub(crate) operands: u8,
    /// Which ones are not whole in the line of the one before: so many, and the first of them.
    pub(crate) lines: u8,
    pub(crate) enters_line: [u8; Block::LINES],
    /// The last one that accesses memory.
    pub(crate) last_access: u8,
    /// The bytes of each access, four bits each, the first in the lowest.
    pub(crate) sizes: u32,
    /// Whether the last one is a jump.
    pub(crate) jumps: bool,
}

impl Block {
    /// The most of each.
    pub(crate) const INSNS: usize = 64;
    pub(crate) const LINES: usize = 3;
    pub(crate) const ACCESSES: u8 = 8;
    pub(crate) const OPERANDS: u8 = 4;

    #[inline(always)]
    pub(crate) fn accesses(&self) -> usize {
        usize::from(self.loads + self.stores)
    }
}

/// A run of a block.
pub(crate) struct BlockRun<'a> {
    pub(crate) several: &'a Several<'a>,
    pub(crate) block: &'a Block,
    pub(crate) insns: &'a [BlockInsn],
    /// Whether the instruction before it is of the same run.
    pub(crate) goes_on: bool,
}

impl BlockRun<'_> {
    /// Its instructions whose fetch may be in another line than the one before.
    #[inline(always)]
    pub(crate) fn fetches(&self) -> impl Iterator<Item = &BlockInsn> {
        let lines = self.block.enters_line.get(..usize::from(self.block.lines)).unwrap_or_default();
        // Without one before, that is also the first instruction.
        let first = !self.goes_on && lines.first() != Some(&0);
        let first = if first { self.insns.first() } else { None };
        first.into_iter().chain(lines.iter().filter_map(|&at| self.insns.get(usize::from(at))))
    }
}

/// The physical address of an instruction's first byte.
#[inline(always)]
pub(crate) fn physical(at: &BlockInsn) -> u64 {
    u64::from(at.page) << 12 | at.pc & 0xfff
}

/// Whether an instruction has passed the quick way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// No, and nothing has changed.
    No,
    Yes,
    /// Yes, but where it jumps is not known to the core yet.
    ButJumps,
}

/// An instruction of decoded code.
pub(crate) struct Here<'a> {
    pub(crate) several: &'a Several<'a>,
    pub(crate) at: &'a BlockInsn,
    /// Whether all of it is in the line and the page of the instruction before it.
    pub(crate) same_line: bool,
    pub(crate) touch: Option<&'a Touch>,
    pub(crate) operands: [u64; 2],
}

impl Here<'_> {
    /// The physical address of its first byte.
    #[inline(always)]
    pub(crate) fn pa(&self) -> u64 {
        physical(self.at)
    }

    /// Its virtual address.
    #[inline(always)]
    pub(crate) fn pc(&self) -> u64 {
        self.several.outside(self.at.pc)
    }
}

/// An instruction that retired.
pub(crate) struct Step<'a, O> {
    pub(crate) pc: u64,
    /// The physical address of its first byte.
    pub(crate) pa: u64,
    /// The address of the next instruction.
    pub(crate) next_pc: u64,
    pub(crate) insn: &'a Insn,
    /// What the core has found out about it.
    pub(crate) op: &'a O,
    pub(crate) privilege: Privilege,
    /// What [`Retired`](tollgate_riscv::Retired) has under these names.
    pub(crate) operands: [u64; 2],
    pub(crate) taken: bool,
}

impl<O> Step<'_, O> {
    /// Whether it begins in one word of four bytes and ends in the next.
    pub(crate) fn crosses(&self) -> bool {
        self.insn.len == 4 && self.pc & 2 != 0
    }
}

/// A fetch that was squashed.
pub(crate) struct Squashed {
    pub(crate) pc: u64,
    /// When it entered each stage, as far as it came.
    pub(crate) starts: [Option<u64>; 5],
    /// The cycle in which it was squashed.
    pub(crate) end: u64,
    pub(crate) flush: Flush,
}
