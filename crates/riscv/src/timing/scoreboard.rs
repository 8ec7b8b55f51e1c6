//! A core that issues in order, executes in units of different latency, and commits in order.
//!
//! Times are cycles. An instruction is fetched by the [`Frontend`], waits in issue for its operands, its unit and a
//! place in the scoreboard, leaves a result there, and commits when it is the oldest.
//!
//! ```text
//! decode = max(word arrives + 2, issue')
//! issue  = max(decode + 1, operands, unit, the last writer of its register commits, commit of n before + 1)
//! result = issue + latency
//! commit = max(result + 1, commit')                  (some may commit beside the one before)
//! ```

use std::collections::VecDeque;

use super::core::Core;
use super::csr;
use super::frontend::{Fetched, Frontend, Place};
use super::keys::{ScoreboardShape, System};
use super::ledger::Cause;
use super::memory::{Data, Memory};
use super::passage::Flush;
use super::shape::{Costs, Shape};
use super::slot::{Pass, Redirect};
use super::step::Step;
use super::stores::Stores;
use crate::insn::{Class, Insn, Op};

/// Who executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Integer,
    Branch,
    Multiplier,
    Divider,
    Load,
    Store,
    Atomic,
    Float,
    /// At its commit.
    Csr,
}

impl Unit {
    fn of(insn: &Insn) -> Self {
        use Op::*;
        match insn.op {
            Mul | Mulh | Mulhsu | Mulhu | Mulw | Mul32 | Mulh32 | Mulhsu32 | Mulhu32 => Unit::Multiplier,
            Div | Divu | Rem | Remu | Divw | Divuw | Remw | Remuw | Div32 | Divu32 | Rem32 | Remu32 => {
                Unit::Divider
            }
            _ => match insn.row().class {
                Class::Upper | Class::AluImm | Class::AluReg => Unit::Integer,
                Class::Branch | Class::Jump | Class::JumpReg => Unit::Branch,
                Class::Load | Class::FpLoad => Unit::Load,
                Class::Store | Class::FpStore => Unit::Store,
                Class::Amo | Class::LoadReserved | Class::StoreConditional => Unit::Atomic,
                Class::FpFp | Class::FpInt | Class::IntFp => Unit::Float,
                Class::Csr | Class::System | Class::Nop => Unit::Csr,
            },
        }
    }

    /// Whether all of them share one port for results.
    fn fixed(self) -> bool {
        matches!(self, Unit::Integer | Unit::Branch | Unit::Multiplier | Unit::Divider | Unit::Csr)
    }

    fn memory(self) -> bool {
        matches!(self, Unit::Load | Unit::Store | Unit::Atomic)
    }

    /// Whether it may commit beside the instruction before it.
    fn follows(self) -> bool {
        matches!(
            self,
            Unit::Integer | Unit::Branch | Unit::Multiplier | Unit::Divider | Unit::Load | Unit::Float
        )
    }
}

/// Cycles from a word's request to the earliest decode of what is in it: it comes in the next cycle, is inspected in the
/// one after that, and is in the queue then.
const DECODE: i64 = 3;

/// A delay, and why.
type Delay = (i64, Cause);

/// The core.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    shape: ScoreboardShape,
    system: System,
    /// More cycles behind a return.
    return_fault: i64,
    /// Whether traps and returns forget predictions.
    forgets: bool,
    front: Frontend,
    stores: Stores,
    /// When the last instruction issued.
    issue: i64,
    /// The latest commits, the oldest first; as many as the scoreboard has entries.
    commits: VecDeque<i64>,
    /// The last commit, and how many there were in that cycle; 0 if nothing may commit beside it.
    commit: i64,
    ports: u32,
    /// From when an instruction that needs a register may issue, and why not before.
    ready: [Delay; 64],
    /// From when an instruction that writes it may.
    written: [i64; 64],
    /// From when the units with fixed latency take an instruction.
    fixed_free: Delay,
    /// When the multiplier or the divider last took one.
    multiplied: i64,
    /// When the last two accesses issued, and when each left the queue before the data cache.
    accesses: [(i64, i64); 2],
    /// From when the data cache takes a load.
    cache_free: i64,
    /// When floating-point results come, the latest.
    float_results: VecDeque<i64>,
    /// What the next instruction's fetch waited for.
    redirect: Option<Redirect>,
    last: Option<Place>,
}

