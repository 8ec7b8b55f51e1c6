//! CV32E40X: IF, ID, EX and WB. No caches, no branch prediction, memory that answers in the next cycle.
//!
//! "rtl" is OpenHW's CV32E40X, package pythondata-cpu-cv32e40x 0.6.0.post161: guests/riscv/golden/cv32e40x-kernels.golden, in
//! which the program that is named shows the figure. Caches, translation buffers and the cycles of multiplications and divisions
//! are parameters.
//!
//! Times are cycles. With a dash for the instruction before, and `fetched` a cycle behind the cycle that asks for a target:
//!
//! ```text
//! ID   = max(EX', fetched + 1)
//! EX   = max(ID + 1, last EX' + 1, operands, CSRs)
//! last = max(EX + cycles of the operation - 1, WB')
//! WB   = last + 1 + waits for memory
//! ```

use tollgate_riscv::{Class, Insn, Machine, Op as Opcode, Privilege, Trap};

use super::access::Data;
use super::core::{Core, CoreError};
use super::csr;
use super::ledger::Cause;
use super::microarchitecture::{Microarchitecture, Squashed, Step};
use super::parts::delays::{Delays, Redirect, second_fetches};
use super::parts::memory::Memory;
use super::parts::memory_stage::{accesses as accesses_of, port_cycles};
use super::parts::operation::{self, registers};
use super::parts::system;
use super::passage::Flush;
use super::slot::Slot;

/// Bytes of a fetch; the alignment buffer joins instructions. rtl: compressed.target_across_words
const FETCH_WIDTH: u64 = 4;
/// Bytes of the data port: a misaligned access takes EX twice. rtl: misaligned.load
const DATA_WIDTH: u32 = 4;
/// A register that is loaded can be used in EX so many cycles behind WB, and a CSR behind the WB of the CSR instruction
/// before. rtl: load.use, csr.read_scratch
const LOADED: i64 = 1;
const CSR_WRITTEN: i64 = 2;
/// `jalr` reads its register in ID, from WB at the earliest; a loaded one behind it. rtl: jump.indirect_fresh_target,
/// jump.indirect_loaded_target
const JALR_LOADED: i64 = 1;
/// Cycles of `fence` and `fence.i` in WB behind the first: a handshake with whoever has caches. rtl: fence.code, fence.data
const FENCE: i64 = 2;
/// Cycles of `wfi` in WB behind the first, and from its last one to the next EX. rtl: wait.pending
const WFI: i64 = 1;
const WAKE: i64 = 2;
/// A handler's address is fetched like an instruction, and goes on to ID. rtl: the interrupts' programs with a table, of
/// cv32e40x-clic
const POINTER: i64 = 2;

/// The CLIC's register of the next interrupt. Its value comes from WB, as a loaded one does, behind the access before it.
/// rtl: the traps' program pair.next of cv32e40x-clic
const MNXTI: u16 = 0x345;

/// Where the fetch goes behind an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Sequential,
    /// Decided in the first cycle of EX. rtl: branch.taken
    Branch,
    /// Done in ID. rtl: jump.forward
    Jump,
    /// `jalr`.
    Indirect,
    /// `mret`: in ID, when no CSR instruction is before it. rtl: trap.return
    Return,
    Fence,
    Wait,
}

/// Whether a CSR instruction writes what may enable an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Enables {
    Never,
    Always,
    /// `mcause`, in which a CLIC has fields of `mstatus`.
    WithClic,
}

/// An instruction as the core sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    reads: [u8; 3],
    writes: u8,
    /// Cycles in EX; of a division, those with a divisor without leading zeros.
    cycles: i64,
    cause: Cause,
    /// Set for a division: whether it is signed, and the divisor's bits.
    division: Option<(bool, u32)>,
    /// Loads and stores; further accesses of what is wider than the port.
    accesses: bool,
    loads: bool,
    port: i64,
    /// Waits in ID until the CSR instruction before has left WB.
    csr: bool,
    /// Reads a counter: it waits in EX until WB is empty. rtl: counter.read_cycle
    counter: bool,
    /// Writes a CSR that may enable an interrupt: a load or store waits in EX meanwhile.
    enables: Enables,
    /// Is one on `mnxti`.
    next: bool,
    flow: Flow,
    empties: bool,
}

