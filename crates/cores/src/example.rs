//! The core of the how-to "Add a core": fetch, execute, write back. Results are forwarded, loads have their value a cycle
//! late, and a taken branch or jump loses one fetch.

use tollgate_riscv::{Insn, Machine, Op as Opcode, Trap};

use super::access::Data;
use super::core::{Core, CoreError};
use super::ledger::Cause;
use super::microarchitecture::{Microarchitecture, Squashed, Step};
use super::parts::delays::Delays;
use super::parts::memory::Memory;
use super::parts::memory_stage::accesses;
use super::parts::operation::registers;
use super::slot::Slot;

/// Bubbles of a use directly behind a load: the value comes with WB.
const LOAD_USE: i64 = 1;
/// Bubbles behind a taken branch or a jump: it is found in EX, and one fetch is squashed.
const REDIRECT: i64 = 1;
/// Bubbles behind a trap or a return, found in WB.
const TRAP: i64 = 2;

/// An instruction as the core sees it, found once for each.
#[derive(Clone, Copy)]
pub(crate) struct Op {
    reads: [u8; 3],
    writes: u8,
    loads: bool,
    /// Returns from a trap.
    returns: bool,
}

/// The core: when its last instruction was in each stage, and when each register can be read in EX.
#[derive(Clone)]
pub(crate) struct Example {
    write: i64,
    /// The first cycle in which the next instruction can be fetched: the last one leaves IF. And what may hold that up.
    fetch: (i64, Cause),
    ready: [i64; 64],
    memory: Memory,
}

impl Example {
    /// An instruction passes; `own` is what its own cycle is charged to.
    fn pass(&mut self, op: &Op, delays: &Delays, own: Cause, slot: &mut Slot) {
        // Each stage: when the instruction may leave the one before, and when the instruction before has left this one.
        let fetch = self.fetch.0;
        let fetched = fetch + 1 + delays.fetch_walk + delays.fetch_miss;
        let operands =
            op.reads.map(|register| self.ready[usize::from(register)]).into_iter().max().unwrap_or(0);
        let execute = fetched.max(operands).max(self.write);
        let write = execute + 1 + delays.data_walk + delays.data_miss;
        // The instruction before left WB in `self.write`: what it lost goes to what held it up, in the order of the stages.
        let mut lost = write - self.write - 1;
        if lost > 0 || own != Cause::Issue {
            slot.charged(own, delays);
            let waits = [
                (delays.data_miss, Cause::DMiss),
                (delays.data_walk, Cause::TlbWalk),
                (operands - fetched.max(self.write), Cause::LoadUse),
                (delays.fetch_miss, Cause::IMiss),
                (delays.fetch_walk, Cause::TlbWalk),
            ];
            for (cycles, cause) in waits {
                let charged = cycles.clamp(0, lost);
                slot.charges[cause as usize] += charged as u64;
                lost -= charged;
            }
            slot.refill = Some((self.fetch.1, lost as u64));
        }
        slot.starts = [fetch, execute, execute, execute, write];
        slot.end = write + 1;
        (self.write, self.fetch) = (write, (execute, Cause::Branch));
        if op.writes > 0 {
            self.ready[usize::from(op.writes)] = if op.loads { write + LOAD_USE } else { execute + 1 };
        }
    }
}

impl Microarchitecture for Example {
    type Op = Op;

    fn new(core: &Core) -> Result<Self, CoreError> {
        let (memory, fetch) = (Memory::new(core)?, (0, Cause::Branch));
        Ok(Example { write: 1, fetch, ready: [0; 64], memory })
    }

    fn describe(&self, insn: &Insn) -> Op {
        let (reads, writes) = registers(insn, 0);
        let returns = matches!(insn.op, Opcode::Mret | Opcode::Sret);
        Op { reads, writes, loads: accesses(insn)[0], returns }
    }

