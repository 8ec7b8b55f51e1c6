//! Rocket Chip's Rocket: five stages in order, a front end that runs ahead, and replays in place of stalls for data.
//!
//! Each figure in these files names the kernels of `guests/riscv/golden/rocket-kernels.golden` whose cycles it makes equal to those
//! of the Verilog (configuration LitexFull). The stage equations are in [`pipe`].

mod float_unit;
mod front_end;
mod history;
mod line_port;
mod next_line;
mod op;
mod pipe;
mod predictor;
mod waiting_stores;
mod wrong_path;

use tollgate_riscv::{Class, Code, Insn, Machine, Privilege, Trap, is_device};

use self::front_end::{Arrival, LineState};
use self::line_port::LinePort;
pub(crate) use self::op::Op;
use self::op::Way;
use self::pipe::{Costs, Pipe};
use self::predictor::{Jump, Outcome, Predictor, Turn};
use super::access::Data;
use super::core::{Core, CoreError};
use super::ledger::Cause;
use super::microarchitecture::{Here, Microarchitecture, Passed, Squashed, Step};
use super::parts::descriptions::Descriptions;
use super::parts::fetchable::FetchableCode;
use super::parts::latest_stores::LatestStores;
use super::parts::memory::{Memory, Waits};
use super::parts::operands::Dependence;
use super::parts::system;
use super::passage::Flush;
use super::slot::Slot;

/// Bytes of one fetch. rtl: compressed.mixed.
const WORD: u64 = 4;

/// Bubbles behind a misprediction that is found in EX. rtl: branch.inner_loop, jump.indirect_two_targets.
const MISPREDICTED: i64 = 3;

/// Bubbles behind a jump whose target the front end finds out in IF. rtl: branch.dense, branch.in_48_lines.
const FOUND_IN_FETCH: i64 = 1;

/// Bubbles between an instruction that traps, or the last one before an interrupt, and the handler. rtl: trap.ecall; direct,
/// vectored and nested-taken in guests/riscv/golden/rocket-traps.golden.
const TRAP: i64 = 4;

/// The core.
#[derive(Clone, Debug)]
pub(crate) struct Rocket {
    core: Core,
    pipe: Pipe,
    predictor: Predictor,
    memory: Memory,
    latest_stores: LatestStores,
    /// The code that the fetch may run on to, and whether there is any.
    code: FetchableCode,
    runs_on: bool,
    /// The instructions to which the fetch runs on.
    described: Descriptions<Op>,
    /// The port that the lines of both caches share.
    line_port: Option<LinePort>,
    /// Bytes of a line of the instruction cache.
    line_bytes: u64,
    /// The address of a line behind an access that was there, and how often lines had been filled by then.
    next_line: (u64, u64),
    /// Cycles at the end of a fill in which the instruction cache cannot be read.
    takes: i64,
    /// How long the next instruction waits for its fetch, if the quick way has done its fetch but not the instruction.
    fetched: Option<Waits>,
    /// As if an instruction had been in WB then, an interrupt that is about to be taken.
    interrupted: Option<i64>,
}

/// Hits and misses of an instruction in caches and translation buffers.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    fetch: Waits,
    data: Waits,
    /// Accesses a device.
    device: bool,
    /// With which of the latest stores it overlaps: the lowest bit is for the latest.
    overlap: u8,
}

/// Cycles that the operands of an instruction add, or remove.
#[inline(always)]
fn operands_of(op: &Op, values: [u64; 2]) -> i64 {
    op.dependence.map_or(0, |dependence| dependence.more(values).into())
}

impl Rocket {
    /// Describes an instruction to which the fetch runs on.
    fn describe_ahead(&mut self, insn: &Insn) -> Op {
        self.described.of(insn, |insn| Op::new(insn, &self.core))
    }

