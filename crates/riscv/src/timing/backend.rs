//! Issue, execution and commit of a core with a scoreboard: what depends on cycles only, so that runs of instructions
//! can be memoized. What stores do behind it is in [`Behind`].

use std::collections::VecDeque;

use super::core::Core;
use super::frontend::Fetched;
use super::keys::ScoreboardShape;
use super::ledger::Cause;
use super::memory::{Data, Waits};
use super::passage::Flush;
use super::pipe::{Pass, Redirect};
use super::stores::Stores;
use super::work::{Unit, Work};
use crate::exception;

/// Cycles from a word's request to the earliest decode of what is in it: it comes in the next cycle, is inspected in the
/// one after that, and is in the queue then.
pub(super) const DECODE: i64 = 3;

/// A delay, and why.
type Delay = (i64, Cause);

/// What one access asked of the stores before it, and what it heard, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// A load: when the data cache would take it. A store: when it would commit.
    pub(super) at: i64,
    /// When that is possible.
    pub(super) from: i64,
    /// A load that misses: when its line would be requested, and when that is possible.
    pub(super) request: i64,
    pub(super) sent: i64,
}

/// The stores before an access.
pub(super) struct Behind<'a> {
    pub(super) stores: &'a mut Stores,
    /// The access that is being executed.
    pub(super) access: Data,
    pub(super) line: u64,
    pub(super) write_latency: i64,
    /// What they answered already: then they are as they were behind that.
    pub(super) given: Option<Asked>,
    pub(super) asked: Asked,
}

impl Behind<'_> {
    fn load(&mut self, at: i64) -> i64 {
        let from = match self.given {
            Some(given) => given.from,
            None => self.stores.clear_of(at, self.access.va),
        };
        (self.asked.at, self.asked.from) = (at, from);
        from
    }

    fn line(&mut self, request: i64) -> i64 {
        let sent = match self.given {
            Some(given) => given.sent,
            None => self.stores.line_clear(request, self.access.pa, self.line),
        };
        (self.asked.request, self.asked.sent) = (request, sent);
        sent
    }

    fn store(&mut self, at: i64) -> i64 {
        let from = match self.given {
            Some(given) => given.from,
            None => self.stores.store(at, self.access.pa, self.write_latency),
        };
        (self.asked.at, self.asked.from) = (at, from);
        from
    }
}

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
                self.float_results.retain(|&other| other > issue);
                while self.float_results.contains(&result) {
                    result += 1;
                }
                self.float_results.push(result);
            }
            Unit::Load => {
                own = Cause::LoadUse;
                let mut at = self.access(issue, waits.walk);
                let clear = behind.load(at);
                if clear > at {
                    // It notices one cycle later.
                    at = clear.max(at + 1) + 1;
                }
                at = at.max(self.cache_free);
                self.accesses = [self.accesses[1], (issue, at)];
                result = at + i64::from(self.shape.load);
                if waits.miss > 0 {
                    result = behind.line(at + 2) + i64::from(waits.miss);
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
            Unit::Store => commit = behind.store(commit),
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
        if self.commits.len() == self.shape.entries as usize {
            self.commits.pop_front();
        }
        self.commits.push_back(commit);
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

    /// An instruction traps instead of retiring (or an interrupt takes its place).
    pub(super) fn trap(&mut self, fetched: &Fetched, cause: exception::Cause) -> Pass {
        use exception::Cause as Why;
        let decode = self.decode(fetched.valid);
        let late = decode - self.issue;
        let mut issue = decode + 1;
        if let Some(oldest) = self.full() {
            issue = issue.max(oldest + 1);
        }
        let result = match cause {
            Why::LoadMisaligned | Why::LoadAccessFault | Why::LoadPageFault => issue + 3,
            Why::StoreMisaligned | Why::StoreAccessFault | Why::StorePageFault => issue + 2,
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
