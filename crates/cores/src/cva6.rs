//! CVA6 (Ariane) as of November 2022: a front end that runs ahead of one issue a cycle, a scoreboard that commits two
//! instructions a cycle, and a store buffer before a write-through data cache.
//!
//! "rtl" is the Verilog of package pythondata-cpu-cva6 4.2.0.post435, configuration cv64a6_imafdc_sv39:
//! guests/riscv/golden/cva6-kernels.golden, in which the program that is named shows the figure. Caches, translation buffers,
//! memory, the sizes of queues and predictors and the cycles of operations are parameters.
//!
//! Times are cycles. An instruction is requested with its word ([`frontend`]), decoded, issued in order to a unit, and
//! commits in order ([`scoreboard`]). A branch is resolved one cycle behind its issue; what empties the pipe redirects the
//! fetch when it commits ([`wrong_path`]).

mod frontend;
mod op;
mod scoreboard;
mod store_buffer;
mod wrong_path;

use tollgate_riscv::{Cause as Exception, Code, Insn, Machine, Privilege, Trap};

use self::frontend::{DECODE, Fetched, Frontend, NO_WORD, Place};
pub(crate) use self::op::Op;
use self::op::{Empties, Jump, PAST, Unit};
use self::scoreboard::{Execution, Scoreboard};
use self::store_buffer::StoreBuffer;
use self::wrong_path::WrongPath;
use super::access::Data;
use super::core::{Core, CoreError};
use super::ledger::Cause;
use super::microarchitecture::{Microarchitecture, Squashed, Step};
use super::parts::delays::Redirect;
use super::parts::descriptions::Descriptions;
use super::parts::memory::{Memory, Waits};
use super::parts::operands::Dependence;
use super::parts::system::cannot_fetch;
use super::passage::Flush;
use super::slot::Slot;

/// The instruction cache is emptied set by set. rtl: fence.code
const FENCE_I: i64 = 258;
/// Cycles from a store buffer that has run empty to an atomic operation, and from one that was empty. rtl: amo.after_store,
/// amo.add
const ATOMIC_AFTER_STORES: i64 = 3;
const ATOMIC: i64 = 1;
/// Cycles from a load's request to that of its line. rtl: cache.load_lines
const LINE_REQUEST: i64 = 2;

/// The core.
#[derive(Clone, Debug)]
pub(crate) struct Cva6 {
    core: Core,
    frontend: Frontend,
    scoreboard: Scoreboard,
    stores: StoreBuffer,
    memory: Memory,
    /// The last instruction, if there was one.
    last: Place,
    /// Cycles in which a return waits for a fetch that was never resolved, in a core with that fault.
    return_fault: i64,
    /// The instructions of wrong paths.
    speculated: Descriptions<Op>,
    mispredicts: u64,
}

impl Cva6 {
    /// When the instruction in a word is decoded that arrives in a cycle.
    fn decode(&self, arrival: i64) -> i64 {
        (arrival - 1 + DECODE).max(self.scoreboard.issue)
    }

