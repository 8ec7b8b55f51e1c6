//! The fast engine: decoded superblocks, chained to each other, and a software TLB.
//!
//! A superblock is what follows an address through direct jumps and not-taken branches, up to an indirect jump,
//! a system instruction, the end of the page or [`LONGEST_BLOCK`] instructions. It depends on nothing but the
//! code: not on which way branches went. Anything that a block cannot do by itself (system instructions,
//! atomics, devices, page faults, misaligned accesses) stops the engine before the instruction, and the
//! reference interpreter does it. So there is one routine for traps, and exceptions are precise for free.
//!
//! The events that invalidate blocks and cached translations, and why they suffice:
//!
//! * A block is known by its virtual and physical address and by the floating-point state that it was built
//!   for, so it stays valid whatever the page tables contain. `fence.i` and writes from outside drop all blocks;
//!   between a store to code and the `fence.i` the specification lets the old code run. Where fetches are coherent, each
//!   write to a page with blocks drops those of this page, and `fence.i` does nothing.
//! * Which block a jump leads to is looked up in a table whose entries carry a context number. A context is
//!   everything that translation and permission depend on: privilege, `satp`, and `mstatus` fields. Its
//!   number is never used again after `sfence.vma` or a change of PMP. Each of the latest contexts has TLBs of
//!   its own, for loads, stores and the code that blocks are built of. `sfence.vma` of one address drops no more than that address in these, if its page is small and was never
//!   fetched from.
//! * Links from block to block never leave the page: as long as the first block may run, so may the second.
//! * No store to the page of `tohost` goes through the TLB.

mod access;
mod build;
mod hot;
mod inner;
mod run;

use crate::engine::Context;
use crate::exception::AccessType;
use crate::jump::{Jump, jump_index};
use crate::machine::Machine;
use crate::mmu::{Found, PAGE};
use crate::observer::Observer;
use crate::pmp::Verdict;

impl Machine {
    /// The block at an address, built if need be; `None` when the reference interpreter has to fetch there.
    fn find_block<O: Observer>(&mut self, pc: u64, context: Context, id: u32, obs: &mut O) -> Option<u16> {
        let page = self.code_page(pc, context, obs)?;
        let key = (pc, page | u64::from(context.fp));
        let start = match self.engine.blocks.get(&key) {
            Some(&(start, _)) => start,
            None => {
                let block = self.build_block(pc, page, context.fp);
                self.note_code(page);
                self.engine.insert_block(key, block);
                block.0
            }
        };
        let is_translated = self.engine.tier.as_mut().is_some_and(|tier| tier.enter(key, id, &self.bus));
        if let Some(arena) = &mut self.engine.arena
            && !is_translated
        {
            arena.jumps[jump_index(pc)] = Jump { pc, context: id, start };
        }
        Some(start)
    }

    /// The physical page of the code at an address; `None` where the reference interpreter has to fetch.
    fn code_page<O: Observer>(&mut self, pc: u64, context: Context, obs: &mut O) -> Option<u64> {
        // (Observers of walks see one for each block.)
        let slot = self.engine.current;
        let known = self.engine.arena.as_ref().and_then(|arena| arena.fetched(slot, pc));
        if !O::WALK && known.is_some() {
            return known;
        }
        let found = self.find_page_reporting_walk(pc, AccessType::Fetch, context.privilege, obs).ok()?;
        let page = found.pa & !(PAGE - 1);
        if self.hart.pmp.check(page, PAGE, AccessType::Fetch, context.privilege) != Verdict::Allowed {
            return None;
        }
        self.bus.ram_slice(page, PAGE)?;
        self.engine.spread.insert(pc, PAGE.trailing_zeros());
        self.note_large(pc, &found);
        found.mark(&mut self.bus);
        if let Some(arena) = &mut self.engine.arena {
            arena.note_fetch(slot, pc, page);
        }
        Some(page)
    }

    /// Notes that the page of an address is one of many that depend on the same page table entry.
    #[inline(always)]
    fn note_large(&mut self, va: u64, found: &Found) {
        if found.shift > PAGE.trailing_zeros() {
            self.engine.spread.insert(va, found.shift);
        }
    }

    /// Puts the page of an access into the TLB; false when the reference interpreter has to do the access.
    fn fill_tlb<O: Observer>(&mut self, slot: usize, va: u64, store: bool, obs: &mut O) -> bool {
        let access = if store { AccessType::Store } else { AccessType::Load };
        let privilege = self.hart.data_privilege();
        if self.hart.canonical(va) != va {
            return false;
        }
        // Where upper bits are ignored, the TLB has an entry for each address as the instruction computes it.
        let target = self.hart.effective(va);
        let Ok(found) = self.find_page_reporting_walk(target, access, privilege, obs) else { return false };
        let pa = found.pa & !(PAGE - 1);
        if self.hart.pmp.check(pa, PAGE, access, privilege) != Verdict::Allowed
            || self.bus.ram_slice(pa, PAGE).is_none()
            || store && self.bus.htif.as_ref().is_some_and(|h| h.watches(pa))
            || store && self.bus.is_code(pa)
        {
            return false;
        }
        self.note_large(va, &found);
        found.mark(&mut self.bus);
        let Some(arena) = &mut self.engine.arena else { return false };
        let addend = (pa - self.bus.ram_base).wrapping_sub(va & !(PAGE - 1));
        arena.fill_tlb(slot, va, store, addend);
        true
    }
}
