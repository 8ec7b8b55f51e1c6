//! A second tier for hot code: what a translator to host code receives and promises.
//!
//! The block engine samples itself: every so many instructions, the block that comes next counts one more. A block that was
//! met [`HOT`] times is the entry of a [`Region`], which a [`Translator`] may translate. From then on the engine runs the
//! translation when execution arrives at the entry in a context in which it may run.
//!
//! A region depends on the bytes of one physical page and its virtual address, like a block, so everything that drops blocks
//! drops translations. Whatever a translation cannot do, it leaves to the interpreter, before the instruction.

use std::collections::HashMap;

use crate::engine::{JUMP_ENTRIES, Jump, TLB_ENTRIES, boxed, jump_index};
use crate::insn::Class;
use crate::machine::Machine;
use crate::mmu::PAGE;
use crate::observer::BlockInsn;

/// The most instructions in a region, and so the most that a translation retires between two checks of its limit.
pub const LARGEST_REGION: usize = 512;

/// Instructions from one sample of the block engine to the next.
pub const SAMPLE: u64 = 1 << 15;

/// Samples of a block after which it is the entry of a region.
pub const HOT: u8 = 2;

/// Code to translate: instructions of one page that the entry leads to by branches and direct jumps.
#[derive(Clone, Debug)]
pub struct Region {
    /// The address of the first instruction.
    pub entry: u64,
    /// All of them by ascending address.
    pub insns: Vec<BlockInsn>,
}

/// A page that loads, or stores, may go to.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TlbEntry {
    /// The page's virtual address. An access of so many bytes matches if its address without the bits of the offset, but
    /// with those that must be zero for alignment, equals it.
    pub tag: u64,
    /// What makes an address in the page an index of RAM.
    pub addend: u64,
}

/// The pages of one context, indexed by the lowest bits of the page number.
pub type Tlb = [TlbEntry; TLB_ENTRIES];

/// What a translation works on.
#[derive(Debug)]
pub struct Registers<'a> {
    /// The integer registers; the first 32 count, and register 0 is zero.
    pub x: &'a mut [u64; 256],
    /// RAM.
    pub ram: &'a mut [u8],
    /// Where loads may go.
    pub loads: &'a Tlb,
    /// Where stores may go.
    pub stores: &'a Tlb,
    /// Instructions retired so far.
    pub retired: u64,
    /// A translation checks this on each backward jump, and leaves if more have retired.
    pub limit: u64,
}

/// How a translation was left: all instructions before `pc` retired, and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The instruction that is next.
    pub pc: u64,
    /// Instructions retired, with those before the translation was entered.
    pub retired: u64,
    /// Whether the interpreter has to do the next instruction.
    pub interpret: bool,
}

/// Makes host code of regions.
pub trait Translator {
    /// Translates a region; yields a number for it, or `None` if it does not translate this one.
    fn translate(&mut self, region: &Region) -> Option<u16>;

    /// Runs a translation from its entry.
    fn run(&mut self, number: u16, registers: Registers<'_>) -> Exit;

    /// Drops all translations: their numbers are not used again.
    fn clear(&mut self);
}

/// The translator with what is known of its code.
pub(crate) struct Tier {
    translator: Box<dyn Translator>,
    /// Instructions from one sample to the next.
    every: u64,
    /// Instructions retired at which the next one is due.
    pub(crate) due: u64,
    /// Translations by address and context, as `Arena::jumps` has blocks.
    entries: Box<[Jump; JUMP_ENTRIES]>,
    /// By the key of the entry's block. `None` for a region that the translator refused.
    regions: HashMap<(u64, u64), Option<u16>>,
    samples: HashMap<(u64, u64), u8>,
}

impl Tier {
    fn new(translator: Box<dyn Translator>, every: u64) -> Self {
        let (regions, samples) = (HashMap::new(), HashMap::new());
        Self { translator, every, due: every, entries: boxed(Jump::NOWHERE), regions, samples }
    }

    /// Forgets at which address in which context a translation begins.
    pub(crate) fn forget_entries(&mut self) {
        self.entries.fill(Jump::NOWHERE);
    }

    pub(crate) fn clear(&mut self) {
        self.translator.clear();
        self.forget_entries();
        self.regions.clear();
        self.samples.clear();
    }