impl Op {
    /// An instruction that needs nothing and takes no time.
    const PLAIN: Op = Op {
        reads: [0; 3],
        writes: 0,
        cycles: 1,
        cause: Cause::LongOperation,
        division: None,
        accesses: false,
        loads: false,
        port: 0,
        csr: false,
        counter: false,
        enables: Enables::Never,
        next: false,
        flow: Flow::Sequential,
        empties: false,
    };

    /// Cycles of a division in EX beyond `cycles`: the divider first moves the divisor to the left, one bit a cycle.
    /// rtl: div.small, div.by_zero
    fn digits(&self, divisor: u64) -> i64 {
        let Some((signed, bits)) = self.division else { return 0 };
        // One bit less of a negative number, which keeps its sign.
        let negative = signed && (divisor << (64 - bits)).cast_signed() < 0;
        let value = if negative { !divisor << 1 | 1 } else { divisor } << (64 - bits);
        value.leading_zeros().min(bits).into()
    }
}

/// The waits of one instruction.
#[derive(Clone, Copy, Debug)]
struct Waits {
    /// The first cycle in which it can be in ID.
    fetched: i64,
    /// The same of EX.
    operands: i64,
    /// The first cycle in which it can do something in EX.
    held: i64,
    /// Cycles in EX.
    execute: i64,
    /// Cycles in WB behind the first.
    memory: i64,
}

impl Waits {
    const NONE: Waits =
        Waits { fetched: i64::MIN / 2, operands: i64::MIN / 2, held: i64::MIN / 2, execute: 1, memory: 0 };
}

/// The stages.
#[derive(Clone, Debug)]
struct Pipe {
    /// Of the last instruction: in ID; the first and the last cycle in EX; the last one in WB.
    decode: i64,
    execute: i64,
    last: i64,
    write: i64,
    redirect: Redirect,
    /// From when a register can be used in EX, and by `jalr` in ID.
    ready: [i64; 64],
    readable: [i64; 64],
    /// The WB of the last CSR instruction, and of the last one that may have enabled an interrupt.
    csr: i64,
    enabled: i64,
    /// Whether there is a CLIC: `mnxti` was read.
    has_clic: bool,
    /// The first and the last cycle in WB of the latest two loads and stores.
    accesses: [[i64; 2]; 2],
}

impl Pipe {
    fn new() -> Self {
        let before = i64::MIN / 2;
        Pipe {
            decode: 0,
            execute: 1,
            last: 1,
            write: 2,
            redirect: Redirect::NONE,
            ready: [before; 64],
            readable: [before; 64],
            csr: before,
            enabled: before,
            has_clic: false,
            accesses: [[before; 2]; 2],
        }
    }

    /// ID, EX, last EX, last WB.
    #[inline(always)]
    fn enters(&self, waits: &Waits) -> [i64; 4] {
        let decode = waits.fetched.max(self.execute);
        let execute = (decode + 1).max(waits.operands).max(self.last + 1);
        let last = (execute.max(waits.held) + waits.execute - 1).max(self.write);
        [decode, execute, last, last + 1 + waits.memory]
    }

