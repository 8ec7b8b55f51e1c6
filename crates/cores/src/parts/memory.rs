//! Caches, translation buffers and the page table walker: what an access waits.

mod contents;
mod latest_lines;
mod quiet;
mod tlb;
mod window;

pub use self::contents::{Translation, TranslationBuffer};
use self::window::Window;

use self::tlb::{Latest, Tlb};
use crate::access::Data;
use crate::core::{Core, CoreError};
use crate::keys::{CacheShape, Memory as Latencies, TlbShape};
use tollgate_riscv::Map;
use tollgate_riscv::Privilege;
use tollgate_riscv::Walk;
use tollgate_riscv::cache::{Cache, Found};
use tollgate_riscv::is_device;

/// No line has this number.
const NO_LINE: u64 = u64::MAX;

/// Counts of the memory side. An access that crosses two lines counts twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    /// Instruction lines that missed.
    pub l1i_misses: u64,
    /// Data accesses, page table walks included.
    pub l1d_accesses: u64,
    /// Those that missed.
    pub l1d_misses: u64,
    /// Accesses to the second level.
    pub l2_accesses: u64,
    /// Those that missed.
    pub l2_misses: u64,
    /// Dirty lines that were written back from the first level.
    pub write_backs: u64,
    /// Instruction translations that were walked for.
    pub itlb_misses: u64,
    /// Data translations that were walked for.
    pub dtlb_misses: u64,
    /// Walks that the machine had not reported before, so that they cost no loads: 0 unless the observer was attached to
    /// a machine that had already run.
    pub unknown_walks: u64,
}

/// How long one access waits, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    pub(crate) walk: u32,
    pub(crate) miss: u32,
    /// Is the first store to a line of the first data cache that was clean, where that takes the tags.
    pub(crate) soils: bool,
}

/// The memory side of a core.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) l1i: Option<Cache>,
    l1d: Option<Cache>,
    l2: Option<Cache>,
    l2_hit: u32,
    itlb: Option<Tlb>,
    dtlb: Option<Tlb>,
    /// Entries of page tables that lead to further tables, in a walker that keeps them.
    tables: Option<Cache>,
    latencies: Latencies,
    satp: u64,
    /// Whether addresses were ever translated.
    translates: bool,
    /// The key of translations in a buffer besides the page; constant where address spaces have no identifiers.
    space: u64,
    spaces: bool,
    latest_fetch: Latest,
    latest_data: Latest,
    /// The walk for each 4096-byte page, as the machine reported it.
    ways: Map<(u64, u64), Walk>,
    /// Whether aligned accesses of up to 8 bytes to RAM are in one line of a first data cache that writes back.
    quick: bool,
    /// A line of the first data cache, less one; without a cache, that of a page.
    data_mask: u64,
    /// The instruction line that was touched last.
    last_line: u64,
    window: Window,
    /// How often what is in the instruction cache changed.
    pub(crate) fills: u64,
    counts: MemoryCounts,
}

impl Memory {
    pub(crate) fn new(core: &Core) -> Result<Self, CoreError> {
        let cache = |shape: &Option<CacheShape>, key| shape.as_ref().map(|s| s.cache(key)).transpose();
        let tlb = |shape: Option<TlbShape>| {
            shape.map(|s| Tlb { entries: Vec::new(), capacity: s.entries as usize })
        };
        let l1d = cache(&core.l1d, "l1d")?;
        Ok(Memory {
            data_mask: l1d.as_ref().map_or(4096, |c| u64::from(c.geometry().line())) - 1,
            quick: l1d.as_ref().is_some_and(|c| c.geometry().line() >= 8 && c.write_policy().back),
            l1i: cache(&core.l1i, "l1i")?,
            l1d,
            l2: cache(&core.l2, "l2")?,
            l2_hit: core.l2.as_ref().map_or(0, |c| c.hit),
            itlb: tlb(core.itlb),
            dtlb: tlb(core.dtlb),
            tables: core.memory.tables()?,
            latencies: core.memory,
            satp: 0,
            translates: false,
            space: 0,
            spaces: core.system.asid_bits != Some(0),
            latest_fetch: Latest::NONE,
            latest_data: Latest::NONE,
            ways: Map::default(),
            last_line: NO_LINE,
            window: Window::NONE,
            fills: 0,
            counts: MemoryCounts::default(),
        })
    }

    pub(crate) fn counts(&self) -> MemoryCounts {
        let of =
            |c: &Option<Cache>| c.as_ref().map_or((0, 0), |c| (c.counts().accesses(), c.counts().misses()));
        let ((_, l1i_misses), (l1d_accesses, l1d_misses), (l2_accesses, l2_misses)) =
            (of(&self.l1i), of(&self.l1d), of(&self.l2));
        MemoryCounts { l1i_misses, l1d_accesses, l1d_misses, l2_accesses, l2_misses, ..self.counts }
    }

