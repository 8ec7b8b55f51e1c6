//! The fast engine: decoded superblocks, chained to each other, and a software TLB.
//!
//! A superblock is what follows an address through direct jumps and not-taken branches, up to an indirect jump,
//! a system instruction, the end of the page or [`LONGEST_BLOCK`] instructions. It depends on nothing but the
//! code: not on which way branches went. Anything that a block cannot do by itself (system instructions,
//! atomics, devices, page faults, misaligned accesses) stops the engine before the instruction, and the
//! reference interpreter does it. So there is one routine for traps, and exceptions are precise for free.
//!
//! What makes blocks and cached translations void, and why that is enough:
//!
//! * A block is known by its virtual and physical address and by the floating-point state that it was built
//!   for, so it stays valid whatever the page tables say. `fence.i` and writes from outside drop all blocks;
//!   between a store to code and the `fence.i` the specification lets the old code run.
//! * Which block a jump leads to is looked up in a table whose entries carry a context number. A context is
//!   everything that translation and permission depend on: privilege, `satp`, and `mstatus` fields. Its
//!   number is never used again after `sfence.vma` or a change of PMP. Each of the latest contexts has a TLB of
//!   its own.
//! * Links from block to block never leave the page: as long as the first block may run, so may the second.
//! * No store to the page of `tohost` goes through the TLB.

mod block;
mod run;

pub(crate) use run::Pause;

use std::collections::HashMap;

use crate::hart::{Hart, Privilege, status};
use crate::machine::Machine;
use crate::mmu::{AccessType, PAGE};
use crate::observer::{BlockInsn, Observer, Pass, Touch};
use crate::pmp::Verdict;
use block::MicroOp;

/// The most instructions that one pass through a block can retire.
pub(crate) const LONGEST_BLOCK: u64 = 96;

/// Ops in the arena. A `u16` can name each, so that no access needs a bounds check.
const ARENA: usize = 1 << 16;
const JUMP_ENTRIES: usize = 4096;
const TLB_ENTRIES: usize = 256;
const CONTEXTS: usize = 8;

/// What is known of an instruction besides how to do it.
type Meta = BlockInsn;

/// An entry of the table of jump targets.
#[derive(Clone, Copy)]
struct Jump {
    pc: u64,
    context: u32,
    start: u16,
}

/// A page that accesses of one kind may go to.
#[derive(Clone, Copy)]
struct TlbEntry {
    /// The page's virtual address; the low bits are zero, so that a misaligned access cannot match.
    tag: u64,
    /// What makes an address in the page an index of RAM.
    addend: u64,
}

/// Matches no address that has been masked.
const NO_TAG: u64 = 1 << 11;

type Tlb = [TlbEntry; TLB_ENTRIES];

const EMPTY_TLB: Tlb = [TlbEntry { tag: NO_TAG, addend: 0 }; TLB_ENTRIES];

/// Everything that a translation, a permission or a decoded op depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Context {
    privilege: Privilege,
    data_privilege: Privilege,
    satp: u64,
    /// SUM and MXR.
    status: u64,
    fp: u8,
}

impl Context {
    fn of(hart: &Hart) -> Self {
        // Floating point runs in blocks only while FS is Dirty, so that no op has to set it.
        let fp = if hart.mstatus & status::FS == status::FS { hart.frm | 8 } else { 0 };
        Context {
            privilege: hart.privilege,
            data_privilege: hart.data_privilege(),
            satp: hart.satp,
            status: hart.mstatus & (status::SUM | status::MXR),
            fp,
        }
    }
}

/// The large arrays, made when the engine first runs.
struct Arena {
    ops: Box<[MicroOp; ARENA]>,
    /// Where an instruction that jumps goes on, if that is known; 0 is nowhere.
    links: Box<[u16; ARENA]>,
    /// What is known of each instruction; as long as the arena is used, and one block more.
    meta: Vec<Meta>,
    jumps: Box<[Jump; JUMP_ENTRIES]>,
    loads: Box<[Tlb; CONTEXTS]>,
    stores: Box<[Tlb; CONTEXTS]>,
    /// What observers of blocks have not been told yet.
    passes: Box<[Pass; LOG]>,
    accesses: Box<[Touch; LOG]>,
}

/// Runs of instructions, and accesses, that are noted before an observer of blocks is told of them: as many as
/// fit in a processor's first cache beside what the guest needs.
const LOG: usize = 256;
/// So many instructions at most make a note each, until the next jump.
const LOG_FULL: u64 = LOG as u64 - LONGEST_BLOCK;

/// An array that is made on the heap at once.
pub(crate) fn boxed<T: Clone, const N: usize>(value: T) -> Box<[T; N]> {
    match vec![value; N].into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("the vector has N elements"),
    }
}

impl Arena {
    fn new() -> Self {
        Arena {
            ops: boxed(MicroOp::NOTHING),
            links: boxed(0),
            meta: Vec::new(),
            jumps: boxed(Jump { pc: 1, context: 0, start: 0 }),
            loads: boxed(EMPTY_TLB),
            stores: boxed(EMPTY_TLB),
            passes: boxed(Pass::NONE),
            accesses: boxed(Touch::NONE),
        }
    }
}