impl Scoreboard {
    pub(super) fn new(core: &Core) -> Self {
        Scoreboard {
            shape: core.scoreboard,
            system: core.system,
            return_fault: if core.fault { core.trap.return_fault.into() } else { 0 },
            forgets: core.trap.forgets_predictions,
            front: Frontend::new(&core.front, &core.branch),
            stores: Stores::new(core.stores),
            issue: 0,
            commits: VecDeque::new(),
            commit: 0,
            ports: 0,
            ready: [(0, Cause::Issue); 64],
            written: [0; 64],
            fixed_free: (0, Cause::Issue),
            multiplied: i64::MIN / 2,
            accesses: [(i64::MIN / 2, i64::MIN / 2); 2],
            cache_free: 0,
            float_results: VecDeque::new(),
            redirect: None,
            last: None,
        }
    }

    /// Forgets all predictions.
    pub(super) fn forget(&mut self) {
        self.front.forget();
    }

    /// When the last instruction committed.
    pub(super) fn commit(&self) -> i64 {
        self.commit
    }

    /// When the next instruction is decoded at the earliest, and sees an interrupt.
    pub(super) fn decode(&self) -> i64 {
        self.issue.max(self.front.arrival() - 1 + DECODE)
    }

    /// The data port is busy after the last commit.
    pub(super) fn occupy(&mut self, cycles: u32) {
        self.commit += i64::from(cycles);
        self.ports = 0;
        self.front.hold(self.commit + 1);
    }

    /// What was fetched behind the last instruction and is dropped, for diagrams: address, request, decode, issue.
    pub(super) fn dropped(&self) -> impl Iterator<Item = (u64, [i64; 3])> {
        let mut issue = self.issue;
        self.front.dropped.iter().map(move |&(pc, request)| {
            let decode = (request + DECODE).max(issue);
            issue = decode + 1;
            (pc, [request, decode, issue])
        })
    }

    /// The next fetch's redirection, for diagrams.
    pub(super) fn redirected(&self) -> Option<Redirect> {
        self.redirect
    }