    /// The machine reported the walk for a page.
    pub(crate) fn learn(&mut self, walk: &Walk) {
        self.ways.insert((self.satp, walk.va >> 12), *walk);
    }

    pub(crate) fn set_satp(&mut self, satp: u64) {
        self.satp = satp;
        self.translates |= satp >> 31 != 0;
        self.space = if self.spaces { satp } else { 0 };
        self.note_latest();
    }

    /// Brings the pages that were translated last up to date with the translation buffers.
    fn note_latest(&mut self) {
        self.latest_fetch = Latest::of(&self.itlb, self.space);
        self.latest_data = Latest::of(&self.dtlb, self.space);
        self.window = Window::NONE;
    }

    /// Empties the instruction cache.
    pub(crate) fn flush_instructions(&mut self) {
        if let Some(cache) = &mut self.l1i {
            cache.clear();
        }
        self.last_line = NO_LINE;
        self.window = Window::NONE;
        self.fills += 1;
    }

    /// Empties the translation buffers.
    pub(crate) fn flush_translations(&mut self) {
        for tlb in [&mut self.itlb, &mut self.dtlb].into_iter().flatten() {
            tlb.entries.clear();
        }
        if let Some(tables) = &mut self.tables {
            tables.clear();
        }
        self.note_latest();
        // The machine reports its walks again, since it drops its own translations as well.
        self.ways.clear();
    }

    /// Empties the translation buffers, and remembers where the page tables are.
    pub(crate) fn forget_translations(&mut self) {
        for tlb in [&mut self.itlb, &mut self.dtlb].into_iter().flatten() {
            tlb.entries.clear();
        }
        self.note_latest();
    }

    /// Empties everything: cold caches.
    pub(crate) fn flush_all(&mut self) {
        self.flush_instructions();
        for cache in [&mut self.l1d, &mut self.l2, &mut self.tables].into_iter().flatten() {
            cache.clear();
        }
        self.forget_translations();
    }

    #[inline(always)]
    fn translating(&self, privilege: Privilege) -> bool {
        privilege != Privilege::Machine && self.satp >> 31 != 0
    }

    /// With MPRV, M-mode's accesses are translated: then the addresses differ, or it does not matter.
    #[inline(always)]
    fn translated(&self, access: &Data, privilege: Privilege) -> bool {
        if privilege == Privilege::Machine { access.va != access.pa } else { self.translating(privilege) }
    }

    /// The physical address of an instruction that was not executed, if its page is known.
    pub(crate) fn physical(&self, va: u64, privilege: Privilege) -> Option<u64> {
        if !self.translating(privilege) {
            return Some(va);
        }
        self.ways.get(&(self.satp, va >> 12)).map(|w| w.pa & !0xfff | va & 0xfff)
    }

    /// The same where fetches are translated, if the translation is in its buffer.
    pub(crate) fn translated_fetch(&self, va: u64, privilege: Privilege) -> Option<u64> {
        let there = |tlb: &Tlb| tlb.find(self.space, va).is_some();
        self.physical(va, privilege).filter(|_| self.itlb.as_ref().is_none_or(there))
    }

    /// An instruction is fetched, all its lines and pages.
    pub(crate) fn fetch(&mut self, pc: u64, pa: u64, len: u8, privilege: Privilege) -> Waits {
        let mut waits = Waits::default();
        let last = u64::from(len) - 1;
        self.fetch_part(pc, pa, privilege, &mut waits);
        let other_page = (pc & 0xfff) + last > 0xfff;
        let line = self.l1i.as_ref().map_or(4096, |c| u64::from(c.geometry().line()));
        if other_page {
            let end = self.physical(pc.wrapping_add(last), privilege).unwrap_or(pa + last);
            self.fetch_part(pc.wrapping_add(last), end, privilege, &mut waits);
        } else if (pa & (line - 1)) + last >= line {
            self.fetch_part(pc.wrapping_add(last), pa + last, privilege, &mut waits);
        }
        waits
    }

    fn fetch_part(&mut self, pc: u64, pa: u64, privilege: Privilege, waits: &mut Waits) {
        if self.itlb.is_some() && self.translating(privilege) && !self.latest_fetch.has(pc) {
            waits.walk += self.translate(true, pc);
        }
        let Some(cache) = &mut self.l1i else { return };
        let line = pa >> cache.geometry().line_shift();
        if self.last_line == line {
            return;
        }
        self.last_line = line;
        self.window = Window::NONE;
        let hit = cache.access_line(line, false).hit;
        if !hit {
            self.fills += 1;
            waits.miss += self.next_level(pa, false) + self.latencies.fetch_miss;
        }
    }

