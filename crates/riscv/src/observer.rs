//! Observable events: retired instructions, memory accesses, traps and returns.

mod any;

use std::mem::offset_of;

pub(crate) use any::AnyObserver;

use crate::counter::Counter;
use crate::exception::{Trap, TrapReturn};
use crate::hpm::EventCounts;
use crate::insn::{Class, Insn};
use crate::privilege::Privilege;

/// An instruction that retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    /// Its address.
    pub pc: u64,
    /// Its physical address (that of its first byte: the second half may be in another page).
    pub pa: u64,
    /// The address of the next instruction, unless an interrupt is taken first.
    pub next_pc: u64,
    /// The instruction.
    pub insn: Insn,
    /// Its bits; the upper half is zero for a 16-bit one.
    pub word: u32,
    /// The mode in which it ran.
    pub privilege: Privilege,
    /// The destination register's value afterwards (0 when it has none, or `x0`).
    pub value: u64,
    /// The source registers' values before, if [`Op::by_operands`](crate::Op::by_operands); otherwise 0.
    pub operands: [u64; 2],
    /// Whether it is a branch that was taken: its target may be the next instruction.
    pub taken: bool,
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

/// A completed memory access. A misaligned one that crosses pages is one access, with the physical address
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
    /// The value that was read or written, zero-extended.
    pub value: u64,
}

/// A page-table walk: where the page table entries of a page are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The virtual address that was translated.
    pub va: u64,
    /// Its physical address.
    pub pa: u64,
    /// The physical addresses of the entries, from the root; the first `levels` count.
    pub tables: [u64; 4],
    /// How many.
    pub levels: u8,
    /// The size of the page as a power of two: 12, or more for large pages.
    pub shift: u32,
}

impl Walk {
    /// The physical addresses of the entries, from the root.
    pub fn entries(&self) -> &[u64] {
        &self.tables[..usize::from(self.levels).min(4)]
    }
}

/// An instruction in a decoded block.
#[derive(Clone, Copy, Debug)]
pub struct BlockInsn {
    /// Its address, sign-extended on RV32.
    pub pc: u64,
    /// The instruction.
    pub insn: Insn,
    /// Its bits.
    pub word: u32,
    /// Its physical page: the physical address less the lowest 12 bits, shifted down by them.
    pub page: u32,
}

/// One run of instructions of a decoded block that retired one after the other, as [`Several`] reports it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Pass {
    /// Where its last instruction went, when that is an indirect jump; sign-extended on RV32.
    pub target: u64,
    /// From the lowest bit: whether it was taken; 16 bits for the end, 16 for the start.
    run: u64,
}

impl Pass {
    /// At which bytes of it its target and its number are, for translations.
    pub const LAYOUT: [usize; 2] = [offset_of!(Pass, target), offset_of!(Pass, run)];

    /// A pass of no instructions.
    pub(crate) const NONE: Pass = Pass { target: 0, run: 0 };

    /// The instructions from one place in the engine's memory to another.
    #[inline(always)]
    pub fn new(start: u16, end: u16, taken: bool, target: u64) -> Self {
        Pass { target, run: u64::from(start) << 17 | u64::from(end) << 1 | u64::from(taken) }
    }

    /// Encodes start, end and, in the lowest bit, whether it was taken. Two runs of the same epoch and number are the same
    /// instructions, and went the same way unless that was an indirect jump. The lowest bits differ most.
    #[inline(always)]
    pub fn number(&self) -> u64 {
        self.run
    }

    /// The place of the first instruction.
    #[inline(always)]
    pub fn start(&self) -> u16 {
        (self.run >> 17) as u16
    }

    /// The place behind the last one.
    #[inline(always)]
    pub fn end(&self) -> u16 {
        (self.run >> 1) as u16
    }

    /// The part of it from one place to another.
    #[inline(always)]
    pub fn part(&self, start: u16, end: u16) -> Self {
        Pass::new(start, end, self.taken() && end == self.end(), self.target)
    }

    /// Whether the last of them is a branch that was taken, or an indirect jump whose target is not the next
    /// instruction.
    #[inline(always)]
    pub fn taken(&self) -> bool {
        self.run & 1 != 0
    }
}

/// An access of an instruction in a decoded block; aligned, and to RAM. The instruction determines what it loads or
/// stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Touch {
    /// Its virtual address, sign-extended on RV32.
    pub va: u64,
    /// Its physical address, and in the lowest bit whether it stored.
    at: u64,
}

