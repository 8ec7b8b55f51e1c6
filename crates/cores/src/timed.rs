//! A core attached to a machine.

use tollgate_riscv::{Access, AccessKind, Class, Code, Insn, Machine, Observer};
use tollgate_riscv::{BlockInsn, Pass, Retired, Several, Step as MachineStep, Stop, Trap, Walk};

use super::access::Data;
use super::account::{Account, TimingCounts};
use super::core::{Core, CoreError};
use super::keys::Design;
use super::ledger::{Cause, Causes, Ledger};
use super::microarchitecture::{Here, Microarchitecture, Passed, Step, physical};
use super::parts::descriptions::Descriptions;
use super::passage::{Flush, Passage, Sink, Stage};
use super::phases::{ByPrivilege, Phases};
use super::slot::Slot;

/// An instruction as the core describes it, once for each place in decoded code.
#[derive(Clone, Copy)]
struct Described<O> {
    op: O,
    /// Bytes of its only access, if it is a load or a store.
    size: u8,
    store: bool,
    /// Set if the machine reports the values of its operands.
    by_operands: bool,
    /// Set if it is whole in the instruction cache line and the page in which the one before it begins.
    same_line: bool,
}

impl<O> Described<O> {
    fn new(insn: &Insn, op: O, depends: bool) -> Self {
        let (size, store) = insn.op.access().unwrap_or_default();
        Described { op, size, store, by_operands: depends && insn.op.by_operands(), same_line: false }
    }
}

/// The number of the line (of the page, if that is smaller) in which an instruction begins, and true if it also ends there.
fn line_of(at: &BlockInsn, bytes: u64) -> (u64, bool) {
    let pa = physical(at);
    let bytes = bytes.min(4096);
    (pa / bytes, (pa + u64::from(at.insn.len) - 1) / bytes == pa / bytes)
}

/// A microarchitecture with what it knows about decoded code.
#[derive(Clone)]
struct Driver<C: Microarchitecture> {
    core: C,
    /// The core's description of each instruction in the engine's memory, by place.
    ops: Vec<Described<C::Op>>,
    epoch: u64,
    /// Instructions that were executed alone.
    alone: Descriptions<C::Op>,
    slot: Slot,
}

impl<C: Microarchitecture> Driver<C> {
    fn new(core: &Core) -> Result<Self, CoreError> {
        Ok(Driver {
            core: C::new(core)?,
            ops: Vec::new(),
            epoch: u64::MAX,
            alone: Descriptions::new(1 << 10),
            slot: Slot::default(),
        })
    }

    /// An instruction that was executed alone. Returns its phase's cycles in the slot.
    #[inline(never)]
    fn retire(&mut self, retired: &Retired, accesses: &[Data]) {
        let insn = &retired.insn;
        let op = self.alone.of(insn, |insn| self.core.describe(insn));
        let step = Step {
            pc: retired.pc,
            pa: retired.pa,
            next_pc: retired.next_pc,
            insn,
            op: &op,
            privilege: retired.privilege,
            operands: retired.operands,
            taken: retired.taken,
        };
        self.slot.clear();
        self.core.retire(&step, accesses, &mut self.slot);
    }

    /// Brings up to date what is known about decoded code, as far as `end`.
    #[inline(always)]
    fn describe(&mut self, several: &Several, end: usize) {
        if self.epoch != several.epoch || self.ops.len() < end {
            self.describe_more(several, end);
        }
    }

    #[cold]
    #[inline(never)]
    fn describe_more(&mut self, several: &Several, end: usize) {
        if self.epoch != several.epoch {
            self.epoch = several.epoch;
            self.ops.clear();
        }
        let more = several.insns.get(self.ops.len()..end).unwrap_or_default();
        let (core, depends) = (&self.core, self.core.depends_on_operands());
        let bytes = core.memory().instruction_line_bytes();
        let mut before = None;
        self.ops.extend(more.iter().map(|at| {
            let (line, whole) = line_of(at, bytes);
            let same_line = before.replace(line) == Some(line) && whole;
            Described { same_line, ..Described::new(&at.insn, core.describe(&at.insn), depends) }
        }));
    }

