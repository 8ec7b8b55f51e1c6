//! The plain scoreboard as an observer.

use super::access::Data;
use super::beyond::Beyond;
use super::core::{Core, CoreError};
use super::csr;
use super::keys::Kind;
use super::ledger::{Cause, Causes, Ledger};
use super::line_port::LinePort;
use super::memory::{Memory, MemoryCounts, Waits};
use super::passage::{Flush, Passage, Sink, Stage, stalls};
use super::phases::Phases;
use super::pipe::Pipe;
use super::predict::Predict;
use super::scoreboard::Scoreboard;
use super::shape::{Costs, Shape};
use super::slot::Pass;
use super::step::Step;
use super::ways::Landings;
use super::work::Works;
use tollgate_riscv::Code;
use tollgate_riscv::EventCounts;
use tollgate_riscv::Privilege;
use tollgate_riscv::Trap;
use tollgate_riscv::is_device;
use tollgate_riscv::{Access, AccessKind, Observer, Retired, Walk};
use tollgate_riscv::{Class, Insn, Op};
use tollgate_riscv::{Machine, Step as MachineStep, Stop};

/// What was counted besides cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimingCounts {
    /// Instructions that retired.
    pub instructions: u64,
    /// Branches and indirect jumps that were mispredicted.
    pub mispredicts: u64,
    /// Exceptions and interrupts.
    pub traps: u64,
    /// Caches and translation buffers.
    pub memory: MemoryCounts,
}

impl TimingCounts {
    /// What a guest's counters of events count.
    pub fn events(&self) -> EventCounts {
        let of = &self.memory;
        let misses = [of.l1i_misses, of.l1d_misses, of.l2_misses, of.itlb_misses, of.dtlb_misses];
        let [l1i, l1d, l2, itlb, dtlb] = misses;
        [l1i, l1d, l2, itlb, dtlb, self.mispredicts, self.traps]
    }
}

/// Core, pipe, caches and ledger together: what [`Timed`] and the fast path share.
#[derive(Clone)]
pub(super) struct Model {
    pub(super) core: Core,
    pub(super) pipe: Pipe,
    pub(super) memory: Memory,
    pub(super) predict: Predict,
    /// What is in place of `pipe` and `predict`, if the core has one.
    pub(super) board: Option<Box<Scoreboard>>,
    /// What wrong paths may come to, in a core that fetches them.
    pub(super) beyond: Option<Beyond>,
    /// What the fetch may run on to, in a core that has a queue of fetched words.
    pub(super) ahead: Option<Beyond>,
    /// Whether there is code that it may run on to.
    pub(super) runs_on: bool,
    /// The port that the lines of both caches share.
    pub(super) line_port: Option<LinePort>,
    pub(super) landings: Landings,
    pub(super) works: Works,
    pub(super) ledger: Ledger,
    /// Whose instructions are executed, if that is known, and the cycles of each owner's instructions.
    pub(super) owner: Option<u32>,
    pub(super) owners: Ledger,
    pub(super) instructions: u64,
    pub(super) traps: u64,
    /// What the words cost that traps and returns stack in hardware; part of the ledger.
    pub(super) stacking: Causes,
    /// The phase that the next refill is charged to; none of a mode as long as nothing has retired.
    pub(super) refill_phase: u8,
    pub(super) started: bool,
    /// Until when there was something in ID that a misprediction has dropped.
    pub(super) dropped: Option<i64>,
    /// When the instruction cache can be read again that a `fence.i` empties: behind the instruction after it, which is
    /// fetched already.
    pub(super) emptied: Option<i64>,
    /// As if an instruction had been in WB then, an interrupt that is about to be taken.
    pub(super) interrupted: Option<i64>,
}

impl Model {
    pub(super) fn new(core: &Core) -> Result<Self, CoreError> {
        core.check()?;
        Ok(Model {
            pipe: Pipe::new(core),
            memory: Memory::new(core)?,
            predict: Predict::new(core),
            board: (core.pipeline.kind == Kind::Scoreboard).then(|| Box::new(Scoreboard::new(core))),
            beyond: core.branch.wrong_path.then(Beyond::new),
            runs_on: false,
            line_port: LinePort::new(&core.memory, core.pipeline.replay),
            landings: Landings::default(),
            ahead: (core.branch.fetch_queue > 0).then(Beyond::new),
            works: Works::new(),
            ledger: Ledger::default(),
            owner: None,
            owners: Ledger::default(),
            core: core.clone(),
            instructions: 0,
            traps: 0,
            stacking: [0; Cause::COUNT],
            refill_phase: u8::MAX,
            started: false,
            dropped: None,
            emptied: None,
            interrupted: None,
        })
    }