    /// Whether the instruction cache has the line of an address.
    pub(crate) fn has_instructions(&self, pa: u64) -> bool {
        self.l1i.as_ref().is_none_or(|cache| cache.contains(pa))
    }

    /// The number of an instruction's line.
    #[inline(always)]
    pub(crate) fn instruction_line(&self, pa: u64) -> u64 {
        self.l1i.as_ref().map_or(pa >> 12, |cache| pa >> cache.geometry().line_shift())
    }

    /// Whether an instruction has a line's first byte.
    #[inline(always)]
    pub(crate) fn enters_line(&self, pa: u64, len: u8) -> bool {
        let bytes = self.instruction_line_bytes();
        pa & (bytes - 1) == 0 || (pa & (bytes - 1)) + u64::from(len) > bytes
    }

    /// The bytes of a line of the instruction cache; without one, of a page.
    #[inline(always)]
    pub(crate) fn instruction_line_bytes(&self) -> u64 {
        self.l1i.as_ref().map_or(4096, |cache| u64::from(cache.geometry().line()))
    }

    /// Cycles of an access that misses all caches.
    pub(crate) fn latency(&self) -> u32 {
        self.latencies.latency
    }

    /// Cycles of a fetch that misses them.
    pub(crate) fn fetch_miss(&self) -> u32 {
        self.latencies.latency + self.latencies.fetch_miss
    }

    /// Cycles of a write.
    pub(crate) fn write_latency(&self) -> u32 {
        self.latencies.write_latency.unwrap_or(self.latencies.latency)
    }

    /// The bytes of a line of the first data cache.
    pub(crate) fn data_line_bytes(&self) -> u64 {
        self.data_mask + 1
    }

    /// Empties the set of the first data cache that an address is in.
    pub(crate) fn forget_set(&mut self, pa: u64) {
        if let Some(cache) = &mut self.l1d {
            let (shift, sets) = (cache.geometry().line_shift(), u64::from(cache.geometry().sets()));
            let set = (pa >> shift) % sets;
            cache.invalidate_where(|line| (line.address >> shift) % sets == set);
        }
    }

    /// Whether fetches in this mode are looked up in a translation buffer.
    #[inline(always)]
    pub(crate) fn fetch_walks(&self, privilege: Privilege) -> bool {
        self.itlb.is_some() && self.translating(privilege)
    }

    /// Whether accesses of blocks may be looked up in a translation buffer: in M-mode, those that MPRV translates.
    #[inline(always)]
    pub(crate) fn data_walks(&self) -> bool {
        self.dtlb.is_some() && self.satp >> 31 != 0
    }

    /// Cycles of an access that [`next_to_wait`](Self::next_to_wait) did not find.
    #[inline(never)]
    pub(crate) fn wait_in_block(&mut self, access: &Data, privilege: Privilege) -> Waits {
        let mut waits = Waits::default();
        if !self.quick || self.data_walks() && !self.latest_data.has(access.va) {
            waits = self.data(access, privilege);
            // The caller counts it.
            if let Some(cache) = &mut self.l1d {
                cache.count_again(access.store);
            }
        } else if let Some(cache) = &mut self.l1d {
            let found = cache.look_again(access.pa, access.store);
            self.wait_for(found, access.pa, access.store, &mut waits);
        }
        waits
    }

    /// Counts what [`next_to_wait`](Self::next_to_wait) found.
    pub(crate) fn count_hits(&mut self, loads: u64, stores: u64) {
        if let Some(cache) = &mut self.l1d {
            cache.count_hits(loads, stores);
        }
    }

    /// Data is accessed; stores that no line takes wait only where there is no store buffer.
    #[inline(never)]
    pub(crate) fn data(&mut self, access: &Data, privilege: Privilege) -> Waits {
        let &Data { va, pa, size, store } = access;
        let mut waits = Waits::default();
        if self.translated(access, privilege) && self.dtlb.is_some() && !self.latest_data.has(va) {
            waits.walk += self.translate(false, va);
        }
        if is_device(pa) {
            let Latencies { device, device_on_bus, device_posted, latency, .. } = self.latencies;
            if !device_posted {
                waits.miss += device + if device_on_bus { latency } else { 0 };
            }
            return waits;
        }
        self.data_at(pa, store, &mut waits);
        if (pa & self.data_mask) + u64::from(size) > self.data_mask + 1 {
            self.data_at(pa + u64::from(size) - 1, store, &mut waits);
        }
        waits
    }