/// The engine's state. It caches; the machine's state is elsewhere.
pub(crate) struct Engine {
    arena: Option<Box<Arena>>,
    /// Where the next block goes; 0 stays unused.
    used: usize,
    /// Blocks by virtual address, and physical page with floating-point state.
    blocks: HashMap<(u64, u64), u16>,
    contexts: [Option<(Context, u32)>; CONTEXTS],
    next_context: u32,
    victim: usize,
    current: usize,
    /// How often all blocks were dropped.
    drops: u64,
    /// Whether each instruction has an op of its own, as observers of retirement need.
    precise: bool,
}

impl Engine {
    pub(crate) fn new() -> Self {
        Engine {
            arena: None,
            used: 1,
            blocks: HashMap::new(),
            contexts: [None; CONTEXTS],
            next_context: 1,
            victim: 0,
            current: 0,
            drops: 0,
            precise: false,
        }
    }

    /// Drops all decoded code.
    pub(crate) fn flush_blocks(&mut self) {
        if self.used == 1 {
            return;
        }
        self.used = 1;
        self.drops += 1;
        self.blocks.clear();
        if let Some(arena) = &mut self.arena {
            arena.links.fill(0);
        }
        // The jump table's entries name blocks that are gone.
        self.flush_translations();
    }

    /// Whether blocks have been dropped since `drops` was noted.
    fn flushed_since(&self, drops: u64) -> bool {
        self.drops != drops
    }

    /// Forgets every translation and permission.
    pub(crate) fn flush_translations(&mut self) {
        self.contexts = [None; CONTEXTS];
    }

    /// Finds or makes the slot of a context; yields the slot and its number.
    fn enter(&mut self, context: Context) -> (usize, u32) {
        if let Some((c, id)) = self.contexts[self.current]
            && c == context
        {
            return (self.current, id);
        }
        let known = self.contexts.iter().position(|slot| slot.is_some_and(|(c, _)| c == context));
        if let Some(slot) = known
            && let Some((_, id)) = self.contexts[slot]
        {
            self.current = slot;
            return (slot, id);
        }
        let slot = self.victim;
        self.victim = (slot + 1) % CONTEXTS;
        let arena = self.arena.get_or_insert_with(|| Box::new(Arena::new()));
        arena.loads[slot] = EMPTY_TLB;
        arena.stores[slot] = EMPTY_TLB;
        let id = self.next_context;
        match id.checked_add(1) {
            Some(next) => self.next_context = next,
            None => {
                // Numbers begin again, and must not meet entries of the first round.
                arena.jumps.fill(Jump { pc: 1, context: 0, start: 0 });
                self.contexts = [None; CONTEXTS];
                self.next_context = 1;
            }
        }
        self.contexts[slot] = Some((context, id));
        self.current = slot;
        (slot, id)
    }
}

impl Machine {
    /// The block at an address, built if need be; `None` when the reference interpreter has to fetch there.
    fn find_block<O: Observer>(&mut self, pc: u64, context: Context, id: u32, obs: &mut O) -> Option<u16> {
        let pa = self.way_told(pc, AccessType::Fetch, context.privilege, obs).ok()?;
        let page = pa & !(PAGE - 1);
        if self.hart.pmp.check(page, PAGE, AccessType::Fetch, context.privilege) != Verdict::Allowed {
            return None;
        }
        self.bus.ram_slice(page, PAGE)?;
        let key = (pc, page | u64::from(context.fp));
        let start = match self.engine.blocks.get(&key) {
            Some(&start) => start,
            None => {
                let start = self.build_block(pc, page, context.fp);
                self.engine.blocks.insert(key, start);
                start
            }
        };
        if let Some(arena) = &mut self.engine.arena {
            arena.jumps[jump_index(pc)] = Jump { pc, context: id, start };
        }
        Some(start)
    }

    /// Puts the page of an access into the TLB; false when the reference interpreter has to do the access.
    fn fill_tlb<O: Observer>(&mut self, slot: usize, va: u64, store: bool, obs: &mut O) -> bool {
        let access = if store { AccessType::Store } else { AccessType::Load };
        let privilege = self.hart.data_privilege();
        if self.hart.canonical(va) != va {
            return false;
        }
        let Ok(pa) = self.way_told(va, access, privilege, obs) else { return false };
        let pa = pa & !(PAGE - 1);
        if self.hart.pmp.check(pa, PAGE, access, privilege) != Verdict::Allowed
            || self.bus.ram_slice(pa, PAGE).is_none()
            || store && self.bus.htif.as_ref().is_some_and(|h| h.watches(pa))
        {
            return false;
        }
        let Some(arena) = &mut self.engine.arena else { return false };
        let va_page = va & !(PAGE - 1);
        let addend = (pa - crate::bus::RAM_BASE).wrapping_sub(va_page);
        let tlb = if store { &mut arena.stores[slot] } else { &mut arena.loads[slot] };
        tlb[tlb_index(va)] = TlbEntry { tag: va_page, addend };
        true
    }
}

#[inline(always)]
fn jump_index(pc: u64) -> usize {
    (pc >> 1) as usize & (JUMP_ENTRIES - 1)
}

#[inline(always)]
fn tlb_index(va: u64) -> usize {
    (va >> 12) as usize & (TLB_ENTRIES - 1)
}