    /// An instruction that waits for its fetch or its data, or for whatever else.
    #[inline(never)]
    fn retire_any(&mut self, step: &Step<Op>, found: Found, slot: &mut Slot) {
        let op = step.op;
        let mut costs = Costs::of(Arrival::of(step.pc, step.insn.len, self.pipe.front.fresh));
        costs.crosses = step.crosses();
        self.wait_for_line(step, &found, &mut costs);
        (costs.data_walk, costs.data_miss) = (found.data.walk.into(), found.data.miss.into());
        (costs.soils, costs.device, costs.overlap) = (found.data.soils, found.device, found.overlap);
        if costs.overlap != 0 && self.pipe.stores.any() {
            costs.behind = self.behind_load(step.pa, step.insn, op);
        }
        costs.operands = operands_of(op, step.operands);
        if (op.reads || op.stores) && costs.data_walk == 0 && !costs.device {
            self.share_port(step, &mut costs);
        }
        let before = self.before_replay(step, &costs);
        self.pipe.pass(op, &costs, Cause::Issue, slot);
        self.pipe.write(op, &costs);
        if let Some(before) = before {
            self.run_on_from_replay(step, &costs, before);
        }
        if op.jump != Jump::None {
            self.jump(step);
        } else if op.refetch.is_some() {
            self.refetch(step);
        }
    }

    /// The waits of an instruction's fetch.
    fn wait_for_line(&mut self, step: &Step<Op>, found: &Found, costs: &mut Costs) {
        if let Some(fill) = self.pipe.front.fill {
            let ends = [step.pa, step.pa + u64::from(step.insn.len) - 1];
            if ends.iter().any(|&pa| self.memory.instruction_line(pa) == fill.line) {
                costs.arrival.line = LineState::Filling;
            }
        }
        (costs.fetch_walk, costs.fetch_miss) = (found.fetch.walk.into(), found.fetch.miss.into());
        costs.line_missed = self.line_missed(step, &mut costs.fetch_miss);
        if costs.fetch_miss > 0 {
            costs.arrival.line = LineState::Missed;
        }
    }

    /// Hits and misses of one of its accesses.
    #[inline(always)]
    fn access(&mut self, access: &Data, step: &Step<Op>, found: &mut Found) {
        if !self.memory.hits_latest_line(access, step.privilege) {
            let waits = self.memory.data(access, step.privilege);
            found.data.walk += waits.walk;
            found.data.miss += waits.miss;
            found.data.soils |= waits.soils;
            found.device |= is_device(access.pa);
        }
        if !found.device && !step.op.conditional {
            found.overlap |= self.latest_stores.overlap(access.va, access.size, access.store);
        }
    }

    /// A branch or jump has passed.
    #[inline(always)]
    fn jump(&mut self, step: &Step<Op>) {
        let turn = Turn::new(step.op.jump, step.pc, step.insn.len);
        match self.predictor.resolve(&turn, step.next_pc, step.taken) {
            Outcome::Right => {
                if step.taken || step.next_pc != turn.sequential {
                    self.pipe.leave_sequence();
                }
            }
            Outcome::Late => self.pipe.redirect_from_fetch(FOUND_IN_FETCH),
            Outcome::Wrong => self.mispredicted(step, &turn),
        }
    }

    #[inline(never)]
    fn mispredicted(&mut self, step: &Step<Op>, turn: &Turn) {
        self.pipe.redirect_from_execute(MISPREDICTED, Cause::Branch, Flush::Branch);
        self.run_on_from_jump(step, turn);
    }

    /// The fetch begins anew behind an instruction.
    fn refetch(&mut self, step: &Step<Op>) {
        let Some(refetch) = step.op.refetch else { return };
        refetch.empty(&mut self.memory);
        self.pipe.redirect_from_write(refetch.bubbles, refetch.cause, refetch.flush);
        if refetch.flush == Flush::Return || step.insn.row().class == Class::Csr {
            self.run_on_behind(step);
            self.predictor.landed = step.next_pc;
        }
    }

    /// Whether an instruction of decoded code finds its line and its translation without waiting.
    #[inline(always)]
    fn finds_line(&mut self, here: &Here) -> bool {
        // Whatever moves the last fetch elsewhere is unusual.
        if here.same_line {
            return true;
        }
        let (pc, pa, len) = (here.pc(), here.pa(), here.at.insn.len);
        let privilege = here.several.privilege;
        let waits = if self.memory.fetches_latest_line(pc, pa, len, privilege) {
            Waits::default()
        } else {
            self.memory.fetch(pc, pa, len, privilege)
        };
        self.fetched = Some(waits);
        waits.walk | waits.miss == 0
    }

