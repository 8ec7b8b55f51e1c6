//! The state of the fast engine: decoded ops, the table of jump targets, and the TLBs. [`crate::blocks`] builds and
//! runs what is here.

mod decoded;
mod op;

pub(crate) use decoded::Decoded;
pub(crate) use op::{Code, MicroOp, called, fold};

use crate::fold::Map;
use crate::hart::{Hart, status};
use crate::insn::Insn;
use crate::jump::{JUMP_ENTRIES, Jump, boxed, jump_index};
use crate::log::LOG;
use crate::map::RAM_BASE;
use crate::mmu::PAGE;
use crate::observer::{BlockInsn, Pass, Touch};
use crate::privilege::Privilege;
use crate::tier::{TLB_ENTRIES, Tier, Tlb, TlbEntry};

/// Ops in the arena. A `u16` can name each, so that no access needs a bounds check.
pub(crate) const ARENA: usize = 1 << 16;
pub(crate) const CONTEXTS: usize = 8;

/// The engine's data for an instruction besides its op.
pub(crate) type Meta = BlockInsn;

/// Why the engine returned.
pub(crate) enum Pause {
    /// The horizon is near.
    Horizon,
    /// This instruction, at the hart's pc, is the reference interpreter's.
    Execute(Insn, u32),
    /// The reference interpreter has to fetch at the hart's pc.
    Fetch,
}

/// Matches no address that has been masked.
pub(crate) const NO_TAG: u64 = 1 << 11;

const EMPTY_TLB: Tlb = [TlbEntry { tag: NO_TAG, addend: 0 }; TLB_ENTRIES];

/// Pages of code that each context knows.
const FETCHES: usize = 64;

/// A page that instructions may be fetched from in a context.
#[derive(Clone, Copy)]
pub(crate) struct Fetched {
    /// Its virtual address, and the physical one.
    page: u64,
    pa: u64,
}

impl Fetched {
    const NOWHERE: Fetched = Fetched { page: NO_TAG, pa: 0 };
}

/// Blocks contain floating point.
pub(crate) const FP_ON: u8 = 8;
/// Indirect jumps are the reference interpreter's, because a landing pad may be expected behind them.
pub(crate) const PADS: u8 = 16;

/// Everything that a translation, a permission or a decoded op depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) privilege: Privilege,
    pub(crate) data_privilege: Privilege,
    pub(crate) satp: u64,
    /// SUM and MXR.
    pub(crate) status: u64,
    /// What decoded ops depend on: [`FP_ON`] with the rounding mode, and [`PADS`].
    pub(crate) fp: u8,
}