    /// Code is loaded that fetches may come to before, or without, its execution.
    pub(super) fn load(&mut self, code: &Code) {
        self.runs_on = self.ahead.is_some();
        for beyond in [&mut self.beyond, &mut self.ahead].into_iter().flatten() {
            beyond.load(code);
        }
        if let Some(board) = &mut self.board {
            board.front.beyond.load(code);
        }
    }

    pub(super) fn cycles(&self) -> u64 {
        if self.started { self.pipe.cycles() } else { 0 }
    }

    pub(super) fn counts(&self) -> TimingCounts {
        TimingCounts {
            instructions: self.instructions,
            mispredicts: self.predict.mispredicts,
            traps: self.traps,
            memory: self.memory.counts(),
        }
    }

    /// The first instruction pays for filling the pipe.
    pub(super) fn start(&mut self, phase: u8) {
        if !self.started {
            self.charge_one(phase, Cause::Issue, self.pipe.cycles());
            self.started = true;
        }
    }

    /// Further fetches that an instruction needs, and whether it needs none at all.
    pub(super) fn second_fetches(&self, pc: u64, len: u8) -> (u32, bool) {
        second_fetches(self.core.pipeline.fetch_width, self.pipe.fresh, pc, len)
    }

    pub(super) fn charge(&mut self, phase: u8, pass: &Pass) {
        self.ledger.charge_all(phase, &pass.charges);
        if let Some((cause, cycles)) = pass.refill {
            self.ledger.charge(self.refill_phase, cause, cycles);
        }
        if let Some(owner) = self.owner {
            self.owners.add_to(owner, &pass.causes());
        }
        self.refill_phase = phase;
    }

    /// Charges cycles of one cause.
    pub(super) fn charge_one(&mut self, phase: u8, cause: Cause, cycles: u64) {
        self.ledger.charge(phase, cause, cycles);
        if let Some(owner) = self.owner {
            self.owners.row(owner as usize)[cause as usize] += cycles;
        }
    }

    /// Charges what a run of instructions of one owner took.
    pub(super) fn charge_run(&mut self, phase: u8, owner: Option<u32>, causes: &Causes) {
        self.ledger.charge_all(phase, causes);
        if let Some(owner) = owner {
            self.owners.add_to(owner, causes);
        }
    }

    /// One instruction retires.
    pub(super) fn retire(&mut self, step: &Step, accesses: &[Data]) -> (Pass, Costs) {
        self.start(step.phase);
        let work = *self.works.of(step.insn, &self.core);
        if let Some(board) = &mut self.board {
            let (pass, costs) = board.retire(step, &work, accesses, &mut self.memory);
            self.pipe.set_write(board.commit(), board.redirected());
            self.charge(step.phase, &pass);
            self.instructions += 1;
            return (pass, costs);
        }
        let (second, at_hand) = self.second_fetches(step.pc, step.insn.len);
        let filling = self.pipe.filling().is_some_and(|line| {
            let last = step.pa + u64::from(step.insn.len) - 1;
            [step.pa, last].iter().any(|&pa| self.memory.instruction_line(pa) == line)
        });
        let mut fetch = self.memory.fetch(step.pc, step.pa, step.insn.len, step.privilege);
        let line_missed = self.line_missed(step, &mut fetch.miss);
        let (mut data, mut overlap) = (Waits::default(), 0);
        for access in accesses {
            let waits = self.memory.data(access, step.privilege);
            data.walk += waits.walk;
            data.miss += waits.miss;
            data.soils |= waits.soils;
            // The store of `sc` is not seen.
            let kept = !is_device(access.pa) || self.core.pipeline.redo > 0;
            if kept && step.insn.row().class != Class::StoreConditional {
                overlap |= self.memory.overlap(access.va, access.size, access.store);
            }
        }
        let again = accesses.iter().map(|access| access.further(self.core.pipeline.data_width)).sum();
        let (mut settle, mut penalty) = (0, (0, Stage::Execute));
        if let Some(turn) = self.predict.turn(step.pc, step.insn) {
            let code = self.predict.foresee(&turn, step.next_pc, step.taken);
            settle = self.predict.settling(&turn, code);
            penalty = (self.predict.bubbles(&turn, code), self.predict.found(&turn, code));
        }
        let mut costs = Costs {
            fetch_walk: fetch.walk,
            fetch_miss: fetch.miss,
            line_missed,
            crosses: step.crosses(),
            filling,
            second,
            at_hand,
            execute: work.dependence.map_or(0, |dependence| dependence.more(step.operands)),
            settle,
            data_walk: data.walk,
            data_miss: data.miss,
            soils: data.soils,
            overlap,
            behind: self.behind_load(overlap, step.pa, step.insn),
            device: accesses.iter().any(|access| is_device(access.pa)),
            again,
            ..Costs::default()
        };
        if self.shares_port(&work.shape, &costs) && self.misses_behind(step) {
            self.share_port(step, &work.shape, &mut costs);
        }
        self.stray_from_load(step, &work.shape, &mut costs);
        if let Some(beyond) = &mut self.beyond {
            beyond.note(step.pa, step.insn);
            self.dropped = None;
        }
        self.run_on_from_access(step, &work.shape, &costs);
        let pass = self.pipe.pass(&work.shape, &costs);
        self.charge(step.phase, &pass);
        self.instructions += 1;
        if let Some(at) = self.emptied.take() {
            self.memory.flush_instructions();
            self.pipe.redirect_at(at, Cause::Csr, Flush::System);
        }
        self.behind(step, penalty);
        (pass, costs)
    }

