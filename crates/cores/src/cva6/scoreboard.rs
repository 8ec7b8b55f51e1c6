//! Issue, execution and commit.
//!
//! ```text
//! issue  = max(decode + 1, operands, unit free, the last writer of the register commits, commit of n before + 1)
//! result = issue + latency
//! commit = max(result + 1, commit of the instruction before)     (+ 1 unless both may commit in the same cycle)
//! ```

use tollgate_riscv::Cause as Exception;

use crate::core::Core;
use crate::keys::ScoreboardShape;
use crate::ledger::Cause;
use crate::parts::delays::Redirect;
use crate::parts::recent::Recent;
use crate::slot::Slot;

use super::frontend::Fetched;
use super::op::{NEVER, Op, PAST, Unit};

/// Registers by number: 1 to 31 integer, 32 to 63 floating point.
const REGISTERS: usize = 64;

/// From when registers can be used: number 0 stands for no register.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    /// From when an instruction that reads it may issue: results are forwarded.
    ready: [i64; REGISTERS],
    /// From when an instruction that writes it may issue: its last writer commits.
    written: [i64; REGISTERS],
}

impl Registers {
    #[inline(always)]
    fn ready(&self, register: u8) -> i64 {
        self.ready[usize::from(register) % REGISTERS]
    }

    #[inline(always)]
    fn written(&self, register: u8) -> i64 {
        self.written[usize::from(register) % REGISTERS]
    }

    #[inline(always)]
    fn set(&mut self, register: u8, ready: i64, written: i64) {
        self.ready[usize::from(register) % REGISTERS] = ready;
        self.written[usize::from(register) % REGISTERS] = written;
    }
}

/// When an instruction executes, and what it waited for before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Execution {
    pub(super) fetched: Fetched,
    pub(super) decode: i64,
    pub(super) issue: i64,
    /// When its result is in the scoreboard.
    pub(super) result: i64,
    pub(super) commit: i64,
    /// The cause of its own cycles behind the first.
    pub(super) cause: Cause,
}

impl Execution {
    fn draw(&self, slot: &mut Slot) {
        slot.starts = [self.fetched.request, self.decode, self.issue, self.result, self.commit];
        slot.end = self.commit + 1;
    }
}

/// The cycles of an instruction that are not charged yet.
struct Rest<'a> {
    cycles: i64,
    slot: &'a mut Slot,
}

impl Rest<'_> {
    /// Up to so many cycles.
    #[inline(always)]
    fn take(&mut self, most: i64) -> u64 {
        let cycles = most.min(self.cycles).max(0);
        self.cycles -= cycles;
        cycles as u64
    }

    #[inline(always)]
    fn charge(&mut self, most: i64, cause: Cause) {
        let cycles = self.take(most);
        self.slot.charges[cause as usize] += cycles;
    }
}

/// When the last instruction was in each stage.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    pub(super) keys: ScoreboardShape,
    /// When the last instruction issued.
    pub(super) issue: i64,
    /// When it committed, and how many have committed in that cycle; 0 if none may commit beside it.
    pub(super) commit: i64,
    committed: u32,
    /// Commits of the instructions in the scoreboard.
    commits: Recent<i64, 256>,
    registers: Registers,
    /// Why registers are not ready.
    causes: [Cause; REGISTERS],
    /// From when the units of fixed latency, which share a port, take an instruction, and why not earlier.
    fixed_free: i64,
    fixed_cause: Cause,
    /// When the multiplier or the divider took its last instruction.
    multiplied: i64,
    /// When the access before the last one left the queue of the load-store unit.
    access_before: i64,
    /// When the last access issued, and left the queue.
    access_issued: i64,
    access_left: i64,
    /// From when the data cache takes a load.
    pub(super) cache_free: i64,
    /// The cycles in which floating-point results come, each in the place of its last bits.
    float_results: Box<[i64]>,
    /// The fetch of the next instruction.
    pub(super) redirect: Redirect,
    /// Whether an instruction has retired: until then the core fills.
    filled: bool,
}

impl Scoreboard {
    pub(super) fn new(core: &Core) -> Self {
        let o = &core.operation;
        let float = [o.float, o.float_multiply, o.float_divide].into_iter();
        let optional = [o.double, o.float_move, o.float_convert, o.float_divide_single, o.float_to_integer];
        let longest = float.chain(optional.into_iter().flatten()).map(|operation| operation.cycles).max();
        Scoreboard {
            keys: core.scoreboard,
            issue: 0,
            commit: 0,
            committed: 0,
            commits: Recent::new(PAST),
            registers: Registers { ready: [0; REGISTERS], written: [0; REGISTERS] },
            causes: [Cause::Issue; REGISTERS],
            fixed_free: 0,
            fixed_cause: Cause::Issue,
            multiplied: PAST,
            access_before: PAST,
            access_issued: PAST,
            access_left: PAST,
            cache_free: 0,
            float_results: vec![PAST; (4 * longest.unwrap_or(1) as usize + 128).next_power_of_two()].into(),
            redirect: Redirect::NONE,
            filled: false,
        }
    }