    /// When an instruction that was fetched executes and commits, and when its access leaves the queue of the load-store unit.
    #[inline(always)]
    fn execute(&mut self, step: &Step<Op>, fetched: Fetched, accesses: &[Data]) -> (Execution, i64) {
        let (op, board) = (step.op, &mut self.scoreboard);
        let decode = (fetched.arrival - 1 + DECODE).max(board.issue);
        let issue = board.issue_at(op, decode);
        let (mut result, mut cause, mut left) = (issue + 1, Cause::Structural, PAST);
        let commit = match op.unit {
            Unit::Integer | Unit::Branch => board.commit_at(op.unit, result),
            Unit::Multiplier | Unit::Divider | Unit::Float => {
                let more = op.dependence.map_or(0, |dependence| dependence.more(step.operands));
                cause = Cause::LongOperation;
                result = issue + i64::from(op.cycles + more);
                if op.unit == Unit::Float {
                    result = board.float_result(result);
                }
                board.commit_at(op.unit, result)
            }
            Unit::Load => {
                cause = Cause::LoadUse;
                let access = accesses.first().copied().unwrap_or_default();
                let waits = access_waits(&mut self.memory, &access, step.privilege);
                let mut at = board.access_at(issue, waits.walk);
                let clear = self.stores.clear_of(at, &access);
                if clear > at {
                    // It notices one cycle later.
                    at = clear.max(at + 1) + 1;
                }
                left = at.max(board.cache_free);
                result = left + i64::from(board.keys.load);
                if waits.miss > 0 {
                    cause = Cause::DMiss;
                    result = self.stores.line_clear(left + LINE_REQUEST, &access) + i64::from(waits.miss);
                    board.cache_free = result;
                }
                board.commit_at(op.unit, result)
            }
            Unit::Store => {
                let access = accesses.last().copied().unwrap_or_default();
                left = board.access_at(issue, self.memory.store(&access, step.privilege));
                result = left + 1;
                self.stores.commit(board.commit_at(op.unit, result), access.pa)
            }
            Unit::Atomic => {
                cause = Cause::LongOperation;
                left = self.access_atomically(step.privilege, issue, accesses);
                result = left + 1;
                self.commit_atomic(result)
            }
            Unit::Csr => {
                cause = Cause::Csr;
                let at = board.commit_at(op.unit, result);
                if op.waits_for_stores { self.stores.empty(at) } else { at }
            }
        };
        (Execution { fetched, decode, issue, result, commit, cause }, left)
    }

    /// When an atomic operation leaves the queue of the load-store unit. The data cache loses the set.
    #[inline(never)]
    fn access_atomically(&mut self, privilege: Privilege, issue: i64, accesses: &[Data]) -> i64 {
        let access = accesses.last().copied().unwrap_or_default();
        let waits = self.memory.data(&access, privilege);
        if let Some(access) = accesses.first() {
            self.memory.forget_set(access.pa);
        }
        self.scoreboard.access_at(issue, waits.walk)
    }

    /// The commit of an atomic operation, which memory does behind all stores.
    #[inline(never)]
    fn commit_atomic(&self, result: i64) -> i64 {
        let ready = self.stores.queue_empty(self.scoreboard.commit_at(Unit::Atomic, result));
        let empty = self.stores.empty(ready);
        // The cache first lets the write buffer run empty.
        let starts = if empty > ready { empty + ATOMIC_AFTER_STORES } else { ready + ATOMIC };
        starts + i64::from(self.memory.latency() + self.scoreboard.keys.atomic)
    }

    /// A branch or jump has issued: the fetch goes on where it was predicted to go, or is redirected.
    #[inline(always)]
    fn resolve(&mut self, step: &Step<Op>, traces: bool) {
        let (op, pc) = (step.op, step.pc);
        self.frontend.code.note(step.pa, step.insn);
        let predicted = self.frontend.predict(pc, op.jump, step.insn);
        let resolved = self.scoreboard.issue + 1;
        let right = if op.jump == Jump::Branch {
            self.frontend.resolve_branch(resolved, pc, step.taken);
            predicted.is_some() == step.taken
        } else {
            predicted == Some(step.next_pc)
        };
        if !right {
            if matches!(op.jump, Jump::Indirect { .. }) {
                self.frontend.resolve_target(resolved, pc, step.next_pc);
            }
            self.mispredicted((pc, step.pa), step.insn.len, step.privilege, predicted, traces);
        } else if predicted.is_some() {
            self.frontend.follow((pc, step.pa), step.insn.len, &self.memory);
        }
    }