    /// An instruction passes. Returns when it redirects the fetch, if it does that in ID.
    #[inline(always)]
    fn pass(&mut self, op: &Op, divisor: u64, delays: &Delays, own: Cause, slot: &mut Slot) -> i64 {
        let mut waits = Waits::NONE;
        if self.redirect.is_some() {
            waits.fetched = self.redirect.at + 1;
        }
        let fetch = delays.fetch_walk + delays.fetch_miss + delays.second;
        if fetch > 0 {
            waits.fetched = waits.fetched.max(self.execute) + fetch;
        }
        let decode = waits.fetched.max(self.execute);
        let [a, b, c] = op.reads.map(|register| self.ready[usize::from(register) % 64]);
        waits.operands = a.max(b).max(c);
        let mut redirects = decode;
        match op.flow {
            Flow::Indirect => redirects = redirects.max(self.readable[usize::from(op.reads[0]) % 64]),
            Flow::Return => redirects = redirects.max(self.csr + CSR_WRITTEN - 1),
            _ => {}
        }
        waits.operands = waits.operands.max(redirects + 1);
        if op.csr {
            waits.operands = waits.operands.max(self.csr + CSR_WRITTEN);
        }
        if op.counter {
            waits.held = self.write + 1;
        } else if op.next {
            waits.held = self.accesses[1][1] + 1;
        } else if op.accesses {
            waits.held = self.enabled + 1;
        }
        let parts = delays.port;
        waits.execute = op.cycles + op.digits(divisor) + parts;
        waits.memory = delays.data_walk + delays.data_miss;
        match op.flow {
            Flow::Fence => waits.memory += FENCE,
            Flow::Wait => waits.memory += WFI,
            _ => {}
        }
        let enters = self.enters(&waits);
        let [_, execute, last, write] = enters;
        slot.starts = [self.fetch_start(), decode, execute, execute, last + 1];
        slot.end = write + 1;
        if write > self.write + 1 || own != Cause::Issue {
            self.charge(op, divisor, &waits, delays, own, slot);
        }
        self.redirect.at = Redirect::NONE.at;
        [self.decode, self.execute, self.last, self.write] = enters;
        if op.writes != 0 {
            let register = usize::from(op.writes) % 64;
            self.ready[register] = if op.loads { write + LOADED } else { last + 1 };
            self.readable[register] = if op.loads || op.next { write + JALR_LOADED } else { last + 1 };
        }
        if op.csr {
            self.csr = write;
        }
        self.has_clic |= op.next;
        if op.enables == Enables::Always || op.enables == Enables::WithClic && self.has_clic {
            self.enabled = write;
        }
        if op.accesses {
            self.accesses = [self.accesses[1], [last + 1 - parts, write]];
        }
        if op.flow == Flow::Wait {
            // Nothing enters EX before the core is awake.
            self.last = write + WAKE - 1;
        } else if op.next {
            // Nothing leaves ID before `mnxti` has left EX.
            self.last += 1;
        }
        redirects
    }

    /// When the next instruction is in IF.
    fn fetch_start(&self) -> i64 {
        self.redirect.at.max(self.decode)
    }

    /// Adds waits in the order of the pipe and charges each with what it adds.
    #[inline(never)]
    fn charge(&self, op: &Op, divisor: u64, all: &Waits, delays: &Delays, own: Cause, slot: &mut Slot) {
        slot.charged(own, delays);
        let mut waits = Waits::NONE;
        let mut now = self.write + 1;
        let mut added = |waits: &Waits| {
            let write = self.enters(waits)[3];
            (write - std::mem::replace(&mut now, write)) as u64
        };
        // Behind `wfi` and `mnxti`.
        slot.charges[Cause::Csr as usize] += added(&waits);
        if self.redirect.is_some() {
            waits.fetched = self.redirect.at + 1;
            slot.refill = Some((self.redirect.cause, added(&waits)));
        }
        let mut charge = |waits: &Waits, cause: Cause| slot.charges[cause as usize] += added(waits);
        for (cycles, cause) in [
            (delays.fetch_walk, Cause::TlbWalk),
            (delays.fetch_miss, Cause::IMiss),
            (delays.second, Cause::Structural),
        ] {
            if cycles > 0 {
                waits.fetched = waits.fetched.max(self.execute) + cycles;
                charge(&waits, cause);
            }
        }
        if op.csr {
            waits.operands = self.csr + CSR_WRITTEN;
            charge(&waits, Cause::Csr);
        }
        waits.operands = all.operands;
        charge(&waits, Cause::LoadUse);
        waits.held = all.held;
        charge(&waits, Cause::Csr);
        for (cycles, cause) in
            [(op.cycles - 1 + op.digits(divisor), op.cause), (delays.port, Cause::Structural)]
        {
            waits.execute += cycles;
            charge(&waits, cause);
        }
        for (cycles, cause) in [(delays.data_walk, Cause::TlbWalk), (delays.data_miss, Cause::DMiss)] {
            waits.memory += cycles;
            charge(&waits, cause);
        }
        charge(all, Cause::Csr);
    }

