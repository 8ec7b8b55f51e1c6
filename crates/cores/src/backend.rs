//! Issue, execution and commit of a core with a scoreboard: what depends on cycles only, so that runs of instructions
//! can be memoized. What stores do behind it is in [`Stores`].

use std::collections::VecDeque;

use super::core::Core;
use super::frontend::Fetched;
use super::keys::ScoreboardShape;
use super::ledger::Cause;
use super::memory::Waits;
use super::passage::Flush;
use super::queue::NEVER;
use super::slot::{Pass, Redirect};
use super::stores::{Asks, Behind, Stores};
use super::work::{Unit, Work};
use tollgate_riscv::Cause as Exception;

/// Cycles from a word's request to the earliest decode of what is in it: it comes in the next cycle, is inspected in the
/// one after that, and is in the queue then.
pub(super) const DECODE: i64 = 3;

/// A delay, and why.
type Delay = (i64, Cause);

/// Everything behind the front end.
#[derive(Clone, Debug)]
pub(super) struct Backend {
    shape: ScoreboardShape,
    /// When the last instruction issued.
    pub(super) issue: i64,
    /// The latest commits, the oldest first; as many as the scoreboard has entries.
    commits: VecDeque<i64>,
    /// The last commit, and how many there were in that cycle; 0 if nothing may commit beside it.
    pub(super) commit: i64,
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
    /// When floating-point results come, as far as others may come in the same cycle.
    float_results: Vec<i64>,
    /// What the next instruction's fetch waited for.
    pub(super) redirect: Option<Redirect>,
    /// Whether there was an instruction.
    filled: bool,
}

/// Everything that the future depends on, relative to the last commit: what is no later than the next issue is left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BackKey {
    issue: i32,
    commits: Vec<i32>,
    ports: u32,
    ready: Vec<(u8, i32, Cause)>,
    written: Vec<(u8, i32)>,
    fixed_free: Option<(i32, Cause)>,
    multiplied: bool,
    before: Option<i32>,
    last: Option<(i32, i32)>,
    cache_free: Option<i32>,
    float_results: Vec<i32>,
    redirect: Option<(Cause, Flush)>,
    filled: bool,
}

impl Backend {
    pub(super) fn new(core: &Core) -> Self {
        Backend {
            shape: core.scoreboard,
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
            float_results: Vec::new(),
            redirect: None,
            filled: false,
        }
    }

    /// The data port is busy after the last commit.
    pub(super) fn occupy(&mut self, cycles: u32) {
        self.commit += i64::from(cycles);
        self.ports = 0;
    }

    /// When the next instruction is decoded, if its last word comes then.
    pub(super) fn decode(&self, valid: i64) -> i64 {
        (valid - 1 + DECODE).max(self.issue)
    }

    /// When an instruction issues that never commits, decoded in a cycle. What is not known needs nothing.
    pub(super) fn stray(&mut self, work: Option<&Work>, decode: i64) -> i64 {
        let mut issue = decode + 1;
        if let Some(oldest) = self.full() {
            issue = issue.max(oldest + 1);
        }
        if let Some(Work { unit, shape, cycles, .. }) = work {
            for register in shape.needs.into_iter().filter(|&register| register != 0) {
                issue = issue.max(self.ready[usize::from(register)].0);
            }
            if unit.fixed() {
                issue = issue.max(self.fixed_free.0);
            }
            let gives = usize::from(shape.gives);
            if gives != 0 {
                issue = issue.max(self.written[gives]);
                let result = match unit {
                    Unit::Csr | Unit::Atomic => NEVER,
                    Unit::Load => issue + 1 + i64::from(self.shape.load),
                    Unit::Integer | Unit::Branch | Unit::Store => issue + 1,
                    Unit::Multiplier | Unit::Divider | Unit::Float => issue + cycles,
                };
                (self.ready[gives].0, self.written[gives]) = (result, NEVER);
            }
            if *unit == Unit::Csr {
                self.fixed_free.0 = NEVER;
            }
        }
        self.enter(NEVER);
        issue
    }