    /// Runs of instructions in one phase. Their charges are added up in the slot.
    #[inline(never)]
    fn several(&mut self, several: &Several, phase: u8, account: &mut Account) {
        let (mut access, mut operand) = (0, 0);
        let (mut issued, mut instructions) = (0, 0);
        let mut refill_phase = account.refill_phase;
        self.slot.clear();
        for pass in several.passes {
            self.describe(several, pass.end().into());
            let insns = several.insns(pass);
            let ops = self.ops.get(usize::from(pass.start())..usize::from(pass.end())).unwrap_or_default();
            instructions += insns.len() as u64;
            for (i, (at, described)) in insns.iter().zip(ops).enumerate() {
                let same_line = described.same_line && i > 0;
                let here = Here { several, at, same_line, access, operand };
                // (Whoever needs them looks for them: most instructions have none.)
                access += usize::from(described.size > 0);
                operand += usize::from(described.by_operands);
                let passed = self.core.passes(&described.op, &here, &mut self.slot);
                if passed != Passed::Yes {
                    let next = insns.get(i + 1);
                    let step = Step {
                        pc: several.outside(at.pc),
                        pa: here.pa(),
                        next_pc: match next {
                            Some(next) => several.outside(next.pc),
                            None => next_of_last(several, pass, at),
                        },
                        insn: &at.insn,
                        op: &described.op,
                        privilege: several.privilege,
                        operands: if described.by_operands { here.operands() } else { [0; 2] },
                        taken: next.is_none() && pass.taken(),
                    };
                    // Two calls, so that the compiler knows in each how many accesses there are.
                    if passed == Passed::ButJumps {
                        self.core.jumps(&step);
                    } else if let Some(touch) = here.touch().filter(|_| described.size > 0) {
                        let Described { size, store, .. } = *described;
                        let access = Data { va: several.outside(touch.va), pa: touch.pa(), size, store };
                        self.core.retire(&step, std::slice::from_ref(&access), &mut self.slot);
                    } else {
                        self.core.retire(&step, &[], &mut self.slot);
                    }
                }
                if self.slot.lost {
                    self.slot.lost = false;
                    account.refill(refill_phase, phase, &mut self.slot);
                } else {
                    issued += 1;
                }
                refill_phase = phase;
            }
        }
        account.refill_phase = refill_phase;
        self.slot.charges[Cause::Issue as usize] += issued;
        account.charge_all(phase, &self.slot.charges);
        account.instructions += instructions;
    }
}

/// Where the last instruction of a run went.
#[inline(always)]
fn next_of_last(several: &Several, pass: &Pass, last: &BlockInsn) -> u64 {
    let next = match last.insn.row().class {
        Class::JumpReg => pass.target,
        Class::Jump => last.pc.wrapping_add(last.insn.imm as u64),
        Class::Branch if pass.taken() => last.pc.wrapping_add(last.insn.imm as u64),
        _ => last.pc.wrapping_add(u64::from(last.insn.len)),
    };
    several.outside(next)
}

/// The cores, one variant each: a batch of instructions is dispatched once.
macro_rules! cores {
    (($d:tt) $($variant:ident: $core:ty,)*) => {
        #[derive(Clone)]
        enum Engine {
            $($variant(Box<Driver<$core>>),)*
        }

        impl Engine {
            /// The stages that stage diagrams show.
            fn stages(&self) -> [bool; 5] {
                match self {
                    $(Engine::$variant(driver) => driver.core.stages(),)*
                }
            }
        }

        /// Evaluates an expression for the driver of whichever core it is.
        macro_rules! on {
            ($d engine:expr, $d driver:ident => $d value:expr) => {
                match $d engine {
                    $(Engine::$variant($d driver) => $d value,)*
                }
            };
        }
    };
}
cores! { ($)
    Textbook: super::textbook::Textbook,
    Ibex: super::ibex::Ibex,
    Picorv32: super::picorv32::Picorv32,
    Vexriscv: super::vexriscv::Vexriscv,
    Cv32e40x: super::cv32e40x::Cv32e40x,
    Rocket: super::rocket::Rocket,
    Cva6: super::cva6::Cva6,
}

// Behind the macro that it uses.
mod inspect;

impl Engine {
    fn new(core: &Core) -> Result<Self, CoreError> {
        core.check()?;
        Ok(match core.design {
            Design::Textbook => Engine::Textbook(Box::new(Driver::new(core)?)),
            Design::Ibex => Engine::Ibex(Box::new(Driver::new(core)?)),
            Design::Picorv32 => Engine::Picorv32(Box::new(Driver::new(core)?)),
            Design::Vexriscv => Engine::Vexriscv(Box::new(Driver::new(core)?)),
            Design::Cv32e40x => Engine::Cv32e40x(Box::new(Driver::new(core)?)),
            Design::Rocket => Engine::Rocket(Box::new(Driver::new(core)?)),
            Design::Cva6 => Engine::Cva6(Box::new(Driver::new(core)?)),
        })
    }
}

