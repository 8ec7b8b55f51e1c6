//! VexRiscv for Linux: five stages in order that wait together, static prediction, write-through caches, a store port to memory.
//!
//! "rtl" is VexRiscv_Linux of package pythondata-cpu-vexriscv 1.0.1.post407: guests/riscv/golden/vexriscv-kernels.golden, in
//! which the program that is named shows the figure. Caches, translation buffers, memory, predictor sizes and the cycles of
//! operations are parameters.

mod pipe;
mod store_port;
mod wrong_path;

use tollgate_riscv::{Class, Code, Insn, Machine, Op as Opcode, Privilege, Trap};

use self::pipe::{Behind, Memory as MemoryStage, Op, Pipe};
use self::store_port::StorePort;
use super::access::Data;
use super::core::{Core, CoreError};
use super::csr;
use super::ledger::Cause;
use super::microarchitecture::{Microarchitecture, Squashed, Step};
use super::parts::delays::Delays;
use super::parts::fetchable::FetchableCode;
use super::parts::latest_stores::LatestStores;
use super::parts::memory::Memory;
use super::parts::memory_stage::accesses as accesses_of;
use super::parts::operands::Dependence;
use super::parts::operation::{Operation, registers};
use super::parts::predictor::{Jump, Outcome, Predictor};
use super::parts::system::{self, Refetch, RefetchPenalties};
use super::passage::Flush;
use super::slot::Slot;

/// Bubbles of a use of a loaded value directly behind the load: loads have their value in WB. rtl: load.use
const LOAD_USE: u32 = 2;
/// Bubbles of a use of a CSR's value. rtl: csr.use
const CSR_USE: u32 = 1;
/// Bubbles of a load that reads what a store is writing, and goes through the pipe again. rtl: store.load_same
const REDO: i64 = 5;
/// Predicted in ID. rtl: alu.shortest_loop, jump.forward
const PREDICTED_JUMP: i64 = 1;
/// Found in MEM. rtl: branch.taken, jump.indirect, the random program seed-06
const MISPREDICT: i64 = 3;
/// The pipe empties first. rtl: trap.ecall, the interrupts' program integer
const EXCEPTION: i64 = 6;
const INTERRUPT: i64 = 6;
/// Cycles from an interrupt's line to the core. rtl: the interrupts' program integer
const INTERRUPT_DELAY: i64 = 2;
/// rtl: trap.return
const RETURN: u32 = 5;
/// A write of `satp` also forgets translations. rtl: translated.same_space
const SATP: u32 = 3;
/// rtl: translated.fence
const SFENCE_VMA: u32 = 3;
/// The instruction cache forgets one of its 128 lines a cycle, from when `fence.i` is in ID: the instruction behind it is
/// fetched by then, and the one after that waits. rtl: fence.code, fence.code_after_stores
const FENCE_I: i64 = 132;

impl Op {
    /// An instruction that needs nothing and takes no time.
    const PLAIN: Op = Op {
        reads: [0; 3],
        writes: 0,
        operation: Operation::PLAIN,
        drains: false,
        memory: MemoryStage { reads: false, writes: false, fences: false },
        compared: false,
        jump: Jump::None,
        refetch: None,
        empties_pipe: false,
        fence_i: false,
        writes_satp: false,
        system: false,
    };
}

/// The core.
#[derive(Clone, Debug)]
pub(crate) struct Vexriscv {
    core: Core,
    pipe: Pipe,
    /// The data port, and stores on their way to memory.
    port: StorePort,
    /// The addresses of the latest stores.
    stores: LatestStores,
    memory: Memory,
    predictor: Predictor,
    /// The code that wrong paths may fetch.
    code: FetchableCode,
    /// Until when an instruction was in ID that a misprediction has dropped.
    dropped: Option<i64>,
    /// When the instruction cache can be read again that a `fence.i` empties.
    emptied: Option<i64>,
    /// As if an instruction had been in WB then, an interrupt that is about to be taken.
    interrupted: Option<i64>,
}

