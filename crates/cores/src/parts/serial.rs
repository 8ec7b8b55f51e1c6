//! A core that executes one instruction at a time: its delays add up.

use crate::ledger::Cause;
use crate::passage::Flush;
use crate::slot::Slot;

use super::delays::{Delays, Redirect};

/// When the last instruction began and ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Serial {
    /// Whether the next instruction is fetched while this one executes.
    fetches_ahead: bool,
    begin: i64,
    /// Its last cycle.
    pub(crate) write: i64,
    pub(crate) redirect: Redirect,
}

/// Cycles of an instruction behind its first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Execution {
    pub(crate) cycles: i64,
    pub(crate) cause: Cause,
    /// Those in which it computes behind EX.
    pub(crate) late: i64,
    /// The first cycle in which its operands are there, and why not earlier.
    pub(crate) operands: [(i64, Cause); 3],
}

/// No operand is waited for.
pub(crate) const READY: (i64, Cause) = (i64::MIN / 2, Cause::Issue);

impl Execution {
    pub(crate) fn of(cycles: i64, cause: Cause) -> Self {
        Execution { cycles, cause, late: 0, operands: [READY; 3] }
    }
}

impl Serial {
    pub(crate) fn new(fetches_ahead: bool) -> Self {
        Serial { fetches_ahead, begin: 0, write: i64::from(fetches_ahead) - 1, redirect: Redirect::NONE }
    }

    /// An instruction is executed; yields when it begins.
    #[inline(always)]
    pub(crate) fn pass(
        &mut self,
        execution: &Execution,
        delays: &Delays,
        own: Cause,
        slot: &mut Slot,
    ) -> i64 {
        let start = self.write + 1;
        let mut fetch = self.begin;
        let mut now = start;
        let Redirect { at, cause, .. } = self.redirect;
        if at > start {
            now = at;
            fetch = now - 1;
        }
        self.redirect.at = Redirect::NONE.at;
        let mut begin = now;
        now += delays.fetch_walk + delays.fetch_miss + delays.second;
        if self.fetches_ahead {
            begin = now;
        }
        let fetched = now;
        for (at, _) in execution.operands {
            now = now.max(at);
        }
        now += execution.cycles + delays.settle + execution.late;
        now += delays.data_walk + delays.data_miss + delays.port;
        (self.begin, self.write) = (begin, now);
        slot.starts = [fetch, begin, begin, begin, begin];
        slot.end = now + 1;
        if now > start || own != Cause::Issue {
            let waits = (at > start).then(|| (cause, (at - start) as u64));
            Self::charge(execution, delays, own, waits, fetched, slot);
        }
        begin
    }

    #[inline(never)]
    fn charge(
        execution: &Execution,
        delays: &Delays,
        own: Cause,
        refill: Option<(Cause, u64)>,
        fetched: i64,
        slot: &mut Slot,
    ) {
        slot.charged(own, delays);
        slot.refill = refill;
        let mut now = fetched;
        for (at, cause) in execution.operands {
            slot.charges[cause as usize] += (at - now).max(0) as u64;
            now = now.max(at);
        }
        for (cycles, cause) in [
            (delays.fetch_walk, Cause::TlbWalk),
            (delays.fetch_miss, Cause::IMiss),
            (delays.second, Cause::Structural),
            (execution.cycles, execution.cause),
            (delays.settle, Cause::Branch),
            (execution.late, execution.cause),
            (delays.data_walk, Cause::TlbWalk),
            (delays.data_miss, Cause::DMiss),
            (delays.port, Cause::Structural),
        ] {
            slot.charges[cause as usize] += cycles as u64;
        }
    }

    /// The next instruction begins `bubbles` late.
    pub(crate) fn redirect(&mut self, bubbles: i64, cause: Cause, flush: Flush) {
        self.redirect_behind(self.write, bubbles, cause, flush);
    }

    /// The same, counted as if the last instruction had ended then.
    pub(crate) fn redirect_behind(&mut self, write: i64, bubbles: i64, cause: Cause, flush: Flush) {
        self.redirect.set(write + 1 + bubbles, cause, flush);
    }

    /// The data port is busy for this many cycles behind the last instruction.
    pub(crate) fn occupy(&mut self, cycles: i64) {
        self.write += cycles;
        self.redirect.delay(cycles);
    }
}