    /// An instruction retires.
    pub(super) fn retire(
        &mut self,
        step: &Step,
        shape: &Shape,
        cycles: i64,
        accesses: &[Data],
        memory: &mut Memory,
    ) -> (Pass, Costs) {
        let (insn, unit) = (step.insn, Unit::of(step.insn));
        let place = Place { pc: step.pc, pa: step.pa, len: insn.len, privilege: step.privilege };
        let fetched = self.front.fetch(&place, memory);
        let jumps = matches!(unit, Unit::Branch);
        let predicted = if jumps { self.front.predict(&place, insn) } else { None };
        let decode = (fetched.valid - 1 + DECODE).max(self.issue);
        self.front.leave(decode);
        let mut costs = Costs { fetch_walk: fetched.walk, fetch_miss: fetched.miss, ..Costs::default() };

        let mut delays: [Delay; 8] = [(0, Cause::Issue); 8];
        let mut count = 0;
        let mut delay = |cycles: i64, cause: Cause| {
            if cycles > 0 && count < delays.len() {
                delays[count] = (cycles, cause);
                count += 1;
            }
        };
        // Issue.
        let mut issue = decode + 1;
        let late = issue - (self.issue + 1);
        let mut wait = |issue: &mut i64, until: Delay| {
            if until.0 > *issue {
                delay(until.0 - *issue, until.1);
                *issue = until.0;
            }
        };
        for register in shape.needs {
            if register != 0 {
                wait(&mut issue, self.ready[usize::from(register)]);
            }
        }
        if unit.fixed() {
            wait(&mut issue, self.fixed_free);
        }
        if shape.gives != 0 {
            wait(&mut issue, (self.written[usize::from(shape.gives)], Cause::Structural));
        }
        if self.commits.len() == self.shape.entries as usize
            && let Some(&oldest) = self.commits.front()
        {
            wait(&mut issue, (oldest + 1, Cause::Structural));
        }
        let multiplies = matches!(unit, Unit::Multiplier | Unit::Divider);
        if issue == self.multiplied + 1 && !multiplies {
            // Both results would come in the same cycle.
            wait(&mut issue, (self.multiplied + 2, Cause::Structural));
        }
        if unit.memory() {
            let [(_, before), (last, left)] = self.accesses;
            wait(&mut issue, (before + 1, Cause::Structural));
            if issue > last + 1 {
                wait(&mut issue, (left + 1, Cause::Structural));
            }
        }
        self.issue = issue;

        // Execution: when the result is there, and from when the instruction itself is late.
        let mut result = issue + 1;
        let mut own = Cause::Structural;
        match unit {
            Unit::Multiplier => {
                self.multiplied = issue;
                own = Cause::LongOperation;
                result = issue + cycles;
            }
            Unit::Divider => {
                self.multiplied = issue;
                own = Cause::LongOperation;
                result = issue + cycles;
                self.fixed_free = (result + 1, Cause::LongOperation);
            }
            Unit::Float => {
                own = Cause::LongOperation;
                result = issue + cycles;
                while self.float_results.contains(&result) {
                    result += 1;
                }
                if self.float_results.len() == self.shape.entries as usize {
                    self.float_results.pop_front();
                }
                self.float_results.push_back(result);
            }
            Unit::Load => {
                own = Cause::LoadUse;
                let access = accesses.first().copied().unwrap_or_default();
                let waits = memory.data(&access, step.privilege);
                let mut at = (issue + 1).max(self.accesses[1].1 + 1);
                if waits.walk > 0 {
                    costs.data_walk = waits.walk;
                    at += i64::from(waits.walk + self.shape.walk);
                }
                let clear = self.stores.clear_of(at, access.va);
                if clear > at {
                    // It notices one cycle later.
                    at = clear.max(at + 1) + 1;
                }
                at = at.max(self.cache_free);
                self.accesses = [self.accesses[1], (issue, at)];
                result = at + i64::from(self.shape.load);
                if waits.miss > 0 {
                    let miss = i64::from(waits.miss);
                    let sent = self.stores.line_clear(at + 2, access.pa, memory.data_line_bytes());
                    result = sent + miss;
                    costs.data_miss = miss as u32;
                    own = Cause::DMiss;
                    self.cache_free = result;
                }
            }
            Unit::Store | Unit::Atomic => {
                let access = accesses.last().copied().unwrap_or_default();
                let waits = memory.data(&access, step.privilege);
                let mut at = (issue + 1).max(self.accesses[1].1 + 1);
                if waits.walk > 0 {
                    costs.data_walk = waits.walk;
                    at += i64::from(waits.walk + self.shape.walk);
                }
                self.accesses = [self.accesses[1], (issue, at)];
                result = at + 1;
            }
            _ => {}
        }

        // Commit.
        let mut commit = (result + 1).max(self.commit);
        if commit == self.commit && !(unit.follows() && (1..self.shape.commits).contains(&self.ports)) {
            commit += 1;
        }
        match unit {
            Unit::Store => {
                commit = self.stores.accept(commit);
                let address = accesses.first().map_or(0, |access| access.pa);
                self.stores.commit(commit, address, memory.write_latency().into());
            }
            Unit::Atomic => {
                own = Cause::LongOperation;
                let ready = self.stores.queue_empty(commit);
                let empty = self.stores.empty(ready);
                // The cache first lets the write buffer run empty.
                let begin = if empty > ready { empty + 3 } else { ready + 1 };
                commit = begin + i64::from(self.shape.atomic) + i64::from(memory.latency());
                if let Some(access) = accesses.first() {
                    memory.forget_set(access.pa);
                }
            }
            Unit::Csr => {
                own = Cause::Csr;
                if matches!(insn.op, Op::Fence | Op::FenceI | Op::SfenceVma) {
                    commit = self.stores.empty(commit);
                }
                self.fixed_free = (commit, Cause::Csr);
            }
            _ => {}
        }
        if commit == self.commit {
            self.ports += 1;
        } else {
            self.ports = if matches!(unit, Unit::Csr | Unit::Atomic) { 0 } else { 1 };
        }
        if shape.gives != 0 {
            let by = if unit == Unit::Load { Cause::LoadUse } else { Cause::LongOperation };
            let there = match unit {
                Unit::Csr => (commit + 1, Cause::Csr),
                _ => (result, by),
            };
            self.ready[usize::from(shape.gives)] = there;
            self.written[usize::from(shape.gives)] = commit;
        }
        if self.commits.len() == self.shape.entries as usize {
            self.commits.pop_front();
        }
        self.commits.push_back(commit);

        // What is fetched next.
        let before = self.commit;
        self.commit = commit;
        let starts = [fetched.request, decode, issue, result, commit];
        let pass = self.charge(before, &fetched, late, &delays, own, starts);
        self.last = Some(place);
        if jumps {
            let right = match insn.row().class {
                Class::Branch => predicted.is_some() == step.taken,
                _ => predicted == Some(step.next_pc),
            };
            self.front.resolve(issue + 1, step, right);
            if !right {
                let at = issue + 1;
                self.front.redirect(at, &place, predicted, memory);
                self.set_redirect(at + 1, Cause::Branch, Flush::Branch);
            } else if predicted.is_some() {
                self.front.follow(&place, memory);
            }
        }
        let (cause, flush) = match insn.op {
            Op::Mret | Op::Sret => (Cause::TrapFlush, Flush::Return),
            _ => (Cause::Csr, Flush::System),
        };
        if unit == Unit::Atomic || self.flushes(insn) {
            let full = self.front.redirect(commit, &place, None, memory);
            match insn.op {
                Op::FenceI => {
                    memory.flush_instructions();
                    // A cache that is not being read begins a cycle earlier.
                    self.front.hold(commit + i64::from(self.system.fence_i) - i64::from(full));
                }
                Op::SfenceVma => memory.flush_translations(),
                Op::Mret | Op::Sret => {
                    if self.forgets {
                        self.front.forget();
                    }
                    if self.return_fault > 0 {
                        self.front.hold(commit + 1 + self.return_fault);
                    }
                }
                _ => {}
            }
            self.set_redirect(commit + 1, cause, flush);
        }
        (pass, costs)
    }