    /// The commit after which the oldest place in the scoreboard is free.
    #[inline(always)]
    fn oldest(&self) -> i64 {
        self.commits.back(self.keys.entries as usize)
    }

    /// When an instruction issues that is decoded in a cycle.
    #[inline(always)]
    pub(super) fn issue_at(&self, op: &Op, decode: i64) -> i64 {
        let registers = &self.registers;
        let [a, b, c] = op.reads;
        let mut issue = (decode + 1).max(registers.ready(a)).max(registers.ready(b));
        issue = issue.max(registers.written(op.writes)).max(self.oldest() + 1);
        if c != 0 {
            issue = issue.max(registers.ready(c));
        }
        if op.unit.is_fixed() {
            issue = issue.max(self.fixed_free);
        }
        // Both results would come in the same cycle.
        issue += i64::from(issue == self.multiplied + 1 && !op.unit.multiplies());
        if op.unit.is_memory() {
            // The queue of the load-store unit has two places.
            issue = issue.max(self.access_before + 1);
            if issue > self.access_issued + 1 {
                issue = issue.max(self.access_left + 1);
            }
        }
        issue
    }

    /// When an instruction commits whose result comes in a cycle, if nothing else holds it.
    #[inline(always)]
    pub(super) fn commit_at(&self, unit: Unit, result: i64) -> i64 {
        let beside = unit.commits_beside() && (1..self.keys.commits).contains(&self.committed);
        (result + 1).max(self.commit + i64::from(!beside))
    }

    /// When an access leaves the queue of the load-store unit, if the data cache takes it at once.
    #[inline(always)]
    pub(super) fn access_at(&self, issue: i64, walk: u32) -> i64 {
        let at = (issue + 1).max(self.access_left + 1);
        if walk > 0 { at + i64::from(walk + self.keys.walk) } else { at }
    }

    /// When a floating-point result comes that would come in a cycle: one at a time.
    pub(super) fn float_result(&mut self, mut result: i64) -> i64 {
        let last = self.float_results.len() - 1;
        while self.float_results[result as usize & last] == result {
            result += 1;
        }
        self.float_results[result as usize & last] = result;
        result
    }

    /// An instruction retires, whose access, if it has one, leaves the queue of the load-store unit in a cycle.
    #[inline(always)]
    pub(super) fn retire(&mut self, op: &Op, execution: Execution, access: i64, slot: &mut Slot) {
        let Execution { issue, result, commit, .. } = execution;
        if slot.traces {
            execution.draw(slot);
        }
        if commit == self.commit {
            // Beside the one before: not even its own cycle is charged.
            slot.lost = true;
            (slot.refill, slot.fetch_walk) = (None, 0);
            self.committed += 1;
        } else {
            if commit > self.commit + 1 || !self.filled {
                self.charge(op, execution, slot);
            }
            self.committed = u32::from(op.unit != Unit::Csr && op.unit != Unit::Atomic);
        }
        self.redirect.at = Redirect::NONE.at;
        self.filled = true;
        (self.issue, self.commit) = (issue, commit);
        self.commits.push(commit);
        if op.writes != 0 {
            let ready = if op.unit == Unit::Csr { commit + 1 } else { result };
            self.registers.set(op.writes, ready, commit);
            self.causes[usize::from(op.writes) % REGISTERS] = op.result_cause;
        }
        if op.unit.is_memory() {
            self.access_before = self.access_left;
            (self.access_issued, self.access_left) = (issue, access);
        } else if op.unit.multiplies() {
            self.multiplied = issue;
            if op.unit == Unit::Divider {
                (self.fixed_free, self.fixed_cause) = (result + 1, Cause::LongOperation);
            }
        } else if op.unit == Unit::Csr {
            (self.fixed_free, self.fixed_cause) = (commit, Cause::Csr);
        }
    }

    /// An instruction traps instead of retiring, or an interrupt takes its place. A page fault follows a walk.
    pub(super) fn trap(&mut self, fetched: Fetched, decode: i64, why: Exception, walk: i64, slot: &mut Slot) {
        let issue = (decode + 1).max(self.oldest() + 1);
        let result = match why {
            Exception::LoadMisaligned | Exception::LoadAccessFault => issue + 3,
            Exception::StoreMisaligned | Exception::StoreAccessFault => issue + 2,
            Exception::LoadPageFault => issue + 3 + walk,
            // A store is a cycle ahead of its walk.
            Exception::StorePageFault => issue + (1 + walk).max(2),
            // The coprocessor port, or the registers, refuse it a cycle later.
            Exception::IllegalInstruction => issue + 1,
            _ => issue,
        };
        let commit = (result + 1).max(self.commit + 1);
        let execution = Execution { fetched, decode, issue, result, commit, cause: Cause::TrapFlush };
        execution.draw(slot);
        self.charge(&Op::UNKNOWN, execution, slot);
        self.redirect.at = Redirect::NONE.at;
        (self.issue, self.commit, self.committed) = (issue, commit, 0);
    }

