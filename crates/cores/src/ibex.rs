//! Ibex, small configuration: IF, and ID/EX, in which an instruction stays until its result is there. No caches, no branch
//! prediction, memory that answers in the next cycle.
//!
//! "rtl" is lowRISC's Ibex, package pythondata-cpu-ibex 0.0.post2937: guests/riscv/golden/ibex-kernels.golden, in which the
//! program that is named shows the figure. Caches, translation buffers and the cycles of operations are parameters.

use tollgate_riscv::{Class, Insn, Machine, Privilege, Trap};

use super::access::Data;
use super::core::{Core, CoreError};
use super::csr;
use super::ledger::Cause;
use super::microarchitecture::{Microarchitecture, Squashed, Step};
use super::parts::delays::{Delays, second_fetches};
use super::parts::memory::Memory;
use super::parts::memory_stage::port_cycles;
use super::parts::operands::Dependence;
use super::parts::operation;
use super::parts::predictor::{Jump, Outcome, Predictor};
use super::parts::serial::{Execution, Serial};
use super::parts::system::{self, Refetch, RefetchPenalties};
use super::passage::Flush;
use super::slot::Slot;

/// Bytes of a fetch; the prefetch buffer realigns instructions. rtl: compressed.across_words
const FETCH_WIDTH: u64 = 4;
/// Bytes of the data port: a misaligned access is two. rtl: misaligned.load
const DATA_WIDTH: u32 = 4;
/// Cycles in which a load or store waits for its answer. rtl: load.independent
const MEMORY_WAIT: u32 = 1;
/// A taken branch: the comparison's result is registered, then the target is fetched. rtl: branch.taken
const COMPARE: i64 = 1;
const TARGET_FETCH: i64 = 1;
/// The controller's state FLUSH, then the fetch of the handler. rtl: trap.ecall
const EXCEPTION: i64 = 2;
/// The interrupt is seen, IRQ_TAKEN, then the fetch. rtl: wait.software_interrupt
const INTERRUPT: i64 = 3;
/// The controller's state FLUSH, then the fetch. rtl: trap.return
const RETURN: u32 = 2;
/// The same after a write that may enable an interrupt or change a region's protection. rtl: csr.write_status,
/// csr.write_enabled; protection as in ibex_id_stage.sv
const CSR_FLUSH: u32 = 2;
/// FLUSH, WAIT_SLEEP, SLEEP, FIRST_FETCH. rtl: wait.pending
const WFI: u32 = 4;

/// An instruction as the core sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// Cycles in ID/EX behind the first.
    cycles: i64,
    cause: Cause,
    dependence: Option<Dependence>,
    /// Further cycles of a load or store.
    port: i64,
    jump: Jump,
    refetch: Option<Refetch>,
}

/// The core.
#[derive(Clone, Debug)]
pub(crate) struct Ibex {
    core: Core,
    stages: Serial,
    memory: Memory,
    predictor: Predictor,
    /// Whether the prefetch buffer goes on in sequence.
    in_sequence: bool,
    /// The cycle in which an interrupt that is about to be taken was seen.
    seen: Option<i64>,
}

impl Ibex {
    fn redirect(&mut self, bubbles: i64, cause: Cause, flush: Flush) {
        self.in_sequence = false;
        self.stages.redirect(bubbles, cause, flush);
    }
}

impl Microarchitecture for Ibex {
    type Op = Op;

    fn new(core: &Core) -> Result<Self, CoreError> {
        Ok(Ibex {
            stages: Serial::new(true),
            memory: Memory::new(core)?,
            predictor: Predictor::new(&core.branch),
            in_sequence: false,
            seen: None,
            core: core.clone(),
        })
    }

    fn describe(&self, insn: &Insn) -> Op {
        let cause = match insn.row().class {
            Class::Jump | Class::JumpReg => Cause::Branch,
            Class::System => Cause::Csr,
            _ => Cause::LongOperation,
        };
        // mstatus, mie, pmpcfg and pmpaddr. Only setting a bit enables an interrupt (rtl: csr.enable_and_disable).
        let flushes = matches!(insn.imm as u16, 0x100 | 0x300 | 0x310 | 0x104 | 0x304 | 0x3a0..=0x3ef);
        let penalties = RefetchPenalties {
            csr: if flushes && !csr::clears(insn) { CSR_FLUSH } else { 0 },
            return_: RETURN,
            fence_i: 0,
            sfence_vma: 0,
            wfi: WFI,
        };
        Op {
            cycles: i64::from(operation::cycles(insn, &self.core)) - 1,
            cause,
            dependence: if insn.op.by_operands() { Dependence::of(insn, &self.core) } else { None },
            port: port_cycles(insn, MEMORY_WAIT, DATA_WIDTH),
            jump: Jump::of(insn),
            refetch: Refetch::of(insn, &penalties),
        }
    }