    /// Whether no interrupt is taken in a cycle: an access is in WB, or has just left it.
    fn blocks_interrupts(&self, at: i64) -> bool {
        self.accesses.iter().any(|&[first, last]| (first..=last + 1).contains(&at))
    }

    /// The first cycle from `at` on in which an interrupt can be taken.
    fn interruptible(&self, mut at: i64) -> i64 {
        while self.blocks_interrupts(at) {
            at += 1;
        }
        at
    }
}

/// The core.
#[derive(Clone, Debug)]
pub(crate) struct Cv32e40x {
    core: Core,
    pipe: Pipe,
    memory: Memory,
    /// Whether the alignment buffer goes on in sequence.
    in_sequence: bool,
    /// The cycle in which an interrupt that is about to be taken empties the pipe.
    taken: Option<i64>,
    /// Taken branches and indirect jumps.
    mispredicts: u64,
}

impl Cv32e40x {
    /// Another address is asked for in a cycle.
    fn redirect(&mut self, at: i64, cause: Cause, flush: Flush) {
        self.in_sequence = false;
        self.pipe.redirect.set(at + 1, cause, flush);
    }
}

impl Microarchitecture for Cv32e40x {
    type Op = Op;

    fn new(core: &Core) -> Result<Self, CoreError> {
        Ok(Cv32e40x {
            pipe: Pipe::new(),
            memory: Memory::new(core)?,
            in_sequence: false,
            taken: None,
            mispredicts: 0,
            core: core.clone(),
        })
    }

    fn describe(&self, insn: &Insn) -> Op {
        use Opcode::*;
        let class = insn.row().class;
        let (reads, writes) = registers(insn, 0);
        let [loads, stores] = accesses_of(insn);
        let flow = match class {
            Class::Branch => Flow::Branch,
            Class::Jump => Flow::Jump,
            Class::JumpReg => Flow::Indirect,
            _ => match insn.op {
                Mret | Sret => Flow::Return,
                // `fence` does what `fence.i` does.
                Fence | FenceI => Flow::Fence,
                Wfi => Flow::Wait,
                _ => Flow::Sequential,
            },
        };
        let (is_csr, number) = (class == Class::Csr, insn.imm as u16);
        Op {
            reads,
            writes,
            cycles: operation::cycles(insn, &self.core).into(),
            cause: if class == Class::System { Cause::Csr } else { Cause::LongOperation },
            division: match insn.op {
                Div | Rem => Some((true, 64)),
                Divu | Remu => Some((false, 64)),
                Divw | Remw | Div32 | Rem32 => Some((true, 32)),
                Divuw | Remuw | Divu32 | Remu32 => Some((false, 32)),
                _ => None,
            },
            accesses: loads || stores || class == Class::StoreConditional,
            loads,
            port: port_cycles(insn, 0, DATA_WIDTH),
            csr: is_csr || flow == Flow::Return,
            counter: is_csr && matches!(number, 0xb00..=0xb9f | 0xc00..=0xc9f if number & 0x7f != 1),
            enables: match number {
                _ if !is_csr || !csr::writes(insn) => Enables::Never,
                // mstatus and mie, mnxti, mintstatus and mintthresh.
                0x300 | 0x304 | 0x345..=0x347 => Enables::Always,
                0x342 => Enables::WithClic,
                _ => Enables::Never,
            },
            next: is_csr && number == MNXTI,
            flow,
            empties: matches!(insn.op, SfenceVma | SinvalVma),
        }
    }

    fn stages(&self) -> [bool; 5] {
        [true, true, true, false, true]
    }

    fn depends_on_operands(&self) -> bool {
        true
    }