    /// An instruction traps instead of retiring (or an interrupt takes its place).
    pub(super) fn trap(
        &mut self,
        place: Option<&Place>,
        cause: &crate::exception::Trap,
        memory: &mut Memory,
    ) -> (Pass, Costs) {
        use crate::exception::Cause as Why;
        let fetched = match place {
            Some(place) => self.front.fetch(place, memory),
            None => self.front.fetch_nothing(),
        };
        let decode = (fetched.valid - 1 + DECODE).max(self.issue);
        let late = decode - self.issue;
        let mut issue = decode + 1;
        if self.commits.len() == self.shape.entries as usize
            && let Some(&oldest) = self.commits.front()
        {
            issue = issue.max(oldest + 1);
        }
        let result = match cause.cause {
            Why::LoadMisaligned | Why::LoadAccessFault => issue + 3,
            Why::StoreMisaligned | Why::StoreAccessFault => issue + 2,
            Why::LoadPageFault => issue + 3 + i64::from(memory.fault_walk(cause.tval)),
            // A store is a cycle ahead of its walk.
            Why::StorePageFault => issue + (1 + i64::from(memory.fault_walk(cause.tval))).max(2),
            // The coprocessor port, or the registers, refuse it a cycle later.
            Why::IllegalInstruction => issue + 1,
            _ => issue,
        };
        let commit = (result + 1).max(self.commit + 1);
        self.issue = issue;
        let before = self.commit;
        self.commit = commit;
        self.ports = 0;
        let starts = [fetched.request, decode, issue, result, commit];
        let pass = self.charge(before, &fetched, late, &[], Cause::TrapFlush, starts);
        let here = place.copied().or(self.last);
        if let Some(place) = here {
            // An interrupted jump was followed.
            self.front.redirect(commit, &Place { len: 0, ..place }, None, memory);
        } else {
            self.front.hold(commit + 1);
        }
        if self.forgets {
            self.front.forget();
        }
        let flush = if cause.cause.is_interrupt() { Flush::Interrupt } else { Flush::Trap };
        self.set_redirect(commit + 1, Cause::TrapFlush, flush);
        let costs = Costs { fetch_walk: fetched.walk, fetch_miss: fetched.miss, ..Costs::default() };
        (pass, costs)
    }

