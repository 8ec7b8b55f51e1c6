//! How a wrong path goes through a core.

use super::beyond::{Beyond, Strayed, WrongPath};
use super::passage::Flush;
use super::pipe::Pipe;
use super::predict::Turn;
use super::shape::{Costs, Shape};
use super::slot::Redirect;
use super::step::Step;
use super::timed::Model;
use super::ways::Ways;
use tollgate_riscv::Machine;
use tollgate_riscv::{Cause, Trap};
use tollgate_riscv::{Class, Insn};

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
    pub(super) fn stray_from_load(&mut self, step: &Step, shape: &Shape, costs: &mut Costs) {
        let again = costs.overlap != 0 || costs.data_miss > 0 && shape.memory[0];
        if self.beyond.is_none() || !again {
            return;
        }
        let mut pipe = self.pipe.clone();
        let [.., memory, until] = pipe.pass(shape, &Costs { overlap: 0, data_miss: 0, ..*costs }).starts;
        if costs.data_miss == 0 && !self.pipe.redoes(memory, costs.overlap) {
            return;
        }
        let behind = step.pc.wrapping_add(u64::from(step.insn.len));
        let strayed = self.stray(pipe, WrongPath::of(step, behind, until));
        (costs.stuck, costs.held) = (strayed.stalled, strayed.held);
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
        let (Some(beyond), Some(path)) = (&mut self.beyond, path) else { return strayed };
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
            let leads = insn
                .and_then(|insn| self.predict.turn(pc, &insn))
                .is_some_and(|turn| self.predict.leads(&turn));
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
        let va = machine.x(insn.rs1).wrapping_add(insn.imm as u64);
        costs.overlap = self.memory.overlaps(va, insn.op.access()?.0);
        let [_, _, again, ..] = pipe.pass(&shape, &costs).starts;
        (again > execute && again > seen).then(|| (again - 1 + i64::from(seen <= write)).max(seen))
    }

    /// Whether a run of instructions with these jumps goes through the model one by one: so does what the fast path cannot
    /// know by the run itself.
    pub(super) fn goes_singly(
        &mut self,
        jumps: &[(u8, Turn, u64)],
        ways: &mut Ways,
        known: &mut bool,
    ) -> bool {
        if self.board.is_some() || self.beyond.is_none() {
            return self.board.is_some() || self.pipe.filling().is_some();
        }
        let known = std::mem::replace(known, true);
        !known
            || self.emptied.is_some()
            || jumps.iter().any(|(_, turn, next)| self.predict.astray(turn, *next)) && !self.knows_ways(ways)
    }

    /// Adds where wrong paths go behind a jump, as far as they come to ID: its own path is in MEM with the first instruction
    /// there in EX at most, so that no more than two are in ID by then.
    pub(super) fn find_wrong_ways(&mut self, pa: u64, insn: &Insn, ways: &mut Ways) {
        let Some(beyond) = self.beyond.as_mut().filter(|_| insn.row().class != Class::Jump) else { return };
        ways.add(beyond, pa.wrapping_add(u64::from(insn.len)), 2);
        if insn.row().class == Class::Branch {
            ways.add(beyond, pa.wrapping_add_signed(insn.imm), 2);
        }
    }

    /// Adds where the wrong path goes behind a load that goes through the pipe again, beyond the end of a run: the load is in
    /// WB until then, so that no more than three instructions are in ID.
    pub(super) fn find_end(&mut self, pa: u64, ways: &mut Ways) {
        if let Some(beyond) = &mut self.beyond {
            ways.add(beyond, pa, 3);
        }
    }

    /// Whether everything is known, and in the instruction cache, that wrong paths of a run come to.
    pub(super) fn knows_ways(&mut self, ways: &mut Ways) -> bool {
        let loaded = self.beyond.as_ref().map(Beyond::is_loaded);
        loaded.is_none_or(|loaded| loaded && self.has_settled(ways))
    }
}
