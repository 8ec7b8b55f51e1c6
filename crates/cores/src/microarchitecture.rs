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
    /// The core's description of an instruction, found once for each place in decoded code.
    type Op: Copy;

    /// A core with an empty pipe and empty caches, of the parameters of `core`.
    fn new(core: &Core) -> Result<Self, CoreError>;

    /// Describes an instruction.
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

    /// A branch or jump has [passed](Self::passes).
    #[inline(always)]
    fn jumps(&mut self, _step: &Step<Self::Op>) {}

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
    /// Which of the accesses, and of the operands, are its, if it has any.
    pub(crate) access: usize,
    pub(crate) operand: usize,
}

impl Here<'_> {
    /// Its access.
    #[inline(always)]
    pub(crate) fn touch(&self) -> Option<&Touch> {
        self.several.accesses.get(self.access)
    }

    /// The values of its source registers.
    #[inline(always)]
    pub(crate) fn operands(&self) -> [u64; 2] {
        self.several.operands.get(self.operand).copied().unwrap_or_default()
    }

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
    /// The core's description of it.
    pub(crate) op: &'a O,
    pub(crate) privilege: Privilege,
    /// As in [`Retired`](tollgate_riscv::Retired).
    pub(crate) operands: [u64; 2],
    pub(crate) taken: bool,
}

impl<O> Step<'_, O> {
    /// Begins in one word of four bytes and ends in the next.
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