    fn set_redirect(&mut self, at: i64, cause: Cause, flush: Flush) {
        self.redirect = Some(Redirect { at, cause, flush });
    }

    /// Whether the pipe is emptied behind it.
    fn flushes(&self, insn: &Insn) -> bool {
        match insn.row().class {
            Class::Nop => true,
            Class::System => matches!(insn.op, Op::Mret | Op::Sret | Op::FenceI | Op::SfenceVma | Op::Fence),
            Class::Csr => {
                let system = &self.system;
                let bubbles = system.csr_flush_of.of(insn.imm as u16).unwrap_or(system.csr_flush);
                csr::writes(insn) && bubbles > 0
            }
            _ => false,
        }
    }

    /// Divides the cycles from the last commit among their causes.
    fn charge(
        &mut self,
        before: i64,
        fetched: &Fetched,
        late: i64,
        delays: &[Delay],
        own: Cause,
        starts: [i64; 5],
    ) -> Pass {
        let mut pass = Pass { starts, ..Pass::default() };
        let mut left = starts[4] - before;
        if left > 0 {
            pass.charges[if own == Cause::TrapFlush { own } else { Cause::Issue } as usize] += 1;
            left -= 1;
        }
        if self.last.is_none() {
            // The empty core fills.
            let filling = (starts[2] + 2 - before - 1).clamp(0, left);
            left -= filling;
            pass.charges[Cause::Issue as usize] += filling as u64;
        }
        let mut take = |pass: &mut Pass, cycles: i64, cause: Cause| {
            let cycles = cycles.min(left).max(0);
            left -= cycles;
            pass.charges[cause as usize] += cycles as u64;
        };
        take(&mut pass, fetched.walk.into(), Cause::TlbWalk);
        take(&mut pass, fetched.miss.into(), Cause::IMiss);
        let late = if self.last.is_none() { 0 } else { late };
        let front = late - i64::from(fetched.walk) - i64::from(fetched.miss);
        match self.redirect.take() {
            Some(redirect) if front > 0 => {
                let cycles = front.min(left).max(0);
                left -= cycles;
                pass.refill = Some((redirect.cause, cycles as u64));
            }
            _ => {
                let cycles = front.min(left).max(0);
                left -= cycles;
                pass.charges[Cause::Branch as usize] += cycles as u64;
            }
        }
        for &(cycles, cause) in delays {
            let cycles = cycles.min(left).max(0);
            left -= cycles;
            pass.charges[cause as usize] += cycles as u64;
        }
        pass.charges[own as usize] += left as u64;
        pass
    }
}
