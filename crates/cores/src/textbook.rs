//! The textbook's cores: one to five stages, with or without forwarding.
//!
//! Times are cycles. With a dash for the instruction before, the five stages are
//!
//! ```text
//! IF  = max(ID', redirect)                              ID' leaves IF free
//! ID  = max(IF + 1 + walk + i-miss + second fetch, EX')
//! EX  = max(ID + 1, MEM', operands ready)
//! MEM = max(EX + cycles of the operation, WB')
//! WB  = max(MEM + 1 + walk + d-miss + wait, WB' + 1)
//! ```
//!
//! An instruction is charged `WB - WB'` cycles. One is its own; the others are found by adding its delays one after the other, in
//! the order of the pipe, each charged with what it adds. With no delay at all `WB` is `WB' + 1`, whatever the state: each
//! stage of the instruction before begins later than its own stage before. With fewer stages the delays add up.

use tollgate_riscv::{Class, Insn, Machine, Op as Opcode, Privilege, Trap};

use super::access::Data;
use super::core::{Core, CoreError};
use super::csr;
use super::keys::Kind;
use super::ledger::Cause;
use super::microarchitecture::{Microarchitecture, Squashed, Step};
use super::parts::delays::{Delays, Redirect, second_fetches};
use super::parts::memory::Memory;
use super::parts::memory_stage::port_cycles;
use super::parts::operands::Dependence;
use super::parts::operation::{self, Operation, Result as OperationResult, registers};
use super::parts::predictor::{Jump, JumpPenalties, Outcome, Predictor};
use super::parts::serial::{Execution, Serial};
use super::parts::system::{self, Refetch, RefetchPenalties};
use super::passage::Flush;
use super::slot::Slot;

/// Register numbers behind those of the registers: `x0` where it is waited for, and the whole register file.
const ZERO: u8 = 64;
const REGISTER_FILE: u8 = 65;
const REGISTERS: usize = 66;

/// An instruction as the core sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    reads: [u8; 3],
    /// A register that is needed in MEM only.
    late_read: u8,
    writes: u8,
    operation: Operation,
    /// Further cycles on the data port.
    port: i64,
    /// Waits until the pipe is empty.
    drains: bool,
    jump: Jump,
    refetch: Option<Refetch>,
    /// Changes the address space in a core that then forgets translations.
    forgets: bool,
}

impl Op {
    /// An instruction that needs nothing and takes no time.
    const PLAIN: Op = Op {
        reads: [0; 3],
        late_read: 0,
        writes: 0,
        operation: Operation::PLAIN,
        port: 0,
        drains: false,
        jump: Jump::None,
        refetch: None,
        forgets: false,
    };
}

/// From when a register can be used in EX, and why not earlier.
#[derive(Clone, Debug)]
struct Registers {
    ready: [i64; REGISTERS],
    cause: [Cause; REGISTERS],
}

impl Registers {
    const fn new() -> Self {
        Registers { ready: [i64::MIN / 2; REGISTERS], cause: [Cause::LoadUse; REGISTERS] }
    }

    #[inline(always)]
    fn ready(&self, register: u8) -> i64 {
        self.ready.get(usize::from(register)).copied().unwrap_or(i64::MIN / 2)
    }

    fn waits(&self, register: u8) -> (i64, Cause) {
        let register = usize::from(register);
        (self.ready[register], self.cause[register])
    }

    /// A result is there, and behind `write` in the register file.
    #[inline(always)]
    fn set(&mut self, register: u8, ready: i64, cause: Cause, write: i64) {
        let register = usize::from(register) % REGISTERS;
        (self.ready[register], self.cause[register]) = (ready, cause);
        self.ready[usize::from(REGISTER_FILE)] = write + 1;
    }
}

/// Five stages: when the last instruction entered them.
#[derive(Clone, Debug)]
struct FiveStages {
    forwarding: bool,
    decode: i64,
    execute: i64,
    memory: i64,
    write: i64,
    redirect: Redirect,
    registers: Registers,
}

