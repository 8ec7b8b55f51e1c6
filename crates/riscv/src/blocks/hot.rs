//! Which code is hot, and what a translator receives of it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::build::word_in_page;
use crate::insn::Class;
use crate::jump::{Jump, jump_index};
use crate::machine::Machine;
use crate::mmu::PAGE;
use crate::observer::BlockInsn;
use crate::tier::{LARGEST_REGION, LARGEST_WITH_RUNS, Region, Reports, Run, Tier, Translator};
use crate::vector::is_vector;

impl Machine {
    /// Sets the translator for the hot code of a hart, with the instructions from one sample to the next
    /// ([`SAMPLE`](crate::tier::SAMPLE) is a good number). Results are the same with and without. Observers of single
    /// instructions or accesses do without, unless they are a [`Counter`](crate::tier::Counter).
    pub fn set_translator(&mut self, hart: usize, translator: Box<dyn Translator>, every: u64) {
        let engine = self.engine_mut(hart);
        engine.flush_blocks();
        engine.tier = Some(Tier::new(translator, every));
    }

    /// Counts a sample of a block, and has it translated if it is hot. `now` instructions have retired.
    pub(crate) fn sample(&mut self, start: u16, fp: u8, now: u64) {
        let Some(arena) = &self.engine.arena else { return };
        let meta = arena.meta[usize::from(start)];
        let page = u64::from(meta.page) << 12;
        let key = (meta.pc, page | u64::from(fp));
        let Some(mut tier) = self.engine.tier.take() else { return };
        if page != 0 {
            let reports = tier.reports;
            tier.sample(key, now, || self.region(meta.pc, page, fp, reports));
        }
        while let Some(key) = tier.finished() {
            self.leave_block(key);
        }
        self.engine.tier = Some(tier);
    }

    /// Blocks that lead to this one, which is translated, leave the interpreter from now on.
    fn leave_block(&mut self, key: (u64, u64)) {
        let (Some(arena), Some(&(start, _))) = (&mut self.engine.arena, self.engine.blocks.get(&key)) else {
            return;
        };
        arena.jumps[jump_index(key.0)] = Jump::NOWHERE;
        for link in &mut arena.links[..self.engine.used] {
            *link = if *link == start { 0 } else { *link };
        }
    }

    /// The code that an instruction leads to in its page, as far as it was executed before: the targets of jumps are blocks by then.
    /// (Addresses in the page are sign-extended on RV32. Where a sum of addresses is not, it is outside.)
    fn region(&self, entry: u64, page: u64, fp: u8, reports: Reports) -> Option<Region> {
        let runs = match reports {
            Reports::Runs { .. } => self.blocks_from(entry, page, fp),
            _ => straight(&self.code_from(entry, page, fp, reports), entry),
        };
        // Of no use: it would be left where it begins. Where blocks contain vector instructions, so would be most loops with these.
        let first = runs.iter().find(|run| run.insns.first().is_some_and(|insn| insn.pc == entry))?;
        if is_interpreters(first.insns.first()?.insn.row().class, fp, reports)
            || self.engine.vectors && first.insns.iter().any(|insn| is_vector(insn.insn.op))
        {
            return None;
        }
        // Observers are not prepared for accesses to two lines.
        let misaligned = self.does_misaligned() && reports == Reports::Nothing;
        let (rounding, ram_base) = ((fp != 0).then_some(fp & 7), self.bus.ram_base);
        Some(Region {
            entry,
            runs,
            xlen: self.hart.isa.xlen(),
            target_mask: self.hart.target_mask(),
            rounding,
            misaligned,
            ram_base,
            reports,
        })
    }

    /// The blocks that the one at `entry` leads to, itself first.
    fn blocks_from(&self, entry: u64, page: u64, fp: u8) -> Vec<Run> {
        let Some(arena) = &self.engine.arena else { return Vec::new() };
        let (mut runs, mut seen, mut open) = (Vec::new(), HashSet::new(), vec![entry]);
        let mut room = LARGEST_WITH_RUNS;
        while let Some(pc) = open.pop() {
            let Some(&(start, end)) = self.engine.blocks.get(&(pc, page | u64::from(fp))) else { continue };
            let places = arena.meta.get(usize::from(start)..usize::from(end)).unwrap_or_default();
            // (Where a block goes on without a jump is noted in it as no instruction of a page.)
            let insns: Vec<BlockInsn> = places.iter().copied().filter(|insn| insn.page != 0).collect();
            if insns.is_empty() || insns.len() > room || !seen.insert(pc) {
                continue;
            }
            room -= insns.len();
            for BlockInsn { pc, insn, .. } in &insns {
                match insn.row().class {
                    Class::Branch => open.push(pc.wrapping_add(insn.imm as u64)),
                    Class::Jump if insn.rd != 0 => open.push(pc.wrapping_add(u64::from(insn.len))),
                    _ => {}
                }
            }
            open.extend(places.last().filter(|end| end.page == 0).map(|end| end.pc));
            runs.push(Run { place: start, insns });
        }
        runs
    }

    /// The instructions that the one at `entry` leads to, by their addresses.
    fn code_from(&self, entry: u64, page: u64, fp: u8, reports: Reports) -> BTreeMap<u64, BlockInsn> {
        let mut insns = BTreeMap::new();
        let mut open = vec![entry];
        let target_mask = self.hart.target_mask();
        while let Some(pc) = open.pop() {
            let is_inside = pc & !(PAGE - 1) == entry & !(PAGE - 1);
            if !is_inside || insns.contains_key(&pc) || insns.len() >= LARGEST_REGION {
                continue;
            }
            let (word, crosses) = word_in_page(&self.bus, page, pc);
            let Some(insn) = self.decoder.decode(word).filter(|_| !crosses) else { continue };
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
                // They lead anywhere, or trap.
                Class::Branch | Class::Jump | Class::JumpReg => {}
                class if is_interpreters(class, fp, reports) => {}
                // The code behind it can be an entry of its own.
                _ if is_vector(insn.op) => {}
                _ => open.push(next),
            }
        }
        insns
    }
}

/// Whether the interpreter does instructions of a class in any case.
fn is_interpreters(class: Class, fp: u8, reports: Reports) -> bool {
    match class {
        Class::Csr | Class::System => true,
        // Observers receive an atomic as two accesses.
        Class::Amo | Class::LoadReserved | Class::StoreConditional => reports != Reports::Nothing,
        class => class.is_float() && fp == 0,
    }
}

/// Instructions as runs without a jump, but for branches that are not taken, none of which another one goes into the middle of.
fn straight(insns: &BTreeMap<u64, BlockInsn>, entry: u64) -> Vec<Run> {
    let mut leaders = BTreeSet::from([entry]);
    for BlockInsn { pc, insn, .. } in insns.values() {
        let next = pc.wrapping_add(u64::from(insn.len));
        let target = pc.wrapping_add(insn.imm as u64);
        match insn.row().class {
            Class::Branch => leaders.extend([target]),
            Class::Jump => leaders.extend([target, next]),
            _ => {}
        }
    }
    let run = |&leader: &u64| {
        let mut insns_of = Vec::new();
        let mut at = leader;
        while let Some(here) = insns.get(&at) {
            insns_of.push(*here);
            at = at.wrapping_add(u64::from(here.insn.len));
            if leaders.contains(&at) {
                break;
            }
        }
        (!insns_of.is_empty()).then_some(Run { place: 0, insns: insns_of })
    };
    leaders.iter().filter_map(run).collect()
}