    /// A place in the scoreboard is taken until a commit.
    pub(super) fn enter(&mut self, commit: i64) {
        if self.commits.len() == self.shape.entries as usize {
            self.commits.pop_front();
        }
        self.commits.push_back(commit);
    }

    /// The scoreboard is full until then.
    fn full(&self) -> Option<i64> {
        (self.commits.len() == self.shape.entries as usize).then(|| self.commits.front().copied()).flatten()
    }

    /// An instruction passes that was fetched, and whose access waits. An atomic operation and what waits for stores are
    /// done when `settled` says, given when they could commit.
    pub(super) fn pass(
        &mut self,
        work: &Work,
        cycles: i64,
        fetched: &Fetched,
        waits: Waits,
        behind: &mut Behind,
        settled: impl FnOnce(&Stores, i64) -> i64,
    ) -> Pass {
        let (unit, shape) = (work.unit, &work.shape);
        let decode = self.decode(fetched.valid);
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
        if let Some(oldest) = self.full() {
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
                // Those that came before this one issued are in no one's way.
                self.float_results.retain(|&other| other >= issue);
                while self.float_results.contains(&result) {
                    result += 1;
                }
                self.float_results.push(result);
            }
            Unit::Load => {
                own = Cause::LoadUse;
                let mut at = self.access(issue, waits.walk);
                let clear = behind.ask(Asks::Load, at);
                if clear > at {
                    // It notices one cycle later.
                    at = clear.max(at + 1) + 1;
                }
                at = at.max(self.cache_free);
                self.accesses = [self.accesses[1], (issue, at)];
                result = at + i64::from(self.shape.load);
                if waits.miss > 0 {
                    result = behind.ask(Asks::Line, at + 2) + i64::from(waits.miss);
                    own = Cause::DMiss;
                    self.cache_free = result;
                }
            }
            Unit::Store | Unit::Atomic => {
                let at = self.access(issue, waits.walk);
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
            Unit::Store => commit = behind.ask(Asks::Store, commit),
            Unit::Atomic => {
                own = Cause::LongOperation;
                commit = settled(behind.stores, commit) + i64::from(self.shape.atomic);
            }
            Unit::Csr => {
                own = Cause::Csr;
                commit = settled(behind.stores, commit);
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
        self.enter(commit);
        let before = std::mem::replace(&mut self.commit, commit);
        let starts = [fetched.request, decode, issue, result, commit];
        let pass = self.charge(before, fetched, late, &delays[..count], own, starts);
        self.filled = true;
        pass
    }

    /// When an access leaves the queue before the data cache, if it is alone.
    fn access(&self, issue: i64, walk: u32) -> i64 {
        let at = (issue + 1).max(self.accesses[1].1 + 1);
        if walk > 0 { at + i64::from(walk + self.shape.walk) } else { at }
    }

    /// Everything that the future depends on, relative to the last commit.
    pub(super) fn key(&self) -> BackKey {
        let Backend {
            shape,
            issue,
            ref commits,
            commit,
            ports,
            ref ready,
            ref written,
            fixed_free,
            multiplied,
            accesses: [(_, before), (last, left)],
            cache_free,
            ref float_results,
            redirect,
            filled,
        } = *self;
        let relative = |at: i64| (at - commit) as i32;
        // Nothing issues before the next cycle, and no access is in the data cache before the one after that.
        let later = |at: i64| (at > issue + 1).then(|| relative(at));
        let registers = || (0..64).zip(ready.iter().zip(written));
        let mut results: Vec<i32> =
            float_results.iter().filter(|&&at| at > issue).map(|&at| relative(at)).collect();
        results.sort_unstable();
        BackKey {
            issue: relative(issue),
            commits: commits.iter().map(|&at| relative(at.max(issue))).collect(),
            ports: ports.min(shape.commits),
            ready: registers()
                .filter_map(|(register, (&(at, cause), _))| Some((register, later(at)?, cause)))
                .collect(),
            written: registers().filter_map(|(register, (_, &at))| Some((register, later(at)?))).collect(),
            fixed_free: later(fixed_free.0).map(|at| (at, fixed_free.1)),
            multiplied: multiplied == issue,
            before: (before > issue).then(|| relative(before)),
            last: (left > issue).then(|| (relative(last.max(issue - 1)), relative(left))),
            cache_free: later(cache_free),
            float_results: results,
            redirect: redirect.map(|redirect| (redirect.cause, redirect.flush)),
            filled,
        }
    }

    /// The state of a key.
    pub(super) fn restore(&mut self, key: &BackKey, commit: i64) {
        let absolute = |at: i32| i64::from(at) + commit;
        let past = i64::MIN / 2;
        self.commit = commit;
        self.issue = absolute(key.issue);
        self.commits.clear();
        self.commits.extend(key.commits.iter().map(|&at| absolute(at)));
        self.ports = key.ports;
        self.ready = [(past, Cause::Issue); 64];
        for &(register, at, cause) in &key.ready {
            self.ready[usize::from(register)] = (absolute(at), cause);
        }
        self.written = [past; 64];
        for &(register, at) in &key.written {
            self.written[usize::from(register)] = absolute(at);
        }
        self.fixed_free = key.fixed_free.map_or((past, Cause::Issue), |(at, cause)| (absolute(at), cause));
        self.multiplied = if key.multiplied { self.issue } else { past };
        let last = key.last.map_or((past, past), |(last, left)| (absolute(last), absolute(left)));
        self.accesses = [(past, key.before.map_or(past, absolute)), last];
        self.cache_free = key.cache_free.map_or(past, absolute);
        self.float_results.clear();
        self.float_results.extend(key.float_results.iter().map(|&at| absolute(at)));
        self.redirect = key.redirect.map(|(cause, flush)| Redirect { at: commit, cause, flush });
        self.filled = key.filled;
    }

    /// An instruction traps instead of retiring (or an interrupt takes its place), a page fault after a walk.
    pub(super) fn trap(&mut self, fetched: &Fetched, cause: Exception, walk: i64) -> Pass {
        use Exception as Why;
        let decode = self.decode(fetched.valid);
        let late = decode - self.issue;
        let mut issue = decode + 1;
        if let Some(oldest) = self.full() {
            issue = issue.max(oldest + 1);
        }
        let result = match cause {
            Why::LoadMisaligned | Why::LoadAccessFault => issue + 3,
            Why::StoreMisaligned | Why::StoreAccessFault => issue + 2,
            Why::LoadPageFault => issue + 3 + walk,
            // A store is a cycle ahead of its walk.
            Why::StorePageFault => issue + (1 + walk).max(2),
            // The coprocessor port, or the registers, refuse it a cycle later.
            Why::IllegalInstruction => issue + 1,
            _ => issue,
        };
        let commit = (result + 1).max(self.commit + 1);
        self.issue = issue;
        let before = std::mem::replace(&mut self.commit, commit);
        self.ports = 0;
        let starts = [fetched.request, decode, issue, result, commit];
        self.charge(before, fetched, late, &[], Cause::TrapFlush, starts)
    }

    pub(super) fn set_redirect(&mut self, at: i64, cause: Cause, flush: Flush) {
        self.redirect = Some(Redirect { at, cause, flush });
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
        if !self.filled {
            // The empty core fills.
            let filling = (starts[2] + 2 - before - 1).clamp(0, left);
            left -= filling;
            pass.charges[Cause::Issue as usize] += filling as u64;
        }
        let mut take = |most: i64| {
            let cycles = most.min(left).max(0);
            left -= cycles;
            cycles as u64
        };
        pass.charges[Cause::TlbWalk as usize] += take(fetched.walk.into());
        pass.charges[Cause::IMiss as usize] += take(fetched.miss.into());
        let late = if self.filled { late } else { 0 };
        let front = late - i64::from(fetched.walk) - i64::from(fetched.miss);
        match self.redirect.take() {
            Some(redirect) if front > 0 => pass.refill = Some((redirect.cause, take(front))),
            _ => pass.charges[Cause::Branch as usize] += take(front),
        }
        for &(cycles, cause) in delays {
            pass.charges[cause as usize] += take(cycles);
        }
        pass.charges[own as usize] += left as u64;
        pass
    }
}