/// The times at which an instruction can enter the stages.
#[derive(Clone, Copy)]
struct Times {
    fetch: i64,
    fetched: i64,
    operands: i64,
    execute_cycles: i64,
    memory_cycles: i64,
}

impl FiveStages {
    fn new(forwarding: bool) -> Self {
        let registers = Registers::new();
        FiveStages {
            forwarding,
            decode: 0,
            execute: 1,
            memory: 2,
            write: 3,
            redirect: Redirect::NONE,
            registers,
        }
    }

    /// When an instruction enters ID, EX, MEM and WB.
    #[inline(always)]
    fn enters(&self, times: &Times) -> [i64; 4] {
        let decode = times.fetched.max(self.execute);
        let execute = (decode + 1).max(self.memory).max(times.operands);
        let memory = (execute + times.execute_cycles).max(self.write);
        let write = (memory + times.memory_cycles).max(self.write + 1);
        [decode, execute, memory, write]
    }

    /// An instruction passes.
    #[inline(always)]
    fn pass(&mut self, op: &Op, delays: &Delays, own: Cause, slot: &mut Slot) {
        let fetch = self.decode.max(self.redirect.at);
        let registers = &self.registers;
        // (The compiler does not inline the arrays' `map`.)
        let [a, b, c] = op.reads;
        let ready = registers.ready(a).max(registers.ready(b)).max(registers.ready(c));
        let mut operands = self.memory.max(ready).max(registers.ready(op.late_read) - 1);
        if op.drains {
            operands = operands.max(self.write + 1);
        }
        let [execute_cycles, memory_cycles] = op.operation.further(delays.operands);
        let enters = self.enters(&Times {
            fetch,
            fetched: fetch + 1 + delays.fetch_walk + delays.fetch_miss + delays.second,
            operands,
            execute_cycles: 1 + execute_cycles + delays.settle,
            memory_cycles: 1 + memory_cycles + delays.data_walk + delays.data_miss + delays.port,
        });
        let [decode, execute, memory, write] = enters;
        slot.starts = [fetch, decode, execute, memory, write];
        slot.end = write + 1;
        if write > self.write + 1 || own != Cause::Issue {
            self.charge(op, delays, own, slot);
        }
        self.redirect.at = Redirect::NONE.at;
        [self.decode, self.execute, self.memory, self.write] = enters;
        if op.writes != 0 {
            self.write_register(op, delays);
        }
    }

    /// Adds delays in the order of the pipe and charges each with what it adds.
    #[inline(never)]
    fn charge(&self, op: &Op, delays: &Delays, own: Cause, slot: &mut Slot) {
        slot.charged(own, delays);
        let mut times = Times {
            fetch: self.decode,
            fetched: self.decode + 1,
            operands: self.memory,
            execute_cycles: 1,
            memory_cycles: 1,
        };
        let mut now = self.write + 1;
        let mut added = |times: &Times| {
            let write = self.enters(times)[3];
            (write - std::mem::replace(&mut now, write)) as u64
        };
        if self.redirect.at > times.fetch {
            (times.fetch, times.fetched) = (self.redirect.at, self.redirect.at + 1);
            slot.refill = Some((self.redirect.cause, added(&times)));
        }
        let mut charge = |times: &Times, cause: Cause| slot.charges[cause as usize] += added(times);
        for (cycles, cause) in [
            (delays.fetch_walk, Cause::TlbWalk),
            (delays.fetch_miss, Cause::IMiss),
            (delays.second, Cause::Structural),
        ] {
            times.fetched += cycles;
            charge(&times, cause);
        }
        if op.drains {
            // The instruction before has left WB.
            times.operands = self.write + 1;
            charge(&times, Cause::Csr);
        }
        let [a, b, c] = op.reads;
        for (register, late) in [(a, 0), (b, 0), (c, 0), (op.late_read, 1)] {
            let (ready, cause) = self.registers.waits(register);
            times.operands = times.operands.max(ready - late);
            charge(&times, cause);
        }
        let [execute, memory] = op.operation.further(delays.operands);
        for (cycles, cause) in [(execute, op.operation.cause), (delays.settle, Cause::Branch)] {
            times.execute_cycles += cycles;
            charge(&times, cause);
        }
        for (cycles, cause) in [
            (memory, op.operation.cause),
            (delays.data_walk, Cause::TlbWalk),
            (delays.data_miss, Cause::DMiss),
            (delays.port, Cause::Structural),
        ] {
            times.memory_cycles += cycles;
            charge(&times, cause);
        }
    }

