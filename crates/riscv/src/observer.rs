//! What can be watched: retired instructions, memory accesses, traps and returns.

use crate::hart::Privilege;
use crate::insn::Insn;
use crate::trap::{Trap, TrapReturn};

/// An instruction that retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    /// Its address.
    pub pc: u64,
    /// The address of the instruction that comes next, unless an interrupt does.
    pub next_pc: u64,
    /// The instruction.
    pub insn: Insn,
    /// Its bits; the upper half is zero for a 16-bit one.
    pub word: u32,
    /// The mode in which it ran.
    pub privilege: Privilege,
    /// The destination register's value afterwards (0 when it has none, or `x0`).
    pub value: u64,
    /// Instructions retired before this one, since reset.
    pub instret: u64,
}

/// Why memory was accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessKind {
    /// By a load or a store.
    Data,
    /// By an atomic instruction, `lr` or `sc`.
    Atomic,
    /// By the hardware on a trap or a return ([`crate::custom`]).
    Stacking,
}

/// A memory access that was done. A misaligned one that crosses pages is one access, with the physical address
/// of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Why.
    pub kind: AccessKind,
    /// Whether it wrote.
    pub store: bool,
    /// Its virtual address.
    pub va: u64,
    /// Its physical address.
    pub pa: u64,
    /// How many bytes.
    pub size: u8,
    /// What was read or written, zero-extended.
    pub value: u64,
}

/// Watches a machine. What the constants switch off costs nothing, and is never called.
///
/// For one instruction, its accesses come first, then [`retire`](Observer::retire) or
/// [`trap`](Observer::trap). [`trap_return`](Observer::trap_return) comes before the `retire` of its `mret` or
/// `sret`. Instruction fetches are known from `retire`.
///
/// ```
/// use tollgate_riscv::{Config, Machine, Observer, Retired};
/// /// Counts instructions by privilege mode.
/// #[derive(Default)]
/// struct Modes([u64; 4]);
/// impl Observer for Modes {
///     const RETIRE: bool = true;
///     fn retire(&mut self, r: &Retired) {
///         self.0[r.privilege as usize] += 1;
///     }
/// }
/// let mut machine = Machine::new(Config::default()).unwrap();
/// // addi x0, x0, 0, three times, at the start of RAM.
/// machine.write_memory(0x8000_0000, &[0x13, 0, 0, 0, 0x13, 0, 0, 0, 0x13, 0, 0, 0]).unwrap();
/// let mut modes = Modes::default();
/// machine.run(3, &mut modes);
/// assert_eq!(modes.0, [0, 0, 0, 3]);
/// ```
pub trait Observer {
    /// Whether `retire` is called.
    const RETIRE: bool = false;
    /// Whether `access` is called.
    const MEMORY: bool = false;
    /// Whether `trap` and `trap_return` are called.
    const TRAP: bool = false;

    /// An instruction retired.
    #[inline(always)]
    fn retire(&mut self, _retired: &Retired) {}

    /// Memory was accessed.
    #[inline(always)]
    fn access(&mut self, _access: &Access) {}

    /// A trap was taken.
    #[inline(always)]
    fn trap(&mut self, _trap: &Trap) {}

    /// A trap handler returned.
    #[inline(always)]
    fn trap_return(&mut self, _ret: &TrapReturn) {}
}

/// Watches nothing.
impl Observer for () {}