    /// The translation at an address in a context.
    #[inline(always)]
    pub(crate) fn at(&self, pc: u64, context: u32) -> Option<u16> {
        let entry = self.entries[jump_index(pc)];
        (entry.pc == pc && entry.context == context).then_some(entry.start)
    }

    /// Enters what was translated of a block that may run in a context; false if nothing was.
    pub(crate) fn enter(&mut self, key: (u64, u64), context: u32) -> bool {
        let Some(&Some(number)) = self.regions.get(&key) else { return false };
        self.entries[jump_index(key.0)] = Jump { pc: key.0, context, start: number };
        true
    }

    pub(crate) fn run(&mut self, number: u16, registers: Registers<'_>) -> Exit {
        self.translator.run(number, registers)
    }
}

impl Machine {
    /// Sets the translator for hot code, with the instructions from one sample to the next ([`SAMPLE`] is a good number).
    /// Results are the same with and without; observers of instructions or accesses do without.
    pub fn set_translator(&mut self, translator: Box<dyn Translator>, every: u64) {
        self.engine.flush_blocks();
        self.engine.tier = Some(Tier::new(translator, every));
    }

    /// Counts a sample of a block, and has it translated if it is hot. `now` instructions have retired.
    pub(crate) fn sample(&mut self, start: u16, fp: u8, now: u64) {
        let Some(arena) = &self.engine.arena else { return };
        let meta = arena.meta[usize::from(start)];
        let page = u64::from(meta.page) << 12;
        let key = (meta.pc, page | u64::from(fp));
        let Some(mut tier) = self.engine.tier.take() else { return };
        tier.due = now.saturating_add(tier.every);
        let samples = tier.samples.entry(key).or_default();
        *samples = samples.saturating_add(1);
        let is_hot = *samples >= HOT && page != 0;
        if is_hot && !tier.regions.contains_key(&key) {
            let region = self.region(meta.pc, page);
            tier.regions.insert(key, region.and_then(|region| tier.translator.translate(&region)));
        }
        let is_translated = matches!(tier.regions.get(&key), Some(Some(_)));
        self.engine.tier = Some(tier);
        if let (true, Some(arena)) = (is_translated, &mut self.engine.arena) {
            // Blocks that lead there leave the interpreter from now on.
            arena.links.fill(0);
            arena.jumps[jump_index(meta.pc)] = Jump::NOWHERE;
        }
    }

    /// The code that an instruction leads to in its page, as far as it is RV64's.
    fn region(&self, entry: u64, page: u64) -> Option<Region> {
        if !self.hart.isa.is_rv64() {
            return None;
        }
        let mut insns: HashMap<u64, BlockInsn> = HashMap::new();
        let mut open = vec![entry];
        while let Some(pc) = open.pop() {
            let is_inside = pc & !(PAGE - 1) == entry & !(PAGE - 1);
            if !is_inside || insns.contains_key(&pc) || insns.len() >= LARGEST_REGION {
                continue;
            }
            let offset = pc & (PAGE - 1);
            let size = if offset == PAGE - 2 { 2 } else { 4 };
            let word = self.bus.ram_read(page + offset, size).unwrap_or(0) as u32;
            let word = if word & 3 == 3 { word } else { word & 0xffff };
            if word & 3 == 3 && size == 2 {
                continue;
            }
            let Some(insn) = self.decoder.decode(word) else { continue };
            insns.insert(pc, BlockInsn { pc, insn, word, page: (page >> 12) as u32 });
            let next = pc.wrapping_add(u64::from(insn.len));
            let target = pc.wrapping_add(insn.imm as u64);
            let may_jump = target & self.hart.target_mask() == 0;
            match insn.row().class {
                Class::Branch if may_jump => open.extend([next, target]),
                Class::Jump if may_jump => open.push(target),
                Class::Upper | Class::AluImm | Class::AluReg | Class::Load | Class::Store | Class::Nop => {
                    open.push(next)
                }
                // The interpreter does all others, or they lead anywhere.
                _ => {}
            }
        }
        let mut insns: Vec<BlockInsn> = insns.into_values().collect();
        insns.sort_unstable_by_key(|insn| insn.pc);
        Some(Region { entry, insns })
    }
}