impl Vexriscv {
    /// The `fence.i` before the last instruction empties the instruction cache.
    fn empty_instructions(&mut self) {
        if let Some(at) = self.emptied.take() {
            self.memory.flush_instructions();
            self.pipe.redirect.set(at, Cause::Csr, Flush::System);
        }
    }

    /// A jump was mispredicted, or is predicted in ID.
    fn redirect_jump(&mut self, step: &Step<Op>, outcome: Outcome) {
        match (step.op.jump, outcome) {
            (Jump::Indirect { .. }, Outcome::Target) | (_, Outcome::Direction) => {
                let behind = self.behind_mispredicted(step);
                let at = self.pipe.memory - 2 + MISPREDICT + i64::from(behind.stalled);
                self.pipe.redirect.set(at, Cause::Branch, Flush::Branch);
                self.pipe.hold_fetch(behind.held);
                self.dropped = (behind.present && !behind.stalled).then_some(self.pipe.memory);
            }
            (_, Outcome::Target) => {
                let at = self.pipe.execute - 1 + PREDICTED_JUMP;
                self.pipe.redirect.set(at, Cause::Branch, Flush::Branch);
            }
            (_, Outcome::Right) => {}
        }
    }

    /// The effect of an instruction on the fetch behind it.
    #[inline(never)]
    fn refetch(&mut self, step: &Step<Op>) {
        let op = step.op;
        if op.writes_satp {
            self.memory.forget_translations();
        }
        if op.fence_i {
            self.emptied = Some(self.pipe.execute - 1 + FENCE_I);
        }
        if let Some(refetch) = op.refetch {
            refetch.empty(&mut self.memory);
            self.pipe.redirect_from_write(refetch.bubbles, refetch.cause, refetch.flush);
        }
        if op.empties_pipe {
            self.fetch_behind_flush(step);
        }
    }
}

impl Microarchitecture for Vexriscv {
    type Op = Op;

    fn new(core: &Core) -> Result<Self, CoreError> {
        Ok(Vexriscv {
            pipe: Pipe::new(),
            port: StorePort::of(core.memory.store_slots as usize, core.memory.latency, REDO),
            stores: LatestStores::default(),
            memory: Memory::new(core)?,
            predictor: Predictor::new(&core.branch),
            code: FetchableCode::new(),
            dropped: None,
            emptied: None,
            interrupted: None,
            core: core.clone(),
        })
    }

    fn describe(&self, insn: &Insn) -> Op {
        let class = insn.row().class;
        let (reads, writes) = registers(insn, 0);
        let [loads, stores] = accesses_of(insn);
        let writes_satp = class == Class::Csr && insn.imm as u16 == csr::SATP && csr::writes(insn);
        let fence_i = insn.op == Opcode::FenceI;
        let penalties = RefetchPenalties {
            csr: if writes_satp { SATP } else { 0 },
            return_: RETURN,
            fence_i: 0,
            sfence_vma: SFENCE_VMA,
            // rtl: wait.pending
            wfi: 0,
        };
        Op {
            reads,
            writes,
            operation: Operation::new(insn, &self.core, LOAD_USE, CSR_USE),
            drains: class == Class::Csr || insn.op == Opcode::SfenceVma,
            memory: MemoryStage { reads: loads, writes: stores, fences: insn.op == Opcode::Fence },
            compared: class != Class::StoreConditional,
            jump: Jump::of(insn),
            refetch: if fence_i { None } else { Refetch::of(insn, &penalties) },
            empties_pipe: writes_satp || matches!(insn.op, Opcode::Mret | Opcode::Sret),
            fence_i,
            writes_satp,
            system: class == Class::System,
        }
    }

    fn load(&mut self, code: &Code) {
        self.code.load(code);
    }

    fn depends_on_operands(&self) -> bool {
        Dependence::any(&self.core)
    }