    /// When the next instruction would enter ID and EX, if it is found and misses nothing, and when again if it is a load that
    /// is replayed because it overlaps with a store which waits.
    fn next_starts(&mut self, machine: &Machine) -> Option<[[i64; 2]; 2]> {
        let (insn, costs) = self.next_instruction(machine)?;
        let shape = Shape::new(&insn, &self.core);
        let [_, decode, execute, ..] = self.pipe.clone().pass(&shape, &costs).starts;
        let mut again = [decode, execute];
        if let (Some((size, false)), Class::Load | Class::FpLoad) = (insn.op.access(), insn.row().class) {
            let va = machine.x(insn.rs1).wrapping_add_signed(insn.imm);
            let (pa, overlap) = (machine.translate(machine.pc())?, self.memory.overlap(va, size, false));
            let costs = Costs { overlap, behind: self.behind_load(overlap, pa, &insn), ..costs };
            let execute = self.pipe.clone().pass(&shape, &costs).starts[2];
            if execute > again[1] {
                again = [execute; 2];
            }
        }
        Some([[decode, execute], again])
    }

    /// What [`Timed::interrupts`] says.
    pub(super) fn takes_interrupt(&mut self, machine: &Machine, line: u64) -> bool {
        if let Some(board) = &self.board {
            // Decode sees it; what is ahead retires first.
            return board.decode().cast_unsigned() >= line;
        }
        let trap = &self.core.trap;
        let seen = line + u64::from(trap.interrupt_delay);
        if !trap.interrupt_in_decode {
            return self.cycles() >= seen;
        }
        let seen = seen.cast_signed();
        if self.beyond.is_some() {
            let held = self.holds_for_interrupt(machine, seen);
            self.interrupted = held.map(|held| held + 2);
            return held.is_some();
        }
        let Some([first, again]) = self.next_starts(machine) else { return false };
        let taken = again[1] > seen;
        // When a load that is replayed has left ID, it must come there again.
        let decode = if seen > first[1] { again[0] } else { first[0] };
        if taken {
            // No earlier than if an instruction had been in WB then.
            self.interrupted = Some(match self.core.pipeline.kind {
                Kind::FiveStage => decode.max(seen) + 2,
                _ => seen - 1,
            });
        }
        taken
    }

    /// The next instruction, if it is found, and what it costs if it misses nothing.
    pub(super) fn next_instruction(&self, machine: &Machine) -> Option<(Insn, Costs)> {
        let bytes = machine.read_memory(machine.translate(machine.pc())?, 4).ok()?;
        let word = u32::from_le_bytes(bytes.try_into().ok()?);
        let word = if word & 3 == 3 { word } else { word & 0xffff };
        let insn = machine.decoder().decode(word)?;
        let (second, at_hand) = self.second_fetches(machine.pc(), insn.len);
        Some((insn, Costs { second, at_hand, ..Costs::default() }))
    }