    /// When the result of the last instruction can be used.
    #[inline(always)]
    fn write_register(&mut self, op: &Op, delays: &Delays) {
        let more = i64::from(delays.operands);
        let operation = &op.operation;
        let (ready, cause) = match operation.result {
            // Ripes finds this hazard as if values were forwarded, and no other one with x0.
            OperationResult::Bubbles(n) if op.writes == ZERO => (self.write - 1 + n, operation.result_cause),
            _ if op.writes == ZERO => (self.execute, Cause::LoadUse),
            _ if !self.forwarding => (self.write + 1, Cause::LoadUse),
            OperationResult::Execute(n) => (self.execute + n + more, operation.result_cause),
            OperationResult::Memory(n) if n < 2 => (self.memory + n, operation.result_cause),
            OperationResult::Memory(n) => (self.write + n - 1, operation.result_cause),
            OperationResult::Bubbles(n) => (self.write - 1 + n, operation.result_cause),
        };
        self.registers.set(op.writes, ready, cause, self.write);
    }
}

/// The stages of a core.
#[derive(Clone, Debug)]
enum Stages {
    Five(FiveStages),
    /// One instruction at a time.
    One(Serial, Registers),
}

/// A core of one to five stages.
#[derive(Clone, Debug)]
pub(crate) struct Textbook {
    core: Core,
    stages: Stages,
    memory: Memory,
    predictor: Predictor,
    penalties: JumpPenalties,
    settle: i64,
    fetch_width: u64,
    data_width: u32,
    /// Whether the next fetch is in sequence.
    in_sequence: bool,
}

impl Textbook {
    /// Behind the last instruction's EX, the next one is fetched `bubbles` late.
    fn redirect_from_execute(&mut self, bubbles: i64) {
        self.in_sequence = false;
        match &mut self.stages {
            Stages::Five(five) => {
                five.redirect.set(five.execute - 1 + bubbles, Cause::Branch, Flush::Branch);
            }
            Stages::One(serial, _) => serial.redirect(bubbles, Cause::Branch, Flush::Branch),
        }
    }

    /// The same behind its WB.
    fn redirect_from_write(&mut self, bubbles: i64, cause: Cause, flush: Flush) {
        self.in_sequence = false;
        match &mut self.stages {
            Stages::Five(five) => five.redirect.set(five.write - 3 + bubbles, cause, flush),
            Stages::One(serial, _) => serial.redirect(bubbles, cause, flush),
        }
    }

    #[inline(always)]
    fn pass(&mut self, op: &Op, delays: &Delays, own: Cause, slot: &mut Slot) {
        match &mut self.stages {
            Stages::Five(five) => five.pass(op, delays, own, slot),
            Stages::One(serial, registers) => pass_serially(serial, registers, op, delays, own, slot),
        }
    }
}

