//! What a core fetches on a wrong path, until it finds out: it stalls and misses as other instructions do.

use std::collections::HashMap;

use super::step::Step;
use crate::insn::Insn;
use crate::privilege::Privilege;

/// The words that a page has, in halves.
const HALVES: usize = 2048;

/// The instructions that a wrong path may come to: those that were executed before, by physical address.
#[derive(Clone, Debug, Default)]
pub(super) struct Beyond {
    pages: HashMap<u64, Box<[Option<Insn>]>>,
}

impl Beyond {
    /// An instruction is executed.
    pub(super) fn note(&mut self, pa: u64, insn: &Insn) {
        let page = self.pages.entry(pa >> 12).or_insert_with(|| vec![None; HALVES].into());
        page[(pa & 0xfff) as usize / 2] = Some(*insn);
    }

    pub(super) fn find(&self, pa: u64) -> Option<Insn> {
        *self.pages.get(&(pa >> 12))?.get((pa & 0xfff) as usize / 2)?
    }
}

/// Where a wrong path begins, and the last cycle in which what is in ID counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrongPath {
    pub(super) pc: u64,
    pub(super) pa: u64,
    pub(super) privilege: Privilege,
    pub(super) until: i64,
}

impl WrongPath {
    /// The wrong path of an instruction in the same page, from an address on.
    pub(super) fn of(step: &Step, pc: u64, until: i64) -> Option<Self> {
        let pa = step.pa.wrapping_add(pc.wrapping_sub(step.pc));
        ((pc ^ step.pc) >> 12 == 0).then_some(WrongPath { pc, pa, privilege: step.privilege, until })
    }
}

/// What a wrong path has done by its last cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Strayed {
    /// Whether an instruction of it has come to ID.
    pub(super) present: bool,
    /// Whether one is stalled there.
    pub(super) stalled: bool,
    /// From when the instruction cache can be read, if one has missed.
    pub(super) held: Option<i64>,
}