impl Touch {
    /// At which bytes of it are, for translations, its virtual address, and its physical address times two, plus one if it stored.
    pub const LAYOUT: [usize; 2] = [offset_of!(Touch, va), offset_of!(Touch, at)];

    /// A placeholder.
    pub(crate) const NONE: Touch = Touch { va: 0, at: 0 };

    #[inline(always)]
    pub(crate) fn new(va: u64, pa: u64, store: bool) -> Self {
        Touch { va, at: pa << 1 | u64::from(store) }
    }

    /// Its physical address.
    #[inline(always)]
    pub fn pa(&self) -> u64 {
        self.at >> 1
    }

    /// Whether it stored.
    #[inline(always)]
    pub fn store(&self) -> bool {
        self.at & 1 != 0
    }
}

/// Runs of instructions that retired one after the other, with their accesses.
#[derive(Clone, Copy, Debug)]
pub struct Several<'a> {
    /// The runs, in order.
    pub passes: &'a [Pass],
    /// All their accesses, in order, one of each load and store; none unless [`Observer::MEMORY`] is set.
    pub accesses: &'a [Touch],
    /// The source registers' values of all their instructions that are [`Op::by_operands`](crate::Op::by_operands), in
    /// order; none unless the observer asks for [`operands`](Observer::operands).
    pub operands: &'a [[u64; 2]],
    /// The engine's memory of instructions.
    pub insns: &'a [BlockInsn],
    /// Counts how often decoded code was dropped.
    pub epoch: u64,
    /// The mode.
    pub privilege: Privilege,
    /// Whether addresses have 32 bits.
    pub rv32: bool,
    /// Instructions retired before all of this, since reset.
    pub retired: u64,
}

impl<'a> Several<'a> {
    /// An address as [`Retired`] shows it.
    #[inline(always)]
    pub fn outside(&self, pc: u64) -> u64 {
        if self.rv32 { u64::from(pc as u32) } else { pc }
    }

    /// The instructions of one of the runs.
    pub fn insns(&self, pass: &Pass) -> &'a [BlockInsn] {
        self.insns.get(usize::from(pass.start())..usize::from(pass.end())).unwrap_or_default()
    }

    /// Where the instruction in a place of one of the runs went, as [`Retired`] shows it.
    pub fn next_pc(&self, pass: &Pass, place: u16) -> u64 {
        let here = self.insns.get(usize::from(place));
        let next = match here.map(|here| (here.insn.row().class, here)) {
            Some((Class::JumpReg, _)) => pass.target,
            Some((Class::Branch, last)) if pass.taken() && place + 1 == pass.end() => {
                last.pc.wrapping_add(last.insn.imm as u64)
            }
            _ => self.insns.get(usize::from(place) + 1).map_or(0, |next| next.pc),
        };
        self.outside(next)
    }
}

/// Observes a machine. Methods that the constants switch off cost nothing, and are never called.
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
    /// Whether `several` is called for the instructions of decoded blocks, instead of `access` and `retire` for each
    /// of them. Other instructions are reported one by one.
    const BLOCKS: bool = false;
    /// Whether `walk` and `address_space` are called.
    const WALK: bool = false;
    /// Whether `csr` is called.
    const CSR: bool = false;

    /// Whether [`Several::operands`] is needed. It must not change during a run.
    #[inline(always)]
    fn operands(&self) -> bool {
        false
    }

    /// This as an observer to which most accesses are quiet, if it is one: then hot code is translated. By default it is not.
    #[inline(always)]
    fn counter(&mut self) -> Option<&mut dyn Counter> {
        None
    }

    /// How many more cycles than instructions have passed since this was asked last; so many instructions have retired
    /// since reset. The machine asks before each instruction that accesses a control and status register, and lets
    /// `mcycle` run ahead by that; also behind one that sets `mcycle`, whose own cycles do not count. The default is 0: `mcycle` counts instructions.
    #[inline(always)]
    fn run_ahead(&mut self, _retired: u64) -> i64 {
        0
    }

    /// How often events happened since this was asked last. The machine asks before each instruction that accesses a counter of
    /// events or chooses its event. By default there are none.
    fn happened(&mut self) -> EventCounts {
        EventCounts::default()
    }

    /// An instruction retired.
    #[inline(always)]
    fn retire(&mut self, _retired: &Retired) {}

    /// Instructions of decoded blocks retired, with their accesses.
    #[inline(always)]
    fn several(&mut self, _several: &Several) {}

    /// Events from now on happen on this hart. Called when a run begins, and when it is another hart's turn.
    #[inline(always)]
    fn hart(&mut self, _hart: usize) {}

    /// A page-table walk succeeded. The machine caches translations: it reports the walk for a page before the first
    /// access to it, and again after `sfence.vma`, but not each time. The observer models which translations a TLB
    /// would hold.
    #[inline(always)]
    fn walk(&mut self, _walk: &Walk) {}

    /// `satp` has this value from now on; also called when a run begins.
    #[inline(always)]
    fn address_space(&mut self, _satp: u64) {}

    /// Memory was accessed.
    #[inline(always)]
    fn access(&mut self, _access: &Access) {}

    /// An instruction wrote a control and status register, which now has this value.
    #[inline(always)]
    fn csr(&mut self, _number: u16, _value: u64) {}

    /// A trap was taken.
    #[inline(always)]
    fn trap(&mut self, _trap: &Trap) {}

    /// A trap handler returned.
    #[inline(always)]
    fn trap_return(&mut self, _ret: &TrapReturn) {}
}