    #[inline(always)]
    fn retire(&mut self, step: &Step<Op>, accesses: &[Data], slot: &mut Slot) {
        let &Step { pc, pa, next_pc, insn, op, privilege, operands, taken } = step;
        let mut delays = Delays::of(&mut self.memory, (pc, pa, insn.len), privilege, accesses, DATA_WIDTH);
        delays.second = second_fetches(FETCH_WIDTH, self.in_sequence, pc, insn.len);
        delays.port += op.port;
        let redirects = self.pipe.pass(op, operands[1], &delays, Cause::Issue, slot);
        self.in_sequence = true;
        match op.flow {
            Flow::Sequential | Flow::Wait => {}
            Flow::Branch if taken || next_pc != pc.wrapping_add(insn.len.into()) => {
                self.mispredicts += 1;
                self.redirect(self.pipe.execute, Cause::Branch, Flush::Branch);
            }
            Flow::Branch => {}
            Flow::Jump | Flow::Indirect => {
                self.mispredicts += u64::from(op.flow == Flow::Indirect);
                self.redirect(redirects, Cause::Branch, Flush::Branch);
            }
            Flow::Return => self.redirect(redirects, Cause::TrapFlush, Flush::Return),
            Flow::Fence => {
                if insn.op == Opcode::FenceI {
                    self.memory.flush_instructions();
                }
                self.redirect(self.pipe.write, Cause::Csr, Flush::System);
            }
        }
        if op.empties {
            self.memory.flush_translations();
        }
    }

    fn trap(&mut self, trap: &Trap, slot: &mut Slot) -> bool {
        if trap.cause.is_interrupt() {
            let behind = self.pipe.interruptible(self.pipe.write + 1);
            let mut at = self.taken.take().unwrap_or(behind);
            if trap.by_table {
                at += POINTER;
                // In WB it clears a bit of mcause, for which a CSR instruction waits.
                self.pipe.csr = at + 2;
            }
            self.redirect(at, Cause::TrapFlush, Flush::Interrupt);
            return false;
        }
        let mut delays = system::delays_of(trap, &mut self.memory, 0);
        delays.second = if self.in_sequence { 0 } else { second_fetches(FETCH_WIDTH, false, trap.epc, 2) };
        let op = Op { csr: system::is_illegal_csr(trap), ..Op::PLAIN };
        self.pipe.pass(&op, 0, &delays, Cause::TrapFlush, slot);
        self.redirect(self.pipe.write, Cause::TrapFlush, Flush::Trap);
        true
    }

    fn stack(&mut self, words: &[Data]) -> [u32; 2] {
        // Their addresses are physical: no translation.
        let missed: u32 = words.iter().map(|word| self.memory.data(word, Privilege::Machine).miss).sum();
        let port = words.len() as u32;
        let cycles = i64::from(port + missed);
        self.pipe.write += cycles;
        self.pipe.redirect.delay(cycles);
        [port, missed]
    }

    /// The line is seen a cycle later, and empties the pipe unless an access is in WB or has just left it; until then nothing
    /// leaves ID. rtl: the interrupts' programs
    fn interrupts(&mut self, machine: &Machine, line: u64) -> bool {
        let Some(insn) = system::next_instruction(machine) else { return false };
        let pending = line.cast_signed();
        let op = self.describe(&insn);
        let second = second_fetches(FETCH_WIDTH, self.in_sequence, machine.pc(), insn.len);
        let delays = Delays { second, port: op.port, ..Delays::default() };
        let mut next = self.pipe.clone();
        next.pass(&op, machine.x(insn.rs2), &delays, Cause::Issue, &mut Slot::default());
        let blocked = |at: i64| next.blocks_interrupts(at);
        let retires = next.write < pending || next.execute <= pending && (pending..=next.write).all(blocked);
        if !retires {
            self.taken = Some(self.pipe.interruptible(pending));
        }
        !retires
    }

    fn squashed(&self, sequential: u64) -> Vec<Squashed> {
        let redirect = self.pipe.redirect;
        if !redirect.is_some() {
            return Vec::new();
        }
        let mut pipe = Pipe { redirect: Redirect::NONE, ..self.pipe.clone() };
        let mut slot = Slot::default();
        // The pipe holds no more than these behind the last one.
        (0..4)
            .map_while(|k| {
                pipe.pass(&Op::PLAIN, 0, &Delays::default(), Cause::Issue, &mut slot);
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

    fn forget_predictions(&mut self) {}

    fn cycles(&self) -> u64 {
        (self.pipe.write + 1) as u64
    }

    fn mispredicts(&self) -> u64 {
        self.mispredicts
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }
}