    /// What an instruction does to the fetch of the next one.
    /// `found` is the stage that finds it out.
    pub(super) fn behind(&mut self, step: &Step, (penalty, found): (u32, Stage)) {
        let s = &self.core.system;
        match step.insn.row().class {
            Class::Branch | Class::Jump | Class::JumpReg => self.behind_jump(step, (penalty, found), true),
            Class::Csr => {
                if s.satp_empties && step.insn.imm as u16 == csr::SATP && csr::writes(step.insn) {
                    self.memory.forget_translations();
                }
                let flushes = csr::writes(step.insn) && !(s.csr_clear_in_place && csr::clears(step.insn));
                let bubbles = s.csr_flush_of.of(step.insn.imm as u16).unwrap_or(s.csr_flush);
                if flushes && bubbles > 0 {
                    self.pipe.redirect_from_write(bubbles, Cause::Csr, Flush::System);
                    self.run_on_behind(step);
                    self.predict.landed = step.next_pc;
                    self.stray_from_flush(step);
                }
            }
            Class::System => match step.insn.op {
                Op::Mret | Op::Sret => {
                    let penalty = self.core.return_penalty();
                    self.pipe.redirect_from_write(penalty, Cause::TrapFlush, Flush::Return);
                    self.run_on_behind(step);
                    self.predict.landed = step.next_pc;
                    self.stray_from_flush(step);
                }
                Op::FenceI if s.fence_i_early => {
                    self.emptied = Some(self.pipe.entered()[0] - 1 + i64::from(s.fence_i));
                }
                Op::FenceI => {
                    self.memory.flush_instructions();
                    self.pipe.redirect_from_write(s.fence_i, Cause::Csr, Flush::System);
                }
                Op::SfenceVma | Op::SinvalVma => {
                    self.memory.flush_translations();
                    self.pipe.redirect_from_write(s.sfence_vma, Cause::Csr, Flush::System);
                }
                Op::Wfi if s.wfi > 0 => {
                    self.pipe.redirect_from_write(s.wfi, Cause::Csr, Flush::System);
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// The same of a branch or jump. `runs_on` says whether the fetch may come to something on a wrong path.
    pub(super) fn behind_jump(&mut self, step: &Step, (penalty, found): (u32, Stage), runs_on: bool) {
        if penalty > 0 && found == Stage::Fetch {
            self.pipe.redirect_from_fetch(penalty, Cause::Branch, Flush::Branch);
        } else if penalty > 0 && found == Stage::Memory {
            let strayed = self.stray_from_branch(step);
            let penalty = penalty + u32::from(strayed.stalled);
            self.pipe.redirect_from_memory(penalty, Cause::Branch, Flush::Branch);
            self.pipe.hold(strayed.held);
            let dropped = strayed.present && !strayed.stalled;
            self.dropped = dropped.then_some(self.pipe.entered()[1]);
        } else if penalty > 0 {
            self.pipe.redirect_from_execute(penalty, Cause::Branch, Flush::Branch);
            if runs_on {
                self.run_on_from_jump(step);
            }
        } else if step.taken || step.next_pc != step.pc.wrapping_add(u64::from(step.insn.len)) {
            self.pipe.leave_sequence();
        }
    }
}

/// Further fetches that an instruction needs: one fetch brings `width` aligned bytes, and the bytes left over by the
/// one before are available unless the fetch is `fresh`.
pub(super) fn second_fetches(width: u32, fresh: bool, pc: u64, len: u8) -> (u32, bool) {
    if width == 0 {
        return (0, false);
    }
    let width = u64::from(width);
    let (first, last) = (pc / width, (pc + u64::from(len) - 1) / width);
    let at_hand = !fresh && !pc.is_multiple_of(width);
    let words = (last - first + 1 - u64::from(at_hand)) as u32;
    (words.saturating_sub(1), words == 0)
}

/// Attaches a core to a machine: the plain scoreboard.
///
/// `P` assigns the phases, `S` receives each instruction's passage through the pipe; `()` switches either off.
#[derive(Clone)]
pub struct Timed<P: Phases = (), S: Sink = ()> {
    model: Model,
    phases: P,
    sink: S,
    accesses: Vec<Data>,
    /// Words that hardware stacks.
    stacked: Vec<Access>,
    sequence: u64,
    /// The wrong address at which the fetch continued, for squashed instructions.
    last: Option<LastFetch>,
}

/// The last instruction, as far as squashed ones behind it are concerned.
#[derive(Clone, Copy)]
struct LastFetch {
    /// Behind it.
    sequential: u64,
    privilege: Privilege,
}

impl<P: Phases, S: Sink> Timed<P, S> {
    /// A core with empty pipe and caches.
    pub fn new(core: &Core, phases: P, sink: S) -> Result<Self, CoreError> {
        Ok(Timed {
            model: Model::new(core)?,
            phases,
            sink,
            accesses: Vec::new(),
            stacked: Vec::new(),
            sequence: 0,
            last: None,
        })
    }

    /// Lets the core know the code that was loaded: fetches beyond what is executed then find it.
    #[must_use]
    pub fn with_code(mut self, code: &Code) -> Self {
        self.model.load(code);
        self
    }

    /// The core.
    pub fn core(&self) -> &Core {
        &self.model.core
    }

    /// Cycles so far: until the last instruction has left the pipe.
    pub fn cycles(&self) -> u64 {
        self.model.cycles()
    }

    /// Where they went. The sum of all entries is [`cycles`](Self::cycles).
    pub fn ledger(&self) -> &Ledger {
        &self.model.ledger
    }

    /// Cycles of the ledger that went into words which traps and returns stack in hardware, by cause.
    pub fn stacking(&self) -> &Causes {
        &self.model.stacking
    }

    /// What was counted besides.
    pub fn counts(&self) -> TimingCounts {
        self.model.counts()
    }

    /// Empties caches and translation buffers and forgets all predictions, but does not empty the pipe: what comes
    /// next finds a cold core.
    pub fn make_cold(&mut self) {
        self.model.memory.flush_all();
        self.model.pipe.line_ahead = None;
        self.model.predict.forget(&self.model.core);
        if let Some(board) = &mut self.model.board {
            board.forget();
        }
    }

    /// Whether an interrupt, whose line rises in the cycle in which an instruction retires that leaves
    /// [`cycles`](Self::cycles) at `line`, is taken before the next instruction.
    pub fn interrupts(&mut self, machine: &Machine, line: u64) -> bool {
        self.model.takes_interrupt(machine, line)
    }

    /// Raises the machine external interrupt in one exact cycle: runs until the core [takes it](Self::interrupts) before
    /// the next instruction, if the guest has it enabled. Then the trap is taken. The interrupt latency is the handler's
    /// IF less `cycle`.
    ///
    /// # Errors
    /// When `budget` steps were not enough, or the machine stopped; contains the reason.
    pub fn interrupt_at(&mut self, machine: &mut Machine, cycle: u64, budget: u64) -> Result<(), Stop> {
        let mut raised = false;
        for _ in 0..budget {
            // The last instruction leaves WB at the end of cycle `cycles() - 1`.
            if !raised && self.interrupts(machine, cycle + 1) {
                machine.set_external_interrupt(true);
                raised = true;
            }
            match machine.step(self) {
                MachineStep::Stopped(stop) => return Err(stop),
                MachineStep::Trapped if raised => {
                    machine.set_external_interrupt(false);
                    return Ok(());
                }
                _ => {}
            }
        }
        machine.set_external_interrupt(false);
        Err(Stop::Budget)
    }

    /// A copy of the model as if this trap had not occurred: without the accesses of the trapping instruction and the
    /// hardware.
    pub fn untrapped(&self) -> Self
    where
        Self: Clone,
    {
        let mut copy = self.clone();
        copy.accesses.clear();
        copy.stacked.clear();
        copy
    }

    /// What assigns the phases.
    pub fn phases(&mut self) -> &mut P {
        &mut self.phases
    }

    /// What receives the passages.
    pub fn sink(&mut self) -> &mut S {
        &mut self.sink
    }

    /// The ledger, the phases and the sink.
    pub fn into_parts(self) -> (Ledger, P, S) {
        (self.model.ledger, self.phases, self.sink)
    }

    /// Reports the instructions that were fetched behind the last one and are squashed.
    fn squash(&mut self) {
        let (Some(redirect), Some(last)) = (self.model.pipe.redirect, self.last) else { return };
        if let Some(board) = &self.model.board {
            for (pc, [request, decode, issue]) in board.dropped() {
                let reached = |at: i64| (at < redirect.at).then_some(at as u64);
                let Some(request) = reached(request) else { break };
                // The cycle of the redirection does not issue.
                let issue = reached(issue + 1).map(|_| issue as u64);
                self.sink.passage(Passage {
                    sequence: self.sequence,
                    pc,
                    word: None,
                    privilege: last.privilege,
                    starts: [Some(request), reached(decode), issue, None, None],
                    end: redirect.at as u64,
                    stalls: Vec::new(),
                    squashed: Some(redirect.flush),
                });
                self.sequence += 1;
            }
            return;
        }
        if self.model.core.pipeline.kind != super::Kind::FiveStage {
            return;
        }
        let mut pipe = self.model.pipe.clone();
        pipe.redirect = None;
        // The pipe holds no more than these behind the last one.
        for k in 0..4 {
            let pass = pipe.pass(&Shape::PLAIN, &Costs::default());
            if pass.starts[0] >= redirect.at {
                break;
            }
            self.sink.passage(Passage {
                sequence: self.sequence,
                pc: last.sequential.wrapping_add(4 * k),
                word: None,
                privilege: last.privilege,
                starts: pass.starts.map(|t| (t < redirect.at).then_some(t as u64)),
                end: redirect.at as u64,
                stalls: Vec::new(),
                squashed: Some(redirect.flush),
            });
            self.sequence += 1;
        }
    }

    #[expect(clippy::too_many_arguments)]
    fn emit(
        &mut self,
        pc: u64,
        word: Option<u32>,
        len: u8,
        privilege: Privilege,
        pass: &Pass,
        costs: &Costs,
        squashed: Option<Flush>,
    ) {
        let mut starts = pass.starts.map(|t| Some(t.max(0) as u64));
        match self.model.core.pipeline.kind {
            super::Kind::FiveStage | super::Kind::Scoreboard => {}
            super::Kind::TwoStage => starts[1..4].fill(None),
            super::Kind::SingleCycle | super::Kind::MultiCycle => starts[..4].fill(None),
        }
        let write = self.model.pipe.write();
        // An instruction of a core without a pipeline waits in its only stage.
        let one = !matches!(self.model.core.pipeline.kind, super::Kind::FiveStage | super::Kind::Scoreboard);
        let mut stalls = stalls(&pass.charges, costs);
        for stall in &mut stalls {
            if one {
                stall.stage = Stage::WriteBack;
            }
        }
        self.sink.passage(Passage {
            sequence: self.sequence,
            pc,
            word,
            privilege,
            starts,
            end: write as u64 + 1,
            stalls,
            squashed,
        });
        self.sequence += 1;
        self.last = Some(LastFetch { sequential: pc.wrapping_add(u64::from(len)), privilege });
    }
}

impl Timed<(), ()> {
    /// Does one step of a machine with this core attached. (It is compiled in this crate, whose tests are optimized.)
    pub fn step(&mut self, machine: &mut Machine) -> MachineStep {
        machine.step(self)
    }
}

impl<P: Phases, S: Sink> Observer for Timed<P, S> {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const WALK: bool = true;

    fn access(&mut self, access: &Access) {
        if access.kind == AccessKind::Stacking {
            self.stacked.push(*access);
        } else {
            self.accesses.push(Data::of(access));
        }
    }

    fn retire(&mut self, retired: &Retired) {
        let phase = self.phases.of(retired);
        let step = Step::of(retired, phase);
        if S::ACTIVE {
            self.squash();
        }
        let (pass, costs) = self.model.retire(&step, &self.accesses);
        self.accesses.clear();
        if S::ACTIVE {
            self.emit(
                retired.pc,
                Some(retired.word),
                retired.insn.len,
                retired.privilege,
                &pass,
                &costs,
                None,
            );
        }
        self.model.stack(&self.stacked, phase);
        self.stacked.clear();
    }

    fn trap(&mut self, trap: &Trap) {
        self.accesses.clear();
        let phase = self.phases.of_trap(trap);
        if S::ACTIVE && !trap.cause.is_interrupt() {
            self.squash();
        }
        if let Some((pass, costs)) = self.model.trap(trap, phase)
            && S::ACTIVE
        {
            self.emit(trap.epc, None, 4, trap.from, &pass, &costs, Some(Flush::Trap));
        }
        self.model.stack(&self.stacked, phase);
        self.stacked.clear();
    }

    fn walk(&mut self, walk: &Walk) {
        self.model.memory.learn(walk);
    }

    fn address_space(&mut self, satp: u64) {
        self.model.memory.set_satp(satp);
    }
}