    /// Divides the cycles since the last commit among their causes, in the order of the pipe: those of the fetch, then the
    /// delays before issue; the rest is the instruction's own.
    #[inline(never)]
    fn charge(&self, op: &Op, execution: Execution, slot: &mut Slot) {
        let Execution { fetched, decode, issue, commit, cause, .. } = execution;
        let traps = cause == Cause::TrapFlush;
        slot.begin(if traps { cause } else { Cause::Issue });
        slot.fetch_walk = fetched.walk;
        let mut rest = Rest { cycles: commit - self.commit - 1, slot };
        let mut late = decode - self.issue;
        if !self.filled {
            late = 0;
            rest.charge(issue + 1 - self.commit, Cause::Issue);
        }
        if fetched.walk > 0 || fetched.miss > 0 {
            let (walk, miss) = (i64::from(fetched.walk), i64::from(fetched.miss));
            rest.charge(walk, Cause::TlbWalk);
            rest.charge(miss, Cause::IMiss);
            late -= walk + miss;
        }
        if late > 0 {
            if self.redirect.is_some() {
                rest.slot.refill = Some((self.redirect.cause, rest.take(late)));
            } else {
                rest.charge(late, Cause::Branch);
            }
        }
        if issue > decode + 1 && !traps {
            self.charge_waits(op, decode + 1, &mut rest);
        }
        let left = rest.cycles;
        slot.charges[cause as usize] += left as u64;
    }

    /// Charges the delays before issue, from a cycle on.
    #[inline(always)]
    fn charge_waits(&self, op: &Op, mut now: i64, rest: &mut Rest) {
        let mut wait = |until: i64, cause: Cause| {
            if until > now {
                rest.charge(until - now, cause);
                now = until;
            }
            now
        };
        let [a, b, c] = op.reads;
        wait(self.registers.ready(a), self.cause(a));
        wait(self.registers.ready(b), self.cause(b));
        wait(self.registers.ready(c), self.cause(c));
        if op.unit.is_fixed() {
            wait(self.fixed_free, self.fixed_cause);
        }
        wait(self.registers.written(op.writes), Cause::Structural);
        let issue = wait(self.oldest() + 1, Cause::Structural);
        if issue == self.multiplied + 1 && !op.unit.multiplies() {
            wait(issue + 1, Cause::Structural);
        }
        if op.unit.is_memory() {
            let issue = wait(self.access_before + 1, Cause::Structural);
            if issue > self.access_issued + 1 {
                wait(self.access_left + 1, Cause::Structural);
            }
        }
    }

    #[inline(always)]
    fn cause(&self, register: u8) -> Cause {
        self.causes[usize::from(register) % REGISTERS]
    }

    /// The data port is busy behind the last commit.
    pub(super) fn occupy(&mut self, cycles: i64) {
        self.commit += cycles;
        self.committed = 0;
    }

    /// The scoreboard for instructions on a wrong path behind the last instruction, which has taken a place in it, unless its
    /// commit is given because it traps.
    pub(super) fn speculate(&self, traps: Option<i64>) -> Speculation<'_> {
        let Scoreboard { registers, fixed_free, .. } = self;
        Speculation {
            board: self,
            registers: registers.clone(),
            fixed_free: *fixed_free,
            trapped: traps.unwrap_or(NEVER),
            entered: usize::from(traps.is_some()),
        }
    }
}

/// Instructions of a wrong path that issue and never commit.
pub(super) struct Speculation<'a> {
    board: &'a Scoreboard,
    registers: Registers,
    fixed_free: i64,
    /// When the first of the instructions that have entered the scoreboard commits, if it traps.
    trapped: i64,
    /// How many have entered.
    entered: usize,
}

impl Speculation<'_> {
    /// When an instruction issues that is decoded in a cycle.
    pub(super) fn issue(&mut self, op: &Op, decode: i64) -> i64 {
        let entries = self.board.keys.entries as usize;
        let oldest = match entries.checked_sub(self.entered) {
            None => NEVER,
            Some(0) => self.trapped,
            Some(back) => self.board.commits.back(back),
        };
        self.entered += 1;
        let mut issue = (decode + 1).max(oldest + 1);
        let [a, b, c] = op.reads;
        issue = issue.max(self.registers.ready(a)).max(self.registers.ready(b)).max(self.registers.ready(c));
        if op.unit.is_fixed() {
            issue = issue.max(self.fixed_free);
        }
        if op.writes != 0 {
            issue = issue.max(self.registers.written(op.writes));
            let result = match op.unit {
                Unit::Csr | Unit::Atomic => NEVER,
                Unit::Load => issue + 1 + i64::from(self.board.keys.load),
                Unit::Integer | Unit::Branch | Unit::Store => issue + 1,
                Unit::Multiplier | Unit::Divider | Unit::Float => issue + i64::from(op.cycles),
            };
            self.registers.set(op.writes, result, NEVER);
        }
        if op.unit == Unit::Csr {
            self.fixed_free = NEVER;
        }
        issue
    }
}