    /// Data in one line is accessed.
    fn data_at(&mut self, pa: u64, store: bool, waits: &mut Waits) {
        if let Some(cache) = &mut self.l1d {
            let found = cache.look_for(pa >> cache.geometry().line_shift(), store);
            self.wait_for(found, pa, store, waits);
        }
    }

    /// Adds what an access waits that has found this in the first data cache.
    #[inline(always)]
    fn wait_for(&mut self, found: Found, pa: u64, store: bool, waits: &mut Waits) {
        let miss = self.found(found, pa, store, self.latencies.write_back);
        if !store || self.latencies.stores_wait {
            waits.miss += miss;
        }
        waits.soils |= matches!(found, Found::Soiled) && self.latencies.tag_update;
    }

    /// Cycles of an access to a line of the first data cache. A changed line takes `write_back` cycles to leave.
    #[inline]
    fn look_for(&mut self, pa: u64, store: bool, write_back: u32) -> u32 {
        let Some(cache) = &mut self.l1d else { return 0 };
        let found = cache.look_for(pa >> cache.geometry().line_shift(), store);
        self.found(found, pa, store, write_back)
    }

    /// The same of an access that has found this there.
    #[inline(always)]
    fn found(&mut self, found: Found, pa: u64, store: bool, write_back: u32) -> u32 {
        let Some(cache) = &mut self.l1d else { return 0 };
        match found {
            Found::Hit | Found::Soiled => {
                if store && !cache.write_policy().back {
                    self.next_level(pa, true);
                }
                0
            }
            Found::NotFilled => self.next_level(pa, store) + self.latencies.miss,
            Found::Filled(old) => {
                let mut buffer = 0;
                if let Some(address) = cache.dirty(old) {
                    // The line goes down, and no access waits for the next level to take it.
                    let line_shift = cache.geometry().line_shift();
                    self.counts.write_backs += 1;
                    self.next_level(address, true);
                    let bits = self.latencies.write_back_compare;
                    let same = bits > 0 && ((address ^ pa) & ((1 << bits.min(63)) - 1)) >> line_shift == 0;
                    buffer = write_back;
                    if same {
                        buffer = buffer.max(self.latencies.latency + self.latencies.miss);
                    }
                }
                self.next_level(pa, store) + self.latencies.miss + buffer
            }
        }
    }

    /// Cycles that the first level waits for a line.
    #[inline]
    fn next_level(&mut self, pa: u64, store: bool) -> u32 {
        match &mut self.l2 {
            None => self.latencies.latency,
            Some(l2) => {
                let answer = l2.access(pa, store);
                self.l2_hit + if answer.hit { 0 } else { self.latencies.latency }
            }
        }
    }

    /// Cycles of a walk that finds no translation, by one load: the machine does not report more.
    pub(crate) fn fault_walk(&self, va: u64) -> u32 {
        let known = self.dtlb.as_ref().is_none_or(|tlb| tlb.find(self.space, va).is_some());
        let walks = self.latencies.fault_walks && !known && self.satp >> 31 != 0;
        if walks { self.latencies.walk + self.latencies.walk_level.unwrap_or(1) } else { 0 }
    }

    /// Looks a translation up; yields the cycles of the walk, if one is needed. Its loads go through the data
    /// cache.
    fn translate(&mut self, instruction: bool, va: u64) -> u32 {
        let space = self.space;
        let tlb = if instruction { &mut self.itlb } else { &mut self.dtlb };
        let Some(tlb) = tlb else { return 0 };
        if tlb.touch(space, va) {
            self.note_latest();
            return 0;
        }
        let way = self.ways.get(&(self.satp, va >> 12)).copied();
        tlb.fill(space, va, way.map_or(12, |w| w.shift));
        self.note_latest();
        if instruction {
            self.counts.itlb_misses += 1;
        } else {
            self.counts.dtlb_misses += 1;
        }
        let Latencies { walk, fetch_walk, fetch_walk_step, write_back, walk_write_back, .. } = self.latencies;
        let walk = fetch_walk.filter(|_| instruction).unwrap_or(walk);
        let step = if instruction { fetch_walk_step.max(1) } else { 1 };
        let Some(way) = way else {
            self.counts.unknown_walks += 1;
            return walk.next_multiple_of(step);
        };
        let write_back = walk_write_back.unwrap_or(write_back);
        let level = self.latencies.walk_level.unwrap_or(1);
        let mut cycles = walk;
        let Some((leaf, tables)) = way.entries().split_last() else { return cycles.next_multiple_of(step) };
        for &at in tables {
            let kept = self.tables.as_mut().is_some_and(|tables| tables.access(at, false).hit);
            cycles += if kept { 1 } else { level + self.look_for(at, false, write_back) };
        }
        (cycles + level + self.look_for(*leaf, false, write_back)).next_multiple_of(step)
    }
}