    fn stages(&self) -> [bool; 5] {
        [true, false, false, false, true]
    }

    fn depends_on_operands(&self) -> bool {
        Dependence::any(&self.core)
    }

    #[inline(always)]
    fn retire(&mut self, step: &Step<Op>, accesses: &[Data], slot: &mut Slot) {
        let &Step { pc, pa, next_pc, insn, op, privilege, operands, taken } = step;
        let mut delays = Delays::of(&mut self.memory, (pc, pa, insn.len), privilege, accesses, DATA_WIDTH);
        delays.second = second_fetches(FETCH_WIDTH, self.in_sequence, pc, insn.len);
        delays.port += op.port;
        let mut cycles = op.cycles;
        if let Some(dependence) = op.dependence {
            cycles = (cycles + i64::from(dependence.more(operands))).max(0);
        }
        let mut outcome = Outcome::Right;
        if op.jump != Jump::None {
            outcome = self.predictor.resolve(op.jump, pc, insn.len, next_pc, taken);
            if outcome == Outcome::Direction {
                delays.settle = COMPARE;
            }
        }
        self.stages.pass(&Execution::of(cycles, op.cause), &delays, Cause::Issue, slot);
        self.in_sequence = op.jump == Jump::None || next_pc == pc.wrapping_add(insn.len.into()) && !taken;
        if outcome == Outcome::Direction {
            self.redirect(TARGET_FETCH, Cause::Branch, Flush::Branch);
        } else if let Some(refetch) = op.refetch {
            refetch.empty(&mut self.memory);
            self.redirect(refetch.bubbles, refetch.cause, refetch.flush);
        }
    }

    fn trap(&mut self, trap: &Trap, slot: &mut Slot) -> bool {
        if trap.cause.is_interrupt() {
            self.redirect(INTERRUPT, Cause::TrapFlush, Flush::Interrupt);
            if let Some(seen) = self.seen.take() {
                self.stages.redirect_behind(seen - 1, INTERRUPT, Cause::TrapFlush, Flush::Interrupt);
            }
            return false;
        }
        let delays = system::delays_of(trap, &mut self.memory, MEMORY_WAIT.into());
        self.stages.pass(&Execution::of(0, Cause::LongOperation), &delays, Cause::TrapFlush, slot);
        self.redirect(EXCEPTION, Cause::TrapFlush, Flush::Trap);
        true
    }

    fn stack(&mut self, words: &[Data]) -> [u32; 2] {
        // Their addresses are physical: no translation.
        let missed: u32 = words.iter().map(|word| self.memory.data(word, Privilege::Machine).miss).sum();
        let port = words.len() as u32 * (1 + MEMORY_WAIT);
        self.stages.occupy((port + missed).into());
        [port, missed]
    }

    /// It is taken before the instruction that comes to ID/EX behind the cycle in which it is seen, also while ID is empty
    /// behind a branch. rtl: the interrupts' programs integer and branch
    fn interrupts(&mut self, machine: &Machine, line: u64) -> bool {
        let Some(insn) = system::next_instruction(machine) else { return false };
        let second = second_fetches(FETCH_WIDTH, self.in_sequence, machine.pc(), insn.len);
        let delays = Delays { second, ..Delays::default() };
        let execution = Execution::of(0, Cause::LongOperation);
        let begin = self.stages.clone().pass(&execution, &delays, Cause::Issue, &mut Slot::default());
        let taken = begin > line.cast_signed();
        if taken {
            self.seen = Some(line.cast_signed());
        }
        taken
    }

    fn squashed(&self, _: u64) -> Vec<Squashed> {
        Vec::new()
    }

    fn forget_predictions(&mut self) {
        self.predictor.forget(&self.core.branch);
    }

    fn cycles(&self) -> u64 {
        (self.stages.write + 1) as u64
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
