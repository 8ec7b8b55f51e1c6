//! Wrong paths through IF and ID, until they are dropped: their stall in ID holds the redirection up by a cycle, and their
//! miss is waited for. rtl: trap.nested, the program hash

use tollgate_riscv::{Cause as Exception, Class, Machine, Privilege, Trap};

use crate::ledger::Cause;
use crate::microarchitecture::{Microarchitecture, Step};
use crate::parts::delays::{Delays, Redirect};
use crate::parts::predictor::Jump;
use crate::parts::system;
use crate::passage::Flush;
use crate::slot::Slot;

use super::pipe::{Behind, Op, Pipe};
use super::{PREDICTED_JUMP, Vexriscv};

/// Where a wrong path begins, and the last cycle in which what is in ID counts.
#[derive(Clone, Copy)]
struct WrongPath {
    pc: u64,
    pa: u64,
    privilege: Privilege,
    until: i64,
}

impl WrongPath {
    /// The wrong path of an instruction in the same page.
    fn of(step: &Step<Op>, pc: u64, until: i64) -> Option<Self> {
        let pa = step.pa.wrapping_add(pc.wrapping_sub(step.pc));
        ((pc ^ step.pc) >> 12 == 0).then_some(WrongPath { pc, pa, privilege: step.privilege, until })
    }
}

impl Vexriscv {
    /// The wrong path behind a mispredicted branch or an indirect jump.
    #[inline(never)]
    pub(super) fn behind_mispredicted(&mut self, step: &Step<Op>) -> Behind {
        let mut pipe = self.pipe.clone();
        let until = pipe.memory;
        // It was predicted taken, and was not; or the other way round.
        if matches!(step.op.jump, Jump::Branch { .. }) && !step.taken {
            let at = pipe.execute - 1 + PREDICTED_JUMP;
            pipe.redirect = Redirect { at, cause: Cause::Branch, flush: Flush::Branch };
            let target = step.pc.wrapping_add_signed(step.insn.imm);
            return self.follow(pipe, WrongPath::of(step, target, until));
        }
        self.follow(pipe, WrongPath::of(step, sequential(step), until))
    }

    /// The path behind a load that has to go through the pipe again, because it reads what a store is writing, or misses.
    #[inline(never)]
    pub(super) fn behind_load(&mut self, step: &Step<Op>, delays: &Delays, overlap: u8) -> Behind {
        let mut pipe = self.pipe.clone();
        let (mut port, mut slot) = (self.port.clone(), Slot::default());
        let found = Delays { data_miss: 0, ..*delays };
        pipe.pass(step.op, &found, Some((&mut port, 0, Behind::default())), Cause::Issue, &mut slot);
        if delays.data_miss == 0 && self.port.redo(pipe.memory - 1, overlap) == 0 {
            return Behind::default();
        }
        let until = pipe.write;
        self.follow(pipe, WrongPath::of(step, sequential(step), until))
    }

    /// The path behind an instruction that empties the pipe: nothing passes ID any more when it is in EX.
    pub(super) fn fetch_behind_flush(&mut self, step: &Step<Op>) {
        let pipe = self.pipe.in_sequence();
        let until = pipe.execute;
        let behind = self.follow(pipe, WrongPath::of(step, sequential(step), until));
        self.pipe.hold_fetch(behind.held);
    }

    /// The path behind an instruction that traps.
    pub(super) fn fetch_behind_trap(&mut self, trap: &Trap) {
        let Some(pa) = self.memory.physical(trap.epc, trap.from) else { return };
        let until = match trap.cause {
            _ if system::is_ecall(trap) => self.pipe.execute,
            Exception::LoadPageFault | Exception::StorePageFault => self.pipe.write,
            _ => return,
        };
        let pipe = self.pipe.in_sequence();
        let path = WrongPath { pc: trap.epc + 4, pa: pa + 4, privilege: trap.from, until };
        let path = ((path.pc ^ trap.epc) >> 12 == 0).then_some(path);
        let behind = self.follow(pipe, path);
        self.pipe.hold_fetch(behind.held);
    }

    /// Lets the instructions of a wrong path through IF and ID. The data port does not matter: none of them is in WB by
    /// then.
    fn follow(&mut self, mut pipe: Pipe, path: Option<WrongPath>) -> Behind {
        let mut behind = Behind::default();
        let Some(path) = path else { return behind };
        let (mut pc, mut pa, mut slot) = (path.pc, path.pa, Slot::default());
        while (pc ^ path.pc) >> 12 == 0 {
            let insn = self.code.find(pa);
            let op = insn.map_or(Op::PLAIN, |insn| self.describe(&insn));
            pipe.pass(&op, &Delays::default(), None, Cause::Issue, &mut slot);
            if pipe.decode > path.until {
                break;
            }
            if !self.memory.has_instructions(pa) {
                let waits = self.memory.fetch(pc, pa, 1, path.privilege);
                behind.held = Some(pipe.decode + i64::from(waits.miss) - 1);
                break;
            }
            // Words that were never executed may be anything, an illegal instruction that is dropped at once, too.
            behind.present |= insn.is_some();
            if pipe.execute > path.until + 1 {
                behind.stalled = true;
                break;
            }
            if self.predictor.leads(op.jump) || op.system {
                // The next one is not in ID in time.
                break;
            }
            let len = u64::from(insn.map_or(4, |insn| insn.len));
            (pc, pa) = (pc.wrapping_add(len), pa.wrapping_add(len));
        }
        behind
    }

    /// Whether an interrupt that the core sees in a cycle is taken before the next instruction: if so, from when this
    /// instruction is held in ID. What is in EX is finished first. rtl: the interrupts' program division
    pub(super) fn holds_for_interrupt(&self, machine: &Machine, seen: i64) -> Option<i64> {
        let insn = system::next_instruction(machine)?;
        let op = self.describe(&insn);
        let mut pipe = self.pipe.clone();
        if self.dropped.is_some_and(|until| seen <= until) {
            // A dropped one is held in ID, too.
            pipe.redirect.delay(1);
        }
        let pass = |overlap: u8| {
            let (mut pipe, mut port) = (pipe.clone(), self.port.clone());
            let port = (&mut port, overlap, Behind::default());
            pipe.pass(&op, &Delays::default(), Some(port), Cause::Issue, &mut Slot::default());
            (pipe.decode, pipe.execute, pipe.write)
        };
        let (decode, execute, write) = pass(0);
        if execute > seen {
            return Some(decode.max(seen));
        }
        if insn.row().class != Class::Load {
            return None;
        }
        // A load that goes through the pipe again is interrupted.
        let va = machine.x(insn.rs1).wrapping_add_signed(insn.imm);
        let mut stores = self.stores;
        let (_, again, _) = pass(stores.overlap(va, insn.op.access()?.0, false));
        (again > execute && again > seen).then(|| (again - 1 + i64::from(seen <= write)).max(seen))
    }
}

/// The address behind an instruction.
fn sequential(step: &Step<Op>) -> u64 {
    step.pc.wrapping_add(u64::from(step.insn.len))
}
