//! PicoRV32: no pipeline. Each instruction goes through its states one after the other, and the next one is fetched during
//! the last of them.
//!
//! "rtl" is PicoRV32, package pythondata-cpu-picorv32 1.0.post218: guests/riscv/golden/picorv32-kernels.golden, in which the
//! program that is named shows the figure. States are those of picorv32.v. The states of each operation are parameters.

use tollgate_riscv::{Class, Insn, Machine, Privilege, Trap};

use super::access::Data;
use super::core::{Core, CoreError};
use super::ledger::Cause;
use super::microarchitecture::{Microarchitecture, Squashed, Step};
use super::parts::delays::Delays;
use super::parts::memory::Memory;
use super::parts::operands::Dependence;
use super::parts::operation;
use super::parts::predictor::{Jump, Outcome, Predictor};
use super::parts::serial::{Execution, Serial};
use super::parts::system::{self, Refetch, RefetchPenalties};
use super::passage::Flush;
use super::slot::Slot;

/// States of a taken branch in which its target is fetched behind the comparison. rtl: branch.taken
const TARGET_FETCH: i64 = 2;

/// There are no traps or interrupts in this configuration: an illegal instruction or `ecall` stops the core. Here a trap
/// takes no states of its own.
const TRAP: i64 = 0;

/// An instruction as the core sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// States behind the first.
    states: i64,
    cause: Cause,
    dependence: Option<Dependence>,
    jump: Jump,
    refetch: Option<Refetch>,
}

/// The core.
#[derive(Clone, Debug)]
pub(crate) struct Picorv32 {
    core: Core,
    serial: Serial,
    memory: Memory,
    predictor: Predictor,
}

impl Microarchitecture for Picorv32 {
    type Op = Op;

    fn new(core: &Core) -> Result<Self, CoreError> {
        Ok(Picorv32 {
            serial: Serial::new(false),
            memory: Memory::new(core)?,
            predictor: Predictor::new(&core.branch),
            core: core.clone(),
        })
    }

    fn describe(&self, insn: &Insn) -> Op {
        let fixed = operation::fixed_shift(insn, &self.core);
        let states = operation::keys_of(insn, &self.core).cycles + fixed;
        let cause = match insn.row().class {
            Class::Jump | Class::JumpReg => Cause::Branch,
            Class::System => Cause::Csr,
            _ if insn.op.by_operands() || fixed > 0 => Cause::LongOperation,
            _ => Cause::Structural,
        };
        let penalties = RefetchPenalties { csr: 0, return_: 0, fence_i: 0, sfence_vma: 0, wfi: 0 };
        Op {
            states: i64::from(states) - 1,
            cause,
            dependence: if insn.op.by_operands() { Dependence::of(insn, &self.core) } else { None },
            jump: Jump::of(insn),
            refetch: Refetch::of(insn, &penalties),
        }
    }

    fn stages(&self) -> [bool; 5] {
        [false, false, false, false, true]
    }

    fn depends_on_operands(&self) -> bool {
        Dependence::any(&self.core)
    }

    #[inline(always)]
    fn retire(&mut self, step: &Step<Op>, accesses: &[Data], slot: &mut Slot) {
        let &Step { pc, pa, next_pc, insn, op, privilege, operands, taken } = step;
        let mut delays = Delays::of(&mut self.memory, (pc, pa, insn.len), privilege, accesses, 0);
        let mut states = op.states;
        if let Some(dependence) = op.dependence {
            states = (states + i64::from(dependence.more(operands))).max(0);
        }
        if op.jump != Jump::None
            && self.predictor.resolve(op.jump, pc, insn.len, next_pc, taken) == Outcome::Direction
        {
            delays.settle = TARGET_FETCH;
        }
        self.serial.pass(&Execution::of(states, op.cause), &delays, Cause::Issue, slot);
        if let Some(refetch) = op.refetch {
            refetch.empty(&mut self.memory);
        }
    }

    fn trap(&mut self, trap: &Trap, slot: &mut Slot) -> bool {
        if trap.cause.is_interrupt() {
            self.serial.redirect(TRAP, Cause::TrapFlush, Flush::Interrupt);
            return false;
        }
        let delays = system::delays_of(trap, &mut self.memory, 0);
        self.serial.pass(&Execution::of(0, Cause::LongOperation), &delays, Cause::TrapFlush, slot);
        self.serial.redirect(TRAP, Cause::TrapFlush, Flush::Trap);
        true
    }

    fn stack(&mut self, words: &[Data]) -> [u32; 2] {
        // Their addresses are physical: no translation.
        let missed: u32 = words.iter().map(|word| self.memory.data(word, Privilege::Machine).miss).sum();
        let port = words.len() as u32;
        self.serial.occupy((port + missed).into());
        [port, missed]
    }

    fn interrupts(&mut self, _: &Machine, line: u64) -> bool {
        self.cycles() >= line
    }

    fn squashed(&self, _: u64) -> Vec<Squashed> {
        Vec::new()
    }

    fn forget_predictions(&mut self) {
        self.predictor.forget(&self.core.branch);
    }

    fn cycles(&self) -> u64 {
        (self.serial.write + 1) as u64
    }

    fn mispredicts(&self) -> u64 {
        self.predictor.mispredicts
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }
}