/// Attaches a core to a machine: cycles, charged by phase and cause.
///
/// `P` assigns the phases, by default the privilege modes (rows 0 user, 1 supervisor, 3 machine); `S` receives each
/// instruction's passage through the pipe.
#[derive(Clone)]
pub struct Timed<P: Phases = ByPrivilege, S: Sink = ()> {
    core: Core,
    engine: Engine,
    account: Account,
    phases: P,
    sink: S,
    accesses: Vec<Data>,
    /// Words that hardware stacks.
    stacked: Vec<Data>,
    sequence: u64,
    /// The address behind the last instruction.
    sequential: Option<u64>,
    /// The last instruction's mode.
    privilege: tollgate_riscv::Privilege,
}

impl<P: Phases, S: Sink> Timed<P, S> {
    /// A core with empty pipe and caches.
    pub fn new(core: &Core, phases: P, sink: S) -> Result<Self, CoreError> {
        let mut engine = Engine::new(core)?;
        on!(&mut engine, driver => driver.slot.traces = S::ACTIVE);
        Ok(Timed {
            engine,
            core: core.clone(),
            account: Account::new(),
            phases,
            sink,
            accesses: Vec::new(),
            stacked: Vec::new(),
            sequence: 0,
            sequential: None,
            privilege: tollgate_riscv::Privilege::Machine,
        })
    }

    /// Lets the core know the code that was loaded: fetches beyond what is executed then find it.
    #[must_use]
    pub fn with_code(mut self, code: &Code) -> Self {
        on!(&mut self.engine, driver => Microarchitecture::load(&mut driver.core, code));
        self
    }

    /// The core.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// Cycles so far: until the last instruction has left the pipe.
    pub fn cycles(&self) -> u64 {
        if self.account.started() {
            on!(&self.engine, driver => Microarchitecture::cycles(&driver.core))
        } else {
            0
        }
    }

    /// Where they went. The sum of all entries is [`cycles`](Self::cycles).
    pub fn ledger(&self) -> &Ledger {
        &self.account.ledger
    }

    /// Whose instructions the next ones are, a number of the caller's own.
    pub fn set_owner(&mut self, owner: u32) {
        self.account.owner = Some(owner);
    }

    /// The cycles of each owner's instructions, by cause. An instruction is charged what came before it since the one
    /// before.
    pub fn by_owner(&self) -> &[Causes] {
        self.account.owners.rows()
    }

    /// Cycles of the ledger that went into words which traps and returns stack in hardware, by cause.
    pub fn stacking(&self) -> &Causes {
        &self.account.stacking
    }

    /// Instructions, mispredictions, traps, and the counts of caches and translation buffers.
    pub fn counts(&self) -> TimingCounts {
        let Account { instructions, traps, .. } = self.account;
        on!(&self.engine, driver => TimingCounts {
            instructions,
            mispredicts: driver.core.mispredicts(),
            traps,
            memory: driver.core.memory().counts(),
        })
    }

    /// Empties caches and translation buffers and forgets all predictions, but does not empty the pipe: what comes
    /// next finds a cold core.
    pub fn make_cold(&mut self) {
        on!(&mut self.engine, driver => {
            driver.core.memory_mut().flush_all();
            driver.core.forget_predictions();
        });
    }