/// An instruction passes a core of one or two stages. Results that are not pipelined are there when the next instruction
/// begins, unless they take longer.
#[inline(always)]
fn pass_serially(
    serial: &mut Serial,
    registers: &mut Registers,
    op: &Op,
    delays: &Delays,
    own: Cause,
    slot: &mut Slot,
) {
    let [cycles, late] = op.operation.further(delays.operands);
    let [a, b, c] = op.reads;
    let mut operands = [registers.waits(a), registers.waits(b), registers.waits(c)];
    if op.late_read != 0 {
        operands[1] = registers.waits(op.late_read);
    }
    let execution = Execution { cycles, cause: op.operation.cause, late, operands };
    let begin = serial.pass(&execution, delays, own, slot);
    if op.writes != 0 {
        let (cause, write) = (op.operation.result_cause, serial.write);
        let more = i64::from(delays.operands);
        let ready = match op.operation.result {
            OperationResult::Bubbles(n) => write + 1 + n,
            _ if op.writes == ZERO => begin,
            _ if !op.operation.pipelined => write + 1,
            OperationResult::Execute(n) => begin + n + more,
            OperationResult::Memory(n) => begin + n - i64::from(n > 1),
        };
        registers.set(op.writes, ready, cause, write);
    }
}

impl Microarchitecture for Textbook {
    type Op = Op;

    fn new(core: &Core) -> Result<Self, CoreError> {
        let stages = match core.pipeline.kind {
            Kind::FiveStage => Stages::Five(FiveStages::new(core.pipeline.forwarding)),
            kind => Stages::One(Serial::new(kind == Kind::TwoStage), Registers::new()),
        };
        let branch = &core.branch;
        Ok(Textbook {
            stages,
            memory: Memory::new(core)?,
            predictor: Predictor::new(branch),
            penalties: JumpPenalties {
                mispredict: branch.mispredict.into(),
                taken: branch.taken.into(),
                direct: branch.jump.into(),
                indirect: branch.indirect.into(),
            },
            settle: branch.settle.into(),
            fetch_width: core.pipeline.fetch_width.into(),
            data_width: core.pipeline.data_width,
            in_sequence: false,
            core: core.clone(),
        })
    }

    fn describe(&self, insn: &Insn) -> Op {
        let (p, s) = (&self.core.pipeline, &self.core.system);
        let class = insn.row().class;
        let (mut reads, writes) = registers(insn, if p.zero_waits { ZERO } else { 0 });
        let mut late_read = 0;
        if matches!(class, Class::Store | Class::FpStore) && p.store_data_late {
            late_read = std::mem::take(&mut reads[1]);
        }
        let mut operation = Operation::new(insn, &self.core, p.load_use, s.csr_use);
        let fixed = operation::fixed_shift(insn, &self.core);
        if p.kind == Kind::MultiCycle
            && operation.cause == Cause::LongOperation
            && !insn.op.by_operands()
            && fixed == 0
        {
            // The states of a machine without a pipeline.
            operation.cause = Cause::Structural;
        }
        if !p.forwarding && p.kind != Kind::FiveStage && operation.pipelined {
            // Where only one instruction executes, the register file has its result before the next one begins.
            operation.result = OperationResult::Memory(0);
        }
        let csr = s.csr_flush_of.of(insn.imm as u16).unwrap_or(s.csr_flush);
        let penalties = RefetchPenalties {
            csr: if s.csr_clear_in_place && csr::clears(insn) { 0 } else { csr },
            return_: self.core.trap.return_,
            fence_i: s.fence_i,
            sfence_vma: s.sfence_vma,
            wfi: s.wfi,
        };
        Op {
            reads,
            late_read,
            writes,
            operation,
            port: port_cycles(insn, p.memory_wait, p.data_width),
            drains: s.csr_drain && (class == Class::Csr || insn.op == Opcode::SfenceVma),
            jump: Jump::of(insn),
            refetch: Refetch::of(insn, &penalties),
            forgets: s.satp_empties
                && class == Class::Csr
                && insn.imm as u16 == csr::SATP
                && csr::writes(insn),
        }
    }

    fn stages(&self) -> [bool; 5] {
        match self.core.pipeline.kind {
            Kind::FiveStage => [true; 5],
            Kind::TwoStage => [true, false, false, false, true],
            Kind::SingleCycle | Kind::MultiCycle => [false, false, false, false, true],
        }
    }