    fn retire(&mut self, step: &Step<Op>, accesses: &[Data], slot: &mut Slot) {
        let fetch = (step.pc, step.pa, step.insn.len);
        let delays = Delays::of(&mut self.memory, fetch, step.privilege, accesses, 0);
        self.pass(step.op, &delays, Cause::Issue, slot);
        if step.op.returns {
            self.fetch = (self.write + TRAP, Cause::TrapFlush);
        } else if step.next_pc != step.pc.wrapping_add(step.insn.len.into()) {
            self.fetch = (self.fetch.0 + REDIRECT, Cause::Branch);
        }
    }

    fn trap(&mut self, trap: &Trap, slot: &mut Slot) -> bool {
        let op = Op { reads: [0; 3], writes: 0, loads: false, returns: false };
        let interrupt = trap.cause.is_interrupt();
        if !interrupt {
            self.pass(&op, &Delays::default(), Cause::TrapFlush, slot);
        }
        self.fetch = (self.write + TRAP, Cause::TrapFlush);
        !interrupt
    }

    fn stages(&self) -> [bool; 5] {
        [true, false, true, false, true]
    }

    fn depends_on_operands(&self) -> bool {
        false
    }

    fn stack(&mut self, words: &[Data]) -> [u32; 2] {
        self.write += words.len() as i64;
        [words.len() as u32, 0]
    }

    fn interrupts(&mut self, _: &Machine, line: u64) -> bool {
        self.cycles() >= line
    }

    fn squashed(&self, _: u64) -> Vec<Squashed> {
        Vec::new()
    }

    fn forget_predictions(&mut self) {}

    fn cycles(&self) -> u64 {
        self.write as u64 + 1
    }

    fn mispredicts(&self) -> u64 {
        0
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Causes;
    use tollgate_riscv::{Config, Observer, Operands, Retired};

    /// The core, and its ledger.
    struct Attached(Example, Causes);

    impl Observer for Attached {
        const RETIRE: bool = true;
        fn retire(&mut self, retired: &Retired) {
            let &Retired { pc, pa, next_pc, privilege, operands, taken, .. } = retired;
            let (insn, op) = (&retired.insn, self.0.describe(&retired.insn));
            let mut slot = Slot::default();
            self.0.retire(
                &Step { pc, pa, next_pc, insn, op: &op, privilege, operands, taken },
                &[],
                &mut slot,
            );
            match slot.lost {
                true => slot.causes().iter().zip(&mut self.1).for_each(|(cycles, sum)| *sum += cycles),
                false => self.1[Cause::Issue as usize] += 1,
            }
        }
    }

    #[test]
    fn a_load_loses_a_cycle_before_its_use_and_a_jump_before_its_target() {
        let op = |op, rd, rs1, imm| Insn::encode(op, Operands { rd, rs1, imm, ..Operands::default() });
        // lw a0, 0(sp); addi a0, a0, 1; j back
        let words = [op(Opcode::Lw, 10, 2, 0), op(Opcode::Addi, 10, 10, 1), op(Opcode::Jal, 0, 0, -8)];
        let mut machine = Machine::new(Config::default()).unwrap();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        machine.write_memory(0x8000_0000, &bytes).unwrap();
        machine.set_x(2, 0x8000_1000);
        let core = Core::from_toml("l1i = { geometry = '1:1:16' }\n[memory]\nlatency = 7").unwrap();
        let mut attached = Attached(Example::new(&core).unwrap(), [0; Cause::COUNT]);
        let filling = attached.0.cycles();
        machine.run(30, &mut attached);
        let charged = |cause: Cause| attached.1[cause as usize];
        assert_eq!(charged(Cause::Issue), 30);
        assert_eq!(charged(Cause::LoadUse), 10);
        // The last jump's target is not fetched yet.
        assert_eq!(charged(Cause::Branch), 9);
        assert_eq!(charged(Cause::IMiss), 7);
        assert_eq!(attached.0.cycles(), filling + attached.1.iter().sum::<u64>());
    }
}