    /// Whether a load or store that would be in EX then finds its data there, and nothing is in its way.
    #[inline(always)]
    fn finds_data(&mut self, op: &Op, here: &Here, execute: i64) -> bool {
        let Some(touch) = here.touch() else { return false };
        let end = here.pa().wrapping_add(here.at.insn.len.into());
        if self.pipe.finds_tags_taken(execute) || !self.has_next_line(end) {
            return false;
        }
        let (va, pa) = (here.several.outside(touch.va), touch.pa());
        if !op.stores
            && self.pipe.stores.overlaps(execute, { self.latest_stores }.overlap(va, op.size, false))
        {
            return false;
        }
        if !self.memory.hits_latest_of_block(va, pa, op.stores, here.several.privilege) {
            return false;
        }
        if op.stores {
            self.latest_stores.overlap(va, op.size, true);
            self.pipe.stores.store(execute, false);
        } else {
            self.pipe.stores.keep_out(execute);
        }
        self.pipe.note_access(execute);
        true
    }

    /// When the next instruction would enter ID and EX, if it is found and misses nothing, and when again if it is a load that
    /// is replayed because it overlaps with a store which waits.
    fn next_starts(&mut self, machine: &Machine) -> Option<[[i64; 2]; 2]> {
        let insn = system::next_instruction(machine)?;
        let op = Op::new(&insn, &self.core);
        let mut costs = Costs::of(Arrival::of(machine.pc(), insn.len, self.pipe.front.fresh));
        let starts = |costs: &Costs| {
            let mut slot = Slot::default();
            self.pipe.clone().pass(&op, costs, Cause::Issue, &mut slot);
            [slot.starts[1], slot.starts[2]]
        };
        let first = starts(&costs);
        let mut again = first;
        if let (Some((size, false)), Class::Load | Class::FpLoad) = (insn.op.access(), insn.row().class) {
            let va = machine.x(insn.rs1).wrapping_add_signed(insn.imm);
            let pa = machine.translate(machine.pc())?;
            costs.overlap = { self.latest_stores }.overlap(va, size, false);
            let pipe = self.pipe.clone();
            if costs.overlap != 0 {
                costs.behind = self.behind_load(pa, &insn, &op);
            }
            let mut slot = Slot::default();
            { pipe }.pass(&op, &costs, Cause::Issue, &mut slot);
            if slot.starts[2] > again[1] {
                again = [slot.starts[2]; 2];
            }
        }
        Some([first, again])
    }
}

impl Microarchitecture for Rocket {
    type Op = Op;

    fn new(core: &Core) -> Result<Self, CoreError> {
        let memory = Memory::new(core)?;
        Ok(Rocket {
            pipe: Pipe::new(
                core.memory.device_posted.then_some(core.memory.device),
                core.memory.fetch_miss_step,
            ),
            predictor: Predictor::new(&core.branch),
            code: FetchableCode::new(),
            runs_on: false,
            described: Descriptions::new(1 << 8),
            line_port: LinePort::new(&core.memory),
            line_bytes: memory.instruction_line_bytes(),
            next_line: (1, 0),
            takes: core.memory.fetch_fill.into(),
            fetched: None,
            latest_stores: LatestStores::default(),
            interrupted: None,
            memory,
            core: core.clone(),
        })
    }

    fn describe(&self, insn: &Insn) -> Op {
        Op::new(insn, &self.core)
    }

    fn load(&mut self, code: &Code) {
        self.runs_on = true;
        self.code.load(code);
    }

    fn depends_on_operands(&self) -> bool {
        Dependence::any(&self.core)
    }

    fn retire(&mut self, step: &Step<Op>, accesses: &[Data], slot: &mut Slot) {
        let (pc, pa, len) = (step.pc, step.pa, step.insn.len);
        let fetch = match self.fetched.take() {
            Some(waits) => waits,
            None if self.memory.fetches_latest_line(pc, pa, len, step.privilege) => Waits::default(),
            None => self.memory.fetch(pc, pa, len, step.privilege),
        };
        let mut found = Found { fetch, ..Found::default() };
        for access in accesses {
            self.access(access, step, &mut found);
        }
        self.retire_any(step, found, slot);
    }