impl Context {
    pub(crate) fn of(hart: &Hart) -> Self {
        // Floating point runs in blocks only while FS is Dirty, so that no op has to set it.
        let fp = if hart.mstatus & status::FS == status::FS { hart.frm | FP_ON } else { 0 };
        let fp = fp | if hart.has_pads(hart.privilege) { PADS } else { 0 };
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
pub(crate) struct Arena {
    pub(crate) ops: Box<[MicroOp; ARENA]>,
    /// The target of an instruction that jumps, if it is known; 0 if not.
    pub(crate) links: Box<[u16; ARENA]>,
    /// The data of each instruction; as long as the arena is used, and one block more.
    pub(crate) meta: Vec<Meta>,
    pub(crate) jumps: Box<[Jump; JUMP_ENTRIES]>,
    pub(crate) loads: Box<[Tlb; CONTEXTS]>,
    pub(crate) stores: Box<[Tlb; CONTEXTS]>,
    /// Which entries of these two have been filled since they were empty, some perhaps more than once.
    pub(crate) filled: [Vec<u16>; CONTEXTS],
    /// Where the pages are that code was found in.
    pub(crate) fetches: Box<[[Fetched; FETCHES]; CONTEXTS]>,
    pub(crate) decoded: Decoded,
    /// Events that were not reported to observers of blocks yet.
    pub(crate) passes: Box<[Pass; LOG]>,
    pub(crate) accesses: Box<[Touch; LOG]>,
    pub(crate) operands: Box<[[u64; 2]; LOG]>,
}

impl Arena {
    pub(crate) fn new() -> Self {
        Arena {
            ops: boxed(MicroOp::NOTHING),
            links: boxed(0),
            meta: Vec::new(),
            jumps: boxed(Jump::NOWHERE),
            loads: boxed(EMPTY_TLB),
            stores: boxed(EMPTY_TLB),
            filled: [const { Vec::new() }; CONTEXTS],
            fetches: boxed([Fetched::NOWHERE; FETCHES]),
            decoded: Decoded::new(),
            passes: boxed(Pass::NONE),
            accesses: boxed(Touch::NONE),
            operands: boxed([0; 2]),
        }
    }

    /// Puts the page of an address into a TLB.
    pub(crate) fn fill_tlb(&mut self, slot: usize, va: u64, store: bool, addend: u64) {
        let index = tlb_index(va);
        let tlb = if store { &mut self.stores[slot] } else { &mut self.loads[slot] };
        tlb[index] = TlbEntry { tag: va & !(PAGE - 1), addend };
        if self.filled[slot].len() < TLB_ENTRIES {
            self.filled[slot].push(index as u16);
        }
    }

    /// Notes from which physical page instructions may be fetched at an address.
    pub(crate) fn note_fetch(&mut self, slot: usize, va: u64, pa: u64) {
        self.fetches[slot][fetch_index(va)] = Fetched { page: va & !(PAGE - 1), pa };
    }

    /// The physical page that was noted for an address.
    pub(crate) fn fetched(&self, slot: usize, va: u64) -> Option<u64> {
        let entry = self.fetches[slot][fetch_index(va)];
        (entry.page == va & !(PAGE - 1)).then_some(entry.pa)
    }

    /// Empties the TLBs of a slot: a kernel does that so often that all entries would take longer than those that are used.
    fn empty_tlbs(&mut self, slot: usize) {
        let filled = &mut self.filled[slot];
        if filled.len() < TLB_ENTRIES {
            for &index in &*filled {
                for tlb in [&mut self.loads, &mut self.stores] {
                    tlb[slot][usize::from(index) % TLB_ENTRIES].tag = NO_TAG;
                }
            }
        } else {
            (self.loads[slot], self.stores[slot]) = (EMPTY_TLB, EMPTY_TLB);
        }
        filled.clear();
        self.fetches[slot] = [Fetched::NOWHERE; FETCHES];
    }
}

/// Pages of which more is cached than one entry of each TLB: large ones, and those from which instructions were fetched. A set
/// that may contain more than was put into it.
pub(crate) struct Spread(Box<[u64; Spread::WORDS]>);

impl Default for Spread {
    fn default() -> Self {
        Spread(boxed(0))
    }
}

impl Spread {
    const WORDS: usize = 512;
    /// The sizes of pages as powers of two: those of Sv39 and Sv48, and Sv32's large ones.
    const SHIFTS: [u32; 5] = [12, 21, 22, 30, 39];

    fn place(va: u64, shift: u32) -> (usize, u64) {
        // Neighbors, and pages of another size, are elsewhere (Fibonacci hashing).
        let hash = ((va >> shift) << 6 | u64::from(shift)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 49;
        (hash as usize / 64 % Self::WORDS, 1 << (hash % 64))
    }

    /// Puts in the page of an address.
    pub(crate) fn insert(&mut self, va: u64, shift: u32) {
        let (word, bit) = Self::place(va, shift);
        self.0[word] |= bit;
    }

    fn may_contain(&self, va: u64) -> bool {
        Self::SHIFTS.iter().any(|&shift| {
            let (word, bit) = Self::place(va, shift);
            self.0[word] & bit != 0
        })
    }
}

/// The engine's state. It caches; the machine's state is elsewhere.
pub(crate) struct Engine {
    pub(crate) arena: Option<Box<Arena>>,
    /// Where the next block goes; 0 stays unused.
    pub(crate) used: usize,
    /// Where blocks begin and end, by virtual address, and physical page with floating-point state.
    pub(crate) blocks: Map<(u64, u64), (u16, u16)>,
    /// Which blocks there are in each physical page.
    pub(crate) pages: Map<u64, Vec<(u64, u64)>>,
    pub(crate) contexts: [Option<(Context, u32)>; CONTEXTS],
    pub(crate) next_context: u32,
    pub(crate) victim: usize,
    pub(crate) current: usize,
    /// State on which more than an entry of a TLB depends.
    pub(crate) spread: Spread,
    /// How often all blocks were dropped.
    pub(crate) drops: u64,
    /// Whether each instruction has an op of its own, as observers of retirement need.
    pub(crate) precise: bool,
    /// Whether blocks contain vector instructions: only while no observer wants to see what they do.
    pub(crate) vectors: bool,
    /// The translator of hot code, if there is one.
    pub(crate) tier: Option<Tier>,
}

impl Engine {
    pub(crate) fn new() -> Self {
        Engine {
            arena: None,
            used: 1,
            blocks: Map::default(),
            pages: Map::default(),
            contexts: [None; CONTEXTS],
            next_context: 1,
            victim: 0,
            current: 0,
            spread: Spread::default(),
            drops: 0,
            precise: false,
            vectors: false,
            tier: None,
        }
    }

    /// Drops all decoded code; what was translated of it is compared with memory before it is used again.
    pub(crate) fn flush_blocks(&mut self) {
        if let Some(tier) = &mut self.tier {
            tier.doubt();
            self.flush_translations();
        }
        self.drop_blocks();
    }

    /// Drops all blocks.
    pub(crate) fn drop_blocks(&mut self) {
        if self.used == 1 {
            return;
        }
        self.used = 1;
        self.drops += 1;
        self.blocks.clear();
        self.pages.clear();
        if let Some(tier) = &mut self.tier {
            tier.move_places();
        }
        if let Some(arena) = &mut self.arena {
            arena.links.fill(0);
        }
        // The jump table's entries name blocks that are gone. (The TLBs may survive, and with them what they depend on.)
        self.contexts = [None; CONTEXTS];
    }

    /// Notes a new block.
    pub(crate) fn insert_block(&mut self, key: (u64, u64), places: (u16, u16)) {
        self.blocks.insert(key, places);
        self.pages.entry(key.1 & !(PAGE - 1)).or_default().push(key);
    }

    /// Drops the blocks of a physical page, which was written. Their places stay unused until all blocks are dropped; only blocks of
    /// the same page are linked to them. What was translated is compared with memory before it is used again.
    pub(crate) fn drop_page(&mut self, page: u64) {
        for key in self.pages.remove(&page).unwrap_or_default() {
            let block = self.blocks.remove(&key);
            if let (Some((start, _)), Some(arena)) = (block, &mut self.arena) {
                let jump = &mut arena.jumps[jump_index(key.0)];
                if jump.start == start {
                    *jump = Jump::NOWHERE;
                }
            }
        }
        if let Some(tier) = &mut self.tier {
            tier.doubt_page(page);
        }
    }

    /// Whether all blocks have been dropped since the count was `drops`.
    pub(crate) fn flushed_since(&self, drops: u64) -> bool {
        self.drops != drops
    }

    /// Forgets every translation and permission.
    pub(crate) fn flush_translations(&mut self) {
        self.contexts = [None; CONTEXTS];
        self.spread = Spread::default();
    }

    /// Forgets what was cached of the page table entry that leads to an address.
    pub(crate) fn flush_translation(&mut self, va: u64) {
        if self.spread.may_contain(va) {
            return self.flush_translations();
        }
        let Some(arena) = &mut self.arena else { return };
        for tlb in arena.loads.iter_mut().chain(arena.stores.iter_mut()) {
            let entry = &mut tlb[tlb_index(va)];
            if entry.tag == va & !(PAGE - 1) {
                entry.tag = NO_TAG;
            }
        }
    }

    /// Forgets where stores to a physical page go.
    pub(crate) fn forget_stores(&mut self, page: u64) {
        let Some(arena) = &mut self.arena else { return };
        for entry in arena.stores.iter_mut().flatten() {
            if entry.tag != NO_TAG && entry.tag.wrapping_add(entry.addend) == page.wrapping_sub(RAM_BASE) {
                entry.tag = NO_TAG;
            }
        }
    }

    /// Finds or makes the slot of a context; yields the slot and its number.
    pub(crate) fn enter(&mut self, context: Context) -> (usize, u32) {
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
        arena.empty_tlbs(slot);
        let id = self.next_context;
        match id.checked_add(1) {
            Some(next) => self.next_context = next,
            None => {
                // Numbers start again, and must not match entries of the first round.
                arena.jumps.fill(Jump::NOWHERE);
                if let Some(tier) = &mut self.tier {
                    tier.forget_starts();
                }
                self.contexts = [None; CONTEXTS];
                self.next_context = 1;
            }
        }
        self.contexts[slot] = Some((context, id));
        self.current = slot;
        (slot, id)
    }
}

fn fetch_index(va: u64) -> usize {
    (va >> 12) as usize & (FETCHES - 1)
}

#[inline(always)]
pub(crate) fn tlb_index(va: u64) -> usize {
    (va >> 12) as usize & (TLB_ENTRIES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Machine};

    #[test]
    fn another_context_finds_nothing_of_the_one_whose_slot_it_has() {
        let machine = Machine::new(Config { ram_bytes: 1 << 20, ..Config::default() }).unwrap();
        let context = |satp| Context { satp, ..Context::of(&machine.hart) };
        let mut engine = Engine::new();
        // A few entries, and more than there are.
        for pages in [3, TLB_ENTRIES as u64 + 5] {
            let (slot, _) = engine.enter(context(pages));
            let arena = engine.arena.as_mut().unwrap();
            for va in (0..pages).map(|page| page << 12) {
                arena.fill_tlb(slot, va, va & 0x1000 != 0, 0);
                arena.note_fetch(slot, va, 0x8000_0000 + va);
            }
            let last = (pages - 1) << 12;
            assert_eq!(arena.fetched(slot, last + 0xffe), Some(0x8000_0000 + last));
            assert_eq!(arena.loads[slot][tlb_index(last)].tag, last);
            assert_eq!(arena.stores[slot][tlb_index(last - 0x1000)].tag, last - 0x1000);
            for other in 0..CONTEXTS as u64 {
                engine.enter(context(pages << 16 | other));
            }
            let arena = engine.arena.as_mut().unwrap();
            assert!((0..pages).all(|page| arena.fetched(slot, page << 12).is_none()));
            assert!(arena.loads[slot].iter().chain(&arena.stores[slot]).all(|entry| entry.tag == NO_TAG));
        }
    }
}