    #[inline(always)]
    fn retire(&mut self, step: &Step<Op>, accesses: &[Data], slot: &mut Slot) {
        let &Step { pc, pa, next_pc, insn, op, privilege, operands, taken } = step;
        let mut delays = Delays::of(&mut self.memory, (pc, pa, insn.len), privilege, accesses, 0);
        let mut overlap = 0;
        for access in accesses.iter().filter(|_| op.compared) {
            overlap |= self.stores.overlap(access.va, access.size, access.store);
        }
        if let Some(dependence) = op.operation.dependence {
            delays.operands = dependence.more(operands);
        }
        let outcome = match op.jump {
            Jump::None => Outcome::Right,
            jump => self.predictor.resolve(jump, pc, insn.len, next_pc, taken),
        };
        let mut behind = Behind::default();
        if overlap != 0 || delays.data_miss > 0 && op.memory.reads {
            behind = self.behind_load(step, &delays, overlap);
        }
        self.code.note(pa, insn);
        self.dropped = None;
        self.pipe.pass(op, &delays, Some((&mut self.port, overlap, behind)), Cause::Issue, slot);
        if self.emptied.is_some() {
            self.empty_instructions();
        }
        if outcome != Outcome::Right {
            self.redirect_jump(step, outcome);
        } else if op.fence_i || op.writes_satp || op.refetch.is_some() {
            self.refetch(step);
        }
    }

    fn trap(&mut self, trap: &Trap, slot: &mut Slot) -> bool {
        if trap.cause.is_interrupt() {
            self.pipe.redirect_from_write(INTERRUPT, Cause::TrapFlush, Flush::Interrupt);
            if let Some(write) = self.interrupted.take() {
                let at = write - 3 + INTERRUPT;
                self.pipe.redirect.set(at, Cause::TrapFlush, Flush::Interrupt);
            }
            return false;
        }
        let delays = system::delays_of(trap, &mut self.memory, 0);
        let op = Op { drains: system::is_illegal_csr(trap), ..Op::PLAIN };
        let port = (&mut self.port, 0, Behind::default());
        self.pipe.pass(&op, &delays, Some(port), Cause::TrapFlush, slot);
        self.pipe.redirect_from_write(EXCEPTION, Cause::TrapFlush, Flush::Trap);
        self.empty_instructions();
        self.fetch_behind_trap(trap);
        true
    }

    fn stack(&mut self, words: &[Data]) -> [u32; 2] {
        // Their addresses are physical: no translation.
        let missed: u32 = words.iter().map(|word| self.memory.data(word, Privilege::Machine).miss).sum();
        let port = words.len() as u32;
        self.pipe.occupy((port + missed).into());
        [port, missed]
    }

    fn interrupts(&mut self, machine: &Machine, line: u64) -> bool {
        let held = self.holds_for_interrupt(machine, line.cast_signed() + INTERRUPT_DELAY);
        self.interrupted = held.map(|held| held + 2);
        held.is_some()
    }

    fn squashed(&self, sequential: u64) -> Vec<Squashed> {
        let redirect = self.pipe.redirect;
        if !redirect.is_some() {
            return Vec::new();
        }
        let mut pipe = self.pipe.in_sequence();
        let mut slot = Slot::default();
        // The pipe holds no more than these behind the last one.
        (0..4)
            .map_while(|k| {
                pipe.pass(&Op::PLAIN, &Delays::default(), None, Cause::Issue, &mut slot);
                let reached = |at: i64| (at < redirect.at).then_some(at as u64);
                reached(slot.starts[0]).map(|_| Squashed {
                    pc: sequential.wrapping_add(4 * k),
                    starts: slot.starts.map(reached),
                    end: redirect.at as u64,
                    flush: redirect.flush,
                })
            })
            .collect()
    }

    fn forget_predictions(&mut self) {
        self.predictor.forget(&self.core.branch);
    }

    fn cycles(&self) -> u64 {
        (self.pipe.write + 1) as u64
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