    fn depends_on_operands(&self) -> bool {
        Dependence::any(&self.core)
    }

    #[inline(always)]
    fn retire(&mut self, step: &Step<Op>, accesses: &[Data], slot: &mut Slot) {
        let &Step { pc, pa, next_pc, insn, op, privilege, operands, taken } = step;
        let mut delays =
            Delays::of(&mut self.memory, (pc, pa, insn.len), privilege, accesses, self.data_width);
        delays.second = second_fetches(self.fetch_width, self.in_sequence, pc, insn.len);
        delays.port += op.port;
        if let Some(dependence) = op.operation.dependence {
            delays.operands = dependence.more(operands);
        }
        let mut outcome = Outcome::Right;
        if op.jump != Jump::None {
            outcome = self.predictor.resolve(op.jump, pc, insn.len, next_pc, taken);
            if outcome == Outcome::Direction {
                delays.settle = self.settle;
            }
        }
        self.pass(op, &delays, Cause::Issue, slot);
        self.in_sequence = true;
        if op.jump != Jump::None {
            let bubbles = self.penalties.of(op.jump, outcome);
            if bubbles > 0 {
                self.redirect_from_execute(bubbles);
            } else if next_pc != pc.wrapping_add(insn.len.into()) || taken {
                self.in_sequence = false;
            }
        } else if let Some(refetch) = op.refetch {
            refetch.empty(&mut self.memory);
            self.redirect_from_write(refetch.bubbles, refetch.cause, refetch.flush);
        }
        if op.forgets {
            self.memory.forget_translations();
        }
    }

    fn trap(&mut self, trap: &Trap, slot: &mut Slot) -> bool {
        let keys = self.core.trap;
        if trap.cause.is_interrupt() {
            self.redirect_from_write(keys.interrupt.into(), Cause::TrapFlush, Flush::Interrupt);
            return false;
        }
        let delays = system::delays_of(trap, &mut self.memory, self.core.pipeline.memory_wait.into());
        let file = if keys.ecall_reads && system::is_ecall(trap) { REGISTER_FILE } else { 0 };
        let drains = self.core.system.csr_drain && system::is_illegal_csr(trap);
        self.pass(&Op { reads: [file, 0, 0], drains, ..Op::PLAIN }, &delays, Cause::TrapFlush, slot);
        self.redirect_from_write(keys.exception.into(), Cause::TrapFlush, Flush::Trap);
        true
    }

    fn stack(&mut self, words: &[Data]) -> [u32; 2] {
        // Their addresses are physical: no translation.
        let missed = words.iter().map(|word| self.memory.data(word, Privilege::Machine).miss).sum();
        let port = words.len() as u32 * (1 + self.core.pipeline.memory_wait);
        let cycles = i64::from(port + missed);
        match &mut self.stages {
            Stages::Five(five) => {
                five.write += cycles;
                five.redirect.delay(cycles);
            }
            Stages::One(serial, _) => serial.occupy(cycles),
        }
        [port, missed]
    }

    fn interrupts(&mut self, _: &Machine, line: u64) -> bool {
        self.cycles() >= line + u64::from(self.core.trap.interrupt_delay)
    }

    fn squashed(&self, sequential: u64) -> Vec<Squashed> {
        let Stages::Five(five) = &self.stages else { return Vec::new() };
        let redirect = five.redirect;
        if !redirect.is_some() {
            return Vec::new();
        }
        let mut five = FiveStages { redirect: Redirect::NONE, ..five.clone() };
        let mut slot = Slot::default();
        // The pipe holds no more than these behind the last one.
        (0..4)
            .map_while(|k| {
                five.pass(&Op::PLAIN, &Delays::default(), Cause::Issue, &mut slot);
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
        let write = match &self.stages {
            Stages::Five(five) => five.write,
            Stages::One(serial, _) => serial.write,
        };
        (write + 1) as u64
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
