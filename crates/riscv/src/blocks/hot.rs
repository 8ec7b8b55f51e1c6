//! Which code is hot, and what a translator receives of it.

use std::collections::HashMap;

use super::build::decode_in_page;
use crate::insn::Class;
use crate::jump::{Jump, jump_index};
use crate::machine::Machine;
use crate::mmu::PAGE;
use crate::observer::BlockInsn;
use crate::tier::{LARGEST_REGION, Region, Sight, Tier, Translator};

impl Machine {
    /// Sets the translator for hot code, with the instructions from one sample to the next
    /// ([`SAMPLE`](crate::tier::SAMPLE) is a good number). Results are the same with and without. Of the observers of
    /// instructions or accesses, only a [`Counter`](crate::tier::Counter) does with them.
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
        let is_translated = page != 0 && {
            let sight = tier.sight;
            tier.sample(key, now, || self.region(meta.pc, page, fp, sight))
        };
        self.engine.tier = Some(tier);
        if let (true, Some(arena)) = (is_translated, &mut self.engine.arena) {
            // Blocks that lead there leave the interpreter from now on.
            arena.links.fill(0);
            arena.jumps[jump_index(meta.pc)] = Jump::NOWHERE;
        }
    }

    /// The code that an instruction leads to in its page, as far as it is RV64's and was executed before: the targets of jumps
    /// are blocks by then.
    fn region(&self, entry: u64, page: u64, fp: u8, sight: Option<Sight>) -> Option<Region> {
        if !self.hart.isa.is_rv64() {
            return None;
        }
        let mut insns: HashMap<u64, BlockInsn> = HashMap::new();
        let mut open = vec![entry];
        let target_mask = self.hart.target_mask();
        while let Some(pc) = open.pop() {
            let is_inside = pc & !(PAGE - 1) == entry & !(PAGE - 1);
            if !is_inside || insns.contains_key(&pc) || insns.len() >= LARGEST_REGION {
                continue;
            }
            let (word, Some(insn)) = decode_in_page(&self.bus, &self.decoder, page, pc) else { continue };
            insns.insert(pc, BlockInsn { pc, insn, word, page: (page >> 12) as u32 });
            let next = pc.wrapping_add(u64::from(insn.len));
            let target = pc.wrapping_add(insn.imm as u64);
            let may_jump = target & target_mask == 0;
            let was_executed = |pc| self.engine.blocks.contains_key(&(pc, page | u64::from(fp)));
            match insn.row().class {
                Class::Branch if may_jump => {
                    open.extend([target, next].into_iter().filter(|&pc| pc == next || was_executed(pc)))
                }
                // A call comes back, to a block of its own.
                Class::Jump if may_jump && insn.rd != 0 => {
                    open.extend(Some(next).filter(|&pc| was_executed(pc)));
                    open.push(target);
                }
                Class::Jump if may_jump => open.push(target),
                Class::Upper | Class::AluImm | Class::AluReg | Class::Load | Class::Store | Class::Nop => {
                    open.push(next)
                }
                class if class.is_float() && fp != 0 => open.push(next),
                // The interpreter does all others, or they lead anywhere.
                _ => {}
            }
        }
        let mut insns: Vec<BlockInsn> = insns.into_values().collect();
        insns.sort_unstable_by_key(|insn| insn.pc);
        let (rounding, ram_base) = ((fp != 0).then_some(fp & 7), self.bus.ram_base);
        // Counters are not prepared for accesses to two lines.
        let misaligned = self.does_misaligned() && sight.is_none();
        Some(Region { entry, insns, target_mask, rounding, misaligned, ram_base, sight })
    }
}