    /// Whether an interrupt, whose line rises in the cycle in which an instruction retires that leaves
    /// [`cycles`](Self::cycles) at `line`, is taken before the next instruction.
    pub fn interrupts(&mut self, machine: &Machine, line: u64) -> bool {
        on!(&mut self.engine, driver => driver.core.interrupts(machine, line))
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
    #[must_use]
    pub fn untrapped(&self) -> Self
    where
        Self: Clone,
    {
        let mut copy = self.clone();
        copy.accesses.clear();
        copy.stacked.clear();
        copy
    }

    /// The object that assigns phases.
    pub fn phases(&mut self) -> &mut P {
        &mut self.phases
    }

    /// The object that receives passages.
    pub fn sink(&mut self) -> &mut S {
        &mut self.sink
    }

    /// The ledger, the phases and the sink.
    pub fn into_parts(self) -> (Ledger, P, S) {
        (self.account.ledger, self.phases, self.sink)
    }

    fn slot(&self) -> &Slot {
        on!(&self.engine, driver => &driver.slot)
    }

    /// The first instruction pays for filling the pipe.
    fn start(&mut self, phase: u8) {
        if !self.account.started() {
            let filling = on!(&self.engine, driver => Microarchitecture::cycles(&driver.core));
            self.account.start(phase, filling);
        }
    }

    /// Reports the instructions that were fetched behind the last one and are squashed.
    fn squash(&mut self) {
        let Some(sequential) = self.sequential else { return };
        for squashed in on!(&self.engine, driver => driver.core.squashed(sequential)) {
            self.sink.passage(Passage {
                sequence: self.sequence,
                pc: squashed.pc,
                word: None,
                privilege: self.privilege,
                starts: squashed.starts,
                end: squashed.end,
                stalls: Vec::new(),
                squashed: Some(squashed.flush),
            });
            self.sequence += 1;
        }
    }

    /// Reports the passage of the instruction in the slot.
    fn emit(&mut self, pc: u64, word: Option<u32>, len: u8, squashed: Option<Flush>) {
        let slot = *self.slot();
        let mut starts = slot.starts.map(|at| Some(at.max(0).cast_unsigned()));
        let stages = self.engine.stages();
        for (start, stage) in starts.iter_mut().zip(stages) {
            start.take_if(|_| !stage);
        }
        let mut stalls = slot.stalls();
        if !stages[Stage::Execute as usize] {
            // An instruction of a core without a pipeline waits in its only stage.
            stalls.iter_mut().for_each(|stall| stall.stage = Stage::WriteBack);
        }
        self.sink.passage(Passage {
            sequence: self.sequence,
            pc,
            word,
            privilege: self.privilege,
            starts,
            end: slot.end.cast_unsigned(),
            stalls,
            squashed,
        });
        self.sequence += 1;
        self.sequential = Some(pc.wrapping_add(u64::from(len)));
    }

    /// Charges the slot of an instruction that was reported alone.
    fn charge(&mut self, phase: u8) {
        let slot = *self.slot();
        match slot.lost {
            true => self.account.charge_slot(phase, &slot),
            false => self.account.issue(phase, 1),
        }
    }

    /// The words that the last trap or return has stacked go through the data port, before the pipe is refilled.
    fn stack(&mut self, phase: u8) {
        if self.stacked.is_empty() {
            return;
        }
        let [port, missed] =
            on!(&mut self.engine, driver => Microarchitecture::stack(&mut driver.core, &self.stacked));
        self.stacked.clear();
        for (cause, cycles) in [(Cause::Structural, port), (Cause::DMiss, missed)] {
            self.account.charge(phase, cause, cycles.into());
            self.account.stacking[cause as usize] += u64::from(cycles);
        }
    }
}

impl Timed<(), ()> {
    /// Does one step of a machine with this core attached. (It is compiled in this crate, whose tests are optimized.)
    pub fn step(&mut self, machine: &mut Machine) -> MachineStep {
        machine.step(self)
    }
}

impl<P: Phases, S: Sink> Observer for Timed<P, S> {
    const RETIRE: bool = !Self::BLOCKS;
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const WALK: bool = true;
    const BLOCKS: bool = P::BY_MODE && !S::ACTIVE;

    fn operands(&self) -> bool {
        on!(&self.engine, driver => driver.core.depends_on_operands())
    }

    fn access(&mut self, access: &Access) {
        match access.kind {
            AccessKind::Stacking => self.stacked.push(Data::of(access)),
            _ => self.accesses.push(Data::of(access)),
        }
    }

    fn retire(&mut self, retired: &Retired) {
        let phase = self.phases.of(retired);
        self.start(phase);
        if S::ACTIVE {
            self.squash();
        }
        on!(&mut self.engine, driver => driver.retire(retired, &self.accesses));
        self.accesses.clear();
        self.account.instructions += 1;
        self.charge(phase);
        if S::ACTIVE {
            self.privilege = retired.privilege;
            self.emit(retired.pc, Some(retired.word), retired.insn.len, None);
        }
        self.stack(phase);
    }

    fn several(&mut self, several: &Several) {
        let phase = P::of_mode(several.privilege);
        self.start(phase);
        on!(&mut self.engine, driver => driver.several(several, phase, &mut self.account));
    }

    fn trap(&mut self, trap: &Trap) {
        self.accesses.clear();
        let phase = self.phases.of_trap(trap);
        self.start(phase);
        self.account.traps += 1;
        if S::ACTIVE && !trap.cause.is_interrupt() {
            self.squash();
        }
        on!(&mut self.engine, driver => driver.slot.clear());
        let used = on!(&mut self.engine, driver => Microarchitecture::trap(&mut driver.core, trap, &mut driver.slot));
        if self.slot().lost {
            self.charge(phase);
        } else {
            self.account.refill_to(phase);
        }
        if used && S::ACTIVE {
            self.privilege = trap.from;
            self.emit(trap.epc, None, 4, Some(Flush::Trap));
        }
        self.stack(phase);
    }

    fn walk(&mut self, walk: &Walk) {
        on!(&mut self.engine, driver => driver.core.memory_mut().learn(walk));
    }

    fn address_space(&mut self, satp: u64) {
        on!(&mut self.engine, driver => driver.core.memory_mut().set_satp(satp));
    }
}