    #[inline(never)]
    fn mispredicted(
        &mut self,
        (pc, pa): (u64, u64),
        len: u8,
        privilege: Privilege,
        target: Option<u64>,
        traces: bool,
    ) {
        self.mispredicts += 1;
        let issue = self.scoreboard.issue;
        let place = Place { pc, pa, len, privilege };
        let path = WrongPath { place, target, issue, until: issue + 1 };
        self.frontend.redirect_branch(&path, traces, &mut self.memory);
        self.redirect(issue + 1, Cause::Branch, Flush::Branch);
    }

    /// The next instruction's word is requested behind a cycle.
    fn redirect(&mut self, at: i64, cause: Cause, flush: Flush) {
        self.scoreboard.redirect = Redirect { at: at + 1, cause, flush };
    }

    /// The pipe is emptied in the cycle of the last commit, behind an instruction that has left the queue in an earlier cycle, if
    /// that is not known yet. Yields whether the queue was full, if it is asked for an exact answer.
    fn empty_pipe(&mut self, place: Place, left: Option<i64>, exactly: bool) -> bool {
        let board = &self.scoreboard;
        let (commit, issue) = (board.commit, board.issue);
        let path = WrongPath { place, target: None, issue, until: commit };
        // No more is issued than there are places, and no more waits.
        let instructions = board.keys.entries as usize + self.frontend.places;
        if !exactly && self.frontend.has_no_effect(&path, instructions, &self.memory) {
            self.frontend.restart(commit + 1);
            return false;
        }
        // An instruction that traps takes a place in the scoreboard.
        let speculation = board.speculate(left.map(|_| commit));
        let (speculated, core, memory) = (&mut self.speculated, &self.core, &mut self.memory);
        self.frontend.redirect_emptied(&path, left, speculation, memory, &mut |insn| {
            speculated.of(insn, |insn| Op::of(insn, core))
        })
    }

    /// An instruction that empties the pipe has committed.
    #[inline(never)]
    fn flush(&mut self, place: Place, empties: Empties, traces: bool) {
        let commit = self.scoreboard.commit;
        let full = self.empty_pipe(place, None, traces || empties == Empties::Instructions);
        match empties {
            Empties::Instructions => {
                self.memory.flush_instructions();
                // A cache that is not being read begins a cycle earlier.
                self.frontend.hold(commit + FENCE_I - i64::from(full));
            }
            Empties::Translations => self.memory.flush_translations(),
            Empties::Return if self.return_fault > 0 => self.frontend.hold(commit + 1 + self.return_fault),
            _ => {}
        }
        match empties {
            Empties::Return => self.redirect(commit, Cause::TrapFlush, Flush::Return),
            _ => self.redirect(commit, Cause::Csr, Flush::System),
        }
    }
}

#[inline(always)]
fn place(step: &Step<Op>) -> Place {
    Place { pc: step.pc, pa: step.pa, len: step.insn.len, privilege: step.privilege }
}

/// Cycles that an access waits.
#[inline(always)]
fn access_waits(memory: &mut Memory, access: &Data, privilege: Privilege) -> Waits {
    if memory.hits_latest_line(access, privilege) { Waits::default() } else { memory.data(access, privilege) }
}

impl Microarchitecture for Cva6 {
    type Op = Op;

    fn new(core: &Core) -> Result<Self, CoreError> {
        let memory = Memory::new(core)?;
        Ok(Cva6 {
            frontend: Frontend::new(core),
            scoreboard: Scoreboard::new(core),
            stores: StoreBuffer::new(core, &memory),
            memory,
            last: Place { pc: NO_WORD, pa: 0, len: 0, privilege: Privilege::Machine },
            return_fault: if core.fault { core.trap.return_fault.into() } else { 0 },
            speculated: Descriptions::new(1 << 9),
            mispredicts: 0,
            core: core.clone(),
        })
    }

    fn describe(&self, insn: &Insn) -> Op {
        Op::of(insn, &self.core)
    }

    fn load(&mut self, code: &Code) {
        self.frontend.code.load(code);
    }

    fn depends_on_operands(&self) -> bool {
        Dependence::any(&self.core)
    }