    /// It waits only for its operands and its place in the queue, and a load for a cycle of the data array.
    #[inline(always)]
    fn passes(&mut self, op: &Op, here: &Here, slot: &mut Slot) -> Passed {
        let pipe = &self.pipe;
        let arrival = Arrival::of(here.at.pc, here.at.insn.len, pipe.front.fresh);
        let words = arrival.words;
        if pipe.unusual || op.way == Way::Other || !self.finds_line(here) {
            return Passed::No;
        }
        let fetch = self.pipe.front.next(words);
        let execute = self.pipe.next_execute(op, fetch[1], arrival.second());
        if op.way == Way::Access && !self.finds_data(op, here, execute)
            || op.way == Way::Iterates && !self.pipe.unit_is_free(execute)
        {
            return Passed::No;
        }
        self.pipe.advance(op, words, fetch, execute, slot);
        if !here.same_line {
            self.fetched = None;
        }
        match op.way {
            Way::Jumps => return Passed::ButJumps,
            Way::Iterates => self.pipe.iterate(op, operands_of(op, here.operands())),
            _ => {}
        }
        Passed::Yes
    }

    #[inline(always)]
    fn jumps(&mut self, step: &Step<Op>) {
        self.jump(step);
    }

    fn trap(&mut self, trap: &Trap, slot: &mut Slot) -> bool {
        if trap.cause.is_interrupt() {
            let before = self.pipe.clone();
            match self.interrupted.take() {
                // It is not known when the line rose: the next instruction had just come to ID.
                None => self.pipe.redirect_from_decode(TRAP + 1, Cause::TrapFlush, Flush::Interrupt),
                Some(write) => {
                    self.pipe.redirect_from_write(TRAP, Cause::TrapFlush, Flush::Interrupt);
                    self.pipe.redirect_behind(write, TRAP, Cause::TrapFlush, Flush::Interrupt);
                }
            }
            self.run_on_from_interrupt(trap, before);
            return false;
        }
        let delays = system::delays_of(trap, &mut self.memory, 0);
        let arrival = match system::cannot_fetch(trap) {
            true => Arrival { words: 1, line: LineState::There },
            false => Arrival::of(trap.epc, 4, self.pipe.front.fresh),
        };
        let mut costs = Costs::of(arrival);
        (costs.fetch_walk, costs.fetch_miss) = (delays.fetch_walk, delays.fetch_miss);
        costs.data_walk = delays.data_walk;
        if costs.fetch_miss > 0 {
            costs.arrival.line = LineState::Missed;
        }
        self.pipe.pass(&Op::PLAIN, &costs, Cause::TrapFlush, slot);
        self.pipe.redirect_from_write(TRAP, Cause::TrapFlush, Flush::Trap);
        self.run_on_from_trap(trap);
        true
    }

    fn stack(&mut self, words: &[Data]) -> [u32; 2] {
        // Their addresses are physical: no translation.
        let missed = words.iter().map(|word| self.memory.data(word, Privilege::Machine).miss).sum();
        let port = words.len() as u32;
        self.pipe.occupy(i64::from(port + missed));
        [port, missed]
    }

    /// The instruction in ID is replaced. rtl: nested-taken in rocket-traps.golden, all of rocket-interrupts.golden
    fn interrupts(&mut self, machine: &Machine, line: u64) -> bool {
        let seen = line.cast_signed();
        let Some([first, again]) = self.next_starts(machine) else { return false };
        let taken = again[1] > seen;
        // When a load that is replayed has left ID, it must come there again.
        let decode = if seen > first[1] { again[0] } else { first[0] };
        if taken {
            // No earlier than if an instruction had been in WB then.
            self.interrupted = Some(decode.max(seen) + 2);
        }
        taken
    }

    fn squashed(&self, sequential: u64) -> Vec<Squashed> {
        let redirect = self.pipe.front.redirect;
        if !redirect.is_some() {
            return Vec::new();
        }
        let reached = |at: i64| (at < redirect.at).then_some(at as u64);
        // The pipe holds no more than these behind the last one.
        let starts = self.pipe.next_starts().into_iter().take_while(|starts| starts[0] < redirect.at);
        let squashed = |(k, starts): (u64, [i64; 5])| Squashed {
            pc: sequential.wrapping_add(4 * k),
            starts: starts.map(reached),
            end: redirect.at as u64,
            flush: redirect.flush,
        };
        (0..).zip(starts).map(squashed).collect()
    }

    fn forget_predictions(&mut self) {
        self.pipe.line_ahead = None;
        let mispredicts = self.predictor.mispredicts;
        self.predictor = Predictor::new(&self.core.branch);
        self.predictor.mispredicts = mispredicts;
    }

    fn cycles(&self) -> u64 {
        self.pipe.cycles()
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