/// Observes nothing.
impl Observer for () {}

/// Two observers of one machine; neither may use blocks where the other uses single instructions or accesses.
impl<A: Observer, B: Observer> Observer for (&mut A, &mut B) {
    const RETIRE: bool = A::RETIRE || B::RETIRE;
    const MEMORY: bool = A::MEMORY || B::MEMORY;
    const TRAP: bool = A::TRAP || B::TRAP;
    const BLOCKS: bool = {
        let singles = [A::RETIRE || A::MEMORY && !A::BLOCKS, B::RETIRE || B::MEMORY && !B::BLOCKS];
        assert!(!(A::BLOCKS && singles[1] || B::BLOCKS && singles[0]), "blocks and single instructions");
        A::BLOCKS || B::BLOCKS
    };
    const WALK: bool = A::WALK || B::WALK;
    const CSR: bool = A::CSR || B::CSR;
    #[inline(always)]
    fn operands(&self) -> bool {
        self.0.operands() || self.1.operands()
    }
    #[inline(always)]
    fn counter(&mut self) -> Option<&mut dyn Counter> {
        match [A::RETIRE || A::MEMORY || A::BLOCKS, B::RETIRE || B::MEMORY || B::BLOCKS] {
            [true, false] => self.0.counter(),
            [false, true] => self.1.counter(),
            _ => None,
        }
    }
    #[inline(always)]
    fn run_ahead(&mut self, retired: u64) -> i64 {
        self.0.run_ahead(retired) + self.1.run_ahead(retired)
    }
    fn happened(&mut self) -> EventCounts {
        let (mut sum, other) = (self.0.happened(), self.1.happened());
        sum.iter_mut().zip(other).for_each(|(sum, more)| *sum += more);
        sum
    }
    #[inline(always)]
    fn retire(&mut self, retired: &Retired) {
        if A::RETIRE || A::BLOCKS {
            self.0.retire(retired);
        }
        if B::RETIRE || B::BLOCKS {
            self.1.retire(retired);
        }
    }
    #[inline(always)]
    fn several(&mut self, several: &Several) {
        if A::BLOCKS {
            self.0.several(several);
        }
        if B::BLOCKS {
            self.1.several(several);
        }
    }
    #[inline(always)]
    fn hart(&mut self, hart: usize) {
        self.0.hart(hart);
        self.1.hart(hart);
    }
    #[inline(always)]
    fn walk(&mut self, walk: &Walk) {
        if A::WALK {
            self.0.walk(walk);
        }
        if B::WALK {
            self.1.walk(walk);
        }
    }
    #[inline(always)]
    fn address_space(&mut self, satp: u64) {
        if A::WALK {
            self.0.address_space(satp);
        }
        if B::WALK {
            self.1.address_space(satp);
        }
    }
    #[inline(always)]
    fn access(&mut self, access: &Access) {
        if A::MEMORY {
            self.0.access(access);
        }
        if B::MEMORY {
            self.1.access(access);
        }
    }
    #[inline(always)]
    fn csr(&mut self, number: u16, value: u64) {
        if A::CSR {
            self.0.csr(number, value);
        }
        if B::CSR {
            self.1.csr(number, value);
        }
    }
    #[inline(always)]
    fn trap(&mut self, trap: &Trap) {
        if A::TRAP {
            self.0.trap(trap);
        }
        if B::TRAP {
            self.1.trap(trap);
        }
    }
    #[inline(always)]
    fn trap_return(&mut self, ret: &TrapReturn) {
        if A::TRAP {
            self.0.trap_return(ret);
        }
        if B::TRAP {
            self.1.trap_return(ret);
        }
    }
}