    #[inline(always)]
    fn retire(&mut self, step: &Step<Op>, accesses: &[Data], slot: &mut Slot) {
        let &Step { pc, pa, insn, op, privilege, .. } = step;
        let fetched = self.frontend.fetch((pc, pa), insn.len, privilege, &mut self.memory);
        let (execution, access) = self.execute(step, fetched, accesses);
        self.frontend.left.push(execution.decode);
        self.scoreboard.retire(op, execution, access, slot);
        // (Not at once: the host would read in words what was just written in bytes.)
        (self.last.pc, self.last.pa) = (pc, pa);
        self.last.privilege = privilege;
        if op.jump != Jump::None {
            self.resolve(step, slot.traces);
        } else if op.empties != Empties::Nothing {
            self.flush(place(step), op.empties, slot.traces);
        }
    }

    fn trap(&mut self, trap: &Trap, slot: &mut Slot) -> bool {
        let pa = self.memory.physical(trap.epc, trap.from).filter(|_| !cannot_fetch(trap));
        let place = pa.map(|pa| Place { pc: trap.epc, pa, len: 2, privilege: trap.from });
        let fetched = match place {
            Some(Place { pc, pa, len, privilege }) => {
                self.frontend.fetch((pc, pa), len, privilege, &mut self.memory)
            }
            None => self.frontend.fetch_nothing(),
        };
        let walk = match trap.cause {
            Exception::LoadPageFault | Exception::StorePageFault => self.memory.fault_walk(trap.tval),
            _ => 0,
        };
        let decode = self.decode(fetched.arrival);
        self.scoreboard.trap(fetched, decode, trap.cause, walk.into(), slot);
        let interrupts = trap.cause.is_interrupt();
        let commit = self.scoreboard.commit;
        let last = (self.last.pc != NO_WORD).then_some(self.last);
        match place.or(last) {
            Some(mut place) => {
                // An interrupted jump was followed.
                place.len = if interrupts { 0 } else { self.frontend.code.len(place.pa) as u8 };
                self.empty_pipe(place, Some(self.scoreboard.issue - 1), slot.traces);
            }
            None => self.frontend.hold(commit + 1),
        }
        let flush = if interrupts { Flush::Interrupt } else { Flush::Trap };
        self.redirect(commit, Cause::TrapFlush, flush);
        !interrupts
    }

    fn stack(&mut self, words: &[Data]) -> [u32; 2] {
        // Their addresses are physical: no translation.
        let missed: u32 = words.iter().map(|word| self.memory.data(word, Privilege::Machine).miss).sum();
        let port = words.len() as u32;
        self.scoreboard.occupy((port + missed).into());
        self.frontend.hold(self.scoreboard.commit + 1);
        [port, missed]
    }

    fn interrupts(&mut self, _: &Machine, line: u64) -> bool {
        // Decode sees it; what is ahead retires first.
        self.decode(self.frontend.next_arrival()).cast_unsigned() >= line
    }

    fn squashed(&self, _: u64) -> Vec<Squashed> {
        let Redirect { at, flush, .. } = self.scoreboard.redirect;
        let reached = |cycle: i64| (cycle < at).then_some(cycle.cast_unsigned());
        let mut issue = self.scoreboard.issue;
        let words = self.frontend.dropped.iter();
        words
            .map_while(|&(pc, request)| {
                let decode = (request + DECODE).max(issue);
                issue = decode + 1;
                reached(request)?;
                // The cycle of the redirection does not issue.
                let issued = reached(issue + 1).map(|_| issue.cast_unsigned());
                let starts = [reached(request), reached(decode), issued, None, None];
                Some(Squashed { pc, starts, end: at.cast_unsigned(), flush })
            })
            .collect()
    }

    fn forget_predictions(&mut self) {
        self.frontend.forget();
    }

    fn cycles(&self) -> u64 {
        (self.scoreboard.commit + 1).cast_unsigned()
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
