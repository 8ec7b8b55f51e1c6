//! What a core fetches on a wrong path, until it finds out: it stalls and misses as other instructions do.

use std::collections::HashMap;

use super::passage::Flush;
use super::pipe::{Pipe, Redirect};
use super::predict::Turn;
use super::shape::{Costs, Shape};
use super::step::Step;
use super::timed::Model;
use crate::exception::{Cause, Trap};
use crate::insn::{Class, Insn};
use crate::machine::Machine;
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

    fn find(&self, pa: u64) -> Option<Insn> {
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

impl Model {
    /// The wrong path behind a mispredicted branch or an indirect jump.
    pub(super) fn stray_from_branch(&mut self, step: &Step) -> Strayed {
        if self.beyond.is_none() {
            return Strayed::default();
        }
        let [execute, until] = self.pipe.entered();
        let behind = step.pc.wrapping_add(u64::from(step.insn.len));
        // It was predicted taken, and was not; or the other way round.
        let taken = step.insn.row().class == Class::Branch && !step.taken;
        let mut pipe = self.pipe.clone();
        if !taken {
            return self.stray(pipe, WrongPath::of(step, behind, until));
        }
        let at = execute - 1 + i64::from(self.core.branch.taken);
        pipe.redirect = Some(Redirect { at, cause: super::Cause::Branch, flush: Flush::Branch });
        let target = step.pc.wrapping_add(step.insn.imm as u64);
        self.stray(pipe, WrongPath::of(step, target, until))
    }

    /// What is behind a load that has to go through the pipe again, because it reads what a store is writing, or misses.
    pub(super) fn stray_from_load(&mut self, step: &Step, shape: &Shape, costs: &Costs) -> Strayed {
        let again = costs.overlap != 0 || costs.data_miss > 0 && shape.memory[0];
        if self.beyond.is_none() || !again {
            return Strayed::default();
        }
        let mut pipe = self.pipe.clone();
        let [.., memory, until] = pipe.pass(shape, &Costs { overlap: 0, data_miss: 0, ..*costs }).starts;
        if costs.data_miss == 0 && !self.pipe.redoes(memory, costs.overlap) {
            return Strayed::default();
        }
        let behind = step.pc.wrapping_add(u64::from(step.insn.len));
        self.stray(pipe, WrongPath::of(step, behind, until))
    }

    /// What is behind an instruction that empties the pipe: nothing passes ID any more when it is in EX.
    pub(super) fn stray_from_flush(&mut self, step: &Step) {
        if self.beyond.is_none() {
            return;
        }
        let [until, _] = self.pipe.entered();
        let mut pipe = self.pipe.clone();
        pipe.redirect = None;
        let behind = step.pc.wrapping_add(u64::from(step.insn.len));
        let Strayed { held, .. } = self.stray(pipe, WrongPath::of(step, behind, until));
        self.pipe.hold(held);
    }

    /// What is behind an instruction that traps.
    pub(super) fn stray_from_trap(&mut self, trap: &Trap, pa: u64) {
        let until = match trap.cause {
            Cause::UserEcall | Cause::SupervisorEcall | Cause::MachineEcall => self.pipe.entered()[0],
            Cause::LoadPageFault | Cause::StorePageFault => self.pipe.write(),
            _ => return,
        };
        let mut pipe = self.pipe.clone();
        pipe.redirect = None;
        let path = WrongPath { pc: trap.epc + 4, pa: pa + 4, privilege: trap.from, until };
        let path = ((path.pc ^ trap.epc) >> 12 == 0).then_some(path);
        let Strayed { held, .. } = self.stray(pipe, path);
        self.pipe.hold(held);
    }

    /// Lets the words of a wrong path through IF and ID.
    fn stray(&mut self, mut pipe: Pipe, path: Option<WrongPath>) -> Strayed {
        let mut strayed = Strayed::default();
        let (Some(beyond), Some(path)) = (&self.beyond, path) else { return strayed };
        let (mut pc, mut pa) = (path.pc, path.pa);
        while (pc ^ path.pc) >> 12 == 0 {
            let insn = beyond.find(pa);
            let shape = insn.map_or(Shape::PLAIN, |insn| Shape::new(&insn, &self.core));
            let [_, decode, execute, ..] = pipe.pass(&shape, &Costs::default()).starts;
            if decode > path.until {
                break;
            }
            if !self.memory.has_instructions(pa) {
                let waits = self.memory.fetch(pc, pa, 1, path.privilege);
                strayed.held = Some(decode + i64::from(waits.miss) - 1);
                break;
            }
            // What was never executed may be anything, an illegal instruction that is dropped at once, too.
            strayed.present |= insn.is_some();
            if execute > path.until + 1 {
                strayed.stalled = true;
                break;
            }
            let leads =
                insn.and_then(|insn| Turn::new(pc, &insn)).is_some_and(|turn| self.predict.leads(&turn));
            if leads || insn.is_some_and(|insn| insn.row().class == Class::System) {
                // What follows is not in ID in time.
                break;
            }
            let len = u64::from(insn.map_or(4, |insn| insn.len));
            (pc, pa) = (pc.wrapping_add(len), pa.wrapping_add(len));
        }
        strayed
    }

    /// Whether an interrupt that the core sees in a cycle is taken before the next instruction: if so, from when this
    /// instruction is held in ID.
    pub(super) fn holds_for_interrupt(&self, machine: &Machine, seen: i64) -> Option<i64> {
        let (insn, mut costs) = self.next_instruction(machine)?;
        let shape = Shape::new(&insn, &self.core);
        let mut pipe = self.pipe.clone();
        if let (Some(until), Some(redirect)) = (self.dropped, &mut pipe.redirect)
            && seen <= until
        {
            // What is dropped is held in ID, too.
            redirect.at += 1;
        }
        let [_, decode, execute, _, write] = pipe.clone().pass(&shape, &costs).starts;
        if execute > seen {
            return Some(decode.max(seen));
        }
        if insn.row().class != Class::Load {
            return None;
        }
        // A load that goes through the pipe again is interrupted.
        let va = machine.x(insn.rs1.into()).wrapping_add(insn.imm as u64);
        costs.overlap = self.memory.overlaps(va, insn.op.access()?.0);
        let [_, _, again, ..] = pipe.pass(&shape, &costs).starts;
        (again > execute && again > seen).then(|| (again - 1 + i64::from(seen <= write)).max(seen))
    }
}
